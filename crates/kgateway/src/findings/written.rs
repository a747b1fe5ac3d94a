// SPDX-License-Identifier: Apache-2.0
//! In: policies and filters as written. Out: what is wrong with them in themselves, and where they lead nowhere.

use overrule_engine::PolicyId;
use overrule_gateway::topology::level;
use overrule_source::Diagnostic;

use crate::codes;
use crate::kinds::KindShape;
use crate::policy::Policy;
use crate::resolve::{Filter, Found, SecuredBackends, serves};

pub(super) fn report(found: &Found<'_>, filters: &[Filter], out: &mut Vec<Diagnostic>) {
    let secured = SecuredBackends::read(found.world);
    for (id, written) in (0..).map(PolicyId).zip(&found.world.policies.list) {
        own(found, id, written, out);
        backend_tls(found, &secured, id, written, out);
    }
    for filter in filters.iter().filter(|f| f.policy.is_none()) {
        out.push(filter_not_found(found, filter));
    }
}

/// What can be said of one policy alone.
pub(super) fn policy(found: &Found<'_>, id: PolicyId, out: &mut Vec<Diagnostic>) {
    let Some(written) = found.policy(id) else { return };
    own(found, id, written, out);
    if written.info.shape == KindShape::Backend {
        backend_tls(found, &SecuredBackends::read(found.world), id, written, out);
    }
}

fn own(found: &Found<'_>, id: PolicyId, policy: &Policy, out: &mut Vec<Diagnostic>) {
    out.extend(policy.diagnostics.iter().cloned());
    // A filter that names a policy attaches it.
    let attached = found.resolution.attachments_of(id).next().is_some();
    if policy.references.is_empty() && !attached {
        out.push(unreferenced(policy));
    }
    other_controller(found, id, policy, out);
}

fn unreferenced(policy: &Policy) -> Diagnostic {
    let kind = policy.info.kind;
    let message = match policy.info.shape {
        KindShape::Path | KindShape::Sequential => {
            format!("this {kind} has no target and no rule's filter names it, so it does nothing")
        }
        _ => format!("this {kind} has no target, so it does nothing"),
    };
    let (field, help) = match policy.info.shape {
        KindShape::Sequential => {
            ("metadata.name", "name it in the filters of a rule, type ExtensionRef")
        }
        KindShape::Path => (
            "spec.targetRefs",
            "add `targetRefs`, or name it in the filters of a rule, type ExtensionRef",
        ),
        _ => ("spec.targetRefs", "add `targetRefs`"),
    };
    Diagnostic::new(&codes::UNREFERENCED, message).at(policy.at).field(field).help(help)
}

fn filter_not_found(found: &Found<'_>, filter: &Filter) -> Diagnostic {
    let topology = found.world.topology;
    let rule = topology.rule(filter.rule).map(|r| found.node(r.node)).unwrap_or_default();
    let hands_over = !topology.delegations_of(filter.rule).is_empty();
    let effect = match filter.backend {
        Some(_) => "the requests it sends there answer 500",
        None if hands_over => {
            "it answers 500, and so do the rules it delegates to; do not rely on that, because the controller may serve them without the policy"
        }
        None => "it answers 500",
    };
    let message = format!("a filter of `{rule}` names an object that does not exist, so {effect}");
    Diagnostic::new(&codes::FILTER_NOT_FOUND, message)
        .at(filter.at)
        .field("extensionRef.name")
        .help("create the object in the namespace of the route, or correct the name")
}

/// Policies on Gateways of other controllers.
fn other_controller(found: &Found<'_>, id: PolicyId, policy: &Policy, out: &mut Vec<Diagnostic>) {
    let world = found.world;
    for attachment in found.resolution.attachments_of(id) {
        let topology = world.topology;
        let Some(node) = topology.nodes.get(attachment.node) else { continue };
        let gateway = match node.level {
            l if l == level::GATEWAY => topology.gateway_of(attachment.node),
            l if l == level::LISTENER => topology
                .listener_of(attachment.node)
                .and_then(|ix| topology.listener(ix))
                .and_then(|l| l.gateway),
            l if l == level::LISTENER_SET => topology
                .set_of(attachment.node)
                .and_then(|ix| topology.set(ix))
                .and_then(|s| s.parent),
            _ => None,
        };
        let Some(gateway) = gateway.and_then(|ix| topology.gateway(ix)) else { continue };
        if serves(world, gateway) {
            continue;
        }
        let class = topology.class(gateway.class);
        let controller = class.map_or("", |c| world.snapshot.text(c.controller));
        let message = format!(
            "`{}` belongs to the controller `{controller}`, which knows nothing of a {}",
            found.node(gateway.node),
            policy.kind_name()
        );
        let d = Diagnostic::new(&codes::OTHER_CONTROLLER, message).at(attachment.at);
        out.push(d.help("target a Gateway of kgateway's, or correct the class of the Gateway"));
    }
}

/// TLS settings of a backend that has a BackendTLSPolicy.
fn backend_tls(
    found: &Found<'_>,
    secured: &SecuredBackends<'_>,
    id: PolicyId,
    policy: &Policy,
    out: &mut Vec<Diagnostic>,
) {
    if secured.is_empty() || policy.info.shape != KindShape::Backend {
        return;
    }
    for attachment in found.resolution.attachments_of(id) {
        let tls = found.world.documents.view(policy.spec).get_entry("tls");
        let here = secured.has(attachment.node);
        let Some((key, _)) = tls.filter(|_| here) else { continue };
        let message = format!(
            "`{}` has a BackendTLSPolicy, so the TLS settings of this policy have no effect there",
            found.node(attachment.node)
        );
        let d = Diagnostic::new(&codes::BACKEND_TLS, message).at(key.span());
        out.push(d.field("spec.tls").help("keep one of the two"));
    }
}
