// SPDX-License-Identifier: Apache-2.0
//! In: policies that cannot be translated. Out: where requests fail because of them, and where somebody else takes over.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{FoldAction, LadderId, NodeId, PolicyId, Rung};
use overrule_source::Diagnostic;

use crate::codes;
use crate::kinds::KindRole;
use crate::resolve::Found;
use crate::{reasons, translate::security};

pub(super) fn report(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    let mut failing: BTreeMap<PolicyId, BTreeSet<NodeId>> = BTreeMap::new();
    let mut open: BTreeMap<PolicyId, BTreeSet<NodeId>> = BTreeMap::new();
    for (kind, info) in found.kinds() {
        if !info.role.is_on_rows() {
            continue;
        }
        let mut by_ladder: BTreeMap<LadderId, (Vec<PolicyId>, Vec<PolicyId>)> = BTreeMap::new();
        for ladder in found.ladders(kind).into_keys() {
            let Some(effective) = found.resolution.effective(ladder) else { continue };
            let fails = effective.poison().iter().filter_map(|(step, _)| found.policy_of(*step));
            let fails: Vec<PolicyId> = fails.collect();
            let log = effective.log(&found.resolution.ladders).filter(|entry| {
                entry.done == FoldAction::Skipped && entry.reason == &reasons::OWN_VALIDATION
            });
            let refused = log.filter_map(|entry| match entry.rung {
                Rung::Step(step) => found.policy_of(step),
                Rung::Group(_) => None,
            });
            let refused: Vec<PolicyId> = refused.collect();
            if !fails.is_empty() || !refused.is_empty() {
                by_ladder.insert(ladder, (fails, refused));
            }
        }
        let routes = found.routes(kind, &by_ladder.keys().copied().collect());
        for (ladder, (fails, refused)) in by_ladder {
            let of_ladder = routes.get(&ladder).cloned().unwrap_or_default();
            for id in fails {
                failing.entry(id).or_default().extend(&of_ladder);
            }
            for id in refused {
                open.entry(id).or_default().extend(&of_ladder);
            }
        }
    }
    for (id, policy) in (0..).map(PolicyId).zip(&found.plan.world().policies.list) {
        let role = policy.info.role;
        if let Some(text) = refused(found, id, role) {
            let on = open.get(&id).map(|routes| found.nodes(routes)).unwrap_or_default();
            let on = if on.is_empty() {
                String::new()
            } else {
                format!("; on {on} a less specific policy is used, or none")
            };
            let message = format!(
                "the controller refuses this policy without failing its routes: {text}{on}"
            );
            let d = Diagnostic::new(&codes::FAILS_OPEN, message).at(policy.at);
            out.push(d.field("spec").help("correct the policy: until then it protects nothing"));
            continue;
        }
        let mut texts: Vec<&str> =
            found.plan.translation(id).faults.iter().map(|fault| fault.text.as_str()).collect();
        texts.dedup();
        let Some(first) = texts.first() else {
            assumed(found, id, out);
            continue;
        };
        let on = failing.get(&id).filter(|routes| !routes.is_empty());
        let effect = match (on, role) {
            (_, KindRole::Client) => "the listeners it covers answer 500".to_owned(),
            (Some(routes), _) => format!("{} answer 500", found.nodes(routes)),
            (None, _) => "no request fails because of it now".to_owned(),
        };
        let message = format!("the controller cannot translate this policy ({first}); {effect}");
        let d = Diagnostic::new(&codes::BROKEN, message).at(policy.at);
        out.push(
            d.field("spec").help(
                "correct the field; `overrule explain` on a route shows what is in force there",
            ),
        );
    }
}

/// Why the controller refuses a SecurityPolicy on a route before it translates it.
fn refused(found: &Found<'_, '_>, id: PolicyId, role: KindRole) -> Option<String> {
    if role != KindRole::Security {
        return None;
    }
    let mut at = found.plan.attachments.iter().filter(|a| a.policy == id);
    let at = at.find(|a| found.plan.is_refused(id, a.node))?;
    let topology = found.plan.world().topology;
    let rule = topology.rule_of(at.node).and_then(|ix| topology.rule(ix)).map(|rule| rule.route);
    let route = topology.route_of(at.node).or(rule).and_then(|ix| topology.route(ix))?;
    let tcp = route.kind == overrule_gateway::topology::RouteKind::Tcp;
    security::refused(found.plan.spec(id), tcp)
}

/// What a policy refers to and what is not in the input.
fn assumed(found: &Found<'_, '_>, id: PolicyId, out: &mut Vec<Diagnostic>) {
    let names = &found.plan.translation(id).assumed;
    let Some(policy) = found.policy(id).filter(|_| !names.is_empty()) else { return };
    let verb = if names.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} {verb} not in the input and assumed to exist; if not, the controller cannot translate this policy",
        overrule_family::some_of(names)
    );
    let d = Diagnostic::new(&codes::ASSUMED, message).at(policy.at);
    out.push(d.field("spec").help(
        "add the objects to the input, or set `--envoygateway closedWorld=true` to see what happens without them",
    ));
}
