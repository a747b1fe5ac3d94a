// SPDX-License-Identifier: Apache-2.0
//! In: what became of policies. Out: rules that fail because of one, policies that do nothing although their status is
//! fine, fields without effect, and places where the controller does not do what an annotation says.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{Fate, KindId, Loss, NodeId, Outcome, PathId, PolicyId, Resolution};
use overrule_gateway::codes_policy;
use overrule_gateway::topology::level;
use overrule_source::Diagnostic;

use super::some_of;
use crate::kinds::{KindShape, ROUTE_ACTION, TRAFFIC_POLICY};
use crate::resolve::{Active, BuiltIns, Found};
use crate::{World, codes, reasons};

pub(super) fn report(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    fails_closed(found, out);
    second_action(found, out);
    misnamed(found, out);
    shadowed_unseen(found, out);
    no_route_action(found, out);
}

/// Reports what the content of a policy that is not broken decides.
pub(super) fn of_change(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    misnamed(found, out);
    shadowed_unseen(found, out);
    no_route_action(found, out);
}

fn traffic_policy(kinds: &[Active]) -> Option<KindId> {
    kinds.iter().find(|k| k.index == TRAFFIC_POLICY).map(|k| k.id)
}

/// Broken policies, each with the rules that answer 500 because of it.
fn fails_closed(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let mut failing: BTreeMap<PolicyId, BTreeSet<String>> = BTreeMap::new();
    for active in found.kinds.iter().filter(|k| k.info.shape == KindShape::Path) {
        for (path, ladder) in found.resolution.contexts(active.id) {
            let Some(effective) = found.resolution.effective(ladder) else { continue };
            for (step, _) in effective.poison() {
                let (Some(policy), Some(node)) =
                    (found.policy_of(*step), found.resolution.paths.node(path))
                else {
                    continue;
                };
                failing.entry(policy).or_default().insert(found.node(node));
            }
        }
    }
    for (id, rules) in failing {
        let Some(policy) = found.policy(id) else { continue };
        let because = policy.problem.map_or("", |r| r.sentence);
        let rules: Vec<String> = rules.into_iter().collect();
        let verb = if rules.len() == 1 { "answers" } else { "answer" };
        let message = format!("{} {verb} 500 because of this policy: {because}", some_of(&rules));
        let d = Diagnostic::new(&codes::FAILS_CLOSED, message).at(policy.at);
        out.push(d.help(
            "correct the policy, or detach it: one broken policy breaks every rule it reaches",
        ));
    }
}

/// Rules with two answers.
fn second_action(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let mut told: BTreeSet<String> = BTreeSet::new();
    for active in found.kinds.iter().filter(|k| k.info.shape == KindShape::Sequential) {
        for (path, ladder) in found.resolution.contexts(active.id) {
            let poisoned =
                found.resolution.effective(ladder).is_some_and(|e| !e.poison().is_empty());
            let redirects =
                found.resolution.failures(path).any(|f| f.reason == &reasons::SECOND_ACTION);
            let Some(node) = found.resolution.paths.node(path).filter(|_| poisoned || redirects)
            else {
                continue;
            };
            let name = found.node(node);
            if !told.insert(name.clone()) {
                continue;
            }
            let what = if poisoned {
                "two DirectResponses"
            } else {
                "a DirectResponse beside a redirect or a backend"
            };
            let message = format!("`{name}` has {what}, so it answers 500");
            let d = Diagnostic::new(&codes::SECOND_ACTION, message);
            let at = found.world.topology.nodes.get(node).and_then(|n| n.at);
            let d = at.map_or(d.clone(), |at| d.at(at));
            out.push(
                d.field("filters")
                    .help("keep one action; filters of rules that delegate here count too"),
            );
        }
    }
}

