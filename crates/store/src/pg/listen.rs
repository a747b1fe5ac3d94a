// SPDX-License-Identifier: Apache-2.0
//! In: the database. Out: news of commits by any instance, within a second. Not here: what was committed.
//!
//! A thread waits for notifications on a connection of its own, and looks every half second as well, because a notification can
//! be lost with a connection.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use super::pool::Pool;
use super::translate;
use crate::checked::unsigned;
use crate::error::StoreError;
use crate::shared::News;

/// How often the thread looks by itself.
const LOOK: Duration = Duration::from_millis(500);
/// How long it waits before it connects again.
const PAUSE: Duration = Duration::from_millis(100);

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
    let mut client = pool.connect()?.client;
    let sql = format!("LISTEN \"{}\"", pool.channel());
    client.batch_execute(&sql).map_err(|error| translate(&error))?;
    while !pool.is_closed() {
        let Some(news) = news.upgrade() else { break };
        look(&mut client, &news)?;
        drop(news);
        let mut waiting = client.notifications();
        waiting.timeout_iter(LOOK).next().map_err(|error| translate(&error))?;
        // Those that came together are one piece of news.
        while waiting.iter().next().map_err(|error| translate(&error))?.is_some() {}
    }
    Ok(())
}

fn look(client: &mut Client, news: &News) -> Result<(), StoreError> {
    let sql = "SELECT name, number FROM meta WHERE name IN ('revision', 'tokens')";
    for row in client.query(sql, &[]).map_err(|error| translate(&error))? {
        let name: &str = row.try_get(0).map_err(|error| translate(&error))?;
        let number = unsigned(row.try_get(1).map_err(|error| translate(&error))?)?;
        match name {
            "revision" => news.revision(number),
            _ => news.tokens(number),
        }
    }
    Ok(())
}
