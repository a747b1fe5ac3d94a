// SPDX-License-Identifier: Apache-2.0
//! In: the topology. Out: the part of it that the controller serves: which Gateways, which parents of routes, which
//! listeners carry which routes. Not here: policies.

use std::cell::RefCell;

use hashbrown::HashMap;
use overrule_engine::NodeId;
use overrule_gateway::topology::{
    GROUP as GATEWAY_API, GatewayIx, HostFit, Link, LinkIx, Listener, ListenerIx, Parent,
    ParentTarget, RouteIx, RouteKind, SetIx,
};
use overrule_model::{
    GroupKind, Object, ObjectId, ObjectKey, Scope, Selector, SelectorClause, Sym,
};
use overrule_source::View;
use smallvec::SmallVec;

use crate::World;

/// The controller whose classes the family serves.
pub const CONTROLLER: &str = "gateway.envoyproxy.io/gatewayclass-controller";

/// How a listener is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Http,
    Tcp,
    Udp,
}

/// A parent of a route that the controller serves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManagedParent {
    /// What it is.
    pub(crate) target: ParentTarget,
    /// The object.
    pub(crate) node: NodeId,
    /// The Gateway that serves it.
    pub(crate) gateway: GatewayIx,
    /// `sectionName`, empty if not written.
    pub(crate) section: Sym,
    /// `port`.
    pub(crate) port: Option<u16>,
}

/// The topology as the controller sees it.
pub(crate) struct Fabric<'a> {
    pub(crate) world: World<'a>,
    /// By Gateway.
    served: Vec<bool>,
    /// By listener.
    ready: Vec<bool>,
    /// The one route that a TCP or UDP listener carries, by listener and kind.
    alone: HashMap<(ListenerIx, RouteKind), RouteIx>,
    gateway_api: Sym,
    listener_set: Sym,
    /// Objects that policies refer to and that are not in the input.
    assumed: RefCell<Vec<String>>,
}

impl<'a> Fabric<'a> {
    pub(crate) fn new(world: World<'a>) -> Self {
        let topology = world.topology;
        let names = world.snapshot.names();
        let mut fabric = Self {
            world,
            served: topology
                .gateways
                .iter()
                .map(|g| g.assumed || is_class(world, g.class.0))
                .collect(),
            ready: Vec::new(),
            alone: HashMap::new(),
            gateway_api: names.lookup(GATEWAY_API).unwrap_or_default(),
            listener_set: names.lookup("ListenerSet").unwrap_or_default(),
            assumed: RefCell::default(),
        };
        fabric.ready = topology.listeners.iter().map(|l| fabric.is_sound(l)).collect();
        fabric.find_alone();
        fabric
    }

    /// Whether the controller serves a Gateway.
    pub(crate) fn serves(&self, gateway: GatewayIx) -> bool {
        self.served.get(gateway.at()).copied().unwrap_or(false)
    }

    /// Whether a listener is in force.
    pub(crate) fn is_ready(&self, listener: ListenerIx) -> bool {
        self.ready.get(listener.at()).copied().unwrap_or(false)
    }

    fn is_sound(&self, listener: &Listener) -> bool {
        let set = listener.set.and_then(|ix| self.world.topology.set(ix));
        !listener.conflicted
            && !listener.broken
            && listener.gateway.is_some_and(|gateway| self.serves(gateway))
            && set.is_none_or(|set| self.is_set(set.object))
            && self.has_certificates(listener)
    }

    /// A listener that ends TLS without a certificate is not in force.
    fn has_certificates(&self, listener: &Listener) -> bool {
        if !listener.terminates {
            return true;
        }
        let Some((tree, object)) = self.listener_tree(listener) else { return true };
        let references = tree.get("tls").and_then(|tls| tls.get("certificateRefs"));
        let mut references = references.into_iter().flat_map(View::items).peekable();
        if references.peek().is_none() || !self.world.ground.closed_world {
            return references.peek().is_some();
        }
        references.all(|reference| {
            let text = |key| reference.get(key).and_then(View::as_str);
            let namespace = text("namespace").unwrap_or(self.text(object.scope.name()));
            self.find("", text("kind").unwrap_or("Secret"), namespace, text("name").unwrap_or(""))
                .is_some()
        })
    }

