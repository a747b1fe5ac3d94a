// SPDX-License-Identifier: Apache-2.0
//! In: where policies landed, and where they did not. Out: conflicts, targets that are not there or not known, policies
//! that are accepted and act on nothing.

use overrule_engine::{NodeId, PolicyId, Rejection};
use overrule_gateway::codes_policy as generic;
use overrule_gateway::reasons as general;
use overrule_gateway::topology::{RouteIx, level};
use overrule_source::{Code, Diagnostic};

use super::quoted;
use crate::kinds::{GROUP, KindRole};
use crate::plan::Conflict;
use crate::policy::{Policy, PolicyTarget, TargetObjects};
use crate::resolve::Found;
use crate::{codes, reasons};

/// How many ancestors a status has room for.
const ROOM: usize = 16;

pub(super) fn report(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    found.plan.conflicts.iter().for_each(|conflict| conflicted(found, conflict, out));
    found.resolution.rejections.iter().for_each(|rejection| out.extend(rejected(found, rejection)));
    for (id, policy) in (0..).map(PolicyId).zip(&found.plan.world().policies.list) {
        unreached(found, id, policy, out);
        truncated(found, id, policy, out);
    }
}

fn conflicted(found: &Found<'_, '_>, conflict: &Conflict, out: &mut Vec<Diagnostic>) {
    let (Some(policy), Some(winner)) =
        (found.policy(conflict.policy), found.policy(conflict.winner))
    else {
        return;
    };
    let Some(target) = policy.targets.get(conflict.reference as usize) else { return };
    let (first, on) = (found.name(conflict.winner), found.node(conflict.node));
    let fails = match policy.info.role {
        KindRole::Security => "; its access control is missing there, and nothing fails",
        _ => "",
    };
    let message =
        format!("`{first}` has `{on}` already, so this policy does not apply there{fails}");
    let d = Diagnostic::new(&codes::CONFLICT, message)
        .at(target.at)
        .see(winner.at, "the policy that has it");
    out.push(
        d.field(target.field.clone())
            .help("merge the two policies, or give them different targets"),
    );
    let world = found.plan.world();
    let created = |policy: &Policy| world.snapshot.get(policy.object).map(|o| o.created);
    let (ours, theirs) = (created(policy), created(winner));
    let unknown = [ours, theirs].into_iter().flatten().any(|created| !created.is_known());
    if unknown && policy.info.role != KindRole::Patch {
        let message = format!(
            "`{first}` comes first only because of a missing creation time or its name; in a cluster the older policy has `{on}`"
        );
        let d = Diagnostic::new(&codes::UNDATED, message).at(target.at);
        out.push(
            d.field("metadata.creationTimestamp")
                .help("do not depend on the order: keep one policy for each target"),
        );
    }
}

/// A reference that landed nowhere.
fn rejected(found: &Found<'_, '_>, rejection: &Rejection) -> Option<Diagnostic> {
    let policy = found.policy(rejection.policy)?;
    let target = policy.targets.get(rejection.reference as usize);
    let (code, message, help) = words(found, policy, target, rejection)?;
    let d = Diagnostic::new(code, message).at(rejection.at);
    let field = target.map_or_else(|| "spec.targetRefs".to_owned(), |target| target.field.clone());
    Some(d.field(field).help(help))
}

