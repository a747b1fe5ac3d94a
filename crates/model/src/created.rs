// SPDX-License-Identifier: Apache-2.0
//! In: `metadata.creationTimestamp` as written. Out: [`Created`], in which "unknown" is a case of its own.
//! Not here: the clock.

use std::fmt;

/// When an object was created. Manifests in Git do not contain this, which does not mean "long ago".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Created {
    /// Seconds since 1970 (the grain Kubernetes keeps).
    At(i64),
    /// Not written. It counts as newest: it will be, once applied.
    Absent,
    /// Not written, but an option says to use the order of files and lines: the n-th object.
    Assumed(u32),
}

impl Created {
    /// Reads an RFC 3339 time.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|t| Self::At(t.as_second()))
    }

    /// The position on the time line: smaller is older. Assumed times lie after every known one, absent ones after those.
    pub fn key(self) -> i64 {
        match self {
            Self::At(seconds) => seconds.min(i64::MAX / 2),
            Self::Assumed(n) => i64::MAX / 2 + 1 + i64::from(n),
            Self::Absent => i64::MAX,
        }
    }

    /// Whether the manifest contains it.
    pub fn is_known(self) -> bool {
        matches!(self, Self::At(_))
    }
}

impl fmt::Display for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(seconds) => match jiff::Timestamp::from_second(*seconds) {
                Ok(t) => write!(f, "{t}"),
                Err(_) => write!(f, "@{seconds}"),
            },
            Self::Absent => f.write_str("unknown, counts as newest"),
            Self::Assumed(n) => write!(f, "assumed from file order, #{}", n + 1),
        }
    }
}
