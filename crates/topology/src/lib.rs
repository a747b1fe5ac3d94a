// SPDX-License-Identifier: Apache-2.0
//! In: a snapshot. Out: which listener serves which route, which rule sends to which backend, and every link that is
//! dangling, forbidden or wrong. Not here: policies; they land on the nodes built here (`attach`).
//!
//! ```text
//!  GatewayClass > Gateway > (ListenerSet >) Listener > Route > Rule > Backend > Port
//!                                  Service (> Port) > Route > Rule > Backend > Port      GAMMA, mesh.rs
//!
//!  validate  what an API server refuses of each object             schemas.rs
//!  assume    placeholders for what is referred to and missing    assume.rs
//!  parse     typed specs from the trees, names interned          parse/, resources.rs
//!  connect   nodes, links with facts, reasons, diagnostics       connect/, graph.rs
//!  lookup    object, section and node to index                   lookup.rs
//!  request   which rule takes a given request                    request.rs, routing.rs, matching.rs
//! ```
//!
//! A link is kept with its [`LinkFacts`] rather than filtered: families disagree about which facts count.

mod assume;
mod broken;
pub mod codes;
mod connect;
pub mod grants;
mod graph;
pub mod hostname;
mod lookup;
mod matching;
pub mod mesh;
mod parse;
pub mod request;
mod resources;
mod routing;
mod rows;
mod schemas;
mod status;

use overrule_model::Snapshot;
use overrule_source::{Diagnostic, Documents};

pub use assume::{Assumptions, assume, rests_on_assumptions};
pub use broken::BrokenShare;
pub use graph::{
    Backend, BackendFacts, BackendIx, BackendUse, ClassIx, Delegation, Gateway, GatewayClass,
    GatewayIx, GatewayTopology, HostFit, Link, LinkFacts, LinkIx, Listener, ListenerIx,
    ListenerSet, PortIx, Route, RouteIx, RouteKind, RouteKinds, RouteRule, RuleIx, SetIx,
    TopologyPort,
};
pub use matching::{Weight, http_weight};
pub use mesh::{
    Frontend, FrontendIx, FrontendPort, FrontendPortIx, Mesh, MeshLink, MeshRouted, MeshTaken,
};
pub use overrule_schema::codes as schema_codes;
pub use parse::{parse, parse_assuming, read_grants};
pub use request::{HttpRequest, RequestError, Scheme};
pub use resources::GatewayResources;
pub use routing::{Missed, Routed, Taken, route_mesh_request, route_request};
pub use schemas::{merged, restates, says_more, table as schema_table, validate};
pub use status::{
    ConditionStatus, ConditionType, Parent, ParentStatus, ParentTarget, RouteCondition,
};

/// API group of the Gateway API.
pub const GROUP: &str = "gateway.networking.k8s.io";
/// API group of its experimental kinds (`XListenerSet`).
pub const X_GROUP: &str = "gateway.networking.x-k8s.io";

/// Levels of the hierarchy, top first.
pub const LEVELS: &[&str] = &[
    "GatewayClass",
    "Gateway",
    "ListenerSet",
    "Listener",
    "Service",
    "ServicePort",
    "Route",
    "Rule",
    "Backend",
    "Port",
];

/// The levels by name.
pub mod level {
    use overrule_engine::Level;

    /// GatewayClass.
    pub const CLASS: Level = Level(0);
    /// Gateway.
    pub const GATEWAY: Level = Level(1);
    /// ListenerSet.
    pub const LISTENER_SET: Level = Level(2);
    /// A listener of a Gateway or ListenerSet.
    pub const LISTENER: Level = Level(3);
    /// A Service that routes are bound to, as its clients see it.
    pub const SERVICE: Level = Level(4);
    /// A port of such a Service.
    pub const SERVICE_PORT: Level = Level(5);
    /// Any kind of route.
    pub const ROUTE: Level = Level(6);
    /// A rule of a route.
    pub const RULE: Level = Level(7);
    /// Service or anything else a rule sends to.
    pub const BACKEND: Level = Level(8);
    /// A port of a Service that a rule sends to.
    pub const PORT: Level = Level(9);
}

/// A topology and every finding made while building it.
#[derive(Debug, Default)]
pub struct BuiltTopology {
    /// The graph.
    pub topology: GatewayTopology,
    /// What was wrong, by object.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the specs of all Gateway API objects and connects them: [`parse`], then [`GatewayResources::connect`].
pub fn build(documents: &Documents, snapshot: &mut Snapshot) -> BuiltTopology {
    let (resources, found) = parse(documents, snapshot);
    let mut diagnostics = merged(found, validate(documents, snapshot));
    let built = resources.connect(snapshot);
    diagnostics.retain(|d| !built.diagnostics.iter().any(|found| says_more(found, d)));
    diagnostics.extend(built.diagnostics);
    BuiltTopology { topology: built.topology, diagnostics }
}
