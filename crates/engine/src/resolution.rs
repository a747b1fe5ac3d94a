// SPDX-License-Identifier: Apache-2.0
//! In: paths, ladders and attachments from a family. Out: the [`Resolution`], folded once per distinct ladder.
//! Not here: text of any kind. Everything that explains reads this and recomputes nothing.

mod builder;
mod index;
mod per_step;
mod refold;
mod subjects;

use std::sync::{Arc, OnceLock};

use overrule_model::{GroupKind, ObjectId, Sym};
use overrule_source::{CowVec, Span};
use smallvec::SmallVec;

use crate::folded::{OnLadder, Outcomes};
use crate::outcome::Counts;
use crate::standing::Standing;
use crate::{
    Effective, LadderId, Ladders, NodeId, Outcome, PathId, Paths, PolicyId, Rank, RankKeys, Reason,
    StepId, Tally,
};
use index::Index;

pub use builder::{NewKind, ResolutionBuilder};
pub use per_step::PerStep;
pub use refold::NewSteps;
pub use subjects::Subjects;

/// Index of a policy kind in its resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u16);

/// A policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyEntry {
    /// The object.
    pub object: ObjectId,
    /// Its kind.
    pub kind: KindId,
}

/// A policy is attached to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attachment {
    /// Which policy.
    pub policy: PolicyId,
    /// Which of its references, counted as written.
    pub reference: u32,
    /// The node it is attached to.
    pub node: NodeId,
    /// Where the reference is written.
    pub at: Span,
}

/// A policy did not land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection {
    /// Which policy.
    pub policy: PolicyId,
    /// Which of its references; the first if the whole policy is refused.
    pub reference: u32,
    /// Why.
    pub reason: Reason,
    /// Where the reference (or what is wrong) is written.
    pub at: Span,
}

/// The results of one policy kind.
#[derive(Debug, Clone)]
pub struct KindResult {
    /// API group.
    pub group: Sym,
    /// Kind.
    pub kind: Sym,
    /// Family that resolved it.
    pub family: &'static str,
    /// Rule set of the family.
    pub profile: &'static str,
    /// Names of the keys its ranks compare.
    pub keys: RankKeys,
    /// Whether the rules were guessed from the class of the kind.
    pub assumed: bool,
    /// The kind it stands for: a controller turns its policies into policies of that kind.
    pub covers: Option<KindId>,
    /// Whether its policies are not policies, but settings of other objects.
    pub implicit: bool,
    /// Ladder of each path: `EMPTY` where no policy reaches, `NONE` (or past the end) where the path is not a target.
    ladders: Standing,
}

impl KindResult {
    /// What it is called.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group, kind: self.kind }
    }
}

/// All effective policies and outcomes of one snapshot under one profile. Resolutions of which little differs have the rest
/// in common.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// All paths.
    pub paths: Arc<Paths>,
    /// All ladders.
    pub ladders: Ladders,
    /// Where policies are attached, by policy and reference.
    pub attachments: CowVec<Attachment>,
    /// Where they did not.
    pub rejections: CowVec<Rejection>,
    fixed: Arc<Fixed>,
    /// Results in the order of folding.
    folded: CowVec<Arc<Effective>>,
    /// Results of groups on ladders, and of those that were to be kept, by id.
    groups: CowVec<(LadderId, Arc<Effective>)>,
    /// The outcomes of policies on each ladder, in the order of folding.
    outcomes: Arc<Outcomes>,
    /// The same where it is another than before, by place.
    other_outcomes: Vec<(usize, Arc<OnLadder>)>,
    tallies: CowVec<Counts>,
}

/// What stays when policies say something else, but land and rank as they did.
#[derive(Debug, Default)]
struct Fixed {
    kinds: Vec<KindResult>,
    policies: Vec<PolicyEntry>,
    ranks: Vec<Rank>,
    /// Place of each ladder among the results; `NOT_FOLDED` for those no path has.
    places: Vec<u32>,
    folds: u64,
    by_spec: Vec<u64>,
    kept: Vec<(NodeId, LadderId)>,
    /// Paths that fail whatever policies say, by path.
    failures: Vec<PathFailure>,
    /// Made when it is first asked for.
    index: OnceLock<Index>,
    /// Real policies by object; made when it is first asked for.
    by_object: OnceLock<Vec<(ObjectId, PolicyId)>>,
}

