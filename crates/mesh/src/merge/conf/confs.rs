// SPDX-License-Identifier: Apache-2.0
//! In: confs, each a step. Out: those that meet as rungs of ladders, by hostname; and what ladders come to: the merged
//! conf, in which every part knows its entry, and what lost. Not here: which confs meet, and their order; how two become
//! one (`algebra`).

use hashbrown::HashMap;
use overrule_engine::{Fold, Group, Ladders, Loss, PolicyId, Rung, Step, StepId, Traced};
use overrule_source::{Documents, NodeRef};
use smallvec::{SmallVec, smallvec};

use super::algebra::{ConfAlgebra, StepConfs};
use super::plan::{ConfStrategy, Plan};

/// Steps that meet, low to high.
pub type Meeting = SmallVec<[StepId; 4]>;

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
    pub steps: Meeting,
}

/// Merges confs by a plan that was made for place 0, low to high: later ones win. One result, or one per hostname, in
/// order of appearance; none for no confs. The step of a conf is its place.
pub fn merge_by(documents: &Documents, plan: &Plan, confs: Vec<Traced>) -> Vec<Merged> {
    let mut ladders = Ladders::default();
    let root = documents.ids().next().map(|id| Documents::node_ref(documents.root(id), id));
    // The fold takes the value of a step from the confs; its node only stands for it.
    let nodes = root.into_iter().cycle().take(confs.len());
    let steps: Vec<StepId> =
        (0..).zip(nodes).map(|(number, node)| stand_in(&mut ladders, number, node)).collect();
    let mut confs = Confs { values: confs, ..Confs::new(documents) };
    confs.merge(&mut ladders, plan, &steps)
}

/// The step of that number, where nobody asks whose it is.
pub(crate) fn stand_in(ladders: &mut Ladders, number: u32, value: NodeRef) -> StepId {
    let policy = PolicyId(number);
    ladders.step(Step { policy, entry: None, block: "", level: 0, value, mode: 0, extra: 0 })
}

/// Confs by step, and the hostnames that split them.
pub(crate) struct Confs<'d> {
    pub(crate) documents: &'d Documents,
    /// By step.
    pub(crate) values: Vec<Traced>,
    /// By number, counted from 1; 0 stands for no hostname in particular.
    hostnames: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl<'d> Confs<'d> {
    pub(crate) fn new(documents: &'d Documents) -> Self {
        Self { documents, values: Vec::new(), hostnames: Vec::new(), numbers: HashMap::new() }
    }

    /// Steps in merge order, by the hostnames they are about, in order of appearance.
    pub(crate) fn by_hostname(
        &mut self,
        strategy: &ConfStrategy,
        steps: impl IntoIterator<Item = StepId>,
    ) -> SmallVec<[(u32, Meeting); 1]> {
        let mut groups: SmallVec<[(u32, Meeting); 1]> = SmallVec::new();
        for step in steps {
            for hostname in self.hostnames_of(strategy, step) {
                match groups.iter_mut().find(|(known, _)| *known == hostname) {
                    Some((_, met)) => met.push(step),
                    None => groups.push((hostname, smallvec![step])),
                }
            }
        }
        groups
    }

    /// The hostnames a step is about, by number.
    fn hostnames_of(&mut self, strategy: &ConfStrategy, step: StepId) -> SmallVec<[u32; 1]> {
        let conf = self.values.get(step.0 as usize);
        let names = conf.map(|conf| strategy.names(self.documents, conf)).unwrap_or_default();
        if names.is_empty() {
            return smallvec![0];
        }
        let mut number = |name: Box<str>| {
            let next = u32::try_from(self.hostnames.len() + 1).unwrap_or(u32::MAX);
            let number = *self.numbers.entry(name.clone()).or_insert(next);
            if number == next {
                self.hostnames.push(name);
            }
            number
        };
        names.into_iter().map(&mut number).collect()
    }

    /// The hostname of a number.
    pub(crate) fn hostname(&self, number: u32) -> Option<&str> {
        let place = (number as usize).checked_sub(1)?;
        self.hostnames.get(place).map(|name| &**name)
    }

    /// What ladders over these steps are folded by. Each plan was made for its place.
    pub(crate) fn algebra<'p>(&'p self, plans: &'p [Plan]) -> ConfAlgebra<'p> {
        let Self { documents, values, hostnames, .. } = self;
        ConfAlgebra { documents, plans, confs: StepConfs::All(values), hostnames }
    }

    /// Merges steps, low to high, on ladders of their own. The plan was made for place 0.
    pub(crate) fn merge(
        &mut self,
        ladders: &mut Ladders,
        plan: &Plan,
        steps: &[StepId],
    ) -> Vec<Merged> {
        let groups = self.by_hostname(plan.strategy(), steps.iter().copied());
        let algebra = self.algebra(std::slice::from_ref(plan));
        let fold = |(hostname, met): (u32, Meeting)| {
            let rungs = met.iter().copied().map(Rung::Step).collect();
            let ladder = ladders.group(Group { spec: 0, extra: hostname, rungs });
            let effective = Fold::new(self.documents, ladders, &algebra).ladder(ladder);
            Some(Merged {
                group: self.hostname(hostname).map(Into::into),
                value: effective.value?,
                losses: effective.losses.iter().cloned().collect(),
                steps: met,
            })
        };
        groups.into_iter().filter_map(fold).collect()
    }
}
