// SPDX-License-Identifier: Apache-2.0
//! In: a world. Out: what kgateway writes into the statuses of its policies. Not here: statuses of routes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fold::{self, Merged};
use super::tiers::{self, Place};
use super::{OracleSettings, Profile, full_name, paths, policy, text};

/// The reasons of the conditions `Accepted` and `Attached`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reasons {
    /// `Valid` or `Invalid`.
    pub accepted: &'static str,
    /// `Pending`, `Attached`, `Merged` or `Overridden`.
    pub attached: &'static str,
}

/// Policy `ns/name` -> ancestor `Kind ns/name` -> reasons. Every TrafficPolicy is there, also without ancestors.
pub type Statuses = BTreeMap<String, BTreeMap<String, Reasons>>;

/// The statuses of all TrafficPolicies, as shipped.
pub fn status(objects: &[Value], settings: &OracleSettings) -> Statuses {
    let objects = &crate::deletion::present(objects);
    let profile = Profile::Shipped;
    let mut statuses: Statuses =
        policy::all(objects).map(|policy| (full_name(policy), BTreeMap::new())).collect();
    // Listeners count whether or not a route is attached.
    for listener in paths::listeners(objects) {
        let place = Place {
            gateway: listener.gateway,
            set: listener.set,
            listener: text(listener.spec, "/name"),
            secure: listener.secure(),
        };
        let ancestor = ancestor(&full_name(listener.gateway), listener.set.map(full_name));
        let sides = tiers::sides(objects, settings, profile, &place).into_iter();
        for tier in sides.flat_map(|(tiers, _)| tiers) {
            report(&mut statuses, &ancestor, &tier);
        }
    }
    for path in paths::all(objects, settings) {
        let ancestor = ancestor(&path.gateway, path.set.clone());
        report(&mut statuses, &ancestor, &fold::chain(objects, settings, profile, &path));
    }
    statuses
}

fn ancestor(gateway: &str, set: Option<String>) -> String {
    set.map_or_else(|| format!("Gateway {gateway}"), |set| format!("ListenerSet {set}"))
}

/// Enters what became of each policy in one merge; the worst of all merges stays.
fn report(statuses: &mut Statuses, ancestor: &str, merged: &Merged) {
    for (policy, broken) in &merged.members {
        let in_force = merged.units.values().filter(|held| held.sources.contains(policy)).count();
        let reasons = match (broken, in_force) {
            (true, _) => Reasons { accepted: "Invalid", attached: "Pending" },
            (false, number) if number == merged.units.len() => valid("Attached"),
            (false, 0) => valid("Overridden"),
            (false, _) => valid("Merged"),
        };
        let entries = statuses.get_mut(policy).expect("every policy is there");
        let entry = entries.entry(ancestor.to_owned()).or_insert(reasons);
        if badness(reasons) > badness(*entry) {
            *entry = reasons;
        }
    }
}

fn valid(attached: &'static str) -> Reasons {
    Reasons { accepted: "Valid", attached }
}

fn badness(reasons: Reasons) -> usize {
    let order = ["Attached", "Merged", "Overridden", "Pending"];
    order.iter().position(|reason| *reason == reasons.attached).expect("one of these")
}
