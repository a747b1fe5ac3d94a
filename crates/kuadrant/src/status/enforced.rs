// SPDX-License-Identifier: Apache-2.0
//! In: what became of every rule on every path. Out: whether policies are enforced. One pass over the ladders.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overrule_engine::{Effective, Fate, Guard, LadderId, PolicyId, Traced, dotted};

use super::{Condition, Names};
use crate::kinds::MergeClass;

/// What became of the rules of one policy over all paths.
#[derive(Default, Clone)]
struct Tale {
    /// A rule of it is in force somewhere.
    in_force: bool,
    /// Rules that lost somewhere, by id, and to whom.
    beaten: BTreeMap<String, BTreeSet<PolicyId>>,
    /// Rules removed somewhere, and by whom.
    removed: BTreeMap<String, BTreeSet<PolicyId>>,
    /// Blocks left out somewhere, and whether because the condition failed.
    skipped: BTreeSet<(&'static str, bool)>,
    /// It took rules of others out.
    removes: bool,
}

/// The condition `Enforced` of every policy; none for kinds whose enforcement only a cluster knows.
pub(super) fn all(names: &Names<'_>) -> Vec<Option<Condition>> {
    let tales = tales(names);
    let policies = names.world.policies.list.iter().zip(&tales);
    let condition = |(policy, tale): (&Arc<crate::policy::Policy>, &Tale)| match policy.info.class {
        MergeClass::Inherited if names.is_operator() => {
            Some(shipped(names, policy.info.kind, tale))
        }
        MergeClass::Inherited => Some(truthful(names, policy.info.kind, tale)),
        MergeClass::Direct | MergeClass::Generates { .. } => None,
    };
    policies.map(condition).collect()
}

fn tales(names: &Names<'_>) -> Vec<Tale> {
    let mut tales = vec![Tale::default(); names.world.policies.list.len()];
    let count = u32::try_from(names.resolution.ladders.len()).unwrap_or(u32::MAX);
    for ladder in (0..count).map(LadderId) {
        if let Some(effective) = names.resolution.effective(ladder) {
            on_ladder(names, ladder, effective, &mut tales);
        }
    }
    tales
}

fn on_ladder(names: &Names<'_>, ladder: LadderId, effective: &Effective, tales: &mut [Tale]) {
    let steps = &names.resolution.ladders;
    let policy_of = |step| steps.get_step(step).map(|s| s.policy);
    let mut now: BTreeMap<String, PolicyId> = BTreeMap::new();
    if let Some(value) = &effective.value {
        value.parts(names.world.documents, &mut |pointer, step, _: &Traced| {
            now.extend(policy_of(step).map(|p| (pointer.to_owned(), p)));
        });
    }
    for policy in now.values() {
        if let Some(tale) = tales.get_mut(policy.0 as usize) {
            tale.in_force = true;
        }
    }
    let mut contributors: BTreeSet<PolicyId> = now.values().copied().collect();
    let any = names.resolution.outcomes(ladder).first().map(|(p, _)| *p);
    let kind = any.and_then(|p| names.world.policies.list.get(p.0 as usize)).map(|p| p.info.kind);
    if names.is_operator() && kind == Some("TokenRateLimitPolicy") {
        // The operator names every policy of the path for this kind, overridden ones included.
        contributors = names.resolution.outcomes(ladder).iter().map(|(p, _)| *p).collect();
    }
    for loss in &effective.losses {
        let Some(loser) = policy_of(loss.step) else { continue };
        let id = dotted(&loss.pointer);
        if loss.fate == Fate::Removed {
            let by: BTreeSet<PolicyId> = loss.by.iter().filter_map(|s| policy_of(*s)).collect();
            for remover in &by {
                if let Some(tale) = tales.get_mut(remover.0 as usize) {
                    tale.removes = true;
                }
            }
            if let Some(tale) = tales.get_mut(loser.0 as usize) {
                tale.removed.entry(id).or_default().extend(by);
            }
            continue;
        }
        let Some(tale) = tales.get_mut(loser.0 as usize) else { continue };
        let by = tale.beaten.entry(id).or_default();
        match now.get(&*loss.pointer) {
            Some(winner) => by.extend([*winner]),
            None => by.extend(contributors.iter().copied()),
        }
    }
    for check in effective.checks().iter().filter(|c| c.verdict != Guard::Met) {
        let Some(step) = steps.get_step(check.step) else { continue };
        if let Some(tale) = tales.get_mut(step.policy.0 as usize) {
            tale.skipped.insert((step.block, check.verdict == Guard::Failed));
        }
    }
}

fn enforced(status: bool, reason: &'static str, message: String) -> Condition {
    Condition { ancestor: None, kind: "Enforced", status, reason, message }
}

/// What the operator writes.
fn shipped(names: &Names<'_>, kind: &str, tale: &Tale) -> Condition {
    let by: BTreeSet<String> = tale.beaten.values().flatten().map(|p| names.policy(*p)).collect();
    let by: Vec<String> = by.into_iter().collect();
    match (tale.in_force, tale.beaten.is_empty()) {
        (false, true) => {
            let message = format!("{kind} is not in the path to any existing routes");
            enforced(false, "Unknown", message)
        }
        (false, false) => {
            let message = format!("{kind} is overridden by [{}]", by.join(" "));
            enforced(false, "Overridden", message)
        }
        (true, false) if kind == "TokenRateLimitPolicy" => {
            let rules: Vec<&str> = tale.beaten.keys().map(String::as_str).collect();
            let message = format!("policy rule(s) overridden: {}", rules.join(", "));
            enforced(false, "Unknown", message)
        }
        (true, false) => enforced(true, "Enforced", format!("{kind} has been partially enforced")),
        (true, true) => {
            enforced(true, "Enforced", format!("{kind} has been successfully enforced"))
        }
    }
}

/// What should be written: every rule that is not in force somewhere, and because of whom.
fn truthful(names: &Names<'_>, kind: &str, tale: &Tale) -> Condition {
    let list = |by: &BTreeSet<PolicyId>| {
        let by: BTreeSet<String> = by.iter().map(|p| names.policy(*p)).collect();
        by.into_iter().collect::<Vec<_>>().join(", ")
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(tale.beaten.iter().map(|(rule, by)| {
        if by.is_empty() {
            format!("{rule} replaced by nothing")
        } else {
            format!("{rule} replaced by {}", list(by))
        }
    }));
    parts.extend(tale.removed.iter().map(|(rule, by)| format!("{rule} removed by {}", list(by))));
    parts.extend(tale.skipped.iter().map(|(block, failed)| {
        if *failed {
            format!("{block} skipped where its condition fails")
        } else {
            format!("{block} skipped where its condition does not hold")
        }
    }));
    let somewhere = format!("on some paths: {}", parts.join("; "));
    match (tale.in_force || tale.removes, parts.is_empty()) {
        (true, true) => enforced(true, "Enforced", format!("{kind} is enforced on every path")),
        (true, false) => {
            enforced(true, "PartiallyEnforced", format!("{kind} is enforced in part; {somewhere}"))
        }
        (false, false) => enforced(
            false,
            "Overridden",
            format!("{kind} is not enforced anywhere: {}", parts.join("; ")),
        ),
        (false, true) => {
            enforced(false, "Unknown", format!("{kind} has no rule on any path of a route"))
        }
    }
}
