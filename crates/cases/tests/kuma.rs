// SPDX-License-Identifier: Apache-2.0
//! In: the cases in `kuma`. Out: they all pass, and where the two orders differ the page about them says so.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a broken expectation shall stop the test"
)]

use std::collections::BTreeSet;
use std::path::PathBuf;

use overrule_cases::{Case, CaseResult, load, plain, run, summary};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kuma")
}

fn cases() -> Vec<Case> {
    let loaded = load(&[folder()]);
    let broken: String =
        loaded.broken.iter().map(|r| plain(r, false, &overrule_view::Styles::plain())).collect();
    assert!(loaded.errors.is_empty() && broken.is_empty(), "{:?}\n{broken}", loaded.errors);
    loaded.cases
}

/// The name of the file of a case, without its ending.
fn file(case: &Case) -> String {
    let name = case.at.file.rsplit('/').next().unwrap();
    name.strip_suffix(".yaml").unwrap().to_owned()
}

/// Selection, order, entries, rules, lookup and merging: a case for every rule, under the profiles it names.
#[test]
fn every_case_passes() {
    let results: Vec<CaseResult> = cases().iter().flat_map(|case| run(case, None)).collect();
    let failures: String =
        results.iter().map(|r| plain(r, false, &overrule_view::Styles::plain())).collect();
    assert!(failures.is_empty(), "{failures}{}", summary(&results));
    assert_eq!(results.len(), 355);
}

/// A case for one order only does not hold in the other one, and its file stands in the table of differences.
#[test]
fn where_the_orders_differ_is_written_down() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/kuma-profiles.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let written: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).collect();
    let mut met: BTreeSet<String> = BTreeSet::new();
    for mut case in cases() {
        let both = ["design", "2.13"];
        let [one] = case.profiles.as_mut_slice() else { continue };
        let other = both.into_iter().find(|name| *name != one.text).unwrap();
        other.clone_into(&mut one.text);
        let results = run(&case, None);
        assert!(results.iter().any(|r| !r.passed()), "{} holds under {other} too", case.name);
        met.insert(file(&case));
    }
    assert_eq!(met, written, "cases that differ, and those the page lists");
}

#[test]
fn names_are_unique_and_start_like_their_file() {
    let mut names = BTreeSet::new();
    for case in cases() {
        let area = |text: &str| text.split('-').next().unwrap_or("").to_owned();
        assert_eq!(area(&case.name), area(&file(&case)), "{}", case.at.file);
        assert!(!case.notes.is_empty(), "{} does not say what it is about", case.name);
        assert!(names.insert(case.name.clone()), "{} twice", case.name);
    }
}
