// SPDX-License-Identifier: Apache-2.0
//! In: confs in merge order, low to high. Out: the merged conf, or one per hostname; every part knows its entry, and what
//! lost is told. Not here: which confs meet, and their order.

use std::collections::BTreeMap;

use overrule_engine::{Loss, MergePlan, Merger, StepId, Traced};
use overrule_source::Documents;
use smallvec::SmallVec;

use super::plan::{Plan, REASON};

/// One result.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// The hostname it is for; none if the confs of this result name none.
    pub group: Option<Box<str>>,
    /// The value.
    pub value: Traced,
    /// What is not in force.
    pub losses: Vec<Loss>,
    /// The entries that take part, in merge order, whether anything of them is left or not.
    pub steps: SmallVec<[StepId; 4]>,
}

/// Merges confs of a kind, low to high: later ones win. One value, or one per hostname, in order of appearance; none for
/// no confs.
pub fn merge(documents: &Documents, kind: &str, confs: &[(StepId, Traced)]) -> Vec<Traced> {
    let plan = Plan::of_kind(documents, kind, confs.iter().map(|(_, conf)| conf), 0);
    merge_by(documents, &plan, confs).into_iter().map(|merged| merged.value).collect()
}

/// The same by a plan, with everything that is known about it.
pub fn merge_by(documents: &Documents, plan: &Plan, confs: &[(StepId, Traced)]) -> Vec<Merged> {
    let groups = grouped(documents, plan, confs).into_iter();
    groups.filter_map(|group| fold(documents, plan, group)).collect()
}

/// Confs that end up in one result.
struct Group {
    name: Option<Box<str>>,
    confs: Vec<(StepId, Traced)>,
}

fn grouped(documents: &Documents, plan: &Plan, confs: &[(StepId, Traced)]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: BTreeMap<Option<Box<str>>, usize> = BTreeMap::new();
    for (step, conf) in confs {
        for (name, part) in plan.split(documents, conf) {
            let place = *places.entry(name.clone()).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.confs.push((*step, part)),
                None => groups.push(Group { name, confs: vec![(*step, part)] }),
            }
        }
    }
    groups
}

fn fold(documents: &Documents, plan: &Plan, group: Group) -> Option<Merged> {
    let steps = group.confs.iter().map(|(step, _)| *step).collect();
    let mut confs = group.confs;
    if plan.from_the_top() {
        confs.reverse();
    }
    let mut losses = Vec::new();
    let mut value: Option<Traced> = None;
    for (_, conf) in confs {
        let conf = plan.prepare(documents, conf, &mut losses);
        value = match value {
            None => Some(conf),
            Some(held) => {
                let prefer = plan.prefer();
                Merger::new(documents, plan.rules(), plan, prefer, REASON, &mut losses).merge(
                    MergePlan::ROOT,
                    held,
                    conf,
                )
            }
        };
    }
    value.map(|value| Merged { group: group.name, value, losses, steps })
}
