// SPDX-License-Identifier: Apache-2.0
//! In: the changes of a commit and what is there before it. Out: what to write, or why not. Pure: no database, no clock.
//! Not here: reading the state before, writing the state after.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::error::StoreError;
use crate::record::{Change, ChangeKind, Precondition, ResourceKey, TextFormat, WrittenChange};

/// What is there under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Present<'a> {
    pub(crate) text: std::borrow::Cow<'a, str>,
    pub(crate) form: TextFormat,
    pub(crate) version: u64,
    pub(crate) created: Timestamp,
}

/// A line for the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) key: &'a ResourceKey,
    pub(crate) done: ChangeKind,
    pub(crate) form: TextFormat,
    /// None for a deletion.
    pub(crate) text: Option<&'a str>,
    pub(crate) created: Timestamp,
}

/// All that a commit writes.
#[derive(Debug, Default)]
pub(crate) struct Plan<'a> {
    pub(crate) lines: Vec<Line<'a>>,
    pub(crate) written: Vec<WrittenChange>,
}

impl<'a> Plan<'a> {
    /// The last line of every key: the present after the commit, each key once.
    pub(crate) fn last_lines(&self) -> BTreeMap<&'a ResourceKey, &Line<'a>> {
        self.lines.iter().map(|line| (line.key, line)).collect()
    }
}

/// Applies the changes in order to what is there; a later change sees the earlier ones.
pub(crate) fn plan<'a>(
    changes: &'a [Change],
    mut present: BTreeMap<&'a ResourceKey, Present<'a>>,
    revision: u64,
    at: Timestamp,
) -> Result<Plan<'a>, StoreError> {
    let mut plan = Plan::default();
    for change in changes {
        let (key, done, version) = match change {
            Change::Put { key, text, form, expect } => {
                let found = present.get(key);
                meets(key, *expect, found)?;
                let (done, created, version) = match found {
                    None => (ChangeKind::Created, at, revision),
                    Some(old) if old.text == text.as_str() && old.form == *form => {
                        (ChangeKind::Unchanged, old.created, old.version)
                    }
                    Some(old) => (ChangeKind::Changed, old.created, revision),
                };
                if done != ChangeKind::Unchanged {
                    plan.lines.push(Line { key, done, form: *form, text: Some(text), created });
                    let now = Present { text: text.into(), form: *form, version, created };
                    present.insert(key, now);
                }
                (key, done, version)
            }
            Change::Delete { key, expect } => {
                let found = present.get(key);
                if found.is_none() {
                    return Err(StoreError::NotFound(Box::new(key.clone())));
                }
                meets(key, *expect, found)?;
                if let Some(old) = present.remove(key) {
                    let (form, created) = (old.form, old.created);
                    plan.lines.push(Line {
                        key,
                        done: ChangeKind::Deleted,
                        form,
                        text: None,
                        created,
                    });
                }
                (key, ChangeKind::Deleted, revision)
            }
        };
        plan.written.push(WrittenChange { key: key.clone(), version, done });
    }
    Ok(plan)
}

fn meets(
    key: &ResourceKey,
    expect: Precondition,
    found: Option<&Present<'_>>,
) -> Result<(), StoreError> {
    let found = found.map(|present| present.version);
    let met = match expect {
        Precondition::Any => true,
        Precondition::Absent => found.is_none(),
        Precondition::Version(version) => found == Some(version),
    };
    if met {
        return Ok(());
    }
    Err(StoreError::Conflict { key: Box::new(key.clone()), expected: expect, found })
}
