// SPDX-License-Identifier: Apache-2.0
//! In: a backup. Out: an empty store filled from it, or an error and the store still empty. Not here: writing backups.

use std::io::BufRead;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use sha2::{Digest, Sha256};

use crate::change::entry_rows;
use crate::checked::{DELETED, done_number, form_number, signed};
use crate::clock;
use crate::dump::{EntryLine, FORMAT, Header, Line};
use crate::error::StoreError;
use crate::read::{KEY, key_values};
use crate::record::{AuditEvent, Author, TokenRow};
use crate::schema::{meta, set_meta};
use crate::sql::{Tx, Value, first};
use crate::trust::{put_audit, put_token};

/// Reads the backup inside a writing transaction, which an error undoes.
pub(crate) fn restore(tx: &mut dyn Tx, from: &mut dyn BufRead) -> Result<u64, StoreError> {
    if !is_empty(tx)? {
        return Err(StoreError::NotEmpty);
    }
    let mut lines = Lines { from, digest: Sha256::new(), count: 0 };
    let header = match lines.next()? {
        Some(Line::Backup(header)) => header,
        _ => return Err(refused("its first line is not the header of a backup")),
    };
    if header.format > FORMAT {
        return Err(StoreError::TooNew { found: header.format, known: FORMAT });
    }
    loop {
        let (count, so_far) = (lines.count, lines.digest.clone());
        match lines.next()? {
            None => return Err(refused("its end is missing")),
            Some(Line::End { lines: expected, sha256 }) => {
                if count != expected || HEXLOWER.encode(&so_far.finalize()) != sha256 {
                    return Err(refused("its checksum is wrong, so something in it was altered"));
                }
                break;
            }
            Some(line) => put(tx, &header, line)?,
        }
    }
    if lines.next()?.is_some() {
        return Err(refused("something follows its end"));
    }
    finish(tx, &header)?;
    Ok(header.revision)
}

fn refused(why: &str) -> StoreError {
    StoreError::Other(format!("the backup cannot be restored: {why}"))
}

fn is_empty(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    let sql = "SELECT (SELECT count(*) FROM tokens) + (SELECT count(*) FROM audit)";
    let others = first(tx, sql, &[], |row| row.int(0))?;
    Ok(meta(tx, "revision")? == 0 && others == Some(0))
}

/// Reads lines and remembers what was read.
struct Lines<'a> {
    from: &'a mut dyn BufRead,
    digest: Sha256,
    count: u64,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<Line>, StoreError> {
        let mut text = Vec::new();
        let read = self.from.read_until(b'\n', &mut text);
        let read = read.map_err(|error| refused(&format!("it cannot be read: {error}")))?;
        if read == 0 {
            return Ok(None);
        }
        if text.last() != Some(&b'\n') {
            return Err(refused("its last line is cut"));
        }
        self.digest.update(&text);
        self.count += 1;
        let line = serde_json::from_slice(&text);
        // The parser's message could quote the text, so only the line is named.
        line.map(Some).map_err(|_error| refused(&format!("line {} is invalid", self.count)))
    }
}

fn put(tx: &mut dyn Tx, header: &Header, line: Line) -> Result<(), StoreError> {
    match line {
        Line::Backup(_) | Line::End { .. } => Err(refused("it has two headers")),
        Line::Revision { revision, at, author } => {
            within(header, revision)?;
            put_revision(tx, revision, clock::number(at.0), &author)
        }
        Line::Entry(entry) => {
            within(header, entry.revision)?;
            put_entry(tx, &entry)
        }
        Line::Token { id, name, hash, grants, created, expires, revoked } => {
            let hash = HEXLOWER_PERMISSIVE.decode(hash.as_bytes());
            let hash = hash.ok().ok_or_else(|| refused("a hash is not hexadecimal"))?;
            let row = TokenRow {
                id,
                name,
                hash,
                grants,
                created: created.0,
                expires: expires.map(|time| time.0),
                revoked: revoked.map(|time| time.0),
            };
            put_token(tx, &row).map(drop)
        }
        Line::Audit { id, at, author, action, what, outcome } => {
            let event = AuditEvent { id, at: at.0, author, action, what, outcome };
            put_audit(tx, &event, id)
        }
    }
}

fn within(header: &Header, revision: u64) -> Result<(), StoreError> {
    if revision == 0 || revision > header.revision {
        return Err(refused("it has a revision that its header does not announce"));
    }
    Ok(())
}

fn put_revision(
    tx: &mut dyn Tx,
    revision: u64,
    at: i64,
    author: &Author,
) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO revisions (revision, at, author, token, request) VALUES ($1, $2, $3, $4, $5)",
        &[
            Value::Int(signed(revision)?),
            Value::Int(at),
            Value::Text(&author.name),
            Value::text(author.token.as_deref()),
            Value::text(author.request.as_deref()),
        ],
    )?;
    Ok(())
}

fn put_entry(tx: &mut dyn Tx, entry: &EntryLine) -> Result<(), StoreError> {
    let mut rows = entry_rows();
    rows.values.extend([Value::Int(signed(entry.revision)?), Value::Int(signed(entry.item)?)]);
    rows.values.extend(key_values(&entry.key));
    rows.values.extend([
        Value::Int(done_number(entry.done)),
        Value::Int(form_number(entry.form)),
        Value::text(entry.text.as_deref()),
        Value::Int(i64::from(entry.redacted)),
        Value::Int(clock::number(entry.created.0)),
        Value::Int(clock::number(entry.at.0)),
    ]);
    rows.write_rest(tx)
}

/// The present is the newest entry of every key.
fn finish(tx: &mut dyn Tx, header: &Header) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO resources ({KEY}, text, form, version, created, modified)
         SELECT e.grp, e.kind, e.scope, e.place, e.name, e.text, e.form, e.revision, e.created, e.at
         FROM (SELECT revision, item,
                      row_number() OVER (PARTITION BY grp, kind, scope, place, name
                                         ORDER BY revision DESC, item DESC) AS age
               FROM entries) AS aged
         JOIN entries AS e ON e.revision = aged.revision AND e.item = aged.item
         WHERE aged.age = 1 AND e.done <> $1"
    );
    tx.run(&sql, &[Value::Int(DELETED)])?;
    set_meta(tx, "revision", signed(header.revision)?)?;
    set_meta(tx, "at", clock::number(header.at.0))?;
    set_meta(tx, "horizon", signed(header.horizon)?)?;
    set_meta(tx, "tokens", signed(header.tokens)?)
}