fn words(
    found: &Found<'_, '_>,
    policy: &Policy,
    target: Option<&PolicyTarget>,
    rejection: &Rejection,
) -> Option<(Code, String, String)> {
    let world = found.plan.world();
    let text = |sym| world.snapshot.text(sym);
    let kind = target.map_or("", |target| text(target.kind));
    let (name, section) = match target.map(|target| &target.objects) {
        Some(TargetObjects::Named(name, section)) => {
            (text(*name), section.map(|(name, _)| text(name)))
        }
        _ => ("", None),
    };
    let namespace = text(policy.namespace);
    let reason = rejection.reason;
    Some(if reason == &general::TARGET_NOT_FOUND {
        let message = format!(
            "target {kind} `{name}` does not exist in namespace `{namespace}`; the controller writes no status about it"
        );
        let help =
            "check the name; a target named by `targetRefs` is in the namespace of the policy";
        (&generic::TARGET_NOT_FOUND, message, help.to_owned())
    } else if reason == &general::SECTION_NOT_FOUND {
        let message =
            format!("{kind} `{namespace}/{name}` has no section `{}`", section.unwrap_or(""));
        let help = "name a listener, or a rule by its `name`; the policy does not apply, and nothing fails";
        (&generic::SECTION_NOT_FOUND, message, help.to_owned())
    } else if reason == &reasons::UNNAMED_RULE {
        let message = format!(
            "`{}` is the position of a rule without a name; the controller finds rules by their written name only",
            section.unwrap_or("")
        );
        (&generic::SECTION_NOT_FOUND, message, "give the rule this `name` in its route".to_owned())
    } else if reason == &general::KIND_NOT_ALLOWED {
        let message = format!("`{}` cannot target a `{kind}`", policy.info.kind);
        let mut kinds = vec!["Gateway"];
        match policy.info.role {
            KindRole::Patch => {}
            _ => kinds.push("ListenerSet"),
        }
        let help = format!(
            "target one of: {}",
            quoted(kinds.into_iter().chain(policy.info.routes.iter().copied()))
        );
        (&generic::TARGET_KIND_NOT_ALLOWED, message, help)
    } else if reason == &general::SELECTOR_MATCHES_NOTHING {
        let message = format!("no `{kind}` that the controller serves has these labels");
        let help = "check the labels and `namespaces`; without `namespaces` only the policy's own is searched";
        (&generic::SELECTOR_MATCHES_NOTHING, message, help.to_owned())
    } else if reason == &reasons::NOT_GRANTED {
        let message = format!(
            "this selector may not reach a `{kind}` of another namespace, and nothing says so"
        );
        let help = format!(
            "add a ReferenceGrant there from {GROUP}/{} in `{namespace}` to {kind}",
            policy.info.kind
        );
        (&codes::NOT_GRANTED, message, help)
    } else if reason == &reasons::NOT_SERVED {
        let message = format!(
            "{kind} `{namespace}/{name}` is not on a Gateway of this controller, which therefore writes no status about it"
        );
        let help = "check the class of the Gateway and the parentRefs of the route";
        (&codes::NOT_SERVED, message, help.to_owned())
    } else if reason == &reasons::DISABLED {
        let message = "patches are switched off in the controller".to_owned();
        (&codes::UNREACHED, message, "enable `extensionApis.enableEnvoyPatchPolicy`".to_owned())
    } else {
        return None;
    })
}

/// A policy that landed, and that no path passes.
fn unreached(found: &Found<'_, '_>, id: PolicyId, policy: &Policy, out: &mut Vec<Diagnostic>) {
    let landed: Vec<NodeId> = found.resolution.attachments_of(id).map(|a| a.node).collect();
    if landed.is_empty() || !policy.info.role.is_on_rows() || found.resolution.tally(id).paths() > 0
    {
        return;
    }
    let topology = found.plan.world().topology;
    let on = landed.first().map(|node| found.node(*node)).unwrap_or_default();
    let why = landed.first().map_or("", |node| match topology.nodes.level_of(*node) {
        Some(level) if level >= level::ROUTE => why_not(found, *node),
        _ => "no route is attached below it",
    });
    let message =
        format!("the controller accepts this policy on `{on}`, but it has no effect: {why}");
    let d = Diagnostic::new(&codes::UNREACHED, message).at(policy.at);
    out.push(
        d.field("spec.targetRefs")
            .help("`overrule graph` shows which routes reach which listeners"),
    );
}

/// Why no request comes to a route or rule.
fn why_not(found: &Found<'_, '_>, node: NodeId) -> &'static str {
    let topology = found.plan.world().topology;
    let rule = topology.rule_of(node).and_then(|ix| topology.rule(ix)).map(|rule| rule.route);
    let Some(route): Option<RouteIx> = topology.route_of(node).or(rule) else { return "" };
    let mut links = topology.links_of_route(route);
    match links.any(|(ix, link)| found.plan.fabric.carries(ix, link)) {
        true => "policies of its kind do nothing for such a route or rule",
        false => "no listener carries the route",
    }
}

/// A status with more ancestors than there is room for.
fn truncated(found: &Found<'_, '_>, id: PolicyId, policy: &Policy, out: &mut Vec<Diagnostic>) {
    let topology = found.plan.world().topology;
    let mut count = 0;
    for attachment in found.resolution.attachments_of(id) {
        let rule = topology
            .rule_of(attachment.node)
            .and_then(|ix| topology.rule(ix))
            .map(|rule| rule.route);
        count += match topology.route_of(attachment.node).or(rule) {
            Some(route) => found.plan.fabric.parents(route).len(),
            None => 1,
        };
    }
    if count <= ROOM || policy.info.role == KindRole::Patch {
        return;
    }
    let message = format!(
        "this policy has up to {count} ancestors, and its status has room for {ROOM}: some are not told"
    );
    let d = Diagnostic::new(&codes::TRUNCATED, message).at(policy.at);
    out.push(
        d.field("spec.targetRefs").help(
            "`overrule get -o json` has the conditions, and `overrule reach` tells all of it",
        ),
    );
}
