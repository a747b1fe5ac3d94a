// SPDX-License-Identifier: Apache-2.0
//! In: a case of kgateway's kinds. Out: what the pipeline answers, read from the same data as `-o json`, in the forms
//! cases have for it, and the conditions the controller would write. Not here: any rule; the `kgateway` crate has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use overrule::Analysis;
use overrule_engine::PathId;
use overrule_kgateway::kinds::{self, BUILTIN};
use overrule_kgateway::policy::Policy;
use overrule_kgateway::{FAMILY, Profile};
use serde_json::{Map, Value, json};

use super::analysed::{self, Analysed};
use super::{Answer, Check, Difference, Effective, Family, Finding, Node, Target};
use crate::case::{Case, Conditions, Given, Invalid, Status};

/// The family of kgateway's kinds.
#[derive(Debug, Clone, Copy)]
pub struct Kgateway;

impl Family for Kgateway {
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
        profile == Profile::Shipped.name()
    }

    fn resolve(&self, case: &Case, profile: &str) -> Box<dyn Answer> {
        let mut options = analysed::options(case, FAMILY, profile);
        // A case without policies still has paths.
        options.include_kinds.extend(kinds::ALL.iter().map(|k| k.kind.to_lowercase()));
        let analysis = Analysis::new(case.inputs.clone(), &options);
        let mut analysed = Analysed::new(analysis, FAMILY);
        unlisted(&mut analysed);
        let full = chains(&mut analysed);
        Box::new(Resolved { analysed, full })
    }
}

/// Paths that a case may leave out: those without fields; what rules say themselves; single backends of a rule.
fn unlisted(analysed: &mut Analysed) {
    let Some(resolution) = analysed.resolution() else { return };
    let documents = &analysed.analysis.documents;
    let mut counts = Vec::with_capacity(analysed.targets.len());
    for (target, (kind, path)) in analysed.targets.iter().zip(&analysed.ids) {
        let effective = resolution.effective(resolution.ladder(*kind, *path));
        let value = effective.and_then(|e| e.value.as_ref());
        let has_fields = value.is_some_and(|v| !v.entries(documents).is_empty());
        let nodes = analysed.paths.get(target.path).map_or(&[][..], Vec::as_slice);
        let below_rule = nodes.iter().rev().nth(1).is_some_and(|n| n.index.is_some());
        let route = nodes.last().is_some_and(|n| n.kind.ends_with("Route") || n.index.is_some());
        counts.push(has_fields && target.kind != BUILTIN && (route || !below_rule));
    }
    for (target, counts) in analysed.targets.iter_mut().zip(counts) {
        target.reached = counts;
    }
}

/// Cases name the routes of a chain, not the rules by which one hands over to the next. Returns the paths with all of
/// their nodes.
fn chains(analysed: &mut Analysed) -> Vec<Vec<Node>> {
    let full = analysed.paths.clone();
    for path in &mut analysed.paths {
        // A rule that is followed by a route hands over to it.
        let routes: Vec<bool> = path.iter().skip(1).map(|n| n.kind.ends_with("Route")).collect();
        let mut routes = routes.into_iter();
        path.retain(|node| {
            let hands_over = routes.next().unwrap_or(false);
            !(node.index.is_some() && hands_over)
        });
    }
    full
}

/// The answer about one case.
struct Resolved {
    analysed: Analysed,
    /// Paths with the rules in between.
    full: Vec<Vec<Node>>,
}

impl Resolved {
    fn policies(&self) -> &[Arc<Policy>] {
        let policies = self.analysed.analysis.policies::<overrule_kgateway::Kgateway>();
        policies.and_then(|policies| policies.list.as_slice()).unwrap_or(&[])
    }

    fn path(&self, target: usize) -> Option<PathId> {
        self.analysed.ids.get(target).map(|(_, path)| *path)
    }

    /// What a rule says itself comes from `namespace/name#index`: the route, and the rule of it on this path.
    fn rule_of(&self, target: usize, route: &str) -> String {
        let nodes = self.path(target).and_then(|p| self.full.get(p.0 as usize));
        let nodes = nodes.map_or(&[][..], Vec::as_slice);
        let at = nodes.iter().position(|n| n.name == route && n.index.is_none());
        let rule = at.and_then(|at| nodes.get(at + 1)).and_then(|n| n.index);
        rule.map_or_else(|| route.to_owned(), |rule| format!("{route}#{rule}"))
    }

