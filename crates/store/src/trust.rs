// SPDX-License-Identifier: Apache-2.0
//! In: tokens, audit events. Out: the same, kept. Not here: what a token may do; hashing.

use jiff::Timestamp;

use crate::change::check_author;
use crate::checked::{bound, plain, signed, unsigned};
use crate::clock;
use crate::error::StoreError;
use crate::record::{AuditEvent, Author, Retention, TokenRow};
use crate::schema::{meta, set_meta};
use crate::sql::{Row, Tx, Value, all, first};

/// All tokens.
pub(crate) fn tokens(tx: &mut dyn Tx) -> Result<Vec<TokenRow>, StoreError> {
    let sql = "SELECT id, name, hash, grants, created, expires, revoked FROM tokens ORDER BY id";
    all(tx, sql, &[], token)
}

/// Adds or replaces a token; tells the new count of changes.
pub(crate) fn put_token(tx: &mut dyn Tx, row: &TokenRow) -> Result<u64, StoreError> {
    for (what, text) in [("the id", &row.id), ("the name", &row.name), ("the grants", &row.grants)]
    {
        plain(what, text)?;
    }
    tx.run(
        "INSERT INTO tokens (id, name, hash, grants, created, expires, revoked)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, hash = excluded.hash,
           grants = excluded.grants, created = excluded.created, expires = excluded.expires,
           revoked = excluded.revoked",
        &[
            Value::Text(&row.id),
            Value::Text(&row.name),
            Value::Bytes(&row.hash),
            Value::Text(&row.grants),
            Value::Int(clock::number(row.created)),
            Value::int(row.expires.map(clock::number)),
            Value::int(row.revoked.map(clock::number)),
        ],
    )?;
    bump(tx)
}

/// Adds a token if there has never been one. Tokens are never deleted, so none now means none ever.
pub(crate) fn first_token(tx: &mut dyn Tx, row: &TokenRow) -> Result<Option<u64>, StoreError> {
    if first(tx, "SELECT count(*) FROM tokens", &[], |row| row.int(0))? != Some(0) {
        return Ok(None);
    }
    put_token(tx, row).map(Some)
}

/// Revokes a token; tells the new count of changes if there is such a token.
pub(crate) fn revoke_token(
    tx: &mut dyn Tx,
    id: &str,
    at: Timestamp,
) -> Result<Option<u64>, StoreError> {
    plain("the id", id)?;
    let sql = "UPDATE tokens SET revoked = coalesce(revoked, $1) WHERE id = $2";
    match tx.run(sql, &[Value::Int(clock::number(at)), Value::Text(id)])? {
        0 => Ok(None),
        _ => bump(tx).map(Some),
    }
}

fn bump(tx: &mut dyn Tx) -> Result<u64, StoreError> {
    let next = meta(tx, "tokens")? + 1;
    set_meta(tx, "tokens", signed(next)?)?;
    Ok(next)
}

fn token(row: &dyn Row) -> Result<TokenRow, StoreError> {
    Ok(TokenRow {
        id: row.text(0)?,
        name: row.text(1)?,
        hash: row.bytes(2)?,
        grants: row.text(3)?,
        created: clock::time(row.int(4)?)?,
        expires: row.int_or_null(5)?.map(clock::time).transpose()?,
        revoked: row.int_or_null(6)?.map(clock::time).transpose()?,
    })
}

/// Appends to the audit log.
pub(crate) fn audit(tx: &mut dyn Tx, event: &AuditEvent) -> Result<(), StoreError> {
    let sql = "SELECT id FROM audit ORDER BY id DESC LIMIT 1";
    let newest = first(tx, sql, &[], |row| row.int(0))?.map_or(Ok(0), unsigned)?;
    put_audit(tx, event, newest + 1)
}

/// Writes an audit event under a number.
pub(crate) fn put_audit(tx: &mut dyn Tx, event: &AuditEvent, id: u64) -> Result<(), StoreError> {
    check_author(&event.author)?;
    for text in [&event.action, &event.what, &event.outcome] {
        plain("the audit event", text)?;
    }
    tx.run(
        "INSERT INTO audit (id, at, author, token, request, action, what, outcome)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            Value::Int(signed(id)?),
            Value::Int(clock::number(event.at)),
            Value::Text(&event.author.name),
            Value::text(event.author.token.as_deref()),
            Value::text(event.author.request.as_deref()),
            Value::Text(&event.action),
            Value::Text(&event.what),
            Value::Text(&event.outcome),
        ],
    )?;
    Ok(())
}

/// The columns that [`audit_at`] reads.
pub(crate) const AUDIT: &str =
    "SELECT id, at, author, token, request, action, what, outcome FROM audit";

/// The audit log, newest first.
pub(crate) fn audit_log(
    tx: &mut dyn Tx,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<AuditEvent>, StoreError> {
    let before = before.map_or(i64::MAX, |id| i64::try_from(id).unwrap_or(i64::MAX));
    let sql = format!("{AUDIT} WHERE id < $1 ORDER BY id DESC LIMIT $2");
    all(tx, &sql, &[Value::Int(before), Value::Int(bound(limit))], audit_at)
}

/// Drops the events beyond the retention; tells how many. The newest one stays: numbers go on from it.
pub(crate) fn prune_audit(tx: &mut dyn Tx, retention: &Retention) -> Result<u64, StoreError> {
    let newest = first(tx, "SELECT id FROM audit ORDER BY id DESC LIMIT 1", &[], |row| row.int(0))?;
    let Some(newest) = newest else { return Ok(0) };
    // Everything below these goes.
    let (mut id, mut at) = (i64::MIN, i64::MIN);
    if let Some(entries) = retention.entries {
        let entries = i64::try_from(entries).unwrap_or(i64::MAX);
        id = newest.saturating_add(1).saturating_sub(entries).min(newest);
    }
    if let Some(age) = retention.age {
        let [now, _] = tx.now();
        // A span longer than time itself keeps everything.
        at = clock::number(now.saturating_sub(age).unwrap_or(Timestamp::MIN));
    }
    tx.run(
        "DELETE FROM audit WHERE (id < $1 OR at < $2) AND id < $3",
        &[Value::Int(id), Value::Int(at), Value::Int(newest)],
    )
}

/// An audit event in a row.
pub(crate) fn audit_at(row: &dyn Row) -> Result<AuditEvent, StoreError> {
    Ok(AuditEvent {
        id: unsigned(row.int(0)?)?,
        at: clock::time(row.int(1)?)?,
        author: Author {
            name: row.text(2)?,
            token: row.text_or_null(3)?,
            request: row.text_or_null(4)?,
        },
        action: row.text(5)?,
        what: row.text(6)?,
        outcome: row.text(7)?,
    })
}
