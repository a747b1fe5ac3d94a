// SPDX-License-Identifier: Apache-2.0
//! In: answers of one family, and policies whose content changed. Out: the new answers, at the cost of the ladders
//! that have these policies, and the findings that change. Not here: any rule of a family.
//!
//! It serves policies that are the same objects as before, as old as before, and keep their places: the same targets, the
//! same ranks, taking part as before. Anything else has everything resolved again.

use std::sync::Arc;

use overrule_engine::{
    Attachment, KindId, LadderId, NewSteps, PolicyId, Rejection, Resolution, Step, Subjects,
};
use overrule_model::{ObjectId, Snapshot};
use overrule_source::{Code, CowVec, Diagnostic, Documents, SourceId, Span};
use overrule_topology::GatewayTopology;

use crate::{AnyExtra, AnyGround, AnyPolicies, Family, OwnKind, Reading, World};

/// Policies of a family whose content changed, and what was there before.
#[derive(Debug)]
pub struct ContentChange<'a> {
    /// Texts and trees, after the change.
    pub documents: &'a Documents,
    /// Resources, after the change.
    pub snapshot: &'a mut Snapshot,
    /// The previous texts, trees and resources.
    pub before: (&'a Documents, &'a Snapshot),
    /// The Gateway API topology, which did not change.
    pub topology: &'a GatewayTopology,
    /// What the family read besides policies.
    pub ground: &'a dyn AnyGround,
    /// Its previous policies.
    pub policies: &'a AnyPolicies,
    /// The policies that changed.
    pub objects: &'a [ObjectId],
    /// The policy kinds of all families.
    pub own_kinds: &'a [OwnKind],
    /// Its previous answers, one for each profile.
    pub answers: &'a [Before<'a>],
    /// Earlier findings that point into the texts that changed.
    pub findings: &'a [Arc<Diagnostic>],
}

/// A previous answer.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The rule set.
    pub profile: &'a str,
    /// Whether its findings are told.
    pub shown: bool,
    /// The answer.
    pub resolution: &'a Resolution,
    /// What only this family's answers have.
    pub extra: &'a dyn AnyExtra,
}

/// A new resolution, and the ladders on which it may differ from the previous one, in order.
pub type Refolded = (Resolution, Vec<LadderId>);

/// What a change of content comes to.
#[derive(Debug)]
pub struct Updated<P> {
    /// The policies, after the change.
    pub policies: P,
    /// What was found while the changed ones were read.
    pub read: Vec<Diagnostic>,
    /// The new answers.
    pub answers: Vec<Refolded>,
    /// What only this family's answers have, by answer, where it is another than before. Answers past the end keep theirs.
    pub extras: Vec<Option<Arc<dyn AnyExtra>>>,
    /// Findings that may be new.
    pub findings: Vec<Diagnostic>,
    /// Which previous findings they replace.
    pub replaced: Replaced,
}

/// Findings that are replaced: of some codes, pointing into the documents of some policies.
#[derive(Debug, Clone, Default)]
pub struct Replaced {
    codes: &'static [Code],
    whole: &'static [Code],
    /// By place.
    documents: Vec<Span>,
}

impl Replaced {
    /// Whether a finding is one of them.
    pub fn has(&self, finding: &Diagnostic) -> bool {
        let labels = finding.primary.iter().chain(&finding.related);
        self.codes.contains(&finding.code) && labels.into_iter().any(|l| self.covers(l.span))
    }

    /// Whether a finding that changes can be told only by resolving everything.
    pub fn is_whole(&self, finding: &Diagnostic) -> bool {
        self.whole.contains(&finding.code)
    }

    /// Whether it might be one of them, but points nowhere.
    pub fn is_anywhere(&self, finding: &Diagnostic) -> bool {
        finding.primary.is_none() && self.codes.contains(&finding.code)
    }

    /// The texts that have the documents.
    pub fn sources(&self) -> impl Iterator<Item = SourceId> {
        self.documents.iter().map(|document| document.source)
    }

    fn covers(&self, span: Span) -> bool {
        let start = |span: &Span| (span.source, span.start);
        let next = self.documents.partition_point(|d| start(d) <= start(&span));
        let document = next.checked_sub(1).and_then(|at| self.documents.get(at));
        document.is_some_and(|d| d.source == span.source && span.start < d.end.max(d.start + 1))
    }
}

/// A family that can go on from its previous answers when the content of policies changed.
pub trait Incremental: Family<Policies: Clone> {
    /// A policy as written.
    type Policy: Clone;

    /// Findings about what became of policies. Each points into the document of a policy it is about.
    const OUTCOMES: &'static [Code];

