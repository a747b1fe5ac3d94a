// SPDX-License-Identifier: Apache-2.0
//! In: the resources of all meshes. Out: the nodes that policies act on, by object and section. Not here: paths; they
//! depend on what policies say.
//!
//! ```text
//! Mesh ─ Dataplane ┬ Inbound ┬ Clients        described by tags
//!                  │         └ Match          described by their identity
//!                  ├ MeshService ┬ Port, Hostname
//!                  │             └ MeshHTTPRoute
//!                  ├ Outbound                 a service known by its tag only
//!                  ├ Listener ─ as below a Dataplane
//!                  └ Destinations             every other one
//! ```

use std::collections::BTreeMap;

use hashbrown::HashMap;
use overrule_engine::{Level, Node, NodeId, Topology};
use overrule_model::{ObjectId, Snapshot, Sym};
use overrule_source::{Documents, View};

use crate::entries::subset_of;
use crate::kinds;
use crate::resources::{GROUP, MeshResources, Resources};
use crate::subset::Subset;

/// Names of the levels, highest first.
pub const LEVELS: &[&str] =
    &["mesh", "dataplane", "inbound or listener", "destination", "port, route or hostname"];

/// Level of a mesh, counted from the first of this family.
pub(crate) const MESH: u8 = 0;
/// Level of a proxy.
pub(crate) const DATAPLANE: u8 = 1;
const INBOUND: u8 = 2;
const DESTINATION: u8 = 3;
const PART: u8 = 4;

/// The section of a Mesh that stands for all destinations nobody names.
pub const DESTINATIONS: &str = "any-other";

/// Nodes of one mesh.
#[derive(Debug, Clone)]
pub struct MeshNodes {
    /// The mesh.
    pub mesh: NodeId,
    /// All destinations nobody names.
    pub destinations: NodeId,
    /// Proxies, and their inbounds by place.
    pub dataplanes: Vec<(NodeId, Vec<NodeId>)>,
    /// What entries may mean, and its ports by place; what has none has none.
    pub targets: Vec<(NodeId, Vec<NodeId>)>,
    /// Listeners of MeshGateways, by place of both.
    pub listeners: Vec<Vec<NodeId>>,
    /// Services known by their tag.
    pub services: BTreeMap<Box<str>, NodeId>,
    /// Hostnames of routes.
    pub hostnames: BTreeMap<Box<str>, NodeId>,
    /// Clients that entries describe by tags.
    pub clients: BTreeMap<Subset, NodeId>,
    /// Clients that entries describe by a match, as canonical text.
    pub matches: BTreeMap<Box<str>, NodeId>,
}

/// Nodes of all meshes, in the order of [`Resources::meshes`].
#[derive(Debug, Clone, Default)]
pub struct MeshTopology {
    /// By mesh.
    pub meshes: Vec<MeshNodes>,
    /// The level of a mesh in the topology.
    pub top: u8,
    objects: HashMap<ObjectId, NodeId>,
    sections: HashMap<ObjectId, Vec<(Sym, NodeId)>>,
}

impl MeshTopology {
    /// The node of an object.
    pub fn object_node(&self, object: ObjectId) -> Option<NodeId> {
        self.objects.get(&object).copied()
    }

    /// Every section of an object with its node, in the order written.
    pub fn sections_of(&self, object: ObjectId) -> impl Iterator<Item = (Sym, NodeId)> + '_ {
        self.sections.get(&object).into_iter().flatten().copied()
    }

    /// The node of a section of an object.
    pub fn section_node(&self, object: ObjectId, section: Sym) -> Option<NodeId> {
        self.sections_of(object).find(|(name, _)| *name == section).map(|(_, node)| node)
    }
}

/// Adds the nodes of all meshes to a topology.
pub fn build(
    documents: &Documents,
    snapshot: &mut Snapshot,
    resources: &Resources,
    nodes: &mut Topology,
) -> MeshTopology {
    // Kinds are named although none of their policies may be there.
    snapshot.names_mut().intern(GROUP);
    for (kind, _) in kinds::policies() {
        snapshot.names_mut().intern(kind.name);
    }
    if resources.meshes.is_empty() {
        return MeshTopology::default();
    }
    let top = nodes.add_levels(LEVELS);
    let topology = MeshTopology { top, ..MeshTopology::default() };
    let mut builder = Builder { documents, snapshot, nodes, topology };
    for mesh in &resources.meshes {
        let built = builder.mesh(mesh);
        builder.topology.meshes.push(built);
    }
    builder.topology
}

struct Builder<'a> {
    documents: &'a Documents,
    snapshot: &'a mut Snapshot,
    nodes: &'a mut Topology,
    topology: MeshTopology,
}

/// What a node is called: kind, mesh, name.
type Name<'n> = (&'n str, Sym, Sym);

