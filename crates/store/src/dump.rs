// SPDX-License-Identifier: Apache-2.0
//! In: one consistent state. Out: a backup: lines of JSON, the same from every database, with a header that says what it is and
//! a trailer that proves it is whole. Not here: reading it back, which is `restore`.
//!
//! The present is not written apart: it is the newest entry of every key, which no pruning or redaction takes away.

use std::io::Write;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::checked::{done, form, signed, unsigned};
use crate::clock;
use crate::error::StoreError;
use crate::read::{KEY, key_at};
use crate::record::{Author, ChangeKind, ResourceKey, TextFormat};
use crate::schema::{Schema, meta};
use crate::sql::Tx;
use crate::trust::{AUDIT, audit_at, tokens};

/// The version of the format of backups, which changes apart from that of the databases.
pub(crate) const FORMAT: u64 = 1;

/// One line of a backup.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    /// The first.
    Backup(Header),
    Revision {
        revision: u64,
        at: Time,
        author: Author,
    },
    Entry(EntryLine),
    Token {
        id: String,
        name: String,
        hash: String,
        grants: String,
        created: Time,
        expires: Option<Time>,
        revoked: Option<Time>,
    },
    Audit {
        id: u64,
        at: Time,
        author: Author,
        action: String,
        what: String,
        outcome: String,
    },
    /// The last.
    End {
        /// How many lines come before this one.
        lines: u64,
        /// SHA-256 of all bytes before this line.
        sha256: String,
    },
}

/// What the backup is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) format: u64,
    pub(crate) schema: u64,
    pub(crate) revision: u64,
    pub(crate) at: Time,
    pub(crate) horizon: u64,
    pub(crate) tokens: u64,
}

/// An entry of the history with all that the table has.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EntryLine {
    pub(crate) revision: u64,
    pub(crate) item: u64,
    pub(crate) key: ResourceKey,
    pub(crate) done: ChangeKind,
    pub(crate) form: TextFormat,
    pub(crate) text: Option<String>,
    pub(crate) redacted: bool,
    pub(crate) created: Time,
    pub(crate) at: Time,
}

/// A time, written as people read it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Time(pub(crate) Timestamp);

impl From<Time> for String {
    fn from(time: Time) -> Self {
        time.0.to_string()
    }
}

impl TryFrom<String> for Time {
    type Error = jiff::Error;

    fn try_from(text: String) -> Result<Self, jiff::Error> {
        text.parse().map(Self)
    }
}

/// Writes lines and remembers what was written.
struct Lines<'a> {
    out: &'a mut dyn Write,
    digest: Sha256,
    count: u64,
}

impl Lines<'_> {
    fn put(&mut self, line: &Line) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec(line).map_err(|error| failed(&error))?;
        text.push(b'\n');
        self.digest.update(&text);
        self.count += 1;
        self.out.write_all(&text).map_err(|error| failed(&error))
    }
}

/// An output that does not take the backup.
pub(crate) fn failed(error: &dyn std::error::Error) -> StoreError {
    StoreError::Other(format!("the backup could not be written: {error}"))
}

/// Writes the backup.
pub(crate) fn dump(tx: &mut dyn Tx, out: &mut dyn Write) -> Result<(), StoreError> {
    let mut lines = Lines { out, digest: Sha256::new(), count: 0 };
    let header = Header {
        format: FORMAT,
        schema: Schema::OURS.known(),
        revision: meta(tx, "revision")?,
        at: Time(clock::time(signed(meta(tx, "at")?)?)?),
        horizon: meta(tx, "horizon")?,
        tokens: meta(tx, "tokens")?,
    };
    lines.put(&Line::Backup(header))?;
    dump_history(tx, &mut lines)?;
    dump_trust(tx, &mut lines)?;
    let sha256 = HEXLOWER.encode(&lines.digest.finalize_reset());
    let end = Line::End { lines: lines.count, sha256 };
    lines.put(&end)?;
    lines.out.flush().map_err(|error| failed(&error))
}

fn dump_history(tx: &mut dyn Tx, lines: &mut Lines<'_>) -> Result<(), StoreError> {
    let sql = "SELECT revision, at, author, token, request FROM revisions ORDER BY revision";
    tx.each(sql, &[], &mut |row| {
        lines.put(&Line::Revision {
            revision: unsigned(row.int(0)?)?,
            at: Time(clock::time(row.int(1)?)?),
            author: Author {
                name: row.text(2)?,
                token: row.text_or_null(3)?,
                request: row.text_or_null(4)?,
            },
        })
    })?;
    let sql = format!(
        "SELECT {KEY}, revision, item, done, form, text, redacted, created, at
         FROM entries ORDER BY revision, item"
    );
    tx.each(&sql, &[], &mut |row| {
        lines.put(&Line::Entry(EntryLine {
            key: key_at(row, 0)?,
            revision: unsigned(row.int(5)?)?,
            item: unsigned(row.int(6)?)?,
            done: done(row.int(7)?)?,
            form: form(row.int(8)?)?,
            text: row.text_or_null(9)?,
            redacted: row.int(10)? != 0,
            created: Time(clock::time(row.int(11)?)?),
            at: Time(clock::time(row.int(12)?)?),
        }))
    })
}

fn dump_trust(tx: &mut dyn Tx, lines: &mut Lines<'_>) -> Result<(), StoreError> {
    for token in tokens(tx)? {
        lines.put(&Line::Token {
            id: token.id,
            name: token.name,
            hash: HEXLOWER.encode(&token.hash),
            grants: token.grants,
            created: Time(token.created),
            expires: token.expires.map(Time),
            revoked: token.revoked.map(Time),
        })?;
    }
    tx.each(&format!("{AUDIT} ORDER BY id"), &[], &mut |row| {
        let event = audit_at(row)?;
        lines.put(&Line::Audit {
            id: event.id,
            at: Time(event.at),
            author: event.author,
            action: event.action,
            what: event.what,
            outcome: event.outcome,
        })
    })
}
