// SPDX-License-Identifier: Apache-2.0
//! In: settings. Out: one connection, on which every wait ends: with an answer, or at a given moment. Not here: what is said on
//! it; how many there are (`pool`).
//!
//! A connection is driven only while somebody waits on it, so it needs no thread. One on which a wait came to its end is of no
//! use any more, because its answer may still come: it is dropped, and dropping closes it.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::timeout_at;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Socket, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::{LinkError, translate};
use crate::clock;
use crate::error::StoreError;

/// A connection.
pub(super) struct Link {
    /// Taken only when the connection is dropped.
    runtime: Option<Runtime>,
    client: Client,
    notified: Arc<Notify>,
    /// Statements that the server has prepared on it.
    statements: BTreeMap<String, Statement>,
    /// Whether a transaction is open: then nobody else can use it.
    pub(super) is_busy: bool,
}

impl Link {
    /// Connects: name, handshakes and login together take no longer than until then.
    pub(super) fn connect(
        config: &Config,
        tls: Option<&MakeRustlsConnect>,
        until: Instant,
    ) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|e| StoreError::Unavailable(format!("no connection could be made: {e}")))?;
        let notified = Arc::new(Notify::new());
        let news = Arc::clone(&notified);
        let connected = wait(&runtime, until, async {
            match tls {
                Some(tls) => connect(config, tls.clone(), news).await,
                None => connect(config, NoTls, news).await,
            }
        });
        let client = connected.map_err(|error| error.told())?;
        Ok(Self {
            runtime: Some(runtime),
            client,
            notified,
            statements: BTreeMap::new(),
            is_busy: false,
        })
    }

    /// Waits for an answer, no longer than until then.
    pub(super) fn wait<'a, T, F>(
        &'a self,
        until: Instant,
        ask: impl FnOnce(&'a Client) -> F,
    ) -> Result<T, LinkError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        match &self.runtime {
            Some(runtime) => wait(runtime, until, ask(&self.client)),
            None => Err(LinkError::Silent),
        }
    }

    /// A statement, prepared once.
    pub(super) fn statement(&mut self, sql: &str, until: Instant) -> Result<Statement, LinkError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.wait(until, |client| client.prepare(sql))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Waits for a notification, or until some time is over, whichever is first.
    pub(super) fn listen(&self, at_most: Duration) -> Result<(), StoreError> {
        let until = clock::instant() + at_most;
        let heard = self.wait(until, |_| async {
            self.notified.notified().await;
            Ok(())
        });
        match heard {
            Ok(()) | Err(LinkError::Silent) if !self.client.is_closed() => Ok(()),
            Err(LinkError::Said(error)) => Err(translate(&error)),
            _ => Err(StoreError::Unavailable("the connection was closed".to_owned())),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // A store may be dropped on a thread that drives asynchronous tasks, where nothing may wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn wait<T>(
    runtime: &Runtime,
    until: Instant,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, LinkError> {
    match runtime.block_on(async { timeout_at(until.into(), answer).await }) {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(LinkError::Said(error)),
        Err(_elapsed) => Err(LinkError::Silent),
    }
}

async fn connect<T>(config: &Config, tls: T, news: Arc<Notify>) -> Result<Client, Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await?;
    tokio::spawn(drive(connection, news));
    Ok(client)
}

/// Moves what is said to and fro, as long as the connection lasts.
async fn drive<T>(connection: Connection<Socket, T>, news: Arc<Notify>)
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut connection = pin!(connection);
    // How it ended is what whoever waits for an answer is told.
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if matches!(message, AsyncMessage::Notification(_)) {
            news.notify_one();
        }
    }
    news.notify_one();
}
