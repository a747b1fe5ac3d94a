// SPDX-License-Identifier: Apache-2.0
//! In: a resolution. Out: what became of each rule of a policy, counted over paths. Not here: text (`rules_text.rs`).
//!
//! A rule is the smallest part of a block that stands or falls alone. A family may say at which pointers its rules
//! stand; otherwise they are the smallest parts that some ladder took apart. Every distinct ladder is looked at once
//! and counts for all paths that have it.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{Fate, Outcome, StepId, Tally};
use overrule_engine::{FoldAction, KindId, LadderId, Loss, PolicyId, Reason, Rung, Step};
use overrule_source::{NodeKind, View};

use crate::field::{is_within, name, push_segment};
use crate::focus::outcome_among;
use crate::losses::Losses;
use crate::written::is_content;
use crate::{Scene, ScenePart, v1};

/// What became of each rule of a policy, by block, then by pointer.
pub fn rules(scene: &Scene<'_>, part: &ScenePart<'_>, policy: PolicyId) -> Vec<v1::RuleSummary> {
    let Some(kind) = part.resolution.policy(policy).map(|p| p.kind) else { return Vec::new() };
    let mut all = collect(scene, part, &[kind], &|p| p == policy);
    all.remove(&policy).unwrap_or_default()
}

/// The same for many policies at once.
pub(crate) fn collect(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    kinds: &[KindId],
    keep: &dyn Fn(PolicyId) -> bool,
) -> BTreeMap<PolicyId, Vec<v1::RuleSummary>> {
    let counter = Counter { scene, part, keep };
    let ladders = counter.ladders(kinds);
    let found = counter.rules(&ladders);
    counter.count(&ladders, found)
}

/// A block of a policy: steps are interned, so each is one step.
type BlockKey = (PolicyId, StepId);

/// What is known of one rule.
#[derive(Default)]
struct Fates {
    tally: Tally,
    by: BTreeSet<PolicyId>,
    removed_by: BTreeSet<PolicyId>,
    because: BTreeSet<&'static str>,
}

struct Counter<'a> {
    scene: &'a Scene<'a>,
    part: &'a ScenePart<'a>,
    keep: &'a dyn Fn(PolicyId) -> bool,
}

impl<'a> Counter<'a> {
    /// The ladders with a policy that is kept, and how many paths have each.
    fn ladders(&self, kinds: &[KindId]) -> BTreeMap<LadderId, u64> {
        let mut uses: BTreeMap<LadderId, u64> = BTreeMap::new();
        for kind in kinds {
            for (_, ladder) in self.part.resolution.contexts(*kind) {
                *uses.entry(ladder).or_default() += 1;
            }
        }
        let kept = |l: LadderId| {
            self.part.resolution.outcomes(l).iter().any(|(policy, _)| (self.keep)(*policy))
        };
        uses.retain(|ladder, _| kept(*ladder));
        uses
    }

    /// The steps of policies that are kept.
    fn steps(&self, ladder: LadderId) -> Vec<(StepId, &'a Step)> {
        let ladders = &self.part.resolution.ladders;
        let steps = ladders.steps(ladder).into_iter();
        let steps = steps.filter_map(|id| Some((id, ladders.get_step(id)?)));
        steps.filter(|(_, step)| (self.keep)(step.policy)).collect()
    }

    /// The pointers of the rules of every block.
    fn rules(&self, ladders: &BTreeMap<LadderId, u64>) -> BTreeMap<BlockKey, BTreeSet<String>> {
        let mut found: BTreeMap<BlockKey, BTreeSet<String>> = BTreeMap::new();
        for ladder in ladders.keys() {
            let Some(effective) = self.part.resolution.effective(*ladder) else { continue };
            let own = self.steps(*ladder);
            let mut apart = match self.part.words.rule_patterns().is_empty() {
                true => taken_apart(Losses { scene: self.scene, part: self.part, effective }),
                false => BTreeMap::new(),
            };
            for (id, step) in own {
                let rules = found.entry((step.policy, id)).or_default();
                if !self.part.words.rule_patterns().is_empty() {
                    if rules.is_empty() {
                        rules.extend(self.patterned(step));
                    }
                    continue;
                }
                for pointer in apart.remove(&id).unwrap_or_default() {
                    match pointer.is_empty() {
                        true => rules.extend(self.members(step)),
                        false => _ = rules.insert(pointer),
                    }
                }
            }
        }
        found.values_mut().for_each(keep_smallest);
        found
    }

