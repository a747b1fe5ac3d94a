// SPDX-License-Identifier: Apache-2.0
//! In: the changes of a commit. Out: a new revision in the tables. Not here: what the changes amount to, which is `plan`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::checked::{done_number, form, form_number, place_columns, plain, signed, unsigned};
use crate::clock;
use crate::error::StoreError;
use crate::plan::{Line, Plan, Present, plan};
use crate::read::{KEY, key_at, key_values};
use crate::record::{Author, Change, ChangeKind, Committed, ResourceKey, ResourceScope};
use crate::schema::{Meta, set_meta};
use crate::sql::{Tx, Value, first, placeholders};

/// From this many changes on, the whole present is read in one query instead of key by key.
const MANY: usize = 200;
/// Rows per statement when many are written.
const ROWS: usize = 100;

/// Makes the changes inside a writing transaction.
pub(crate) fn commit(
    tx: &mut dyn Tx,
    meta: &Meta,
    author: &Author,
    changes: &[Change],
) -> Result<Committed, StoreError> {
    for change in changes {
        check(change)?;
    }
    check_author(author)?;
    let newest = meta.revision;
    let last = clock::time(meta.at)?;
    let revision = newest + 1;
    let at = date(tx, last)?;
    let present = present(tx, changes)?;
    let plan = plan(changes, present, revision, at)?;
    if plan.lines.is_empty() {
        return Ok(Committed { revision: newest, at: last, written: plan.written });
    }
    write_present(tx, &plan, revision, at)?;
    write_history(tx, author, &plan.lines, revision, at)?;
    set_meta(tx, "revision", signed(revision)?)?;
    set_meta(tx, "at", clock::number(at))?;
    Ok(Committed { revision, at, written: plan.written })
}

/// The time of a new revision. A clock that is a little behind does not make times run backwards. One that is far behind the
/// last change is believed, unless that would be before all history: then it was the last change that was dated wrongly, and
/// going on from its date would make every question by time wrong until that date has come.
fn date(tx: &mut dyn Tx, last: Timestamp) -> Result<Timestamp, StoreError> {
    let clocks = tx.now();
    if let Some(now) = clocks.into_iter().find(|now| clock::beyond(last, *now).is_none()) {
        return Ok(now.max(last));
    }
    let [_, now] = clocks;
    let sql = "SELECT at FROM revisions ORDER BY revision LIMIT 1";
    let oldest = first(tx, sql, &[], |row| clock::time(row.int(0)?))?;
    Ok(if oldest.is_some_and(|oldest| oldest <= now) { now } else { last })
}

/// How much the changes write.
pub(crate) fn size(changes: &[Change]) -> usize {
    let text = |change: &Change| match change {
        Change::Put { text, .. } => text.len(),
        Change::Delete { .. } => 0,
    };
    changes.iter().map(text).sum()
}

/// Whether a commit that this author began has been made: its revision is there, and is theirs.
pub(crate) fn is_made(
    tx: &mut dyn Tx,
    author: &Author,
    made: &Committed,
) -> Result<bool, StoreError> {
    if made.written.iter().all(|change| change.done == ChangeKind::Unchanged) {
        return Ok(true);
    }
    let sql = "SELECT at, author, token, request FROM revisions WHERE revision = $1";
    let found = first(tx, sql, &[Value::Int(signed(made.revision)?)], |row| {
        let name = row.text(1)?;
        let (token, request) = (row.text_or_null(2)?, row.text_or_null(3)?);
        Ok(row.int(0)? == clock::number(made.at) && Author { name, token, request } == *author)
    })?;
    Ok(found == Some(true))
}

fn check(change: &Change) -> Result<(), StoreError> {
    check_key(change.key())?;
    match change {
        Change::Put { text, .. } => plain("the text", text),
        Change::Delete { .. } => Ok(()),
    }
}

fn check_key(key: &ResourceKey) -> Result<(), StoreError> {
    let place = match &key.place {
        ResourceScope::Cluster => "",
        ResourceScope::Namespace(name) | ResourceScope::Mesh(name) => name,
    };
    for part in [key.group.as_str(), &key.kind, place, &key.name] {
        plain("the key", part)?;
    }
    Ok(())
}

/// Refuses what a database could not keep.
pub(crate) fn check_author(author: &Author) -> Result<(), StoreError> {
    plain("the author", &author.name)?;
    plain("the token id", author.token.as_deref().unwrap_or_default())?;
    plain("the request id", author.request.as_deref().unwrap_or_default())
}

