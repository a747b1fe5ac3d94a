// SPDX-License-Identifier: Apache-2.0
//! In: a version of Envoy as people write it. Out: what can be compared. Not here: what depends on it.

use std::fmt;
use std::str::FromStr;

/// A version of Envoy. Patch releases do not change the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u16,
    /// The second.
    pub minor: u16,
}

impl Version {
    /// From here on a map goes on with the next shorter prefix when what it led to finds nothing.
    pub const RESUMES: Self = Self { major: 1, minor: 35 };
    /// From here on the TCP proxy can wait for data before it dials the upstream.
    pub const LATE_CONNECT: Self = Self { major: 1, minor: 37 };
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Not a version of Envoy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAVersion;

impl fmt::Display for NotAVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a version of Envoy; write it like 1.35 or 1.35.2")
    }
}

impl std::error::Error for NotAVersion {}

impl FromStr for Version {
    type Err = NotAVersion;

    /// Reads `1.35`, `v1.35.2` and `1.36.0-dev`.
    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
        let mut number = || {
            let part = parts.next().filter(|part| part.bytes().all(|b| b.is_ascii_digit()));
            part.and_then(|part| part.parse().ok()).ok_or(NotAVersion)
        };
        let version = Self { major: number()?, minor: number()? };
        let patch_is_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        if parts.next().is_none_or(patch_is_number) { Ok(version) } else { Err(NotAVersion) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for text in ["1.35", "v1.35", "1.35.2", "1.35.0-dev"] {
            assert_eq!(text.parse(), Ok(Version::RESUMES), "{text}");
        }
        for text in ["", "1", "1.", "1.x", "1.35.", "latest", "+1.35", "1.+35", "1.99999"] {
            assert_eq!(text.parse::<Version>(), Err(NotAVersion), "{text}");
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        let [old, new]: [Version; 2] = ["1.9", "1.35"].map(|text| text.parse().unwrap());
        assert!(old < new && new == Version::RESUMES && new < Version::LATE_CONNECT);
    }
}
