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
use overrule::kuadrant::{self, Policies, Profile, ResolveOptions, Resolved, World};
use overrule::model::Snapshot;
use overrule::source::{Documents, Input, ReadOptions, read};
use overrule_testkit::kuadrant::{With, fleet};
use report::{Report, best};

fn main() -> ExitCode {
    if let Some(ended) = report::in_warm_process() {
        return ended;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    let mut report = Report::default();
    one.install(|| {
        grid(if quick { 6 } else { 63 }, if quick { 1 } else { 5 }, &mut report);
        // A Gateway has at most 64 listeners: 64 x 521 x 3 is a hundred thousand.
        let size = if quick { (16, 52) } else { (64, 521) };
        conditions(size, if quick { 1 } else { 5 }, &mut report);
    });
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Everything the resolve step needs.
struct Ready {
    documents: Documents,
    snapshot: Snapshot,
    resources: topology::GatewayResources,
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
            ground: &(),
            policies: &self.policies,
            profile: Profile::Design,
        };
        kuadrant::resolve(world, &ResolveOptions::default())
    }
}

/// One gateway to resolve, and what it took so far.
struct Case {
    what: String,
    ready: Ready,
    /// Runs in a row that make one measurement: a single short one would find everything in the caches, and be measured
    /// while the neighbours of this machine sleep.
    repeat: u32,
    times: Vec<f64>,
    /// Time the kernel spent meanwhile, mostly clearing pages of memory; dropping results counts here.
    kernel: f64,
}

impl Case {
    fn new(what: &str, (listeners, routes): (usize, usize), with: With, repeat: u32) -> Self {
        let ready = Ready::new(fleet(listeners, routes, with));
        let expected = u64::try_from(listeners * routes * 3).expect("small");
        let folds = ready.resolve().resolution.folds();
        assert_eq!(folds, expected, "every ladder is its own");
        let what = format!("{what}, {listeners} x {routes} x 3");
        Self { what, ready, repeat, times: Vec::new(), kernel: 0.0 }
    }

    /// Resolves; dropping the result is not counted.
    fn run(&mut self) -> f64 {
        let mut sum = Duration::ZERO;
        let before = kernel_time();
        for _ in 0..self.repeat {
            sum += best(1, || self.ready.resolve()).0;
        }
        let time = sum.as_secs_f64() / f64::from(self.repeat);
        self.times.push(time);
        self.kernel += (kernel_time() - before) / f64::from(self.repeat);
        time
    }

    fn tell(&self, report: &mut Report) {
        let resolved = self.ready.resolve();
        let resolution = &resolved.resolution;
        let least = self.times.iter().copied().fold(f64::INFINITY, f64::min);
        report.row(&self.what, Duration::from_secs_f64(least), None);
        let ladders = (0..).map(overrule::engine::LadderId).take(resolution.ladders.len());
        let checks: usize =
            ladders.filter_map(|l| resolution.effective(l)).map(|e| e.checks().len()).sum();
        report.line(format!(
            "  {} policies, {} paths, {} ladders folded, {checks} conditions evaluated, {} findings; {:.2} us per ladder; {:.0} % in the kernel",
            self.ready.policies.list.len(),
            resolution.paths.len(),
            resolution.folds(),
            resolved.diagnostics.len(),
            least * 1e6 / resolution.folds() as f64,
            self.kernel * 100.0 / self.times.iter().sum::<f64>()
        ));
    }
}

/// Seconds the kernel worked for this process, where the system says so.
fn kernel_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks =
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(12)?.parse().ok());
    ticks.unwrap_or(0.0) / 100.0
}

/// Measures two cases in turns, so that both meet the same neighbours; the median of the ratios.
fn ratio(small: &mut Case, large: &mut Case, rounds: usize, report: &mut Report) -> f64 {
    let mut ratios: Vec<f64> = (0..rounds).map(|_| large.run() / small.run()).collect();
    ratios.sort_by(f64::total_cmp);
    small.tell(report);
    large.tell(report);
    let all: Vec<String> = ratios.iter().map(|r| format!("{r:.1}")).collect();
    report.line(format!("  ratios of {rounds} rounds: {}", all.join(", ")));
    ratios.get(rounds / 2).copied().expect("at least one round")
}

fn grid(side: usize, rounds: usize, report: &mut Report) {
    let with = With { listener_policies: true, route_policies: true, conditions: false };
    let mut small = Case::new("resolve", (side, side), with, 50);
    let mut large = Case::new("resolve", (side, side * 100), with, 1);
    let found = ratio(&mut small, &mut large, rounds, report);
    report.at_most("a hundred times the paths: time", found, 110.0);
}

fn conditions(size: (usize, usize), rounds: usize, report: &mut Report) {
    let with = With { listener_policies: true, route_policies: true, conditions: false };
    let mut plain = Case::new("without conditions", size, with, 2);
    let mut conditional =
        Case::new("one condition on every ladder", size, With { conditions: true, ..with }, 1);
    let found = ratio(&mut plain, &mut conditional, rounds, report);
    report.at_most("a condition on every ladder: time", found, 5.0);
}
