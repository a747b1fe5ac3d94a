// SPDX-License-Identifier: Apache-2.0
//! In: the resources of a mesh. Out: what every proxy gets, computed once for proxies that policies cannot tell apart, and
//! rules once for lists of policies that are equal. Not here: how rules are built (`rules`).
//!
//! ```text
//! proxy ── shape: what policies can see of it ──► policies that select it, per type
//!                                                   │ per list of policies
//!                                                   ▼
//!                                         rules by resource, by tags, for what comes in
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overrule_source::Documents;

use crate::dataplane::{Dataplane, Gateway, Listener, MeshGateway, Tags};
use crate::kinds::Kind;
use crate::kri::Kri;
use crate::labels::Origin;
use crate::matched::Matched;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::rules::{
    InboundRule, ResourceRule, SubsetRule, inbound_rules, lookup, resource_rules,
    subset_rules_from, subset_rules_to,
};
use crate::select::Context;
use crate::targets::Destination;

/// What proxies are resolved from.
pub struct Ground<'a> {
    /// Texts and trees.
    pub documents: &'a Documents,
    /// The rule set.
    pub profile: Profile,
    /// Policies of all types.
    pub policies: &'a [Policy],
    /// MeshHTTPRoutes, which are policies too, for policies that target one.
    pub routes: &'a [Policy],
    /// MeshGateways.
    pub gateways: &'a [MeshGateway],
    /// What entries may mean.
    pub destinations: &'a [Destination],
}

/// Rules about destinations.
#[derive(Debug, Default)]
pub struct ToRules<'a> {
    /// By real resource.
    pub resources: BTreeMap<Kri, ResourceRule<'a>>,
    /// By the tags of services.
    pub subsets: Vec<SubsetRule<'a>>,
}

impl<'a> ToRules<'a> {
    /// What applies to a destination: the first hit of itself, itself without its section, its Mesh, whole.
    pub fn of(&self, destination: &Kri) -> Option<&ResourceRule<'a>> {
        lookup(destination).iter().find_map(|kri| self.resources.get(kri))
    }
}

/// Rules about what comes in.
#[derive(Debug, Default)]
pub struct FromRules<'a> {
    /// One after another, least specific first.
    pub rules: Vec<InboundRule<'a>>,
    /// By the tags of clients.
    pub subsets: Vec<SubsetRule<'a>>,
}

/// What policies of one type do at a proxy.
#[derive(Debug, Clone)]
pub struct KindRules<'a> {
    /// The type.
    pub kind: &'static Kind,
    /// The policies that select it, in the order they are merged.
    pub policies: Vec<&'a Policy>,
    /// About destinations.
    pub to: Arc<ToRules<'a>>,
    /// About what comes in, by the place of the inbound in the proxy; inbounds that nothing selects have none.
    pub inbounds: BTreeMap<usize, Arc<FromRules<'a>>>,
    /// Policies whose target cannot be resolved.
    pub warnings: Vec<(&'a Policy, String)>,
}

/// What a proxy gets, by type.
pub type ProxyRules<'a> = Arc<Vec<KindRules<'a>>>;

/// What policies can see of a proxy.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    mesh: String,
    origin: Origin,
    zone: String,
    namespace: String,
    /// Its name, if a policy asks for one.
    name: String,
    /// Values of the labels that policies ask for.
    labels: Vec<Option<String>>,
    /// Section, port, tags of each inbound.
    inbounds: Vec<(Box<str>, u32, Tags)>,
    gateway: Option<(bool, Tags)>,
    /// Inbounds that listen where an earlier one does.
    repeated: Vec<usize>,
}

/// Resolves proxies, remembering what it met.
pub struct Fleet<'a> {
    ground: Ground<'a>,
    /// Policies by type, in the order of answers.
    by_kind: Vec<(&'static Kind, Vec<&'a Policy>)>,
    /// Labels that policies ask proxies for.
    labels: Vec<String>,
    /// Whether a policy asks for a proxy by name.
    names: bool,
    shapes: BTreeMap<Shape, ProxyRules<'a>>,
    /// Rules by list of policies: their addresses, which stay.
    to: BTreeMap<Vec<usize>, Arc<ToRules<'a>>>,
    from: BTreeMap<Vec<usize>, Arc<FromRules<'a>>>,
}

