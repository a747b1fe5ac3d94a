// SPDX-License-Identifier: Apache-2.0
//! In: any database. Out: a store on it. Not here: the work of each method; every one is a transaction and a function.

use std::io::{BufRead, Write};
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::watch;

use crate::error::StoreError;
use crate::record::{
    AuditEvent, Author, Change, Committed, HistoryEntry, HistoryFilter, Pruned, Record,
    ResourceKey, Retention, StoreSnapshot, TokenRow,
};
use crate::schema::{meta, migrate};
use crate::sql::{Engine, Manner, reading, writing};
use crate::store::Store;
use crate::{change, dump, feed, read, restore, retain, trust};

/// Where news arrives: the newest revision, and the count of changes to tokens. Both only grow.
#[derive(Debug)]
pub(crate) struct News {
    revision: watch::Sender<u64>,
    tokens: watch::Sender<u64>,
}

impl News {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { revision: watch::Sender::new(0), tokens: watch::Sender::new(0) })
    }

    pub(crate) fn revision(&self, newest: u64) {
        raise(&self.revision, newest);
    }

    pub(crate) fn tokens(&self, count: u64) {
        raise(&self.tokens, count);
    }
}

/// Two threads may bring news in either order, so only a larger number counts.
fn raise(sender: &watch::Sender<u64>, number: u64) {
    sender.send_if_modified(|known| {
        let newer = number > *known;
        if newer {
            *known = number;
        }
        newer
    });
}

/// A store on a database.
pub(crate) struct Shared<E: Engine> {
    engine: E,
    news: Arc<News>,
}

impl<E: Engine> Shared<E> {
    /// Migrates the database and reads where it is.
    pub(crate) fn open(engine: E, news: Arc<News>) -> Result<Self, StoreError> {
        migrate(&engine)?;
        let shared = Self { engine, news };
        shared.look()?;
        Ok(shared)
    }

    fn look(&self) -> Result<(), StoreError> {
        let (revision, tokens) = reading(&self.engine, Manner::Quiet, |tx| {
            Ok((meta(tx, "revision")?, meta(tx, "tokens")?))
        })?;
        self.news.revision(revision);
        self.news.tokens(tokens);
        Ok(())
    }
}

impl<E: Engine> Store for Shared<E> {
    fn commit(&self, author: &Author, changes: &[Change]) -> Result<Committed, StoreError> {
        let committed =
            writing(&self.engine, Manner::Told, |tx| change::commit(tx, author, changes))?;
        self.news.revision(committed.revision);
        Ok(committed)
    }

    fn revision(&self) -> Result<u64, StoreError> {
        reading(&self.engine, Manner::Quiet, |tx| meta(tx, "revision"))
    }

    fn get(&self, key: &ResourceKey, as_of: Option<u64>) -> Result<Option<Record>, StoreError> {
        reading(&self.engine, Manner::Quiet, |tx| read::get(tx, key, as_of))
    }

    fn snapshot(&self, as_of: Option<u64>) -> Result<StoreSnapshot, StoreError> {
        reading(&self.engine, Manner::Quiet, |tx| read::snapshot(tx, as_of))
    }

    fn changes(&self, after: u64, limit: usize) -> Result<Vec<HistoryEntry>, StoreError> {
        reading(&self.engine, Manner::Quiet, |tx| feed::changes(tx, after, limit))
    }

    fn history(&self, filter: &HistoryFilter) -> Result<Vec<HistoryEntry>, StoreError> {
        reading(&self.engine, Manner::Quiet, |tx| feed::history(tx, filter))
    }

    fn revision_at(&self, time: Timestamp) -> Result<u64, StoreError> {
        reading(&self.engine, Manner::Quiet, |tx| read::revision_at(tx, time))
    }

    fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        writing(&self.engine, Manner::Long, |tx| retain::prune(tx, retention))
    }

    fn prune_audit(&self, retention: &Retention) -> Result<u64, StoreError> {
        writing(&self.engine, Manner::Quiet, |tx| trust::prune_audit(tx, retention))
    }

    fn redact(&self, author: &Author, key: &ResourceKey) -> Result<u64, StoreError> {
        let removed = writing(&self.engine, Manner::Quiet, |tx| retain::redact(tx, author, key))?;
        self.engine.forget();
        Ok(removed)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        reading(&self.engine, Manner::Quiet, trust::tokens)
    }

    fn put_token(&self, row: &TokenRow) -> Result<(), StoreError> {
        let count = writing(&self.engine, Manner::Told, |tx| trust::put_token(tx, row))?;
        self.news.tokens(count);
        Ok(())
    }

    fn revoke_token(&self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        let count = writing(&self.engine, Manner::Told, |tx| trust::revoke_token(tx, id, at))?;
        self.news.tokens(count.unwrap_or(0));
        Ok(count.is_some())
    }

    fn first_token(&self, row: &TokenRow) -> Result<bool, StoreError> {
        let count = writing(&self.engine, Manner::Told, |tx| trust::first_token(tx, row))?;
        self.news.tokens(count.unwrap_or(0));
        Ok(count.is_some())
    }

    fn audit(&self, event: &AuditEvent) -> Result<(), StoreError> {
        writing(&self.engine, Manner::Quiet, |tx| trust::audit(tx, event))
    }

    fn audit_log(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEvent>, StoreError> {
        reading(&self.engine, Manner::Quiet, |tx| trust::audit_log(tx, before, limit))
    }

    fn dump(&self, out: &mut dyn Write) -> Result<(), StoreError> {
        if !self.engine.is_alone() {
            return reading(&self.engine, Manner::Long, |tx| dump::dump(tx, out));
        }
        let bytes = reading(&self.engine, Manner::Long, |tx| {
            let mut bytes = Vec::new();
            dump::dump(tx, &mut bytes)?;
            Ok(bytes)
        })?;
        out.write_all(&bytes).and_then(|()| out.flush()).map_err(|error| dump::failed(&error))
    }

    fn restore(&self, from: &mut dyn BufRead) -> Result<u64, StoreError> {
        let revision = writing(&self.engine, Manner::Long, |tx| restore::restore(tx, from))?;
        self.look()?;
        Ok(revision)
    }

    fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.revision.subscribe()
    }

    fn token_changes(&self) -> watch::Receiver<u64> {
        self.news.tokens.subscribe()
    }

    fn healthy(&self) -> Result<(), StoreError> {
        self.revision().map(drop)
    }
}
