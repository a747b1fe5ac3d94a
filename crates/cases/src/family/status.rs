// SPDX-License-Identifier: Apache-2.0
//! In: the conditions that a test expects. Out: where those differ that the controller would write. Not here: any rule.

use std::collections::{BTreeMap, BTreeSet};

use overrule::Condition as Real;
use overrule::family_kit::Ancestor;
use overrule_engine::PolicyId;

use super::answer::Answer;
use super::{Comparison, Difference};
use crate::case::{Conditions, ExpectedAffected, ExpectedCondition, Given, Status};

/// Reasons by ancestor and type of condition.
type ByAncestor = BTreeMap<String, BTreeMap<String, String>>;

impl Answer {
    /// Compares the conditions of one policy.
    pub(crate) fn status(&self, expected: &Status) -> Comparison {
        match &expected.conditions {
            Conditions::ByType(wanted) => self.by_type(expected, wanted),
            Conditions::ByAncestor(wanted) => {
                let wanted = wanted.iter().map(|(ancestor, reasons)| {
                    (ancestor.clone(), reasons.iter().cloned().collect())
                });
                self.by_ancestor(expected, &wanted.collect())
            }
            Conditions::InFull(wanted) => self.in_full(expected, wanted),
        }
    }

    /// Compares every condition of one policy, word by word.
    fn in_full(
        &self,
        expected: &Status,
        wanted: &[(String, Vec<(String, ExpectedCondition)>)],
    ) -> Comparison {
        let mut differences = Vec::new();
        let mut differs = |message: String, wanted: Option<String>, actual: Option<String>| {
            let at = expected.at.clone();
            differences.push(Difference { at, message, expected: wanted, actual });
        };
        let text =
            |status: &str, reason: &str, message: &str| format!("{status} {reason}: {message}");
        let Some(actual) = self.conditions_of(expected) else {
            differs(format!("there is no policy `{}`", expected.policy), None, None);
            return Comparison::Done(differences);
        };
        let mut actual: BTreeMap<(String, String), String> = actual
            .into_iter()
            .filter_map(|c| {
                let at = (self.ancestor(c.ancestor.as_ref()?), c.kind.to_owned());
                Some((at, text(word(c.status), c.reason, &c.message)))
            })
            .collect();
        for (ancestor, conditions) in wanted {
            for (kind, condition) in conditions {
                let message = condition.message.as_deref().unwrap_or("");
                let wanted = text(&condition.status, &condition.reason, message);
                let real = actual.remove(&(ancestor.clone(), kind.clone()));
                if real.as_ref() != Some(&wanted) {
                    let of = format!("{kind} of `{}` at {ancestor}", expected.policy);
                    differs(format!("condition {of} differs"), Some(wanted), real);
                }
            }
        }
        for ((ancestor, kind), real) in actual {
            let of = format!("{kind} of `{}` at {ancestor}", expected.policy);
            differs(format!("the test does not list condition {of}"), None, Some(real));
        }
        Comparison::Done(differences)
    }

    /// The conditions of the policy of a kind and name.
    fn conditions_of(&self, expected: &Status) -> Option<Vec<Real>> {
        let resolution = self.resolution()?;
        let is_meant = |id: PolicyId| {
            let policy = resolution.policy(id);
            let kind = policy.and_then(|p| resolution.kind(p.kind));
            let kind = kind.map_or("", |k| self.analysis.snapshot.text(k.kind));
            self.policy_name(id) == expected.policy
                && expected.kind.as_deref().is_none_or(|wanted| wanted == kind)
        };
        let all = self.analysis.policy_conditions(self.family().name());
        let mut all = (0..).map(PolicyId).zip(all);
        all.find(|(id, _)| is_meant(*id)).map(|(_, conditions)| conditions)
    }

    fn by_type(&self, expected: &Status, wanted: &[(String, ExpectedCondition)]) -> Comparison {
        let all = self.conditions();
        let Some(candidates) = all.get(&expected.policy) else {
            return Comparison::Done(vec![Difference {
                at: expected.at.clone(),
                message: format!("there is no policy `{}`", expected.policy),
                expected: None,
                actual: None,
            }]);
        };
        if candidates.iter().flatten().any(|condition| condition.ancestor.is_some()) {
            return Comparison::Unsupported;
        }
        // Policies of several kinds may share a name; the test does not say which it means.
        let mut least: Option<Vec<Difference>> = None;
        for actual in candidates {
            let found = differences(expected, wanted, actual);
            if least.as_ref().is_none_or(|l| found.len() < l.len()) {
                least = Some(found);
            }
        }
        Comparison::Done(least.unwrap_or_default())
    }

    fn by_ancestor(&self, expected: &Status, wanted: &ByAncestor) -> Comparison {
        let mut actual = ByAncestor::new();
        let all = self.conditions().remove(&expected.policy).unwrap_or_default();
        for condition in all.into_iter().flatten() {
            let Some(ancestor) = condition.ancestor else { return Comparison::Unsupported };
            let reasons = actual.entry(self.ancestor(&ancestor)).or_default();
            reasons.insert(condition.kind.to_owned(), condition.reason.to_owned());
        }
        if *wanted == actual {
            return Comparison::Done(Vec::new());
        }
        let show = |all: &ByAncestor| serde_json::to_string(all).unwrap_or_default();
        Comparison::Done(vec![Difference {
            at: expected.at.clone(),
            message: format!("the status of `{}` differs", expected.policy),
            expected: Some(show(wanted)),
            actual: Some(show(&actual)),
        }])
    }

