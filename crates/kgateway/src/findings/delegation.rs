// SPDX-License-Identifier: Apache-2.0
//! In: delegations. Out: those that lead nowhere, in circles, or past a child that was meant.

use std::collections::BTreeSet;

use overrule_gateway::topology::{GROUP, RuleIx};
use overrule_model::{GroupKind, ObjectKey, Scope};
use overrule_source::{Diagnostic, Span};

use crate::codes;
use crate::delegation::{
    DelegationRefusal, Delegations, Fault, MOST_LEVELS, MOST_MATCHES, MOST_RULES, RuleNode,
    written_matches,
};
use crate::resolve::Found;

pub(super) fn report(found: &Found<'_>, delegations: &Delegations, out: &mut Vec<Diagnostic>) {
    let mut faults: BTreeSet<(RuleIx, Fault)> = BTreeSet::new();
    let mut open: Vec<&RuleNode> = delegations.trees.values().flatten().collect();
    let mut rules: BTreeSet<RuleIx> = BTreeSet::new();
    while let Some(node) = open.pop() {
        faults.extend(node.faults.iter().map(|f| (node.rule, *f)));
        if !found.world.topology.delegations_of(node.rule).is_empty() {
            rules.insert(node.rule);
        }
        open.extend(node.children.iter().flat_map(|c| &c.rules));
    }
    for (rule, fault) in &faults {
        out.extend(self::fault(found, *rule, *fault));
    }
    for ((rule, child), why) in &delegations.refused {
        // A rule that hands nothing over is told about once.
        if *why == DelegationRefusal::Matches && !has_prefix(found, *rule) {
            continue;
        }
        out.extend(refused(found, *rule, *child, *why));
    }
    for rule in rules {
        not_a_prefix(found, rule, out);
    }
    if delegations.cut {
        let message = format!(
            "delegation makes too many paths (at most {MOST_RULES} rules in all, each counted by its depth, and {MOST_MATCHES} matches of a rule); the rest is left out"
        );
        let first = found.world.topology.delegations.first();
        let d = Diagnostic::new(&codes::TOO_MANY_PATHS, message);
        let d = first.map_or(d.clone(), |f| d.at(f.at));
        out.push(d.help(
            "look for routes that delegate to each other, or for wildcards that match too much",
        ));
    }
}

/// Where a rule says what it delegates to.
fn place(found: &Found<'_>, rule: RuleIx) -> Option<Span> {
    found.world.topology.delegations_of(rule).first().map(|d| d.at)
}

fn rule_name(found: &Found<'_>, rule: RuleIx) -> String {
    found.world.topology.rule(rule).map(|r| found.node(r.node)).unwrap_or_default()
}

fn route_name(found: &Found<'_>, route: overrule_gateway::topology::RouteIx) -> String {
    found.world.topology.route(route).map(|r| found.node(r.node)).unwrap_or_default()
}

fn fault(found: &Found<'_>, rule: RuleIx, fault: Fault) -> Option<Diagnostic> {
    let (name, at) = (rule_name(found, rule), place(found, rule)?);
    let d = match fault {
        Fault::Cycle(route) => {
            let message = format!(
                "`{name}` delegates to `{}`, which leads back to it; the rule answers 500",
                route_name(found, route)
            );
            Diagnostic::new(&codes::CYCLE, message).help("remove one reference of the cycle")
        }
        Fault::NoChild => no_child(found, rule, &name),
        Fault::TooDeep => {
            let message = format!(
                "`{name}` is the end of a chain of {MOST_LEVELS} routes; what it delegates to is not followed"
            );
            Diagnostic::new(&codes::TOO_MANY_PATHS, message).help("make the chain shorter")
        }
    };
    Some(d.at(at).field("backendRefs"))
}