    /// The members of a block, where nothing took it apart.
    fn members(&self, step: &Step) -> Vec<String> {
        let view = self.scene.documents.view(step.value);
        let keys = view.entries().map(|(key, _)| key.key_text());
        let keys = keys.filter(|key| is_content(step.block, key));
        let pointers: Vec<String> = keys.map(|key| below("", key)).collect();
        if pointers.is_empty() { vec![String::new()] } else { pointers }
    }

    /// What a block has at the pointers at which the family's rules stand.
    fn patterned(&self, step: &Step) -> Vec<String> {
        let mut found = Vec::new();
        for pattern in self.part.words.rule_patterns() {
            let segments: Vec<&str> = pattern.split('/').skip(1).collect();
            let view = self.scene.documents.view(step.value);
            // A scalar of that name is a setting of the block: its condition, its strategy.
            if !segments.contains(&"*") && is_scalar(view, &segments) {
                continue;
            }
            descend(view, &segments, "", &mut found);
        }
        found
    }

    fn count(
        &self,
        ladders: &BTreeMap<LadderId, u64>,
        rules: BTreeMap<BlockKey, BTreeSet<String>>,
    ) -> BTreeMap<PolicyId, Vec<v1::RuleSummary>> {
        let mut fates: BTreeMap<(BlockKey, &str), Fates> = BTreeMap::new();
        for (ladder, uses) in ladders {
            let Some(effective) = self.part.resolution.effective(*ladder) else { continue };
            let losses = Losses { scene: self.scene, part: self.part, effective };
            let mut own: BTreeMap<StepId, Vec<&Loss>> = BTreeMap::new();
            for loss in &effective.losses {
                own.entry(loss.step).or_default().push(loss);
            }
            for (id, step) in self.steps(*ladder) {
                let own = own.get(&id).map_or(&[][..], Vec::as_slice);
                let key = (step.policy, id);
                for pointer in rules.get(&key).into_iter().flatten() {
                    let Some(result) = outcome_among(&losses, id, pointer, own) else { continue };
                    let fate = fates.entry((key, pointer)).or_default();
                    fate.tally.add(result.outcome, *uses);
                    self.blame(fate, own, pointer, &result.by, result.outcome, &result.reasons);
                }
            }
        }
        self.summaries(&rules, &fates)
    }

    /// Notes who took the place of a rule, who removed it, and by which rules.
    fn blame(
        &self,
        fate: &mut Fates,
        own: &[&Loss],
        pointer: &str,
        by: &[StepId],
        outcome: Outcome,
        reasons: &[Reason],
    ) {
        let near = |l: &&&Loss| is_within(pointer, &l.pointer) || is_within(&l.pointer, pointer);
        let removed = own.iter().filter(near).filter(|l| l.fate == Fate::Removed);
        let removers = removed.flat_map(|l| &l.by).filter_map(|s| self.part.policy_of(*s));
        fate.removed_by.extend(removers);
        if outcome != Outcome::Removed {
            fate.by.extend(by.iter().filter_map(|s| self.part.policy_of(*s)));
        }
        fate.because.extend(reasons.iter().map(|r| r.sentence));
    }

    fn summaries(
        &self,
        rules: &BTreeMap<BlockKey, BTreeSet<String>>,
        fates: &BTreeMap<(BlockKey, &str), Fates>,
    ) -> BTreeMap<PolicyId, Vec<v1::RuleSummary>> {
        let names = |policies: &BTreeSet<PolicyId>| {
            let names = policies.iter().map(|p| self.part.policy_name(self.scene, *p));
            names.collect::<BTreeSet<String>>().into_iter().collect::<Vec<String>>()
        };
        let mut found: BTreeMap<PolicyId, Vec<v1::RuleSummary>> = BTreeMap::new();
        for (key, pointers) in rules {
            let block = self.part.block(key.1);
            for pointer in pointers {
                let Some(fate) = fates.get(&(*key, pointer.as_str())) else { continue };
                found.entry(key.0).or_default().push(v1::RuleSummary {
                    rule: name(pointer),
                    pointer: pointer.clone(),
                    block: block.clone(),
                    counts: fate.tally.into(),
                    by: names(&fate.by),
                    removed_by: names(&fate.removed_by),
                    because: fate.because.iter().copied().collect(),
                });
            }
        }
        found
    }
}