    /// Whether an object is a ListenerSet as the controller knows them.
    fn is_set(&self, object: ObjectId) -> bool {
        let object = self.world.snapshot.get(object);
        object.is_some_and(|o| {
            o.kind == GroupKind { group: self.gateway_api, kind: self.listener_set }
        })
    }

    /// A ListenerSet whose Gateway the controller serves, whether that Gateway accepts it or not.
    pub(crate) fn known_set(&self, set: SetIx) -> Option<GatewayIx> {
        let set = self.world.topology.set(set)?;
        set.parent.filter(|gateway| self.serves(*gateway) && self.is_set(set.object))
    }

    /// What was assumed since the last call.
    pub(crate) fn take_assumed(&self) -> Vec<String> {
        let mut names = self.assumed.take();
        names.sort();
        names.dedup();
        names
    }

    /// Whether an object may be missing: nobody says that the input has everything.
    pub(crate) fn may_be_missing(&self, kind: &str, namespace: &str, name: &str) -> bool {
        let open = !self.world.ground.closed_world;
        if open {
            let name = format!("{}/{namespace}/{name}", kind.to_lowercase());
            self.assumed.borrow_mut().push(name);
        }
        open
    }

    pub(crate) fn text(&self, name: Sym) -> &'a str {
        self.world.snapshot.text(name)
    }

    /// An object by its names.
    pub(crate) fn find(
        &self,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<&'a Object> {
        let names = self.world.snapshot.names();
        let kind = GroupKind { group: names.lookup(group)?, kind: names.lookup(kind)? };
        let scope = Scope::Namespace(names.lookup(namespace)?);
        self.world.snapshot.find(ObjectKey { kind, scope, name: names.lookup(name)? })
    }

    /// `namespace/name` of the object of a node.
    pub(crate) fn full_name(&self, node: NodeId) -> String {
        let Some(node) = self.world.topology.nodes.get(node) else { return String::new() };
        match self.text(node.namespace) {
            "" => self.text(node.name).to_owned(),
            namespace => format!("{namespace}/{}", self.text(node.name)),
        }
    }

    /// The name of the object of a node.
    pub(crate) fn name(&self, node: NodeId) -> &'a str {
        self.world.topology.nodes.get(node).map_or("", |node| self.text(node.name))
    }

    pub(crate) fn wire(&self, listener: &Listener) -> Wire {
        match self.text(listener.protocol) {
            "UDP" => Wire::Udp,
            "TCP" | "TLS" => Wire::Tcp,
            _ => Wire::Http,
        }
    }

    /// Where a listener is written, and its object.
    fn listener_tree(&self, listener: &Listener) -> Option<(View<'a>, &'a Object)> {
        let node = self.world.topology.nodes.get(listener.node)?;
        let object = self.world.snapshot.get(node.object?)?;
        let spec = self.world.documents.view(object.root).get("spec")?;
        let name = self.text(listener.name);
        let mut all = spec.get("listeners").into_iter().flat_map(View::items);
        let tree = all.find(|l| l.get("name").and_then(View::as_str) == Some(name))?;
        Some((tree, object))
    }

    /// The parents of a route that the controller serves, as written.
    pub(crate) fn parents(&self, route: RouteIx) -> SmallVec<[ManagedParent; 2]> {
        let parents = self.world.topology.parents_of(route);
        parents.filter_map(|parent| self.managed(route, &parent)).collect()
    }

    pub(crate) fn managed(&self, route: RouteIx, parent: &Parent) -> Option<ManagedParent> {
        let topology = self.world.topology;
        let target = parent.target?;
        let (node, gateway) = match target {
            ParentTarget::Gateway(ix) => (topology.gateway(ix)?.node, ix),
            ParentTarget::Set(ix) => {
                let set = topology.set(ix)?;
                let served = set.accepted && !set.listeners.is_empty() && self.is_set(set.object);
                let named =
                    !self.world.profile.needs_set_group() || self.spells_group(route, parent);
                (set.node, set.parent.filter(|_| served && named)?)
            }
            ParentTarget::Service(_) => return None,
        };
        let (section, port) = (parent.section, parent.port);
        self.serves(gateway).then_some(ManagedParent { target, node, gateway, section, port })
    }

    /// Whether a parentRef has a `group` of its own.
    fn spells_group(&self, route: RouteIx, parent: &Parent) -> bool {
        let Some(route) = self.world.topology.route(route) else { return false };
        let Some(object) = self.world.snapshot.get(route.object) else { return false };
        let spec = self.world.documents.view(object.root).get("spec");
        let list = spec.and_then(|spec| spec.get("parentRefs"));
        let tree = list.and_then(|list| list.items().nth(usize::from(parent.index)));
        tree.is_some_and(|tree| tree.get("group").is_some())
    }

    /// The listeners of a parent that let a route in, whatever its hostnames.
    pub(crate) fn kept(&self, route: RouteIx, parent: &ManagedParent) -> Vec<ListenerIx> {
        let topology = self.world.topology;
        let range = match parent.target {
            ParentTarget::Gateway(ix) => topology.gateway(ix).map(|g| g.listeners.clone()),
            ParentTarget::Set(ix) => topology.set(ix).map(|s| s.listeners.clone()),
            ParentTarget::Service(_) => None,
        };
        let all = range.unwrap_or(0..0).map(ListenerIx);
        let meant: Vec<ListenerIx> = all
            .filter(|ix| {
                topology.listener(*ix).is_some_and(|l| {
                    (parent.section.is_empty() || parent.section == l.name)
                        && parent.port.is_none_or(|port| port == l.port)
                })
            })
            .collect();
        if !meant.iter().any(|ix| self.is_ready(*ix)) {
            return Vec::new();
        }
        meant.into_iter().filter(|ix| self.allows(*ix, route)).collect()
    }

    /// Whether `allowedRoutes` of a listener lets a route in.
    fn allows(&self, ix: ListenerIx, route: RouteIx) -> bool {
        let topology = self.world.topology;
        let links = topology.links_of_listener(ix);
        let known = links.partition_point(|link| link.route < route);
        if let Some(link) = links.get(known).filter(|link| link.route == route) {
            return link.facts().allowed;
        }
        // Links are there only where hostnames meet.
        let (Some(listener), Some(route)) = (topology.listener(ix), topology.route(route)) else {
            return false;
        };
        if !listener.kinds.contains(route.kind) {
            return false;
        }
        let guest =
            self.world.snapshot.get(route.object).map(|o| o.scope.name()).unwrap_or_default();
        let Some((tree, object)) = self.listener_tree(listener) else { return false };
        let namespaces = tree.get("allowedRoutes").and_then(|allowed| allowed.get("namespaces"));
        let from = namespaces.and_then(|n| n.get("from")).and_then(View::as_str);
        match from.unwrap_or("Same") {
            "All" => true,
            "Same" => guest == object.scope.name(),
            "Selector" => {
                let selector = namespaces.and_then(|n| n.get("selector"));
                selector
                    .and_then(|s| self.read_selector(s))
                    .is_some_and(|s| self.is_labelled(guest, &s))
            }
            _ => false,
        }
    }

    /// A selector made of names that are known; one that is not fits nothing anyway.
    fn read_selector(&self, of: View<'_>) -> Option<Selector> {
        let names = self.world.snapshot.names();
        let mut requirements = Vec::new();
        for (key, value) in of.get("matchLabels").into_iter().flat_map(View::entries) {
            let value = names.lookup(value.as_str()?)?;
            requirements.push(SelectorClause::Equals(names.lookup(key.key_text())?, value));
        }
        for clause in of.get("matchExpressions").into_iter().flat_map(View::items) {
            let text = |key| clause.get(key).and_then(View::as_str);
            let key = names.lookup(text("key")?)?;
            let values = clause.get("values").into_iter().flat_map(View::items);
            let values = values.filter_map(|v| names.lookup(v.as_str()?)).collect();
            requirements.push(match text("operator")? {
                "In" => SelectorClause::In(key, values),
                "NotIn" => SelectorClause::NotIn(key, values),
                "Exists" => SelectorClause::Exists(key),
                "DoesNotExist" => SelectorClause::Absent(key),
                _ => return None,
            });
        }
        Some(Selector { requirements })
    }

    /// Whether the Namespace object of a name has labels. Without the object nothing is known of it.
    pub(crate) fn is_labelled(&self, namespace: Sym, selector: &Selector) -> bool {
        let names = self.world.snapshot.names();
        let Some(kind) = names.lookup("Namespace") else { return false };
        let kind = GroupKind { group: Sym::EMPTY, kind };
        let object =
            self.world.snapshot.find(ObjectKey { kind, scope: Scope::Cluster, name: namespace });
        let named = names.lookup("kubernetes.io/metadata.name");
        object.is_some_and(|object| {
            let mut labels: Vec<(Sym, Sym)> =
                named.map(|key| (key, namespace)).into_iter().collect();
            labels.extend(object.labels.iter());
            selector.matches(&overrule_model::Labels::new(labels))
        })
    }

    /// Whether requests or connections reach a route by a link.
    pub(crate) fn carries(&self, ix: LinkIx, link: &Link) -> bool {
        if !link.accepted() || !self.is_ready(link.listener) || self.parent_of(link).is_none() {
            return false;
        }
        let Some(route) = self.world.topology.route(link.route) else { return false };
        match route.kind {
            RouteKind::Tcp | RouteKind::Udp => {
                self.alone.get(&(link.listener, route.kind)) == Some(&link.route)
            }
            _ => self.keeps_host(ix, link),
        }
    }

    /// The parent by which a link was made, if the controller serves it.
    pub(crate) fn parent_of(&self, link: &Link) -> Option<ManagedParent> {
        let mut parents = self.world.topology.parents_of(link.route);
        let parent = parents.find(|parent| parent.index == link.parent_ref)?;
        self.managed(link.route, &parent)
    }

    /// Whether a hostname is left once those are taken away that another listener of the port has for its own.
    fn keeps_host(&self, ix: LinkIx, link: &Link) -> bool {
        let topology = self.world.topology;
        let Some(listener) = topology.listener(link.listener) else { return false };
        let Some(gateway) = listener.gateway else { return false };
        let others = || {
            topology.listeners_of(gateway).filter(|(other, l)| {
                *other != link.listener && l.port == listener.port && !l.hostname.is_empty()
            })
        };
        if link.facts().hosts == HostFit::Subset
            && topology.hostnames_of(link.route).is_empty()
            && others().next().is_none()
        {
            return true;
        }
        let hosts = topology.hostnames_at(self.world.snapshot, ix, false);
        let taken = |host: &Sym| others().any(|(_, l)| l.hostname == *host);
        hosts.iter().any(|host| !taken(host))
    }

    /// A TCP or UDP listener carries the first route only, by age, namespace and name.
    fn find_alone(&mut self) {
        let topology = self.world.topology;
        let candidates = topology.links.iter().filter(|link| {
            topology
                .route(link.route)
                .is_some_and(|route| matches!(route.kind, RouteKind::Tcp | RouteKind::Udp))
        });
        for link in candidates {
            let Some(route) = topology.route(link.route) else { continue };
            if !link.accepted() || !self.is_ready(link.listener) || self.parent_of(link).is_none() {
                continue;
            }
            let key = (link.listener, route.kind);
            let first = match self.alone.get(&key) {
                Some(known) if self.route_order(*known) <= self.route_order(link.route) => *known,
                _ => link.route,
            };
            self.alone.insert(key, first);
        }
    }

    /// The place of a route among others: by age, namespace and name.
    pub(crate) fn route_order(&self, route: RouteIx) -> (i64, &'a str, &'a str) {
        let object =
            self.world.topology.route(route).and_then(|r| self.world.snapshot.get(r.object));
        object.map_or((i64::MAX, "", ""), |object| self.object_order(object))
    }

    /// The place of an object among others: by age, namespace and name.
    pub(crate) fn object_order(&self, object: &'a Object) -> (i64, &'a str, &'a str) {
        let age = self.world.profile.age(object.created);
        (age, self.text(object.scope.name()), self.text(object.name))
    }
}

/// Whether the controller serves a class: it says so, or it is not in the input.
fn is_class(world: World<'_>, class: u32) -> bool {
    let class = world.topology.classes.get(class as usize);
    class.is_some_and(|class| {
        let controller = world.snapshot.text(class.controller);
        let unknown = controller.is_empty() && !world.ground.closed_world;
        unknown || controller == CONTROLLER
    })
}
