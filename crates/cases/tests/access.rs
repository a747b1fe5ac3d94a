// SPDX-License-Identifier: Apache-2.0
//! Who may call whom: the user stories of the design and what it leaves to common sense, one file each.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::path::PathBuf;

use overrule_cases::{CaseResult, load, plain, run, summary};

#[test]
fn every_case_passes() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/access");
    let loaded = load(&[folder]);
    let broken: String =
        loaded.broken.iter().map(|r| plain(r, false, &overrule_view::Styles::plain())).collect();
    assert!(loaded.errors.is_empty() && broken.is_empty(), "{:?}\n{broken}", loaded.errors);
    let results: Vec<CaseResult> = loaded.cases.iter().flat_map(|case| run(case, None)).collect();
    let failures: String =
        results.iter().map(|r| plain(r, false, &overrule_view::Styles::plain())).collect();
    assert!(failures.is_empty(), "{failures}{}", summary(&results));
    assert_eq!(results.len(), 16);
}
