// SPDX-License-Identifier: Apache-2.0
//! In: what went wrong. Out: an error that says what to do about it. Not here: the drivers' own errors, which are turned into
//! these where they arise and never carry a password.

use std::fmt;

use crate::record::{Precondition, ResourceKey};

/// Why the store did not do what was asked. A failed call has changed nothing and never will, with one exception:
/// [`StoreError::Unknown`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// The resource is not in the state the writer expected.
    Conflict {
        /// Which resource.
        key: Box<ResourceKey>,
        /// What the writer expected.
        expected: Precondition,
        /// The version that is there; none if nothing is.
        found: Option<u64>,
    },
    /// A deletion of what is not there.
    NotFound(Box<ResourceKey>),
    /// The revision has been pruned.
    Gone {
        /// The oldest revision that can be read.
        horizon: u64,
    },
    /// The revision does not exist yet.
    Future {
        /// The newest revision.
        newest: u64,
    },
    /// The database cannot be reached or cannot write now; trying again later makes sense.
    Unavailable(String),
    /// The connection broke in the very moment of a commit, and the database could not be asked in time what became of it. The
    /// commit is wholly there or wholly absent, and reading tells which.
    Unknown(String),
    /// The database contradicts itself.
    Damaged(String),
    /// The database or backup was written by a newer release.
    TooNew {
        /// Its version.
        found: u64,
        /// The newest version this release knows.
        known: u64,
    },
    /// Another release has changed the tables since this one opened the database, so this one writes no more.
    OtherSchema {
        /// The version of the database now.
        found: u64,
        /// The version that this release writes.
        known: u64,
    },
    /// A restore into a store that is not empty.
    NotEmpty,
    /// Anything else.
    Other(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { key, expected, found } => conflict(f, key, *expected, *found),
            Self::NotFound(key) => write!(f, "{key} does not exist, so it cannot be deleted"),
            Self::Gone { horizon } => write!(
                f,
                "the history before revision {horizon} has been pruned; ask for revision {horizon} or later"
            ),
            Self::Future { newest } => write!(
                f,
                "that revision does not exist yet; the newest is {newest}, ask for it or an earlier one"
            ),
            Self::Unavailable(why) => write!(f, "the store is not available: {why}"),
            Self::Unknown(why) => {
                write!(
                    f,
                    "it is not known whether the change is stored: {why}; read it to find out"
                )
            }
            Self::Damaged(why) => write!(
                f,
                "the store is damaged: {why}; keep a copy of it and restore the last backup into an empty store"
            ),
            Self::TooNew { found, known } => write!(
                f,
                "written by a newer release (version {found}, this release knows {known}); use that release or a later one"
            ),
            Self::OtherSchema { found, known } => write!(
                f,
                "the schema of the database is now version {found}, and this release writes version {known}, so it writes no more; \
                 use an instance of the release that changed it"
            ),
            Self::NotEmpty => {
                f.write_str("the store is not empty; a backup is restored into an empty store only")
            }
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl StoreError {
    /// A call that was not over when its caller was about to be told that it failed.
    pub(crate) fn too_late() -> Self {
        Self::Unavailable("the change was not made in time and was given up".to_owned())
    }
}

fn conflict(
    f: &mut fmt::Formatter<'_>,
    key: &ResourceKey,
    expected: Precondition,
    found: Option<u64>,
) -> fmt::Result {
    match found {
        Some(version) => write!(f, "{key} has version {version}")?,
        None => write!(f, "{key} does not exist")?,
    }
    match expected {
        Precondition::Any => Ok(()),
        Precondition::Absent => f.write_str(", but the change expects that it does not exist"),
        Precondition::Version(version) => write!(f, ", but the change expects version {version}"),
    }?;
    f.write_str("; read it again and repeat the change on the current version")
}

impl std::error::Error for StoreError {}
