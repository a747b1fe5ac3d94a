// SPDX-License-Identifier: Apache-2.0
//! In: a database of any earlier version, or an empty one. Out: the tables of this release, or a refusal of a newer database.
//! Not here: the statements that use the tables.
//!
//! `entries` is the history, with every text; `resources` is the present, kept apart so that reading it needs no history.
//! After pruning, `entries` still has the newest entry of every key at the horizon, so that every later state can be read.

use crate::checked::{signed, unsigned};
use crate::deadline::Deadline;
use crate::error::StoreError;
use crate::sql::{Engine, Manner, Tx, Value, first, writing};

/// The migrations in order; the version of a database is the number of those it has seen. Never edit one that was released.
const MIGRATIONS: &[&str] = &[
    "CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL);
     CREATE TABLE resources (
       grp TEXT NOT NULL, kind TEXT NOT NULL, scope INTEGER NOT NULL, place TEXT NOT NULL, name TEXT NOT NULL,
       text TEXT NOT NULL, form INTEGER NOT NULL,
       version INTEGER NOT NULL, created INTEGER NOT NULL, modified INTEGER NOT NULL,
       PRIMARY KEY (grp, kind, scope, place, name));
     CREATE TABLE revisions (
       revision INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL,
       author TEXT NOT NULL, token TEXT, request TEXT);
     CREATE TABLE entries (
       revision INTEGER NOT NULL, item INTEGER NOT NULL,
       grp TEXT NOT NULL, kind TEXT NOT NULL, scope INTEGER NOT NULL, place TEXT NOT NULL, name TEXT NOT NULL,
       done INTEGER NOT NULL, form INTEGER NOT NULL, text TEXT, redacted INTEGER NOT NULL,
       created INTEGER NOT NULL, at INTEGER NOT NULL,
       PRIMARY KEY (revision, item));
     CREATE TABLE tokens (
       id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, grants TEXT NOT NULL,
       created INTEGER NOT NULL, expires INTEGER, revoked INTEGER);
     CREATE TABLE audit (
       id INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL,
       author TEXT NOT NULL, token TEXT, request TEXT,
       action TEXT NOT NULL, what TEXT NOT NULL, outcome TEXT NOT NULL);
     INSERT INTO meta (name, number) VALUES
       ('schema', 0), ('revision', 0), ('at', 0), ('horizon', 0), ('tokens', 0);",
    "CREATE INDEX entries_by_key ON entries (grp, kind, scope, place, name, revision, item);
     CREATE INDEX revisions_by_time ON revisions (at, revision);
     CREATE INDEX revisions_by_author ON revisions (author, revision);",
];

/// The version of a database that a release writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// Migrations of a release after this one.
    later: &'static [&'static str],
}

impl Schema {
    /// Of this release.
    pub(crate) const OURS: Self = Self { later: &[] };

    /// Of a release with further migrations.
    #[cfg(test)]
    pub(crate) const fn later(later: &'static [&'static str]) -> Self {
        Self { later }
    }

    /// Its number.
    pub(crate) fn known(self) -> u64 {
        u64::try_from(MIGRATIONS.len() + self.later.len()).unwrap_or(u64::MAX)
    }

    /// Brings a database to this version.
    pub(crate) fn migrate(self, engine: &dyn Engine) -> Result<(), StoreError> {
        writing(engine, Manner::Long, Deadline::long(), |tx| {
            let known = self.known();
            let found = if engine.is_new(tx)? { 0 } else { meta(tx, "schema")? };
            if found > known {
                return Err(StoreError::TooNew { found, known });
            }
            let seen = usize::try_from(found).unwrap_or(usize::MAX);
            for migration in MIGRATIONS.iter().chain(self.later).skip(seen) {
                tx.define(migration)?;
            }
            if found < known {
                set_meta(tx, "schema", signed(known)?)?;
            }
            Ok(())
        })
    }

    /// The numbers that describe the store, behind the writers' lock. Nothing is written into a database of another version:
    /// while instances are replaced one by one, those of the release before may still run.
    pub(crate) fn check(self, tx: &mut dyn Tx) -> Result<Meta, StoreError> {
        let mut found = Meta::default();
        tx.each("SELECT name, number FROM meta", &[], &mut |row| {
            match row.text(0)?.as_str() {
                "schema" => found.schema = unsigned(row.int(1)?)?,
                "revision" => found.revision = unsigned(row.int(1)?)?,
                "at" => found.at = row.int(1)?,
                _ => {}
            }
            Ok(())
        })?;
        if found.schema == self.known() {
            Ok(found)
        } else {
            Err(StoreError::OtherSchema { found: found.schema, known: self.known() })
        }
    }
}

/// The numbers that a commit goes on from.
#[derive(Debug, Default)]
pub(crate) struct Meta {
    schema: u64,
    /// The newest revision.
    pub(crate) revision: u64,
    /// Its time.
    pub(crate) at: i64,
}

/// One of the numbers that describe the whole store.
pub(crate) fn meta(tx: &mut dyn Tx, name: &str) -> Result<u64, StoreError> {
    let sql = "SELECT number FROM meta WHERE name = $1";
    let number = first(tx, sql, &[Value::Text(name)], |row| row.int(0))?;
    unsigned(number.ok_or_else(|| StoreError::Damaged(format!("meta has no {name}")))?)
}

/// Sets one of those numbers.
pub(crate) fn set_meta(tx: &mut dyn Tx, name: &str, number: i64) -> Result<(), StoreError> {
    let sql = "UPDATE meta SET number = $1 WHERE name = $2";
    match tx.run(sql, &[Value::Int(number), Value::Text(name)])? {
        1 => Ok(()),
        _ => Err(StoreError::Damaged(format!("meta has no {name}"))),
    }
}