/// A path that fails closed for a reason no policy has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathFailure {
    /// The path.
    pub path: PathId,
    /// Why.
    pub reason: Reason,
    /// Where the cause is written.
    pub at: Option<Span>,
}

impl Resolution {
    /// Every kind with its results.
    pub fn kinds(&self) -> impl Iterator<Item = (KindId, &KindResult)> {
        (0..).map(KindId).zip(&self.fixed.kinds)
    }

    /// One kind.
    pub fn kind(&self, id: KindId) -> Option<&KindResult> {
        self.fixed.kinds.get(id.0 as usize)
    }

    /// Every policy.
    pub fn policies(&self) -> impl Iterator<Item = (PolicyId, &PolicyEntry)> {
        (0..).map(PolicyId).zip(&self.fixed.policies)
    }

    /// Every real policy, without settings of other objects.
    pub fn declared(&self) -> impl Iterator<Item = (PolicyId, &PolicyEntry)> {
        self.policies().filter(|(_, p)| self.kind(p.kind).is_none_or(|k| !k.implicit))
    }

    /// One policy.
    pub fn policy(&self, id: PolicyId) -> Option<&PolicyEntry> {
        self.fixed.policies.get(id.0 as usize)
    }

    /// The policy that is this object.
    pub fn policy_of(&self, object: ObjectId) -> Option<PolicyId> {
        let all = self.by_object();
        let place = all.partition_point(|(known, _)| *known < object);
        all.get(place).filter(|(known, _)| *known == object).map(|(_, policy)| *policy)
    }

    fn by_object(&self) -> &[(ObjectId, PolicyId)] {
        self.fixed.by_object.get_or_init(|| {
            let mut all: Vec<_> = self.declared().map(|(id, p)| (p.object, id)).collect();
            all.sort_unstable();
            all
        })
    }

    /// The ladder of a kind at a path.
    pub fn ladder(&self, kind: KindId, path: PathId) -> LadderId {
        self.kind(kind).map_or(LadderId::NONE, |k| k.ladders.get(path))
    }

    /// The result of a ladder; none for the empty one.
    pub fn effective(&self, ladder: LadderId) -> Option<&Effective> {
        self.folded.get(self.place(ladder)?).map(|effective| &**effective)
    }

    /// The place of a ladder in the order of folding; none if no path has it.
    pub fn place(&self, ladder: LadderId) -> Option<usize> {
        self.fixed.places.get(ladder.0 as usize).map(|place| *place as usize)
    }

    /// The result of a ladder or of a group on one.
    pub fn result(&self, id: LadderId) -> Option<&Effective> {
        self.group(id).or_else(|| self.effective(id))
    }

    fn group(&self, id: LadderId) -> Option<&Effective> {
        let (_, group) = self.groups.get(self.place_of_group(id)?)?;
        Some(group)
    }

    fn place_of_group(&self, id: LadderId) -> Option<usize> {
        let place = self.groups.partition_point(|(group, _)| *group < id);
        self.groups.get(place).filter(|(group, _)| *group == id).map(|_| place)
    }

