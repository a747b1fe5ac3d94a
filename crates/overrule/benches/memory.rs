// SPDX-License-Identifier: Apache-2.0
//! In: generated fleets. Out: the heap that answers hold beyond the documents, per path and kind; the most memory alive
//! at once from text to resolution; and whether the bars hold. Not here: times. A counting allocator slows what
//! allocates most, so it has a process of its own.
//!
//! `cargo bench -p overrule --bench memory`, `-- --quick` for a twentieth, `-- --million` for a million routes (file by
//! file, so that only what is analysed is in memory).
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a bench prints, reads what the kernel counted, and stops at the first surprise"
)]

mod report;

use std::process::ExitCode;

use overrule::gateway::kinds::Kinds;
use overrule::gateway::{ResolveOptions as GatewayOptions, policy, topology};
use overrule::live::{KeyedText, Workspace};
use overrule::source::{Input, ReadOptions, read};
use overrule::{Analysis, Options};
use overrule_testkit::fleet::{FleetSpec, ManifestFormat, manifests};
use peak_alloc::PeakAlloc;
use report::Report;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Most bytes alive at once, per byte of text.
const PEAK_BAR: f64 = 8.0;
/// Most bytes that are held beyond documents and what is read from them one by one, per path and kind.
const HELD_BAR: f64 = 64.0;
/// Most memory for a million routes.
const MILLION_BAR: f64 = 8.0;

fn main() -> ExitCode {
    let flag = |name: &str| std::env::args().any(|a| a == name);
    let quick = flag("--quick");
    let mut report = Report::default();
    if flag("--million") {
        let spec = FleetSpec { routes: 1_000_000, ..FleetSpec::million() };
        whole(&spec, Some(MILLION_BAR), &mut report);
    } else {
        let spec = if quick { FleetSpec::bar8().divided_by(20) } else { FleetSpec::bar8() };
        held(&spec, &mut report);
        whole(&spec, None, &mut report);
        live(&FleetSpec { per_file: 1, ..spec }, &mut report);
    }
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Texts without the room the generator left behind them.
fn inputs(spec: &FleetSpec) -> Vec<Input> {
    let all = manifests(spec, ManifestFormat::Yaml).map(|(name, mut text)| {
        text.shrink_to_fit();
        Input::new(name, text)
    });
    all.collect()
}

/// What each stage holds, measured as it is made; results of a stage that nobody needs later are dropped first.
fn held(spec: &FleetSpec, report: &mut Report) {
    let mut last = HEAP.current_usage();
    let mut grown = || {
        let now = HEAP.current_usage();
        let more = now as f64 - last as f64;
        last = now;
        more
    };
    let documents = read(inputs(spec), &ReadOptions::default()).documents;
    grown();
    let mut snapshot = overrule::model::parse(&documents).snapshot;
    let (resources, _) = topology::parse(&documents, &mut snapshot);
    let parsed = grown();
    let (kinds, _) = Kinds::collect(&documents, &snapshot);
    let (policies, _) = policy::parse(&documents, &mut snapshot, &kinds);
    let as_written = grown();
    let topology = resources.connect(&snapshot).topology;
    let graph = grown();
    drop(resources);
    let resources = grown();
    let options = GatewayOptions::default();
    let resolved =
        overrule::gateway::resolve(&documents, &snapshot, &topology, &kinds, &policies, &options);
    let resolving = grown();
    let resolution = resolved.resolution;
    let findings = resolved.diagnostics.len();
    drop(resolved.diagnostics);
    let told = -grown();
    let contexts: usize = resolution.kinds().map(|(k, _)| resolution.contexts(k).count()).sum();
    let each = |bytes: f64| bytes / contexts as f64;
    report.at_most(
        "bytes held by graph, resolution and findings, per (path, kind)",
        each(graph + resolving),
        HELD_BAR,
    );
    report.line(format!(
        "held, {} routes, {} policies: {} paths, {contexts} (path, kind), {} folds, {findings} findings",
        spec.routes,
        spec.policies.sum(),
        resolution.paths.len(),
        resolution.folds()
    ));
    let snapshot = parsed + resources;
    let everything = snapshot + as_written + graph + resolving;
    for (what, bytes) in [
        ("resolution", resolving - told),
        ("findings about policies", told),
        ("graph", graph),
        ("snapshot", snapshot),
        ("policies as read", as_written),
        ("graph, resolution and findings", graph + resolving),
        ("everything that is not documents", everything),
    ] {
        report.line(format!("  {what:<40}{:>8.1} MB{:>8.1} bytes each", bytes / 1e6, each(bytes)));
    }
}

/// The library's one call, from texts to everything that can be said about them.
fn whole(spec: &FleetSpec, gib: Option<f64>, report: &mut Report) {
    let before = HEAP.current_usage();
    let inputs = inputs(spec);
    let text: usize = inputs.iter().map(|i| i.bytes.len()).sum();
    HEAP.reset_peak_usage();
    let analysis = Analysis::new(inputs, &Options::default());
    let (peak, kept) = (HEAP.peak_usage() - before, HEAP.current_usage() - before);
    let times = |bytes: usize| bytes as f64 / text as f64;
    report.at_most("peak memory / text", times(peak), PEAK_BAR);
    if let Some(bar) = gib {
        let of = |bytes: usize| bytes as f64 / (1_u64 << 30) as f64;
        report.at_most("peak heap in GiB", of(peak + before), bar);
        if let Some(resident) = peak_resident() {
            report.at_most("peak resident memory in GiB, as the kernel counts", of(resident), bar);
        }
    }
    report.line(format!("whole, {} routes: {:.0} MB of text", spec.routes, text as f64 / 1e6));
    report.line(format!(
        "  peak {:.0} MB, kept {:.0} MB ({:.2} times the text), trees {:.2} times the text",
        peak as f64 / 1e6,
        kept as f64 / 1e6,
        times(kept),
        times(analysis.documents.memory())
    ));
    let paths: usize = analysis.answers.iter().map(|a| a.resolution.paths.len()).sum();
    report.line(format!("  {paths} paths, {} findings", analysis.diagnostics.len()));
}

/// What a workspace holds beyond the analysis of the same texts, so that it can be changed.
fn live(spec: &FleetSpec, report: &mut Report) {
    let before = HEAP.current_usage();
    let held = || HEAP.current_usage() - before;
    let analysis = Analysis::new(inputs(spec), &Options::default());
    let (alone, resources) = (held(), analysis.snapshot.len());
    drop(analysis);
    let given = |input: Input| KeyedText { key: input.name.clone(), input, created: None };
    let workspace =
        Workspace::new(inputs(spec).into_iter().map(given).collect(), Options::default());
    let more = (held() - alone) as f64;
    report.line(format!(
        "live, a text for each of {resources} resources: {:.0} MB beyond the analysis of {:.0} MB, {:.0} bytes each",
        more / 1e6,
        alone as f64 / 1e6,
        more / resources as f64
    ));
    drop(workspace);
}

/// The most memory of this process that was resident at once; only Linux tells.
fn peak_resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: usize = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}
