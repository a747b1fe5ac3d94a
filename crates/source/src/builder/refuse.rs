// SPDX-License-Identifier: Apache-2.0
//! In: why a document cannot become a tree. Out: the finding that says so.
//! Not here: syntax errors (`explain`).

use super::{Builder, Refusal};
use crate::codes;
use crate::diagnostic::{Code, Diagnostic};
use crate::tree::NodeKind;

impl Builder<'_> {
    pub(super) fn refuse(
        &self,
        code: Code,
        at: (u32, u32),
        message: impl Into<String>,
        help: &'static str,
    ) -> Refusal {
        let diagnostic =
            Diagnostic::new(code, message).at(self.span(at.0, at.1)).field(self.path()).help(help);
        Box::new(diagnostic)
    }

    /// Something is larger than a bound; `what` begins the sentence.
    pub(super) fn limit(&self, at: (u32, u32), what: &str, bound: &str) -> Refusal {
        self.refuse(
            &codes::LIMIT,
            at,
            format!("{what} exceeds the limit of {bound}"),
            "split the document; Kubernetes accepts no manifest this large",
        )
    }

    pub(crate) fn too_deep(&self, at: (u32, u32)) -> Refusal {
        let depth = self.limits.depth;
        // Without the path: it would be as long as the nesting is deep.
        let diagnostic = Diagnostic::new(
            &codes::LIMIT,
            format!("maps and lists are nested more than {depth} levels deep"),
        )
        .at(self.span(at.0, at.1))
        .help("look for a bracket or an indentation that is repeated by mistake");
        Box::new(diagnostic)
    }

    pub(crate) fn unknown_alias(&self, at: (u32, u32)) -> Refusal {
        let name = super::shorten(self.text.get(at.0 as usize..at.1 as usize).unwrap_or("*"));
        self.refuse(
            &codes::ALIAS,
            at,
            format!("alias `{name}` has no anchor above it"),
            "define the anchor with `&` earlier in the same document, or quote the value if it is meant as text",
        )
    }

    pub(super) fn alias_to_itself(&self, at: (u32, u32)) -> Refusal {
        let name = super::shorten(self.text.get(at.0 as usize..at.1 as usize).unwrap_or("*"));
        self.refuse(
            &codes::ALIAS,
            at,
            format!("alias `{name}` is inside the value it refers to"),
            "a value cannot contain itself; write the repeated part out",
        )
    }

    pub(super) fn bad_key(&self, at: (u32, u32), kind: NodeKind) -> Refusal {
        let what = match kind {
            NodeKind::Map => "a mapping",
            NodeKind::List => "a list",
            _ => "null",
        };
        self.refuse(
            &codes::BAD_KEY,
            at,
            format!("{what} cannot be the key of a mapping"),
            "use text as the key; quote it if it contains `{`, `[` or `: `",
        )
    }

    pub(super) fn bad_merge(&self, at: (u32, u32)) -> Refusal {
        self.refuse(
            &codes::BAD_MERGE_KEY,
            at,
            "the merge key `<<` needs a mapping, or a list of mappings",
            "write `<<: *name` where `&name` marks a mapping, or quote \"<<\" if it is meant as a key",
        )
    }
}