    /// Compares the conditions of all targets.
    pub(crate) fn affected(&self, expected: &Given<ExpectedAffected>) -> Comparison {
        let analysis = &self.analysis;
        let text = |sym| analysis.snapshot.text(sym);
        type Key = (String, String, Option<String>, String);
        let mut actual: BTreeMap<Key, BTreeSet<String>> = BTreeMap::new();
        for one in analysis.affected() {
            let Some(node) = analysis.topology.nodes.get(one.node) else { continue };
            let listener = text(node.kind) == "Listener";
            let kind = if listener { "Gateway" } else { text(node.kind) };
            let section = listener.then(|| text(node.section).to_owned());
            let name = format!("{}/{}", text(node.namespace), text(node.name));
            let key = (kind.to_owned(), name, section, one.policy_kind.to_owned());
            actual.insert(key, one.policies.iter().map(|p| self.policy_name(*p)).collect());
        }
        let mut differences = Vec::new();
        for one in &expected.items {
            let key =
                (one.kind.clone(), one.name.clone(), one.section.clone(), one.policy_kind.clone());
            let wanted: BTreeSet<String> = one.policies.iter().cloned().collect();
            let found = actual.remove(&key);
            if found.as_ref() != Some(&wanted) {
                differences.push(Difference {
                    at: one.at.clone(),
                    message: format!("{} {} is not affected as expected", one.kind, one.name),
                    expected: Some(list(&wanted)),
                    actual: Some(found.as_ref().map_or_else(|| "not affected".to_owned(), list)),
                });
            }
        }
        differences.extend(actual.into_iter().map(|((kind, name, section, policy_kind), by)| {
            let section = section.map(|s| format!("#{s}")).unwrap_or_default();
            Difference {
                at: expected.at.clone(),
                message: format!("{kind} {name}{section} is affected by {policy_kind}, but the test does not list it"),
                expected: None,
                actual: Some(list(&by)),
            }
        }));
        Comparison::Done(differences)
    }

    /// Names of policies with their conditions.
    fn conditions(&self) -> BTreeMap<String, Vec<Vec<Real>>> {
        let mut found: BTreeMap<String, Vec<Vec<Real>>> = BTreeMap::new();
        let all = self.analysis.policy_conditions(self.family().name());
        for (id, conditions) in (0..).map(PolicyId).zip(all) {
            found.entry(self.policy_name(id)).or_default().push(conditions);
        }
        found
    }

    fn policy_name(&self, id: PolicyId) -> String {
        let policy = self.resolution().and_then(|r| r.policy(id));
        policy.map_or_else(String::new, |p| self.object_name(p.object))
    }

    fn ancestor(&self, ancestor: &Ancestor) -> String {
        let spell = |kind: &str, namespace: &str, name: &str, section: &str| {
            let slash = if namespace.is_empty() { "" } else { "/" };
            let hash = if section.is_empty() { "" } else { "#" };
            format!("{kind} {namespace}{slash}{name}{hash}{section}")
        };
        let node = match ancestor {
            Ancestor::Named { kind, namespace, name, section } => {
                return spell(kind, namespace, name, section);
            }
            Ancestor::Node(node) => self.analysis.topology.nodes.get(*node),
        };
        let Some(node) = node else { return String::new() };
        let text = |sym| self.analysis.snapshot.text(sym);
        // A section is named after the object it is part of.
        let object = node.object.and_then(|object| self.analysis.snapshot.get(object));
        let kind = object.map_or(text(node.kind), |object| text(object.kind.kind));
        spell(kind, text(node.namespace), text(node.name), text(node.section))
    }
}

fn differences(
    expected: &Status,
    wanted: &[(String, ExpectedCondition)],
    actual: &[Real],
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut differs = |message: String, wanted: Option<&ExpectedCondition>, real: Option<&Real>| {
        found.push(Difference {
            at: expected.at.clone(),
            message,
            expected: wanted.map(|c| {
                let message = c.message.as_deref().unwrap_or("");
                format!("{} {} {message}", c.status, c.reason)
            }),
            actual: real.map(|c| format!("{} {} {}", word(c.status), c.reason, c.message)),
        });
    };
    let name = &expected.policy;
    for (kind, condition) in wanted {
        let real = actual.iter().find(|c| c.kind.eq_ignore_ascii_case(kind));
        let same = real.is_some_and(|c| {
            word(c.status) == condition.status
                && c.reason == condition.reason
                && condition.message.as_ref().is_none_or(|m| says_the_same(m, &c.message))
        });
        if !same {
            differs(format!("condition {kind} of `{name}` differs"), Some(condition), real);
        }
    }
    for real in actual {
        if !wanted.iter().any(|(kind, _)| real.kind.eq_ignore_ascii_case(kind)) {
            let message =
                format!("`{name}` has condition {}, but the test does not list it", real.kind);
            differs(message, None, Some(real));
        }
    }
    found
}

fn word(status: bool) -> &'static str {
    if status { "True" } else { "False" }
}

/// Lists of policies in messages are sets: the operator writes them in any order.
fn says_the_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        text.split([' ', '[', ']', ',']).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    words(one) == words(other)
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