/// Pointers of the parts of each step that are in force or lost, and of all of a step that was kept out.
fn taken_apart(losses: Losses<'_>) -> BTreeMap<StepId, BTreeSet<String>> {
    let Losses { scene, effective, .. } = losses;
    let mut found: BTreeMap<StepId, BTreeSet<String>> = BTreeMap::new();
    if let Some(value) = &effective.value {
        value.parts(scene.documents, &mut |pointer, step, _| {
            found.entry(step).or_default().insert(pointer.to_owned());
        });
    }
    for loss in &effective.losses {
        found.entry(loss.step).or_default().insert(loss.pointer.to_string());
    }
    let kept_out =
        losses.log().filter(|v| matches!(v.done, FoldAction::Skipped | FoldAction::Poisoned));
    let kept_out = kept_out.filter_map(|v| match v.rung {
        Rung::Step(step) => Some(step),
        Rung::Group(_) => None,
    });
    for step in kept_out.chain(effective.beside().iter().copied()) {
        found.entry(step).or_default().insert(String::new());
    }
    found
}

/// Drops every pointer that has another one below it.
fn keep_smallest(pointers: &mut BTreeSet<String>) {
    let mut above = BTreeSet::new();
    for pointer in pointers.iter() {
        let mut at = pointer.as_str();
        while let Some((shorter, _)) = at.rsplit_once('/') {
            above.insert(shorter.to_owned());
            at = shorter;
        }
    }
    pointers.retain(|p| !above.contains(p));
}

fn is_scalar(view: View<'_>, path: &[&str]) -> bool {
    let found = path.iter().try_fold(view, |view, key| view.get(key));
    found.is_some_and(|v| !matches!(v.kind(), NodeKind::Map | NodeKind::List))
}

/// The pointer of the rule that a pointer lies in, as far as the family says where its rules stand.
pub(crate) fn rule_of(patterns: &[&str], pointer: &str) -> String {
    let segments: Vec<&str> = pointer.split('/').skip(1).collect();
    let fits = |pattern: &&str| {
        let mut keys = pattern.split('/').skip(1).zip(segments.iter());
        let length = pattern.split('/').skip(1).count();
        (length <= segments.len() && keys.all(|(p, s)| p == "*" || p == *s)).then_some(length)
    };
    match patterns.iter().find_map(fits) {
        Some(length) => segments.iter().take(length).map(|s| format!("/{s}")).collect(),
        None => pointer.to_owned(),
    }
}

/// The pointers in a value that fit a pattern; `*` is any key.
fn descend(view: View<'_>, pattern: &[&str], at: &str, found: &mut Vec<String>) {
    let Some((first, rest)) = pattern.split_first() else {
        found.push(at.to_owned());
        return;
    };
    if view.kind() != NodeKind::Map {
        return;
    }
    for (key, value) in view.entries() {
        let key = key.key_text();
        if *first == "*" || *first == key {
            descend(value, rest, &below(at, key), found);
        }
    }
}

fn below(pointer: &str, segment: &str) -> String {
    let mut pointer = pointer.to_owned();
    push_segment(&mut pointer, segment);
    pointer
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{keep_smallest, rule_of};

    #[test]
    fn a_pointer_lies_in_a_rule() {
        let patterns = ["/limits/*", "/when"];
        assert_eq!(rule_of(&patterns, "/limits/a/rates/0"), "/limits/a");
        assert_eq!(rule_of(&patterns, "/when/0/x"), "/when");
        assert_eq!(rule_of(&patterns, "/limits"), "/limits");
        assert_eq!(rule_of(&patterns, "/other/a"), "/other/a");
        assert_eq!(rule_of(&[], "/limits/a"), "/limits/a");
    }

    #[test]
    fn what_has_parts_is_no_rule() {
        let mut set: BTreeSet<String> =
            ["", "/a", "/a/b", "/a-c", "/d"].into_iter().map(str::to_owned).collect();
        keep_smallest(&mut set);
        assert_eq!(set.into_iter().collect::<Vec<_>>(), ["/a-c", "/a/b", "/d"]);
    }
}
