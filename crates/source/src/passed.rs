// SPDX-License-Identifier: Apache-2.0
//! In: documents that are none of the reader's business. Out: which they are, and why. Not here: finding that out.

/// A document that was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// Which document of its text it is, from 0.
    pub document: u32,
    /// Where it, or what made it be passed over, stands in the text.
    pub at: u32,
    /// Why.
    pub why: Why,
}

/// Why a document was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It does not say what it is.
    NoResource,
    /// It cannot be read, and nothing in it looks like something that matters.
    Unreadable,
    /// It is a template that a tool renders first.
    Template {
        /// Whether what it makes would be something that answers are about.
        ours: bool,
    },
    /// It is a resource of a kind that takes no part in any answer.
    OtherKind,
    /// It has no name yet: the server makes one.
    Unnamed,
    /// It changes another document, as a kustomization says.
    Patch,
    /// It says how other documents are put together.
    Kustomization,
    /// It is a policy test.
    PolicyTest,
}

impl Why {
    /// The same in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoResource => "not a resource: it has no `apiVersion` and `kind`",
            Self::Unreadable => {
                "cannot be read as YAML or JSON, and does not look like a resource of a kind that matters here"
            }
            Self::Template { .. } => "a template; only what it makes can be read",
            Self::OtherKind => "a resource of a kind that takes no part in any answer",
            Self::Unnamed => "a resource without a name of its own (`generateName`)",
            Self::Patch => "a patch of a kustomization",
            Self::Kustomization => "a kustomization",
            Self::PolicyTest => "a policy test; `overrule test` runs it",
        }
    }
}
