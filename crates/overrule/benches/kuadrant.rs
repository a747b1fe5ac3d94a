// SPDX-License-Identifier: Apache-2.0
//! In: gateways whose every route meets every listener, with Kuadrant's policies on all of them. Out: a table of times
//! and ratios, and whether the bars hold. Not here: memory, other families.
//!
//! `cargo bench -p overrule --bench kuadrant`, `-- --quick` for a small one. 63 listeners and 63 routes are the case the
//! operator was reported to need half an hour for. Everything is worst on purpose: listeners and routes have policies
//! of their own, so every (listener, route, kind) is a ladder of its own, and nothing can be shared.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

mod report;

use std::process::ExitCode;
use std::time::Duration;

use overrule::gateway::topology;
use overrule::kuadrant::{self, Options, Policies, Profile, Resolved, World};
use overrule::model::Snapshot;
use overrule::source::{Documents, Input, ReadOptions, read};
use overrule_testkit::kuadrant::{With, fleet};
use report::{Report, best};

fn main() -> ExitCode {
    let quick = std::env::args().any(|a| a == "--quick");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    let mut report = Report::default();
    one.install(|| {
        grid(if quick { 6 } else { 63 }, if quick { 1 } else { 3 }, &mut report);
        // A Gateway has at most 64 listeners: 64 x 521 x 3 is a hundred thousand.
        let size = if quick { (16, 52) } else { (64, 521) };
        conditions(size, if quick { 1 } else { 3 }, &mut report);
    });
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Everything the resolve step needs.
struct Ready {
    documents: Documents,
    snapshot: Snapshot,
    resources: topology::Resources,
    policies: Policies,
}

impl Ready {
    fn new(text: String) -> Self {
        let documents =
            read(vec![Input::new("fleet.yaml", text)], &ReadOptions::default()).documents;
        let mut snapshot = overrule::model::parse(&documents).snapshot;
        let (resources, _) = topology::parse(&documents, &mut snapshot);
        let (policies, _) = kuadrant::parse(&documents, &mut snapshot);
        Self { documents, snapshot, resources, policies }
    }

    /// Connect, attach, order, merge, findings.
    fn resolve(&self) -> Resolved {
        let topology = self.resources.connect(&self.snapshot).topology;
        let world = World {
            documents: &self.documents,
            snapshot: &self.snapshot,
            topology: &topology,
            policies: &self.policies,
            profile: Profile::Design,
        };
        kuadrant::resolve(world, &Options::default())
    }
}

fn measure(
    size: (usize, usize),
    runs: usize,
    with: With,
    what: &str,
    report: &mut Report,
) -> Duration {
    let (listeners, routes) = size;
    let ready = Ready::new(fleet(listeners, routes, with));
    let (time, resolved) = best(runs, || ready.resolve());
    let resolution = &resolved.resolution;
    report.row(&format!("{what}, {listeners} x {routes} x 3"), time, None);
    let expected = u64::try_from(listeners * routes * 3).expect("small");
    assert_eq!(resolution.folds(), expected, "every ladder is its own");
    let checks: usize = (0..)
        .map(overrule::engine::LadderId)
        .take(resolution.ladders.len())
        .filter_map(|l| resolution.effective(l))
        .map(|e| e.checks.len())
        .sum();
    report.line(format!(
        "  {} policies, {} paths, {} ladders folded, {checks} conditions evaluated, {} findings; {:.2} us per ladder",
        ready.policies.list.len(),
        resolution.paths.len(),
        resolution.folds(),
        resolved.diagnostics.len(),
        time.as_secs_f64() * 1e6 / resolution.folds() as f64
    ));
    time
}

fn grid(side: usize, runs: usize, report: &mut Report) {
    let with = With { listener_policies: true, route_policies: true, conditions: false };
    let small = measure((side, side), runs * 3, with, "resolve", report);
    let large = measure((side, side * 100), runs + 2, with, "resolve", report);
    let ratio = large.as_secs_f64() / small.as_secs_f64();
    report.at_most("a hundred times the paths: time", ratio, 110.0);
}

fn conditions(size: (usize, usize), runs: usize, report: &mut Report) {
    let with = With { listener_policies: true, route_policies: true, conditions: false };
    let plain = measure(size, runs, with, "without conditions", report);
    let with = With { conditions: true, ..with };
    let conditional = measure(size, runs, with, "one condition on every ladder", report);
    let ratio = conditional.as_secs_f64() / plain.as_secs_f64();
    report.at_most("a condition on every ladder: time", ratio, 5.0);
}
