// SPDX-License-Identifier: Apache-2.0
//! In: a name that means nothing here. Out: why, as data, with the names that were probably meant. Not here: looking.

use std::fmt;

/// What was probably meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// The nearest names, best first; empty if none is near.
    pub near: Vec<String>,
    /// All names there are.
    pub known: Vec<String>,
}

/// Why a name leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// The text is not a name: not `kind/namespace/name#section`, not an identity of a family, not a SPIFFE ID.
    Malformed {
        /// What was typed.
        text: String,
        /// What is wrong with it, in a sentence.
        why: String,
    },
    /// Several kinds have that name.
    Ambiguous {
        /// What was typed.
        text: String,
        /// Names that are not ambiguous.
        candidates: Vec<String>,
    },
    /// There are objects of the kind, but none of that name.
    NotFound {
        /// What was typed.
        text: String,
        /// The kind as typed; none if the text is an identity of a family.
        kind: Option<String>,
        /// What was probably meant.
        suggestions: Suggestions,
    },
    /// It is being deleted, so that no answer is about it.
    BeingDeleted {
        /// What it is, and since when.
        sentence: String,
    },
    /// Nothing of the kind was read.
    UnknownKind {
        /// The kind as typed.
        kind: String,
        /// Kinds there are.
        suggestions: Suggestions,
    },
    /// The object is there, the section is not.
    NoSection {
        /// The object.
        target: String,
        /// The section as typed.
        section: String,
        /// Its sections.
        suggestions: Suggestions,
    },
    /// No such policy kind was resolved.
    NoPolicyKind {
        /// The kind as typed.
        kind: String,
        /// Policy kinds there are.
        suggestions: Suggestions,
    },
    /// The object is there, but policies do not act on it, and it is not a policy.
    NotATarget {
        /// The object.
        target: String,
    },
    /// A policy that no family resolves.
    NotResolved {
        /// The policy.
        policy: String,
        /// Whose rules it follows; none if its kind is unknown.
        owner: Option<&'static str>,
        /// What it targets.
        targets: Vec<String>,
    },
    /// A policy, where something that policies act on was asked for.
    IsPolicy {
        /// What was typed.
        text: String,
    },
    /// Not a policy, where one was asked for.
    NotAPolicy {
        /// What was typed.
        text: String,
    },
    /// Nothing that a client can call.
    NoInbound {
        /// What was typed.
        text: String,
        /// The section, if one was named.
        section: Option<String>,
    },
    /// Nothing that can be a client.
    NotAClient {
        /// What was typed.
        text: String,
        /// The kind it is of.
        kind: String,
    },
}

impl LookupError {
    /// The nearest names, best first.
    pub fn near(&self) -> &[String] {
        match self {
            Self::NotFound { suggestions, .. }
            | Self::UnknownKind { suggestions, .. }
            | Self::NoSection { suggestions, .. }
            | Self::NoPolicyKind { suggestions, .. } => &suggestions.near,
            Self::Ambiguous { candidates, .. } => candidates,
            _ => &[],
        }
    }

    /// Whether the question makes no sense, whatever was read or is added to it.
    pub fn is_misuse(&self) -> bool {
        matches!(self, Self::Malformed { .. } | Self::Ambiguous { .. } | Self::NotAClient { .. })
    }
}

/// Names that are listed in a message; of more it says how to list them.
const FEW_NAMES: usize = 8;

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { why, .. } => f.write_str(why),
            Self::Ambiguous { text, candidates } => {
                write!(f, "`{text}` is ambiguous; write one of: {}", candidates.join(", "))
            }
            Self::NotFound { text, kind, suggestions: Suggestions { near, known } } => {
                write!(f, "`{text}` does not exist; ")?;
                match kind {
                    _ if !near.is_empty() => f.write_str(&did_you_mean(near)),
                    None => f.write_str("`overrule get -o wide` lists what was read"),
                    Some(_) if known.len() <= FEW_NAMES => {
                        write!(f, "there are: {}", known.join(", "))
                    }
                    Some(kind) => {
                        write!(f, "`overrule get {kind}` lists the {} there are", known.len())
                    }
                }
            }
            Self::BeingDeleted { sentence } => f.write_str(sentence),
            Self::UnknownKind { kind, suggestions } => {
                let hint = suggestions.or_all("kinds there are");
                write!(f, "nothing of kind `{kind}` was read; {hint}")
            }
            Self::NoSection { target, section, suggestions } => {
                let hint = if suggestions.known.is_empty() {
                    "it has none".to_owned()
                } else {
                    suggestions.or_all("it has")
                };
                write!(f, "{target} has no section `{section}`; {hint}")
            }
            Self::NoPolicyKind { kind, suggestions } => {
                let hint = suggestions.or_all("policy kinds there are");
                write!(f, "no policy kind `{kind}`; {hint}")
            }
            Self::NotATarget { target } => write!(
                f,
                "{target} is nothing that policies act on, and no policy that was resolved"
            ),
            Self::NotResolved { policy, owner, targets } => {
                let owner = owner.unwrap_or("unknown kind");
                let targets = match targets.is_empty() {
                    true => "has no target that Overrule knows".to_owned(),
                    false => format!("targets {}", targets.join(", ")),
                };
                write!(f, "{policy} ({owner}) {targets}; Overrule does not resolve it")
            }
            Self::IsPolicy { text } => {
                write!(f, "`{text}` is a policy; ask `overrule reach {text}` where it acts")
            }
            Self::NotAPolicy { text } => {
                write!(f, "`{text}` is not a policy; `overrule get policies` lists them")
            }
            Self::NoInbound { text, section } => {
                let section = section.as_ref().map(|s| format!(" `{s}`")).unwrap_or_default();
                write!(
                    f,
                    "`{text}` has no inbound{section}; name a dataplane (`dataplane/default/web-1#http`), or a meshservice or service with some behind it"
                )
            }
            Self::NotAClient { text, kind } => write!(
                f,
                "`{text}` is a {kind}; FROM is a SPIFFE ID, a dataplane, `nobody` for a client without a certificate, or `unnamed` for one whose certificate has no SPIFFE ID"
            ),
        }
    }
}

impl std::error::Error for LookupError {}

impl Suggestions {
    /// The nearest names, or all of them after these words.
    fn or_all(&self, words: &str) -> String {
        if self.near.is_empty() {
            format!("{words}: {}", self.known.join(", "))
        } else {
            did_you_mean(&self.near)
        }
    }
}

fn did_you_mean(near: &[String]) -> String {
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!("did you mean {}?", near.join(" or "))
}
