// SPDX-License-Identifier: Apache-2.0
//! Services that routes are bound to (GAMMA, GEP-1426), as data and by lookup. Not here: who is bound
//! (`connect/frontends`), who takes a request (`routing`).
//!
//! A Service has two sides. Its *frontend* is its name and address: what clients call, and what a route with the Service
//! as its parent acts on. Its *backend* is its endpoints: what rules send to. They are two nodes, so that a route bound to
//! a Service may send to the same Service.
//!
//! A route in the namespace of the Service is a *producer* route and acts on all clients. One in another namespace is a
//! *consumer* route: it acts on clients of its own namespace only, and for them the producer routes do not count.

use std::ops::Range;

use overrule_engine::NodeId;
use overrule_model::{ObjectId, Sym};

use super::GatewayTopology;
use super::graph::{BackendIx, RouteIx, RuleIx};
use super::resources::part;

pub use super::graph::{FrontendIx, FrontendPortIx};

/// The frontend of a Service; one that is only referred to has no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontend {
    /// Its node.
    pub node: NodeId,
    /// The Service.
    pub object: Option<ObjectId>,
    /// Namespace of the Service.
    pub namespace: Sym,
    /// Its ports, a range of [`Mesh::ports`]; none if the input does not say.
    pub ports: Range<u32>,
    /// Its links, a range of [`Mesh::links`].
    pub links: Range<u32>,
}

/// A port of a frontend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontendPort {
    /// Its node.
    pub node: NodeId,
    /// The number.
    pub number: u16,
}

/// A route at a port of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshLink {
    /// The Service.
    pub frontend: FrontendIx,
    /// The port; none if nothing is known of its ports.
    pub port: Option<FrontendPortIx>,
    /// The route.
    pub route: RouteIx,
    /// Which parentRef of the route made it, from 0.
    pub parent_ref: u16,
    /// The namespace whose clients it acts on; none if it acts on all that no consumer route takes.
    pub clients: Option<Sym>,
}

/// All frontends.
#[derive(Debug, Clone, Default)]
pub struct Mesh {
    /// Services that routes are bound to, by namespace and name.
    pub frontends: Vec<Frontend>,
    /// Their ports, as written.
    pub ports: Vec<FrontendPort>,
    /// Routes at their ports, by frontend, port and route.
    pub links: Vec<MeshLink>,
}

impl Mesh {
    /// A frontend.
    pub fn frontend(&self, ix: FrontendIx) -> Option<&Frontend> {
        self.frontends.get(ix.at())
    }

    /// A port.
    pub fn port(&self, ix: FrontendPortIx) -> Option<&FrontendPort> {
        self.ports.get(ix.at())
    }

    /// The ports of a frontend.
    pub fn ports_of(&self, frontend: &Frontend) -> &[FrontendPort] {
        part(&self.ports, &frontend.ports)
    }

    /// The routes bound to a frontend.
    pub fn links_of(&self, frontend: &Frontend) -> &[MeshLink] {
        part(&self.links, &frontend.links)
    }

    /// The frontend a node is, or is a port of.
    pub fn frontend_at(&self, node: NodeId) -> Option<&Frontend> {
        let after = self.frontends.partition_point(|f| f.node <= node);
        let found = self.frontends.get(after.checked_sub(1)?)?;
        let behind = node.0 - found.node.0;
        (behind as usize <= found.ports.len()).then_some(found)
    }
}

/// What becomes of a request that clients send to a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshTaken {
    /// The Service.
    pub frontend: FrontendIx,
    /// The port; none if nothing is known of its ports.
    pub port: Option<FrontendPortIx>,
    /// The namespace of the clients; none for all that are not in a namespace with an answer of its own.
    pub clients: Option<Sym>,
    /// What becomes of it.
    pub routed: MeshRouted,
}

/// Where a request to a Service goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshRouted {
    /// A rule takes it.
    Taken {
        /// The rule.
        rule: RuleIx,
        /// Which match of the rule, from 0; none if the rule has none and takes everything.
        match_index: Option<u32>,
    },
    /// No route acts on these clients: it goes to the Service as if there were none.
    Direct,
    /// Routes act on them, but no rule matches: it is refused.
    NoRule,
    /// The Service has no such port.
    NoPort,
}

impl GatewayTopology {
    /// The frontend node that corresponds to the backend node of a Service or of a port of it.
    pub fn frontend_node(&self, node: NodeId) -> Option<NodeId> {
        let (backend, nth) = match (self.backend_of(node), self.port_of(node)) {
            (Some(backend), _) => (self.backend(backend)?, None),
            (None, Some(port)) => {
                let backend = self.backend(self.port(port)?.backend)?;
                (backend, Some(port.0.saturating_sub(backend.ports.start)))
            }
            (None, None) => return None,
        };
        let of = self.nodes.get(backend.node)?;
        let frontend = *self.index.frontends.get(&(of.namespace, of.name))?;
        let frontend = self.mesh.frontend(frontend).filter(|_| backend.group.is_empty())?;
        match nth {
            None => Some(frontend.node),
            Some(nth) => Some(self.mesh.ports_of(frontend).get(nth as usize)?.node),
        }
    }

    /// The rules that send to a backend, with the reference each, by rule.
    pub fn senders(
        &self,
        backend: BackendIx,
    ) -> impl Iterator<Item = (RuleIx, &super::BackendUse)> {
        let rules = (0..).map(RuleIx).take(self.rules.len());
        rules.flat_map(move |rule| {
            let uses = self.uses_of(rule).iter().filter(move |used| used.backend == backend);
            uses.map(move |used| (rule, used))
        })
    }
}
