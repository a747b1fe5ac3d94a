// SPDX-License-Identifier: Apache-2.0
//! In: steps in rank order. Out: interned ladders. Not here: folding them.
//!
//! A policy stack is shared by thousands of targets. Equal stacks are one ladder with one id, so each is folded
//! once, and a target holds four bytes. A ladder is a tree of groups: a rung is a step, or a group that is folded
//! on its own first (kgateway: policies of a level, levels of a chain, tiers of a path).

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};
use overrule_source::{CowVec, NodeRef};
use smallvec::SmallVec;

/// Index of a policy in its resolution; policies are numbered by kind, namespace, name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(pub u32);

/// Index of an interned step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u32);

/// Index of an interned ladder or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LadderId(pub u32);

impl LadderId {
    /// The ladder without rungs: no policy reaches the target.
    pub const EMPTY: Self = Self(0);
    /// No ladder at all: the path is only the beginning of others, or no target of the kind.
    pub const NONE: Self = Self(u32::MAX);
}

/// One contribution as the fold sees it. It does not name its target: a policy that reaches a thousand routes by
/// label is one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// Whose it is.
    pub policy: PolicyId,
    /// Which entry of a list of the policy, as written (`to[2]` is 2); none if the block is not a list.
    pub entry: Option<u32>,
    /// Which block of the policy: `bare`, `defaults`, `overrides`; the family's word.
    pub block: &'static str,
    /// Level of the target it was attached to.
    pub level: u8,
    /// The contributed value.
    pub value: NodeRef,
    /// The family's own: a strategy, a class.
    pub mode: u16,
    /// The family's own: a condition, a removal list; 0 for none.
    pub extra: u32,
}

impl Step {
    /// The block as people write it: `overrides`, `to[2]`.
    pub fn block_name(&self) -> Cow<'static, str> {
        match self.entry {
            Some(entry) => format!("{}[{entry}]", self.block).into(),
            None => self.block.into(),
        }
    }
}

/// A rung of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rung {
    /// A single contribution.
    Step(StepId),
    /// A group with a result of its own.
    Group(LadderId),
}

/// A ladder, or a group on one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Group {
    /// The family's own: which plan this group follows, which annotation governs it.
    pub spec: u16,
    /// The family's own: what else acts on this group; 0 for nothing.
    pub extra: u32,
    /// Rungs in rank order: the top of the ladder first.
    pub rungs: SmallVec<[Rung; 4]>,
}

/// The interner.
#[derive(Debug, Clone)]
pub struct Ladders {
    steps: CowVec<Step>,
    groups: CowVec<Group>,
    /// For each group made by extending a ladder: that ladder.
    tops: Arc<Vec<LadderId>>,
    step_table: HashTable<Slot>,
    group_table: HashTable<Slot>,
    /// Results of `extend`: (ladder, group) -> ladder, so that a path costs one lookup, not one copy.
    extended: HashTable<(u32, u32, u32)>,
    hasher: DefaultHashBuilder,
}

impl Default for Ladders {
    fn default() -> Self {
        let mut ladders = Self {
            steps: CowVec::default(),
            groups: CowVec::default(),
            tops: Arc::default(),
            step_table: HashTable::new(),
            group_table: HashTable::new(),
            extended: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        ladders.group(Group { spec: 0, extra: 0, rungs: SmallVec::new() });
        ladders
    }
}

impl Ladders {
    /// The id of a step, new or known.
    pub fn step(&mut self, step: Step) -> StepId {
        StepId(intern(&mut self.steps, &mut self.step_table, &self.hasher, step))
    }

    /// The id of a group, new or known.
    pub fn group(&mut self, group: Group) -> LadderId {
        LadderId(intern(&mut self.groups, &mut self.group_table, &self.hasher, group))
    }

    /// The same as [`Ladders::extend`] for a family that knows that no such ladder exists yet: its policies have one
    /// target each, so a ladder is met once. Nothing is looked up.
    pub fn extend_new(&mut self, top: LadderId, below: LadderId) -> LadderId {
        match (top, below) {
            (top, LadderId::EMPTY) => top,
            (LadderId::EMPTY, below) => below,
            (top, below) => {
                let mut rungs = self.get(top).rungs.clone();
                rungs.extend_from_slice(&self.get(below).rungs);
                let Group { spec, extra, .. } = *self.get(below);
                let group = Group { spec, extra, rungs };
                let id = LadderId(u32::try_from(self.groups.len()).unwrap_or(u32::MAX));
                self.groups.push(group);
                self.note_top(id, top);
                id
            }
        }
    }

