// SPDX-License-Identifier: Apache-2.0
//! In: paths, ladders and attachments from a family. Out: the [`Resolution`], folded once per distinct ladder.
//! Not here: text of any kind. Everything that explains reads this and recomputes nothing.

mod again;

use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_model::{ObjectId, Sym};
use overrule_source::{Documents, Span};
use smallvec::SmallVec;

use crate::fold::Algebra;
use crate::folded::{self, Folded};
use crate::outcome::Counts;
use crate::standing::Standing;
use crate::{
    Effective, LadderId, Ladders, NodeId, Outcome, PathId, Paths, PolicyId, Rank, RankKeys, Reason,
    StepId, Tally,
};

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

/// A policy landed on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attachment {
    /// Which policy.
    pub policy: PolicyId,
    /// Which of its references, counted as written.
    pub reference: u32,
    /// Where it landed.
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
    /// Whether its policies are no policies but what other objects say themselves.
    pub implicit: bool,
    /// Ladder of each path: `EMPTY` where no policy reaches, `NONE` (or past the end) where the path is no target.
    ladders: Standing,
}

/// All effective policies and outcomes of one snapshot under one profile.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// All paths.
    pub paths: Paths,
    /// All ladders.
    pub ladders: Ladders,
    /// Where policies landed, by policy and reference.
    pub attachments: Vec<Attachment>,
    /// Where they did not.
    pub rejections: Vec<Rejection>,
    kinds: Vec<KindResult>,
    policies: Vec<PolicyEntry>,
    ranks: Vec<Rank>,
    /// Place of each ladder in `folded`; `NOT_FOLDED` for those no path has.
    places: Vec<u32>,
    /// Results in the order of folding. Resolutions of which little differs have them in common.
    folded: Vec<Arc<Effective>>,
    /// Outcome of each policy on each ladder, one after another.
    outcomes: Vec<(PolicyId, Outcome)>,
    /// Where the outcomes of each result end.
    ends: Vec<u32>,
    tallies: Vec<Counts>,
    folds: u64,
    by_spec: Vec<u64>,
    /// Results of groups on ladders, and of those that were to be kept.
    groups: BTreeMap<LadderId, Effective>,
    kept: Vec<(NodeId, LadderId)>,
    /// Paths that fail whatever policies say, by path.
    failures: Vec<Failure>,
}

/// A path that fails closed for a reason no policy has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
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
        (0..).map(KindId).zip(&self.kinds)
    }

    /// One kind.
    pub fn kind(&self, id: KindId) -> Option<&KindResult> {
        self.kinds.get(id.0 as usize)
    }

    /// Every policy.
    pub fn policies(&self) -> impl Iterator<Item = (PolicyId, &PolicyEntry)> {
        (0..).map(PolicyId).zip(&self.policies)
    }

    /// Every policy that is one, not something another object says itself.
    pub fn declared(&self) -> impl Iterator<Item = (PolicyId, &PolicyEntry)> {
        self.policies().filter(|(_, p)| self.kind(p.kind).is_none_or(|k| !k.implicit))
    }

    /// One policy.
    pub fn policy(&self, id: PolicyId) -> Option<&PolicyEntry> {
        self.policies.get(id.0 as usize)
    }

    /// The policy that is this object.
    pub fn policy_of(&self, object: ObjectId) -> Option<PolicyId> {
        self.declared().find(|(_, p)| p.object == object).map(|(id, _)| id)
    }

    /// The ladder of a kind at a path.
    pub fn ladder(&self, kind: KindId, path: PathId) -> LadderId {
        self.kind(kind).map_or(LadderId::NONE, |k| k.ladders.get(path))
    }

    /// The result of a ladder; none for the empty one.
    pub fn effective(&self, ladder: LadderId) -> Option<&Effective> {
        let place = *self.places.get(ladder.0 as usize)?;
        self.folded.get(place as usize).map(|effective| &**effective)
    }

    /// The result of a ladder or of a group on one.
    pub fn result(&self, id: LadderId) -> Option<&Effective> {
        self.groups.get(&id).or_else(|| self.effective(id))
    }

    /// Groups that stand for a node although no ladder has them.
    pub fn kept(&self) -> impl Iterator<Item = (NodeId, LadderId)> + '_ {
        self.kept.iter().copied()
    }

    /// Why a path fails closed besides broken policies.
    pub fn failures(&self, path: PathId) -> impl Iterator<Item = &Failure> {
        let start = self.failures.partition_point(|f| f.path < path);
        self.failures.iter().skip(start).take_while(move |f| f.path == path)
    }

    /// How many ladders and groups of a `spec` were folded.
    pub fn folds_of(&self, spec: u16) -> u64 {
        self.by_spec.get(usize::from(spec)).copied().unwrap_or(0)
    }

    /// What became of each policy on a ladder.
    pub fn outcomes(&self, ladder: LadderId) -> &[(PolicyId, Outcome)] {
        let place = self.places.get(ladder.0 as usize).map_or(usize::MAX, |p| *p as usize);
        let Some(end) = self.ends.get(place) else { return &[] };
        let before = place.checked_sub(1).and_then(|p| self.ends.get(p));
        let start = before.map_or(0, |end| *end as usize);
        self.outcomes.get(start..*end as usize).unwrap_or(&[])
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

    /// What became of a policy altogether.
    pub fn outcome(&self, policy: PolicyId) -> Outcome {
        let landed = self.attachments_of(policy).next().is_some();
        if landed { self.tally(policy).outcome() } else { Outcome::Rejected }
    }

    /// Where one policy landed.
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
        self.ranks.get(step.0 as usize)
    }

    /// How many ladders were folded: once per distinct ladder that some path has.
    pub fn folds(&self) -> u64 {
        self.folds
    }

    /// Bytes held per path and kind, beyond what ladders share.
    pub fn path_memory(&self) -> usize {
        let ladders: usize = self.kinds.iter().map(|k| k.ladders.memory()).sum();
        self.paths.memory() + ladders
    }
}

