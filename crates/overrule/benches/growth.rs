// SPDX-License-Identifier: Apache-2.0
//! In: one fleet in three sizes. Out: what each stage takes of time, allocations and memory, how that grows from size to
//! size, and whether the bars hold. Not here: the bars of one size (`fleet.rs`, `memory.rs`).
//!
//! `cargo bench -p overrule --bench growth`: 1,000, 10,000 and 100,000 routes; `-- --quick`: 100 and 1,000. An exponent of
//! 1 means that ten times the fleet takes ten times as much. Allocations and bytes are the same on every machine, so
//! the bars are about them; times move with caches and with whoever else is on the machine, and are only reported.
//! `serde_json` parses the same resources, and the naive implementation of the testkit answers for the same resources
//! (in small sizes: it scans everything for every question).
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

mod report;

use std::process::ExitCode;
use std::time::Duration;

use allocation_counter::{AllocationInfo, measure};
use overrule::gateway::kinds::Kinds;
use overrule::gateway::{ResolveOptions, policy, topology};
use overrule::source::{Documents, Input, ReadOptions, read};
use overrule_testkit::fleet::{FleetSpec, ManifestFormat, Spec as _, manifests};
use overrule_testkit::oracle;
use report::{Report, best};

/// Where a stage makes as much as it gets, it may take this much more than in proportion.
const BAR: f64 = 1.1;
/// Below so many allocations or bytes, growth says nothing about a stage.
const ENOUGH: f64 = 10_000.0;

