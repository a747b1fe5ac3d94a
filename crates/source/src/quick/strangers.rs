// SPDX-License-Identifier: Apache-2.0
//! In: a resource that somebody else cares for. Out: the tree of who it is; everything else of it is passed over line by
//! line. Not here: whose a resource is (`look`).

use std::ops::Range;

use super::{Reader, Token, document};
use crate::builder::Builder;
use crate::tree::Tree;

/// What is kept of a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    /// Whether what it says about the kind that it defines is kept, too.
    defines: bool,
    /// The key at the left edge that the reader is in.
    within: Top,
    /// What of it was read so far; see [`part`].
    seen: u8,
}

#[derive(Debug, Clone, Copy)]
enum Top {
    Other,
    Metadata,
    Spec,
}

/// Reads who the resource in `text[chunk]` is: `apiVersion`, `kind` and `metadata` without what is long in it. None if that
/// is not certain.
pub(crate) fn identity(
    builder: &mut Builder<'_>,
    chunk: Range<usize>,
    defines: bool,
) -> Option<Option<Tree>> {
    let text = builder.text.get(..chunk.end)?;
    if memchr::memchr2(b'\r', b'\t', text.get(chunk.start..)?.as_bytes()).is_some() {
        return None;
    }
    document(builder, text, chunk.start, Some(Identity { defines, within: Top::Other, seen: 0 }))
}

/// The bit of a part of an identity.
fn part(key: &str) -> u8 {
    match key {
        "apiVersion" => 1,
        "kind" => 2,
        "metadata" => 4,
        "group" => 8,
        "names" => 16,
        "scope" => 32,
        _ => 0,
    }
}

impl Identity {
    /// Whether everything of it was read. Of `metadata` more may come.
    fn is_whole(&self) -> bool {
        let all = if self.defines { 0b11_1111 } else { 0b111 };
        self.seen == all && !matches!(self.within, Top::Metadata)
    }
}

impl Reader<'_, '_> {
    /// Whether the entry with this key is passed over.
    pub(super) fn is_left_out(&mut self, key: &Token<'_>) -> bool {
        let Some(identity) = &mut self.identity else { return false };
        let left_out = match (self.open.len(), identity.within, key.text()) {
            (1, _, key) => {
                identity.within = match key {
                    "metadata" => Top::Metadata,
                    "spec" => Top::Spec,
                    _ => Top::Other,
                };
                match identity.within {
                    Top::Metadata => false,
                    Top::Spec => !identity.defines,
                    Top::Other => !matches!(key, "apiVersion" | "kind"),
                }
            }
            (2, Top::Metadata, key) => {
                matches!(key, "annotations" | "managedFields" | "ownerReferences" | "finalizers")
            }
            (2, Top::Spec, key) => !matches!(key, "group" | "names" | "scope"),
            _ => return false,
        };
        if !left_out && (self.open.len() == 1 || matches!(identity.within, Top::Spec)) {
            identity.seen |= part(key.text());
        }
        left_out
    }

    /// Goes on at the first line that is not below an entry at this column.
    pub(super) fn skip_entry(&mut self, column: usize) {
        // Nothing that comes later says more about who it is.
        if self.identity.is_some_and(|identity| identity.is_whole()) {
            self.at = self.bytes.len();
            return;
        }
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'\n', rest) else {
                self.at = self.bytes.len();
                return;
            };
            self.at += end + 1;
            let line = self.bytes.get(self.at..).unwrap_or_default();
            let margin = line.get(..=column).unwrap_or(line);
            let indent = margin.iter().take_while(|b| **b == b' ').count();
            let begins = match margin.get(indent) {
                // Deeper, or the end of the text.
                None => false,
                Some(b'\n' | b'#') => false,
                // A list may stand at the column of its key.
                Some(b'-') if indent == column => {
                    !matches!(line.get(indent + 1), None | Some(b' ' | b'\n'))
                }
                Some(_) => true,
            };
            if begins {
                return;
            }
        }
    }
}
