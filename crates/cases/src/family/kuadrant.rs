// SPDX-License-Identifier: Apache-2.0
//! In: a case of Kuadrant's kinds. Out: what the pipeline answers, read from the same data as `-o json`, and the
//! conditions an operator would write. Not here: any rule; the `kuadrant` crate has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overrule::Analysis;
use overrule::Condition as Real;
use overrule_engine::PolicyId;
use overrule_kuadrant::policy::Policy;
use overrule_kuadrant::{FAMILY, Profile, codes, kinds, reasons};
use serde_json::{Map, Value};

use super::analysed::{self, Analysed};
use super::{Answer, Check, Difference, Effective, Family, Finding, Node, Part, Target};
use crate::case::{Affected, Case, Condition, Conditions, Conflicted, Given, Invalid, Status};

/// The family of Kuadrant's kinds.
#[derive(Debug, Clone, Copy)]
pub struct Kuadrant;

impl Family for Kuadrant {
    fn name(&self) -> &'static str {
        FAMILY
    }

    fn profiles(&self) -> &'static [&'static str] {
        Profile::NAMES
    }

    fn setting(&self, key: &str, value: &Value) -> Result<(), String> {
        analysed::setting(FAMILY, key, value)
    }

    fn asserts_status(&self, profile: &str) -> bool {
        profile == Profile::Operator.name()
    }

    fn resolve(&self, case: &Case, profile: &str) -> Box<dyn Answer> {
        let mut options = analysed::options(case, FAMILY, profile);
        // A case without policies still has paths.
        options.include_kinds.extend(kinds::ALL.iter().map(|k| k.kind.to_lowercase()));
        let analysis = Analysis::new(case.inputs.clone(), &options);
        let profile = Profile::from_name(profile).unwrap_or_default();
        Box::new(Resolved { profile, analysed: Analysed::new(analysis, FAMILY) })
    }
}

/// The answer about one case.
struct Resolved {
    profile: Profile,
    analysed: Analysed,
}

/// The name cases have for the one rule of a direct policy.
const WHOLE: &str = "spec";

impl Resolved {
    fn policies(&self) -> &[Arc<Policy>] {
        let policies = self.analysed.analysis.policies::<overrule_kuadrant::Kuadrant>();
        policies.and_then(|policies| policies.list.as_slice()).unwrap_or(&[])
    }

    fn policy_name(&self, id: PolicyId) -> String {
        let policy = self.policies().get(id.0 as usize);
        policy.map_or_else(String::new, |p| self.analysed.object_name(p.object))
    }

    fn is_direct(&self, target: usize) -> bool {
        let target = self.analysed.targets.get(target);
        let info = target.and_then(|t| kinds::ALL.iter().find(|k| k.kind == t.kind));
        info.is_some_and(kinds::KindInfo::is_direct)
    }

    /// Names of policies with their conditions.
    fn conditions(&self) -> BTreeMap<String, Vec<Vec<Real>>> {
        let mut found: BTreeMap<String, Vec<Vec<Real>>> = BTreeMap::new();
        let all = self.analysed.analysis.policy_conditions(FAMILY);
        for (id, conditions) in (0..).map(PolicyId).zip(all) {
            found.entry(self.policy_name(id)).or_default().push(conditions);
        }
        found
    }
}

/// A direct policy is one rule.
fn as_one_rule(mut effective: Effective) -> Effective {
    effective.spec =
        effective.spec.map(|spec| Value::Object(Map::from_iter([(WHOLE.to_owned(), spec)])));
    for (segments, _) in &mut effective.sources {
        segments.insert(0, WHOLE.to_owned());
    }
    let parts = [&mut effective.shadowed, &mut effective.masked, &mut effective.removed];
    for part in parts.into_iter().flatten() {
        let Part { segments, .. } = part;
        segments.insert(0, WHOLE.to_owned());
    }
    effective
}

impl Answer for Resolved {
    fn paths(&self) -> &[Vec<Node>] {
        &self.analysed.paths
    }

    fn targets(&self) -> &[Target] {
        &self.analysed.targets
    }

