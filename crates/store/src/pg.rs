// SPDX-License-Identifier: Apache-2.0
//! In: the address of a PostgreSQL database. Out: a store on it that any number of instances share.
//! Not here: what is stored; the address (`address`), the password (`password`), connections (`pool`), news (`listen`).
//!
//! Writers of all instances take one lock in the database until their commit is visible, so revisions appear in order and without
//! gaps, and every expectation is checked against the newest state.

mod address;
mod failure;
mod link;
mod listen;
mod password;
mod pool;
mod tls;

use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_core::Stream;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Client;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use crate::checked::unsigned;
use crate::clock::{self, ClockTrouble, SteadyClock};
use crate::deadline::Deadline;
use crate::error::StoreError;
use crate::record::StoreConnections;
use crate::schema::Schema;
use crate::shared::{News, Shared};
use crate::sql::{Each, Engine, Manner, Row, Tx, Value, Work, first, reading, writing};
use crate::store::Store;
use address::Address;
use failure::{Failure, LinkError};
use link::Link;
use pool::Pool;
pub use tls::PgTls;

/// How long a round trip may take that makes the server do nothing.
const ROUND: Duration = Duration::from_secs(3);
/// How long a statement may keep silent, and one of those that may take long.
const STATEMENT: Duration = Duration::from_secs(10);
const LONG_STATEMENT: Duration = Duration::from_secs(600);
/// How long other writers are waited for. Longer than the server keeps a transaction that says nothing, so that a writer whose
/// connection hangs stops nobody.
const TURN: Duration = Duration::from_secs(15);
/// How long a reader waits in all.
const READING: Duration = Duration::from_secs(60);
/// What a commit may take once the server has begun with it.
const COMMITTING: Duration = Duration::from_secs(1);

/// Opens the store in a PostgreSQL database, `postgres://user@host:port/database?schema=overrule`. The tables are in a schema of
/// their own, which is created if it is not there. The password is taken from the address, `PGPASSWORD`, or the password file
/// (`PGPASSFILE`, else `~/.pgpass`), in this order, and never shown.
pub fn open_postgres(url: &str, tls: PgTls) -> Result<Box<dyn Store>, StoreError> {
    open_with(url, tls, Schema::OURS)
}

/// The same as a release with this schema does it.
pub(crate) fn open_with(
    url: &str,
    tls: PgTls,
    schema: Schema,
) -> Result<Box<dyn Store>, StoreError> {
    let mut address = Address::parse(url, &tls)?;
    password::find(&mut address.config)?;
    let pool = Arc::new(Pool::new(address.config, tls.connector()?, address.schema));
    let news = News::new();
    let engine = Postgres {
        pool: Arc::clone(&pool),
        probing: Mutex::default(),
        clock: SteadyClock::of_machine(),
        apart: AtomicI64::new(0),
    };
    engine.create_schema()?;
    let shared = Shared::open(engine, Arc::clone(&news), schema)?;
    listen::start(pool, news)?;
    Ok(Box::new(shared))
}

struct Postgres {
    pool: Arc<Pool>,
    /// A connection that no request can take away from who asks whether writes are taken.
    probing: Mutex<Option<Link>>,
    clock: SteadyClock,
    /// How far the clock of this machine is from the database's, in microseconds, as last seen.
    apart: AtomicI64,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl Postgres {
    fn create_schema(&self) -> Result<(), StoreError> {
        let schema = self.pool.schema();
        let encoding = reading(self, Manner::Quiet, |tx| {
            first(tx, "SELECT current_setting('server_encoding')", &[], |row| row.text(0))
        })?;
        if encoding.as_deref() != Some("UTF8") {
            let why = "the database is not in UTF-8; create it with ENCODING 'UTF8'";
            return Err(StoreError::Other(why.to_owned()));
        }
        writing(self, Manner::Long, Deadline::long(), |tx| {
            let sql = "SELECT count(*) FROM pg_namespace WHERE nspname = $1";
            // Creating it needs a right that using it does not.
            if first(tx, sql, &[Value::Text(schema)], |row| row.int(0))? == Some(0) {
                tx.define(&format!("CREATE SCHEMA \"{schema}\""))?;
            }
            Ok(())
        })
    }
}

impl Engine for Postgres {
    fn read(&self, manner: Manner, work: Work<'_>) -> Result<(), StoreError> {
        let begin = "START TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let end = match manner {
            Manner::Long => Deadline::long().commit(),
            Manner::Quiet | Manner::Told => clock::instant() + READING,
        };
        self.pool.with(end, |link| {
            let mut tx = PgTx::begin(link, begin, manner, end, &self.clock)?;
            tx.perform(work)?;
            tx.finish("COMMIT").map_err(|error| Failure::Broken(error.told()))
        })
    }

