// SPDX-License-Identifier: Apache-2.0
//! Out: why a revision cannot be read, and what to do.

use std::fmt;
use std::path::PathBuf;

/// Why a revision cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevisionError {
    /// A folder is in no repository.
    NoRepository(PathBuf),
    /// The repository has no such revision.
    NoRevision {
        /// As it was written.
        revision: String,
        /// Whether the clone has only a part of the history.
        is_shallow: bool,
        /// What git says.
        cause: String,
    },
    /// Two revisions have no commit in common, as far as the clone knows.
    NoMergeBase {
        /// As it was written.
        one: String,
        /// As it was written.
        other: String,
        /// Whether the clone has only a part of the history.
        is_shallow: bool,
        /// What git says.
        cause: String,
    },
    /// The revision has nothing at a path.
    NoPath {
        /// As it was written.
        revision: String,
        /// As it was written.
        path: String,
    },
    /// A path leads out of the repository.
    OutsidePath {
        /// As it was written.
        revision: String,
        /// As it was written.
        path: String,
    },
    /// An object is missing or broken.
    Object {
        /// What it is the content of.
        path: String,
        /// What git says.
        cause: String,
    },
}

impl fmt::Display for RevisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRepository(folder) => {
                write!(f, "{} is not in a git repository; run this in a clone", folder.display())
            }
            Self::NoRevision { revision, is_shallow: true, cause } => write!(
                f,
                "revision `{revision}` not found in this shallow clone ({cause}); fetch it first: \
                 git fetch --depth=1 origin {revision}"
            ),
            Self::NoRevision { revision, is_shallow: false, cause } => write!(
                f,
                "revision `{revision}` not found ({cause}); `git branch -a` and `git log` show what there is"
            ),
            Self::NoMergeBase { one, other, is_shallow, cause } => {
                write!(f, "`{one}` and `{other}` have no commit in common ({cause})")?;
                match is_shallow {
                    true => write!(
                        f,
                        "; this clone is shallow: git fetch --unshallow, or compare {one}..{other}"
                    ),
                    false => write!(f, "; compare {one}..{other}"),
                }
            }
            Self::NoPath { revision, path } => {
                write!(f, "`{path}` does not exist in revision `{revision}`")
            }
            Self::OutsidePath { revision, path } => write!(
                f,
                "`{path}` is outside of the repository, so revision `{revision}` does not have it"
            ),
            Self::Object { path, cause } => {
                write!(f, "`{path}` cannot be read from the repository: {cause}")
            }
        }
    }
}

impl std::error::Error for RevisionError {}
