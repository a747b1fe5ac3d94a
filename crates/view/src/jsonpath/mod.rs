// SPDX-License-Identifier: Apache-2.0
//! In: a template as kubectl has it (`{.items[*].name}`), and an answer as JSON. Out: what it takes from the answer. Not
//! here: which answer.
//!
//! ```text
//! text {path} {"text"} {range path} ... {end}      parse.rs
//! .name  ['a','b']  [0]  [1:3]  [*]  .*  ..name  [?(@.a=="b")]
//! ```
//!
//! What is not there is left out, as kubectl does it. Both the template and what it selects are bounded.

mod parse;
mod select;

use std::fmt;

/// A template.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    source: String,
    parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Path(Path),
    Range(Path, Vec<Part>),
}

/// Steps from a value to parts of it.
#[derive(Debug, Clone, PartialEq, Default)]
struct Path {
    /// Whether it begins at the whole answer, not at the current item.
    from_root: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// These members or items.
    Keys(Vec<Key>),
    /// All of them.
    Each,
    /// The value and everything in it.
    Descend,
    /// Items from one to another, by a stride.
    Slice(Option<i64>, Option<i64>, usize),
    /// Those for which it holds.
    Filter(Filter),
}

#[derive(Debug, Clone, PartialEq)]
enum Key {
    Name(String),
    /// Negative ones count from the end.
    Index(i64),
}

/// A comparison; without a second operand, whether the first is there.
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Operand,
    right: Option<(Comparison, Operand)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Path),
    Value(crate::v1::Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What is wrong with a template, or with what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonPathError {
    /// It cannot be read.
    Syntax {
        /// The character at which it cannot, counted from 1.
        at: usize,
        /// What is wrong there.
        message: String,
    },
    /// It selects more than is told.
    TooMuch,
    /// The answer has no JSON.
    NoJson,
}

impl fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { at, message } => {
                write!(f, "invalid jsonpath, character {at}: {message}")
            }
            Self::TooMuch => {
                f.write_str("the jsonpath selects too much; name members instead of `..`")
            }
            Self::NoJson => f.write_str("this answer has no JSON to take something from"),
        }
    }
}

impl std::error::Error for JsonPathError {}

impl JsonPath {
    /// The template as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }
}
