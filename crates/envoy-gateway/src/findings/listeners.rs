// SPDX-License-Identifier: Apache-2.0
//! In: ClientTrafficPolicies, routing types and proxies. Out: listeners and Gateways that get something else than their
//! policies say.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{NodeId, PolicyId};
use overrule_gateway::topology::{GatewayIx, ListenerIx};
use overrule_source::Diagnostic;
use serde_json::Value;

use crate::codes;
use crate::kinds::{KindRole, number};
use crate::policy::MergeType;
use crate::resolve::Found;

/// Fields of a ClientTrafficPolicy that are settings of the socket.
const SOCKET: &[&[&str]] = &[
    &["connection", "bufferLimit"],
    &["tcpKeepalive"],
    &["proxyProtocol"],
    &["enableProxyProtocol"],
];

pub(super) fn report(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    shared_ports(found, out);
    sockets(found, out);
    unseen_routing(found, out);
    dropped_proxies(found, out);
}

fn shared_ports(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    let mut by_policy: BTreeMap<PolicyId, BTreeSet<NodeId>> = BTreeMap::new();
    for (id, ix) in &found.plan.shared_ports {
        let node = found.plan.world().topology.listener(*ix).map(|l| l.node);
        by_policy.entry(*id).or_default().extend(node);
    }
    for (id, listeners) in by_policy {
        let Some(policy) = found.policy(id) else { continue };
        let message = format!(
            "{} shares its port with other HTTP listeners, so the controller refuses this policy there; it also keeps the policy of the whole Gateway off",
            found.nodes(&listeners)
        );
        let d =
            Diagnostic::new(&codes::SHARED_PORT, message).at(policy.at).field("spec.targetRefs");
        out.push(d.help("target the whole Gateway, or give the listener a port of its own"));
    }
}

/// HTTPS listeners on one port have filters of their own, but one socket: the first one's settings count.
fn sockets(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    let topology = found.plan.world().topology;
    let mut first: BTreeMap<(GatewayIx, u16), (ListenerIx, Vec<Value>)> = BTreeMap::new();
    for (place, _) in topology.gateways.iter().enumerate() {
        let gateway = GatewayIx::from(place);
        for (ix, listener) in topology.listeners_of(gateway) {
            if !listener.terminates || !found.plan.fabric.is_ready(ix) {
                continue;
            }
            let client = found.plan.clients.get(&ix);
            let settings = |path: &&[&str]| {
                let mut at = client.map(|client| found.plan.spec(client.policy))?;
                for key in *path {
                    at = at.get(key)?;
                }
                Some(at.clone())
            };
            let own: Vec<Value> =
                SOCKET.iter().map(|path| settings(path).unwrap_or_default()).collect();
            let (of, known) =
                first.entry((gateway, listener.port)).or_insert_with(|| (ix, own.clone()));
            let Some(policy) = client.and_then(|client| found.policy(client.policy)) else {
                continue;
            };
            if *of == ix || *known == own {
                continue;
            }
            let of = topology.listener(*of).map(|l| found.node(l.node)).unwrap_or_default();
            let message = format!(
                "`{}` shares its socket with `{of}`, whose settings of the socket are used instead of these",
                found.node(listener.node)
            );
            let d = Diagnostic::new(&codes::SOCKET_SHARED, message).at(policy.at).field("spec");
            out.push(d.help("set bufferLimit, tcpKeepalive and proxyProtocol alike for all listeners of the port"));
        }
    }
}

/// A listener's routing type is seen by routes that name the listener.
fn unseen_routing(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    let topology = found.plan.world().topology;
    let kind = number(KindRole::Traffic);
    for (id, policy) in found.plan.world().policies.of_kind(kind) {
        let says = found.plan.spec(id).get("routingType").is_some_and(|v| !v.is_null());
        if !says {
            continue;
        }
        let mut unseen: BTreeSet<NodeId> = BTreeSet::new();
        for attachment in found.resolution.attachments_of(id) {
            let Some(listener) = topology.listener_of(attachment.node) else { continue };
            for link in topology.links_of_listener(listener) {
                let parent = found.plan.fabric.parent_of(link);
                if link.accepted() && parent.is_some_and(|parent| parent.section.is_empty()) {
                    unseen.extend(topology.route(link.route).map(|route| route.node));
                }
            }
        }
        if unseen.is_empty() {
            continue;
        }
        let message = format!(
            "{} do not see this `routingType`: they are attached without the name of the listener",
            found.nodes(&unseen)
        );
        let d = Diagnostic::new(&codes::ROUTING_UNSEEN, message)
            .at(policy.at)
            .field("spec.routingType");
        out.push(d.help("set `sectionName` in the parentRef of the routes, or set the routing type on the Gateway"));
    }
}

/// A Gateway's EnvoyProxy drops that of the class, unless it asks to be merged.
fn dropped_proxies(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    let mut told: BTreeSet<(PolicyId, PolicyId)> = BTreeSet::new();
    for proxy in &found.plan.proxies {
        let (Some(own), Some(class)) = (proxy.own, proxy.class) else { continue };
        let Some(policy) = found.policy(own) else { continue };
        let merges = policy.merge.is_some_and(|merge| merge != MergeType::Replace);
        let meant = policy.merge == Some(MergeType::Replace);
        if merges || meant || !told.insert((own, class)) {
            continue;
        }
        let message = format!(
            "this EnvoyProxy drops everything that `{}` sets for the GatewayClass",
            found.name(class)
        );
        let d =
            Diagnostic::new(&codes::PROXY_DROPPED, message).at(policy.at).field("spec.mergeType");
        out.push(d.help("set `mergeType: StrategicMerge` to keep it, or `Replace` if it is meant"));
    }
}
