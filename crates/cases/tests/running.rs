// SPDX-License-Identifier: Apache-2.0
//! In: one small set of manifests and expectations that hold or do not. Out: exactly the mismatch each deserves.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a broken expectation shall stop the test"
)]

use overrule_cases::{CaseResult, DifferenceKind, junit, plain, read_file, run, summary};
use overrule_source::Input;
use overrule_view::Styles;

/// Gateway default {color: red, size: 1} as a patch, route policy {color: blue}.
const MANIFESTS: &str = r#"
input:
- apiVersion: overrule/v1
  kind: PolicyKind
  metadata: {name: colors}
  spec: {group: example.com, kind: ColorPolicy, class: Inherited}
- apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {name: edge, namespace: infra}
  spec: {gatewayClassName: c, listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: cart, namespace: shop}
  spec:
    parentRefs: [{name: edge, namespace: infra}]
    hostnames: [cart.example]
    rules: [{matches: [{path: {type: Exact, value: /a}}], backendRefs: [{name: b, port: 80}]}]
- apiVersion: example.com/v1
  kind: ColorPolicy
  metadata: {name: base, namespace: infra}
  spec: {targetRefs: [{kind: Gateway, name: edge}], strategy: PatchDefaults, color: red, size: 1}
- apiVersion: example.com/v1
  kind: ColorPolicy
  metadata: {name: cart, namespace: shop}
  spec: {targetRefs: [{kind: HTTPRoute, name: cart}], color: blue}
"#;

const PATH: &str = "path: [infra/edge, web, shop/cart, rule-1], kind: ColorPolicy";
const FIELDS: &str = "fields: {color: blue, size: 1}";

fn results(rest: &str) -> Vec<CaseResult> {
    let text = format!("name: t{MANIFESTS}{rest}\n");
    let (cases, broken) = read_file(Input::new("dir/t.yaml", text), None);
    assert!(broken.is_empty(), "{broken:#?}");
    cases.iter().flat_map(|case| run(case, None)).collect()
}

/// The kinds of mismatches a test has with these expectations.
fn whats(rest: &str) -> Vec<DifferenceKind> {
    results(rest).iter().flat_map(|r| r.mismatches().iter().map(|m| m.what)).collect()
}

fn entry(rest: &str) -> Vec<DifferenceKind> {
    whats(&format!("expect:\n- {{{PATH}, {rest}}}"))
}

fn text(rest: &str) -> String {
    results(&format!("expect:\n- {{{PATH}, {rest}}}"))
        .iter()
        .map(|r| plain(r, true, &Styles::plain()))
        .collect()
}

#[test]
fn a_correct_entry_passes_in_every_spelling() {
    for rest in [
        FIELDS,
        "rules: {/color: blue, /size: 1}",
        "spec: {size: 1.0, color: blue}",
        "fields: {color: blue, size: 1}, sources: {color: shop/cart, size: [infra/base]}",
        "fields: {color: blue, size: 1}, shadowed: [{policy: infra/base, pointer: /color, by: [shop/cart]}]",
        "fields: {color: blue, size: 1}, overridden: [{policy: infra/base, rule: color, by: shop/cart}]",
        "fields: {color: blue, size: 1}, overridden: [{policy: infra/base, block: bare}]",
        "masked: [], removed: [], skipped: [], error: false",
        "hostnames: [cart.example], match: {path: {value: /a}}",
    ] {
        assert_eq!(entry(rest), [], "{rest}\n{}", text(rest));
    }
    for path in [
        "[infra/edge, web, shop/cart, '#0']",
        "[Gateway infra/edge, web, HTTPRoute shop/cart, rule-1]",
    ] {
        assert_eq!(
            whats(&format!("expect: [{{path: {path}, kind: ColorPolicy.example.com, {FIELDS}}}]")),
            []
        );
    }
    assert_eq!(text(FIELDS), "ok t (gep713)\n");
}

