// SPDX-License-Identifier: Apache-2.0
//! In: a resolution. Out: for every policy and ancestor, on how many paths it is in force, partly or not, and who is in
//! its place. Not here: the controller's own words.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{Fate, LadderId, NodeId, Outcome, PolicyId, Resolution, Tally};

use super::ancestor;
use crate::World;

/// What became of a policy below one ancestor.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    tally: Tally,
    /// What lost, who has its place, and whether by masking.
    lost: BTreeSet<(String, String, bool)>,
    /// Rules that fail because of what else is broken there.
    failing: u64,
}

/// How many losses a message names.
const NAMED: usize = 3;

impl Told {
    /// The condition that says it.
    pub(super) fn condition(&self) -> (bool, &'static str, String) {
        let (status, reason) = match self.tally.outcome() {
            Outcome::InForce => (true, "Attached"),
            Outcome::Partly => (true, "Merged"),
            Outcome::Inert if self.tally.paths() == 0 => {
                return (false, "Pending", "no rule of a route is reached".to_owned());
            }
            Outcome::Inert => return (true, "Attached", "it sets nothing".to_owned()),
            _ => (false, "Overridden"),
        };
        let Tally { in_force, partly, .. } = self.tally;
        let lost: u64 = self.tally.lost.iter().sum();
        let mut message = format!("in force on {in_force} of {} paths", self.tally.paths());
        for (n, word) in [(partly, "partly"), (lost, "not at all")] {
            if n > 0 {
                message.push_str(&format!(", {word} on {n}"));
            }
        }
        for (n, (what, by, masked)) in self.lost.iter().enumerate() {
            if n == NAMED {
                message.push_str(&format!("; and {} more", self.lost.len() - NAMED));
                break;
            }
            let word = if *masked { "masked" } else { "shadowed" };
            message.push_str(&format!("; {what} {word} by {by}"));
        }
        if self.failing > 0 {
            message.push_str(&format!("; {} of them answer 500", self.failing));
        }
        (status, reason, message)
    }
}

/// What became of every policy below every ancestor.
pub(super) fn tell(
    world: World<'_>,
    resolution: &Resolution,
) -> BTreeMap<(PolicyId, NodeId), Told> {
    // Paths share ladders: each pair of ancestor and ladder is read once.
    let mut uses: BTreeMap<(NodeId, LadderId), (u64, u64)> = BTreeMap::new();
    for (kind, _) in resolution.kinds() {
        for (path, ladder) in resolution.contexts(kind) {
            if let Some(ancestor) = ancestor(world, resolution, path) {
                let poisoned = resolution.effective(ladder).is_some_and(|e| !e.poison().is_empty());
                let fails = poisoned || resolution.failures(path).next().is_some();
                let slot = uses.entry((ancestor, ladder)).or_default();
                slot.0 += 1;
                slot.1 += u64::from(fails);
            }
        }
    }
    let mut told: BTreeMap<(PolicyId, NodeId), Told> = BTreeMap::new();
    for ((ancestor, ladder), (paths, failing)) in uses {
        for (policy, outcome) in resolution.outcomes(ladder) {
            let slot = told.entry((*policy, ancestor)).or_default();
            slot.tally.add(*outcome, paths);
            slot.failing += failing;
        }
        for loss in resolution.effective(ladder).into_iter().flat_map(|e| &e.losses) {
            let step = resolution.ladders.get_step(loss.step);
            let Some(policy) = step.map(|s| s.policy) else { continue };
            let by: BTreeSet<String> = loss
                .by
                .iter()
                .filter_map(|s| resolution.policy(resolution.ladders.get_step(*s)?.policy))
                .map(|p| world.snapshot.full_name(p.object))
                .collect();
            let by = by.into_iter().collect::<Vec<_>>().join(", ");
            let what = overrule_engine::dotted(&loss.pointer);
            let slot = told.entry((policy, ancestor)).or_default();
            slot.lost.insert((what, by, loss.fate == Fate::Masked));
        }
    }
    told
}