impl<'a> Fleet<'a> {
    /// Prepares: policies by type, and what they ask proxies for.
    pub fn new(ground: Ground<'a>) -> Self {
        let mut by_kind: BTreeMap<u32, (&'static Kind, Vec<&'a Policy>)> = BTreeMap::new();
        let (mut labels, mut names) = (BTreeSet::new(), false);
        for policy in ground.policies {
            let order = policy.kind.policy.map_or(u32::MAX, |p| p.order);
            by_kind.entry(order).or_insert((policy.kind, Vec::new())).1.push(policy);
            labels.extend(policy.target.labels.iter().flatten().map(|(k, _)| k.clone()));
            let dataplane = policy.target.kind == "Dataplane";
            names |= dataplane && !policy.target.name().is_empty();
        }
        Self {
            by_kind: by_kind.into_values().collect(),
            labels: labels.into_iter().collect(),
            names,
            shapes: BTreeMap::new(),
            to: BTreeMap::new(),
            from: BTreeMap::new(),
            ground,
        }
    }

    /// How many kinds of proxies were met that policies can tell apart.
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// How many lists of policies were made rules of.
    pub fn lists(&self) -> usize {
        self.to.len() + self.from.len()
    }

    /// What a proxy gets.
    pub fn resolve(&mut self, dataplane: &Dataplane) -> ProxyRules<'a> {
        let shape = self.shape(dataplane);
        if let Some(known) = self.shapes.get(&shape) {
            return known.clone();
        }
        let kinds: Vec<(&'static Kind, Vec<&'a Policy>)> = self.by_kind.clone();
        let rules = kinds.into_iter().map(|(kind, list)| self.kind(kind, &list, dataplane));
        let rules: ProxyRules<'a> = Arc::new(rules.collect());
        self.shapes.insert(shape, rules.clone());
        rules
    }

    fn shape(&self, dataplane: &Dataplane) -> Shape {
        let meta = &dataplane.meta;
        let gateway = |g: &Gateway| (g.built_in, g.tags.clone());
        let inbounds = dataplane.inbounds.iter();
        let listeners: Vec<&Listener> = inbounds.clone().map(|i| &i.listener).collect();
        let first = |l: &Listener| listeners.iter().position(|known| *known == l);
        let repeated = listeners.iter().enumerate().filter(|(i, l)| first(l) != Some(*i));
        Shape {
            mesh: meta.mesh.clone(),
            origin: meta.origin(),
            zone: meta.zone().to_owned(),
            namespace: meta.namespace().to_owned(),
            name: if self.names { meta.display_name().to_owned() } else { String::new() },
            labels: self.labels.iter().map(|k| meta.labels.get(k).cloned()).collect(),
            repeated: repeated.map(|(i, _)| i).collect(),
            inbounds: inbounds
                .map(|i| (i.section.clone(), i.listener.port, i.tags.clone()))
                .collect(),
            gateway: dataplane.gateway.as_ref().map(gateway),
        }
    }

    fn kind(
        &mut self,
        kind: &'static Kind,
        list: &[&'a Policy],
        dataplane: &Dataplane,
    ) -> KindRules<'a> {
        let Ground { routes, gateways, ref profile, .. } = self.ground;
        let matched = Matched::new(Context { routes, gateways, profile }, list, dataplane);
        let policies = matched.all();
        let to = self.rules_to(&policies);
        let mut inbounds = BTreeMap::new();
        for (listener, policies) in matched.inbounds() {
            let place = dataplane.inbounds.iter().position(|i| i.listener == listener);
            inbounds.extend(place.map(|place| (place, self.rules_from(&policies))));
        }
        KindRules { kind, policies, to, inbounds, warnings: matched.warnings }
    }

    fn rules_to(&mut self, policies: &[&'a Policy]) -> Arc<ToRules<'a>> {
        let key = key_of(policies);
        if let Some(known) = self.to.get(&key) {
            return known.clone();
        }
        let Ground { documents, routes, destinations, ref profile, .. } = self.ground;
        let rules = Arc::new(ToRules {
            resources: resource_rules(documents, profile, policies, destinations),
            subsets: subset_rules_to(documents, policies, routes),
        });
        self.to.insert(key, rules.clone());
        rules
    }

    fn rules_from(&mut self, policies: &[&'a Policy]) -> Arc<FromRules<'a>> {
        let key = key_of(policies);
        if let Some(known) = self.from.get(&key) {
            return known.clone();
        }
        let Ground { documents, ref profile, .. } = self.ground;
        let rules = Arc::new(FromRules {
            rules: inbound_rules(profile, policies),
            subsets: subset_rules_from(documents, policies),
        });
        self.from.insert(key, rules.clone());
        rules
    }
}

/// A list of policies by where they stand in memory, which does not change while they are borrowed.
fn key_of(policies: &[&Policy]) -> Vec<usize> {
    policies.iter().map(|p| std::ptr::from_ref::<Policy>(p).addr()).collect()
}
