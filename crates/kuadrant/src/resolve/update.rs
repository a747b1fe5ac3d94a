// SPDX-License-Identifier: Apache-2.0
//! What the family answers when only the content of policies changed (`family::update`).

use std::sync::Arc;

use overrule_engine::{NewSteps, PerStep, Resolution, Step};
use overrule_family::{About, Incremental, Reading, Refolded, World};
use overrule_gateway::policy::{attach_with, same_targets};
use overrule_model::ObjectId;
use overrule_source::{Code, CowVec, Diagnostic, Span};

use super::local::{content_of, contributions};
use super::{Active, algebra, as_generic};
use crate::family::Kuadrant;
use crate::kinds::ALL;
use crate::policy::{self, Policies, Policy};
use crate::{Profile, codes, findings};

impl Incremental for Kuadrant {
    type Policy = Arc<Policy>;

    const OUTCOMES: &'static [Code] = &findings::OUTCOMES;

    fn whole(policies: &Policies) -> &'static [Code] {
        static FEW_REMOVALS: [Code; 1] = [&codes::CONFLICTED];
        // Only the first ones suggest names.
        static MANY_REMOVALS: [Code; 2] = [&codes::CONFLICTED, &codes::REMOVES_NOTHING];
        let many = policies.removal_entries > findings::SUGGESTIONS;
        if many { &MANY_REMOVALS } else { &FEW_REMOVALS }
    }

    fn list(policies: &Policies) -> &CowVec<Arc<Policy>> {
        &policies.list
    }

    fn list_mut(policies: &mut Policies) -> &mut CowVec<Arc<Policy>> {
        &mut policies.list
    }

    fn identity(policy: &Arc<Policy>) -> (usize, ObjectId) {
        (policy.kind, policy.object)
    }

    fn place(policy: &Arc<Policy>, reference: u32) -> Option<Span> {
        let reference = policy.references.get(reference as usize);
        Some(reference.map_or(policy.at, |reference| reference.at))
    }

    fn reparse(
        &self,
        reading: Reading<'_>,
        (): &(),
        policies: &Policies,
        was: &Arc<Policy>,
    ) -> Option<Arc<Policy>> {
        let Reading { documents, snapshot, diagnostics, .. } = reading;
        let (is, found) = policy::reparse(documents, snapshot, policies, was)?;
        diagnostics.extend(found);
        Some(Arc::new(is))
    }

    fn takes_part(profile: Profile, policy: &Arc<Policy>) -> bool {
        policy.is_valid(profile)
    }

    /// The place of a step on its ladder depends on which step of its policy it is.
    fn keeps_place(profile: Profile, was: &Arc<Policy>, is: &Arc<Policy>) -> bool {
        let steps = |policy| contributions(profile, policy).into_iter().map(|step| step.block);
        same_targets(&was.references, &is.references) && steps(was).eq(steps(is))
    }

    fn note(policies: &mut Policies, is: &Arc<Policy>) {
        policies.removal_entries += is.removal_entries();
    }

    fn step(profile: Profile, policy: &Arc<Policy>, was: &Step) -> Option<Step> {
        let mut steps = contributions(profile, policy).into_iter();
        let is = steps.find(|step| step.block == was.block)?;
        Some(Step { value: is.node, mode: is.mode.code(), ..*was })
    }

    fn refold(
        world: World<'_, Self>,
        before: &Resolution,
        (): &(),
        new: &NewSteps,
    ) -> Option<Refolded> {
        let contents = PerStep::of(before, new, |id, step| content_of(world, id, step));
        let algebra =
            algebra::Kuadrant::new(world, &Active::of(ALL, world.snapshot, before), &contents);
        before.refolded(new, world.documents, &algebra)
    }

    fn findings(
        world: World<'_, Self>,
        resolution: &Resolution,
        (): &(),
        about: About<'_, Self>,
    ) -> Option<Vec<Diagnostic>> {
        let changed =
            || about.changed.iter().filter_map(|id| world.policies.list.get(id.0 as usize));
        let theirs: Vec<_> = changed().map(|policy| as_generic(world.profile, policy)).collect();
        let kinds = &world.policies.kinds;
        let options = super::attach_options(world.profile);
        let mut found =
            attach_with(world.snapshot, world.topology, kinds, &theirs, options).diagnostics;
        findings::of_change(world, resolution, about, &mut found).then_some(found)
    }
}
