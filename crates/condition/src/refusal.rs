// SPDX-License-Identifier: Apache-2.0
//! In: what is wrong with a text, and where. Out: the refusal a person reads. Not here: finding it.

use std::fmt;

/// Why a text is not accepted as a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionRefusal {
    /// First byte of the problem in the text that was given.
    pub start: usize,
    /// One past its last byte; equal to `start` where something is missing.
    pub end: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl ConditionRefusal {
    pub(crate) fn new(
        (start, end): (usize, usize),
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { start, end, message: message.into(), help: help.into() }
    }
}

impl fmt::Display for ConditionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}: {} ({})", self.start, self.end, self.message, self.help)
    }
}

impl std::error::Error for ConditionRefusal {}
