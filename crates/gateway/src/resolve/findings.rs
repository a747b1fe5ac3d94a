// SPDX-License-Identifier: Apache-2.0
//! In: the resolution. Out: what a person should know about it: conflicts, dead policies, guesses about age.
//! Not here: anything that changes the answer.

use std::collections::BTreeSet;

use overrule_engine::{LadderId, Outcome, PolicyId, Resolution, Rung, Step, StepId};
use overrule_model::Snapshot;
use overrule_source::Diagnostic;

use super::Active;
use crate::codes_policy as codes;
use crate::kinds::Strategy;
use crate::policy::Policy;
use crate::topology::GatewayTopology;

/// Reports on every policy and every pair that stands next to each other on one target.
pub(crate) fn report(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    policies: &[Policy],
    resolution: &Resolution,
    kinds: &[Active<'_>],
    out: &mut Vec<Diagnostic>,
) {
    let findings = Findings { snapshot, topology, policies, resolution, kinds };
    let winners = findings.winners();
    for (id, policy) in (0..).map(PolicyId).zip(policies) {
        findings.dead(id, policy, &winners, out);
    }
    findings.pairs(out);
    findings.undone(out);
}

/// Pairs of a policy and one that took its place.
type Winners = BTreeSet<(PolicyId, PolicyId)>;

struct Findings<'a> {
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    policies: &'a [Policy],
    resolution: &'a Resolution,
    kinds: &'a [Active<'a>],
}

