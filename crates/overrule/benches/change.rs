// SPDX-License-Identifier: Apache-2.0
//! In: a fleet and changes to it. Out: what a change costs, publication included, against resolving everything.
//! Not here: whether the answers are right (`tests/live.rs`).
//!
//! `cargo bench -p overrule --bench change`; `-- --quick` a twentieth, to see that it runs. Times are processor time.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

mod report;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ProcessTime;
use overrule::gateway::topology;
use overrule::live::{Edit, KeyedText, Workspace};
use overrule::source::Input;
use overrule::{Analysis, Options, Touched};
use overrule_testkit::fleet::{FleetSpec, ManifestFormat, MeshSpec, manifests};
use rayon::{ThreadPool, ThreadPoolBuilder};
use report::{Report, best};

fn main() -> ExitCode {
    if let Some(ended) = report::in_warm_process() {
        return ended;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let spec = FleetSpec { per_file: 1, ..FleetSpec::bar8() };
    let spec = if quick { spec.divided_by(20) } else { spec };
    let mut report = Report::default();
    let families = [
        ("described kinds", spec.clone()),
        ("kuadrant", spec.clone().kuadrant()),
        ("kgateway", spec.kgateway(2)),
    ];
    let medians = families.map(|(name, spec)| one_route(name, &spec, &mut report).as_secs_f64());
    let [least, most] = [f64::min, f64::max].map(|of| medians.into_iter().reduce(of).unwrap());
    report.at_most("change of one route, dearest family / cheapest", most / least, 2.0);
    let spec = FleetSpec { per_file: 1, ..FleetSpec::bar8_one_gateway() };
    let spec = if quick { spec.divided_by(20) } else { spec };
    all_routes(&spec, &mut report);
    let spec = if quick { MeshSpec::medium() } else { MeshSpec::bar8() };
    one_proxy(&MeshSpec { per_file: 1, ..spec }, &mut report);
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A fleet as it is kept live, its texts, and the processor time of resolving all of it without reading it again: the
/// whole pipeline, and its last part alone (connect, attach, order, merge, findings), which `fleet.rs` measures too.
struct Fleet {
    texts: Vec<(String, String)>,
    workspace: Workspace,
    /// One thread: what several gain is for other benches to tell.
    one: ThreadPool,
    all: Duration,
    full: Duration,
    /// Of described kinds alone.
    last: Option<Duration>,
}

impl Fleet {
    fn new(spec: &FleetSpec, report: &mut Report) -> Self {
        let texts: Vec<(String, String)> = manifests(spec, ManifestFormat::Yaml).collect();
        let given = texts.iter().map(|(name, text)| given(name, text)).collect();
        report.line(format!("{} routes, {} gateways", spec.routes, spec.gateways));
        let start = ProcessTime::now();
        let workspace = Workspace::new(given, Options::default());
        let all = start.elapsed();
        report.row("read and resolve everything", all, None);
        let one = one_thread();
        let (full, whole) = best(3, || one.install(|| workspace.resolve()));
        report.row("full resolve: all but reading", full, None);
        let described =
            whole.policies::<overrule::gateway::Gep713>().is_some_and(|p| !p.is_empty());
        let last = described.then(|| one.install(|| last_part(&whole)));
        if let Some(last) = last {
            report.row("  of which connect, attach, order, merge, findings", last, None);
        }
        Self { texts, workspace, one, all, full, last }
    }

    /// A policy that names a target of a kind, with that target.
    fn policy_on(&self, kind: &str) -> (String, String) {
        let mut all = self.texts.iter();
        all.find(|(_, text)| is_on(text, kind)).expect("a policy on such a target").clone()
    }
}

fn one_thread() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one")
}

fn last_part(whole: &Analysis) -> Duration {
    let mut snapshot = whole.snapshot.clone();
    let (resources, _) = topology::parse(&whole.documents, &mut snapshot);
    let options = overrule::gateway::ResolveOptions::default();
    let policies: Vec<_> =
        whole.policies::<overrule::gateway::Gep713>().into_iter().flatten().cloned().collect();
    let (time, _) = best(3, || {
        let built = resources.connect(&snapshot);
        let (kinds, policies) = (whole.kinds(), &policies);
        let documents = &whole.documents;
        overrule::gateway::resolve(documents, &snapshot, &built.topology, kinds, policies, &options)
    });
    time
}

/// Each change is of another policy: nothing is at hand from the one before. The median.
fn one_route(family: &str, spec: &FleetSpec, report: &mut Report) -> Duration {
    report.line(format!("policies of {family}"));
    let mut fleet = Fleet::new(spec, report);
    // Where many policies remove rules, who is told about one that is not there depends on all of them, so that a change
    // of such a policy resolves everything (decision 0009).
    let removes = |text: &str| text.contains("\n  unset:");
    let mut on_route = fleet.texts.iter().filter(|(_, text)| is_on(text, "HTTPRoute"));
    let on_route = on_route.by_ref().filter(|(_, text)| !removes(text));
    let policies: Vec<(String, String)> = on_route.take(1_000).cloned().collect();
    let mut times = Vec::new();
    for (name, text) in &policies {
        let edit = changed(name, text, 0);
        // Somebody still reads the version before; dropping it is not the writer's work.
        let before = Arc::clone(fleet.workspace.analysis());
        let start = ProcessTime::now();
        let after = fleet.workspace.change(vec![edit]);
        let time = start.elapsed();
        drop(before);
        let Touched::Ladders(ladders) = &after.touched else {
            panic!("{family}: {name} resolves everything:\n{text}");
        };
        // A route that no rule delegates to has no path: changing its policies costs less.
        if !ladders.is_empty() {
            times.push(time);
        }
    }
    assert!(times.len() * 2 > policies.len(), "{family}: {} policies have ladders", times.len());
    times.sort();
    let median = times[times.len() / 2];
    report.line(format!("  one policy that affects one route: {:.1} us", micros(median)));
    let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap();
    report.line(format!(
        "  the mean, copies of what is no more shared included: {:.1} us",
        micros(mean)
    ));
    let share = |of: Duration| median.as_secs_f64() / of.as_secs_f64() * 5e3;
    if let Some(last) = fleet.last {
        let name = "change of one route, in 1/5,000 of connect, attach, order, merge, findings";
        report.at_most(name, share(last), 1.0);
    }
    report.line(format!("  in 1/5,000 of all but reading: {:.2}", share(fleet.full)));
    report.line(format!("  in 1/5,000 of everything, reading included: {:.2}", share(fleet.all)));
    median
}

fn all_routes(spec: &FleetSpec, report: &mut Report) {
    let mut fleet = Fleet::new(spec, report);
    let (name, text) = fleet.policy_on("Gateway");
    let mut times = Vec::new();
    for run in 0..5 {
        let edit = changed(&name, &text, run);
        let before = Arc::clone(fleet.workspace.analysis());
        let start = ProcessTime::now();
        let after = fleet.one.install(|| fleet.workspace.change(vec![edit]));
        times.push(start.elapsed());
        drop(before);
        let touches = matches!(&after.touched, Touched::Ladders(some) if !some.is_empty());
        assert!(touches, "{name} touches {:?}:\n{text}", after.touched);
    }
    let least = times.into_iter().min().expect("some runs");
    report.row("one policy on the gateway of all routes", least, None);
    let share = |of: Duration| least.as_secs_f64() / of.as_secs_f64();
    let name = "change of all routes / connect, attach, order, merge, findings";
    report.at_most(name, share(fleet.last.expect("described kinds")), 1.0 / 3.0);
    report.line(format!("  of all but reading: {:.2}", share(fleet.full)));
}

/// Whatever is no policy takes the whole pipeline, without reading.
fn one_proxy(spec: &MeshSpec, report: &mut Report) {
    let texts: Vec<(String, String)> = manifests(spec, ManifestFormat::Yaml).collect();
    let all = texts.iter().map(|(name, text)| given(name, text)).collect();
    let start = ProcessTime::now();
    let mut workspace = Workspace::new(all, Options::default());
    report.line(format!("{} dataplanes, {} services", spec.dataplanes, spec.services));
    report.row("read and resolve everything", start.elapsed(), None);
    let is_proxy = |(_, text): &&(String, String)| text.contains("\ntype: Dataplane\n");
    let mut times = Vec::new();
    for (name, text) in texts.iter().filter(is_proxy).take(3) {
        let before = Arc::clone(workspace.analysis());
        let text = text.replacen("labels:\n", "labels:\n  change: a\n", 1);
        let edit = Edit::Put(given(name, &text));
        let start = ProcessTime::now();
        one_thread().install(|| workspace.change(vec![edit]));
        times.push(start.elapsed());
        drop(before);
    }
    report.row("one dataplane", times.into_iter().min().expect("some runs"), None);
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A policy with a label more.
fn changed(name: &str, text: &str, run: u32) -> Edit {
    let text = text.replacen("\nspec:", &format!("\n  labels:\n    change: \"{run}\"\nspec:"), 1);
    Edit::Put(given(name, &text))
}

fn given(name: &str, text: &str) -> KeyedText {
    KeyedText { key: name.into(), input: Input::new(name, text.as_bytes()), created: None }
}

/// Whether a text is a policy that names a target of a kind.
fn is_on(text: &str, kind: &str) -> bool {
    (text.contains("targetRef:") || text.contains("targetRefs:"))
        && text.contains(&format!("kind: {kind}"))
}
