// SPDX-License-Identifier: Apache-2.0
//! In: the conformance data named by `OVERRULE_CONFORMANCE`. Out: every case is read, and a family that this version
//! does not have fails with one clear sentence. Without the data the test says that it did not run.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a broken expectation shall stop the test"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test may look at its environment and say so"
)]

use std::path::PathBuf;

use overrule_cases::{DifferenceKind, Loaded, load, run};

fn cases(family: &str) -> Option<Loaded> {
    let root = std::env::var("OVERRULE_CONFORMANCE").unwrap_or_default();
    let folder = PathBuf::from(root).join(family);
    if !folder.is_absolute() || !folder.is_dir() {
        eprintln!("did not run: set OVERRULE_CONFORMANCE to the folder that holds `{family}`");
        return None;
    }
    Some(load(&[folder]))
}

fn all_are_read(family: &str) {
    let Some(loaded) = cases(family) else { return };
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    assert!(loaded.broken.is_empty(), "{:#?}", loaded.broken);
    assert!(loaded.cases.len() > 50, "only {} cases", loaded.cases.len());
    for case in &loaded.cases {
        assert_eq!(case.family, family, "{}", case.at);
        let supported = overrule::family(family).is_some();
        let results = run(case, None);
        assert_eq!(results.len(), case.profiles.len(), "{}", case.at);
        for result in results.iter().filter(|_| !supported) {
            let [only] = result.mismatches() else { panic!("{result:?}") };
            assert_eq!(only.what, DifferenceKind::Family);
            assert_eq!(only.message, format!("family `{family}` is not supported by this version"));
        }
    }
    eprintln!("read {} cases of {family}", loaded.cases.len());
}

#[test]
fn every_kuadrant_case_is_read() {
    all_are_read("kuadrant");
}

#[test]
fn every_kgateway_case_is_read() {
    all_are_read("kgateway");
}