    fn knows(&self, kind: &str) -> bool {
        let (kind, group) = kind.split_once('.').map_or((kind, None), |(k, g)| (k, Some(g)));
        let is = |k: &&kinds::KindInfo| {
            k.kind.eq_ignore_ascii_case(kind) && group.is_none_or(|g| g == k.group)
        };
        kinds::ALL.iter().any(|k| is(&k))
    }

    fn effective(&self, target: usize) -> Effective {
        let effective = self.analysed.effective(target, &|_, _| None);
        if self.is_direct(target) { as_one_rule(effective) } else { effective }
    }

    fn findings(&self) -> Vec<Finding> {
        self.analysed.findings()
    }

    fn status(&self, expected: &Status) -> Check {
        let Conditions::ByType(wanted) = &expected.conditions else { return Check::Unsupported };
        let all = self.conditions();
        let Some(candidates) = all.get(&expected.policy) else {
            return Check::Done(vec![Difference {
                at: expected.at.clone(),
                message: format!("there is no policy `{}`", expected.policy),
                expected: None,
                actual: None,
            }]);
        };
        // Policies of several kinds may share a name; the test does not say which it means.
        let mut least: Option<Vec<Difference>> = None;
        for actual in candidates {
            let found = differences(expected, wanted, actual);
            if least.as_ref().is_none_or(|l| found.len() < l.len()) {
                least = Some(found);
            }
        }
        Check::Done(least.unwrap_or_default())
    }

    fn affected(&self, expected: &Given<Affected>) -> Check {
        let analysis = &self.analysed.analysis;
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
                message: format!("{kind} {name}{section} is affected by {policy_kind}, and the test does not list it"),
                expected: None,
                actual: Some(list(&by)),
            }
        }));
        Check::Done(differences)
    }

    fn conflicted(&self, expected: &Given<Conflicted>) -> Check {
        let Some(resolution) = self.analysed.resolution() else { return Check::Unsupported };
        let policies = &self.policies();
        let lost = resolution.rejections.iter().filter(|r| r.reason == &reasons::CONFLICTED);
        let mut actual: BTreeMap<(String, String), String> = BTreeMap::new();
        for rejection in lost {
            let Some(policy) = policies.get(rejection.policy.0 as usize) else { continue };
            let described = self.analysed.described(policy.object);
            let said = described.into_iter().flat_map(|(_, _, messages)| messages);
            let said =
                said.filter(|m| m.contains("is conflicted by")).collect::<Vec<_>>().join("; ");
            let key = (policy.info.kind.to_owned(), self.policy_name(rejection.policy));
            actual.insert(key, said);
        }
        let mut differences = Vec::new();
        for one in &expected.items {
            let found = actual.remove(&(one.kind.clone(), one.policy.clone()));
            let wanted = one
                .message
                .clone()
                .unwrap_or_else(|| format!("{} is conflicted by {}:", one.kind, one.by.join(", ")));
            let by = |said: &String| one.by.iter().all(|by| said.contains(&format!(" {by}:")));
            if !found.as_ref().is_some_and(|said| said.contains(&wanted) && by(said)) {
                differences.push(Difference {
                    at: one.at.clone(),
                    message: format!("`{}` does not conflict as expected", one.policy),
                    expected: Some(wanted),
                    actual: Some(found.unwrap_or_else(|| "not refused".to_owned())),
                });
            }
        }
        differences.extend(actual.into_iter().map(|((kind, policy), said)| Difference {
            at: expected.at.clone(),
            message: format!("{kind} `{policy}` conflicts, and the test does not list it"),
            expected: None,
            actual: Some(format!("{}: {said}", codes::CONFLICTED.id)),
        }));
        Check::Done(differences)
    }

    fn invalid(&self, expected: &Given<Invalid>) -> Check {
        let policies = self.policies().iter();
        let refused = policies.filter(|p| !p.is_valid(self.profile));
        self.analysed.invalid(expected, refused.map(|p| p.object))
    }
}

fn differences(
    expected: &Status,
    wanted: &[(String, Condition)],
    actual: &[Real],
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut differs = |message: String, wanted: Option<&Condition>, real: Option<&Real>| {
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
                format!("`{name}` has condition {}, and the test does not list it", real.kind);
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
