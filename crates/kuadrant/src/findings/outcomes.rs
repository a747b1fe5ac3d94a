// SPDX-License-Identifier: Apache-2.0
//! In: what was noted of all ladders. Out: rules and policies that are in force nowhere, conditions that failed, rules
//! that lost parts, predicates that spread, conflicts nobody detects. Not here: taking the notes (`resolve/watch.rs`).

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{Effective, Fate, Outcome, PolicyId, StepId, pointer_segments};
use overrule_gateway::codes_policy;
use overrule_gateway::topology::level;
use overrule_source::{Diagnostic, NodeRef, View};
use smallvec::SmallVec;

use super::Findings;
use crate::codes;
use crate::policy::span;
use crate::resolve::{RuleOf, Watch};

/// Reports what became of rules.
pub(super) fn report(findings: &Findings<'_>, watch: &Watch, out: &mut Vec<Diagnostic>) {
    let outcomes = Fared { findings };
    out.extend(watch.failed.iter().filter_map(|(s, error)| outcomes.condition_failed(*s, error)));
    for ((lost, by, pointer), old) in &watch.constrained {
        out.extend(outcomes.parts_lost(*lost, *by, pointer, *old));
    }
    out.extend(watch.spread.iter().filter_map(|(step, other)| outcomes.spreading(*step, *other)));
    out.extend(
        watch.beside.iter().filter_map(|(held, beside)| outcomes.undetected(*held, *beside)),
    );
    outcomes.dead(watch, out);
}

struct Fared<'a> {
    findings: &'a Findings<'a>,
}

