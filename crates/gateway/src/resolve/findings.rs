// SPDX-License-Identifier: Apache-2.0
//! In: the resolution. Out: what a person should know about it: conflicts, dead policies, guesses about age.
//! Not here: anything that changes the answer.

use hashbrown::HashSet;
use overrule_engine::{
    KeyValues, LadderId, Met, Outcome, PolicyId, RankKeys, Resolution, Rung, Step, StepId, Subjects,
};
use overrule_model::Snapshot;
use overrule_source::{Code, Diagnostic, Span};

use super::Active;
use crate::codes_policy as codes;
use crate::kinds::Strategy;
use crate::policy::Policy;
use overrule_topology::{GatewayTopology, level};

/// A policy that has no effect, and why.
pub fn inert(at: Span, why: String) -> Diagnostic {
    Diagnostic::new(&codes::INERT, why)
        .at(at)
        .field("metadata.name")
        .help("attach routes there (see `overrule graph`), or remove the policy")
}

/// Everything that is told here. Each finding points at the policies it is about, and at nothing else.
pub(super) static CODES: [Code; 6] = [
    &codes::INERT,
    &codes::SHADOWED_EVERYWHERE,
    &codes::CONFLICT,
    &codes::SEVERAL_ON_ONE_TARGET,
    &codes::UNKNOWN_CREATION_TIME,
    &codes::OVERRIDE_UNDONE,
];

/// Pairs of a policy and one that took its place, in order.
type Winners = Vec<(PolicyId, PolicyId)>;
/// Pairs that were told.
type Told = HashSet<(PolicyId, PolicyId)>;

/// What findings are made of.
pub(super) struct Findings<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) topology: &'a GatewayTopology,
    /// A policy as written.
    pub(super) policy: &'a dyn Fn(PolicyId) -> Option<&'a Policy>,
    pub(super) resolution: &'a Resolution,
    pub(super) kinds: &'a [Active<'a>],
    /// Whom to tell about.
    pub(super) subjects: &'a Subjects,
}

