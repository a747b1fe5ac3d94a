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

#[test]
fn every_example_passes() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let loaded = load(&[folder]);
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let mut results: Vec<CaseResult> = loaded.broken;
    results.extend(loaded.cases.iter().flat_map(|case| run(case, None)));
    let failures: String = results.iter().map(|r| plain(r, false)).collect();
    assert!(failures.is_empty(), "{failures}{}", summary(&results));
    assert!(results.len() >= 12, "only {} examples", results.len());
}

#[test]
fn names_are_unique_and_start_like_their_file() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut names = Vec::new();
    for case in load(&[folder]).cases {
        let area = |text: &str| text.split('-').next().unwrap_or("").to_owned();
        let file = case.at.file.rsplit('/').next().unwrap().to_owned();
        assert_eq!(area(&case.name), area(&file), "{}", case.at.file);
        assert!(!names.contains(&case.name), "{} twice", case.name);
        names.push(case.name);
    }
}
