// SPDX-License-Identifier: Apache-2.0
//! In: a place in the history, conditions. Out: entries, in order, by whole revisions. Not here: past states, which are `read`.

use crate::change::place_values;
use crate::checked::{bound, done, form, signed, unsigned};
use crate::clock;
use crate::error::StoreError;
use crate::read::{key_at, key_values};
use crate::record::{Author, HistoryEntry, HistoryFilter};
use crate::schema::meta;
use crate::sql::{Row, Tx, Value, all, first};

const ENTRY: &str = "SELECT e.grp, e.kind, e.scope, e.place, e.name, e.revision, e.at, e.done, e.form, e.text, \
                     e.redacted, r.author, r.token, r.request \
                     FROM entries AS e JOIN revisions AS r ON r.revision = e.revision";

/// The changes after a revision, oldest first.
pub(crate) fn changes(
    tx: &mut dyn Tx,
    after: u64,
    limit: usize,
) -> Result<Vec<HistoryEntry>, StoreError> {
    let newest = meta(tx, "revision")?;
    if after > newest {
        return Err(StoreError::Future { newest });
    }
    let horizon = meta(tx, "horizon")?;
    if after < horizon {
        return Err(StoreError::Gone { horizon });
    }
    let after = Value::Int(signed(after)?);
    // The revision in which the limit falls is told to its end.
    let sql = "SELECT revision FROM entries WHERE revision > $1 ORDER BY revision, item LIMIT 1 OFFSET $2";
    let last = first(tx, sql, &[after, Value::Int(bound(limit.max(1) - 1))], |row| row.int(0))?;
    let last = Value::Int(last.map_or_else(|| signed(newest), Ok)?);
    let sql =
        format!("{ENTRY} WHERE e.revision > $1 AND e.revision <= $2 ORDER BY e.revision, e.item");
    all(tx, &sql, &[after, last], entry)
}

/// Past changes, newest first.
pub(crate) fn history(
    tx: &mut dyn Tx,
    filter: &HistoryFilter,
) -> Result<Vec<HistoryEntry>, StoreError> {
    if filter.limit == 0 {
        return Ok(Vec::new());
    }
    let horizon = signed(meta(tx, "horizon")?)?;
    let mut condition = Condition::default();
    condition.add("e.revision >", Value::Int(horizon));
    if let Some(before) = filter.before {
        // A number above every revision excludes nothing.
        condition.add("e.revision <", Value::Int(i64::try_from(before).unwrap_or(i64::MAX)));
    }
    if let Some(key) = &filter.key {
        let columns = ["e.grp =", "e.kind =", "e.scope =", "e.place =", "e.name ="];
        for (column, value) in columns.into_iter().zip(key_values(key)) {
            condition.add(column, value);
        }
    }
    if let Some(place) = &filter.place {
        for (column, value) in ["e.scope =", "e.place ="].into_iter().zip(place_values(place)) {
            condition.add(column, value);
        }
    }
    if let Some(author) = &filter.author {
        condition.add("r.author =", Value::Text(author));
    }
    let oldest = oldest_of_page(tx, &condition, filter.limit)?;
    condition.add("e.revision >=", Value::Int(oldest.unwrap_or(0)));
    let sql = format!("{ENTRY} {} ORDER BY e.revision DESC, e.item DESC", condition.sql);
    all(tx, &sql, &condition.values, entry)
}

/// The revision in which the limit falls; none if everything fits.
fn oldest_of_page(
    tx: &mut dyn Tx,
    condition: &Condition<'_>,
    limit: usize,
) -> Result<Option<i64>, StoreError> {
    let sql = format!(
        "SELECT e.revision FROM entries AS e JOIN revisions AS r ON r.revision = e.revision {}
         ORDER BY e.revision DESC, e.item DESC LIMIT 1 OFFSET ${}",
        condition.sql,
        condition.values.len() + 1
    );
    let mut values = condition.values.clone();
    values.push(Value::Int(bound(limit - 1)));
    first(tx, &sql, &values, |row| row.int(0))
}

/// A `WHERE` that grows.
#[derive(Default)]
struct Condition<'a> {
    sql: String,
    values: Vec<Value<'a>>,
}

impl<'a> Condition<'a> {
    fn add(&mut self, comparison: &str, value: Value<'a>) {
        self.values.push(value);
        let joint = if self.sql.is_empty() { "WHERE" } else { " AND" };
        self.sql.push_str(&format!("{joint} {comparison} ${}", self.values.len()));
    }
}

fn entry(row: &dyn Row) -> Result<HistoryEntry, StoreError> {
    let revision = unsigned(row.int(5)?)?;
    Ok(HistoryEntry {
        revision,
        at: clock::time(row.int(6)?)?,
        author: Author {
            name: row.text(11)?,
            token: row.text_or_null(12)?,
            request: row.text_or_null(13)?,
        },
        key: key_at(row, 0)?,
        done: done(row.int(7)?)?,
        version: revision,
        text: row.text_or_null(9)?,
        redacted: row.int(10)? != 0,
        form: form(row.int(8)?)?,
    })
}