    /// Header changes and mirrors apart from what competes for slots.
    fn as_built_in(&self, target: usize, effective: &mut Effective) {
        for (_, policies) in &mut effective.sources {
            for policy in policies {
                *policy = self.rule_of(target, policy);
            }
        }
        let filters = effective.spec.as_mut().and_then(Value::as_object_mut);
        let filters = filters.and_then(|spec| spec.remove("filters"));
        let Some(Value::Array(filters)) = filters else {
            effective.accumulated = Some(Vec::new());
            return;
        };
        let piled = filters.iter().enumerate().map(|(i, filter)| {
            let index = i.to_string();
            let from = effective.sources.iter().find(|(at, _)| {
                at.first().is_some_and(|k| k == "filters") && at.get(1) == Some(&index)
            });
            let from = from.and_then(|(_, policies)| policies.first()).cloned().unwrap_or_default();
            let kind = filter.get("type").and_then(Value::as_str).unwrap_or("");
            let value = filter.get(member(kind)).cloned().unwrap_or(Value::Null);
            json!({"from": from, "type": kind, "value": value})
        });
        effective.accumulated = Some(piled.collect());
        effective.sources.retain(|(at, _)| at.first().is_none_or(|k| k != "filters"));
    }

    /// Hostnames are those of the first route of the chain, less what more specific listeners own; matches are those by
    /// which requests come this way.
    fn routing(&self, target: usize, effective: &mut Effective) {
        let Some(path) = self.path(target) else { return };
        let analysis = &self.analysed.analysis;
        let Some(answer) = analysis.shown().find(|a| a.family.name() == FAMILY) else { return };
        let nodes = answer.resolution.paths.nodes(path);
        effective.hostnames = self.analysed.hostnames(&nodes, true);
        let matches = answer.extra::<overrule_kgateway::Kgateway>();
        if let Some(matches) = matches.and_then(|matches| matches.get(path)) {
            effective.matches = Some(matches.iter().map(|m| m.to_json()).collect());
        }
    }

    fn ancestor(&self, node: overrule_engine::NodeId) -> String {
        let analysis = &self.analysed.analysis;
        let Some(node) = analysis.topology.nodes.get(node) else { return String::new() };
        let text = |sym| analysis.snapshot.text(sym);
        format!("{} {}/{}", text(node.kind), text(node.namespace), text(node.name))
    }
}

/// The member of a filter that holds what its type does: `RequestMirror` -> `requestMirror`.
fn member(kind: &str) -> String {
    let mut letters = kind.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

impl Answer for Resolved {
    fn paths(&self) -> &[Vec<Node>] {
        &self.analysed.paths
    }

    fn targets(&self) -> &[Target] {
        &self.analysed.targets
    }

    fn knows(&self, kind: &str) -> bool {
        kinds::ALL.iter().any(|k| k.kind.eq_ignore_ascii_case(kind))
    }

    fn effective(&self, target: usize) -> Effective {
        let mut effective = self.analysed.effective(target, &|_, _| None);
        let kind = self.analysed.targets.get(target).map_or("", |t| &t.kind);
        if kind == BUILTIN {
            self.as_built_in(target, &mut effective);
        }
        self.routing(target, &mut effective);
        effective
    }

    fn long_path(&self, path: usize) -> Option<&[Node]> {
        self.full.get(path).map(Vec::as_slice)
    }

    /// What is switched off is that, whatever providers are listed beside it.
    fn normal(&self, value: &Value) -> Value {
        match value.get("disable") {
            Some(Value::Bool(true)) => json!({"disable": true}),
            _ => value.clone(),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        self.analysed.findings()
    }

    fn status(&self, expected: &Status) -> Check {
        let Conditions::ByAncestor(wanted) = &expected.conditions else {
            return Check::Unsupported;
        };
        let all = self.analysed.analysis.policy_conditions(FAMILY);
        let mut actual: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        let policies = self.policies().iter().zip(all);
        for (policy, conditions) in policies {
            if self.analysed.object_name(policy.object) != expected.policy {
                continue;
            }
            for condition in conditions {
                let Some(ancestor) = condition.ancestor else { continue };
                let reasons = actual.entry(self.ancestor(ancestor)).or_default();
                reasons.insert(condition.kind.to_owned(), condition.reason.into());
            }
        }
        let wanted: BTreeMap<String, Map<String, Value>> = wanted
            .iter()
            .map(|(ancestor, reasons)| {
                let reasons = reasons.iter().map(|(k, v)| (k.clone(), v.as_str().into())).collect();
                (ancestor.clone(), reasons)
            })
            .collect();
        if wanted == actual {
            return Check::Done(Vec::new());
        }
        let show = |all: &BTreeMap<String, Map<String, Value>>| {
            serde_json::to_string(all).unwrap_or_default()
        };
        Check::Done(vec![Difference {
            at: expected.at.clone(),
            message: format!("the status of `{}` differs", expected.policy),
            expected: Some(show(&wanted)),
            actual: Some(show(&actual)),
        }])
    }

    fn invalid(&self, expected: &Given<Invalid>) -> Check {
        let policies = self.policies().iter();
        let refused = policies.filter(|p| p.problem.is_some() || !p.admitted);
        self.analysed.invalid(expected, refused.map(|p| p.object))
    }
}

#[cfg(test)]
mod tests {
    use super::member;

    #[test]
    fn members_of_filters_begin_with_a_small_letter() {
        assert_eq!(member("RequestHeaderModifier"), "requestHeaderModifier");
        assert_eq!(member(""), "");
    }
}
