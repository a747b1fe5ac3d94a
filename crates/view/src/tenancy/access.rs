// SPDX-License-Identifier: Apache-2.0
//! In: a decision about a client. Out: the same as a reader of the inbound may know it: the verdict, and the name of who
//! decides. Not here: deciding.

use crate::v1;

/// Takes out of a decision what a reader may not know; `readable` says whether it may read the policy.
pub fn hide_decision(decision: &mut v1::AccessDecision, readable: &dyn Fn(&v1::DecidedBy) -> bool) {
    let verdict = decision.verdict;
    match &mut decision.by {
        Some(by) if !readable(by) => {
            decision.because = format!("{} decides", by.policy);
            bare(by, verdict);
        }
        Some(_) => {}
        // Whether some permission selects the inbound without matching is nobody's business.
        None if verdict == "denied" && is_about_permissions(&decision.because) => {
            decision.because = "nobody allows it".to_owned();
        }
        None => {}
    }
    if decision.by_tree.as_ref().is_some_and(|by| !readable(by)) {
        decision.by_tree = None;
    }
    if decision.shadow.as_ref().is_some_and(|by| !readable(by)) {
        decision.shadow = None;
    }
    decision.matched.retain(|by| readable(by));
    decision.other_profiles.clear();
}

/// Leaves the name.
fn bare(by: &mut v1::DecidedBy, verdict: &str) {
    by.part.clear();
    by.matches.clear();
    by.effect = if verdict == "denied" { "deny" } else { "allow" }.to_owned();
    by.at = None;
}

/// Whether the reason lies in what permissions say, and not in certificates.
fn is_about_permissions(because: &str) -> bool {
    because.contains("MeshTrafficPermission") || because.contains("permissions of the inbound")
}