#[test]
fn one_field_can_be_asserted_alone() {
    let partial = |rest: &str| entry(&format!("partial: true, {rest}"));
    for passes in ["fields: {color: blue}", "fields: {}", "spec: {size: 1}", "spec: {}", FIELDS] {
        assert_eq!(partial(passes), [], "{passes}");
    }
    assert_eq!(partial("fields: {color: red}"), [DifferenceKind::Value]);
    assert_eq!(partial("fields: {shape: round}"), [DifferenceKind::Missing]);
    assert_eq!(partial("spec: {color: red}"), [DifferenceKind::Value]);
    assert_eq!(entry("fields: {color: blue}"), [DifferenceKind::Unexpected]);
    assert_eq!(entry("partial: false, fields: {color: blue}"), [DifferenceKind::Unexpected]);
}

#[test]
fn values_and_fields() {
    assert_eq!(entry("fields: {color: green, size: 1}"), [DifferenceKind::Value]);
    assert_eq!(entry("fields: {color: blue}"), [DifferenceKind::Unexpected]);
    assert_eq!(entry("fields: {}"), [DifferenceKind::Unexpected, DifferenceKind::Unexpected]);
    assert_eq!(entry("fields: {color: blue, size: 1, shape: round}"), [DifferenceKind::Missing]);
    assert_eq!(entry("spec: {color: blue, size: 2}"), [DifferenceKind::Value]);
    assert_eq!(entry("spec: [1]"), [DifferenceKind::Value]);
    let shown = text("fields: {color: green, size: 1}");
    assert!(shown.starts_with("FAILED t (gep713)\n  dir/t.yaml:27:"), "{shown}");
    for part in [
        "`color` has another value (from shop/cart)",
        "at       infra/edge > web > shop/cart > rule-1, ColorPolicy\n",
        "expected \"green\"\n",
        "actual   \"blue\"\n",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn origins_and_losses() {
    assert_eq!(
        entry(&format!("{FIELDS}, sources: {{color: infra/base}}")),
        [DifferenceKind::Source]
    );
    assert_eq!(
        entry(&format!("{FIELDS}, sources: {{color: [shop/cart, infra/base]}}")),
        [DifferenceKind::Source]
    );
    assert_eq!(
        entry(&format!("{FIELDS}, sources: {{shape: shop/cart}}")),
        [DifferenceKind::Source]
    );
    assert_eq!(entry(&format!("{FIELDS}, shadowed: []")), [DifferenceKind::Shadowed]);
    let wrong_by = "shadowed: [{policy: infra/base, rule: color, by: infra/base}]";
    assert_eq!(entry(&format!("{FIELDS}, {wrong_by}")), [DifferenceKind::Shadowed]);
    let not_lost =
        "shadowed: [{policy: infra/base, rule: color}, {policy: infra/base, rule: size}]";
    assert_eq!(entry(&format!("{FIELDS}, {not_lost}")), [DifferenceKind::Shadowed]);
    let wrong_block = "shadowed: [{policy: infra/base, rule: color, block: overrides}]";
    assert_eq!(
        entry(&format!("{FIELDS}, {wrong_block}")),
        [DifferenceKind::Shadowed, DifferenceKind::Shadowed]
    );
    assert_eq!(entry(&format!("{FIELDS}, masked: [color]")), [DifferenceKind::Masked]);
    assert_eq!(
        entry(&format!("{FIELDS}, removed: [{{policy: a/b, rule: r}}]")),
        [DifferenceKind::Removed]
    );
    assert_eq!(entry(&format!("{FIELDS}, skipped: [{{policy: a/b}}]")), [DifferenceKind::Skipped]);
}

#[test]
fn the_rest_of_an_entry() {
    assert_eq!(entry("error: true"), [DifferenceKind::Error]);
    assert_eq!(entry("hostnames: [other.example]"), [DifferenceKind::Hostnames]);
    assert_eq!(entry("match: {path: {value: /b}}"), [DifferenceKind::Match]);
    assert_eq!(entry("accumulated: []"), [DifferenceKind::Unsupported]);
}

#[test]
fn paths_and_kinds() {
    let expect = |path: &str, kind: &str| {
        whats(&format!("partial: true\nexpect: [{{path: {path}, kind: {kind}}}]"))
    };
    assert_eq!(
        expect("[infra/edge, wbe, shop/cart, rule-1]", "ColorPolicy"),
        [DifferenceKind::NoPath]
    );
    assert_eq!(expect("[infra/edge, web]", "ColorPolicy"), [DifferenceKind::NoTarget]);
    assert_eq!(
        expect("[infra/edge, web, shop/cart, rule-1]", "ColourPolicy"),
        [DifferenceKind::NoTarget]
    );
    let near = results(
        "partial: true\nexpect: [{path: [infra/edge, wbe, shop/cart, rule-1], kind: ColorPolicy}]",
    );
    assert!(
        near[0].mismatches()[0]
            .actual
            .as_ref()
            .unwrap()
            .contains("infra/edge > web > shop/cart > rule-1")
    );
    assert_eq!(
        whats("absent: [[infra/edge, web, shop/cart, rule-1]]"),
        [DifferenceKind::PathExists]
    );
    assert_eq!(whats("absent: [[infra/edge, web, shop/cart, rule-2]]"), []);
    assert_eq!(whats(&format!("none: [{{{PATH}}}]")), [DifferenceKind::HasPolicy]);
    assert_eq!(
        whats(&format!("none: [{{{PATH}, reason: invalid-path}}]")),
        [DifferenceKind::PathExists]
    );
}

#[test]
fn expect_is_complete_unless_partial() {
    assert_eq!(whats("expect: []"), [DifferenceKind::Unlisted]);
    assert_eq!(whats("expect: []\npartial: true"), []);
    assert_eq!(
        whats("absent: []"),
        [],
        "without `expect` nothing is claimed about effective policies"
    );
}

#[test]
fn findings() {
    let complete = format!("expect: [{{{PATH}, {FIELDS}}}]\ndiagnostics:");
    assert_eq!(whats(&format!("{complete} []")), []);
    assert_eq!(whats(&format!("{complete} [{{code: OV1301}}]")), [DifferenceKind::Diagnostics]);
    let broken = "- {apiVersion: example.com/v1, kind: ColorPolicy, metadata: {name: x}, spec: {a: 1, targetRefs: [{kind: Gateway, name: nowhere}]}}";
    assert_eq!(whats(&format!("{broken}\ndiagnostics: []")), [DifferenceKind::Diagnostics]);
    assert_eq!(
        whats(&format!(
            "{broken}\ndiagnostics: [{{code: OV1301, message: '`nowhere`', line: 26}}]"
        )),
        []
    );
    assert_eq!(
        whats(&format!("{broken}\ndiagnostics: [{{code: OV1301, line: 25}}]")),
        [DifferenceKind::Diagnostics; 2]
    );
    assert_eq!(
        whats(&format!("{broken}\nabsent: []")),
        [],
        "findings are compared when a test asks"
    );
}

#[test]
fn what_a_family_compares_itself() {
    assert_eq!(whats("conflicted: []"), []);
    assert_eq!(
        whats("conflicted: [{kind: ColorPolicy, policy: shop/cart, by: infra/base}]"),
        [DifferenceKind::Conflicted]
    );
    assert_eq!(
        whats("invalid: [{kind: ColorPolicy, policy: shop/cart, message: m}]"),
        [DifferenceKind::Invalid]
    );
    assert_eq!(whats("status: {shop/cart: {}}"), [DifferenceKind::Unsupported]);
    assert_eq!(whats("affected: []"), [DifferenceKind::Unsupported]);
    assert_eq!(whats("can: [{from: a, to: b, verdict: allow}]"), [DifferenceKind::Unsupported]);
    assert!(
        results("can: [{from: a, to: b, verdict: allow}]")[0].mismatches()[0]
            .message
            .contains("not supported by this version")
    );
}

#[test]
fn profiles_settings_and_families() {
    assert_eq!(whats("absent: []\nprofiles: [gep713, other]"), [DifferenceKind::Profile]);
    assert_eq!(whats("absent: []\nsettings: {colour: 1}"), [DifferenceKind::Setting]);
    assert_eq!(
        whats("absent: []\nsettings: {assumeCreated: yesterday}"),
        [DifferenceKind::Setting]
    );
    assert_eq!(whats("absent: []\nsettings: {assumeCreated: '2026-01-01T00:00:00Z'}"), []);
    assert_eq!(whats("absent: []\nfamily: kuma\nsettings: {mode: global, zone: east}"), []);
    assert_eq!(
        whats("absent: []\nfamily: kuma\nsettings: {mode: local}"),
        [DifferenceKind::Setting]
    );
    let (cases, _) = read_file(
        Input::new("t.yaml", format!("{MANIFESTS}absent: []\nprofiles: [gep713, other]\n")),
        None,
    );
    let count = |profile| run(&cases[0], Some(profile)).len();
    assert_eq!(count("gep713"), 1);
    assert_eq!(count("gateway=gep713"), 1);
    assert_eq!(count("third"), 0);
    assert_eq!(count("kuadrant=design"), 2, "a choice for another family changes nothing");
}

#[test]
fn files_are_read_and_broken_ones_fail() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.yaml"), "a: [\n").unwrap();
    let input = Input::new("t.yaml", "files: [m.yaml]\nabsent: []\n");
    let (cases, broken) = read_file(input, Some(folder.path()));
    assert!(broken.is_empty());
    let results = run(&cases[0], None);
    assert_eq!(results[0].mismatches()[0].what, DifferenceKind::Input, "{results:?}");
}

#[test]
fn a_path_that_means_two_routes_asks_for_the_kind() {
    let grpc = "- {apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: cart, namespace: shop}, \
                spec: {parentRefs: [{name: edge, namespace: infra}], rules: [{backendRefs: [{name: b, port: 80}]}]}}";
    let expect = |path: &str| {
        whats(&format!("{grpc}\npartial: true\nexpect: [{{path: {path}, kind: ColorPolicy}}]"))
    };
    assert_eq!(expect("[infra/edge, web, shop/cart, rule-1]"), [DifferenceKind::Ambiguous]);
    assert_eq!(expect("[infra/edge, web, GRPCRoute shop/cart, rule-1]"), []);
}

#[test]
fn junit_is_escaped_and_counted() {
    let mut all = results("expect: []");
    all.extend(results("absent: []"));
    all[0].name = "<a & \"b\">\u{1b}[31m".to_owned();
    all[1].file = "other/t.yaml".to_owned();
    let xml = junit(&all);
    assert!(xml.contains("<testsuites name=\"overrule\" tests=\"2\" failures=\"1\""), "{xml}");
    assert!(xml.contains("<testsuite name=\"dir\" tests=\"1\" failures=\"1\""), "{xml}");
    assert!(xml.contains("<testsuite name=\"other\" tests=\"1\" failures=\"0\""), "{xml}");
    assert!(xml.contains("name=\"&lt;a &amp; &quot;b&quot;&gt;\\u{1b}[31m (gep713)\""), "{xml}");
    assert!(xml.contains("<failure type=\"not-listed\" message=\"dir/t.yaml:"), "{xml}");
    assert!(!xml.contains('\u{1b}'));
    let plain: String = all.iter().map(|r| plain(r, true, &Styles::plain())).collect();
    assert!(!plain.contains('\u{1b}') && plain.contains("ok t (gep713)"), "{plain}");
    assert_eq!(summary(&all), "1 passed, 1 failed\n");
}

#[test]
fn every_kind_of_mismatch_has_its_own_name() {
    let mut ids: Vec<&str> = DifferenceKind::ALL.iter().map(|w| w.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), DifferenceKind::ALL.len());
}