/// What is there under the keys of the changes.
fn present<'a>(
    tx: &mut dyn Tx,
    changes: &'a [Change],
) -> Result<BTreeMap<&'a ResourceKey, Present<'a>>, StoreError> {
    let mut wanted: BTreeMap<&ResourceKey, Option<Present<'a>>> =
        changes.iter().map(|change| (change.key(), None)).collect();
    let read = |row: &dyn crate::sql::Row| {
        Ok(Present {
            text: row.text(5)?.into(),
            form: form(row.int(6)?)?,
            version: unsigned(row.int(7)?)?,
            created: clock::time(row.int(8)?)?,
        })
    };
    if wanted.len() > MANY {
        let sql = format!("SELECT {KEY}, text, form, version, created FROM resources");
        tx.each(&sql, &[], &mut |row| {
            if let Some(place) = wanted.get_mut(&key_at(row, 0)?) {
                *place = Some(read(row)?);
            }
            Ok(())
        })?;
    } else {
        let sql = format!(
            "SELECT {KEY}, text, form, version, created FROM resources
             WHERE grp = $1 AND kind = $2 AND scope = $3 AND place = $4 AND name = $5"
        );
        for (key, place) in &mut wanted {
            *place = first(tx, &sql, &key_values(key), read)?;
        }
    }
    Ok(wanted.into_iter().filter_map(|(key, found)| Some((key, found?))).collect())
}

fn write_present(
    tx: &mut dyn Tx,
    plan: &Plan<'_>,
    revision: u64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let mut rows = Rows::new(
        format!("INSERT INTO resources ({KEY}, text, form, version, created, modified) VALUES "),
        " ON CONFLICT (grp, kind, scope, place, name) DO UPDATE SET text = excluded.text,
         form = excluded.form, version = excluded.version, created = excluded.created,
         modified = excluded.modified",
        10,
    );
    for (key, line) in plan.last_lines() {
        match line.text {
            Some(text) => {
                rows.values.extend(key_values(key));
                rows.values.extend([
                    Value::Text(text),
                    Value::Int(form_number(line.form)),
                    Value::Int(signed(revision)?),
                    Value::Int(clock::number(line.created)),
                    Value::Int(clock::number(at)),
                ]);
                rows.write_full(tx)?;
            }
            None => {
                let sql = "DELETE FROM resources
                           WHERE grp = $1 AND kind = $2 AND scope = $3 AND place = $4 AND name = $5";
                tx.run(sql, &key_values(key))?;
            }
        }
    }
    rows.write_rest(tx)
}

fn write_history(
    tx: &mut dyn Tx,
    author: &Author,
    lines: &[Line<'_>],
    revision: u64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let revision = Value::Int(signed(revision)?);
    let at = Value::Int(clock::number(at));
    tx.run(
        "INSERT INTO revisions (revision, at, author, token, request) VALUES ($1, $2, $3, $4, $5)",
        &[
            revision,
            at,
            Value::Text(&author.name),
            Value::text(author.token.as_deref()),
            Value::text(author.request.as_deref()),
        ],
    )?;
    let mut rows = entry_rows();
    for (item, line) in lines.iter().enumerate() {
        debug_assert!(line.done != ChangeKind::Unchanged, "the plan has no line for what stays");
        rows.values.extend([revision, Value::Int(crate::checked::bound(item))]);
        rows.values.extend(key_values(line.key));
        rows.values.extend([
            Value::Int(done_number(line.done)),
            Value::Int(form_number(line.form)),
            Value::text(line.text),
            Value::Int(0),
            Value::Int(clock::number(line.created)),
            at,
        ]);
        rows.write_full(tx)?;
    }
    rows.write_rest(tx)
}

/// Rows for the table of entries, in the order of its columns.
pub(crate) fn entry_rows<'a>() -> Rows<'a> {
    Rows::new(
        format!(
            "INSERT INTO entries (revision, item, {KEY}, done, form, text, redacted, created, at) VALUES "
        ),
        "",
        13,
    )
}

/// Rows to insert, written many at a time.
pub(crate) struct Rows<'a> {
    head: String,
    tail: &'static str,
    columns: usize,
    pub(crate) values: Vec<Value<'a>>,
}

impl Rows<'_> {
    fn new(head: String, tail: &'static str, columns: usize) -> Self {
        Self { head, tail, columns, values: Vec::new() }
    }

    /// Writes what is waiting if it is enough for a statement.
    pub(crate) fn write_full(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        if self.values.len() < ROWS * self.columns {
            return Ok(());
        }
        tx.run(&self.sql(ROWS), &self.values)?;
        self.values.clear();
        Ok(())
    }

    /// Writes what is waiting, row by row, so that there are only two statements to prepare.
    pub(crate) fn write_rest(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let sql = self.sql(1);
        for row in self.values.chunks(self.columns) {
            tx.run(&sql, row)?;
        }
        self.values.clear();
        Ok(())
    }

    fn sql(&self, rows: usize) -> String {
        format!("{}{}{}", self.head, placeholders(rows, self.columns), self.tail)
    }
}

/// A place as values, for conditions.
pub(crate) fn place_values(place: &ResourceScope) -> [Value<'_>; 2] {
    let (scope, name) = place_columns(place);
    [Value::Int(scope), Value::Text(name)]
}
