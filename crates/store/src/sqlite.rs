// SPDX-License-Identifier: Apache-2.0
//! In: a folder, or nothing. Out: a store on SQLite, on disk or in memory. Not here: what is stored; the folder's files and lock,
//! which are `folder`.
//!
//! On disk the journal is written ahead and every commit reaches the disk before it is acknowledged. There is one writer, and
//! readers never wait for it. In memory there is one connection for everything.

mod folder;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, TransactionBehavior, params_from_iter};

use crate::checked::unsigned;
use crate::clock::{self, ClockTrouble, SteadyClock};
use crate::deadline::Deadline;
use crate::error::StoreError;
use crate::schema::Schema;
use crate::shared::{News, Shared};
use crate::sql::{Each, Engine, Manner, Row, Tx, Value, Work, first, reading};
use crate::store::Store;
use folder::Lock;

/// Connections for reading that are kept open while nobody uses them.
const IDLE: usize = 4;
/// The pauses of who waits for the writer for a limited time.
const AGAIN: Duration = Duration::from_millis(2);
/// Prepared statements kept per connection.
const STATEMENTS: usize = 64;

/// Opens the store in a folder, which is created if it is not there. A second process cannot open it while this one lives.
pub fn open_folder(dir: &Path) -> Result<Box<dyn Store>, StoreError> {
    open_with(dir, SteadyClock::of_machine())
}

/// The same with a clock.
pub(crate) fn open_with(dir: &Path, clock: SteadyClock) -> Result<Box<dyn Store>, StoreError> {
    let lock = folder::own(dir)?;
    let path = folder::database(dir)?;
    let writer = connect(&path)?;
    prepare(&writer)?;
    let disk = Disk { path, idle: Mutex::new(Vec::new()), _lock: lock };
    let engine = Sqlite { writer: Mutex::new(writer), disk: Some(disk), clock };
    Ok(Box::new(Shared::open(engine, News::new(), Schema::OURS)?))
}

/// Opens a store that ends with the process.
pub fn open_memory() -> Result<Box<dyn Store>, StoreError> {
    let connection = Connection::open_in_memory().map_err(error)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    let clock = SteadyClock::of_machine();
    let engine = Sqlite { writer: Mutex::new(connection), disk: None, clock };
    Ok(Box::new(Shared::open(engine, News::new(), Schema::OURS)?))
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    // No symbolic link is followed: the file is what we made or checked.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags).map_err(error)?;
    connection.busy_timeout(Duration::from_secs(10)).map_err(error)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Removed texts are overwritten, so that a redaction leaves nothing in the file.
    let settings = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
                    PRAGMA trusted_schema = OFF;";
    connection.execute_batch(settings).map_err(error)?;
    Ok(connection)
}

/// Checks the file and makes it keep its journal ahead.
fn prepare(writer: &Connection) -> Result<(), StoreError> {
    let check: String =
        writer.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(error)?;
    if check != "ok" {
        return Err(StoreError::Damaged(check));
    }
    let mode: String =
        writer.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(error)?;
    if mode != "wal" {
        let why = format!("the file system allows only the journal mode {mode}; use a local disk");
        return Err(StoreError::Unavailable(why));
    }
    writer.execute_batch("PRAGMA journal_size_limit = 67108864;").map_err(error)
}

struct Disk {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    _lock: Lock,
}

struct Sqlite {
    // Before the disk, so that the last connection is closed before the lock is given up.
    writer: Mutex<Connection>,
    disk: Option<Disk>,
    clock: SteadyClock,
}

/// A panic of another thread has ended its transaction, so the connection is as good as before.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    fn reader(&self) -> Result<Connection, StoreError> {
        if let Some(connection) = locked(&self.idle).pop() {
            return Ok(connection);
        }
        let connection = connect(&self.path)?;
        connection.execute_batch("PRAGMA query_only = ON;").map_err(error)?;
        Ok(connection)
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = locked(&self.idle);
        if idle.len() < IDLE {
            idle.push(connection);
        }
    }
}

impl Engine for Sqlite {
    fn read(&self, _manner: Manner, work: Work<'_>) -> Result<(), StoreError> {
        let Some(disk) = &self.disk else {
            return within(
                &mut locked(&self.writer),
                &self.clock,
                TransactionBehavior::Deferred,
                None,
                work,
            );
        };
        let mut connection = disk.reader()?;
        let result =
            within(&mut connection, &self.clock, TransactionBehavior::Deferred, None, work);
        disk.give_back(connection);
        result
    }

