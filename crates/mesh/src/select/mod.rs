// SPDX-License-Identifier: Apache-2.0
//! In: a policy and a proxy. Out: which of its inbounds and gateway listeners the policy selects, or why that cannot be
//! said. Not here: what the policy then does.

pub(crate) mod gateways;
pub mod matched;
pub mod targets;

use std::collections::BTreeMap;

use crate::dataplane::{Dataplane, InboundListener, MeshGateway, Tags, gateway_of, matches};
use crate::kinds;
use crate::labels::{PolicyRole, ResourceOrigin};
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resource::Meta;
use crate::targetref::TargetRef;

/// What selecting looks at besides policy and proxy.
#[derive(Clone, Copy)]
pub struct SelectContext<'a> {
    /// MeshHTTPRoutes, for policies that target one.
    pub routes: &'a [Policy],
    /// MeshGateways.
    pub gateways: &'a [MeshGateway],
    /// The rule set.
    pub profile: &'a Profile,
}

/// A listener of a gateway with a hostname.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostListener {
    /// Where it listens.
    pub listener: InboundListener,
    /// Hostname; `*` for all.
    pub hostname: Box<str>,
}

/// What a policy selects of a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selected {
    /// Inbounds, each once.
    pub inbounds: Vec<InboundListener>,
    /// Listeners of the gateway.
    pub listeners: Vec<HostListener>,
    /// The proxy is a gateway that only sends, and is selected as a whole.
    pub delegated: bool,
}

impl Selected {
    /// Whether the proxy is selected at all.
    pub fn any(&self) -> bool {
        !self.inbounds.is_empty() || !self.listeners.is_empty() || self.delegated
    }
}

/// Selects. `Err`: the target cannot be resolved, with upstream's words.
pub fn select(
    context: SelectContext<'_>,
    policy: &Policy,
    dataplane: &Dataplane,
) -> Result<Selected, String> {
    let gateway = gateway_of(dataplane, context.gateways);
    let selector = Selector { context, dataplane, gateway };
    if !selector.in_scope(&policy.meta) {
        return Ok(Selected::default());
    }
    selector.target(&policy.meta, &policy.target, 0)
}

/// Whether a policy acts only on proxies of its own namespace.
pub(crate) fn stays_in_namespace(profile: &Profile, policy: &Meta) -> bool {
    match profile {
        Profile::Release => {
            matches!(policy.role(), PolicyRole::Consumer | PolicyRole::WorkloadOwner)
        }
        Profile::Design { system } => {
            !policy.namespace().is_empty() && policy.namespace() != &**system
        }
    }
}

struct Selector<'a> {
    context: SelectContext<'a>,
    dataplane: &'a Dataplane,
    gateway: Option<&'a MeshGateway>,
}

