// SPDX-License-Identifier: Apache-2.0
//! In: confs, and which of them meet, low to high. Out: the merged conf, or one per hostname; every part knows its entry,
//! and what lost is told. Not here: which confs meet, and their order; how two become one (`algebra`).

use overrule_engine::{Fold, Group, Ladders, Loss, PolicyId, Rung, Step, StepId, Traced};
use overrule_source::Documents;
use smallvec::SmallVec;

use super::algebra::Kuma;
use super::plan::Plan;

/// The steps that end up in one result.
type Steps = SmallVec<[StepId; 4]>;

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
    pub steps: Steps,
}

/// Merges confs by a plan that was made for place 0, low to high: later ones win. One result, or one per hostname, in
/// order of appearance; none for no confs. The step of a conf is its place.
pub fn merge_by(documents: &Documents, plan: &Plan, confs: Vec<Traced>) -> Vec<Merged> {
    let all: Vec<usize> = (0..confs.len()).collect();
    Confs::new(documents, confs).merge(plan, &all)
}

/// Confs that meet in several ways. Each is a step; those that meet are a ladder, folded as every ladder is.
pub(crate) struct Confs<'d> {
    documents: &'d Documents,
    /// By step.
    confs: Vec<Traced>,
    ladders: Ladders,
}

impl<'d> Confs<'d> {
    pub(crate) fn new(documents: &'d Documents, confs: Vec<Traced>) -> Self {
        let mut ladders = Ladders::default();
        let root = documents.ids().next().map(|id| Documents::node_ref(documents.root(id), id));
        // The algebra takes the value of a step from the confs; its node only stands for it.
        for (value, policy) in root.into_iter().cycle().zip((0..).map(PolicyId)).take(confs.len()) {
            let (entry, block) = (None, "");
            ladders.step(Step { policy, entry, block, level: 0, value, mode: 0, extra: 0 });
        }
        Self { documents, confs, ladders }
    }

    /// Those at these places, low to high. The plan was made for place 0.
    pub(crate) fn merge(&mut self, plan: &Plan, at: &[usize]) -> Vec<Merged> {
        // Confs that end up in one result, in the order their hostnames appear.
        let mut groups: Vec<(Option<Box<str>>, Steps)> = Vec::new();
        for (place, step) in at.iter().filter_map(|at| Some((*at, u32::try_from(*at).ok()?))) {
            let Some(conf) = self.confs.get(place) else { continue };
            for name in plan.names(self.documents, conf) {
                match groups.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, steps)) => steps.push(StepId(step)),
                    None => groups.push((name, [StepId(step)].into_iter().collect())),
                }
            }
        }
        groups.into_iter().filter_map(|(name, steps)| self.fold(plan, name, steps)).collect()
    }

    fn fold(&mut self, plan: &Plan, group: Option<Box<str>>, steps: Steps) -> Option<Merged> {
        let rungs = steps.iter().map(|step| Rung::Step(*step)).collect();
        let extra = u32::from(group.is_some());
        let ladder = self.ladders.group(Group { spec: 0, extra, rungs });
        let algebra = Kuma {
            documents: self.documents,
            plans: std::slice::from_ref(plan),
            confs: &self.confs,
            hostnames: group.as_slice(),
        };
        let effective = Fold::new(self.documents, &self.ladders, &algebra).ladder(ladder);
        let losses = effective.losses.iter().cloned().collect();
        effective.value.map(|value| Merged { group, value, losses, steps })
    }
}