fn main() -> ExitCode {
    if let Some(ended) = report::in_warm_process() {
        return ended;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let (sizes, runs) = if quick { (&[1_000, 100][..], 1) } else { (&[100, 10, 1][..], 3) };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    let mut report = Report::default();
    let mut before: Option<Size> = None;
    for part in sizes {
        let spec = FleetSpec::bar8().divided_by(*part);
        let size = one.install(|| Size::measure(&spec, runs));
        size.print(before.as_ref(), &mut report);
        // Smaller fleets have fewer ladders for each policy: their output is not linear.
        if let Some(before) = before.as_ref().filter(|b| quick || b.routes >= 10_000) {
            size.bars(before, &mut report);
        }
        before = Some(size);
    }
    let small = if quick { &[2_000][..] } else { &[1_000, 400][..] };
    for part in small {
        naive(&FleetSpec::bar8().divided_by(*part), runs, &one, &mut report);
    }
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What one stage took.
struct Stage {
    name: &'static str,
    time: Duration,
    heap: AllocationInfo,
}

/// All stages of one size.
struct Size {
    routes: u32,
    serde: Duration,
    stages: Vec<Stage>,
}

/// The best time of several runs, then what one more run allocates: counting would slow the clock.
fn stage<T>(name: &'static str, runs: usize, mut work: impl FnMut() -> T) -> (Stage, T) {
    let (time, _) = best(runs, &mut work);
    let mut result = None;
    let heap = measure(|| result = Some(work()));
    (Stage { name, time, heap }, result.expect("it ran"))
}

fn texts(spec: &FleetSpec, format: ManifestFormat) -> Vec<Input> {
    manifests(spec, format).map(|(name, text)| Input::new(name, text)).collect()
}

impl Size {
    fn measure(spec: &FleetSpec, runs: usize) -> Self {
        let json = texts(spec, ManifestFormat::Json);
        let parse = |file: &Input| serde_json::from_slice::<serde_json::Value>(&file.bytes);
        let (serde, _) = best(runs, || json.iter().map(parse).collect::<Result<Vec<_>, _>>());
        drop(json);
        let yaml = texts(spec, ManifestFormat::Yaml);
        let mut copies: Vec<Vec<Input>> = vec![yaml; runs + 1];
        let (reading, documents) = stage("read", runs, || {
            read(copies.pop().expect("a copy"), &ReadOptions::default()).documents
        });
        let stages = std::iter::once(reading).chain(below(&documents, runs)).collect();
        Self { routes: spec.routes, serde, stages }
    }

    fn print(&self, before: Option<&Self>, report: &mut Report) {
        report.line(format!(
            "{} routes; serde_json takes {:.1} ms",
            self.routes,
            self.serde.as_secs_f64() * 1e3
        ));
        report.line(format!(
            "  {:<18}{:>10}{:>9}{:>11}{:>12}{:>10}{:>11}{:>10}{:>10}",
            "stage",
            "ms",
            "serde",
            "exponent",
            "allocations",
            "exponent",
            "peak MB",
            "exponent",
            "held MB"
        ));
        for (i, stage) in self.stages.iter().enumerate() {
            let grown = |of: fn(&Stage) -> f64| {
                let earlier = before.and_then(|b| Some((b, b.stages.get(i)?)));
                earlier.map_or(String::new(), |(b, s)| {
                    format!("{:.2}", exponent((b.routes, of(s)), (self.routes, of(stage))))
                })
            };
            report.line(format!(
                "  {:<18}{:>10.2}{:>8.2}x{:>11}{:>12}{:>10}{:>11.2}{:>10}{:>10.2}",
                stage.name,
                stage.time.as_secs_f64() * 1e3,
                stage.time.as_secs_f64() / self.serde.as_secs_f64(),
                grown(|s| s.time.as_secs_f64()),
                stage.heap.count_total,
                grown(allocations),
                peak(stage) / 1e6,
                grown(peak),
                stage.heap.bytes_current as f64 / 1e6,
            ));
        }
    }

    fn bars(&self, before: &Self, report: &mut Report) {
        for (small, big) in before.stages.iter().zip(&self.stages) {
            for (what, of) in
                [("allocations", allocations as fn(&Stage) -> f64), ("peak memory", peak)]
            {
                if of(big) >= ENOUGH {
                    let name = format!(
                        "{}, {} to {} routes: exponent of {what}",
                        big.name, before.routes, self.routes
                    );
                    let found = exponent((before.routes, of(small)), (self.routes, of(big)));
                    report.at_most(name, found, BAR);
                }
            }
        }
    }
}

/// The stages after reading, each on what the one before made.
fn below(documents: &Documents, runs: usize) -> Vec<Stage> {
    let (parsing, mut snapshot) =
        stage("model::parse", runs, || overrule::model::parse(documents).snapshot);
    // Specs bring names of their own: each run has a snapshot that does not know them yet.
    let mut fresh = vec![snapshot.clone(); runs + 1];
    let (specs, (resources, with_names)) = stage("topology::parse", runs, || {
        let mut snapshot = fresh.pop().expect("a snapshot");
        (topology::parse(documents, &mut snapshot).0, snapshot)
    });
    snapshot = with_names;
    let mut fresh = vec![snapshot.clone(); runs + 1];
    let (reading, (kinds, policies, snapshot)) = stage("policy::parse", runs, || {
        let mut snapshot = fresh.pop().expect("a snapshot");
        let (kinds, _) = Kinds::collect(documents, &snapshot);
        let (policies, _) = policy::parse(documents, &mut snapshot, &kinds);
        (kinds, policies, snapshot)
    });
    let (connecting, built) = stage("topology connect", runs, || resources.connect(&snapshot));
    let options = ResolveOptions::default();
    let (resolving, _) = stage("resolve", runs, || {
        overrule::gateway::resolve(
            documents,
            &snapshot,
            &built.topology,
            &kinds,
            &policies,
            &options,
        )
    });
    vec![parsing, specs, reading, connecting, resolving]
}

fn allocations(stage: &Stage) -> f64 {
    stage.heap.count_total as f64
}

fn peak(stage: &Stage) -> f64 {
    stage.heap.bytes_max as f64
}

/// The power of the size that something grows with.
fn exponent((size, amount): (u32, f64), (more, amount_then): (u32, f64)) -> f64 {
    (amount_then / amount).ln() / (f64::from(more) / f64::from(size)).ln()
}

/// From resources to answers: ours reads text, the naive one has its values ready.
fn naive(spec: &FleetSpec, runs: usize, one: &rayon::ThreadPool, report: &mut Report) {
    let world: Vec<serde_json::Value> = spec.iter().collect();
    let (slow, verdict) = best(1, || oracle::judge(&world));
    let yaml = texts(spec, ManifestFormat::Yaml);
    let (ours, _) = one.install(|| {
        best(runs, || overrule::Analysis::new(yaml.clone(), &overrule::Options::default()))
    });
    report.line(format!(
        "naive, {} routes, {} answers: {:.1} ms; ours from the text: {:.1} ms, {:.0} times faster",
        spec.routes,
        verdict.answers.len(),
        slow.as_secs_f64() * 1e3,
        ours.as_secs_f64() * 1e3,
        slow.as_secs_f64() / ours.as_secs_f64()
    ));
}