    fn write(&self, manner: Manner, deadline: Deadline, work: Work<'_>) -> Result<(), StoreError> {
        // Each statement sees what was committed before it; behind the lock nothing else is committed.
        let begin = "START TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE";
        self.pool.with(deadline.commit(), |link| {
            let mut tx = PgTx::begin(link, begin, manner, deadline.commit(), &self.clock)?;
            let apart = tx.take_turn(&self.pool).map_err(Failure::Broken)?;
            self.apart.store(apart, Ordering::Relaxed);
            tx.perform(work)?;
            let channel = (manner != Manner::Quiet).then(|| self.pool.channel());
            tx.commit(deadline, channel).map_err(Failure::Broken)
        })
    }

    fn probe(&self, end: Instant, work: Work<'_>) -> Result<(), StoreError> {
        let begin = "START TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE";
        let mut kept = self.probing.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (mut link, is_new) = match kept.take() {
                Some(link) => (link, false),
                None => (self.pool.connect(end)?, true),
            };
            let begun = PgTx::begin(&mut link, begin, Manner::Quiet, end, &self.clock);
            let done = begun.and_then(|mut tx| {
                let apart = tx.look_at_clock("SELECT 0, ", &[]).map_err(Failure::Broken)?;
                self.apart.store(apart, Ordering::Relaxed);
                tx.perform(work)?;
                tx.finish("COMMIT").map_err(|error| Failure::Broken(error.told()))
            });
            if !link.is_busy {
                *kept = Some(link);
            }
            return match done {
                Ok(()) => {
                    self.pool.back();
                    Ok(())
                }
                // One that was kept for long may have ended.
                Err(Failure::Stale(_)) if !is_new => continue,
                Err(Failure::Stale(error) | Failure::Refused(error) | Failure::Broken(error)) => {
                    Err(error)
                }
            };
        }
    }

    fn clock_trouble(&self) -> Option<ClockTrouble> {
        let apart = SignedDuration::from_micros(self.apart.load(Ordering::Relaxed));
        let apart = (apart.abs() > clock::STEP).then_some(ClockTrouble::Apart(apart));
        self.clock.jumped().map(ClockTrouble::Jumped).or(apart)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn size(&self) -> Result<u64, StoreError> {
        let sql = "SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bigint)
                   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                   WHERE n.nspname = $1 AND c.relkind = 'r'";
        let schema = Value::Text(self.pool.schema());
        let bytes = reading(self, Manner::Quiet, |tx| first(tx, sql, &[schema], |row| row.int(0)))?;
        unsigned(bytes.unwrap_or(0))
    }

    fn connections(&self) -> Option<StoreConnections> {
        Some(self.pool.load())
    }

    fn is_new(&self, tx: &mut dyn Tx) -> Result<bool, StoreError> {
        let sql = "SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename = 'meta'";
        Ok(first(tx, sql, &[Value::Text(self.pool.schema())], |row| row.int(0))? == Some(0))
    }
}

/// What the server's clock said at a moment of ours. The server looked before we heard of it, so a moment of ours that is made
/// one of the server's this way is never too late.
struct ServerClock {
    micros: i64,
    heard: Instant,
}

impl ServerClock {
    fn at(&self, moment: Instant) -> i64 {
        let later = moment.saturating_duration_since(self.heard).as_micros();
        self.micros.saturating_add(i64::try_from(later).unwrap_or(i64::MAX))
    }
}