impl Builder<'_> {
    fn add(
        &mut self,
        (kind, namespace, name): Name<'_>,
        section: Sym,
        object: Option<ObjectId>,
        level: u8,
    ) -> NodeId {
        let kind = self.snapshot.names_mut().intern(kind);
        let at = object.and_then(|o| self.snapshot.get(o)).map(|o| o.at);
        let level = Level(self.topology.top.saturating_add(level));
        let node = self.nodes.add(Node { kind, namespace, name, section, object, level, at });
        match (object, section.is_empty()) {
            (Some(object), true) => drop(self.topology.objects.insert(object, node)),
            (Some(object), false) => {
                self.topology.sections.entry(object).or_default().push((section, node));
            }
            (None, _) => {}
        }
        node
    }

    fn object(&mut self, object: ObjectId, level: u8) -> NodeId {
        let Some(found) = self.snapshot.get(object) else {
            return self.add(("?", Sym::EMPTY, Sym::EMPTY), Sym::EMPTY, None, level);
        };
        let (scope, name) = (found.scope.name(), found.name);
        let kind = self.snapshot.text(found.kind.kind).to_owned();
        self.add((&kind, scope, name), Sym::EMPTY, Some(object), level)
    }

    fn section(&mut self, kind: &str, object: ObjectId, section: &str, level: u8) -> NodeId {
        let found = self.snapshot.get(object).map(|o| (o.scope.name(), o.name));
        let (scope, name) = found.unwrap_or((Sym::EMPTY, Sym::EMPTY));
        let section = self.snapshot.names_mut().intern(section);
        self.add((kind, scope, name), section, Some(object), level)
    }

    /// A node that no object stands for.
    fn plain(&mut self, kind: &str, name: &str, level: u8) -> NodeId {
        let name = self.snapshot.names_mut().intern(name);
        self.add((kind, Sym::EMPTY, name), Sym::EMPTY, None, level)
    }

    fn mesh(&mut self, mesh: &MeshResources) -> MeshNodes {
        let node = match mesh.object {
            Some(object) => self.object(object, MESH),
            None => self.plain(kinds::MESH.name, &mesh.name, MESH),
        };
        let destinations = match mesh.object {
            Some(object) => self.section("Destination", object, DESTINATIONS, DESTINATION),
            None => {
                let name = self.snapshot.names_mut().intern(&mesh.name);
                let section = self.snapshot.names_mut().intern(DESTINATIONS);
                self.add(("Destination", Sym::EMPTY, name), section, None, DESTINATION)
            }
        };
        let mut built = MeshNodes {
            mesh: node,
            destinations,
            dataplanes: Vec::new(),
            targets: Vec::new(),
            listeners: Vec::new(),
            services: BTreeMap::new(),
            hostnames: BTreeMap::new(),
            clients: BTreeMap::new(),
            matches: BTreeMap::new(),
        };
        self.dataplanes(mesh, &mut built);
        self.targets(mesh, &mut built);
        self.listeners(mesh, &mut built);
        self.described(mesh, &mut built);
        built
    }

    fn dataplanes(&mut self, mesh: &MeshResources, built: &mut MeshNodes) {
        for dataplane in &mesh.dataplanes {
            let Some(object) = dataplane.object else { continue };
            let node = self.object(object, DATAPLANE);
            let inbounds = dataplane.it.inbounds.iter();
            let inbounds =
                inbounds.map(|i| self.section("Inbound", object, &i.section, INBOUND)).collect();
            built.dataplanes.push((node, inbounds));
            for service in &dataplane.it.services {
                if !built.services.contains_key(service) {
                    let node = self.plain("Outbound", service, DESTINATION);
                    built.services.insert(service.clone(), node);
                }
            }
        }
    }

    fn targets(&mut self, mesh: &MeshResources, built: &mut MeshNodes) {
        for (target, object) in mesh.destinations.iter().zip(&mesh.destination_objects) {
            let Some(object) = object.filter(|_| target.meta.kind != kinds::MESH) else {
                built.targets.push((built.destinations, Vec::new()));
                continue;
            };
            let route = target.meta.kind == kinds::HTTP_ROUTE;
            let node = self.object(object, if route { PART } else { DESTINATION });
            let ports = target.ports.iter();
            let ports = ports.map(|p| self.section("Port", object, &p.section, PART)).collect();
            built.targets.push((node, ports));
        }
    }

    fn listeners(&mut self, mesh: &MeshResources, built: &mut MeshNodes) {
        for (gateway, object) in mesh.gateways.iter().zip(&mesh.gateway_objects) {
            self.object(*object, INBOUND);
            let name = |l: &crate::dataplane::GatewayListener| format!("{}/{}", l.port, l.hostname);
            let listeners = gateway.listeners.iter();
            let listeners =
                listeners.map(|l| self.section("Listener", *object, &name(l), INBOUND)).collect();
            built.listeners.push(listeners);
        }
    }

    /// Whom entries describe instead of naming: hostnames, and clients by tags or by a match.
    fn described(&mut self, mesh: &MeshResources, built: &mut MeshNodes) {
        let documents = self.documents;
        for policy in &mesh.policies {
            for entry in &policy.to {
                let hostnames = documents.view(entry.node).get("hostnames");
                for hostname in hostnames.into_iter().flat_map(View::items) {
                    let Some(name) = hostname.scalar_text() else { continue };
                    if !built.hostnames.contains_key(name) {
                        let node = self.plain("Hostname", name, PART);
                        built.hostnames.insert(name.into(), node);
                    }
                }
            }
            for entry in &policy.from {
                let subset = subset_of(&entry.target).filter(|s| !s.tags().is_empty());
                let Some(subset) = subset.map(Subset::canonical) else { continue };
                let name = subset.to_string();
                built.clients.entry(subset).or_insert_with(|| self.plain("Clients", &name, PART));
            }
            for entry in &policy.rules {
                let matches = documents.view(entry.node).get("matches");
                for one in matches.into_iter().flat_map(View::items) {
                    let text = match_text(one);
                    if !built.matches.contains_key(&*text) {
                        let node = self.plain("Match", &text, PART);
                        built.matches.insert(text.into(), node);
                    }
                }
            }
        }
    }
}

/// A match in words: two that say the same have the same.
pub(crate) fn match_text(view: View<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (key, value) in view.entries() {
        let member = |name: &str| value.get(name).and_then(|v| v.scalar_text()).unwrap_or("");
        parts.push(format!("{} {} {}", key.key_text(), member("type"), member("value")));
    }
    parts.sort();
    if parts.is_empty() { "anyone".to_owned() } else { parts.join(", ") }
}
