// SPDX-License-Identifier: Apache-2.0
//! In: the example tests beside this file. Out: they all pass. They are also the project's own conformance tree.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a broken expectation shall stop the test"
)]

use std::path::PathBuf;

use overrule_cases::{CaseResult, load, plain, run, summary};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

#[test]
fn every_example_passes() {
    assert!(all_pass("cases") >= 12);
}

/// The pictures A1 to F2 of the proposal for defaults and overrides, and every corner of it, in three profiles.
#[test]
fn every_case_of_kuadrant_passes() {
    assert_eq!(all_pass("kuadrant"), 385);
    let pictures = ["a1", "b1", "b2", "c1", "d1", "d2", "e1", "e2", "e3", "f1", "f2"];
    for picture in pictures {
        assert!(folder("kuadrant").join(format!("rfc-{picture}.yaml")).exists(), "{picture}");
    }
}

/// Every case of kgateway under the profiles it names.
#[test]
fn every_case_of_kgateway_passes() {
    assert_eq!(all_pass("kgateway"), 145);
}

/// Every case of Envoy Gateway under the profile of its controller.
#[test]
fn every_case_of_envoy_gateway_passes() {
    assert_eq!(all_pass("envoygateway"), 96);
}

#[test]
fn where_the_design_of_kgateway_differs_is_written_down() {
    differences_are_written_down("kgateway");
}

#[test]
fn where_the_design_of_envoy_gateway_differs_is_written_down() {
    differences_are_written_down("envoygateway");
}

/// A case that does not name `design` holds there too, or stands in the table of differences, and then does not hold.
fn differences_are_written_down(family: &str) {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let docs = docs.join(format!("../../docs/{family}-profiles.md"));
    let text = std::fs::read_to_string(docs).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let written: Vec<&str> = rows.map(|(name, _)| name).collect();
    let mut met: Vec<String> = Vec::new();
    for mut case in load(&[folder(family)]).cases {
        if case.profiles.iter().any(|p| p.text == "design") {
            continue;
        }
        case.profiles.iter_mut().take(1).for_each(|p| "design".clone_into(&mut p.text));
        case.profiles.truncate(1);
        let results = run(&case, None);
        let holds = results.iter().all(CaseResult::passed);
        let listed = written.contains(&case.name.as_str());
        let said: String =
            results.iter().map(|r| plain(r, false, &overrule_view::Styles::plain())).collect();
        assert!(holds || listed, "{} differs and is not in the table\n{said}", case.name);
        assert!(!holds || !listed, "{} is in the table and does not differ", case.name);
        met.extend((!holds).then_some(case.name));
    }
    let missing: Vec<&&str> =
        written.iter().filter(|name| !met.iter().any(|m| m == *name)).collect();
    assert!(missing.is_empty(), "no such cases: {missing:?}");
}

/// How many cases and profiles there are; all of them pass.
fn all_pass(name: &str) -> usize {
    let loaded = load(&[folder(name)]);
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let mut results: Vec<CaseResult> = loaded.broken;
    results.extend(loaded.cases.iter().flat_map(|case| run(case, None)));
    let failures: String =
        results.iter().map(|r| plain(r, false, &overrule_view::Styles::plain())).collect();
    assert!(failures.is_empty(), "{failures}{}", summary(&results));
    results.len()
}

#[test]
fn names_are_unique_and_start_like_their_file() {
    let mut names = Vec::new();
    let folders = ["cases", "kuadrant", "kgateway", "envoygateway"].map(folder);
    for case in load(&folders).cases {
        let area = |text: &str| text.split('-').next().unwrap_or("").to_owned();
        let file = case.at.file.rsplit('/').next().unwrap().to_owned();
        assert_eq!(area(&case.name), area(&file), "{}", case.at.file);
        assert!(!names.contains(&case.name), "{} twice", case.name);
        names.push(case.name);
    }
}
