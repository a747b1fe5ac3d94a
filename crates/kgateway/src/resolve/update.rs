// SPDX-License-Identifier: Apache-2.0
//! What the family answers when only the content of policies changed (`family::update`).

use std::sync::Arc;

use overrule_engine::{NewSteps, PerStep, Resolution, Step};
use overrule_family::{About, Incremental, Reading, Refolded, World};
use overrule_gateway::policy::same_targets;
use overrule_model::ObjectId;
use overrule_source::{Code, CowVec, Diagnostic, Span};

use super::attach::{by_reference, generic};
use super::values::content_of;
use super::{Active, Found, algebra};
use crate::family::{Kgateway, Matches};
use crate::kinds::ALL;
use crate::policy::{self, Policies, Policy};
use crate::{Profile, Settings, findings};

impl Incremental for Kgateway {
    type Policy = Arc<Policy>;

    const OUTCOMES: &'static [Code] = &findings::OUTCOMES;

    fn list(policies: &Policies) -> &CowVec<Arc<Policy>> {
        &policies.list
    }

    fn list_mut(policies: &mut Policies) -> &mut CowVec<Arc<Policy>> {
        &mut policies.list
    }

    fn identity(policy: &Arc<Policy>) -> (usize, ObjectId) {
        (policy.kind, policy.object)
    }

    /// A filter that leads to the policy stands behind the references, and is written elsewhere.
    fn place(policy: &Arc<Policy>, reference: u32) -> Option<Span> {
        policy.references.get(reference as usize).map(|reference| reference.at)
    }

    fn reparse(
        &self,
        reading: Reading<'_>,
        settings: &Settings,
        policies: &Policies,
        was: &Arc<Policy>,
    ) -> Option<Arc<Policy>> {
        let Reading { documents, snapshot, diagnostics, .. } = reading;
        let (is, found) = policy::reparse((documents, settings), snapshot, policies, was)?;
        diagnostics.extend(found);
        Some(Arc::new(is))
    }

    fn takes_part(_: Profile, policy: &Arc<Policy>) -> bool {
        policy.admitted
    }

    /// A broken policy breaks rules, which is told about everywhere.
    fn keeps_place(_: Profile, was: &Arc<Policy>, is: &Arc<Policy>) -> bool {
        let is_whole = |policy: &Policy| policy.admitted && policy.problem.is_none();
        is_whole(was)
            && is_whole(is)
            && was.weight == is.weight
            && same_targets(&was.references, &is.references)
    }

    fn note(policies: &mut Policies, is: &Arc<Policy>) {
        policies.disables |= is.disables;
    }

    fn step(_: Profile, policy: &Arc<Policy>, was: &Step) -> Option<Step> {
        Some(Step { value: policy.spec, ..*was })
    }

    fn refold(
        world: World<'_, Self>,
        before: &Resolution,
        extra: &Matches,
        new: &NewSteps,
    ) -> Option<Refolded> {
        let contents = PerStep::of(before, new, |id, step| content_of(world, id, step));
        let kinds = Active::of(ALL, world.snapshot, before);
        let algebra =
            algebra::Kgateway::new(world, &kinds, &contents, (&extra.masks, &extra.plans));
        before.refolded(new, world.documents, &algebra)
    }

    fn findings(
        world: World<'_, Self>,
        resolution: &Resolution,
        extra: &Matches,
        about: About<'_, Self>,
    ) -> Option<Vec<Diagnostic>> {
        let of_tiers = |world: World<'_, Self>, resolution: &Resolution| {
            let mut ladders = about.changed.iter().flat_map(|id| resolution.ladders_of(*id));
            ladders.any(|ladder| {
                findings::has_headers_of_tiers(world.documents, resolution.effective(*ladder))
            })
        };
        // Who has the last word about a header is told once for all ladders.
        if world.profile.general_header_wins()
            && (of_tiers(about.before, about.answer) || of_tiers(world, resolution))
        {
            return None;
        }
        let changed = about.changed.iter().filter_map(|id| world.policies.get(*id));
        let changed: Vec<_> = changed.map(|policy| generic(world, policy)).collect();
        let mut out = by_reference(world, &changed).diagnostics;
        let (kinds, subjects) = (&Active::of(ALL, world.snapshot, resolution), about.subjects);
        let found = Found { world, kinds, resolution, answering: &extra.answering, subjects };
        findings::of_change(&found, about.changed, &mut out);
        Some(out)
    }
}