    /// Findings that need a look at everything if one of them comes or goes.
    fn whole(_: &Self::Policies) -> &'static [Code] {
        &[]
    }

    /// The policies by number: by kind, then object.
    fn list(policies: &Self::Policies) -> &CowVec<Self::Policy>;

    /// The same, to be changed.
    fn list_mut(policies: &mut Self::Policies) -> &mut CowVec<Self::Policy>;

    /// The number of the kind of a policy, and its object.
    fn identity(policy: &Self::Policy) -> (usize, ObjectId);

    /// Where to point when a reference of a policy is meant; the policy itself if it has no such reference.
    fn place(policy: &Self::Policy, reference: u32) -> Option<Span>;

    /// Reads a policy again.
    fn reparse(
        &self,
        reading: Reading<'_>,
        ground: &Self::Ground,
        policies: &Self::Policies,
        was: &Self::Policy,
    ) -> Option<Self::Policy>;

    /// Whether a policy takes part under a profile.
    fn takes_part(profile: Self::Profile, policy: &Self::Policy) -> bool;

    /// Whether a policy has the targets, the rank and the steps that it had.
    fn keeps_place(profile: Self::Profile, was: &Self::Policy, is: &Self::Policy) -> bool;

    /// Takes note of what is known of all policies together.
    fn note(_: &mut Self::Policies, _is: &Self::Policy) {}

    /// A step of a policy as it is now.
    fn step(profile: Self::Profile, policy: &Self::Policy, was: &Step) -> Option<Step>;

    /// Folds what has these steps again.
    fn refold(
        world: World<'_, Self>,
        before: &Resolution,
        extra: &Self::Extra,
        new: &NewSteps,
    ) -> Option<Refolded>;

    /// Everything that is found about changed policies, and about the outcomes of others. None if that cannot be said
    /// without a look at everything.
    fn findings(
        world: World<'_, Self>,
        resolution: &Resolution,
        extra: &Self::Extra,
        about: About<'_, Self>,
    ) -> Option<Vec<Diagnostic>>;
}

/// Whom findings are made about.
#[derive(Debug)]
pub struct About<'a, F: Family> {
    /// The policies that changed.
    pub changed: &'a [PolicyId],
    /// Those whose outcomes may have.
    pub subjects: &'a Subjects,
    /// What was resolved before.
    pub before: World<'a, F>,
    /// The previous answer.
    pub answer: &'a Resolution,
}

// Derived, these would ask the same of the family.
impl<F: Family> Clone for About<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Family> Copy for About<'_, F> {}

/// The kinds of a resolution, with their groups and names.
pub fn kinds_of<'a>(
    snapshot: &'a Snapshot,
    resolution: &'a Resolution,
) -> impl Iterator<Item = (KindId, (&'a str, &'a str))> {
    let text = |sym| snapshot.text(sym);
    resolution.kinds().map(move |(id, kind)| (id, (text(kind.group), text(kind.kind))))
}

/// The number of the policy that is this object.
pub fn position<F: Incremental>(policies: &F::Policies, object: ObjectId) -> Option<PolicyId> {
    let list = F::list(policies);
    let kinds = list.len().checked_sub(1).and_then(|last| list.get(last)).map(F::identity)?.0;
    let places = (0..=kinds).map(|kind| list.partition_point(|p| F::identity(p) < (kind, object)));
    let mut places = places.filter(|at| list.get(*at).is_some_and(|p| F::identity(p).1 == object));
    Some(PolicyId(u32::try_from(places.next()?).ok()?))
}

/// Whether there are policies of the kind with this number.
pub fn has_kind<F: Incremental>(policies: &F::Policies, kind: usize) -> bool {
    let list = F::list(policies);
    let first = list.partition_point(|p| F::identity(p).0 < kind);
    list.get(first).is_some_and(|p| F::identity(p).0 == kind)
}

