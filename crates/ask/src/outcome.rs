// SPDX-License-Identifier: Apache-2.0
//! In: how answering went. Out: the same as types that a process and a server turn into their own codes.
//! Not here: exit codes, HTTP.

use std::fmt;

/// How an answer turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Fine,
    /// Findings of severity error, a failed test, a negative or disputed answer.
    Findings,
    /// Wrong arguments.
    Usage,
    /// Something could not be read or written.
    World,
}

impl Exit {
    /// The worse of two: what could not be read outweighs what was found.
    pub fn worst(self, other: Self) -> Self {
        let rank = |e| match e {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::World => 2,
            Self::Usage => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// `Findings` if so, else all is well.
    pub fn findings(so: bool) -> Self {
        if so { Self::Findings } else { Self::Fine }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskError {
    /// The arguments make no sense.
    Usage(String),
    /// What was asked for is not there.
    NotFound(String),
    /// The world failed.
    World(String),
    /// Nobody reads the output any more.
    Closed,
}

impl AskError {
    /// How a run that failed so ended.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::NotFound(_) => Exit::Findings,
            Self::World(_) => Exit::World,
            Self::Closed => Exit::Fine,
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::NotFound(text) | Self::World(text) => f.write_str(text),
            Self::Closed => f.write_str("output closed"),
        }
    }
}

impl std::error::Error for AskError {}

impl From<std::io::Error> for AskError {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::World(format!("cannot write the answer: {error}"))
        }
    }
}

/// What answering returns.
pub type AskResult = Result<Exit, AskError>;