/// How many paths have each ladder.
pub(crate) fn uses(ladders: &Ladders, kinds: &[KindResult]) -> Vec<u64> {
    let mut uses: Vec<u64> = vec![0; ladders.len()];
    for (ladder, targets) in kinds.iter().flat_map(|k| k.ladders.runs()) {
        if let Some(count) = uses.get_mut(ladder.0 as usize) {
            *count += targets;
        }
    }
    uses
}

/// The place of a ladder that was not folded.
const NOT_FOLDED: u32 = u32::MAX;

/// Collects what a family found, then folds.
#[derive(Debug, Default)]
pub struct ResolutionBuilder {
    /// Paths; the family adds them.
    pub paths: Paths,
    /// Ladders; the family interns them.
    pub ladders: Ladders,
    kinds: Vec<KindResult>,
    policies: Vec<PolicyEntry>,
    attachments: Vec<Attachment>,
    rejections: Vec<Rejection>,
    ranks: Vec<Rank>,
    kept: Vec<(NodeId, LadderId)>,
    failures: Vec<Failure>,
}

/// What a family says about a kind.
#[derive(Debug, Clone, Copy)]
pub struct NewKind {
    /// API group.
    pub group: Sym,
    /// Kind.
    pub kind: Sym,
    /// Family.
    pub family: &'static str,
    /// Profile.
    pub profile: &'static str,
    /// Key names.
    pub keys: RankKeys,
    /// Guessed rules.
    pub assumed: bool,
    /// The kind it stands for.
    pub covers: Option<KindId>,
    /// What other objects say themselves.
    pub implicit: bool,
}

impl ResolutionBuilder {
    /// Adds a kind.
    pub fn kind(&mut self, new: NewKind) -> KindId {
        let NewKind { group, kind, family, profile, keys, assumed, covers, implicit } = new;
        let id = KindId(u16::try_from(self.kinds.len()).unwrap_or(u16::MAX));
        self.kinds.push(KindResult {
            group,
            kind,
            family,
            profile,
            keys,
            assumed,
            covers,
            implicit,
            ladders: Standing::default(),
        });
        id
    }

    /// Adds a policy. Add them by kind, namespace, name: their order is the order of ids.
    pub fn policy(&mut self, object: ObjectId, kind: KindId) -> PolicyId {
        let id = PolicyId(u32::try_from(self.policies.len()).unwrap_or(u32::MAX));
        self.policies.push(PolicyEntry { object, kind });
        id
    }

    /// Records where a policy landed.
    pub fn attach(&mut self, attachment: Attachment) {
        self.attachments.push(attachment);
    }

    /// Records that a policy did not land.
    pub fn reject(&mut self, rejection: Rejection) {
        self.rejections.push(rejection);
    }

    /// Interns a step and its rank.
    pub fn step(&mut self, step: crate::Step, rank: Rank) -> StepId {
        let id = self.ladders.step(step);
        if id.0 as usize == self.ranks.len() {
            self.ranks.push(rank);
        }
        id
    }

    /// The rank of a step.
    pub fn rank(&self, step: StepId) -> Option<&Rank> {
        self.ranks.get(step.0 as usize)
    }

    /// Keeps the result of a group that stands for a node, whether a ladder has it or not.
    pub fn keep(&mut self, node: NodeId, group: LadderId) {
        self.kept.push((node, group));
    }

    /// Says that a path fails closed, whatever policies say.
    pub fn fail(&mut self, path: PathId, reason: Reason, at: Option<Span>) {
        self.failures.push(Failure { path, reason, at });
    }

