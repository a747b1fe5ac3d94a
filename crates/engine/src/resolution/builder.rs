// SPDX-License-Identifier: Apache-2.0
//! In: paths, ladders and attachments as a family finds them. Out: all ladders folded, frozen. Not here: reading the
//! result.

use std::sync::{Arc, OnceLock};

use overrule_model::{Names, ObjectId, Sym};
use overrule_source::{Documents, Span};

use super::{
    Attachment, Fixed, KindId, KindResult, PathFailure, PolicyEntry, Rejection, Resolution,
};
use crate::fold::Algebra;
use crate::folded::{self, Folded};
use crate::standing::Standing;
use crate::{LadderId, Ladders, NodeId, PathId, Paths, PolicyId, Rank, RankKeys, Reason, StepId};

/// How many paths have each ladder.
pub(super) fn uses(ladders: &Ladders, kinds: &[KindResult]) -> Vec<u64> {
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
    pub(super) kinds: Vec<KindResult>,
    pub(super) policies: Vec<PolicyEntry>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) rejections: Vec<Rejection>,
    pub(super) ranks: Vec<Rank>,
    kept: Vec<(NodeId, LadderId)>,
    failures: Vec<PathFailure>,
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

impl NewKind {
    /// A kind of written policies by its group and name, for a family and a profile. A kind nobody uses has no symbols of
    /// its own; it gets the empty ones.
    pub fn named(
        names: &Names,
        (group, kind): (&str, &str),
        (family, profile): (&'static str, &'static str),
        keys: RankKeys,
    ) -> Self {
        let sym = |text| names.lookup(text).unwrap_or_default();
        let (group, kind) = (sym(group), sym(kind));
        Self { group, kind, family, profile, keys, assumed: false, covers: None, implicit: false }
    }
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
        self.failures.push(PathFailure { path, reason, at });
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
        let folded = folded::fold(
            documents,
            &self.ladders,
            algebra,
            &order,
            self.kept.iter().map(|(_, group)| *group),
        );
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
        let tallies = folded.outcomes.tallies(order, uses, self.policies.len());
        let mut places = vec![NOT_FOLDED; uses.len()];
        for (place, ladder) in (0..).zip(order) {
            if let Some(slot) = places.get_mut(ladder.0 as usize) {
                *slot = place;
            }
        }
        let Folded { effectives, mut outcomes, folds, by_spec, groups } = folded;
        // Collecting would go on in the room of the results, which is many times as large.
        let mut shared = Vec::with_capacity(effectives.len());
        shared.extend(effectives.into_iter().map(Arc::new));
        self.attachments.sort_by_key(|a| (a.policy, a.reference, a.node));
        self.rejections.sort_by_key(|r| (r.policy, r.reference));
        self.failures.sort_by_key(|f| f.path);
        self.ladders.freeze();
        self.paths.shrink();
        // A resolution is kept for as long as it is asked about: without the room that was left for more.
        self.policies.shrink_to_fit();
        self.attachments.shrink_to_fit();
        self.rejections.shrink_to_fit();
        self.ranks.shrink_to_fit();
        self.kept.shrink_to_fit();
        self.failures.shrink_to_fit();
        outcomes.shrink();
        let Self { kinds, policies, ranks, kept, failures, .. } = self;
        let index = OnceLock::new();
        let by_object = OnceLock::new();
        let fixed = Fixed {
            kinds,
            policies,
            ranks,
            places,
            folds,
            by_spec,
            kept,
            failures,
            index,
            by_object,
        };
        let groups: Vec<_> = groups.into_iter().map(|(id, group)| (id, Arc::new(group))).collect();
        Resolution {
            paths: Arc::new(self.paths),
            ladders: self.ladders,
            attachments: self.attachments.into(),
            rejections: self.rejections.into(),
            fixed: Arc::new(fixed),
            folded: shared.into(),
            groups: groups.into(),
            outcomes: Arc::new(outcomes),
            other_outcomes: Vec::new(),
            tallies: tallies.into(),
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