impl Fared<'_> {
    fn condition_failed(&self, step: StepId, error: &str) -> Option<Diagnostic> {
        let block = self.findings.block(step)?;
        let when = block.when.as_ref()?;
        let message = format!(
            "this condition fails for at least one policy below it ({error}); a failed condition counts as not met, so `{}` does not apply there",
            block.name
        );
        let at = span(self.findings.world.documents, when.node);
        let d = Diagnostic::new(&codes::CONDITION_FAILED, message).at(at);
        Some(d.field(format!("spec.{}.when", block.name)).help(
            "test fields that may be missing with `has(…)`, level by level, and compare values of the same type; `overrule explain TARGET` shows what the condition saw",
        ))
    }

    /// A rule is replaced whole. Where the old one had more in it than the new one, that is easily overlooked.
    fn parts_lost(
        &self,
        lost: StepId,
        by: StepId,
        pointer: &str,
        old: NodeRef,
    ) -> Option<Diagnostic> {
        let documents = self.findings.world.documents;
        let rules = &self.findings.block(by)?.rules;
        let new = rules.iter().find(|r| r.pointer(documents) == pointer)?;
        let missing = missing_parts(documents.view(old), documents.view(new.value));
        if missing.is_empty() {
            return None;
        }
        let (loser, winner) = (self.findings.policy_of(lost)?, self.findings.policy_of(by)?);
        let name = new.id(documents);
        let message = format!(
            "`{name}` of `{}` is replaced as a whole by the constraint of `{}`, which drops {}",
            self.findings.name(loser),
            self.findings.name(winner),
            missing.join(" and ")
        );
        let d = Diagnostic::new(&codes::PARTS_LOST, message)
            .at_with(span(documents, old), "replaced")
            .see(span(documents, new.value), "by this")
            .field(format!("spec.{name}"));
        Some(d.help("a rule is replaced as a whole: repeat the missing parts in the constraint, or split the rule in two"))
    }

    /// The predicates in force are the only ones of the effective policy: they gate everybody's rules.
    fn spreading(&self, step: StepId, other: StepId) -> Option<Diagnostic> {
        let block = self.findings.block(step)?;
        let rule = block.rules.iter().find(|r| r.group.path == ["when"])?;
        let message = format!(
            "these predicates become the predicates of the whole effective policy, so they also decide when rules of other policies apply, such as those of `{}`",
            self.findings.name(self.findings.policy_of(other)?)
        );
        let at = span(self.findings.world.documents, rule.key);
        let d = Diagnostic::new(&codes::SPREADING_PREDICATES, message).at(at);
        let field = if block.name == "bare" {
            "spec.when".to_owned()
        } else {
            format!("spec.{}.when", block.name)
        };
        Some(d.field(field).help("move the predicates into the rules they are meant for"))
    }

    fn undetected(&self, held: StepId, beside: StepId) -> Option<Diagnostic> {
        let (first, second) = (self.findings.policy_of(held)?, self.findings.policy_of(beside)?);
        let policy = self.findings.policy(second)?;
        let message = format!(
            "`{}` has the same target and was created in the same second: the operator sees no conflict, and both apply",
            self.findings.name(first)
        );
        let d = Diagnostic::new(&codes::UNDETECTED_CONFLICT, message)
            .at_with(policy.at, "in force too")
            .see(self.findings.at(first)?, "in force");
        Some(d.field("metadata.name").help("remove one of them, or give it another target"))
    }

    /// Policies of which nothing is in force anywhere; of the others, the default rules that are not.
    fn dead(&self, watch: &Watch, out: &mut Vec<Diagnostic>) {
        let mut dead: Vec<RuleOf> = watch.lost.difference(&watch.alive).copied().collect();
        dead.sort_unstable_by_key(|(step, node)| (*step, node.doc.0, node.node.0));
        let mut by_policy: BTreeMap<PolicyId, Vec<RuleOf>> = BTreeMap::new();
        for rule in dead {
            if let Some(policy) = self.findings.policy_of(rule.0) {
                by_policy.entry(policy).or_default().push(rule);
            }
        }
        let is_shadowed = |p: &PolicyId| self.findings.resolution.outcome(*p) == Outcome::Shadowed;
        let shadowed: BTreeSet<PolicyId> = by_policy.keys().copied().filter(is_shadowed).collect();
        let winners = self.winners(&shadowed);
        for (policy, rules) in by_policy {
            if shadowed.contains(&policy) {
                out.extend(self.shadowed(policy, winners.get(&policy)))
            } else {
                out.extend(self.dead_rules(policy, &rules))
            }
        }
    }

    /// Who stands where these policies lost.
    fn winners(&self, losers: &BTreeSet<PolicyId>) -> BTreeMap<PolicyId, BTreeSet<PolicyId>> {
        let mut found: BTreeMap<PolicyId, BTreeSet<PolicyId>> = BTreeMap::new();
        let ladders = self.findings.ladders().filter(|_| !losers.is_empty());
        for (_, effective) in ladders {
            for loss in &effective.losses {
                let loser = self.findings.policy_of(loss.step).filter(|p| losers.contains(p));
                let Some(loser) = loser else { continue };
                let steps = match loss.fate {
                    Fate::Removed => loss.by.clone(),
                    _ => self.now(effective, &loss.pointer).as_slice().into(),
                };
                let by = steps.iter().filter_map(|s| self.findings.policy_of(*s));
                found.entry(loser).or_default().extend(by.filter(|p| *p != loser));
            }
        }
        found
    }

    /// The step in force at a pointer, or all that are in force.
    fn now(&self, effective: &Effective, pointer: &str) -> SmallVec<[StepId; 2]> {
        let Some(value) = &effective.value else { return SmallVec::new() };
        let segments: Vec<_> = pointer_segments(pointer).collect();
        let part = value.at(self.findings.world.documents, segments.iter().map(|s| &**s));
        part.map_or_else(|| value.steps(), |part| part.steps())
    }

    fn shadowed(&self, policy: PolicyId, by: Option<&BTreeSet<PolicyId>>) -> Option<Diagnostic> {
        let written = self.findings.policy(policy)?;
        let by = by.into_iter().flatten();
        let by: Vec<String> = by.map(|p| format!("`{}`", self.findings.name(*p))).collect();
        let blocks = written.blocks(self.findings.world.profile).count();
        let whom = match (by.is_empty(), blocks) {
            (true, 0 | 1) => "an atomic override without rules".to_owned(),
            (true, _) => "another block of the same policy".to_owned(),
            (false, _) => by.join(", "),
        };
        let message = format!("no part of this policy is in force; it is shadowed by {whom}");
        let d = Diagnostic::new(&codes_policy::SHADOWED_EVERYWHERE, message).at(written.at);
        let target = self.findings.world.snapshot.display(written.object);
        Some(d.field("metadata.name").help(format!("see why: overrule explain {target}")))
    }

    fn dead_rules(&self, policy: PolicyId, rules: &[RuleOf]) -> Option<Diagnostic> {
        let written = self.findings.policy(policy)?;
        // The lowest policies are there to be overruled; a default above them is there to be used.
        let above = |step: StepId| {
            let step = self.findings.resolution.ladders.get_step(step);
            step.is_some_and(|s| s.level < level::ROUTE.0 || s.block == "defaults")
        };
        let documents = self.findings.world.documents;
        let defaults =
            rules.iter().filter(|(s, _)| self.findings.mode(*s).is_default() && above(*s));
        let id = |(step, node): &RuleOf| {
            let block = self.findings.block(*step)?;
            let rule = block.rules.iter().find(|r| r.value == *node)?;
            Some(format!("`{}`", rule.id(documents)))
        };
        let names: BTreeSet<String> = defaults.filter_map(id).collect();
        let names: Vec<String> = names.into_iter().collect();
        let all = match names.len() {
            0 => return None,
            1 => format!("default rule {} of this policy is", names.join("")),
            n if n <= 5 => format!("default rules {} of this policy are", names.join(", ")),
            n => format!("{n} default rules of this policy are"),
        };
        let them = if names.len() == 1 { "it" } else { "them" };
        let message = format!("{all} never in force: every path replaces or removes {them}");
        let target = self.findings.world.snapshot.display(written.object);
        let d = Diagnostic::new(&codes::DEAD_RULE, message).at(written.at).field("metadata.name");
        Some(d.help(format!("see why: overrule explain {target}")))
    }
}

/// What a rule has that its replacement lacks: members, elements of lists.
fn missing_parts(old: View<'_>, new: View<'_>) -> Vec<String> {
    let mut missing = Vec::new();
    for (key, value) in old.entries() {
        let name = key.key_text();
        match new.get(name) {
            None => missing.push(format!("`{name}`")),
            Some(other) if value.items().count() > other.items().count() => {
                let (had, has) = (value.items().count(), other.items().count());
                missing.push(format!("{} of the {had} entries of `{name}`", had - has));
            }
            Some(_) => {}
        }
    }
    missing
}
