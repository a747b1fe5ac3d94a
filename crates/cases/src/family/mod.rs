// SPDX-License-Identifier: Apache-2.0
//! In: a case and a profile. Out: what its family answers about it. Not here: comparing the answer with expectations.
//!
//! Whatever a family does in its own way, it says in its `Dialect`; nothing here names one.

mod answer;
mod can;
mod delegation;
mod options;
mod refused;
mod status;

use std::collections::BTreeSet;

use overrule_source::{Input, Position, Severity};
use serde_json::Value;

use crate::case::SpannedWord;

pub(crate) use answer::Answer;
pub(crate) use options::setting;

/// The result of a comparison that is not made entry by entry.
#[derive(Debug)]
pub enum Comparison {
    /// Nobody can tell for this family, so the test fails.
    Unsupported,
    /// What differs; nothing if all is as expected.
    Done(Vec<Difference>),
}

/// Something that is not as expected.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Where the expectation is written.
    pub at: Position,
    /// What differs.
    pub message: String,
    /// What the test expects.
    pub expected: Option<String>,
    /// What is.
    pub actual: Option<String>,
}

/// A node of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActualNode {
    /// `Gateway`, `Listener`, `HTTPRouteRule`.
    pub kind: String,
    /// `namespace/name` of an object, the name of a section.
    pub name: String,
    /// Position among its siblings, from 0, where a test may use it: rules.
    pub index: Option<u32>,
}

impl ActualNode {
    /// Whether a test means this node: by name, by kind and name, by position.
    pub fn is(&self, text: &str) -> bool {
        if self.name == text {
            return true;
        }
        if let Some(index) = text.strip_prefix('#') {
            return self.index.is_some_and(|i| i.to_string() == index);
        }
        let with_kind = text.split_once(' ');
        with_kind.is_some_and(|(kind, name)| {
            kind.eq_ignore_ascii_case(&self.kind) && name.trim() == self.name
        })
    }
}

/// Whether a test means this path.
pub fn is_path(nodes: &[ActualNode], steps: &[String]) -> bool {
    nodes.len() == steps.len() && nodes.iter().zip(steps).all(|(node, text)| node.is(text))
}

/// A path as messages show it.
pub fn path_name(nodes: &[ActualNode]) -> String {
    nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>().join(" > ")
}

/// A path at which a kind can have an effective policy.
#[derive(Debug, Clone)]
pub struct TestPath {
    /// Index of the path.
    pub path: usize,
    /// Kind of the policies.
    pub kind: String,
    /// Their API group.
    pub group: String,
    /// Whether a policy reaches it.
    pub reached: bool,
}

impl TestPath {
    /// Whether a test means its kind: `Kind` or `Kind.group`.
    pub fn is_kind(&self, text: &str) -> bool {
        let (kind, group) =
            text.split_once('.').map_or((text, None), |(kind, group)| (kind, Some(group)));
        kind.eq_ignore_ascii_case(&self.kind) && group.is_none_or(|group| group == self.group)
    }
}

/// What is in force at a target. What is absent the family cannot say, and a test that asks fails.
#[derive(Debug, Clone, Default)]
pub struct ActualPolicy {
    /// The value; absent if nothing is in force.
    pub spec: Option<Value>,
    /// Who wrote which part: keys and indexes, policies.
    pub sources: Vec<(Vec<String>, Vec<String>)>,
    /// Every policy that reaches the target.
    pub policies: Vec<String>,
    /// What lost.
    pub shadowed: Vec<ActualLoss>,
    /// What a built-in took the slot of.
    pub masked: Vec<ActualLoss>,
    /// What a lower policy removed.
    pub removed: Vec<ActualLoss>,
    /// What a condition kept out.
    pub skipped: Vec<ActualLoss>,
    /// Whether the target fails closed.
    pub error: bool,
    /// Whether it does because of policies of the kind.
    pub poisoned: bool,
    /// The policies that make up what is in force.
    pub makers: Vec<String>,
    /// Where traffic goes.
    pub routing: Option<String>,
    /// What piles up along the path.
    pub accumulated: Option<Vec<Value>>,
    /// Hostnames of the path.
    pub hostnames: Option<Vec<String>>,
    /// Matches of its last rule.
    pub matches: Option<Vec<Value>>,
}