/// Where a deep value prefers a side and the controller the other.
fn misnamed(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let mut told: BTreeSet<(PolicyId, String)> = BTreeSet::new();
    for active in
        found.kinds.iter().filter(|k| matches!(k.info.shape, KindShape::Path | KindShape::BuiltIn))
    {
        for ladder in found.ladders(active.id).into_keys() {
            for loss in found.resolution.effective(ladder).iter().flat_map(|e| &e.losses) {
                let reason = loss.reason;
                let ours = reason == &reasons::DEEP_KEEPS_CHILD || reason == &reasons::BUILTIN_DEEP;
                // In the design a child cannot switch off what its parent prefers; the controller lets it.
                let switch = loss.pointer.ends_with("/disable");
                let design = reason == &reasons::DEEP_PARENT_PREFERRED
                    && (switch || !is_combined(&loss.pointer));
                if !(ours || design) {
                    continue;
                }
                let unit = overrule_engine::dotted(&loss.pointer);
                let Some(policy) = found.policy_of(loss.step) else { continue };
                if told.insert((policy, unit.clone())) {
                    out.extend(deep(found, loss, policy, &unit));
                }
            }
        }
    }
}

/// Whether a field is one that a deep merge combines.
fn is_combined(pointer: &str) -> bool {
    let first = pointer.split('/').nth(1).unwrap_or("");
    matches!(first, "transformation" | "extAuth" | "extProc" | "acl")
}

fn deep(found: &Found<'_>, loss: &Loss, policy: PolicyId, unit: &str) -> Option<Diagnostic> {
    let winner = loss.by.first().and_then(|s| found.policy_of(*s))?;
    let (lost, won) = (found.name(policy), found.name(winner));
    let message = match found.world.profile {
        crate::Profile::Shipped => format!(
            "`{unit}` of `{lost}` loses to `{won}`, although the annotation prefers the other side: the controller cannot combine this field and ignores the preference"
        ),
        crate::Profile::Design if unit.ends_with(".disable") => format!(
            "`{unit}` of `{lost}` loses to `{won}`, as the annotation says, but in the controller it still disables the check"
        ),
        crate::Profile::Design => format!(
            "`{unit}` of `{lost}` loses to `{won}`, as the annotation says, but the controller does the opposite, because it cannot combine this field"
        ),
    };
    let at = loss.node.get().map(|n| found.world.documents.view(n).span());
    let d = Diagnostic::new(&codes::DEEP_MISNAMED, message);
    let d = at.map_or(d.clone(), |at| d.at(at));
    Some(d.field(format!("spec.{unit}")).help(
        "use a Shallow value if one side must win for this field; `overrule effective --compare` shows both results",
    ))
}

/// How a policy lost, over all of its ladders.
struct Lost {
    winners: BTreeSet<String>,
    /// Whether the status of the controller may tell: the winner takes part in the same merge.
    seen: bool,
    /// Whether nothing but the order on one level is to blame.
    same_level: bool,
}

/// Policies in force nowhere: those whose status does not tell, because what is in their place stands in another tier
/// or is built in; and those that others on the same level leave nothing to.
fn shadowed_unseen(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let Some(kind) = traffic_policy(found.kinds) else { return };
    let mut all: BTreeMap<PolicyId, Lost> = BTreeMap::new();
    for (ladder, (path, _)) in found.ladders(kind) {
        let https = is_https(found, path);
        for loss in found.resolution.effective(ladder).iter().flat_map(|e| &e.losses) {
            let Some(policy) = found.policy_of(loss.step).filter(|p| is_dead(found, *p)) else {
                continue;
            };
            let new = || Lost { winners: BTreeSet::new(), seen: false, same_level: true };
            let lost = all.entry(policy).or_insert_with(new);
            let tier_of = |step| tier(found, step, https);
            let same_tier = loss.by.iter().any(|winner| tier_of(*winner) == tier_of(loss.step));
            // The controller does not prefer Gateways, so there the policy is in force.
            let gateway = loss.reason == &reasons::GATEWAY_PREFERRED;
            lost.seen |= gateway || (same_tier && loss.fate != Fate::Masked);
            lost.same_level &= loss.reason == &reasons::HIGHER_PRIORITY;
            let winners = loss.by.iter().filter_map(|s| found.policy_of(*s));
            lost.winners.extend(winners.map(|p| found.name(p)));
        }
    }
    for (id, Lost { winners, seen, same_level }) in all {
        let Some(policy) = found.policy(id) else { continue };
        let winners: Vec<String> = winners.into_iter().collect();
        if same_level {
            out.push(shadowed(policy, &winners));
        } else if !seen {
            let message = format!(
                "this policy has no effect: {} replaces it on every path, but the controller's status says Attached",
                some_of(&winners)
            );
            let d = Diagnostic::new(&codes::SHADOWED_UNSEEN, message).at(policy.at);
            out.push(d.help("remove it, or move its settings to where they win; `overrule reach` shows every path"));
        }
    }
}

