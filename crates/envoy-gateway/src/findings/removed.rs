// SPDX-License-Identifier: Apache-2.0
//! In: rows that more than one policy would have. Out: what the policy that took a row removed from it.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{FoldAction, KindId, LadderId, NodeId, PolicyId, Rung};
use overrule_source::Diagnostic;

use super::quoted;
use crate::kinds::{GUARDS, KindInfo, KindRole};
use crate::resolve::Found;
use crate::{codes, reasons};

/// What one policy removed of another one.
#[derive(Default)]
struct Removal {
    fields: BTreeSet<String>,
    ladders: BTreeSet<LadderId>,
    /// Whether the policy sets nothing there.
    sets_nothing: bool,
}

pub(super) fn report(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    for (kind, info) in found.kinds() {
        if info.role.is_on_rows() {
            of_kind(found, kind, info, out);
        }
    }
}

fn of_kind(found: &Found<'_, '_>, kind: KindId, info: &KindInfo, out: &mut Vec<Diagnostic>) {
    let mut removals: BTreeMap<(PolicyId, PolicyId), Removal> = BTreeMap::new();
    let mut skipped: BTreeMap<(PolicyId, PolicyId), BTreeSet<LadderId>> = BTreeMap::new();
    for ladder in found.ladders(kind).into_keys() {
        let Some((winner, merges)) = winner(found, ladder) else { continue };
        let Some(effective) = found.resolution.effective(ladder) else { continue };
        let documents = found.plan.world().documents;
        let entries = effective.value.iter().flat_map(|value| value.entries(documents));
        let set: BTreeSet<String> = entries
            .map(|(key, _)| key.text(documents).to_owned())
            .filter(|field| info.field(field).is_some())
            .collect();
        for loss in &effective.losses {
            if loss.reason != &reasons::FIRST_TAKES_ALL {
                continue;
            }
            let Some(loser) = found.policy_of(loss.step).filter(|loser| *loser != winner) else {
                continue;
            };
            let field = loss.pointer.split('/').nth(1).unwrap_or("");
            if merges {
                skipped.entry((winner, loser)).or_default().insert(ladder);
            } else if !field.is_empty() && !set.contains(field) {
                let removal = removals.entry((winner, loser)).or_default();
                removal.fields.insert(field.to_owned());
                removal.ladders.insert(ladder);
                removal.sets_nothing = set.is_empty();
            }
        }
    }
    let all: BTreeSet<LadderId> =
        removals.values().flat_map(|removal| &removal.ladders).copied().collect();
    let mut routes = found.routes(kind, &all);
    for ((winner, loser), removal) in removals {
        let of_ladders = removal.ladders.iter().filter_map(|ladder| routes.get(ladder));
        let of_ladders: BTreeSet<NodeId> = of_ladders.flatten().copied().collect();
        say(found, info, (winner, loser), &removal, &of_ladders, out);
    }
    routes = found.routes(kind, &skipped.values().flatten().copied().collect());
    for ((winner, loser), ladders) in skipped {
        let of_ladders: BTreeSet<NodeId> =
            ladders.iter().filter_map(|ladder| routes.get(ladder)).flatten().copied().collect();
        skips(found, (winner, loser), &of_ladders, out);
    }
}

/// Who took a ladder, and whether it is merged with another one.
fn winner(found: &Found<'_, '_>, ladder: LadderId) -> Option<(PolicyId, bool)> {
    let effective = found.resolution.effective(ladder)?;
    let rungs = &found.resolution.ladders.get(ladder).rungs;
    let mut log = effective.log(&found.resolution.ladders);
    let took = log.find(|entry| entry.done == FoldAction::Took && rungs.contains(&entry.rung))?;
    match took.rung {
        Rung::Step(step) => Some((found.policy_of(step)?, false)),
        Rung::Group(unit) => {
            let child = found.resolution.ladders.steps(unit).first().copied()?;
            Some((found.policy_of(child)?, true))
        }
    }
}

fn say(
    found: &Found<'_, '_>,
    info: &KindInfo,
    (winner, loser): (PolicyId, PolicyId),
    removal: &Removal,
    routes: &BTreeSet<NodeId>,
    out: &mut Vec<Diagnostic>,
) {
    let (Some(policy), Some(above)) = (found.policy(winner), found.policy(loser)) else { return };
    let is_guard =
        |field: &&String| info.role == KindRole::Security && GUARDS.contains(&field.as_str());
    let (guards, others): (Vec<&String>, Vec<&String>) = removal.fields.iter().partition(is_guard);
    let (on, from) = (found.nodes(routes), found.name(loser));
    let report = |code, fields: &[&String]| {
        let fields = quoted(fields.iter().map(|field| field.as_str()));
        let message = format!("this policy removes {fields} that `{from}` gave to {on}");
        let d = Diagnostic::new(code, message)
            .at(policy.at)
            .see(above.at, "the policy that loses them");
        d.field("spec").help(
            "set `mergeType: StrategicMerge` if it is to add to the other policy (policies of routes only), or repeat the fields here",
        )
    };
    if !guards.is_empty() {
        out.push(report(&codes::REMOVES_GUARD, &guards));
    }
    if removal.sets_nothing {
        let message = format!(
            "this policy sets nothing, and so switches off for {on} everything that `{from}` gives"
        );
        let d = Diagnostic::new(&codes::EMPTY_TAKES, message).at(policy.at);
        out.push(d.see(above.at, "the policy that is switched off").field("spec").help(
            "remove the policy; the first policy on a rule takes all of it, also one that sets nothing",
        ));
    } else if !others.is_empty() {
        out.push(report(&codes::REMOVES, &others));
    }
}

/// A policy of a rule that is merged with a Gateway's, past the policy of the route.
fn skips(
    found: &Found<'_, '_>,
    (winner, loser): (PolicyId, PolicyId),
    routes: &BTreeSet<NodeId>,
    out: &mut Vec<Diagnostic>,
) {
    let (Some(policy), Some(between)) = (found.policy(winner), found.policy(loser)) else { return };
    let message = format!(
        "this policy is merged past `{}`, which counts for nothing on the rules of {} that this policy has",
        found.name(loser),
        found.nodes(routes)
    );
    let d = Diagnostic::new(&codes::ROUTE_SKIPPED, message).at(policy.at);
    out.push(d.see(between.at, "the policy that is skipped").field("spec.mergeType").help(
        "a policy is merged with the closest one above the route only; repeat here what the other policy sets",
    ));
}