impl Findings<'_> {
    /// Reports on every policy and every pair that stands next to each other on one target.
    pub(super) fn report(&self, out: &mut Vec<Diagnostic>) {
        let winners = self.losses(out);
        for id in self.subjects.policies(self.resolution) {
            if let Some(policy) = (self.policy)(id) {
                self.dead(id, policy, &winners, out);
            }
        }
        self.pairs(out);
    }

    fn name(&self, policy: PolicyId) -> String {
        let object = self.resolution.policy(policy).and_then(|p| self.snapshot.get(p.object));
        object.map_or_else(String::new, |o| {
            format!("{}/{}", self.snapshot.text(o.scope.name()), self.snapshot.text(o.name))
        })
    }

    fn is_on_assumed(&self, policy: PolicyId) -> bool {
        let mut attached = self.resolution.attachments_of(policy);
        attached.any(|a| self.topology.is_assumed(self.snapshot, a.node))
    }

    fn kind_of(&self, policy: PolicyId) -> Option<&Active<'_>> {
        self.resolution.policy(policy).and_then(|p| self.kinds.get(p.kind.0 as usize))
    }

    /// A policy that landed and yet does nothing anywhere.
    fn dead(
        &self,
        id: PolicyId,
        policy: &Policy,
        winners: &[(PolicyId, PolicyId)],
        out: &mut Vec<Diagnostic>,
    ) {
        let kind = self.kind_of(id);
        let Some(kind) = kind else { return };
        match self.resolution.outcome(id) {
            // Who attaches to an object that is assumed is unknown.
            Outcome::Inert if self.is_on_assumed(id) => {}
            Outcome::Inert if self.resolution.tally(id).paths() == 0 => {
                let why: Vec<String> =
                    self.resolution.attachments_of(id).map(|a| self.unused(a.node)).collect();
                let message = format!("this policy has no effect: {}", why.join("; "));
                out.push(inert(policy.at, message));
            }
            // Losers of kinds that do not merge are reported as conflicts, with the winner.
            Outcome::Shadowed if !kind.is_alone() => {
                let start = winners.partition_point(|(loser, _)| *loser < id);
                let pairs = winners.iter().skip(start).take_while(|(loser, _)| *loser == id);
                let by: Vec<String> =
                    pairs.map(|(_, by)| format!("`{}`", self.name(*by))).collect();
                let d = Diagnostic::new(
                    &codes::SHADOWED_EVERYWHERE,
                    format!(
                        "no part of this policy is in force; it is shadowed by {}",
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

    /// Why no path passes through a target.
    fn unused(&self, node: overrule_engine::NodeId) -> String {
        let name = self.node_name(node);
        match self.topology.nodes.get(node).map(|n| n.level) {
            Some(level::ROUTE | level::RULE) => {
                format!("{name} is not attached to any Gateway or Service in the input")
            }
            Some(level::GATEWAY | level::LISTENER_SET | level::LISTENER) => {
                format!("no route in the input is attached to {name}")
            }
            _ => format!("no path in the input passes through {name}"),
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

    /// One pass over everything that lost: who took the place of policies of which nothing is in force, and which
    /// overrides are undone, each pair once.
    fn losses(&self, out: &mut Vec<Diagnostic>) -> Winners {
        let subjects = self.subjects.policies(self.resolution).into_iter();
        let is_shadowed = |id: &PolicyId| self.resolution.tally(*id).outcome() == Outcome::Shadowed;
        let shadowed: HashSet<PolicyId> = subjects.filter(is_shadowed).collect();
        let (mut winners, mut told) = (Winners::new(), Told::new());
        // What ladders begin with is shared, and looked at once.
        let mut met = Met::default();
        let results = self.subjects.ladders(self.resolution);
        for effective in results.filter_map(|ladder| self.resolution.effective(ladder)) {
            for loss in effective.losses.unmet(&mut met) {
                let Some(lost) = self.resolution.ladders.get_step(loss.step) else { continue };
                let is_shadowed = shadowed.contains(&lost.policy);
                let is_override = is_override(lost);
                if !is_shadowed && !is_override {
                    continue;
                }
                for by in loss.by.iter().filter_map(|s| self.policy_of(*s)) {
                    if is_shadowed {
                        winners.push((lost.policy, by));
                    }
                    if is_override && self.is_new(lost.policy, by, &mut told) {
                        out.extend(self.override_undone(lost.policy, by));
                    }
                }
            }
        }
        winners.sort_unstable();
        winners.dedup();
        winners
    }

    /// Whether a pair is to be told, and was not yet.
    fn is_new(&self, one: PolicyId, other: PolicyId, told: &mut Told) -> bool {
        one != other
            && (self.subjects.has(one) || self.subjects.has(other))
            && told.insert((one, other))
    }

    /// GEP-713's second surprise: after a step the lower policy's strategy governs, so an override can lose to a policy
    /// two rungs below it.
    fn override_undone(&self, lost: PolicyId, by: PolicyId) -> Option<Diagnostic> {
        let kind = self.kind_of(lost)?;
        let (first, second) = ((self.policy)(lost)?, (self.policy)(by)?);
        if kind.is_alone() {
            return None;
        }
        let message = format!(
            "this override has no effect on some paths: `{}` is more specific, and wins because a default is between them",
            self.name(by)
        );
        let d = Diagnostic::new(&codes::OVERRIDE_UNDONE, message)
            .at_with(first.at, "the override")
            .see(second.at, "wins instead")
            .field("metadata.name")
            .help("GEP-713: a merged result has the strategy of the more specific policy; keep one policy below an override, or make each an override");
        Some(d)
    }

    fn policy_of(&self, step: StepId) -> Option<PolicyId> {
        self.resolution.ladders.get_step(step).map(|s| s.policy)
    }

    /// Neighbours on one target: who stands above whom, and what that rests on. Each pair is reported once.
    fn pairs(&self, out: &mut Vec<Diagnostic>) {
        let ladders = &self.resolution.ladders;
        let mut told = Told::new();
        let mut met: HashSet<LadderId> = HashSet::new();
        for ladder in self.subjects.ladders(self.resolution) {
            let mut next = ladder;
            // What a ladder begins with is a ladder, and looked at once.
            while next != LadderId::EMPTY && met.insert(next) {
                let top = ladders.top(next);
                let above = ladders.get(top).rungs.len().saturating_sub(1);
                // Ladders of this family have no groups.
                for pair in ladders.get(next).rungs.get(above..).unwrap_or(&[]).windows(2) {
                    let [Rung::Step(a), Rung::Step(b)] = pair else { continue };
                    self.pair(*a, *b, &mut told, out);
                }
                next = top;
            }
        }
    }

    fn pair(&self, above: StepId, below: StepId, told: &mut Told, out: &mut Vec<Diagnostic>) {
        let steps =
            (self.resolution.ladders.get_step(above), self.resolution.ladders.get_step(below));
        let ranks = (self.resolution.rank(above), self.resolution.rank(below));
        let ((Some(a), Some(b)), (Some(rank_a), Some(rank_b))) = (steps, ranks) else { return };
        let kind = self.kind_of(a.policy);
        let Some(kind) = kind else { return };
        let key = rank_a.against(rank_b).key.and_then(|k| self.keys(kind).get(k));
        let Some(key) = key.map(|key| key.values) else { return };
        if !matches!(key, KeyValues::Ages | KeyValues::Names)
            || !self.is_new(a.policy, b.policy, told)
        {
            return;
        }
        let (Some(first), Some(second)) = ((self.policy)(a.policy), (self.policy)(b.policy)) else {
            return;
        };
        if kind.is_alone() {
            self.conflict(a, b, first, second, out);
        } else {
            self.several(a, b, first, second, key, out);
        }
        self.unknown_age(a, b, first, second, key, out);
    }

    fn keys(&self, kind: &Active<'_>) -> RankKeys {
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
            "this policy is rejected: `{}` has the same target and comes first, and policies of this kind do not merge",
            self.name(a.policy)
        );
        let d = Diagnostic::new(&codes::CONFLICT, message)
            .at_with(second.at, "rejected")
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
        key: KeyValues,
        out: &mut Vec<Diagnostic>,
    ) {
        let why = if key == KeyValues::Ages {
            "it is older"
        } else {
            "they have the same age and its name comes first"
        };
        let message = format!(
            "`{}` and `{}` have the same target; the first is established ({why}), so its strategy decides between them",
            self.name(a.policy),
            self.name(b.policy)
        );
        let d = Diagnostic::new(&codes::SEVERAL_ON_ONE_TARGET, message)
            .at_with(second.at, "challenger")
            .see(first.at, "established")
            .field("metadata.name")
            .help("GEP-713: on the same level, the newer of two defaults wins, and the older of two overrides");
        out.push(d);
    }

    fn unknown_age(
        &self,
        a: &Step,
        b: &Step,
        first: &Policy,
        second: &Policy,
        key: KeyValues,
        out: &mut Vec<Diagnostic>,
    ) {
        let created = |p: &Policy| self.snapshot.get(p.object).map(|o| o.created);
        let (Some(older), Some(newer)) = (created(first), created(second)) else { return };
        if older.is_known() && newer.is_known() {
            return;
        }
        let how = if key == KeyValues::Ages {
            "an unknown creation time counts as newest"
        } else {
            "both are unknown, so the name decides"
        };
        let message = format!(
            "the age of `{}` and `{}` decides here, and the manifests do not contain it: {how}",
            self.name(a.policy),
            self.name(b.policy)
        );
        let unknown = if newer.is_known() { first } else { second };
        let d = Diagnostic::new(&codes::UNKNOWN_CREATION_TIME, message)
            .at(unknown.at)
            .field("metadata.creationTimestamp")
            .help("read from the cluster (kubectl get -o yaml), or choose an order: --assume-created FILE-ORDER");
        out.push(d);
    }
}

fn is_override(step: &Step) -> bool {
    matches!(Strategy::from_code(step.mode), Strategy::AtomicOverrides | Strategy::PatchOverrides)
}