    /// Says which ladder a kind has at each path, in path order. Shorter lists mean [`LadderId::NONE`] for the rest.
    pub fn set_ladders(&mut self, kind: KindId, ladders: &[LadderId]) {
        if let Some(result) = self.kinds.get_mut(kind.0 as usize) {
            result.ladders = Standing::new(ladders);
        }
    }

    /// Folds every distinct ladder once and freezes.
    pub fn finish<A: Algebra>(self, documents: &Documents, algebra: &A) -> Resolution {
        let (uses, order) = self.order();
        let folded = folded::fold(documents, &self.ladders, algebra, &order, &self.kept);
        self.freeze(&uses, &order, folded)
    }

    /// The same on all threads there are, for families without groups on ladders. The result does not depend on their
    /// number.
    pub fn finish_in_parallel<A: Algebra + Sync>(
        self,
        documents: &Documents,
        algebra: &A,
    ) -> Resolution {
        let (uses, order) = self.order();
        let folded = folded::fold_in_parallel(documents, &self.ladders, algebra, &order);
        self.freeze(&uses, &order, folded)
    }

    /// How many paths have each ladder, and in which order the ladders are folded.
    fn order(&self) -> (Vec<u64>, Vec<LadderId>) {
        let uses = uses(&self.ladders, &self.kinds);
        let order = self.by_last_rung(&uses);
        (uses, order)
    }

    fn freeze(mut self, uses: &[u64], order: &[LadderId], folded: Folded) -> Resolution {
        let tallies = folded.tallies(order, uses, self.policies.len());
        let mut places = vec![NOT_FOLDED; uses.len()];
        for (place, ladder) in (0..).zip(order) {
            if let Some(slot) = places.get_mut(ladder.0 as usize) {
                *slot = place;
            }
        }
        let Folded { effectives, mut outcomes, ends, folds, by_spec, groups } = folded;
        // Collecting would go on in the room of the results, which is many times as large.
        let mut shared = Vec::with_capacity(effectives.len());
        shared.extend(effectives.into_iter().map(Arc::new));
        self.attachments.sort_by_key(|a| (a.policy, a.reference, a.node));
        self.rejections.sort_by_key(|r| (r.policy, r.reference));
        self.failures.sort_by_key(|f| f.path);
        self.ladders.freeze();
        self.paths.shrink();
        let Self {
            paths,
            ladders,
            kinds,
            mut policies,
            mut attachments,
            mut rejections,
            mut ranks,
            mut kept,
            mut failures,
        } = self;
        // A resolution is kept for as long as it is asked about: without the room that was left for more.
        policies.shrink_to_fit();
        attachments.shrink_to_fit();
        rejections.shrink_to_fit();
        ranks.shrink_to_fit();
        kept.shrink_to_fit();
        failures.shrink_to_fit();
        outcomes.shrink_to_fit();
        Resolution {
            paths,
            ladders,
            kinds,
            policies,
            attachments,
            rejections,
            ranks,
            places,
            folded: shared,
            outcomes,
            ends,
            tallies,
            folds,
            by_spec,
            groups,
            kept,
            failures,
        }
    }
}

impl ResolutionBuilder {
    /// The ladders that some path has, those with near lowest rungs side by side. Paths are walked gateway by gateway, so
    /// the policy of a route is met again only after all other routes. Folding the ladders of a few hundred routes
    /// together finds their documents still at hand, and results still lie in order: it counts once a fleet is larger
    /// than the caches.
    fn by_last_rung(&self, uses: &[u64]) -> Vec<LadderId> {
        const NEAR: u32 = 8;
        let used = || {
            let all = (0..).map(LadderId).zip(uses);
            all.filter(|(id, n)| *id != LadderId::EMPTY && **n > 0).map(|(id, _)| id)
        };
        let last = |id: LadderId| match self.ladders.get(id).rungs.last() {
            Some(crate::Rung::Step(StepId(n)) | crate::Rung::Group(LadderId(n))) => n >> NEAR,
            None => 0,
        };
        // Counted, not compared: the keys are small numbers, and equal ones keep their order.
        let mut next: Vec<usize> = Vec::new();
        for id in used() {
            let key = last(id) as usize + 1;
            if next.len() <= key {
                next.resize(key + 1, 0);
            }
            next.iter_mut().skip(key).take(1).for_each(|n| *n += 1);
        }
        let mut total = 0;
        for n in &mut next {
            total += *n;
            *n = total;
        }
        let mut order = vec![LadderId::EMPTY; total];
        for id in used() {
            let Some(place) = next.get_mut(last(id) as usize) else { continue };
            if let Some(slot) = order.get_mut(*place) {
                *slot = id;
            }
            *place += 1;
        }
        order
    }
}
