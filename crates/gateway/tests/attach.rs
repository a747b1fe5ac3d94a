// SPDX-License-Identifier: Apache-2.0
//! Where references land, in the cases that the format of policy tests cannot say: rejections with their reason.

#![allow(clippy::unwrap_used, reason = "a helper of tests that fails is a failing test")]

use overrule_engine::Outcome;
use overrule_testkit::run::{PipelineRun, run_text};

const WORLD: &str = r#"
{apiVersion: overrule/v1, kind: PolicyKind, metadata: {name: p}, spec: {group: e.io, kind: P, class: Inherited}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: n}, spec: {gatewayClassName: c, listeners: [{name: web, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: n, labels: {app: x}}, spec: {parentRefs: [{name: g}], rules: [{name: read}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b, namespace: n, labels: {app: x}}, spec: {parentRefs: [{name: g}], rules: [{name: write}]}}
---
"#;

/// The world with one policy whose spec is given.
fn with_policy(spec: &str) -> PipelineRun {
    run_text(&format!(
        "{WORLD}{{apiVersion: e.io/v1, kind: P, metadata: {{name: p, namespace: n}}, spec: {spec}}}\n"
    ))
}

/// Attachments, then rejections as (reference, reason).
fn ends(run: &PipelineRun) -> (usize, Vec<(u32, &'static str)>) {
    let rejections = run.resolution.rejections.iter().map(|r| (r.reference, r.reason.id));
    (run.resolution.attachments.len(), rejections.collect())
}

fn codes(run: &PipelineRun) -> Vec<&'static str> {
    run.diagnostics
        .iter()
        .map(|d| d.code.id)
        .filter(|id| id.starts_with("OV13") || *id == "OV1106")
        .collect()
}

#[test]
fn one_selected_object_without_the_section_keeps_no_other_from_it() {
    let run = with_policy(
        "{targetSelectors: [{kind: HTTPRoute, matchLabels: {app: x}, sectionName: read}], v: 1}",
    );
    assert_eq!(ends(&run), (1, vec![]));
    assert_eq!(codes(&run), ["OV1302"], "the one that lacks it is named");
}

#[test]
fn a_selector_whose_objects_all_lack_the_section_is_rejected() {
    let run = with_policy(
        "{targetSelectors: [{kind: HTTPRoute, matchLabels: {app: x}, sectionName: delete}], v: 1}",
    );
    assert_eq!(ends(&run), (0, vec![(0, "section-not-found")]));
}

#[test]
fn a_reference_that_cannot_be_read_is_rejected_and_the_next_keeps_its_number() {
    let run = with_policy(
        "{targetRefs: [{name: a}, {kind: HTTPRoute, name: nope}, {kind: HTTPRoute, name: b}], v: 1}",
    );
    assert_eq!(ends(&run), (1, vec![(0, "unreadable-reference"), (1, "target-not-found")]));
    assert_eq!(codes(&run), ["OV1106", "OV1301"]);
}

#[test]
fn a_strategy_beside_a_block_names_two_and_is_refused() {
    let run = with_policy(
        "{targetRefs: [{kind: Gateway, name: g}], strategy: PatchDefaults, overrides: {v: 1}}",
    );
    assert_eq!(ends(&run), (0, vec![(0, "invalid-policy")]));
    assert_eq!(codes(&run), ["OV1310"]);
    let (policy, _) = run.resolution.policies().next().unwrap();
    assert_eq!(run.resolution.outcome(policy), Outcome::Rejected);
}
