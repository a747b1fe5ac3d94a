// SPDX-License-Identifier: Apache-2.0
//! The result of a test, as values. Not here: text and XML of them (`report.rs`, `junit.rs`).

use overrule_source::Position;

use crate::case::Case;
use crate::difference::DifferingLine;

/// What came of one test under one profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// Name of the test.
    pub name: String,
    /// Its file.
    pub file: String,
    /// The line it begins at.
    pub line: u32,
    /// The family of its policies; empty if the test could not be read.
    pub family: String,
    /// The profile it ran under; empty if the test could not be read.
    pub profile: String,
    /// Passed or failed.
    pub verdict: TestVerdict,
}

/// Passed or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestVerdict {
    /// Everything is as expected.
    Passed,
    /// What is not.
    Failed(Vec<Mismatch>),
}

impl CaseResult {
    /// The result of a test that ran.
    pub fn new(case: &Case, profile: &str, mismatches: Vec<Mismatch>) -> Self {
        Self {
            name: case.name.clone(),
            file: case.at.file.clone(),
            line: case.at.line,
            family: case.family.clone(),
            profile: profile.to_owned(),
            verdict: if mismatches.is_empty() {
                TestVerdict::Passed
            } else {
                TestVerdict::Failed(mismatches)
            },
        }
    }

    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.verdict == TestVerdict::Passed
    }

    /// What is not as expected.
    pub fn mismatches(&self) -> &[Mismatch] {
        match &self.verdict {
            TestVerdict::Passed => &[],
            TestVerdict::Failed(mismatches) => mismatches,
        }
    }
}

/// Something that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// What kind of difference.
    pub what: DifferenceKind,
    /// Where the expectation is written.
    pub at: Position,
    /// The path it is about; empty if none.
    pub path: String,
    /// The kind of the policies it is about; empty if none.
    pub kind: String,
    /// What differs, in one sentence.
    pub message: String,
    /// What the test expects, in short.
    pub expected: Option<String>,
    /// What is, in short.
    pub actual: Option<String>,
    /// The lines in which the two differ; none if they are read whole.
    pub difference: Option<Vec<DifferingLine>>,
}

macro_rules! whats {
    ($($(#[$doc:meta])* $name:ident = $id:literal;)*) => {
        /// A kind of difference between a test and the answer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DifferenceKind { $($(#[$doc])* $name,)* }

        impl DifferenceKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Stable identifier, kebab-case.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }
        }
    };
}

whats! {
    /// The test itself cannot be read.
    Unreadable = "unreadable";
    /// This version does not know the family.
    Family = "family-not-supported";
    /// The family has no such profile.
    Profile = "no-such-profile";
    /// The family has no such setting, or cannot read its value.
    Setting = "setting";
    /// This version cannot check something the test asks.
    Unsupported = "not-supported";
    /// The manifests cannot be read.
    Input = "input";
    /// A path does not exist.
    NoPath = "no-such-path";
    /// Two paths are meant.
    Ambiguous = "ambiguous-path";
    /// The path is not a target of the kind.
    NoTarget = "no-target";
    /// A path exists that must not.
    PathExists = "path-exists";
    /// A policy reaches a path that none must reach.
    HasPolicy = "has-policy";
    /// An effective policy the test does not list.
    Unlisted = "not-listed";
    /// A field that is not in force.
    Missing = "field-missing";
    /// A field in force that the test does not list.
    Unexpected = "field-not-listed";
    /// A field with another value.
    Value = "value";
    /// A field from other policies.
    Source = "source";
    /// What lost.
    Shadowed = "shadowed";
    /// What a built-in took the slot of.
    Masked = "masked";
    /// What was removed.
    Removed = "removed";
    /// What a condition kept out.
    Skipped = "skipped";
    /// What piles up.
    Accumulated = "accumulated";
    /// Whether the target fails closed.
    Error = "error";
    /// Hostnames.
    Hostnames = "hostnames";
    /// Matches.
    Match = "match";
    /// Conditions of a policy.
    Status = "status";
    /// Conditions of targets.
    Affected = "affected";
    /// Policies that conflict.
    Conflicted = "conflicted";
    /// Policies that are invalid.
    Invalid = "invalid";
    /// Findings.
    Diagnostics = "diagnostics";
    /// A decision.
    Can = "can";
}
