// SPDX-License-Identifier: Apache-2.0
//! In: neighbours on one target. Out: pairs whose order rests on a creation time that is not in the manifests.

use overrule_engine::{KeyValues, PolicyId, Rung};
use overrule_model::Created;
use overrule_source::Diagnostic;

use crate::codes;
use crate::resolve::{Found, Role};

pub(super) fn report(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    let ladders = &found.resolution.ladders;
    let mut told = std::collections::BTreeSet::new();
    for id in found.subjects.groups(found.resolution) {
        let group = ladders.get(id);
        if crate::resolve::role_of(group.spec) != Role::Level {
            continue;
        }
        for pair in group.rungs.windows(2) {
            let [Rung::Step(a), Rung::Step(b)] = pair else { continue };
            let (Some(first), Some(second)) =
                (found.resolution.rank(*a), found.resolution.rank(*b))
            else {
                continue;
            };
            let decided = first.against(second).key.and_then(|k| crate::KEYS.get(k));
            let by_age =
                decided.is_some_and(|key| matches!(key.values, KeyValues::Ages | KeyValues::Names));
            let (Some(a), Some(b)) = (found.policy_of(*a), found.policy_of(*b)) else { continue };
            let undated = is_undated(found, a) || is_undated(found, b);
            if !by_age || !undated {
                continue;
            }
            let decides = found.resolution.result(id).is_some_and(|result| {
                let policies = |l: &overrule_engine::Loss| found.policy_of(l.step) == Some(b);
                result
                    .losses
                    .iter()
                    .any(|l| policies(l) && l.by.iter().any(|s| found.policy_of(*s) == Some(a)))
            });
            if decides && told.insert((a, b)) {
                out.extend(self::undated(found, a, b));
            }
        }
    }
}

fn is_undated(found: &Found<'_>, id: PolicyId) -> bool {
    let object = found.policy(id).and_then(|p| found.world.snapshot.get(p.object));
    object.is_some_and(|o| o.created == Created::Absent)
}

fn undated(found: &Found<'_>, above: PolicyId, below: PolicyId) -> Option<Diagnostic> {
    let (first, second) = (found.policy(above)?, found.policy(below)?);
    let reading = match found.world.profile {
        crate::Profile::Design => {
            "a policy without one counts as newest, as it will be once applied"
        }
        crate::Profile::Shipped => "the controller treats a policy without one as oldest",
    };
    let message = format!(
        "`{}` goes before `{}` because of a creation time that is not in the manifests: {reading}",
        found.name(above),
        found.name(below)
    );
    let d = Diagnostic::new(&codes::UNDATED, message)
        .at(second.at)
        .see(first.at, "goes before it")
        .field("metadata.creationTimestamp");
    Some(d.help("set kgateway.dev/policy-weight if the order matters; see also --assume-created"))
}
