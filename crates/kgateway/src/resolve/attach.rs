// SPDX-License-Identifier: Apache-2.0
//! In: policies, and filters of rules. Out: where each lands, or why it does not. Not here: their steps and ranks.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use overrule_engine::{Attachment, NodeId, PolicyId, Reason, Rejection};
use overrule_gateway::kinds::Strategy as GenericStrategy;
use overrule_gateway::policy as generic;
use overrule_gateway::topology::{RouteKind, RuleIx};
use overrule_model::{GroupKind, ObjectId, ObjectKey, Scope};
use overrule_source::{Diagnostic, Span, View};

use super::attach_references;
use crate::World;
use crate::kinds::GROUP;
use crate::policy::Policy;
use crate::{codes, reasons};

/// A filter of a rule that names one of our objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    /// The rule.
    pub(crate) rule: RuleIx,
    /// Position among the filters.
    pub(crate) index: u32,
    /// The policy; none if it does not exist.
    pub(crate) policy: Option<PolicyId>,
    /// The backend whose filter it is; none for a filter of the rule.
    pub(crate) backend: Option<NodeId>,
    /// Where it is written.
    pub(crate) at: Span,
}

/// Where policies landed.
pub(crate) struct Attached {
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) rejections: Vec<Rejection>,
    /// Filters of rules, by rule.
    pub(crate) filters: Vec<Filter>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A policy as generic attachment wants it.
pub(crate) fn generic(world: World<'_>, policy: &Policy) -> generic::Policy {
    let mut references = policy.references.clone();
    for reference in references.iter_mut().filter(|r| is_host(world, r)) {
        reference.who = generic::Who::Unreadable;
    }
    generic::Policy {
        object: policy.object,
        kind: policy.kind,
        references: references.into(),
        content: policy.admitted.then_some(generic::PolicyContent {
            block: "bare",
            value: policy.spec,
            strategy: GenericStrategy::None,
        }),
        at: policy.at,
    }
}

/// Policies without references that no filter leads to, or that an API server refuses: each ends somewhere.
fn without_place(world: World<'_>, filters: &[Filter]) -> Vec<Rejection> {
    let by_filter: BTreeSet<PolicyId> = filters.iter().filter_map(|f| f.policy).collect();
    let alone = (0..).map(PolicyId).zip(&world.policies.list);
    let alone = alone.filter(|(id, p)| p.references.is_empty() && !by_filter.contains(id));
    let rejection = |(policy, p): (PolicyId, &Arc<Policy>)| {
        let reason: Reason = if p.admitted {
            &overrule_gateway::reasons::NO_TARGET
        } else {
            &overrule_gateway::reasons::INVALID_POLICY
        };
        Rejection { policy, reference: 0, reason, at: p.at }
    };
    alone.map(rejection).collect()
}

/// Whether a reference means a host name of Istio's registry, which no manifest holds.
fn is_host(world: World<'_>, reference: &generic::Reference) -> bool {
    let text = |sym| world.snapshot.text(sym);
    (text(reference.group), text(reference.kind)) == ("networking.istio.io", "Hostname")
}

/// Attaches policies to their targets, and to the rules whose filters name them.
pub(crate) fn attach(world: World<'_>) -> Attached {
    let policies = world.policies.list.iter().map(|p| generic(world, p));
    let generic::Attached { attachments, mut rejections, diagnostics } =
        by_reference(world, &policies.collect::<Vec<_>>());
    let filters = filters(world);
    rejections.extend(without_place(world, &filters));
    Attached { attachments, rejections, filters, diagnostics }
}

