// SPDX-License-Identifier: Apache-2.0
//! In: any database. Out: a store on it. Not here: the work of each method; every one is a transaction and a function.

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use crate::checked::signed;
use crate::clock::ClockTrouble;
use crate::deadline::Deadline;
use crate::error::StoreError;
use crate::record::{
    AuditEvent, Author, Change, Committed, HistoryEntry, HistoryFilter, Pruned, Record,
    ResourceKey, Retention, StoreConnections, StoreSnapshot, TokenRow,
};
use crate::schema::{Meta, Schema, meta};
use crate::sql::{Engine, Manner, Tx, nothing_ran, reading, writing};
use crate::store::Store;
use crate::{change, clock, dump, feed, probe, read, restore, retain, trust};

/// Where news arrives: the newest revision, and the count of changes to tokens. Both only grow.
#[derive(Debug)]
pub(crate) struct News {
    revision: watch::Sender<u64>,
    tokens: watch::Sender<u64>,
    /// The version of the schema as last seen; 0 before that.
    schema: AtomicU64,
}

impl News {
    pub(crate) fn new() -> Arc<Self> {
        let [revision, tokens] = [0, 0].map(watch::Sender::new);
        Arc::new(Self { revision, tokens, schema: AtomicU64::new(0) })
    }

    pub(crate) fn revision(&self, newest: u64) {
        raise(&self.revision, newest);
    }

