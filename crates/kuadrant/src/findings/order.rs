// SPDX-License-Identifier: Apache-2.0
//! In: neighbours on one target. Out: who stands above whom, what that means, and what it rests on. Each pair once.

use overrule_engine::{Attachment, PolicyId};
use overrule_gateway::codes_policy;
use overrule_model::Created;
use overrule_source::Diagnostic;

use super::Findings;
use crate::codes;

/// Reports every pair of neighbours whose order no level decides: those of one target.
pub(super) fn report(findings: &Findings<'_>, out: &mut Vec<Diagnostic>) {
    among(findings, findings.resolution.attachments.iter(), out);
}

/// Reports those of them on the target of one policy.
pub(super) fn around(findings: &Findings<'_>, id: PolicyId, out: &mut Vec<Diagnostic>) {
    let resolution = findings.resolution;
    // A policy has one target, so whatever has the same target is on each of its ladders.
    let Some(ladder) = resolution.ladders_of(id).first() else { return };
    let Some(node) = resolution.attachments_of(id).next().map(|a| a.node) else { return };
    let near = resolution.outcomes(*ladder).iter();
    let near = near.flat_map(|(policy, _)| resolution.attachments_of(*policy));
    among(findings, near.filter(|a| a.node == node), out);
}

fn among<'a>(
    findings: &Findings<'_>,
    attachments: impl Iterator<Item = &'a Attachment>,
    out: &mut Vec<Diagnostic>,
) {
    let mut landed: Vec<_> = attachments
        .filter(|a| findings.resolution.tally(a.policy).paths() > 0)
        .filter_map(|a| findings.policy(a.policy).map(|p| (p.kind, a.node, a.policy)))
        .collect();
    landed.sort_unstable();
    for target in landed.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|t| t.len() > 1) {
        let mut policies: Vec<PolicyId> = target.iter().map(|(_, _, policy)| *policy).collect();
        policies.sort_by_cached_key(|p| (age(findings, *p).key(), findings.name(*p)));
        for pair in policies.windows(2) {
            if let [above, below] = pair {
                self::pair(findings, *above, *below, out);
            }
        }
    }
}

fn age(findings: &Findings<'_>, policy: PolicyId) -> Created {
    let object = findings.policy(policy).and_then(|p| findings.world.snapshot.get(p.object));
    object.map_or(Created::Absent, |o| o.created)
}

fn pair(findings: &Findings<'_>, a: PolicyId, b: PolicyId, out: &mut Vec<Diagnostic>) {
    let (Some(first), Some(second)) = (findings.policy(a), findings.policy(b)) else { return };
    if first.info.is_direct() {
        return;
    }
    let (one, other) = (age(findings, a), age(findings, b));
    let (above, below) = (findings.name(a), findings.name(b));
    let because = if one.key() == other.key() {
        "because its name comes first and their creation times are equal"
    } else {
        "because it is older"
    };
    let message = format!(
        "`{above}` and this policy have the same target; `{above}` comes first {because}: its overrides win and its defaults lose"
    );
    let d = Diagnostic::new(&codes::ORDER_DECIDES, message)
        .at_with(second.at, "comes second")
        .see(first.at, "comes first")
        .field("metadata.name");
    out.push(d.help(
        "if the order should not matter, merge both into one policy, or move one to another level",
    ));
    if !one.is_known() || !other.is_known() {
        let message = format!(
            "the order of `{above}` and `{below}` depends on a creation time that is not in the manifests"
        );
        let d = Diagnostic::new(&codes_policy::UNKNOWN_CREATION_TIME, message)
            .at(second.at)
            .see(first.at, "the other policy")
            .field("metadata.creationTimestamp");
        out.push(d.help("a missing creation time counts as newest; see --assume-created"));
    }
}