fn no_child(found: &Found<'_>, rule: RuleIx, name: &str) -> Diagnostic {
    let world = found.world;
    let text = |sym| world.snapshot.text(sym);
    let reference = world.topology.delegations_of(rule).first();
    let named = reference.filter(|r| text(r.group) == GROUP && !matches!(text(r.name), "" | "*"));
    let key = named.map(|r| ObjectKey {
        kind: GroupKind { group: r.group, kind: r.kind },
        scope: Scope::Namespace(r.namespace),
        name: r.name,
    });
    let missing = named.filter(|_| key.is_some_and(|key| world.snapshot.find(key).is_none()));
    let Some(missing) = missing else {
        let message =
            format!("`{name}` delegates, but no rule of another route matches it; it answers 500");
        return Diagnostic::new(&codes::NO_CHILD, message).help(
            "check name and namespace; a child's paths must begin with the path of this rule, and its parentRefs, if any, must name this route",
        );
    };
    let wanted = format!("{}/{}", text(missing.namespace), text(missing.name));
    let message =
        format!("`{name}` delegates to HTTPRoute `{wanted}`, which was not found; it answers 500");
    let all = world.topology.routes.iter().take(1000).map(|r| found.node(r.node));
    let all: Vec<String> = all.collect();
    let near = overrule_model::nearest(&wanted, all.iter().map(String::as_str), 1);
    let elsewhere = all.iter().find(|n| n.ends_with(&format!("/{}", text(missing.name))));
    let help = match near.first().copied().or(elsewhere.map(String::as_str)) {
        Some(near) => {
            format!("did you mean `{near}`? without `namespace`, the route's own is used")
        }
        None => "check name and namespace; without `namespace`, the route's own is used".to_owned(),
    };
    let d = Diagnostic::new(&codes::NO_CHILD, message).help(help);
    key.map_or(d.clone(), |key| world.snapshot.with_deletion(d, key))
}

fn refused(
    found: &Found<'_>,
    rule: RuleIx,
    child: overrule_gateway::topology::RouteIx,
    why: DelegationRefusal,
) -> Option<Diagnostic> {
    let (parent, name) = (rule_name(found, rule), route_name(found, child));
    let object = found.world.topology.route(child)?.object;
    let at = found.world.snapshot.get(object)?.at;
    let (because, field, help) = match why {
        DelegationRefusal::Hostnames => (
            "it has `hostnames`; a child uses those of its parent",
            "spec.hostnames",
            "remove `hostnames`",
        ),
        DelegationRefusal::Parents => (
            "its parentRefs do not name that route with group and kind",
            "spec.parentRefs",
            "add a parentRef with group gateway.networking.k8s.io, kind HTTPRoute, and name and namespace of the parent, or remove all parentRefs",
        ),
        DelegationRefusal::Matches => (
            "none of its matches lies within those of the rule",
            "spec.rules",
            "let its paths begin with the path of the parent's rule and keep its headers, parameters and method, or set delegation.kgateway.dev/inherit-parent-matcher",
        ),
    };
    let message = format!("`{parent}` delegates to `{name}`, but does not reach it: {because}");
    let d = Diagnostic::new(&codes::CHILD_REFUSED, message).at(at).field(field).help(help);
    Some(place(found, rule).map_or(d.clone(), |at| d.see(at, "delegated here")))
}

/// Whether a rule has something to hand over.
fn has_prefix(found: &Found<'_>, rule: RuleIx) -> bool {
    let matches = written_matches(found.world.documents, found.world.topology, rule);
    matches.is_empty() || matches.iter().any(crate::delegation::RuleMatch::is_prefix)
}

/// Only prefixes can be handed over.
fn not_a_prefix(found: &Found<'_>, rule: RuleIx, out: &mut Vec<Diagnostic>) {
    let matches = written_matches(found.world.documents, found.world.topology, rule);
    let Some(other) = matches.iter().find(|m| !m.is_prefix()) else { return };
    let Some(at) = place(found, rule) else { return };
    let message = format!(
        "`{}` delegates, but matches a path of type {}; only PathPrefix can be delegated",
        rule_name(found, rule),
        other.path_type
    );
    let d = Diagnostic::new(&codes::NOT_A_PREFIX, message).at(at).field("matches");
    out.push(d.help("use PathPrefix in the rule that delegates, and narrow it in the child"));
}