    fn write(&self, _manner: Manner, deadline: Deadline, work: Work<'_>) -> Result<(), StoreError> {
        let mut writer = locked(&self.writer);
        within(&mut writer, &self.clock, TransactionBehavior::Immediate, Some(deadline), work)
    }

    fn probe(&self, end: Instant, work: Work<'_>) -> Result<(), StoreError> {
        loop {
            let held = match self.writer.try_lock() {
                Ok(writer) => Some(writer),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            if let Some(mut writer) = held {
                return within(
                    &mut writer,
                    &self.clock,
                    TransactionBehavior::Immediate,
                    None,
                    work,
                );
            }
            if clock::instant() >= end {
                let why = "another write is taking long";
                return Err(StoreError::Unavailable(why.to_owned()));
            }
            std::thread::sleep(AGAIN);
        }
    }

    fn size(&self) -> Result<u64, StoreError> {
        match &self.disk {
            Some(disk) => Ok(folder::size(&disk.path)),
            None => {
                let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
                let bytes =
                    reading(self, Manner::Quiet, |tx| first(tx, sql, &[], |row| row.int(0)))?;
                unsigned(bytes.unwrap_or(0))
            }
        }
    }

    fn is_new(&self, tx: &mut dyn Tx) -> Result<bool, StoreError> {
        let sql = "SELECT count(*), coalesce(sum(name = 'meta'), 0) FROM sqlite_master WHERE type = 'table'";
        match first(tx, sql, &[], |row| Ok((row.int(0)?, row.int(1)?)))? {
            Some((0, _)) => Ok(true),
            Some((_, 1)) => Ok(false),
            _ => Err(StoreError::Other(
                "the database belongs to another program; name another folder".to_owned(),
            )),
        }
    }

    fn clock_trouble(&self) -> Option<ClockTrouble> {
        self.clock.jumped().map(ClockTrouble::Jumped)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn is_alone(&self) -> bool {
        self.disk.is_none()
    }

    fn forget(&self) {
        // If a reader holds the journal now, a later checkpoint overwrites it.
        let _ = locked(&self.writer).execute_batch("PRAGMA wal_checkpoint(TRUNCATE);");
    }
}

/// Runs work in a transaction; an error, or a panic, undoes it, and so does a deadline that is over.
fn within(
    connection: &mut Connection,
    clock: &SteadyClock,
    behavior: TransactionBehavior,
    deadline: Option<Deadline>,
    work: Work<'_>,
) -> Result<(), StoreError> {
    let in_time = || {
        if deadline.is_some_and(Deadline::is_over) { Err(StoreError::too_late()) } else { Ok(()) }
    };
    in_time()?;
    let transaction = connection.transaction_with_behavior(behavior).map_err(error)?;
    work(&mut SqliteTx(&transaction, clock))?;
    in_time()?;
    transaction.commit().map_err(error)
}

struct SqliteTx<'a>(&'a Connection, &'a SteadyClock);

/// SQLite numbers `$1` by appearance and `?1` by number; ours are numbers.
fn dialect(sql: &str) -> String {
    sql.replace('$', "?")
}

impl Tx for SqliteTx<'_> {
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let mut statement = self.0.prepare_cached(&dialect(sql)).map_err(error)?;
        let touched = statement.execute(params_from_iter(values)).map_err(error)?;
        Ok(u64::try_from(touched).unwrap_or(u64::MAX))
    }

    fn each(&mut self, sql: &str, values: &[Value<'_>], each: Each<'_>) -> Result<(), StoreError> {
        let mut statement = self.0.prepare_cached(&dialect(sql)).map_err(error)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(error)?;
        while let Some(row) = rows.next().map_err(error)? {
            each(&SqliteRow(row))?;
        }
        Ok(())
    }

    fn now(&mut self) -> [Timestamp; 2] {
        [self.1.now(); 2]
    }

    fn define(&mut self, sql: &str) -> Result<(), StoreError> {
        self.0.execute_batch(sql).map_err(error)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

struct SqliteRow<'a>(&'a rusqlite::Row<'a>);

impl SqliteRow<'_> {
    fn get<T: rusqlite::types::FromSql>(&self, column: usize) -> Result<T, StoreError> {
        self.0.get(column).map_err(|error| StoreError::Damaged(error.to_string()))
    }
}

impl Row for SqliteRow<'_> {
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

fn error(error: rusqlite::Error) -> StoreError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(text),
        Some(ErrorCode::DiskFull) => {
            StoreError::Unavailable(format!("the disk is full ({text}); free some space"))
        }
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory
            | ErrorCode::NoLargeFileSupport,
        ) => StoreError::Unavailable(text),
        _ => StoreError::Other(text),
    }
}
