// SPDX-License-Identifier: Apache-2.0
//! In: ten thousand leaves below three levels of delegation, and ten stacks of policies that they share. Out: every
//! distinct level, chain and path is folded once, however many routes have it. Not here: what a fold comes to.
//!
//! ```text
//!  10 roots > 10 routes each > 10 routes each > 10 leaves each      10 + 100 + 1,000 + 10,000 routes, two listeners
//!  stack n: a policy for each of the four levels, by label          what is below root n has stack n
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use overrule_engine::LadderId;
use overrule_kgateway::Profile;
use overrule_testkit::kgateway::OracleSettings;
use support::{Run, ground};

/// Routes of one level below a route of the level above, and stacks.
const EACH: usize = 10;
/// The name of each level, and how its policies meet those below. No two levels are alike, so that groups of different
/// levels are counted apart.
const LEVELS: [(&str, &str); 4] = [
    ("root", "ShallowMergePreferParent"),
    ("upper", "DeepMergePreferChild"),
    ("lower", "DeepMergePreferParent"),
    ("leaf", "ShallowMergePreferChild"),
];

fn fleet() -> String {
    let mut out = String::from(
        "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw, namespace: n}, spec: {\
         gatewayClassName: c, listeners: [{name: a, port: 80, protocol: HTTP}, {name: b, port: 81, protocol: HTTP}]}}\n",
    );
    for stack in 0..EACH {
        for (level, _) in LEVELS {
            policy(&mut out, &format!("{level}-{stack}"), level, &format!("stack: s{stack}"));
        }
        route(&mut out, 0, stack, &format!("r{stack}"), None);
    }
    out
}

/// A policy for all routes of a level with a label.
fn policy(out: &mut String, name: &str, level: &str, label: &str) {
    writeln!(
        out,
        "---\n{{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {{name: {name}, namespace: n}}, \
         spec: {{targetSelectors: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {{level: {level}, \
         {label}}}}}], transformation: {{request: {{set: [{{name: x, value: {name}}}]}}}}}}}}"
    )
    .unwrap();
}

/// A route and everything below it. Children carry the name of their parent as the label it delegates to.
fn route(out: &mut String, level: usize, stack: usize, name: &str, parent: Option<&str>) {
    let (word, annotation) = LEVELS[level];
    let own = if name == "r0-0-0-0" { ", own: 'yes'" } else { "" };
    let label = parent.map_or(String::new(), |p| format!(", delegation.kgateway.dev/label: {p}"));
    let parents = if parent.is_none() { "parentRefs: [{name: gw}], " } else { "" };
    let is_leaf = level + 1 == LEVELS.len();
    let backend = match is_leaf {
        true => String::from("name: svc, port: 80"),
        false => format!("group: delegation.kgateway.dev, kind: label, name: {name}"),
    };
    writeln!(
        out,
        "---\n{{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{name: {name}, namespace: n, \
         labels: {{level: {word}, stack: s{stack}{own}{label}}}, annotations: {{kgateway.dev/inherited-policy-priority: \
         {annotation}}}}}, spec: {{{parents}rules: [{{matches: [{{path: {{value: /}}}}], backendRefs: [{{{backend}}}]}}]}}}}"
    )
    .unwrap();
    for child in 0..if is_leaf { 0 } else { EACH } {
        route(out, level + 1, stack, &format!("{name}-{child}"), Some(name));
    }
}

/// How many groups were folded, by what they are: the sum, and the count of each spec that has any.
fn folds(run: &Run<'_>) -> (u64, Vec<u64>) {
    let mut counts: Vec<u64> = (0..=255).map(|spec| run.resolution.folds_of(spec)).collect();
    counts.retain(|count| *count > 0);
    counts.sort_unstable();
    (counts.iter().sum(), counts)
}

/// Every leaf behind both listeners, with the policies in force on it.
fn leaves(run: &Run<'_>) -> BTreeMap<LadderId, (usize, BTreeSet<String>)> {
    let kind = run.kind("TrafficPolicy").unwrap();
    let mut found: BTreeMap<LadderId, (usize, BTreeSet<String>)> = BTreeMap::new();
    for (_, ladder) in run.resolution.contexts(kind) {
        let entry = found.entry(ladder).or_insert_with(|| {
            let value = run.resolution.effective(ladder).unwrap().value.as_ref();
            (0, value.map(|value| run.writers(value)).unwrap_or_default())
        });
        entry.0 += 1;
    }
    found
}

/// One level each for the 10 stacks of the roots, of the upper and of the lower routes and of the leaves: 40 groups of
/// policies, though 11,110 routes have one. A chain lists the four levels of a leaf: 10. A path is a chain and what
/// stands above it, here nothing: 10. The two listeners differ in nothing that matters, so they share. Chains that end
/// above a leaf are never folded, because nobody is served there.
#[test]
fn what_is_shared_is_folded_once() {
    let text = fleet();
    let ground = ground(&text, &OracleSettings::default());
    for profile in Profile::ALL {
        let run = ground.resolve(profile);
        let leaves = leaves(&run);
        let paths: usize = leaves.values().map(|(number, _)| number).sum();
        assert_eq!(paths, 2 * EACH.pow(4), "{profile:?}");
        assert_eq!(leaves.len(), EACH, "{profile:?}");
        // Every stack is in force with the policies that its annotations leave: the root replaces all else.
        for (number, policies) in leaves.values() {
            let name = policies.iter().next().unwrap();
            assert_eq!((*number, policies.len()), (2 * EACH.pow(3), 1), "{profile:?}");
            assert!(name.starts_with("n/root-"), "{profile:?}: {policies:?}");
        }
        assert_eq!(run.resolution.folds(), 10, "{profile:?}: paths");
        assert_eq!(folds(&run), (60, vec![10; 6]), "{profile:?}: four levels, chains, paths");
    }
}

/// A policy for one leaf makes one more level, chain and path, and nothing else is folded again; one for the Gateway is
/// one more level, and what all paths have in common does not multiply them.
#[test]
fn what_differs_is_folded_once_more() {
    let mut text = fleet();
    policy(&mut text, "own", "leaf", "own: 'yes'");
    text.push_str(
        "---\n{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: gw, namespace: n}, spec: {\
         targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}], csrf: {}}}\n",
    );
    let ground = ground(&text, &OracleSettings::default());
    let run = ground.resolve(Profile::Shipped);
    assert_eq!(leaves(&run).values().map(|(number, _)| *number).min(), Some(2));
    assert_eq!(run.resolution.folds(), 11);
    // Leaves have the default annotation, and so has the Gateway: 11 and 1. Other levels: 10 each.
    assert_eq!(folds(&run), (64, vec![10, 10, 10, 11, 11, 12]));
}
