// SPDX-License-Identifier: Apache-2.0
//! In: a policy and a proxy. Out: whether it is selected, and which of its inbounds. Not here: order.

use super::Profile;
use super::read::{Pairs, Policy, Proxy};

/// What a policy selects of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selected {
    /// Numbers of inbounds.
    pub inbounds: Vec<usize>,
    /// The proxy as a whole, because it is a gateway somebody else configures.
    pub delegated: bool,
}

/// What the policy selects; none if that is nothing.
pub(super) fn selects(policy: &Policy, proxy: &Proxy, profile: Profile) -> Option<Selected> {
    let reached = !policy.shadow
        && policy.meta.mesh == proxy.meta.mesh
        && zone(policy, proxy, profile)
        && namespace(policy, proxy, profile);
    let selected = reached.then(|| by_target(policy, proxy))?;
    (selected.delegated || !selected.inbounds.is_empty()).then_some(selected)
}

/// A policy made in a zone stays there; only 2.13's producers leave it.
fn zone(policy: &Policy, proxy: &Proxy, profile: Profile) -> bool {
    if profile == Profile::Release && policy.role == "producer" {
        return true;
    }
    let both = policy.meta.origin() == "zone" && proxy.meta.origin() == "zone";
    let free = !both || policy.meta.zone.is_empty() || proxy.meta.zone.is_empty();
    free || policy.meta.zone == proxy.meta.zone
}

/// Some policies stay in their namespace: those with two of the roles, or all that are in a custom one.
fn namespace(policy: &Policy, proxy: &Proxy, profile: Profile) -> bool {
    match profile {
        Profile::Release if ["consumer", "workload-owner"].contains(&policy.role.as_str()) => {
            !policy.meta.namespace.is_empty() && policy.meta.namespace == proxy.meta.namespace
        }
        Profile::Design if policy.meta.is_in_custom_namespace() => {
            policy.meta.namespace == proxy.meta.namespace
        }
        _ => true,
    }
}

fn by_target(policy: &Policy, proxy: &Proxy) -> Selected {
    let target = &policy.target;
    match target.kind.as_str() {
        "Mesh" => {
            let own = if proxy.gateway.is_some() { "Gateway" } else { "Sidecar" };
            let types = &target.proxy_types;
            if types.is_empty() || types.iter().any(|t| t == own) {
                inbounds(proxy, |_| true, proxy.gateway.is_some())
            } else {
                inbounds(proxy, |_| false, false)
            }
        }
        "Dataplane" if is_meant(policy, proxy) => {
            let section =
                |i: usize| target.section.is_empty() || proxy.inbounds[i].section == target.section;
            inbounds(proxy, section, proxy.gateway.is_some())
        }
        "MeshSubset" => tagged(proxy, &target.tags),
        "MeshService" => tagged(proxy, &service(&target.name)),
        "MeshServiceSubset" => {
            let mut tags = target.tags.clone();
            tags.extend(service(&target.name));
            tagged(proxy, &tags)
        }
        _ => inbounds(proxy, |_| false, false),
    }
}

pub(super) fn service(name: &str) -> Pairs {
    Pairs::from([(String::from("kuma.io/service"), name.to_owned())])
}

fn inbounds(proxy: &Proxy, wanted: impl Fn(usize) -> bool, delegated: bool) -> Selected {
    let inbounds = (0..proxy.inbounds.len()).filter(|i| wanted(*i)).collect();
    Selected { inbounds, delegated }
}

/// Whether a reference to Dataplanes means this one: by name, by labels, or all.
fn is_meant(policy: &Policy, proxy: &Proxy) -> bool {
    let target = &policy.target;
    if !target.name.is_empty() {
        let there =
            if target.namespace.is_empty() { &policy.meta.namespace } else { &target.namespace };
        return proxy.meta.mesh == policy.meta.mesh
            && proxy.meta.zone == policy.meta.zone
            && proxy.meta.namespace == *there
            && proxy.meta.display == target.name;
    }
    target
        .labels
        .iter()
        .flatten()
        .all(|(key, value)| proxy.meta.labels.get(key).map_or("", String::as_str) == value.as_str())
}

/// Each inbound by its own tags, or the gateway by its.
fn tagged(proxy: &Proxy, wanted: &Pairs) -> Selected {
    let gateway = proxy.gateway.as_ref().is_some_and(|tags| has(tags, wanted));
    inbounds(proxy, |i| has(&proxy.inbounds[i].tags, wanted), gateway)
}

fn has(tags: &Pairs, wanted: &Pairs) -> bool {
    wanted
        .iter()
        .all(|(key, value)| tags.get(key).is_some_and(|found| value == "*" || found == value))
}
