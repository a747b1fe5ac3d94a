// SPDX-License-Identifier: Apache-2.0
//! In: generated fleets. Out: a table of times and ratios, and whether the bars hold. Not here: memory (`memory.rs`).
//!
//! `cargo bench -p overrule` runs all of it, `-- --quick` a twentieth, to see that it runs. The yardstick is
//! serde_json parsing the same resources into `Value` in the same process: it moves with the machine, so ratios can be
//! compared. It is measured to its advantage: file by file, each value dropped outside the clock, so that it never pays
//! for memory. Times are processor time, best of several runs: a busy machine stretches them less than the clock on
//! the wall.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

mod report;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use overrule::engine::LadderId;
use overrule::gateway::kinds::Kinds;
use overrule::gateway::{Resolved, policy, topology};
use overrule::model::{Parsed, Snapshot};
use overrule::source::{Documents, Input, ReadOptions, read};
use overrule_testkit::fleet::{FleetSpec, ManifestFormat, manifests};
use report::{Report, best};

fn main() -> ExitCode {
    let quick = std::env::args().any(|a| a == "--quick");
    let runs = if quick { 2 } else { 5 };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    let mut report = Report::default();
    let whole = if quick { FleetSpec::bar8().divided_by(20) } else { FleetSpec::bar8() };
    whole_fleet(&whole, runs, &one, &mut report);
    let (small, big) = if quick { (10, 100) } else { (100, 1_000) };
    big_gateway(small, big, runs, &one, &mut report);
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn inputs(spec: &FleetSpec, format: ManifestFormat) -> Vec<Input> {
    manifests(spec, format).map(|(name, text)| Input::new(name, text)).collect()
}

fn size(inputs: &[Input]) -> usize {
    inputs.iter().map(|i| i.bytes.len()).sum()
}

/// Everything the resolve step needs.
struct Ready {
    documents: Documents,
    snapshot: Snapshot,
    resources: topology::GatewayResources,
    kinds: Kinds,
    policies: Vec<policy::Policy>,
}

impl Ready {
    fn new(inputs: Vec<Input>) -> Self {
        let documents = read(inputs, &ReadOptions::default()).documents;
        let Parsed { mut snapshot, .. } = overrule::model::parse(&documents);
        let (resources, _) = topology::parse(&documents, &mut snapshot);
        let (kinds, _) = Kinds::collect(&documents, &snapshot);
        let (policies, _) = policy::parse(&documents, &mut snapshot, &kinds);
        Self { documents, snapshot, resources, kinds, policies }
    }

    /// Connect, attach, order, merge, findings.
    fn resolve(&self) -> (topology::BuiltTopology, Resolved) {
        let built = self.resources.connect(&self.snapshot);
        let options = overrule::gateway::ResolveOptions::default();
        let resolved = overrule::gateway::resolve(
            &self.documents,
            &self.snapshot,
            &built.topology,
            &self.kinds,
            &self.policies,
            &options,
        );
        (built, resolved)
    }
}

/// Parsing alone, without dropping what was parsed.
fn serde_json_time(files: &[Input]) -> Duration {
    let mut sum = Duration::ZERO;
    for file in files {
        let start = ProcessTime::now();
        let value = serde_json::from_slice::<serde_json::Value>(&file.bytes).expect("JSON");
        sum += start.elapsed();
        std::hint::black_box(&value);
    }
    sum
}

fn whole_fleet(spec: &FleetSpec, runs: usize, one: &rayon::ThreadPool, report: &mut Report) {
    let json = inputs(spec, ManifestFormat::Json);
    let yaml = inputs(spec, ManifestFormat::Yaml);
    let (json_size, yaml_size) = (size(&json), size(&yaml));
    report.line(format!(
        "whole fleet: {} routes, {} policies, {} gateways; {:.0} MB YAML, {:.0} MB JSON",
        spec.routes,
        spec.policies.sum(),
        spec.gateways,
        yaml_size as f64 / 1e6,
        json_size as f64 / 1e6
    ));
    let serde = (0..runs).map(|_| serde_json_time(&json)).min().expect("at least one run");
    report.row("serde_json to Value", serde, Some(json_size));
    // Reading takes its input; copies are made outside the clock. All threads: the clock on the wall.
    let read_time = |inputs: &[Input], pool: Option<&rayon::ThreadPool>| {
        let mut least = Duration::MAX;
        for _ in 0..runs {
            let copy = inputs.to_vec();
            let (wall, processor) = (Instant::now(), ProcessTime::now());
            let (read, time) = match pool {
                Some(pool) => {
                    (pool.install(|| read(copy, &ReadOptions::default())), processor.elapsed())
                }
                None => (read(copy, &ReadOptions::default()), wall.elapsed()),
            };
            least = least.min(time);
            assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics.first());
        }
        least
    };
    let yaml_one = read_time(&yaml, Some(one));
    report.row("read YAML, one thread", yaml_one, Some(yaml_size));
    report.row("read YAML, all threads (wall)", read_time(&yaml, None), Some(yaml_size));
    let json_one = read_time(&json, Some(one));
    report.row("read JSON, one thread", json_one, Some(json_size));
    drop(json);
    let documents = read(yaml.clone(), &ReadOptions::default()).documents;
    let (model, parsed) = best(runs, || overrule::model::parse(&documents));
    report.row("model::parse", model, None);
    let mut snapshot = parsed.snapshot;
    let (specs, _) = best(runs, || topology::parse(&documents, &mut snapshot));
    report.row("topology::parse", specs, None);
    let (kinds, _) = best(runs, || {
        let (kinds, _) = Kinds::collect(&documents, &snapshot);
        policy::parse(&documents, &mut snapshot, &kinds)
    });
    report.row("kinds and policy::parse", kinds, None);
    drop((documents, snapshot));
    let ready = Ready::new(yaml);
    let (connect, _) = best(runs, || ready.resources.connect(&ready.snapshot));
    let (resolve, (_, resolved)) = best(runs, || one.install(|| ready.resolve()));
    report.row("resolve: connect, attach, order, merge, findings", resolve, None);
    report.row("  of which connect", connect, None);
    let wall = |resolve: &dyn Fn()| {
        let times = (0..runs).map(|_| {
            let start = Instant::now();
            resolve();
            start.elapsed()
        });
        times.min().expect("at least one run")
    };
    let alone = wall(&|| drop(one.install(|| ready.resolve())));
    report.row("  and dropped, one thread (wall)", alone, None);
    report.row("  and dropped, all threads (wall)", wall(&|| drop(ready.resolve())), None);
    let paths = resolved.resolution.paths.len();
    report.line(format!(
        "  {} paths, {} ladders folded, {} findings",
        paths,
        resolved.resolution.folds(),
        resolved.diagnostics.len()
    ));
    let ratio = |time: Duration| time.as_secs_f64() / serde.as_secs_f64();
    report.at_most("resolve / serde_json", ratio(resolve), 0.5);
    report.line(format!(
        "  ratios to serde_json: read YAML {:.2}, read JSON {:.2}, model {:.2}, topology::parse {:.2}, policies {:.2}, resolve {:.2}",
        ratio(yaml_one),
        ratio(json_one),
        ratio(model),
        ratio(specs),
        ratio(kinds),
        ratio(resolve)
    ));
}

