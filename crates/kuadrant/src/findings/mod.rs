// SPDX-License-Identifier: Apache-2.0
//! In: the resolution. Out: what a person should know about it. Not here: anything that changes the answer.

mod hostnames;
mod order;
mod outcomes;
mod removals;
mod written;

use overrule_engine::{LadderId, PolicyId, Resolution, StepId, Subjects};
use overrule_family::{About, refused_as_shipped};
use overrule_gateway::codes_policy;
use overrule_gateway::resolve::{inert, policy_name};
use overrule_source::{Code, Diagnostic, Span};

use crate::codes;
use crate::policy::{Policy, Violation};
use crate::resolve::{Conflict, Mode, Watch};
use crate::{Kuadrant, World};

pub(crate) use removals::SUGGESTIONS;

/// What is said about outcomes. Each points into the document of a policy it is about.
pub(crate) static OUTCOMES: [Code; 8] = [
    &codes::CONDITION_FAILED,
    &codes::PARTS_LOST,
    &codes::SPREADING_PREDICATES,
    &codes::UNDETECTED_CONFLICT,
    &codes::DEAD_RULE,
    &codes::REMOVES_NOTHING,
    &codes::AMBIGUOUS_REMOVAL,
    &codes_policy::SHADOWED_EVERYWHERE,
];

/// Reports on every policy.
pub(crate) fn report(
    world: World<'_>,
    resolution: &Resolution,
    conflicts: &[Conflict],
    watch: &Watch,
    out: &mut Vec<Diagnostic>,
) {
    let findings = Findings { world, resolution, subjects: &Subjects::All };
    for (id, policy) in (0..).map(PolicyId).zip(&world.policies.list) {
        findings.own(id, policy, out);
    }
    conflicts.iter().for_each(|c| out.extend(findings.conflict(c)));
    outcomes::report(&findings, watch, out);
    removals::report(&findings, out);
    order::report(&findings, out);
    hostnames::report(&findings, out);
}

/// Reports on changed policies, and on outcomes that may have changed. False if that takes a look at everything.
pub(crate) fn of_change(
    world: World<'_>,
    resolution: &Resolution,
    about: About<'_, Kuadrant>,
    out: &mut Vec<Diagnostic>,
) -> bool {
    let About { changed, subjects, .. } = about;
    let findings = Findings { world, resolution, subjects };
    for id in changed {
        if let Some(policy) = findings.policy(*id) {
            findings.own(*id, policy, out);
        }
    }
    outcomes::report(&findings, &findings.watch(), out);
    changed.iter().for_each(|id| order::around(&findings, *id, out));
    removals::report(&findings, out);
    removals::is_about_subjects(&findings, about)
}

/// What findings are read from.
struct Findings<'a> {
    world: World<'a>,
    resolution: &'a Resolution,
    /// Whom outcomes are told about.
    subjects: &'a Subjects,
}

impl<'a> Findings<'a> {
    /// `namespace/name` of a policy.
    fn name(&self, policy: PolicyId) -> String {
        policy_name(self.world.snapshot, self.resolution, policy)
    }

    fn policy(&self, id: PolicyId) -> Option<&'a Policy> {
        self.world.policies.list.get(id.0 as usize).map(|policy| &**policy)
    }

    fn policy_of(&self, step: StepId) -> Option<PolicyId> {
        self.resolution.ladders.get_step(step).map(|s| s.policy)
    }

    fn mode(&self, step: StepId) -> Mode {
        self.resolution.ladders.get_step(step).map_or(Mode::Nothing, |s| Mode::from_code(s.mode))
    }

    /// What can be said of a policy alone.
    fn own(&self, id: PolicyId, policy: &Policy, out: &mut Vec<Diagnostic>) {
        let profile = self.world.profile;
        let is_own = |v: &&Violation| !v.shipped_only || profile.follows_crds();
        let (own, shipped): (Vec<_>, Vec<_>) = policy.violations.iter().partition(is_own);
        out.extend(own.into_iter().map(|v| v.diagnostic.clone()));
        let shipped = shipped.into_iter().map(|v| &v.diagnostic);
        out.extend(refused_as_shipped("the released kuadrant-operator", shipped));
        if policy.is_valid(profile) {
            written::report(self, policy, out);
        } else {
            written::fields(self, policy, out);
        }
        self.inert(id, policy, out);
    }

    /// What is noted while folding, of the ladders of the subjects.
    fn watch(&self) -> Watch {
        let mut ladders: Vec<LadderId> = self.subjects.ladders(self.resolution).collect();
        // Of several that could be told, the first that is folded is.
        ladders.sort_by_cached_key(|ladder| self.resolution.place(*ladder));
        let profile = self.world.profile;
        let is_conditional = |step| {
            profile.has_conditions() && self.block(step).is_some_and(|block| block.when.is_some())
        };
        let mut watch = Watch::default();
        for id in ladders {
            let (ladder, result) = (self.resolution.ladders.get(id), self.resolution.effective(id));
            if let Some(result) = result {
                let policy_of = |step| self.policy_of(step);
                let documents = self.world.documents;
                watch.ladder(documents, &is_conditional, &policy_of, ladder, result);
            }
        }
        watch
    }

    /// Ladders that some path has, with their results.
    fn ladders(&self) -> impl Iterator<Item = (LadderId, &'a overrule_engine::Effective)> {
        let resolution = self.resolution;
        let ladders = self.subjects.ladders(resolution);
        ladders.filter_map(move |id| Some((id, resolution.effective(id)?)))
    }

    /// The block of a step, as written.
    fn block(&self, step: StepId) -> Option<&'a crate::policy::RuleBlock> {
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
        // Who attaches to an object that is assumed is unknown.
        let World { snapshot, topology, .. } = self.world;
        let mut attached = self.resolution.attachments_of(id);
        if attached.any(|a| topology.is_assumed(snapshot, a.node)) {
            return;
        }
        let kind = policy.info.kind;
        let what = if policy.info.is_direct() { "listener" } else { "route" };
        let message =
            format!("this {kind} has no effect: no {what} in the input is attached to its target");
        out.push(inert(policy.at, message));
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
