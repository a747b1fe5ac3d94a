// SPDX-License-Identifier: Apache-2.0
//! In: a snapshot and the Gateway API topology. Out: the resolution of kgateway's policies under one of two profiles,
//! what the controller would say about them, and findings. Not here: the topology itself, text for people.
//!
//! ```text
//! parse        policies as written, their weights, the extensions they name, annotations of routes      policy/
//! delegation   which rules hand over to which routes, and by which matches                              delegation/
//! resolve      attach, rank, walk, fold: levels of a chain, tiers of a path, once per distinct stack    resolve/
//! findings     what a person should know about it                                                       findings/
//! status       the conditions the controller writes on policies                                         status/
//! ```

pub mod codes;
pub mod delegation;
mod findings;
pub mod kinds;
pub mod policy;
mod profile;
pub mod reasons;
mod resolve;
mod settings;
pub mod status;

pub use policy::{Policies, parse};
pub use profile::{Profile, Strategy};
pub use resolve::{KEYS, Options, Resolved, World, resolve, strategy_name};
pub use settings::{Settings, UnitMerge};

use overrule_gateway::topology::GatewayTopology;
use overrule_model::Snapshot;

/// The family's name.
pub const FAMILY: &str = "kgateway";

/// The controller whose classes the family serves; what it names its own classes begins like this.
pub const CONTROLLER: &str = "kgateway.dev/";

/// Whether there is anything to resolve: an object of kgateway's, a class of its controller, a rule that delegates, or
/// a kind of the family that is asked for.
pub fn concerns(
    policies: &Policies,
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    asked: &[String],
) -> bool {
    let is_ours = |kind: &String| kinds::ALL.iter().any(|k| k.kind.eq_ignore_ascii_case(kind));
    let group = |kind: overrule_model::GroupKind| snapshot.text(kind.group) == kinds::GROUP;
    let class = |class: &overrule_gateway::topology::Class| {
        snapshot.text(class.controller).starts_with(CONTROLLER)
    };
    !policies.list.is_empty()
        || snapshot.kinds().any(|(kind, _)| group(kind))
        || topology.classes.iter().any(class)
        || !topology.delegations.is_empty()
        || asked.iter().any(is_ours)
}
