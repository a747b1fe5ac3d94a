// SPDX-License-Identifier: Apache-2.0
//! `overrule test`: exit codes, the last line, JUnit. Not here: what a test can say (crates/cases).

use crate::common::{folder, run};

const PASSES: &str = "\
name: passes
files: [manifests.yaml]
expect:
- path: [shop/edge, web, shop/cart, rule-1]
  kind: TimeoutPolicy
  fields: {timeouts.request: 5s}
";

fn with(tests: &[(&str, &str)]) -> tempfile::TempDir {
    let mut files = vec![("manifests.yaml", crate::GOOD)];
    files.extend(tests);
    folder(&files)
}

#[test]
fn passed_is_0_and_failed_is_1() {
    let fails = PASSES.replace("passes", "fails").replace("5s", "6s");
    let dir = with(&[("a.yaml", PASSES)]);
    let ran = run(&format!("test {}", dir.path().display()));
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(0), "1 passed, 0 failed\n", "")
    );
    let dir = with(&[("a.yaml", &format!("{PASSES}---\n{fails}"))]);
    let ran = run(&format!("test {} -v", dir.path().display()));
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
    assert!(ran.out.contains("ok passes") && ran.out.contains("FAILED fails"), "{ran:?}");
    assert!(ran.out.contains("a.yaml:13:12: "), "the place of the expectation: {ran:?}");
    assert!(ran.out.contains("\"6s\"") && ran.out.contains("\"5s\""), "{ran:?}");
    assert!(ran.out.ends_with("\n1 passed, 1 failed\n"), "{ran:?}");
}

#[test]
fn a_test_that_cannot_be_read_has_failed() {
    for (text, code) in [
        (PASSES.replace("fields", "feilds"), "OV1901"),
        (PASSES.replace("manifests.yaml", "nothing.yaml"), "OV1902"),
        ("name: x\nfiles: [manifests.yaml]\n".to_owned(), "OV1903"),
        (PASSES.replace("rule-1]", "rule-1"), "OV1001"),
    ] {
        let dir = with(&[("a.yaml", &text)]);
        let ran = run(&format!("test {}/a.yaml", dir.path().display()));
        assert_eq!(ran.code, Some(1), "{code}: {ran:?}");
        assert!(ran.out.contains(code) && ran.out.ends_with("0 passed, 1 failed\n"), "{ran:?}");
    }
}

#[test]
fn no_tests_are_no_success() {
    let dir = with(&[]);
    let ran = run(&format!("test {}", dir.path().display()));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("docs/testing.md"), "{ran:?}");
    let ran = run(&format!("test {}/manifests.yaml", dir.path().display()));
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

#[test]
fn junit_goes_to_a_file_or_to_stdout() {
    let evil =
        PASSES.replace("name: passes", "name: \"<&\\\"'\\u0001]]>\"").replace("5s", "\"<6s>\"");
    let dir = with(&[("a.yaml", PASSES), ("b.yaml", &evil)]);
    let path = dir.path().display().to_string();
    let ran = run(&format!("test {path} --junit {path}/report.xml"));
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.ends_with("1 passed, 1 failed\n"), "{ran:?}");
    let xml = std::fs::read_to_string(dir.path().join("report.xml")).unwrap();
    assert!(xml.starts_with("<?xml") && xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(!xml.contains('\u{1}') && !xml.contains("<6s>") && !xml.contains("<&"), "{xml}");
    let ran = run(&format!("test {path} --junit -"));
    assert_eq!((ran.code, ran.out), (Some(1), xml));
    let ran = run(&format!("test {path} --junit {path}/no/such/folder/report.xml"));
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

#[test]
fn a_test_of_what_is_in_force_now_passes() {
    let dir = folder(&[]);
    let targets = [
        ("examples/shop", "httproute/shop/cart"),
        ("examples/shop", "gateway/infra/edge"),
        ("examples/teams", "httproute/team-b/reports"),
        ("examples/kuadrant/shop examples/kuadrant/6-both", "httproute/shop/cart"),
        ("examples/kgateway", "httproute/infra/api-deep-child"),
        ("examples/kgateway", "gateway/infra/edge"),
        ("examples/kuma/shop", "dataplane/default/web-1"),
        ("examples/kuma/namespaces", "meshservice/default/orders.orders"),
        ("examples/access", "dataplane/default/ledger-1"),
    ];
    for (i, (files, target)) in targets.into_iter().enumerate() {
        let files: String = files.split(' ').map(|file| format!(" -f {file}")).collect();
        for profile in ["", " --profile kuma=2.13 --profile kgateway=shipped"] {
            let file = dir.path().join(format!("{i}{}.yaml", profile.len()));
            let ran = run(&format!("test{files}{profile} --init {target} {}", file.display()));
            assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{target}: {ran:?}");
            let again = run(&format!("test{files} --init {target} {}", file.display()));
            assert_eq!(again.code, Some(2), "what is there is not written over");
        }
    }
    let ran = run(&format!("test {}", dir.path().display()));
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "18 passed, 0 failed\n"), "{}", ran.err);
    let nothing = run("test -f examples/shop --init httproute/shop/crat");
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.err.contains("did you mean `httproute/shop/cart`?"), "{nothing:?}");
}

#[test]
fn a_failure_shows_what_differs() {
    let ran = run("test examples/failing/shop.yaml --color always");
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("- idle: 30s") && ran.out.contains("+ idle: 60s"), "{}", ran.out);
    assert!(!ran.out.contains("request: 30s") && ran.out.contains("\x1b[31m"), "{}", ran.out);
    assert!(!run("test examples/failing/shop.yaml").out.contains('\x1b'));
}
