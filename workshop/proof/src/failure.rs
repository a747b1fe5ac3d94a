// SPDX-License-Identifier: Apache-2.0
//! In: what went wrong. Out: one text for a person. Not here: mismatches, which are results and not failures.

use std::fmt;

/// Why the harness could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarnessFailure(String);

impl HarnessFailure {
    /// A failure in words.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// For `map_err`: what was tried, and the error it met.
    pub fn of<E: fmt::Display>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |error| Self(format!("{what}: {error}"))
    }
}

impl fmt::Display for HarnessFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HarnessFailure {}
