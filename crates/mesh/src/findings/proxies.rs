// SPDX-License-Identifier: Apache-2.0
//! In: the proxies of a mesh. Out: who has which label, tag and name; and trials: whom a policy would select if it were
//! a little different. Not here: sentences (`explain`).

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::Here;
use super::near::{Pairs, add, rarest};
use crate::dataplane::{Dataplane, MeshGateway};
use crate::kinds::{self, HTTP_ROUTE};
use crate::labels::{NAMESPACE, ORIGIN, POLICY_ROLE};
use crate::policy::Policy;
use crate::select::gateways::GatewayIndex;
use crate::select::{SelectContext, Selected, select};
use crate::targetref::TargetRef;

/// The tag that names a service.
pub(super) const SERVICE: &str = "kuma.io/service";

/// Proxies, by what policies select them by.
pub(super) struct Proxies<'a> {
    here: &'a Here<'a>,
    labels: OnceCell<Pairs<'a>>,
    tags: OnceCell<Pairs<'a>>,
    names: OnceCell<BTreeMap<&'a str, Vec<u32>>>,
    routes: OnceCell<Vec<Policy>>,
    gateways: OnceCell<GatewayIndex<'a>>,
    /// Proxies by the name of their MeshGateway.
    by_gateway: OnceCell<BTreeMap<&'a str, Vec<u32>>>,
    gateway_names: OnceCell<BTreeSet<&'a str>>,
}

impl<'a> Proxies<'a> {
    pub(super) fn new(here: &'a Here<'a>) -> Self {
        Self {
            here,
            labels: OnceCell::new(),
            tags: OnceCell::new(),
            names: OnceCell::new(),
            routes: OnceCell::new(),
            gateways: OnceCell::new(),
            by_gateway: OnceCell::new(),
            gateway_names: OnceCell::new(),
        }
    }

    fn all(&self) -> impl Iterator<Item = (u32, &'a Dataplane)> + use<'a> {
        (0..).zip(self.here.mesh.dataplanes.iter().map(|d| &d.it))
    }

    pub(super) fn get(&self, place: u32) -> Option<&'a Dataplane> {
        self.here.mesh.dataplanes.get(place as usize).map(|d| &d.it)
    }

    pub(super) fn labels(&self) -> &Pairs<'a> {
        self.labels.get_or_init(|| {
            let mut pairs = Pairs::new();
            for (place, proxy) in self.all() {
                for (key, value) in &proxy.meta.labels {
                    add(&mut pairs, key, value, place);
                }
            }
            pairs
        })
    }

    /// Tags of inbounds and of gateways.
    pub(super) fn tags(&self) -> &Pairs<'a> {
        self.tags.get_or_init(|| {
            let mut pairs = Pairs::new();
            for (place, proxy) in self.all() {
                let inbounds = proxy.inbounds.iter().map(|i| &i.tags);
                let gateway = proxy.gateway.iter().map(|g| &g.tags);
                for (key, value) in inbounds.chain(gateway).flatten() {
                    add(&mut pairs, key, value, place);
                }
            }
            pairs
        })
    }

    pub(super) fn names(&self) -> &BTreeMap<&'a str, Vec<u32>> {
        self.names.get_or_init(|| {
            let mut names: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
            for (place, proxy) in self.all() {
                names.entry(proxy.meta.display_name()).or_default().push(place);
            }
            names
        })
    }

    /// Names of MeshGateways.
    pub(super) fn gateway_names(&self) -> &BTreeSet<&'a str> {
        let all = self.here.mesh.gateways.iter();
        self.gateway_names.get_or_init(|| all.map(|g| g.meta.display_name()).collect())
    }

    /// The MeshGateway that configures a proxy.
    fn gateway(&self, proxy: &Dataplane) -> Option<&'a MeshGateway> {
        let all = &self.here.mesh.gateways;
        all.get(self.gateways.get_or_init(|| GatewayIndex::new(all)).of(proxy)?)
    }

    fn by_gateway(&self) -> &BTreeMap<&'a str, Vec<u32>> {
        self.by_gateway.get_or_init(|| {
            let mut proxies: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
            for (place, proxy) in self.all() {
                if let Some(gateway) = self.gateway(proxy) {
                    proxies.entry(gateway.meta.display_name()).or_default().push(place);
                }
            }
            proxies
        })
    }

    /// What a policy selects of a proxy.
    pub(super) fn select(&self, routes: &[Policy], policy: &Policy, proxy: &Dataplane) -> Selected {
        let gateways = self.gateway(proxy).map_or(&[][..], std::slice::from_ref);
        let context = SelectContext { routes, gateways, profile: self.here.world.profile };
        select(context, policy, proxy).unwrap_or_default()
    }

    /// Proxies that a target may mean, wherever they are: never fewer than it does.
    fn candidates(&self, target: &TargetRef) -> Vec<u32> {
        let chosen = match target.kind.known() {
            Some(&kinds::DATAPLANE) if !target.name().is_empty() => {
                return self.names().get(target.name()).cloned().unwrap_or_default();
            }
            Some(&kinds::DATAPLANE) => rarest(target.label_pairs(), self.labels()),
            Some(&kinds::GATEWAY) => {
                return self.by_gateway().get(target.name()).cloned().unwrap_or_default();
            }
            Some(&kinds::SUBSET | &kinds::SERVICE_SUBSET | &kinds::SERVICE) => {
                let service = (target.kind != kinds::SUBSET).then(|| (SERVICE, target.name()));
                rarest(target.tag_pairs().chain(service), self.tags())
            }
            _ => None,
        };
        // A gateway has the tags of its MeshGateway too.
        let by_tags =
            target.kind.is_one_of(&[kinds::SUBSET, kinds::SERVICE_SUBSET, kinds::SERVICE]);
        let gateways = by_tags && !self.here.mesh.gateways.is_empty();
        match chosen {
            Some(places) if !gateways => places.to_vec(),
            _ => self.all().map(|(place, _)| place).collect(),
        }
    }

    /// The first few proxies a policy selects, among those its target may mean.
    pub(super) fn first(&self, policy: &Policy, most: usize) -> Vec<&'a Dataplane> {
        let routes = self
            .routes
            .get_or_init(|| self.here.live().filter(|p| *p.kind == HTTP_ROUTE).cloned().collect());
        let may_try = |_: &&Dataplane| self.here.world.budget.try_one();
        let selects = |proxy: &&Dataplane| self.select(routes, policy, proxy).any();
        let candidates = self.candidates(&policy.target).into_iter();
        let proxies = candidates.filter_map(|place| self.get(place));
        proxies.take_while(may_try).filter(selects).take(most).collect()
    }
}

/// The policy as if it named no section.
pub(super) fn without_section(policy: &Policy) -> Policy {
    let mut other = policy.clone();
    other.target.section_name = None;
    other
}

/// The policy as if it acted everywhere. What it means by a name stays the same.
pub(super) fn everywhere(policy: &Policy) -> Policy {
    let mut other = policy.clone();
    let own = policy.meta.namespace();
    if !other.target.name().is_empty() && other.target.namespace().is_empty() && !own.is_empty() {
        other.target.namespace = Some(own.to_owned());
    }
    for label in [ORIGIN, POLICY_ROLE, NAMESPACE] {
        other.meta.labels.remove(label);
    }
    other
}
