// SPDX-License-Identifier: Apache-2.0
//! In: statements that both databases understand, with `$1` for parameters. Out: rows, inside one transaction.
//! Not here: what the statements mean; how a database is reached.

use std::time::Instant;

use jiff::Timestamp;

use crate::clock::ClockTrouble;
use crate::deadline::Deadline;
use crate::error::StoreError;
use crate::record::StoreConnections;

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(crate) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }

    pub(crate) fn int(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Int)
    }
}

/// One row of an answer; columns count from 0.
pub(crate) trait Row {
    fn int(&self, column: usize) -> Result<i64, StoreError>;
    fn int_or_null(&self, column: usize) -> Result<Option<i64>, StoreError>;
    fn text(&self, column: usize) -> Result<String, StoreError>;
    fn text_or_null(&self, column: usize) -> Result<Option<String>, StoreError>;
    fn bytes(&self, column: usize) -> Result<Vec<u8>, StoreError>;
}

/// What a reader of rows does with each.
pub(crate) type Each<'a> = &'a mut dyn FnMut(&dyn Row) -> Result<(), StoreError>;

/// A transaction in progress.
pub(crate) trait Tx {
    /// Runs a statement and tells how many rows it touched.
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;
    /// Runs a query and shows every row.
    fn each(&mut self, sql: &str, values: &[Value<'_>], each: Each<'_>) -> Result<(), StoreError>;
    /// What time it is, by each clock there is to ask, the earliest first.
    fn now(&mut self) -> [Timestamp; 2];
    /// Runs statements that define tables, written for SQLite; PostgreSQL translates the types.
    fn define(&mut self, sql: &str) -> Result<(), StoreError>;
}

/// Work inside a transaction.
pub(crate) type Work<'a> = &'a mut dyn FnMut(&mut dyn Tx) -> Result<(), StoreError>;

/// How a transaction is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Bounded in time; other instances need not hear of it.
    Quiet,
    /// Bounded in time; other instances are told when it is committed.
    Told,
    /// May take long: backup, restore, migration, pruning. Other instances are told.
    Long,
}

/// A database.
pub(crate) trait Engine: Send + Sync {
    /// Runs work on one consistent state.
    fn read(&self, manner: Manner, work: Work<'_>) -> Result<(), StoreError>;
    /// Runs work as the only writer of all instances, wholly or not at all, and not after the deadline. When it returns, the
    /// work is on disk; an error other than [`StoreError::Unknown`] means that it is not and never will be.
    fn write(&self, manner: Manner, deadline: Deadline, work: Work<'_>) -> Result<(), StoreError>;
    /// Runs work beside all others, wholly or not at all, on what is kept for that: it gets its turn until then, or fails.
    fn probe(&self, end: Instant, work: Work<'_>) -> Result<(), StoreError>;
    /// Whether the database has none of our tables yet.
    fn is_new(&self, tx: &mut dyn Tx) -> Result<bool, StoreError>;
    /// What is wrong with the clocks that changes are dated by.
    fn clock_trouble(&self) -> Option<ClockTrouble>;
    /// What time it is, as far as can be told without the database.
    fn now(&self) -> Timestamp;
    /// Bytes that the database keeps for the store: files, or tables.
    fn size(&self) -> Result<u64, StoreError>;
    /// How its connections are used, if it is reached by any.
    fn connections(&self) -> Option<StoreConnections> {
        None
    }
    /// Whether a read keeps writers waiting, so that a read must never wait for anyone else.
    fn is_alone(&self) -> bool {
        false
    }
    /// Called after texts were removed, so that no copy stays in files that the database would reuse later.
    fn forget(&self) {}
}

/// [`Engine::read`] with a result.
pub(crate) fn reading<T>(
    engine: &dyn Engine,
    manner: Manner,
    mut work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut result = None;
    engine.read(manner, &mut |tx| {
        result = Some(work(tx)?);
        Ok(())
    })?;
    result.ok_or_else(nothing_ran)
}

/// [`Engine::write`] with a result.
pub(crate) fn writing<T>(
    engine: &dyn Engine,
    manner: Manner,
    deadline: Deadline,
    mut work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut result = None;
    engine.write(manner, deadline, &mut |tx| {
        result = Some(work(tx)?);
        Ok(())
    })?;
    result.ok_or_else(nothing_ran)
}

pub(crate) fn nothing_ran() -> StoreError {
    StoreError::Other("the transaction was not run".to_owned())
}

/// The only row of an answer, if there is one.
pub(crate) fn first<T>(
    tx: &mut dyn Tx,
    sql: &str,
    values: &[Value<'_>],
    mut read: impl FnMut(&dyn Row) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut found = None;
    tx.each(sql, values, &mut |row| {
        if found.is_none() {
            found = Some(read(row)?);
        }
        Ok(())
    })?;
    Ok(found)
}

/// All rows of an answer.
pub(crate) fn all<T>(
    tx: &mut dyn Tx,
    sql: &str,
    values: &[Value<'_>],
    mut read: impl FnMut(&dyn Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    tx.each(sql, values, &mut |row| {
        found.push(read(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// `($1, $2), ($3, $4)`: the values of a statement that inserts `rows` rows of `columns` columns.
pub(crate) fn placeholders(rows: usize, columns: usize) -> String {
    let mut text = String::new();
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=columns {
            if column > 1 {
                text.push_str(", ");
            }
            text.push('$');
            text.push_str(&(row * columns + column).to_string());
        }
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::placeholders;

    #[test]
    fn placeholders_count_through_all_rows() {
        assert_eq!(placeholders(2, 3), "($1, $2, $3), ($4, $5, $6)");
    }
}