/// A part of a policy that is not in force.
#[derive(Debug, Clone)]
pub struct ActualLoss {
    /// `namespace/name`.
    pub policy: String,
    /// Which block of it.
    pub block: String,
    /// Keys and indexes; none for all of the policy.
    pub segments: Vec<String>,
    /// What was written there; absent if unknown.
    pub value: Option<Value>,
    /// The policies in force there.
    pub by: Vec<String>,
    /// Why.
    pub reason: String,
}

/// What was found about the manifests.
#[derive(Debug, Clone)]
pub struct Finding {
    /// `OV` and four digits.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it says.
    pub message: String,
    /// The field it is about.
    pub field: String,
    /// Where.
    pub at: Option<Position>,
}

/// The family of a case: the one whose API group its policies have. Without any policy the names of the profiles
/// tell; generic kinds are left.
pub(crate) fn detect(
    inputs: &[Input],
    profiles: &[SpannedWord],
) -> Result<&'static str, Vec<&'static str>> {
    let read = overrule_source::read(inputs.to_vec(), &crate::read::options());
    let snapshot = overrule_model::parse(&read.documents).snapshot;
    let groups = snapshot.kinds().filter_map(|(kind, _)| by_group(snapshot.text(kind.group)));
    let families: BTreeSet<&'static str> = groups.collect();
    let families: Vec<&'static str> = families.into_iter().collect();
    match families.as_slice() {
        [] => Ok(profiles.iter().find_map(|p| by_profile(&p.text)).unwrap_or_else(generic)),
        [one] => Ok(one),
        _ => Err(families),
    }
}

fn by_group(group: &str) -> Option<&'static str> {
    overrule::families().iter().find(|f| f.groups().contains(&group)).map(|f| f.name())
}

/// The family of generic kinds, which is the first.
fn generic() -> &'static str {
    overrule::families().first().map_or("", |family| family.name())
}

/// The family that alone has a profile, or the first whose released controller it is.
fn by_profile(profile: &str) -> Option<&'static str> {
    let having = || overrule::families().iter().filter(|f| f.profiles().contains(&profile));
    let alone = having().next().filter(|_| having().nth(1).is_none());
    alone.or_else(|| having().find(|f| f.is_shipped(profile))).map(|f| f.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, profile: &str) -> Result<&'static str, Vec<&'static str>> {
        let at = Position { file: String::new(), line: 1, column: 1 };
        detect(&[Input::new("t.yaml", text)], &[SpannedWord { text: profile.to_owned(), at }])
    }

    #[test]
    fn groups_tell_the_family() {
        let policy = |group: &str, name: &str| {
            format!("{{apiVersion: {group}/v1, kind: P, metadata: {{name: {name}}}}}\n")
        };
        assert_eq!(of(&policy("kuadrant.io", "a"), "design"), Ok("kuadrant"));
        assert_eq!(of(&policy("example.com", "a"), "gep713"), Ok("gateway"));
        assert_eq!(of(&policy("example.com", "a"), "shipped"), Ok("kgateway"));
        let both =
            format!("{}---\n{}", policy("kuadrant.io", "a"), policy("gateway.kgateway.dev", "b"));
        assert_eq!(of(&both, "design"), Err(vec!["kgateway", "kuadrant"]));
        assert_eq!(of("{type: MeshTimeout, mesh: default, name: a}", "design"), Ok("kuma"));
    }

    #[test]
    fn nodes_are_meant_by_name_kind_and_position() {
        let rule = ActualNode {
            kind: "HTTPRouteRule".to_owned(),
            name: "rule-2".to_owned(),
            index: Some(1),
        };
        assert!(rule.is("rule-2") && rule.is("#1") && rule.is("httprouterule rule-2"));
        assert!(!rule.is("#2") && !rule.is("rule-1") && !rule.is("Listener rule-2"));
    }
}
