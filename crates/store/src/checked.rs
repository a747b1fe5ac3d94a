// SPDX-License-Identifier: Apache-2.0
//! In: numbers and words as the databases keep them. Out: ours, or an error; and the other way round.
//! Not here: times, which are in `clock`.

use crate::error::StoreError;
use crate::record::{Done, Form, Place};
use crate::sql::Row;

/// A revision or count as the databases keep it.
pub(crate) fn signed(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number)
        .map_err(|_too_large| StoreError::Other(format!("{number} is larger than any revision")))
}

/// A bound as the databases take it: more than they can count is no bound.
pub(crate) fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A revision or count from a database.
pub(crate) fn unsigned(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number)
        .map_err(|_negative| StoreError::Damaged(format!("{number} is not a revision")))
}

pub(crate) fn form_number(form: Form) -> i64 {
    match form {
        Form::Yaml => 0,
        Form::Json => 1,
    }
}

pub(crate) fn form(number: i64) -> Result<Form, StoreError> {
    match number {
        0 => Ok(Form::Yaml),
        1 => Ok(Form::Json),
        _ => Err(StoreError::Damaged(format!("{number} is not a form"))),
    }
}

/// The number of a deletion; queries name it.
pub(crate) const DELETED: i64 = 2;

/// `Unchanged` never reaches a database; its number exists so that this is total.
pub(crate) fn done_number(done: Done) -> i64 {
    match done {
        Done::Created => 0,
        Done::Changed => 1,
        Done::Deleted => DELETED,
        Done::Unchanged => 3,
    }
}

pub(crate) fn done(number: i64) -> Result<Done, StoreError> {
    match number {
        0 => Ok(Done::Created),
        1 => Ok(Done::Changed),
        DELETED => Ok(Done::Deleted),
        _ => Err(StoreError::Damaged(format!("{number} is not a kind of change"))),
    }
}

/// A place as two columns, which sort like places.
pub(crate) fn place_columns(place: &Place) -> (i64, &str) {
    match place {
        Place::Cluster => (0, ""),
        Place::Namespace(namespace) => (1, namespace),
        Place::Mesh(mesh) => (2, mesh),
    }
}

pub(crate) fn place(row: &dyn Row, scope: usize) -> Result<Place, StoreError> {
    match row.int(scope)? {
        0 => Ok(Place::Cluster),
        1 => Ok(Place::Namespace(row.text(scope + 1)?)),
        2 => Ok(Place::Mesh(row.text(scope + 1)?)),
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
