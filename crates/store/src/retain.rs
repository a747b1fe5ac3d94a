// SPDX-License-Identifier: Apache-2.0
//! In: how much history is kept; a key whose past texts must go. Out: less history. Not here: anything that touches the present.

use jiff::Timestamp;

use crate::checked::{DELETED, done, signed, unsigned};
use crate::error::StoreError;
use crate::read::{key_values, newest_at};
use crate::record::{AuditEvent, Author, ChangeKind, Pruned, ResourceKey, Retention};
use crate::schema::{meta, set_meta};
use crate::sql::{Tx, Value, first};
use crate::trust;

/// Drops history beyond the retention.
pub(crate) fn prune(tx: &mut dyn Tx, retention: &Retention) -> Result<Pruned, StoreError> {
    let old = meta(tx, "horizon")?;
    let mut horizon = old;
    if let Some(entries) = retention.entries {
        horizon = horizon.max(horizon_by_count(tx, old, entries)?);
    }
    if let Some(age) = retention.age {
        // A span longer than time itself keeps everything.
        let [now, _] = tx.now();
        let cut = now.saturating_sub(age).unwrap_or(Timestamp::MIN);
        horizon = horizon.max(horizon_by_time(tx, cut)?);
    }
    if horizon == old {
        return Ok(Pruned { horizon, entries: 0 });
    }
    let at = Value::Int(signed(horizon)?);
    // The newest entry of every key at the horizon stays, unless it says that the key is gone: it is the state there.
    let removed = tx.run(
        "DELETE FROM entries WHERE (revision, item) IN (
           SELECT aged.revision, aged.item
           FROM (SELECT revision, item, done,
                        row_number() OVER (PARTITION BY grp, kind, scope, place, name
                                           ORDER BY revision DESC, item DESC) AS age
                 FROM entries WHERE revision <= $1) AS aged
           WHERE aged.age > 1 OR aged.done = $2)",
        &[at, Value::Int(DELETED)],
    )?;
    // The horizon's own row stays, for reads by time.
    tx.run("DELETE FROM revisions WHERE revision < $1", &[at])?;
    set_meta(tx, "horizon", signed(horizon)?)?;
    Ok(Pruned { horizon, entries: removed })
}

/// The lowest horizon above which there are at most so many entries.
fn horizon_by_count(tx: &mut dyn Tx, horizon: u64, entries: u64) -> Result<u64, StoreError> {
    let sql = "SELECT revision FROM entries WHERE revision > $1
               ORDER BY revision DESC, item DESC LIMIT 1 OFFSET $2";
    let entries = i64::try_from(entries).unwrap_or(i64::MAX);
    let values = [Value::Int(signed(horizon)?), Value::Int(entries)];
    first(tx, sql, &values, |row| row.int(0))?.map_or(Ok(horizon), unsigned)
}

/// The newest revision that is not after the cut: the state at the cut.
fn horizon_by_time(tx: &mut dyn Tx, cut: Timestamp) -> Result<u64, StoreError> {
    Ok(newest_at(tx, cut)?.unwrap_or(0))
}

/// Removes the past texts of a key.
pub(crate) fn redact(
    tx: &mut dyn Tx,
    author: &Author,
    key: &ResourceKey,
) -> Result<u64, StoreError> {
    let sql = "SELECT revision, item, done FROM entries
               WHERE grp = $1 AND kind = $2 AND scope = $3 AND place = $4 AND name = $5
               ORDER BY revision DESC, item DESC LIMIT 1";
    let last =
        first(tx, sql, &key_values(key), |row| Ok((row.int(0)?, row.int(1)?, done(row.int(2)?)?)))?;
    // No entry has a negative number, so this spares none.
    let (revision, item) = match last {
        Some((revision, item, ChangeKind::Created | ChangeKind::Changed)) => (revision, item),
        Some((_, _, ChangeKind::Deleted | ChangeKind::Unchanged)) | None => (-1, -1),
    };
    let [a, b, c, d, e] = key_values(key);
    let removed = tx.run(
        "UPDATE entries SET text = NULL, redacted = 1
         WHERE grp = $1 AND kind = $2 AND scope = $3 AND place = $4 AND name = $5
           AND text IS NOT NULL AND (revision <> $6 OR item <> $7)",
        &[a, b, c, d, e, Value::Int(revision), Value::Int(item)],
    )?;
    let [now, _] = tx.now();
    let event = AuditEvent {
        id: 0,
        at: now,
        author: author.clone(),
        action: "redact".to_owned(),
        what: key.to_string(),
        outcome: format!("texts removed from the history: {removed}"),
    };
    trust::audit(tx, &event)?;
    Ok(removed)
}
