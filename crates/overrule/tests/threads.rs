// SPDX-License-Identifier: Apache-2.0
//! In: one fleet, read and resolved by different numbers of threads. Out: the same answer, to the last detail.
//! Not here: whether it is right (`gateway/tests/props.rs`), how long it takes (`benches`).
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;

use overrule::source::Input;
use overrule::{Analysis, Options};
use overrule_testkit::fleet::{FleetSpec, ManifestFormat, PerLevel, manifests};

/// Enough different ladders for several threads.
fn fleet() -> FleetSpec {
    let policies = PerLevel { gateway: 9, listener: 36, route: 3_600, rule: 900 };
    FleetSpec { gateways: 3, routes: 1_500, namespaces: 30, policies, ..FleetSpec::bar8() }
}

/// Everything an analysis says, in words.
fn said(threads: usize) -> (u64, String) {
    let inputs: Vec<Input> = manifests(&fleet(), ManifestFormat::Yaml)
        .map(|(name, text)| Input::new(name, text))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let analysis = pool.install(|| Analysis::new(inputs, &Options::default()));
    let mut text = String::new();
    let resolution = &analysis.answers.first().unwrap().resolution;
    for (kind, _) in resolution.kinds() {
        for (path, ladder) in resolution.contexts(kind) {
            writeln!(text, "{kind:?} {path:?} {ladder:?}").unwrap();
        }
    }
    for (policy, _) in resolution.policies() {
        writeln!(text, "{:?} {:?}", resolution.outcome(policy), resolution.tally(policy)).unwrap();
    }
    for ladder in
        (0..u32::try_from(resolution.ladders.len()).unwrap()).map(overrule::engine::LadderId)
    {
        let Some(effective) = resolution.effective(ladder) else { continue };
        let log: Vec<_> = effective.log(&resolution.ladders).collect();
        let outcomes = resolution.outcomes(ladder);
        writeln!(text, "{:?} {:?} {log:?} {outcomes:?}", effective.value, effective.losses)
            .unwrap();
    }
    writeln!(text, "{:?}", analysis.diagnostics).unwrap();
    (resolution.folds(), text)
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (folds, alone) = said(1);
    assert!(folds > 3 * 2_048, "{folds} ladders are too few to be shared");
    for threads in [2, 7] {
        let (again, together) = said(threads);
        assert_eq!(again, folds, "{threads} threads fold each ladder once");
        assert!(together == alone, "{threads} threads say something else");
    }
}
