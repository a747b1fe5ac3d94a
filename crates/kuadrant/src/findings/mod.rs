// SPDX-License-Identifier: Apache-2.0
//! In: the resolution. Out: what a person should know about it. Not here: anything that changes the answer.

mod fared;
mod hostnames;
mod order;
mod removals;
mod written;

use overrule_engine::{LadderId, PolicyId, Resolution, StepId};
use overrule_gateway::codes_policy;
use overrule_gateway::resolve::policy_name;
use overrule_source::{Diagnostic, Span};

use crate::World;
use crate::codes;
use crate::policy::Policy;
use crate::resolve::{Conflict, Mode, Watch};

/// Reports on every policy.
pub(crate) fn report(
    world: World<'_>,
    resolution: &Resolution,
    conflicts: &[Conflict],
    watch: &Watch,
    out: &mut Vec<Diagnostic>,
) {
    let findings = Findings { world, resolution };
    for (id, policy) in (0..).map(PolicyId).zip(&world.policies.list) {
        let counts =
            |v: &&crate::policy::Violation| !v.shipped_only || world.profile.follows_crds();
        out.extend(policy.violations.iter().filter(counts).map(|v| v.diagnostic.clone()));
        if policy.is_valid(world.profile) {
            written::report(&findings, policy, out);
        } else {
            written::fields(&findings, policy, out);
        }
        findings.inert(id, policy, out);
    }
    conflicts.iter().for_each(|c| out.extend(findings.conflict(c)));
    fared::report(&findings, watch, out);
    removals::report(&findings, out);
    order::report(&findings, out);
    hostnames::report(&findings, out);
}

/// What findings are read from.
struct Findings<'a> {
    world: World<'a>,
    resolution: &'a Resolution,
}

impl<'a> Findings<'a> {
    /// `namespace/name` of a policy.
    fn name(&self, policy: PolicyId) -> String {
        policy_name(self.world.snapshot, self.resolution, policy)
    }

    fn policy(&self, id: PolicyId) -> Option<&'a Policy> {
        self.world.policies.list.get(id.0 as usize)
    }

    fn policy_of(&self, step: StepId) -> Option<PolicyId> {
        self.resolution.ladders.get_step(step).map(|s| s.policy)
    }

    fn mode(&self, step: StepId) -> Mode {
        self.resolution.ladders.get_step(step).map_or(Mode::Nothing, |s| Mode::from_code(s.mode))
    }

    /// Ladders that some path has, with their results.
    fn ladders(&self) -> impl Iterator<Item = (LadderId, &'a overrule_engine::Effective)> {
        let count = u32::try_from(self.resolution.ladders.len()).unwrap_or(u32::MAX);
        let resolution = self.resolution;
        (0..count).map(LadderId).filter_map(move |id| Some((id, resolution.effective(id)?)))
    }

    /// The block of a step, as written.
    fn block(&self, step: StepId) -> Option<&'a crate::policy::Block> {
        let step = self.resolution.ladders.get_step(step)?;
        self.policy(step.policy)?.blocks.iter().find(|b| b.name == step.block)
    }

    /// Where the name of a policy is written.
    fn at(&self, policy: PolicyId) -> Option<Span> {
        self.policy(policy).map(|p| p.at)
    }

    /// A policy that landed where no path passes.
    fn inert(&self, id: PolicyId, policy: &Policy, out: &mut Vec<Diagnostic>) {
        let landed = self.resolution.attachments_of(id).next().is_some();
        if !landed || self.resolution.tally(id).paths() > 0 {
            return;
        }
        let kind = policy.info.kind;
        let what = if policy.info.is_direct() { "listener" } else { "route" };
        let d = Diagnostic::new(
            &codes_policy::INERT,
            format!("this {kind} has no effect: no {what} in the input is attached to its target"),
        );
        out.push(
            d.at(policy.at)
                .field("metadata.name")
                .help("attach routes there (see `overrule graph`), or remove the policy"),
        );
    }

    /// A direct policy that an older one keeps out, in the operator's words.
    fn conflict(&self, conflict: &Conflict) -> Option<Diagnostic> {
        let policy = self.policy(conflict.attachment.policy)?;
        let by = self.name(conflict.by);
        let message = format!("{} is conflicted by {by}: conflicting policy", policy.info.kind);
        let d = Diagnostic::new(&codes::CONFLICTED, message).at_with(policy.at, "rejected");
        let d = d.field("metadata.name").help(format!(
            "remove one of them, or give this one another target; `{by}` applies, because it is older or comes first by name"
        ));
        Some(match self.at(conflict.by) {
            Some(at) => d.see(at, "in force"),
            None => d,
        })
    }
}