/// The answers after a change. None if more changed than what policies say.
pub fn update<F: Incremental>(
    family: &F,
    change: ContentChange<'_>,
) -> Option<Updated<F::Policies>> {
    let ContentChange { documents, snapshot, before, topology, ground, .. } = change;
    let ContentChange { policies, objects, own_kinds, answers, .. } = change;
    let (ground, policies): (&F::Ground, &F::Policies) =
        (ground.typed()?, policies.downcast_ref()?);
    let (mut now, mut read) = (policies.clone(), Vec::new());
    let mut changed = Vec::with_capacity(objects.len());
    for object in objects {
        let id = position::<F>(policies, *object)?;
        let created = |of: &Snapshot| of.get(*object).map(|o| o.created);
        if created(snapshot) != created(before.1) {
            return None;
        }
        let was = F::list(policies).get(id.0 as usize)?;
        let (snapshot, diagnostics) = (&mut *snapshot, &mut read);
        let reading = Reading { documents, snapshot, diagnostics, own_kinds };
        let is = family.reparse(reading, ground, policies, was)?;
        F::note(&mut now, &is);
        F::list_mut(&mut now).set(id.0 as usize, is);
        changed.push(id);
    }
    changed.sort_unstable();
    let (codes, whole) = (F::OUTCOMES, F::whole(&now));
    let (mut findings, mut replaced) =
        (Vec::new(), Replaced { codes, whole, documents: Vec::new() });
    let mut refolded = Vec::with_capacity(answers.len());
    for answer in answers {
        let extra = answer.extra.typed()?;
        let profile = family.profile(answer.profile);
        let was =
            World { documents: before.0, snapshot: before.1, topology, ground, policies, profile };
        let world = World { documents, snapshot: &*snapshot, policies: &now, ..was };
        let new = new_steps::<F>(profile, answer.resolution, [policies, &now], &changed)?;
        let (mut resolution, ladders) = F::refold(world, answer.resolution, extra, &new)?;
        if answer.shown {
            let resolutions = [answer.resolution, &resolution];
            let subjects = &Subjects::after(&changed, resolutions, [before.0, documents]);
            let changed = &*changed;
            let about = About { changed, subjects, before: was, answer: answer.resolution };
            findings.extend(F::findings(world, &resolution, extra, about)?);
            replaced.documents = spans::<F>(world, subjects, &resolution);
        }
        resolution.compact();
        refolded.push((resolution, ladders));
    }
    F::list_mut(&mut now).compact();
    let extras = Vec::new();
    Some(Updated { policies: now, read, answers: refolded, extras, findings, replaced })
}

/// Where the policies are written that findings are made about, by place.
fn spans<F: Incremental>(
    world: World<'_, F>,
    subjects: &Subjects,
    resolution: &Resolution,
) -> Vec<Span> {
    let list = F::list(world.policies);
    let objects = subjects.policies(resolution).into_iter();
    let objects = objects.filter_map(|id| list.get(id.0 as usize)).map(|p| F::identity(p).1);
    let roots = objects.filter_map(|object| world.snapshot.get(object)).map(|o| o.root);
    let mut spans: Vec<Span> = roots.map(|root| world.documents.view(root).span()).collect();
    spans.sort_unstable_by_key(|span| (span.source, span.start));
    spans
}

/// Steps, attachments and rejections of the changed policies under a profile. None if one of them moves.
fn new_steps<F: Incremental>(
    profile: F::Profile,
    resolution: &Resolution,
    policies: [&F::Policies; 2],
    changed: &[PolicyId],
) -> Option<NewSteps> {
    let (mut steps, mut attachments, mut rejections) = (Vec::new(), Vec::new(), Vec::new());
    for id in changed {
        let [was, is] = policies.map(|all| F::list(all).get(id.0 as usize));
        let (was, is) = (was?, is?);
        if !F::keeps_place(profile, was, is) {
            return None;
        }
        let rejected = rejections_of::<F>(resolution, *id, is);
        match [was, is].map(|policy| F::takes_part(profile, policy)) {
            [true, true] if rejected.is_empty() => {}
            // It was refused as a whole, and is.
            [false, false] => {
                rejections.extend(rejected);
                continue;
            }
            _ => return None,
        }
        for step in resolution.steps_of(*id) {
            let was = resolution.ladders.get_step(*step)?;
            steps.push((*step, F::step(profile, is, was)?));
        }
        attachments.extend(attachments_of::<F>(resolution, *id, is));
    }
    Some(NewSteps::on(resolution, steps, attachments, rejections))
}

fn attachments_of<'a, F: Incremental>(
    before: &'a Resolution,
    id: PolicyId,
    policy: &'a F::Policy,
) -> impl Iterator<Item = (usize, Attachment)> + 'a {
    let start = before.attachments.partition_point(|a| a.policy < id);
    let theirs = before.attachments.iter().skip(start).take_while(move |a| a.policy == id);
    (start..).zip(theirs).map(|(place, attachment)| {
        let at = F::place(policy, attachment.reference).unwrap_or(attachment.at);
        (place, Attachment { at, ..*attachment })
    })
}

fn rejections_of<F: Incremental>(
    before: &Resolution,
    id: PolicyId,
    policy: &F::Policy,
) -> Vec<(usize, Rejection)> {
    let start = before.rejections.partition_point(|r| r.policy < id);
    let theirs = before.rejections.iter().skip(start).take_while(|r| r.policy == id);
    let theirs = (start..).zip(theirs).map(|(place, rejection)| {
        let at = F::place(policy, rejection.reference).unwrap_or(rejection.at);
        (place, Rejection { at, ..*rejection })
    });
    theirs.collect()
}