/// Attaches policies to their targets.
pub(crate) fn by_reference(world: World<'_>, policies: &[generic::Policy]) -> generic::Attached {
    let generic::Attached { attachments, mut rejections, mut diagnostics } =
        attach_references(world, policies);
    for rejection in &mut rejections {
        let policy = policies.get(rejection.policy.0 as usize);
        let reference = policy.and_then(|p| p.references.get(rejection.reference as usize));
        if reference.is_some_and(|r| is_host(world, r)) {
            rejection.reason = &reasons::NOT_AN_OBJECT;
        }
    }
    let mut kept = Vec::with_capacity(attachments.len());
    for reference in attachments.chunk_by(|a, b| (a.policy, a.reference) == (b.policy, b.reference))
    {
        // What a rule is called by its position is a name of ours; a section means a name that is written.
        let (named, unnamed): (Vec<Attachment>, Vec<Attachment>) =
            reference.iter().partition(|a| {
                let rule = world.topology.rule_of(a.node).and_then(|r| world.topology.rule(r));
                rule.is_none_or(|r| r.named)
            });
        let Some(Attachment { policy, reference, at, .. }) = unnamed.first().copied() else {
            kept.extend(named);
            continue;
        };
        if named.is_empty() {
            rejections.push(Rejection { policy, reference, reason: &reasons::UNNAMED_RULE, at });
        }
        kept.extend(named);
        let d = Diagnostic::new(
            &codes::UNNAMED_RULE,
            "this section is the position of a rule without a name; kgateway finds rules by their written name only",
        );
        diagnostics.push(d.at(at).help("give the rule this `name` in its route"));
    }
    generic::Attached { attachments: kept, rejections, diagnostics }
}

/// Every ExtensionRef of ours on a rule or one of its backends.
fn filters(world: World<'_>) -> Vec<Filter> {
    // What an API server refuses does not exist.
    let admitted = (0..).map(PolicyId).zip(&world.policies.list).filter(|(_, p)| p.admitted);
    let policies: HashMap<ObjectId, PolicyId> = admitted.map(|(id, p)| (p.object, id)).collect();
    let mut found = Vec::new();
    for (rule, spec) in world.topology.all_rules() {
        let Some(route) = world.topology.route(spec.route) else { continue };
        if !matches!(route.kind, RouteKind::Http | RouteKind::Grpc) {
            continue;
        }
        let tree = world.documents.view(spec.tree);
        let namespace = world.snapshot.get(route.object).map(|o| o.scope);
        let mut add = |list: View<'_>, backend| {
            for (index, item) in (0..).zip(list.items()) {
                let Some(reference) = item.get("extensionRef").filter(|r| is_ours(*r)) else {
                    continue;
                };
                let policy = namespace.and_then(|ns| target(world, ns, reference));
                let policy = policy.and_then(|o| policies.get(&o).copied());
                found.push(Filter { rule, index, policy, backend, at: reference.span() });
            }
        };
        for (key, value) in tree.entries() {
            match key.key_text() {
                "filters" => add(value, None),
                "backendRefs" => {
                    for backend in value.items() {
                        if let Some(list) = backend.get("filters") {
                            add(list, backend_at(world, rule, backend.span()));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// The backend that a reference of a rule leads to.
fn backend_at(world: World<'_>, rule: RuleIx, written: Span) -> Option<NodeId> {
    let written = written.start..written.end;
    let used = world.topology.uses_of(rule).iter().find(|u| written.contains(&u.start))?;
    world.topology.backend(used.backend).map(|b| b.node)
}

/// Whether a reference names a kind that this family attaches by filters.
fn is_ours(reference: View<'_>) -> bool {
    let member = |key| reference.get(key).and_then(View::as_str);
    member("group") == Some(GROUP)
        && matches!(member("kind"), Some("TrafficPolicy" | "DirectResponse"))
}

/// The object a filter names, in the namespace of the route.
fn target(world: World<'_>, scope: Scope, reference: View<'_>) -> Option<ObjectId> {
    let names = world.snapshot.names();
    let member = |key| names.lookup(reference.get(key).and_then(View::as_str)?);
    let kind = GroupKind { group: member("group")?, kind: member("kind")? };
    world.snapshot.find(ObjectKey { kind, scope, name: member("name")? }).map(|o| o.id)
}
