// SPDX-License-Identifier: Apache-2.0
//! In: numbers and words as the databases keep them. Out: ours, or an error; and the other way round.
//! Not here: times, which are in `clock`.

use crate::error::StoreError;
use crate::record::{ChangeKind, ResourceScope, TextFormat};
use crate::sql::Row;

/// A revision or count as the databases keep it.
pub(crate) fn signed(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number)
        .map_err(|_too_large| StoreError::Other(format!("{number} is larger than any revision")))
}

/// A bound as the databases take it: more than they can count means no bound.
pub(crate) fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A revision or count from a database.
pub(crate) fn unsigned(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number)
        .map_err(|_negative| StoreError::Damaged(format!("{number} is not a revision")))
}

pub(crate) fn form_number(form: TextFormat) -> i64 {
    match form {
        TextFormat::Yaml => 0,
        TextFormat::Json => 1,
    }
}

pub(crate) fn form(number: i64) -> Result<TextFormat, StoreError> {
    match number {
        0 => Ok(TextFormat::Yaml),
        1 => Ok(TextFormat::Json),
        _ => Err(StoreError::Damaged(format!("{number} is not a form"))),
    }
}

/// The number of a deletion; queries name it.
pub(crate) const DELETED: i64 = 2;

/// `Unchanged` never reaches a database; its number exists so that this is total.
pub(crate) fn done_number(done: ChangeKind) -> i64 {
    match done {
        ChangeKind::Created => 0,
        ChangeKind::Changed => 1,
        ChangeKind::Deleted => DELETED,
        ChangeKind::Unchanged => 3,
    }
}

pub(crate) fn done(number: i64) -> Result<ChangeKind, StoreError> {
    match number {
        0 => Ok(ChangeKind::Created),
        1 => Ok(ChangeKind::Changed),
        DELETED => Ok(ChangeKind::Deleted),
        _ => Err(StoreError::Damaged(format!("{number} is not a kind of change"))),
    }
}

/// A place as two columns, which sort like places.
pub(crate) fn place_columns(place: &ResourceScope) -> (i64, &str) {
    match place {
        ResourceScope::Cluster => (0, ""),
        ResourceScope::Namespace(namespace) => (1, namespace),
        ResourceScope::Mesh(mesh) => (2, mesh),
    }
}

pub(crate) fn place(row: &dyn Row, scope: usize) -> Result<ResourceScope, StoreError> {
    match row.int(scope)? {
        0 => Ok(ResourceScope::Cluster),
        1 => Ok(ResourceScope::Namespace(row.text(scope + 1)?)),
        2 => Ok(ResourceScope::Mesh(row.text(scope + 1)?)),
        number => Err(StoreError::Damaged(format!("{number} is not a kind of place"))),
    }
}

/// PostgreSQL keeps no NUL in a text; no store accepts one, so that every backup fits every store.
pub(crate) fn plain(what: &str, text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        return Err(StoreError::Other(format!("{what} has a NUL character; remove it")));
    }
    Ok(())
}
