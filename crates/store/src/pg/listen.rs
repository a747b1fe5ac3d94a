// SPDX-License-Identifier: Apache-2.0
//! In: the database. Out: news of commits by any instance, within a second. Not here: what was committed.
//!
//! A thread waits for notifications on a connection of its own, and looks every half second as well, because a notification can
//! be lost with a connection.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::ROUND;
use super::link::Link;
use super::pool::Pool;
use crate::checked::unsigned;
use crate::clock;
use crate::error::StoreError;
use crate::shared::News;

/// How often the thread looks by itself.
const LOOK: Duration = Duration::from_millis(500);
/// How long it waits before it connects again.
const PAUSE: Duration = Duration::from_millis(100);

/// How long it tries to connect.
const CONNECTING: Duration = Duration::from_secs(10);

/// Starts the thread, which ends soon after the store is dropped.
pub(super) fn start(pool: Arc<Pool>, news: Arc<News>) -> Result<(), StoreError> {
    let news = Arc::downgrade(&news);
    let work = move || {
        while !pool.is_closed() && news.strong_count() > 0 {
            // A broken connection is not the end: whoever uses the store sees the error on its own call.
            let _ = listen(&pool, &news);
            thread::sleep(PAUSE);
        }
    };
    let spawned = thread::Builder::new().name("overrule-listen".to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| {
        StoreError::Unavailable(format!("no thread for notifications could be started: {error}"))
    })
}

fn listen(pool: &Pool, news: &Weak<News>) -> Result<(), StoreError> {
    let link = pool.connect(clock::instant() + CONNECTING)?;
    let sql = format!("LISTEN \"{}\"", pool.channel());
    let until = clock::instant() + ROUND;
    link.wait(until, |client| client.batch_execute(&sql)).map_err(|error| error.told())?;
    while !pool.is_closed() {
        let Some(news) = news.upgrade() else { break };
        look(&link, &news)?;
        drop(news);
        // Those that came together are one piece of news.
        link.listen(LOOK)?;
    }
    Ok(())
}

fn look(link: &Link, news: &News) -> Result<(), StoreError> {
    let sql = "SELECT name, number FROM meta WHERE name IN ('revision', 'tokens', 'schema')";
    let damaged = |error: tokio_postgres::Error| StoreError::Damaged(error.to_string());
    let rows = link.wait(clock::instant() + ROUND, |client| client.query(sql, &[]));
    for row in rows.map_err(|error| error.told())? {
        let name: &str = row.try_get(0).map_err(damaged)?;
        let number = unsigned(row.try_get(1).map_err(damaged)?)?;
        match name {
            "revision" => news.revision(number),
            "schema" => news.schema(number),
            _ => news.tokens(number),
        }
    }
    Ok(())
}
