// SPDX-License-Identifier: Apache-2.0
//! In: keys and revisions. Out: records, as they are or were. Not here: the history as a list of changes, which is `feed`.

use jiff::Timestamp;

use crate::checked::{DELETED, form, place, place_columns, signed, unsigned};
use crate::clock;
use crate::error::StoreError;
use crate::record::{Record, ResourceKey, StoreSnapshot};
use crate::schema::meta;
use crate::sql::{Row, Tx, Value, all, first};

/// The columns of a key, in the order of keys.
pub(crate) const KEY: &str = "grp, kind, scope, place, name";

/// A key as values.
pub(crate) fn key_values(key: &ResourceKey) -> [Value<'_>; 5] {
    let (scope, place) = place_columns(&key.place);
    [
        Value::Text(&key.group),
        Value::Text(&key.kind),
        Value::Int(scope),
        Value::Text(place),
        Value::Text(&key.name),
    ]
}

/// The key in five columns of a row.
pub(crate) fn key_at(row: &dyn Row, column: usize) -> Result<ResourceKey, StoreError> {
    Ok(ResourceKey {
        group: row.text(column)?,
        kind: row.text(column + 1)?,
        place: place(row, column + 2)?,
        name: row.text(column + 4)?,
    })
}

/// A past state of a key.
enum Past {
    Record(Record),
    Redacted(ResourceKey),
    Deleted,
}

/// The revision to read, if it can be read: between the horizon and the newest. None means the present.
fn reachable(tx: &mut dyn Tx, as_of: Option<u64>) -> Result<(u64, Option<u64>), StoreError> {
    let newest = meta(tx, "revision")?;
    let Some(revision) = as_of else { return Ok((newest, None)) };
    if revision > newest {
        return Err(StoreError::Future { newest });
    }
    let horizon = meta(tx, "horizon")?;
    if revision < horizon {
        return Err(StoreError::Gone { horizon });
    }
    Ok((revision, (revision < newest).then_some(revision)))
}

/// One resource.
pub(crate) fn get(
    tx: &mut dyn Tx,
    key: &ResourceKey,
    as_of: Option<u64>,
) -> Result<Option<Record>, StoreError> {
    let (_, past) = reachable(tx, as_of)?;
    let Some(revision) = past else {
        let sql = format!(
            "SELECT {KEY}, text, form, version, created, modified FROM resources
             WHERE grp = $1 AND kind = $2 AND scope = $3 AND place = $4 AND name = $5"
        );
        return first(tx, &sql, &key_values(key), present);
    };
    let sql = format!(
        "SELECT {KEY}, text, form, revision, created, at, done, redacted FROM entries
         WHERE grp = $1 AND kind = $2 AND scope = $3 AND place = $4 AND name = $5 AND revision <= $6
         ORDER BY revision DESC, item DESC LIMIT 1"
    );
    let [a, b, c, d, e] = key_values(key);
    let values = [a, b, c, d, e, Value::Int(signed(revision)?)];
    Ok(match first(tx, &sql, &values, past_at)? {
        Some(Past::Record(record)) => Some(record),
        Some(Past::Redacted(_) | Past::Deleted) | None => None,
    })
}

/// Everything.
pub(crate) fn snapshot(tx: &mut dyn Tx, as_of: Option<u64>) -> Result<StoreSnapshot, StoreError> {
    let (revision, past) = reachable(tx, as_of)?;
    let mut snapshot = StoreSnapshot { revision, records: Vec::new(), redacted: Vec::new() };
    let Some(past) = past else {
        let sql = format!(
            "SELECT {KEY}, text, form, version, created, modified FROM resources ORDER BY {KEY}"
        );
        snapshot.records = all(tx, &sql, &[], present)?;
        return Ok(snapshot);
    };
    // The newest entry of each key is found on narrow rows first, so that no old text is read or sorted.
    let sql = "SELECT e.grp, e.kind, e.scope, e.place, e.name, e.text, e.form, e.revision, e.created, e.at,
                      e.done, e.redacted
               FROM (SELECT revision, item,
                            row_number() OVER (PARTITION BY grp, kind, scope, place, name
                                               ORDER BY revision DESC, item DESC) AS age
                     FROM entries WHERE revision <= $1) AS aged
               JOIN entries AS e ON e.revision = aged.revision AND e.item = aged.item
               WHERE aged.age = 1
               ORDER BY e.grp, e.kind, e.scope, e.place, e.name";
    tx.each(sql, &[Value::Int(signed(past)?)], &mut |row| {
        match past_at(row)? {
            Past::Record(record) => snapshot.records.push(record),
            Past::Redacted(key) => snapshot.redacted.push(key),
            Past::Deleted => {}
        }
        Ok(())
    })?;
    Ok(snapshot)
}

fn present(row: &dyn Row) -> Result<Record, StoreError> {
    Ok(Record {
        key: key_at(row, 0)?,
        text: row.text(5)?,
        form: form(row.int(6)?)?,
        version: unsigned(row.int(7)?)?,
        created: clock::time(row.int(8)?)?,
        modified: clock::time(row.int(9)?)?,
    })
}

fn past_at(row: &dyn Row) -> Result<Past, StoreError> {
    if row.int(10)? == DELETED {
        return Ok(Past::Deleted);
    }
    if row.int(11)? != 0 {
        return Ok(Past::Redacted(key_at(row, 0)?));
    }
    present(row).map(Past::Record)
}

/// The newest of the revisions that are not after a time. One that is dated after a later one was dated wrongly: it was there
/// when the later one was.
pub(crate) fn newest_at(tx: &mut dyn Tx, time: Timestamp) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT max(revision) FROM revisions WHERE at <= $1";
    let time = Value::Int(clock::number(time));
    let found = first(tx, sql, &[time], |row| row.int_or_null(0))?.flatten();
    found.map(unsigned).transpose()
}

/// The newest revision not after a time.
pub(crate) fn revision_at(tx: &mut dyn Tx, time: Timestamp) -> Result<u64, StoreError> {
    let revision = newest_at(tx, time)?.unwrap_or(0);
    let horizon = meta(tx, "horizon")?;
    if revision < horizon {
        return Err(StoreError::Gone { horizon });
    }
    Ok(revision)
}