impl Findings<'_> {
    fn name(&self, policy: PolicyId) -> String {
        let object = self.resolution.policy(policy).and_then(|p| self.snapshot.get(p.object));
        object.map_or_else(String::new, |o| {
            format!("{}/{}", self.snapshot.text(o.scope.name()), self.snapshot.text(o.name))
        })
    }

    fn kind_of(&self, policy: PolicyId) -> Option<&Active<'_>> {
        self.resolution.policy(policy).and_then(|p| self.kinds.get(p.kind.0 as usize))
    }

    /// A policy that landed and yet does nothing anywhere.
    fn dead(&self, id: PolicyId, policy: &Policy, winners: &Winners, out: &mut Vec<Diagnostic>) {
        let kind = self.kind_of(id);
        let Some(kind) = kind else { return };
        match self.resolution.outcome(id) {
            Outcome::Inert if self.resolution.tally(id).paths() == 0 => {
                let targets: Vec<String> =
                    self.resolution.attachments_of(id).map(|a| self.node_name(a.node)).collect();
                let d = Diagnostic::new(
                    &codes::INERT,
                    format!(
                        "this policy has no effect: no path passes through {}",
                        targets.join(", ")
                    ),
                );
                out.push(
                    d.at(policy.at)
                        .field("metadata.name")
                        .help("attach routes there (see `overrule graph`), or remove the policy"),
                );
            }
            // Losers of kinds that do not merge are reported as conflicts, with the winner.
            Outcome::Shadowed if !kind.is_alone() => {
                let pairs = winners.range((id, PolicyId(0))..=(id, PolicyId(u32::MAX)));
                let by: Vec<String> =
                    pairs.map(|(_, by)| format!("`{}`", self.name(*by))).collect();
                let d = Diagnostic::new(
                    &codes::SHADOWED_EVERYWHERE,
                    format!(
                        "nothing of this policy is in force anywhere; it is shadowed by {}",
                        by.join(", ")
                    ),
                );
                out.push(
                    d.at(policy.at)
                        .field("metadata.name")
                        .help(format!("see why: overrule explain {}", self.policy_target(policy))),
                );
            }
            _ => {}
        }
    }

    fn policy_target(&self, policy: &Policy) -> String {
        self.snapshot.display(policy.object).to_string()
    }

    fn node_name(&self, node: overrule_engine::NodeId) -> String {
        let Some(node) = self.topology.nodes.get(node) else { return String::new() };
        let text = |sym| self.snapshot.text(sym);
        let mut name = match node.object {
            Some(object) => self.snapshot.display(object).to_string(),
            None => format!(
                "{}/{}/{}",
                text(node.kind).to_lowercase(),
                text(node.namespace),
                text(node.name)
            ),
        };
        if !node.section.is_empty() {
            name.push('#');
            name.push_str(text(node.section));
        }
        format!("`{name}`")
    }

    /// Who took the place of the policies of which nothing is in force, in one pass over the ladders.
    fn winners(&self) -> Winners {
        let mut found = Winners::new();
        let ids = (0..).map(PolicyId).zip(self.policies);
        let shadowed: Vec<bool> =
            ids.map(|(id, _)| self.resolution.tally(id).outcome() == Outcome::Shadowed).collect();
        if !shadowed.contains(&true) {
            return found;
        }
        for effective in self.used_ladders().filter_map(|l| self.resolution.effective(l)) {
            for loss in &effective.losses {
                let Some(loser) = self.policy_of(loss.step) else { continue };
                if shadowed.get(loser.0 as usize) == Some(&true) {
                    found.extend(
                        loss.by.iter().filter_map(|s| self.policy_of(*s)).map(|by| (loser, by)),
                    );
                }
            }
        }
        found
    }

    /// GEP-713's second surprise: after a step the lower policy's strategy governs, so an override can lose to a policy
    /// two rungs below it. Each pair is reported once.
    fn undone(&self, out: &mut Vec<Diagnostic>) {
        let mut seen = BTreeSet::new();
        for effective in self.used_ladders().filter_map(|l| self.resolution.effective(l)) {
            for loss in &effective.losses {
                let Some(lost) = self.resolution.ladders.get_step(loss.step) else { continue };
                let strategy = Strategy::from_code(lost.mode);
                let is_override =
                    matches!(strategy, Strategy::AtomicOverrides | Strategy::PatchOverrides);
                for by in loss.by.iter().filter_map(|s| self.policy_of(*s)) {
                    if is_override && by != lost.policy && seen.insert((lost.policy, by)) {
                        out.extend(self.override_undone(lost.policy, by));
                    }
                }
            }
        }
    }

    fn override_undone(&self, lost: PolicyId, by: PolicyId) -> Option<Diagnostic> {
        let kind = self.kind_of(lost)?;
        let (first, second) =
            (self.policies.get(lost.0 as usize)?, self.policies.get(by.0 as usize)?);
        if kind.is_alone() {
            return None;
        }
        let message = format!(
            "this override is undone in places: `{}` stands below it, with a default between them that gives way",
            self.name(by)
        );
        let d = Diagnostic::new(&codes::OVERRIDE_UNDONE, message)
            .at_with(first.at, "the override")
            .see(second.at, "what undoes it")
            .field("metadata.name")
            .help("GEP-713: a merged result carries the lower policy's strategy; keep one policy below an override, or make each an override");
        Some(d)
    }

    fn policy_of(&self, step: StepId) -> Option<PolicyId> {
        self.resolution.ladders.get_step(step).map(|s| s.policy)
    }

    fn used_ladders(&self) -> impl Iterator<Item = LadderId> {
        (0..u32::try_from(self.resolution.ladders.len()).unwrap_or(u32::MAX)).map(LadderId)
    }

    /// Neighbours on one target: who stands above whom, and what that rests on. Each pair is reported once.
    fn pairs(&self, out: &mut Vec<Diagnostic>) {
        let mut seen = BTreeSet::new();
        for ladder in self.used_ladders().filter(|l| self.resolution.effective(*l).is_some()) {
            // Ladders of this family have no groups.
            for pair in self.resolution.ladders.get(ladder).rungs.windows(2) {
                let [Rung::Step(a), Rung::Step(b)] = pair else { continue };
                self.pair(*a, *b, &mut seen, out);
            }
        }
    }

    fn pair(
        &self,
        above: StepId,
        below: StepId,
        seen: &mut BTreeSet<(PolicyId, PolicyId)>,
        out: &mut Vec<Diagnostic>,
    ) {
        let steps =
            (self.resolution.ladders.get_step(above), self.resolution.ladders.get_step(below));
        let ranks = (self.resolution.rank(above), self.resolution.rank(below));
        let ((Some(a), Some(b)), (Some(rank_a), Some(rank_b))) = (steps, ranks) else { return };
        let kind = self.kind_of(a.policy);
        let Some(kind) = kind else { return };
        let Some(key) = rank_a.against(rank_b).key.and_then(|k| self.keys(kind).get(k)) else {
            return;
        };
        if a.policy == b.policy
            || !matches!(*key, "created" | "name")
            || !seen.insert((a.policy, b.policy))
        {
            return;
        }
        let (Some(first), Some(second)) =
            (self.policies.get(a.policy.0 as usize), self.policies.get(b.policy.0 as usize))
        else {
            return;
        };
        if kind.is_alone() {
            self.conflict(a, b, first, second, out);
        } else {
            self.several(a, b, first, second, key, out);
        }
        self.unknown_age(a, b, first, second, key, out);
    }

    fn keys(&self, kind: &Active<'_>) -> &'static [&'static str] {
        self.resolution.kind(kind.id).map_or(&[], |k| k.keys)
    }

    fn conflict(
        &self,
        a: &Step,
        b: &Step,
        first: &Policy,
        second: &Policy,
        out: &mut Vec<Diagnostic>,
    ) {
        let message = format!(
            "this policy is refused: `{}` has the same target, stands before it, and the kind does not merge",
            self.name(a.policy)
        );
        let d = Diagnostic::new(&codes::CONFLICT, message)
            .at_with(second.at, "refused")
            .see(first.at, "in force")
            .field("metadata.name")
            .help(format!("remove `{}`, or give it another target", self.name(b.policy)));
        out.push(d);
    }

    fn several(
        &self,
        a: &Step,
        b: &Step,
        first: &Policy,
        second: &Policy,
        key: &str,
        out: &mut Vec<Diagnostic>,
    ) {
        let why = if key == "created" {
            "it is older"
        } else {
            "they are of one age and its name comes first"
        };
        let message = format!(
            "`{}` and `{}` have one target; the first is established ({why}), so its strategy decides between them",
            self.name(a.policy),
            self.name(b.policy)
        );
        let d = Diagnostic::new(&codes::SEVERAL_ON_ONE_TARGET, message)
            .at_with(second.at, "challenger")
            .see(first.at, "established")
            .field("metadata.name")
            .help("GEP-713: on one level the newer of two defaults wins and the older of two overrides");
        out.push(d);
    }

    fn unknown_age(
        &self,
        a: &Step,
        b: &Step,
        first: &Policy,
        second: &Policy,
        key: &str,
        out: &mut Vec<Diagnostic>,
    ) {
        let created = |p: &Policy| self.snapshot.get(p.object).map(|o| o.created);
        let (Some(older), Some(newer)) = (created(first), created(second)) else { return };
        if older.is_known() && newer.is_known() {
            return;
        }
        let how = if key == "created" {
            "an unknown creation time counts as newest"
        } else {
            "both are unknown, so the name decides"
        };
        let message = format!(
            "which of `{}` and `{}` is older decides here, and the manifests do not say: {how}",
            self.name(a.policy),
            self.name(b.policy)
        );
        let unknown = if newer.is_known() { first } else { second };
        let d = Diagnostic::new(&codes::UNKNOWN_CREATION_TIME, message)
            .at(unknown.at)
            .field("metadata.creationTimestamp")
            .help("read from the cluster (kubectl get -o yaml), or say which order to assume: --assume-created FILE-ORDER");
        out.push(d);
    }
}
