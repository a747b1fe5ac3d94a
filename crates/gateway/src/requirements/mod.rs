// SPDX-License-Identifier: Apache-2.0
//! In: `PolicyRequirement` documents and a resolution. Out: where a policy that must exist does not. Not here: what a
//! policy does; a requirement is not itself a policy.
//!
//! ```text
//! apiVersion: overrule/v1
//! kind: PolicyRequirement
//! metadata: {name: auth-everywhere}
//! spec:
//!   policy: {kind: AuthPolicy}
//!   scope: {namespaces: [shop], selector: {matchLabels: {exposed: "true"}}}
//!   rules: ["rules.authentication.*"]
//! ```

mod missing;
mod parse;

use overrule_model::{ObjectId, Selector, Sym};
use overrule_source::Span;

pub use missing::{Missing, MissingPolicy, report};
pub use parse::parse;

/// API group of the document.
pub const GROUP: &str = "overrule";
/// Its kind.
pub const KIND: &str = "PolicyRequirement";

/// A policy that must exist.
#[derive(Debug, Clone)]
pub struct Requirement {
    /// The document.
    pub object: ObjectId,
    /// Its name.
    pub name: Box<str>,
    /// The policy kind, as written.
    pub kind: Box<str>,
    /// Its API group, if written.
    pub group: Option<Box<str>>,
    /// Where the kind is written.
    pub kind_at: Span,
    /// Namespaces of the routes (or Gateways) concerned; all if not written.
    pub namespaces: Option<Vec<Sym>>,
    /// Labels of the routes (or Gateways) concerned.
    pub selector: Option<Selector>,
    /// Rules that must be in force; `group.*` is any rule of a group. None: anything at all.
    pub rules: Vec<Box<str>>,
    /// Where to point when the document as a whole is meant.
    pub at: Span,
}

impl Requirement {
    /// Whether it is about a kind.
    pub fn is_about(&self, group: &str, kind: &str) -> bool {
        self.kind.eq_ignore_ascii_case(kind) && self.group.as_ref().is_none_or(|g| **g == *group)
    }
}

/// Whether a rule that must be in force is one of these.
pub(crate) fn is_met(wanted: &str, rules: &[String]) -> bool {
    match wanted.strip_suffix(".*") {
        Some(group) => rules.iter().any(|rule| {
            rule.strip_prefix(group).is_some_and(|rest| rest.starts_with('.') && rest.len() > 1)
        }),
        None => rules.iter().any(|rule| {
            rule == wanted || rule.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::is_met;

    #[test]
    fn rules_are_named_whole_by_group_or_by_a_part_above() {
        let rules = ["rules.authentication.a".to_owned(), "limits.b.c".to_owned()];
        for met in
            ["rules.authentication.a", "rules.authentication.*", "rules.*", "rules", "limits.b"]
        {
            assert!(is_met(met, &rules), "{met}");
        }
        for unmet in [
            "rules.authorization.*",
            "limits.b.*.d",
            "rules.authentication.b",
            "rule",
            "limits.b.c.*",
        ] {
            assert!(!is_met(unmet, &rules), "{unmet}");
        }
    }
}
