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
use std::time::Duration;

use cpu_time::ProcessTime;
use overrule::Options;
use overrule::live::{Edit, World};
use overrule::source::Input;
use overrule_testkit::fleet::{FleetSpec, Format, manifests};
use report::{Report, best};

fn main() -> ExitCode {
    if let Some(ended) = report::in_warm_process() {
        return ended;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let spec = FleetSpec { per_file: 1, ..FleetSpec::bar8() };
    let spec = if quick { spec.divided_by(20) } else { spec };
    let mut report = Report::default();
    measure(&spec, &mut report);
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(spec: &FleetSpec, report: &mut Report) {
    let texts: Vec<(String, String)> = manifests(spec, Format::Yaml).collect();
    let inputs = texts.iter().map(|(n, t)| (Input::new(n.as_str(), t.as_bytes()), None)).collect();
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    let start = ProcessTime::now();
    let mut world = World::new(inputs, Options::default());
    report.row("read and resolve everything", start.elapsed(), None);
    let (full, _) = best(3, || one.install(|| world.gather().resolve()));
    report.row("full resolve, nothing read again", full, None);
    let of_route = texts.iter().find(|(_, t)| is_on(t, "HTTPRoute")).expect("a policy on a route");
    let target = target_of(&of_route.1);
    let (median, pieces) = changes(&mut world, of_route, &target, 2_000);
    report.row("one policy that affects one route", median, None);
    report.line(format!("  {pieces} resources decide the answer about {target}"));
    let share = median.as_secs_f64() / full.as_secs_f64();
    report.at_most("change that affects one route, in 1/5,000 of full resolve", share * 5e3, 1.0);
}

/// Whether a text is a policy that names a target of a kind.
fn is_on(text: &str, kind: &str) -> bool {
    text.contains("targetRef:") && text.contains(&format!("kind: {kind}"))
}

fn target_of(policy: &str) -> String {
    let after = |word: &str, text: &str| {
        let rest = text.split_once(word).expect("the word").1;
        rest.lines().next().expect("a line").trim().to_owned()
    };
    let spec = policy.split_once("targetRef:").expect("a target").1;
    format!("httproute/{}/{}", after("namespace:", policy), after("name:", spec))
}

/// The median of many changes, each another text; and how many resources each resolves.
fn changes(
    world: &mut World,
    (name, text): &(String, String),
    target: &str,
    runs: u32,
) -> (Duration, usize) {
    let mut times = Vec::new();
    let mut pieces = 0;
    for run in 0..runs {
        let text = text.replace("spec:", &format!("  labels:\n    change: \"{run}\"\nspec:"));
        let edit = Edit::Put { input: Input::new(name.as_str(), text.as_bytes()), created: None };
        let start = ProcessTime::now();
        let published = world.change(vec![edit]);
        times.push(start.elapsed());
        let near = published.about(target);
        let near =
            near.unwrap_or_else(|| panic!("an answer about {target}, which this affects:\n{text}"));
        pieces = near.documents.len();
    }
    times.sort();
    (times[times.len() / 2], pieces)
}
