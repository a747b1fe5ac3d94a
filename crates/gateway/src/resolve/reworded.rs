// SPDX-License-Identifier: Apache-2.0
//! In: a resolution, and a few policies that say something else now. Out: the resolution of today, at the cost of the
//! ladders that have these policies, and what is to be told anew. Not here: policies that come, go, or are older or
//! younger than they were.

use overrule_engine::{Attachment, LadderId, PolicyId, Resolution, Reworded, Step, StepId};
use overrule_model::Snapshot;
use overrule_source::{Diagnostic, Documents, CowVec};

use super::Active;
use super::algebra::Gep713;
use super::findings::Findings;
use super::subjects::{Places, Subjects};
use crate::kinds::Kinds;
use crate::policy::{Content, Policy, attach};
use overrule_topology::GatewayTopology;

/// A policy as it was and as it is.
#[derive(Debug, Clone)]
pub struct Words<'a> {
    /// Which one.
    pub id: PolicyId,
    /// What it said.
    pub was: &'a Policy,
    /// What it says.
    pub is: Policy,
}

/// Folds the ladders of these policies again, and gives these, too; `before` must be of the same topology and kinds. None if one of them
/// speaks of other targets now, or is or was refused.
pub fn reworded(
    documents: &Documents,
    snapshot: &Snapshot,
    kinds: &Kinds,
    before: &Resolution,
    policies: &[Words<'_>],
) -> Option<(Resolution, Vec<LadderId>)> {
    let mut words = Reworded::default();
    for Words { id, was, is } in policies {
        let (Some(_), Some(content)) = (was.content, is.content) else { return None };
        let mut both = was.references.iter().zip(&is.references);
        let lands = was.kind == is.kind
            && was.references.len() == is.references.len()
            && both.all(|(was, is)| was.means(is))
            && before.rejections_of(*id).next().is_none();
        if !lands {
            return None;
        }
        words.steps.extend(steps(before, *id, content));
        words.attachments.extend(attachments(before, *id, is));
    }
    let active = active(snapshot, kinds, before)?;
    before.reworded(&words, documents, &Gep713::new(documents, &active))
}

/// The kinds of a resolution as it needed them.
fn active<'k>(
    snapshot: &Snapshot,
    kinds: &'k Kinds,
    resolution: &Resolution,
) -> Option<Vec<Active<'k>>> {
    let active = resolution.kinds().map(|(id, kind)| {
        let descriptor = kinds.find(snapshot.names(), kind.group_kind())?;
        Some(Active { id, descriptor })
    });
    active.collect()
}

/// What is to be told anew after these policies changed, of which all are attached as they were, and which findings that
/// takes the place of. None if a kind is not known.
pub fn told_again(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    kinds: &Kinds,
    policies: &CowVec<Policy>,
    resolution: &Resolution,
    changed: &[PolicyId],
) -> Option<(Places, Vec<Diagnostic>)> {
    let active = active(snapshot, kinds, resolution)?;
    let policy = &|id: PolicyId| policies.get(id.0 as usize);
    let theirs: Vec<Policy> = changed.iter().filter_map(|id| policy(*id)).cloned().collect();
    let mut diagnostics = attach(snapshot, topology, kinds, &theirs).diagnostics;
    let subjects = &Subjects::near(changed, resolution);
    let kinds = &active;
    let findings = Findings { snapshot, topology, policy, resolution, kinds, subjects };
    findings.report(&mut diagnostics);
    Some((subjects.places(policy, resolution), diagnostics))
}

/// The steps of a policy with what it says now. They are on the same ladders, as high as they were.
fn steps(
    before: &Resolution,
    id: PolicyId,
    content: Content,
) -> impl Iterator<Item = (StepId, Step)> {
    let (block, value, mode) = (content.block, content.value, content.strategy.code());
    // They were added policy by policy.
    let all = before.ladders.steps_of(id);
    all.map(move |(step, was)| (step, Step { block, value, mode, ..*was }))
}

fn attachments<'a>(
    before: &'a Resolution,
    id: PolicyId,
    policy: &'a Policy,
) -> impl Iterator<Item = (usize, Attachment)> + 'a {
    let start = before.attachments.partition_point(|a| a.policy < id);
    let theirs = before.attachments.iter().skip(start).take_while(move |a| a.policy == id);
    (start..).zip(theirs).map(|(place, attachment)| {
        let reference = policy.references.get(attachment.reference as usize);
        let at = reference.map_or(policy.at, |reference| reference.at);
        (place, Attachment { at, ..*attachment })
    })
}
