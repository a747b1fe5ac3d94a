// SPDX-License-Identifier: Apache-2.0
//! In: routes and listeners. Out: links, and what became of each parentRef. Not here: texts of findings (`report`).
//!
//! The happy path compares symbols and builds no string. A parent with many listeners is searched by hostname: the
//! listeners that can meet a host are those at it, around it, and below it.

use std::ops::Range;

use hashbrown::HashMap;
use overrule_engine::NodeId;
use overrule_model::{GroupKind, ObjectKey, Scope, Sym};
use overrule_source::{DocId, Span};
use smallvec::SmallVec;

use super::super::graph::{
    BackendFacts, HostFit, Link, LinkFacts, ListenerIx, Route, RouteIx, SetIx,
};
use super::super::hostname::HostIx;
use super::super::mesh::MeshLink;
use super::super::resources::{
    ListenerSpec, ParentSpec, Protocol, RouteSpec, RuleSpec, count, part,
};
use super::super::rows::{NamedParent, ParentRow, RuleRow};
use super::super::status::{ParentStatus, ParentTarget};
use super::super::{GatewayIx, level};
use super::Connector;

/// Parents with more listeners than this are searched by hostname and name.
const MANY: usize = 8;

/// Listeners of large parents by hostname and by name.
#[derive(Default)]
pub(super) struct Finder {
    /// Listeners with exactly this hostname.
    at: HashMap<(ParentTarget, HostIx), SmallVec<[u32; 2]>>,
    /// Listeners with a hostname strictly within this one.
    below: HashMap<(ParentTarget, HostIx), SmallVec<[u32; 2]>>,
    named: HashMap<(ParentTarget, Sym), u32>,
    /// Listeners that share their port with more specific ones.
    shadowed: Vec<bool>,
}

