// SPDX-License-Identifier: Apache-2.0
//! In: the address of a PostgreSQL database. Out: a store on it that any number of instances share.
//! Not here: what is stored; the address (`address`), the password (`password`), connections (`pool`), news (`listen`).
//!
//! Writers of all instances take one lock in the database until their commit is visible, so revisions appear in order and without
//! gaps, and every expectation is checked against the newest state.

mod address;
mod listen;
mod password;
mod pool;
mod tls;

use std::sync::Arc;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{IsolationLevel, Transaction};

use crate::error::StoreError;
use crate::shared::{News, Shared};
use crate::sql::{Each, Engine, Manner, Row, Tx, Value, Work, first, reading, writing};
use crate::store::Store;
use address::Address;
use pool::{Pool, Statements};
pub use tls::PgTls;

/// Opens the store in a PostgreSQL database, `postgres://user@host:port/database?schema=overrule`. The tables are in a schema of
/// their own, which is created if it is not there. The password is taken from the address, `PGPASSWORD`, or the password file
/// (`PGPASSFILE`, else `~/.pgpass`), in this order, and never shown.
pub fn open_postgres(url: &str, tls: PgTls) -> Result<Box<dyn Store>, StoreError> {
    let mut address = Address::parse(url, &tls)?;
    password::find(&mut address.config)?;
    let pool = Arc::new(Pool::new(address.config, tls.connector()?, address.schema));
    let news = News::new();
    let engine = Postgres { pool: Arc::clone(&pool) };
    engine.create_schema()?;
    let shared = Shared::open(engine, Arc::clone(&news))?;
    listen::start(pool, news)?;
    Ok(Box::new(shared))
}

struct Postgres {
    pool: Arc<Pool>,
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
        writing(self, Manner::Long, |tx| {
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
        self.pool.with(|link| {
            let begun = link
                .client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start();
            within(begun, &mut link.statements, manner, None, work)
        })
    }

    fn write(&self, manner: Manner, work: Work<'_>) -> Result<(), StoreError> {
        self.pool.with(|link| {
            // Each statement sees what was committed before it; behind the lock nothing else is committed.
            let begun = link
                .client
                .build_transaction()
                .isolation_level(IsolationLevel::ReadCommitted)
                .read_only(false)
                .start();
            within(begun, &mut link.statements, manner, Some(&self.pool), work)
        })
    }

    fn is_new(&self, tx: &mut dyn Tx) -> Result<bool, StoreError> {
        let sql = "SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename = 'meta'";
        Ok(first(tx, sql, &[Value::Text(self.pool.schema())], |row| row.int(0))? == Some(0))
    }
}

/// How a use of a connection failed.
enum Failure {
    /// Before anything was done: another connection may do.
    Stale(StoreError),
    /// The work itself refused; the connection is fine.
    Refused(StoreError),
    /// The database refused or broke; the connection is thrown away.
    Broken(StoreError),
}

fn within(
    begun: Result<Transaction<'_>, postgres::Error>,
    statements: &mut Statements,
    manner: Manner,
    writer: Option<&Pool>,
    work: Work<'_>,
) -> Result<(), Failure> {
    let transaction = begun.map_err(|error| Failure::Stale(translate(&error)))?;
    let mut tx = PgTx { transaction, statements };
    if manner == Manner::Long {
        let limits =
            "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
        tx.transaction.batch_execute(limits).map_err(|error| Failure::Broken(translate(&error)))?;
    }
    if let Some(pool) = writer {
        tx.run("SELECT pg_advisory_xact_lock($1)", &[Value::Int(pool.lock())])
            .map_err(Failure::Broken)?;
    }
    work(&mut tx).map_err(|error| match error {
        StoreError::Conflict { .. }
        | StoreError::NotFound(_)
        | StoreError::Gone { .. }
        | StoreError::Future { .. }
        | StoreError::NotEmpty => Failure::Refused(error),
        other => Failure::Broken(other),
    })?;
    if let Some(pool) = writer.filter(|_| manner != Manner::Quiet) {
        tx.run("SELECT pg_notify($1, '')", &[Value::Text(pool.channel())])
            .map_err(Failure::Broken)?;
    }
    tx.transaction.commit().map_err(|error| Failure::Broken(translate(&error)))
}

struct PgTx<'a> {
    transaction: Transaction<'a>,
    statements: &'a mut Statements,
}

impl PgTx<'_> {
    fn statement(&mut self, sql: &str) -> Result<postgres::Statement, StoreError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.transaction.prepare(sql).map_err(|error| translate(&error))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Tx for PgTx<'_> {
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let statement = self.statement(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.transaction.execute(&statement, &values).map_err(|error| translate(&error))
    }

    fn each(&mut self, sql: &str, values: &[Value<'_>], each: Each<'_>) -> Result<(), StoreError> {
        let statement = self.statement(sql)?;
        let values = values.iter().map(|value| value as &(dyn ToSql + Sync));
        let mut rows =
            self.transaction.query_raw(&statement, values).map_err(|error| translate(&error))?;
        while let Some(row) = rows.next().map_err(|error| translate(&error))? {
            each(&PgRow(row))?;
        }
        Ok(())
    }

    fn define(&mut self, sql: &str) -> Result<(), StoreError> {
        self.transaction.batch_execute(&dialect(sql)).map_err(|error| translate(&error))
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

struct PgRow(postgres::Row);

impl PgRow {
    fn get<'a, T: postgres::types::FromSql<'a>>(&'a self, column: usize) -> Result<T, StoreError> {
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

/// A driver's error in our words. Its message names users, hosts and tables, never a password.
fn translate(error: &postgres::Error) -> StoreError {
    let Some(database) = error.as_db_error() else {
        return StoreError::Unavailable(without_answer(error));
    };
    let code = database.code();
    let text = format!("{} (PostgreSQL {})", database.message(), code.code());
    if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED {
        return StoreError::Damaged(text);
    }
    // Connections, authorization, transactions that lost, resources, operators' commands, the system below.
    let passing = ["08", "28", "40", "53", "57", "58", "25006", "25P03", "55P03", "3D000"];
    if passing.iter().any(|class| code.code().starts_with(class)) {
        return StoreError::Unavailable(text);
    }
    StoreError::Other(text)
}

/// What the driver says when the server said nothing.
fn without_answer(error: &postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
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