    /// The ladder that has the rungs of `top` and then those of `below`, with the spec of `below`.
    pub fn extend(&mut self, top: LadderId, below: LadderId) -> LadderId {
        if below == LadderId::EMPTY {
            return top;
        }
        if top == LadderId::EMPTY {
            return below;
        }
        let hash = self.hasher.hash_one((top.0, below.0));
        if let Some(known) = self.extended.find(hash, |e| (e.0, e.1) == (top.0, below.0)) {
            return LadderId(known.2);
        }
        let mut rungs = self.get(top).rungs.clone();
        rungs.extend_from_slice(&self.get(below).rungs);
        let Group { spec, extra, .. } = *self.get(below);
        let id = self.group(Group { spec, extra, rungs });
        self.note_top(id, top);
        let hasher = &self.hasher;
        self.extended.insert_unique(hash, (top.0, below.0, id.0), |e| hasher.hash_one((e.0, e.1)));
        id
    }

    /// A ladder that is met again begins with the first one it was made from.
    fn note_top(&mut self, id: LadderId, top: LadderId) {
        if self.tops.len() <= id.0 as usize {
            let tops = Arc::make_mut(&mut self.tops);
            tops.resize(id.0 as usize, LadderId::EMPTY);
            tops.push(top);
        }
    }

    /// A ladder this one begins with: the one it was made from by [`Ladders::extend`]. The empty one where none is known.
    pub fn top(&self, id: LadderId) -> LadderId {
        self.tops.get(id.0 as usize).copied().unwrap_or(LadderId::EMPTY)
    }

    /// Forgets what only interning needs, and gives back room that was held for more.
    pub(crate) fn freeze(&mut self) {
        (self.step_table, self.group_table) = (HashTable::new(), HashTable::new());
        self.extended = HashTable::new();
        Arc::make_mut(&mut self.tops).shrink_to_fit();
        self.steps.edit().shrink_to_fit();
        self.groups.edit().shrink_to_fit();
    }

    /// The ladder of an id.
    pub fn get(&self, id: LadderId) -> &Group {
        static NONE: Group = Group { spec: 0, extra: 0, rungs: SmallVec::new_const() };
        self.groups.get(id.0 as usize).unwrap_or(&NONE)
    }

    /// The step of an id.
    pub fn get_step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(id.0 as usize)
    }

    /// The same ladders where some steps say something else.
    pub(crate) fn with(&self, steps: &[(StepId, Step)]) -> Self {
        let mut now = self.clone();
        steps.iter().for_each(|(id, step)| now.steps.set(id.0 as usize, *step));
        now
    }

    /// Gives up sharing steps with other ladders if more than a few differ.
    pub(crate) fn compact(&mut self) {
        self.steps.compact();
    }

    /// Every step, by id.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter()
    }

    /// Every step of a ladder, groups opened, top first.
    pub fn steps(&self, id: LadderId) -> SmallVec<[StepId; 8]> {
        let rungs = self.rungs(id).into_iter();
        let steps = rungs.filter_map(|rung| match rung {
            Rung::Step(step) => Some(step),
            Rung::Group(_) => None,
        });
        steps.collect()
    }

    /// The group each step of a ladder stands in, in the order of [`Ladders::steps`]: the ladder itself, or one on it.
    pub fn homes(&self, id: LadderId) -> Vec<LadderId> {
        let mut found = Vec::new();
        let mut open = vec![(id, 0)];
        while let Some((group, next)) = open.pop() {
            let Some(rung) = self.get(group).rungs.get(next) else { continue };
            open.push((group, next + 1));
            match rung {
                Rung::Step(_) => found.push(group),
                Rung::Group(inner) => open.push((*inner, 0)),
            }
        }
        found
    }

    /// Every rung of a ladder, top first; after a group come its own.
    pub fn rungs(&self, id: LadderId) -> SmallVec<[Rung; 8]> {
        let mut found = SmallVec::new();
        let mut open: SmallVec<[(LadderId, usize); 4]> = SmallVec::new();
        open.push((id, 0));
        while let Some((group, next)) = open.pop() {
            let Some(rung) = self.get(group).rungs.get(next) else { continue };
            open.push((group, next + 1));
            found.push(*rung);
            if let Rung::Group(inner) = rung {
                open.push((*inner, 0));
            }
        }
        found
    }

    /// How many groups and ladders are interned, the empty one included.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether only the empty ladder is there.
    pub fn is_empty(&self) -> bool {
        self.groups.len() <= 1
    }
}

/// Hash and index of an interned item. The hash is kept, because growing the table would otherwise read every item again.
type Slot = (u64, u32);

fn intern<T: Hash + Eq + Clone>(
    items: &mut CowVec<T>,
    table: &mut HashTable<Slot>,
    hasher: &DefaultHashBuilder,
    item: T,
) -> u32 {
    let hash = hasher.hash_one(&item);
    let same = |slot: &Slot| slot.0 == hash && items.get(slot.1 as usize) == Some(&item);
    if let Some(known) = table.find(hash, same) {
        return known.1;
    }
    let id = u32::try_from(items.len()).unwrap_or(u32::MAX);
    items.push(item);
    table.insert_unique(hash, (hash, id), |slot| slot.0);
    id
}
