// SPDX-License-Identifier: Apache-2.0
//! In: units that guard access. Out: who switches one off that others set, and header changes that a less specific
//! place decides.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{Effective, KindId, LadderId, PolicyId, StepId};
use overrule_gateway::topology::level;
use overrule_source::{Diagnostic, Documents, Span};

use super::some_of;
use crate::kinds::{GUARDS, TRAFFIC_POLICY};
use crate::resolve::{Found, disabling};
use crate::{codes, reasons};

pub(super) fn report(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let Some(kind) = found.kinds.iter().find(|k| k.index == TRAFFIC_POLICY).map(|k| k.id) else {
        return;
    };
    if found.world.policies.disables {
        switched_off(found, kind, out);
    }
    general_header(found, kind, out);
}

/// Reports who switches guards off. What is said about headers takes a look at everything.
pub(super) fn of_change(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let kind = found.kinds.iter().find(|k| k.index == TRAFFIC_POLICY).map(|k| k.id);
    if let Some(kind) = kind.filter(|_| found.world.policies.disables) {
        switched_off(found, kind, out);
    }
}

/// Whether header changes of several tiers meet on a ladder, so that the last word may be somebody else's than before.
pub(crate) fn has_headers_of_tiers(documents: &Documents, result: Option<&Effective>) -> bool {
    let value = result.and_then(|result| result.value.as_ref());
    value.is_some_and(|value| value.at(documents, HEADERS_OF_TIERS).is_some())
}

const HEADERS_OF_TIERS: [&str; 2] = ["headerModifiers", "levels"];

/// One who switches off: whose guard, on how many paths, where it is written.
#[derive(Default)]
struct Off {
    of: BTreeSet<String>,
    paths: u64,
    at: Option<Span>,
    /// Whether both stand on a chain of routes, so that an annotation can settle it.
    on_chain: bool,
}

fn switched_off(found: &Found<'_>, kind: KindId, out: &mut Vec<Diagnostic>) {
    let documents = found.world.documents;
    let mut off: BTreeMap<(PolicyId, &str), Off> = BTreeMap::new();
    for (ladder, (_, paths)) in found.ladders(kind) {
        let Some(effective) = found.resolution.effective(ladder) else { continue };
        let Some(value) = &effective.value else { continue };
        for unit in GUARDS {
            let Some(held) = value.get(documents, unit) else { continue };
            let Some(disable) = disabling(documents, &held) else { continue };
            let Some(step) = disable.steps().first().copied() else { continue };
            let Some(by) = found.policy_of(step) else { continue };
            let place = format!("/{unit}");
            let lost = effective.losses.iter().filter(|l| {
                l.pointer
                    .strip_prefix(&*place)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    && !rest_is_disable(&l.pointer)
                    && l.reason != &reasons::FORGOTTEN
            });
            // Providers that are listed beside the switch do not run either.
            let beside = held.steps().into_iter().filter(|s| *s != step);
            let victims: Vec<StepId> = lost.map(|l| l.step).chain(beside).collect();
            let on_chain = victims.iter().chain([&step]).all(|s| {
                found.resolution.ladders.get_step(*s).is_some_and(|s| s.level >= level::ROUTE.0)
            });
            let of: BTreeSet<String> = victims
                .into_iter()
                .filter_map(|s| found.policy_of(s))
                .filter(|p| *p != by)
                .map(|p| found.name(p))
                .collect();
            if of.is_empty() {
                continue;
            }
            let slot = off.entry((by, unit)).or_default();
            slot.on_chain |= on_chain;
            slot.of.extend(of);
            slot.paths += paths;
            slot.at = slot.at.or(disable.node().map(|n| documents.view(n).span()));
        }
    }
    for ((by, unit), Off { of, paths, at, on_chain }) in off {
        let of: Vec<String> = of.into_iter().collect();
        let word = if paths == 1 { "path" } else { "paths" };
        let message = format!(
            "`{}` switches off the `{unit}` of {} on {paths} {word}",
            found.name(by),
            some_of(&of)
        );
        let at = at.or_else(|| found.policy(by).map(|p| p.at));
        let d = Diagnostic::new(&codes::GUARD_DISABLED, message);
        let d = at.map_or(d.clone(), |at| d.at(at));
        let help = if on_chain {
            "if that is not wanted, set kgateway.dev/inherited-policy-priority: ShallowMergePreferParent on the route that delegates"
        } else {
            "if that is not wanted, put the check on a route that delegates, with kgateway.dev/inherited-policy-priority: ShallowMergePreferParent; a setting on a Gateway cannot prevent it"
        };
        out.push(d.field(format!("spec.{unit}.disable")).help(help));
    }
}

fn rest_is_disable(pointer: &str) -> bool {
    pointer.ends_with("/disable")
}

/// Header changes of several tiers that set one header: the last one counts, and that is the least specific.
fn general_header(found: &Found<'_>, kind: KindId, out: &mut Vec<Diagnostic>) {
    if !found.world.profile.general_header_wins() {
        return;
    }
    let documents = found.world.documents;
    let mut told: BTreeSet<(StepId, String)> = BTreeSet::new();
    let ladders: BTreeSet<LadderId> = found.resolution.contexts(kind).map(|(_, l)| l).collect();
    for ladder in ladders {
        let value = found.resolution.effective(ladder).and_then(|e| e.value.as_ref());
        let levels = value.and_then(|v| v.at(documents, HEADERS_OF_TIERS));
        let items = levels.map(|l| l.items(documents)).unwrap_or_default();
        let mut set: BTreeMap<(String, String), StepId> = BTreeMap::new();
        for item in &items {
            for direction in ["request", "response"] {
                let list = item.at(documents, [direction, "set"]);
                for header in list.map(|l| l.items(documents)).unwrap_or_default() {
                    let name = header.get(documents, "name").and_then(|n| n.node());
                    let Some(name) = name.and_then(|n| documents.view(n).as_str()) else {
                        continue;
                    };
                    let Some(step) = item.steps().first().copied() else { continue };
                    let key = (direction.to_owned(), name.to_ascii_lowercase());
                    let Some(before) = set.insert(key, step).filter(|b| *b != step) else {
                        continue;
                    };
                    if !told.insert((before, name.to_ascii_lowercase())) {
                        continue;
                    }
                    let names = (found.policy_of(before), found.policy_of(step));
                    let (Some(specific), Some(general)) = names else { continue };
                    let message = format!(
                        "header `{name}` of `{}` is overwritten by `{}`, which is less specific but applied last",
                        found.name(specific),
                        found.name(general)
                    );
                    let d = Diagnostic::new(&codes::GENERAL_HEADER_WINS, message);
                    let at = header.node().map(|n| documents.view(n).span());
                    let d = at.map_or(d.clone(), |at| d.at(at));
                    out.push(d.field("spec.headerModifiers").help("set a header on one tier only"));
                }
            }
        }
    }
}