impl Connector<'_> {
    /// Adds routes with their rules, and links them to listeners.
    pub(super) fn routes(&mut self) {
        let finder = self.finder();
        let specs = self.specs;
        let mut links: Vec<Link> = Vec::with_capacity(specs.routes.len());
        let mut bound: Vec<MeshLink> = Vec::new();
        self.out.nodes.reserve(specs.routes.len() + specs.rules.len());
        self.out.routes.reserve_exact(specs.routes.len());
        self.out.rules.reserve_exact(specs.rules.len());
        self.out.parents.reserve_exact(specs.parents.len());
        self.out.hostnames.reserve_exact(specs.hostnames.len());
        let mut found = Vec::new();
        // Many routes, few Gateways. Looked up, never iterated.
        let mut known: HashMap<_, u32> = HashMap::new();
        for spec in &specs.routes {
            let route = self.next_route();
            let first = links.len();
            let (parents, first_link) = (count(&self.out.parents), count(&links));
            for parent in part(&specs.parents, &spec.parents) {
                let (before, before_bound) = (links.len(), bound.len());
                let ParentSpec { kind, namespace, name, section, port, .. } = *parent;
                let key = (kind, namespace, name, section, port);
                let named = *known.entry(key).or_insert_with(|| self.named_parent(parent));
                let target = self.out.named_parents.get(named as usize).and_then(|n| n.target);
                if let Some(ParentTarget::Service(frontend)) = target {
                    self.bind(frontend, route, parent, spec, &mut bound);
                } else if let Some(target) = target {
                    self.candidates(&finder, target, parent, spec, &mut found);
                    for listener in found.drain(..) {
                        links.extend(self.link(&finder, ListenerIx(listener), route, parent, spec));
                    }
                }
                let made = links.get(before..).unwrap_or(&[]);
                let accepted = made.iter().any(Link::accepted) || bound.len() > before_bound;
                self.parent(spec, parent, (named, target), accepted);
            }
            if spec.parents.len() > 1 {
                dedup_links(&mut links, first);
            }
            self.route(spec, parents, first_link);
        }
        self.store(&links);
        self.store_bound(bound);
    }

    /// The Gateway, ListenerSet or Service a parentRef names, if the input has it.
    fn target(&self, parent: &ParentSpec) -> Option<ParentTarget> {
        let words = &self.specs.words;
        let GroupKind { group, kind } = parent.kind;
        let gateway = group == words.group && kind == words.gateway;
        if parent.kind == words.service_kind() {
            let known = self.out.index.frontends.get(&(parent.namespace, parent.name));
            return known.copied().map(ParentTarget::Service);
        }
        let set = (group == words.group && kind == words.listener_set)
            || (group == words.x_group && kind == words.x_listener_set);
        if !gateway && !set {
            return None;
        }
        let scope = Scope::Namespace(parent.namespace);
        let object =
            self.snapshot.find(ObjectKey { kind: parent.kind, scope, name: parent.name })?;
        let node = self.out.object_node(object.id)?;
        match gateway {
            true => self.out.gateway_of(node).map(ParentTarget::Gateway),
            false => self.out.set_of(node).map(ParentTarget::Set),
        }
    }

    /// The listeners a parentRef can mean, by name and as far as hostnames tell; each once, in order.
    fn candidates(
        &self,
        finder: &Finder,
        target: ParentTarget,
        parent: &ParentSpec,
        spec: &RouteSpec,
        found: &mut Vec<u32>,
    ) {
        let all = self.listeners_of_target(target);
        let hostnames = part(&self.specs.hostnames, &spec.hostnames);
        if all.len() <= MANY {
            found.extend(all);
        } else if !parent.section.is_empty() {
            found.extend(finder.named.get(&(target, parent.section)));
        } else if hostnames.is_empty() {
            found.extend(all);
        } else {
            for host in hostnames {
                for wider in self.specs.hosts.around(*host) {
                    found.extend(finder.at.get(&(target, wider)).into_iter().flatten());
                }
                found.extend(finder.below.get(&(target, *host)).into_iter().flatten());
            }
            found.sort_unstable();
            found.dedup();
        }
    }

    /// The listeners of a parent that is in force: those a ListenerSet has only while its Gateway accepts it.
    pub(super) fn listeners_of_target(&self, target: ParentTarget) -> Range<u32> {
        let range = match target {
            ParentTarget::Gateway(ix) => self.out.gateway(ix).map(|g| &g.listeners),
            ParentTarget::Set(ix) => self.out.set(ix).filter(|s| s.accepted).map(|s| &s.listeners),
            ParentTarget::Service(_) => None,
        };
        range.cloned().unwrap_or(0..0)
    }

    fn link(
        &mut self,
        finder: &Finder,
        listener: ListenerIx,
        route: RouteIx,
        parent: &ParentSpec,
        spec: &RouteSpec,
    ) -> Option<Link> {
        let specs = self.specs;
        let at = specs.listeners.get(listener.at())?;
        if !parent.section.is_empty() && parent.section != at.name {
            return None;
        }
        // Of a listener that nobody wrote the port is what references say, as far as they agree.
        let unknown = at.assumed && at.port == 0 && !parent.section.is_empty();
        let port = parent.port == 0 || parent.port == at.port || unknown;
        let hosts = self.host_fit(at, spec)?;
        let conflicted = self.out.listener(listener).is_some_and(|l| l.conflicted);
        let shadowed = finder.shadowed.get(listener.at()).copied().unwrap_or(false);
        let isolated = shadowed && self.is_isolated(listener, at, spec);
        let allowed = self.allows(listener, spec);
        let facts = LinkFacts { allowed, port, conflicted, hosts, isolated };
        Some(Link::new(listener, route, parent.index, facts))
    }

    /// How the hostnames meet; nothing if they do not.
    fn host_fit(&self, listener: &ListenerSpec, spec: &RouteSpec) -> Option<HostFit> {
        if listener.broken || spec.broken {
            return None;
        }
        let hostnames = part(&self.specs.hostnames, &spec.hostnames);
        if hostnames.is_empty() || !spec.kind.has_hostnames() {
            return Some(HostFit::Subset);
        }
        let hosts = &self.specs.hosts;
        if hostnames.iter().any(|host| hosts.is_subset(*host, listener.hostname)) {
            return Some(HostFit::Subset);
        }
        let meets = hostnames.iter().any(|host| hosts.is_subset(listener.hostname, *host));
        meets.then_some(HostFit::Intersects)
    }

    /// Whether `allowedRoutes` of the listener lets a route in: kind and namespace.
    pub(super) fn allows(&mut self, listener: ListenerIx, spec: &RouteSpec) -> bool {
        let specs = self.specs;
        let Some(at) = specs.listeners.get(listener.at()) else { return false };
        let node = self.out.listener(listener).and_then(|l| self.out.nodes.get(l.node));
        let host = node.map_or(Sym::EMPTY, |n| n.namespace);
        at.kinds.contains(spec.kind) && self.namespaces.allows(at.namespaces, host, spec.namespace)
    }

    /// Whether more specific listeners of the port own everything the route could serve here.
    fn is_isolated(&self, listener: ListenerIx, at: &ListenerSpec, spec: &RouteSpec) -> bool {
        let Some(gateway) = self.out.listener(listener).and_then(|l| l.gateway) else {
            return false;
        };
        let hosts = &self.specs.hosts;
        let owner = |host: HostIx| {
            let mut owners = hosts
                .around(host)
                .map(|wider| self.out.index.owners.get(&(gateway, at.port, hosts.name(wider))));
            owners.find_map(|owner| owner.copied())
        };
        let hostnames = part(&self.specs.hostnames, &spec.hostnames);
        let mut common = hostnames.iter().filter_map(|host| hosts.intersect(*host, at.hostname));
        !hostnames.is_empty() && common.all(|host| owner(host).is_some_and(|o| o != listener))
    }

    /// Notes what a parentRef names, and what that resolves to.
    fn named_parent(&mut self, parent: &ParentSpec) -> u32 {
        let place = count(&self.out.named_parents);
        self.out.named_parents.push(NamedParent {
            target: self.target(parent),
            group: parent.kind.group,
            kind: parent.kind.kind,
            namespace: parent.namespace,
            name: parent.name,
            section: parent.section,
            port: (parent.port != 0).then_some(parent.port),
        });
        place
    }

    fn parent(
        &mut self,
        spec: &RouteSpec,
        parent: &ParentSpec,
        (named, target): (u32, Option<ParentTarget>),
        accepted: bool,
    ) {
        let is_assumed = matches!(target, Some(ParentTarget::Gateway(ix))
            if self.out.gateway(ix).is_some_and(|gateway| gateway.assumed));
        let status = match accepted {
            true if is_assumed => ParentStatus::Assumed,
            true => ParentStatus::Accepted,
            false => self.refused(spec, parent, target),
        };
        if is_assumed {
            self.mention_assumed(spec.object, parent);
        }
        let Span { start, end, .. } = parent.at;
        self.out.parents.push(ParentRow { named, start, end, index: parent.index, status });
    }

    /// What every name means in a route in which one means several rules. They follow the route in the nodes.
    fn equal_names(&mut self, spec: &RouteSpec, rules: &[RuleSpec], node: NodeId) {
        let mut names: HashMap<Sym, SmallVec<[NodeId; 2]>> = HashMap::new();
        for (rule, id) in rules.iter().zip(node.0 + 1..) {
            let name = if rule.repeats.is_empty() { rule.section } else { rule.repeats };
            names.entry(name).or_default().push(NodeId(id));
        }
        self.out.index.equal_names.insert(spec.object, names);
    }

    fn route(&mut self, spec: &RouteSpec, parents: u32, links: u32) {
        let index = self.out.routes.len();
        let node = self.object_node(spec.object, level::ROUTE);
        let rules = count(&self.out.rules);
        let kind = self.specs.words.rule_kind(spec.kind);
        let doc = self.snapshot.get(spec.object).map(|o| o.root.doc);
        let specs = self.specs;
        let own = part(&specs.rules, &spec.rules);
        if own.iter().any(|rule| rule.hidden || !rule.repeats.is_empty()) {
            self.equal_names(spec, own, node);
        }
        for rule in own {
            self.out.nodes.add_section(node, kind, rule.section, level::RULE, rule.at);
            self.out.rules.push(RuleRow {
                route: RouteIx::from(index),
                tree: rule.tree,
                uses: 0,
                delegations: 0,
                named: rule.named,
                hidden: rule.hidden,
            });
        }
        let first_hostname = count(&self.out.hostnames);
        let hostnames = part(&specs.hostnames, &spec.hostnames).iter();
        self.out.hostnames.extend(hostnames.map(|host| specs.hosts.name(*host)));
        self.out.routes.push(Route {
            node,
            kind: spec.kind,
            object: spec.object,
            broken: spec.broken,
            rules: rules..count(&self.out.rules),
            refs: BackendFacts::Resolved,
            doc: doc.unwrap_or(DocId(u32::MAX)),
            hostnames: first_hostname,
            parents,
            links,
        });
    }

    /// Sorts links by listener, keeping the order of routes, and notes the ranges of listeners.
    fn store(&mut self, by_route: &[Link]) {
        let mut next = vec![0_u32; self.out.listeners.len() + 1];
        for link in by_route {
            if let Some(slot) = next.get_mut(link.listener.at() + 1) {
                *slot += 1;
            }
        }
        let mut sum = 0;
        for slot in &mut next {
            sum += *slot;
            *slot = sum;
        }
        for (listener, start) in self.out.listeners.iter_mut().zip(&next) {
            listener.links = *start..*start;
        }
        let mut sorted = by_route.to_vec();
        let mut places = Vec::with_capacity(by_route.len());
        for link in by_route {
            let Some(listener) = self.out.listeners.get_mut(link.listener.at()) else { continue };
            let place = listener.links.end;
            listener.links.end += 1;
            if let Some(slot) = sorted.get_mut(place as usize) {
                *slot = *link;
            }
            places.push(place);
        }
        self.out.links = sorted;
        self.out.index.by_route = places;
    }

    fn finder(&self) -> Finder {
        let mut finder =
            Finder { shadowed: vec![false; self.out.listeners.len()], ..Finder::default() };
        let gateways =
            (0..self.out.gateways.len()).map(|g| ParentTarget::Gateway(GatewayIx::from(g)));
        let sets = (0..self.out.sets.len()).map(|s| ParentTarget::Set(SetIx::from(s)));
        for target in gateways.chain(sets) {
            let range = self.listeners_of_target(target);
            if range.len() <= MANY {
                continue;
            }
            for index in range {
                let Some(spec) = self.specs.listeners.get(index as usize) else { continue };
                finder.named.insert((target, spec.name), index);
                finder.at.entry((target, spec.hostname)).or_default().push(index);
                for wider in self.specs.hosts.around(spec.hostname).skip(1) {
                    finder.below.entry((target, wider)).or_default().push(index);
                }
            }
        }
        self.find_shadowed(&mut finder);
        finder
    }

    /// Notes every listener around whose hostname another one of the port is narrower.
    fn find_shadowed(&self, finder: &mut Finder) {
        let hosts = &self.specs.hosts;
        for (listener, spec) in self.out.listeners.iter().zip(&self.specs.listeners) {
            let (Some(gateway), Protocol::Hosted, false) =
                (listener.gateway, spec.family, listener.conflicted)
            else {
                continue;
            };
            for wider in hosts.around(spec.hostname).skip(1) {
                let key = (gateway, spec.port, hosts.name(wider));
                if let Some(owner) = self.out.index.owners.get(&key)
                    && let Some(slot) = finder.shadowed.get_mut(owner.at())
                {
                    *slot = true;
                }
            }
        }
    }
}

/// Whether a parentRef means this listener: name and port, as far as it says them.
pub(super) fn names(parent: &ParentSpec, listener: &ListenerSpec) -> bool {
    (parent.section.is_empty() || parent.section == listener.name)
        && (parent.port == 0 || parent.port == listener.port)
}

/// Several parentRefs may reach one listener: the first one with the right port counts.
fn dedup_links(links: &mut Vec<Link>, first: usize) {
    let Some(own) = links.get_mut(first..) else { return };
    own.sort_unstable_by_key(|link| (link.listener, !link.facts().port, link.parent_ref));
    let mut kept = first;
    for index in first..links.len() {
        let Some(link) = links.get(index).copied() else { continue };
        let repeats = kept > first
            && links.get(kept - 1).is_some_and(|before| before.listener == link.listener);
        if repeats {
            continue;
        }
        if let Some(slot) = links.get_mut(kept) {
            *slot = link;
        }
        kept += 1;
    }
    links.truncate(kept);
}
