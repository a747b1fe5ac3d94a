// SPDX-License-Identifier: Apache-2.0
//! In: the routes of a topology. Out: those a reference means, looked up: by name, by namespace, by label.
//! Not here: whether they may be delegated to.

use std::ops::Range;

use hashbrown::HashMap;
use overrule_gateway::topology::{Delegation, GROUP, GatewayTopology, RouteIx, RouteKind};
use overrule_model::{GroupKind, ObjectKey, Scope, Snapshot, Sym};

/// Group of a reference by label.
pub const LABEL_GROUP: &str = "delegation.kgateway.dev";
/// The label such a reference asks for.
pub const LABEL: &str = "delegation.kgateway.dev/label";

/// How a reference means routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteReference {
    /// One by name.
    Name,
    /// All of a namespace.
    Namespace,
    /// All with a label.
    Label,
    /// In a way that does not exist: a kind of the delegation group other than a label.
    Nothing,
}

/// HTTPRoutes by namespace and label.
pub(crate) struct Index<'a> {
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    /// Routes are sorted by kind, namespace and name, so those of a namespace lie side by side.
    namespaces: HashMap<Sym, Range<u32>>,
    labels: HashMap<(Sym, Sym), Vec<RouteIx>>,
    everywhere: HashMap<Sym, Vec<RouteIx>>,
    wildcard: Option<Sym>,
}

impl<'a> Index<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        topology: &'a GatewayTopology,
        wildcard: &str,
    ) -> Self {
        let mut index = Self {
            snapshot,
            topology,
            namespaces: HashMap::new(),
            labels: HashMap::new(),
            everywhere: HashMap::new(),
            wildcard: snapshot.names().lookup(wildcard),
        };
        if topology.delegations.is_empty() {
            return index;
        }
        let label = snapshot.names().lookup(LABEL);
        for (n, route) in (0_u32..).zip(&topology.routes) {
            let object = snapshot.get(route.object).filter(|_| route.kind == RouteKind::Http);
            let Some(object) = object else { continue };
            let namespace = object.scope.name();
            index.namespaces.entry(namespace).or_insert(n..n).end = n + 1;
            let value = object.labels.iter().find(|(key, _)| Some(*key) == label);
            if let Some((_, value)) = value {
                index.labels.entry((value, namespace)).or_default().push(RouteIx(n));
                index.everywhere.entry(value).or_default().push(RouteIx(n));
            }
        }
        index
    }

    /// How a reference means routes.
    pub(crate) fn how(&self, reference: &Delegation) -> RouteReference {
        let text = |sym| self.snapshot.text(sym);
        match (text(reference.group), text(reference.kind), text(reference.name)) {
            (GROUP, _, "" | "*") => RouteReference::Namespace,
            (GROUP, ..) => RouteReference::Name,
            (_, "label", _) => RouteReference::Label,
            _ => RouteReference::Nothing,
        }
    }

    /// The routes a reference means, by name.
    pub(crate) fn meant(&self, reference: &Delegation) -> Vec<RouteIx> {
        match self.how(reference) {
            RouteReference::Nothing => Vec::new(),
            RouteReference::Name => self.named(reference).into_iter().collect(),
            RouteReference::Namespace => {
                let range = self.namespaces.get(&reference.namespace).cloned().unwrap_or(0..0);
                range.map(RouteIx).collect()
            }
            RouteReference::Label => {
                let found = if Some(reference.namespace) == self.wildcard {
                    self.everywhere.get(&reference.name)
                } else {
                    self.labels.get(&(reference.name, reference.namespace))
                };
                found.cloned().unwrap_or_default()
            }
        }
    }

    fn named(&self, reference: &Delegation) -> Option<RouteIx> {
        let kind = GroupKind { group: reference.group, kind: reference.kind };
        let scope = Scope::Namespace(reference.namespace);
        let object = self.snapshot.find(ObjectKey { kind, scope, name: reference.name })?;
        let route = self.topology.route_of(self.topology.object_node(object.id)?)?;
        self.topology.route(route).filter(|r| r.kind == RouteKind::Http).map(|_| route)
    }
}