/// A transaction on a connection, which nobody else gets before it is over.
struct PgTx<'a> {
    link: &'a mut Link,
    /// How long a statement may keep silent.
    pace: Duration,
    /// When everything must be over.
    end: Instant,
    /// This machine's clock and, of a writer, the server's.
    clock: &'a SteadyClock,
    server: Option<ServerClock>,
}

impl<'a> PgTx<'a> {
    fn begin(
        link: &'a mut Link,
        begin: &str,
        manner: Manner,
        end: Instant,
        clock: &'a SteadyClock,
    ) -> Result<Self, Failure> {
        let (pace, limits) = match manner {
            Manner::Quiet | Manner::Told => (STATEMENT, ""),
            Manner::Long => (
                LONG_STATEMENT,
                "; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
                 SET LOCAL idle_in_transaction_session_timeout = '60s'",
            ),
        };
        let now = clock::instant();
        if now >= end {
            return Err(Failure::Refused(StoreError::too_late()));
        }
        link.is_busy = true;
        let sql = format!("{begin}{limits}");
        let until = end.min(now + ROUND);
        let begun = link.wait(until, |client| client.batch_execute(&sql));
        begun.map_err(|error| Failure::Stale(error.told()))?;
        Ok(Self { link, pace, end, clock, server: None })
    }

    /// Until when the next answer is waited for. Nothing is asked any more when it would be too late.
    fn until(&self) -> Result<Instant, StoreError> {
        let now = clock::instant();
        if now >= self.end {
            return Err(StoreError::too_late());
        }
        Ok(self.end.min(now + self.pace))
    }

    fn ask<'b, T, F>(&'b self, ask: impl FnOnce(&'b Client) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        let until = self.until()?;
        self.link.wait(until, ask).map_err(|error| error.told())
    }

    fn statement(&mut self, sql: &str) -> Result<tokio_postgres::Statement, StoreError> {
        let until = self.until()?;
        self.link.statement(sql, until).map_err(|error| error.told())
    }

    /// Waits until this is the only writer of all instances, and looks at the server's clock; tells how far ours is from it.
    fn take_turn(&mut self, pool: &Pool) -> Result<i64, StoreError> {
        let pace = self.pace;
        self.pace = pace.max(TURN);
        let apart =
            self.look_at_clock("SELECT pg_advisory_xact_lock($1), ", &[Value::Int(pool.lock())]);
        self.pace = pace;
        apart
    }

