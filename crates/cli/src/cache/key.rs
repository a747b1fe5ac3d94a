// SPDX-License-Identifier: Apache-2.0
//! In: everything an answer depends on. Out: a key that only the same question about the same bytes has.
//! Not here: whether the answer is worth keeping.

use std::os::unix::fs::MetadataExt as _;

use overrule::source::Input;
use overrule_ask::{NamedText, Sink};

use crate::args::Args;
use crate::output::Out;

/// What is asked of what, by which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheKey(blake3::Hash);

impl CacheKey {
    /// The key of a question. `None` if this program cannot tell itself from another build of it.
    pub fn new(
        args: &Args,
        matrix: Option<&NamedText>,
        inputs: &[Input],
        out: &Out,
    ) -> Option<Self> {
        let mut parts = Parts::default();
        parts.add(env!("CARGO_PKG_VERSION").as_bytes());
        parts.add(format!("{:?}", program()?).as_bytes());
        // The whole command line as it was understood: an option that is added later is part of it without being named.
        parts.add(format!("{args:?}").as_bytes());
        parts.add(format!("{:?}", out.styles()).as_bytes());
        parts.add(format!("{matrix:?}").as_bytes());
        for input in inputs {
            parts.add(input.name.as_bytes());
            parts.add(&input.bytes);
        }
        Some(Self(parts.0.finalize()))
    }

    pub fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The key as the name of a file.
    pub fn name(&self) -> String {
        self.0.to_hex().to_string()
    }

    #[cfg(test)]
    pub fn for_tests(n: u8) -> Self {
        Self(blake3::hash(&[n]))
    }
}

/// A hash over parts. Each begins with its length, so that no two lists of parts are the same bytes.
#[derive(Default)]
struct Parts(blake3::Hasher);

impl Parts {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}

/// Which build this is: a version number alone stays the same while somebody works on it. Two builds never share the
/// place on disk, the length and all times of their files; hashing tens of megabytes to know more would cost more than
/// the start of the program.
fn program() -> Option<[i128; 7]> {
    let file = std::env::current_exe().and_then(std::fs::metadata).ok()?;
    Some([
        file.dev().into(),
        file.ino().into(),
        file.len().into(),
        file.mtime().into(),
        file.mtime_nsec().into(),
        file.ctime().into(),
        file.ctime_nsec().into(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(parts: &[&str]) -> blake3::Hash {
        let mut all = Parts::default();
        parts.iter().for_each(|p| all.add(p.as_bytes()));
        all.0.finalize()
    }

    #[test]
    fn what_stands_in_one_part_cannot_stand_in_two() {
        assert_ne!(hash(&["ab"]), hash(&["a", "b"]));
        assert_ne!(hash(&["a", "b"]), hash(&["", "ab"]));
        assert_ne!(hash(&["a"]), hash(&["a", ""]));
    }

    #[test]
    fn a_program_knows_itself() {
        assert!(program().is_some());
        assert_eq!(program(), program());
    }
}