    /// Groups that stand for a node although no ladder has them.
    pub fn kept(&self) -> impl Iterator<Item = (NodeId, LadderId)> + '_ {
        self.fixed.kept.iter().copied()
    }

    /// Why a path fails closed besides broken policies.
    pub fn failures(&self, path: PathId) -> impl Iterator<Item = &PathFailure> {
        let start = self.fixed.failures.partition_point(|f| f.path < path);
        self.fixed.failures.iter().skip(start).take_while(move |f| f.path == path)
    }

    /// How many ladders and groups of a `spec` were folded.
    pub fn folds_of(&self, spec: u16) -> u64 {
        self.fixed.by_spec.get(usize::from(spec)).copied().unwrap_or(0)
    }

    /// The outcome of each policy on a ladder.
    pub fn outcomes(&self, ladder: LadderId) -> &[(PolicyId, Outcome)] {
        self.place(ladder).map_or(&[], |place| self.outcomes_at(place))
    }

    /// Paths at which a kind can have an effective policy, whether one reaches them or not.
    pub fn contexts(&self, kind: KindId) -> impl Iterator<Item = (PathId, LadderId)> + '_ {
        self.kind(kind).into_iter().flat_map(|k| k.ladders.iter())
    }

    /// Whether anything of a kind is in force at a path, or of a kind that stands for it.
    pub fn is_covered(&self, kind: KindId, path: PathId) -> bool {
        let stands_for = |(id, k): &(KindId, &KindResult)| *id == kind || k.covers == Some(kind);
        let in_force = |id: KindId| {
            let value = self.effective(self.ladder(id, path)).and_then(|e| e.value.as_ref());
            value.is_some_and(|v| !v.steps().is_empty())
        };
        self.kinds().filter(stands_for).any(|(id, _)| in_force(id))
    }

    /// Outcomes of a policy counted over paths.
    pub fn tally(&self, policy: PolicyId) -> Tally {
        self.tallies
            .get(policy.0 as usize)
            .map_or_else(Tally::default, |counts| Tally::from(*counts))
    }

    /// The outcome of a policy over all paths.
    pub fn outcome(&self, policy: PolicyId) -> Outcome {
        let landed = self.attachments_of(policy).next().is_some();
        if landed { self.tally(policy).outcome() } else { Outcome::Rejected }
    }

    /// Where one policy is attached.
    pub fn attachments_of(&self, policy: PolicyId) -> impl Iterator<Item = &Attachment> {
        let start = self.attachments.partition_point(|a| a.policy < policy);
        self.attachments.iter().skip(start).take_while(move |a| a.policy == policy)
    }

    /// Which references of one policy did not land.
    pub fn rejections_of(&self, policy: PolicyId) -> impl Iterator<Item = &Rejection> {
        let start = self.rejections.partition_point(|a| a.policy < policy);
        self.rejections.iter().skip(start).take_while(move |a| a.policy == policy)
    }

    /// Outcomes of every attachment, counted over the paths through its node. One pass over all paths.
    pub fn attachment_tallies(&self) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.attachments.len()];
        let nodes = self.attachments.iter().map(|a| a.node.0 as usize + 1).max().unwrap_or(0);
        let mut by_node: Vec<SmallVec<[u32; 1]>> = vec![SmallVec::new(); nodes];
        for (i, attachment) in (0_u32..).zip(&self.attachments) {
            if let Some(list) = by_node.get_mut(attachment.node.0 as usize) {
                list.push(i);
            }
        }
        for (kind, result) in self.kinds() {
            for (path, ladder) in result.ladders.iter() {
                if ladder == LadderId::EMPTY {
                    continue;
                }
                let mut next = Some(path);
                while let Some(at) = next {
                    let node = self.paths.node(at).map_or(usize::MAX, |n| n.0 as usize);
                    for i in by_node.get(node).into_iter().flatten() {
                        self.count(*i, kind, ladder, &mut tallies);
                    }
                    next = self.paths.parent(at);
                }
            }
        }
        tallies
    }

    fn count(&self, attachment: u32, kind: KindId, ladder: LadderId, tallies: &mut [Tally]) {
        let Some(policy) = self.attachments.get(attachment as usize).map(|a| a.policy) else {
            return;
        };
        if self.policy(policy).is_none_or(|p| p.kind != kind) {
            return;
        }
        let outcome = self.outcomes(ladder).iter().find(|(p, _)| *p == policy);
        if let (Some((_, outcome)), Some(tally)) = (outcome, tallies.get_mut(attachment as usize)) {
            tally.add(*outcome, 1);
        }
    }

    /// The rank of a step.
    pub fn rank(&self, step: StepId) -> Option<&Rank> {
        self.fixed.ranks.get(step.0 as usize)
    }

    /// How many ladders were folded: once per distinct ladder that some path has.
    pub fn folds(&self) -> u64 {
        self.fixed.folds
    }

    /// Bytes held per path and kind, beyond what ladders share.
    pub fn path_memory(&self) -> usize {
        let ladders: usize = self.fixed.kinds.iter().map(|k| k.ladders.memory()).sum();
        self.paths.memory() + ladders
    }
}