impl Selector<'_> {
    /// Zone and namespace: whose policy acts where.
    fn in_scope(&self, policy: &Meta) -> bool {
        let proxy = &self.dataplane.meta;
        let place = self.gateway.map_or(proxy, |g| &g.meta);
        let producer =
            *self.context.profile == Profile::Release && policy.role() == PolicyRole::Producer;
        let zoned = policy.origin() == ResourceOrigin::Zone && !policy.zone().is_empty();
        if !producer && zoned && place.origin() == ResourceOrigin::Zone {
            let same = place.zone().is_empty() || place.zone() == policy.zone();
            if !same {
                return false;
            }
        }
        let local = stays_in_namespace(self.context.profile, policy);
        !local || (!policy.namespace().is_empty() && policy.namespace() == proxy.namespace())
    }

    fn target(&self, policy: &Meta, target: &TargetRef, depth: u8) -> Result<Selected, String> {
        let service = || BTreeMap::from([("kuma.io/service".into(), target.name().into())]);
        let tags = || -> Tags {
            target.tag_pairs().map(|(key, value)| (key.into(), value.into())).collect()
        };
        Ok(match target.kind.known() {
            Some(&kinds::MESH) => self.mesh(target),
            Some(&kinds::DATAPLANE) => self.dataplane(policy, target),
            Some(&kinds::SUBSET) => self.tagged(&tags(), target),
            Some(&kinds::SERVICE) => self.tagged(&service(), target),
            Some(&kinds::SERVICE_SUBSET) => {
                let mut all = tags();
                all.extend(service());
                self.tagged(&all, target)
            }
            Some(&kinds::GATEWAY) => self.mesh_gateway(policy, target, &tags()),
            Some(&kinds::HTTP_ROUTE) if depth == 0 => return self.route(policy, target),
            _ => return Err(format!("unsupported targetRef kind '{}'", target.kind)),
        })
    }

    /// Whether the type of the proxy is one that is asked for.
    fn is_asked_for(&self, target: &TargetRef) -> bool {
        let wanted = target.proxy_types.as_deref().unwrap_or_default();
        let kind = if self.dataplane.gateway.is_some() { "Gateway" } else { "Sidecar" };
        wanted.is_empty() || wanted.iter().any(|w| w == kind)
    }

    fn inbounds(&self, fits: impl Fn(&crate::dataplane::Inbound) -> bool) -> Vec<InboundListener> {
        let mut found: Vec<InboundListener> = Vec::new();
        for inbound in self.dataplane.inbounds.iter().filter(|i| fits(i)) {
            if !found.contains(&inbound.listener) {
                found.push(inbound.listener.clone());
            }
        }
        found
    }

    /// Listeners of the MeshGateway whose tags fit: those of the proxy, the MeshGateway and the listener together.
    fn gateway_listeners(&self, wanted: &Tags) -> Vec<HostListener> {
        let Some(gateway) = self.gateway else { return Vec::new() };
        let own = self.dataplane.gateway.as_ref().map(|g| g.tags.clone()).unwrap_or_default();
        let mut found = Vec::new();
        for listener in &gateway.listeners {
            let mut tags = own.clone();
            tags.extend(gateway.tags.clone());
            tags.extend(listener.tags.clone());
            if matches(wanted, &tags) {
                let address = self.dataplane.address.clone();
                let at = InboundListener { address, port: listener.port };
                found.push(HostListener { listener: at, hostname: listener.hostname.clone() });
            }
        }
        found
    }

    fn mesh(&self, target: &TargetRef) -> Selected {
        if !self.is_asked_for(target) {
            return Selected::default();
        }
        Selected {
            inbounds: self.inbounds(|_| true),
            listeners: self.gateway_listeners(&Tags::new()),
            delegated: self.dataplane.is_delegated(),
        }
    }

    fn tagged(&self, wanted: &Tags, target: &TargetRef) -> Selected {
        if !self.is_asked_for(target) {
            return Selected::default();
        }
        let own = self.dataplane.gateway.as_ref().filter(|g| !g.built_in);
        Selected {
            inbounds: self.inbounds(|i| matches(wanted, &i.tags)),
            listeners: self.gateway_listeners(wanted),
            delegated: own.is_some_and(|g| matches(wanted, &g.tags)),
        }
    }

    fn dataplane(&self, policy: &Meta, target: &TargetRef) -> Selected {
        let proxy = &self.dataplane.meta;
        if self.dataplane.is_built_in() {
            return Selected::default();
        }
        let by_name = || {
            let namespace = match target.namespace() {
                "" => policy.namespace(),
                namespace => namespace,
            };
            proxy.mesh == policy.mesh
                && proxy.zone() == policy.zone()
                && proxy.namespace() == namespace
                && proxy.display_name() == target.name()
        };
        let by_labels = |labels: &BTreeMap<String, String>| {
            labels.iter().all(|(k, v)| proxy.labels.get(k).map_or("", String::as_str) == v)
        };
        let named = !target.name().is_empty() || !target.namespace().is_empty();
        let fits = match &target.labels {
            _ if named => by_name(),
            Some(labels) => by_labels(labels),
            None => true,
        };
        if !fits {
            return Selected::default();
        }
        let section = target.section_name();
        let inbounds = self.inbounds(|i| section.is_empty() || &*i.section == section);
        Selected { inbounds, delegated: self.dataplane.is_delegated(), ..Selected::default() }
    }

    fn mesh_gateway(&self, policy: &Meta, target: &TargetRef, tags: &Tags) -> Selected {
        let fits =
            |g: &&MeshGateway| g.meta.display_name() == target.name() && g.meta.mesh == policy.mesh;
        match self.gateway.filter(fits) {
            Some(_) => Selected { listeners: self.gateway_listeners(tags), ..Selected::default() },
            None => Selected::default(),
        }
    }

    /// What the route selects.
    fn route(&self, policy: &Meta, target: &TargetRef) -> Result<Selected, String> {
        let mut routes = self.context.routes.iter();
        let route =
            routes.find(|r| r.meta.mesh == policy.mesh && r.meta.display_name() == target.name());
        let Some(route) = route else {
            let name = target.name();
            return Err(format!("couldn't resolve MeshHTTPRoute targetRef with name '{name}'"));
        };
        if !self.in_scope(&route.meta) {
            return Ok(Selected::default());
        }
        self.target(&route.meta, &route.target, 1)
    }
}
