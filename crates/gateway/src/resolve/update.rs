// SPDX-License-Identifier: Apache-2.0
//! What the family answers when only the content of policies changed (`family::update`).

use overrule_engine::{NewSteps, PolicyId, Resolution, Step};
use overrule_family::{About, Incremental, Reading, Refolded, World};
use overrule_model::{ObjectId, Snapshot};
use overrule_source::{Code, CowVec, Diagnostic, Span};

use super::findings::{CODES, Findings};
use super::{Active, algebra};
use crate::family::{Gep713, KnownKinds};
use crate::kinds::Kinds;
use crate::policy::{self, Policy, PolicyContent, attach, same_targets};

impl Incremental for Gep713 {
    type Policy = Policy;

    const OUTCOMES: &'static [Code] = &CODES;

    fn list(policies: &CowVec<Policy>) -> &CowVec<Policy> {
        policies
    }

    fn list_mut(policies: &mut CowVec<Policy>) -> &mut CowVec<Policy> {
        policies
    }

    fn identity(policy: &Policy) -> (usize, ObjectId) {
        (policy.kind, policy.object)
    }

    fn place(policy: &Policy, reference: u32) -> Option<Span> {
        let reference = policy.references.get(reference as usize);
        Some(reference.map_or(policy.at, |reference| reference.at))
    }

    fn reparse(
        &self,
        reading: Reading<'_>,
        KnownKinds(kinds): &KnownKinds,
        _: &CowVec<Policy>,
        was: &Policy,
    ) -> Option<Policy> {
        let Reading { documents, snapshot, diagnostics, .. } = reading;
        let (is, found) = policy::reparse(documents, snapshot, kinds, was)?;
        diagnostics.extend(found);
        Some(is)
    }

    fn takes_part((): (), policy: &Policy) -> bool {
        policy.content.is_some()
    }

    fn keeps_place((): (), was: &Policy, is: &Policy) -> bool {
        same_targets(&was.references, &is.references)
    }

    fn step((): (), policy: &Policy, was: &Step) -> Option<Step> {
        let PolicyContent { block, value, strategy } = policy.content?;
        Some(Step { block, value, mode: strategy.code(), ..*was })
    }

    fn refold(
        world: World<'_, Self>,
        before: &Resolution,
        (): &(),
        new: &NewSteps,
    ) -> Option<Refolded> {
        let World { documents, snapshot, ground: KnownKinds(kinds), .. } = world;
        let active = active(snapshot, kinds, before)?;
        before.refolded_in_parallel(new, documents, &algebra::Gep713::new(documents, &active))
    }

    fn findings(
        world: World<'_, Self>,
        resolution: &Resolution,
        (): &(),
        About { changed, subjects, .. }: About<'_, Self>,
    ) -> Option<Vec<Diagnostic>> {
        let World { snapshot, topology, ground: KnownKinds(kinds), policies, .. } = world;
        let active = active(snapshot, kinds, resolution)?;
        let policy = &|id: PolicyId| policies.get(id.0 as usize);
        let theirs: Vec<Policy> = changed.iter().filter_map(|id| policy(*id)).cloned().collect();
        let mut found = attach(snapshot, topology, kinds, &theirs).diagnostics;
        let kinds = &active;
        let findings = Findings { snapshot, topology, policy, resolution, kinds, subjects };
        findings.report(&mut found);
        Some(found)
    }
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