/// Whether a policy is in force nowhere.
fn is_dead(found: &Found<'_>, policy: PolicyId) -> bool {
    matches!(found.resolution.tally(policy).outcome(), Outcome::Shadowed | Outcome::Masked)
}

/// One that others on the same level leave nothing to.
fn shadowed(policy: &crate::policy::Policy, winners: &[String]) -> Diagnostic {
    let message =
        format!("this policy has no effect: {} replaces it on every path", some_of(winners));
    let d = Diagnostic::new(&codes_policy::SHADOWED_EVERYWHERE, message).at(policy.at);
    d.help("remove it, or change the precedence: `overrule explain` on one of its targets shows what decides")
}

/// Which of the controller's merges a step takes part in: the chain, the listener, the Gateway. For HTTPS the last two
/// are one.
fn tier(found: &Found<'_>, step: overrule_engine::StepId, https: bool) -> u8 {
    let at = found.resolution.ladders.get_step(step).map_or(0, |s| s.level);
    match at {
        at if at >= level::ROUTE.0 => 0,
        at if at >= level::LISTENER_SET.0 || https => 1,
        _ => 2,
    }
}

fn is_https(found: &Found<'_>, path: PathId) -> bool {
    let nodes = found.resolution.paths.nodes(path);
    let topology = found.world.topology;
    let listener = nodes.iter().find_map(|n| topology.listener(topology.listener_of(*n)?));
    listener.is_some_and(|l| found.world.snapshot.text(l.protocol) == "HTTPS")
}

/// Paths whose rules answer by themselves, and send nothing on.
pub(crate) fn answering(
    world: World<'_>,
    kinds: &[Active],
    resolution: &Resolution,
    built_ins: &BuiltIns,
) -> Vec<PathId> {
    let Some(kind) = traffic_policy(kinds) else { return Vec::new() };
    let direct = kinds.iter().filter(|k| k.info.shape == KindShape::Sequential).map(|k| k.id);
    let direct: Vec<KindId> = direct.collect();
    let redirecting = built_ins.rules().filter(|(_, parts)| parts.redirects());
    let redirecting = redirecting.filter_map(|(rule, _)| world.topology.rule(rule).map(|r| r.node));
    let redirecting: BTreeSet<NodeId> = redirecting.collect();
    if direct.is_empty() && redirecting.is_empty() {
        return Vec::new();
    }
    let responds = |kind: &KindId, path: PathId| {
        let result = resolution.effective(resolution.ladder(*kind, path));
        result.is_some_and(|e| e.value.is_some())
    };
    let answers = |path: &PathId| {
        let node = resolution.paths.node(*path);
        node.is_some_and(|node| redirecting.contains(&node))
            || direct.iter().any(|kind| responds(kind, *path))
    };
    resolution.contexts(kind).map(|(path, _)| path).filter(answers).collect()
}

/// Fields that need a backend, on rules that answer by themselves.
fn no_route_action(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let Some(kind) = traffic_policy(found.kinds) else { return };
    let mut told: BTreeSet<(PolicyId, &str)> = BTreeSet::new();
    for path in found.answering {
        let (ladder, node) =
            (found.resolution.ladder(kind, *path), found.resolution.paths.node(*path));
        let Some(node) = node else { continue };
        let value = found.resolution.effective(ladder).and_then(|e| e.value.as_ref());
        for field in ROUTE_ACTION {
            let part = value.and_then(|v| v.get(found.world.documents, field));
            let step = part.as_ref().and_then(|p| p.steps().first().copied());
            let Some(policy) = step.and_then(|s| found.policy_of(s)) else { continue };
            if !told.insert((policy, *field)) {
                continue;
            }
            let message = format!(
                "`{field}` has no effect on `{}`: the rule answers by itself and forwards nothing",
                found.node(node)
            );
            let d = Diagnostic::new(&codes::NO_ROUTE_ACTION, message);
            let at = part.and_then(|p| p.node()).map(|n| found.world.documents.view(n).span());
            let d = at.map_or(d.clone(), |at| d.at(at));
            out.push(d.field(format!("spec.{field}")).help("nothing to do if other rules need it"));
        }
    }
}