    pub(crate) fn schema(&self, version: u64) {
        self.schema.store(version, Ordering::Relaxed);
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

/// How long the database is asked what became of a commit, and the pauses between attempts.
const SETTLING: Duration = Duration::from_secs(4);
const AGAIN: Duration = Duration::from_millis(50);

/// How long the database is asked whether it takes writes.
const PROBING: Duration = Duration::from_millis(700);

/// What is behind a lock that nobody leaves half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store on a database.
pub(crate) struct Shared<E: Engine> {
    engine: E,
    news: Arc<News>,
    schema: Schema,
    /// The size of the last commit if the database could not take it, such as for want of room.
    refused: Mutex<Option<usize>>,
    /// The time of the newest revision known here.
    newest: AtomicI64,
}

impl<E: Engine> Shared<E> {
    /// Migrates the database and reads where it is.
    pub(crate) fn open(engine: E, news: Arc<News>, schema: Schema) -> Result<Self, StoreError> {
        schema.migrate(&engine)?;
        let shared =
            Self { engine, news, schema, refused: Mutex::default(), newest: AtomicI64::new(0) };
        shared.look()?;
        Ok(shared)
    }

    fn write<T>(
        &self,
        manner: Manner,
        deadline: Deadline,
        mut work: impl FnMut(&mut dyn Tx, &Meta) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        writing(&self.engine, manner, deadline, |tx| {
            let meta = self.schema.check(tx)?;
            work(tx, &meta)
        })
    }

    /// Finds out what became of a commit that nobody heard of again. Whoever has the writers' lock knows that no other
    /// transaction is open, so the revision is there now or never will be.
    fn settle(
        &self,
        author: &Author,
        made: Committed,
        why: String,
        deadline: Deadline,
    ) -> Result<Committed, StoreError> {
        let until = Deadline::of(clock::instant(), SETTLING).before(deadline.answer());
        loop {
            let mut found = None;
            let asked = self.engine.write(Manner::Quiet, until, &mut |tx| {
                found = Some(change::is_made(tx, author, &made)?);
                Ok(())
            });
            match (found, asked) {
                (Some(true), _) => return Ok(made),
                (Some(false), _) => return Err(StoreError::Unavailable(why)),
                (None, Err(StoreError::Unavailable(_))) if !until.is_over() => {
                    std::thread::sleep(AGAIN);
                }
                (None, _) => return Err(StoreError::Unknown(why)),
            }
        }
    }

    fn look(&self) -> Result<(), StoreError> {
        let (revision, tokens, at) = reading(&self.engine, Manner::Quiet, |tx| {
            Ok((meta(tx, "revision")?, meta(tx, "tokens")?, signed(meta(tx, "at")?)?))
        })?;
        self.newest.store(at, Ordering::Relaxed);
        self.news.revision(revision);
        self.news.tokens(tokens);
        Ok(())
    }
}

impl<E: Engine> Store for Shared<E> {
    fn commit_before(
        &self,
        deadline: Deadline,
        author: &Author,
        changes: &[Change],
    ) -> Result<Committed, StoreError> {
        let mut made = None;
        let done = self.write(Manner::Told, deadline, |tx, meta| {
            made = Some(change::commit(tx, meta, author, changes)?);
            Ok(())
        });
        let committed = match (done, made) {
            (Ok(()), Some(made)) => made,
            (Err(StoreError::Unknown(why)), Some(made)) => {
                self.settle(author, made, why, deadline)?
            }
            (Err(error), _) => {
                if matches!(error, StoreError::Unavailable(_)) {
                    *locked(&self.refused) = Some(change::size(changes));
                }
                return Err(error);
            }
            (Ok(()), None) => return Err(nothing_ran()),
        };
        *locked(&self.refused) = None;
        self.newest.store(clock::number(committed.at), Ordering::Relaxed);
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
        self.write(Manner::Long, Deadline::long(), |tx, _| retain::prune(tx, retention))
    }

    fn prune_audit(&self, retention: &Retention) -> Result<u64, StoreError> {
        self.write(Manner::Quiet, Deadline::long(), |tx, _| trust::prune_audit(tx, retention))
    }

    fn redact(
        &self,
        deadline: Deadline,
        author: &Author,
        key: &ResourceKey,
    ) -> Result<u64, StoreError> {
        let removed =
            self.write(Manner::Quiet, deadline, |tx, _| retain::redact(tx, author, key))?;
        self.engine.forget();
        Ok(removed)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        reading(&self.engine, Manner::Quiet, trust::tokens)
    }

    fn put_token(&self, deadline: Deadline, row: &TokenRow) -> Result<(), StoreError> {
        let count = self.write(Manner::Told, deadline, |tx, _| trust::put_token(tx, row))?;
        self.news.tokens(count);
        Ok(())
    }

    fn revoke_token(
        &self,
        deadline: Deadline,
        id: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let count = self.write(Manner::Told, deadline, |tx, _| trust::revoke_token(tx, id, at))?;
        self.news.tokens(count.unwrap_or(0));
        Ok(count.is_some())
    }

    fn first_token(&self, row: &TokenRow) -> Result<bool, StoreError> {
        let usual = Deadline::usual();
        let count = self.write(Manner::Told, usual, |tx, _| trust::first_token(tx, row))?;
        self.news.tokens(count.unwrap_or(0));
        Ok(count.is_some())
    }

    fn audit(&self, event: &AuditEvent) -> Result<(), StoreError> {
        self.write(Manner::Quiet, Deadline::usual(), |tx, _| trust::audit(tx, event))
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
        let long = Deadline::long();
        let revision = self.write(Manner::Long, long, |tx, _| restore::restore(tx, from))?;
        self.look()?;
        Ok(revision)
    }

    fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.revision.subscribe()
    }

    fn token_changes(&self) -> watch::Receiver<u64> {
        self.news.tokens.subscribe()
    }

    fn other_schema(&self) -> Option<StoreError> {
        let (found, known) = (self.news.schema.load(Ordering::Relaxed), self.schema.known());
        (found != 0 && found != known).then_some(StoreError::OtherSchema { found, known })
    }

    fn clock_trouble(&self) -> Option<ClockTrouble> {
        let newest = clock::time(self.newest.load(Ordering::Relaxed)).ok();
        let future = newest.and_then(|newest| clock::beyond(newest, self.engine.now()));
        self.engine.clock_trouble().or(future.map(ClockTrouble::Future))
    }

    fn size(&self) -> Result<u64, StoreError> {
        self.engine.size()
    }

    fn connections(&self) -> Option<StoreConnections> {
        self.engine.connections()
    }

    fn healthy(&self) -> Result<(), StoreError> {
        let refused = *locked(&self.refused);
        let end = clock::instant() + PROBING;
        self.engine.probe(end, &mut |tx| {
            self.schema.check(tx)?;
            probe::write_nothing(tx, refused)
        })?;
        *locked(&self.refused) = None;
        Ok(())
    }
}