    /// The same of the clock alone, in the second column of a query.
    fn look_at_clock(&mut self, query: &str, values: &[Value<'_>]) -> Result<i64, StoreError> {
        let sql = format!("{query} (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
        let asked = clock::number(self.clock.now());
        let micros = first(self, &sql, values, |row| row.int(1))?.unwrap_or_default();
        self.server = Some(ServerClock { micros, heard: clock::instant() });
        // It looked between our question and its answer.
        let nearest = micros.clamp(asked, clock::number(self.clock.now()).max(asked));
        Ok(nearest.saturating_sub(micros))
    }

    fn perform(&mut self, work: Work<'_>) -> Result<(), Failure> {
        work(self).map_err(|error| match error {
            StoreError::Conflict { .. }
            | StoreError::NotFound(_)
            | StoreError::Gone { .. }
            | StoreError::Future { .. }
            | StoreError::OtherSchema { .. }
            | StoreError::NotEmpty => match self.finish("ROLLBACK") {
                Ok(()) => Failure::Refused(error),
                Err(_) => Failure::Broken(error),
            },
            other => Failure::Broken(other),
        })
    }

    fn finish(&mut self, sql: &str) -> Result<(), LinkError> {
        // Who asks whether writes are taken has less time than a round trip may take.
        let until = self.end.max(clock::instant()).min(clock::instant() + ROUND);
        self.link.wait(until, |client| client.batch_execute(sql))?;
        self.link.is_busy = false;
        Ok(())
    }

    /// Commits, unless it is too late. Whatever lies between us and the server may keep the commit back, so the server looks at
    /// its clock once more, in the same message and just before it commits.
    fn commit(&mut self, deadline: Deadline, channel: Option<&str>) -> Result<(), StoreError> {
        self.until()?;
        let arrival = deadline.commit().min(clock::instant() + ROUND);
        let last = self.server.as_ref().map_or(i64::MAX, |server| server.at(arrival));
        let told = channel.map(|name| format!("SELECT pg_notify('{name}', '');"));
        let sql = format!(
            "{} SELECT 1 / (extract(epoch FROM clock_timestamp()) * 1000000 < {last})::int; COMMIT",
            told.unwrap_or_default()
        );
        let patience = if self.pace > STATEMENT { LONG_STATEMENT } else { COMMITTING };
        let until = deadline.answer().min(arrival + patience);
        let done = self.link.wait(until, |client| client.batch_execute(&sql));
        done.map_err(|error| error.of_commit())?;
        self.link.is_busy = false;
        Ok(())
    }
}

impl Tx for PgTx<'_> {
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let statement = self.statement(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.ask(|client| client.execute(&statement, &values))
    }

    fn each(&mut self, sql: &str, values: &[Value<'_>], each: Each<'_>) -> Result<(), StoreError> {
        let statement = self.statement(sql)?;
        let values = values.iter().map(|value| value as &(dyn ToSql + Sync));
        let rows = self.ask(|client| client.query_raw(&statement, values))?;
        let mut rows = pin!(rows);
        loop {
            let next = std::future::poll_fn(|cx| rows.as_mut().poll_next(cx));
            match self.ask(|_| async { next.await.transpose() })? {
                Some(row) => each(&PgRow(row))?,
                None => return Ok(()),
            }
        }
    }

    fn now(&mut self) -> [Timestamp; 2] {
        let ours = self.clock.now();
        let server = self.server.as_ref().map(|server| server.at(clock::instant()));
        let server = server.and_then(|micros| clock::time(micros).ok()).unwrap_or(ours);
        [ours.min(server), ours.max(server)]
    }

    fn define(&mut self, sql: &str) -> Result<(), StoreError> {
        let sql = dialect(sql);
        self.ask(|client| client.batch_execute(&sql))
    }
}

/// The types of our definitions in PostgreSQL's words. Texts compare byte by byte, as in SQLite and in Rust.
fn dialect(sql: &str) -> String {
    sql.replace(" INTEGER", " BIGINT")
        .replace(" BLOB", " BYTEA")
        .replace(" TEXT", " TEXT COLLATE \"C\"")
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql_checked(ty, out),
            Self::Text(text) => text.to_sql_checked(ty, out),
            Self::Bytes(bytes) => bytes.to_sql_checked(ty, out),
        }
    }

    /// Each kind of value checks for itself.
    fn accepts(_ty: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

struct PgRow(tokio_postgres::Row);

impl PgRow {
    fn get<'a, T: tokio_postgres::types::FromSql<'a>>(
        &'a self,
        column: usize,
    ) -> Result<T, StoreError> {
        self.0.try_get(column).map_err(|error| StoreError::Damaged(error.to_string()))
    }
}

impl Row for PgRow {
    fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.get(column)
    }

    fn int_or_null(&self, column: usize) -> Result<Option<i64>, StoreError> {
        self.get(column)
    }

    fn text(&self, column: usize) -> Result<String, StoreError> {
        self.get(column)
    }

    fn text_or_null(&self, column: usize) -> Result<Option<String>, StoreError> {
        self.get(column)
    }

    fn bytes(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        self.get(column)
    }
}

#[cfg(test)]
mod tests {
    use super::dialect;

    #[test]
    fn definitions_are_translated() {
        let sql = "CREATE TABLE t (a INTEGER NOT NULL, b TEXT, c BLOB)";
        let expected = "CREATE TABLE t (a BIGINT NOT NULL, b TEXT COLLATE \"C\", c BYTEA)";
        assert_eq!(dialect(sql), expected);
    }
}