fn big_gateway(small: u32, big: u32, runs: usize, one: &rayon::ThreadPool, report: &mut Report) {
    report
        .line("\none gateway, 64 listeners, every route on all of them, 16 rules each".to_owned());
    let mut times = Vec::new();
    for routes in [small, big] {
        let ready = Ready::new(inputs(&FleetSpec::bar2(routes), ManifestFormat::Yaml));
        let (time, (_, resolved)) = best(runs, || one.install(|| ready.resolve()));
        report.row(&format!("resolve, {routes} routes"), time, None);
        let resolution = &resolved.resolution;
        let mut ladders = Vec::new();
        let mut contexts = 0;
        for (kind, _) in resolution.kinds() {
            ladders.extend(
                resolution
                    .contexts(kind)
                    .map(|(_, ladder)| ladder)
                    .filter(|l| *l != LadderId::EMPTY),
            );
            contexts += resolution.contexts(kind).count();
        }
        ladders.sort_unstable();
        ladders.dedup();
        assert_eq!(resolution.folds(), ladders.len() as u64, "each distinct ladder is folded once");
        let bytes = resolution.path_memory() as f64 / contexts as f64;
        report.line(format!(
            "  {} paths, {contexts} (path, kind), {} folds, {bytes:.1} bytes each, {:.1} ns each",
            resolution.paths.len(),
            resolution.folds(),
            time.as_nanos() as f64 / contexts as f64
        ));
        report.at_most(format!("bytes per (path, kind), {routes} routes"), bytes, 16.0);
        times.push(time.as_secs_f64());
    }
    if let [small, big] = times.as_slice() {
        report.at_most("ten times the routes: time", big / small, 11.0);
    }
}
