// SPDX-License-Identifier: Apache-2.0
//! In: mesh resources as JSON, all labels written. Out: what every proxy gets of a few kinds of policies, computed the
//! slow way; and worlds and fleets to compute it for.
//! Not here: anything shared with the mesh crate; schema defaults, other forms of durations, labels a control plane would
//! add, built-in gateways, zone proxies, routes: the worlds have none.
//!
//! Written from the text, one function per sentence of it. For every proxy and kind all policies are filtered and sorted,
//! every reference looks at every resource, and every rule is merged anew.
//!
//! ```text
//!  read      resources as plain structs            select   whether a policy selects a proxy, and which inbounds
//!  order     who comes after whom, by pairs        rules    what the policies of a proxy come to
//!  merge     one conf over another                 confs    what policies of a kind may say
//!  world     small random worlds                   fleet    fleets of any size
//! ```

pub mod change;
mod confs;
mod fleet;
mod merge;
mod order;
mod read;
mod rules;
mod select;
#[cfg(test)]
mod tests;
pub mod world;

use std::collections::BTreeMap;

use serde_json::Value;

pub use fleet::{Fleet, fleet, fleet_documents};
pub use read::{OracleMeshes, SYSTEM};
pub use rules::{OracleFrom, decide};

/// Kinds whose `to` is about real destinations.
pub const TO: [&str; 3] = ["MeshTimeout", "MeshRetry", "MeshCircuitBreaker"];
/// Kinds with `rules`, whose `from` is read as rules where there are none.
pub const INBOUND: [&str; 2] = ["MeshTimeout", "MeshCircuitBreaker"];
/// Kinds with one conf for the whole proxy.
pub const SINGLE: [&str; 2] = ["MeshTrace", "MeshMetric"];
/// Kinds whose `from` is about clients.
pub const FROM: [&str; 1] = ["MeshTrafficPermission"];
/// All kinds that are looked at.
pub const KINDS: [&str; 6] = [
    "MeshTimeout",
    "MeshRetry",
    "MeshCircuitBreaker",
    "MeshTrace",
    "MeshMetric",
    "MeshTrafficPermission",
];

/// The rule set in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A custom namespace beats the system namespace, and a policy in one stays in its namespace and zone.
    Design,
    /// 2.13: roles.
    Release,
}

impl Profile {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Design, Self::Release];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Design => "design",
            Self::Release => "2.13",
        }
    }
}

/// What a proxy gets of one kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OracleConf {
    /// Identifier of a destination, with its section, or of the mesh -> merged conf.
    pub to: BTreeMap<String, Value>,
    /// Name of an inbound -> merged conf of all entries without matches.
    pub inbounds: BTreeMap<String, Value>,
    /// The conf of the whole proxy.
    pub single: Option<Value>,
    /// Name of an inbound -> entries about clients, in merge order: [`decide`] reads them.
    pub from: BTreeMap<String, Vec<OracleFrom>>,
}

/// Everything for everyone: identifier of a proxy -> kind -> what it gets. Kinds that come to nothing are left out.
///
/// Proxies of two zones or namespaces may have one display name, so the key is the whole identifier.
pub fn resolve(
    documents: &[Value],
    profile: Profile,
) -> BTreeMap<String, BTreeMap<&'static str, OracleConf>> {
    let world = OracleMeshes::read(documents);
    (0..world.proxies()).map(|proxy| (world.proxy(proxy), world.answers(proxy, profile))).collect()
}

impl OracleMeshes {
    /// How many proxies there are.
    pub fn proxies(&self) -> usize {
        self.proxies.len()
    }

    /// The identifier of a proxy, counted in the order of the documents.
    pub fn proxy(&self, number: usize) -> String {
        self.proxies[number].meta.kri("")
    }

    /// What one proxy gets, kind by kind, with nothing kept from another.
    pub fn answers(&self, number: usize, profile: Profile) -> BTreeMap<&'static str, OracleConf> {
        let proxy = &self.proxies[number];
        let answer = |kind| (kind, rules::answer(self, proxy, kind, profile));
        KINDS.into_iter().map(answer).filter(|(_, a)| *a != OracleConf::default()).collect()
    }
}
