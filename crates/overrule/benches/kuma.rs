// SPDX-License-Identifier: Apache-2.0
//! In: fleets of proxies that are replicas of a few shapes, one proxy with thousands of policies, and meshes with many
//! destinations. Out: times as ratios in one run, instructions of a lookup, and whether the bars hold. Not here: memory,
//! reading files, other families.
//!
//! `cargo bench -p overrule --bench kuma`, `-- --quick` for a small one. The other side of the ratio is the naive
//! implementation of the testkit: for each proxy it filters all policies, sorts them and builds every rule. Both sides
//! start with resources that are read. Instructions are counted by valgrind, where there is one.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

mod report;

use std::process::{Command, ExitCode};
use std::time::Duration;

use overrule::engine::Topology;
use overrule::kuma::resolve::Outbounds;
use overrule::kuma::targets::DestinationIndex;
use overrule::kuma::topology::{self, MeshTopology};
use overrule::kuma::{self, MeshResolution, Profile, ProxyOptions, Resources, Settings, World};
use overrule::model::Snapshot;
use overrule::source::{Documents, Input, ReadOptions, read};
use overrule_testkit::kuma::{self as naive, Fleet};
use overrule_testkit::yaml;
use report::{Report, best};
use serde_json::{Value, json};

fn main() -> ExitCode {
    if let Some(destinations) = argument("--lookup") {
        look_up_among(destinations);
        return ExitCode::SUCCESS;
    }
    if let Some(ended) = report::in_warm_process() {
        return ended;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let rounds = if quick { 1 } else { 5 };
    let full = Fleet { proxies: 10_000, shapes: 50, services: 1_000, policies: 500 };
    let small = Fleet { proxies: 500, shapes: 10, services: 100, policies: 100 };
    let size = if quick { small } else { full };
    let mut report = Report::default();
    fleet(size, if quick { 20 } else { 200 }, rounds, &mut report);
    replicas(size, rounds, &mut report);
    shapes(size, rounds, &mut report);
    one_proxy(if quick { 200 } else { 2_000 }, rounds, &mut report);
    lookups(10, if quick { 1_000 } else { 100_000 }, &mut report);
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The number after a flag.
fn argument(flag: &str) -> Option<usize> {
    std::env::args().skip_while(|a| a != flag).nth(1).and_then(|n| n.parse().ok())
}

/// Everything the resolve step needs.
struct Ready {
    documents: Documents,
    snapshot: Snapshot,
    resources: Resources,
    topology: MeshTopology,
    profile: Profile,
}

impl Ready {
    fn new(documents: &[Value]) -> Self {
        let input = Input::new("fleet.yaml", yaml::documents(documents));
        let documents = read(vec![input], &ReadOptions::default()).documents;
        let mut snapshot = overrule::model::parse(&documents).snapshot;
        let (resources, _) = kuma::parse(&documents, &snapshot, &Settings::default());
        let refused: usize = resources.meshes.iter().map(|mesh| mesh.refused.len()).sum();
        assert_eq!(refused, 0, "a refused policy would be no work");
        let mut nodes = Topology::default();
        let topology = topology::build(&documents, &mut snapshot, &resources, &mut nodes);
        let profile = Profile::from_name("design", &resources.settings);
        Self { documents, snapshot, resources, topology, profile }
    }

    /// Shapes, selection, order, rules, paths, merged confs.
    fn resolve(&self) -> MeshResolution {
        let world = World {
            documents: &self.documents,
            snapshot: &self.snapshot,
            resources: &self.resources,
            topology: &self.topology,
            profile: &self.profile,
        };
        kuma::resolve(world, &ProxyOptions::default())
    }
}

/// The whole fleet against the naive implementation, which is measured on some of its proxies.
fn fleet(size: Fleet, sample: usize, rounds: usize, report: &mut Report) {
    let documents = naive::fleet_documents(size);
    let ready = Ready::new(&documents);
    let (ours, resolved) = best(rounds, || ready.resolve());
    let world = naive::OracleMeshes::read(&documents);
    // Replicas follow each other shape by shape, so the first ones are of all shapes.
    assert!(sample >= size.shapes && sample <= world.proxies());
    let (some, rules) = best(rounds, || {
        let answers = (0..sample).map(|proxy| world.answers(proxy, naive::Profile::Design));
        answers.map(|kinds| kinds.values().map(|a| a.to.len()).sum::<usize>()).sum::<usize>()
    });
    let scale = size.proxies as f64 / sample as f64;
    let all = some.mul_f64(scale);
    let Fleet { proxies, shapes, services, policies } = size;
    report.row(&format!("{proxies} proxies of {shapes} shapes"), ours, None);
    report.row(&format!("naive, {sample} of them"), some, None);
    report.row(&format!("naive, all {proxies}: that times {scale:.0}"), all, None);
    report.line(format!(
        "  {services} services, {policies} policies; naive: {} rules about destinations for each proxy",
        rules / sample
    ));
    report.line(format!(
        "  ours: {} folds, {} paths; {} proxies have no paths to destinations of their own but those of one like them",
        resolved.resolution.folds(),
        resolved.resolution.paths.len(),
        resolved.alike
    ));
    let percent = ours.as_secs_f64() / all.as_secs_f64() * 100.0;
    report.at_most(
        "whole fleet: percent of the naive time (1 is a hundred times faster)",
        percent,
        1.0,
    );
}

/// All proxies against one of each shape, among the same services and policies.
fn replicas(size: Fleet, rounds: usize, report: &mut Report) {
    let ready = |proxies| Ready::new(&naive::fleet_documents(Fleet { proxies, ..size }));
    let (one_each, all) = (ready(size.shapes), ready(size.proxies));
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let (some, _) = best(2, || one_each.resolve());
        let (every, _) = best(2, || all.resolve());
        ratios.push(every.as_secs_f64() / some.as_secs_f64());
    }
    let Fleet { proxies, shapes, .. } = size;
    let what = format!("rules of {proxies} proxies / of one of each of {shapes} shapes: time");
    report.at_most(what, median(ratios), 3.0);
}

/// As many proxies, of twice as many shapes.
fn shapes(size: Fleet, rounds: usize, report: &mut Report) {
    let ready = |shapes| Ready::new(&naive::fleet_documents(Fleet { shapes, ..size }));
    let (few, many) = (ready(size.shapes), ready(size.shapes * 2));
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let (one, _) = best(2, || few.resolve());
        let (two, _) = best(2, || many.resolve());
        ratios.push(two.as_secs_f64() / one.as_secs_f64());
    }
    report.at_most("twice as many shapes: time", median(ratios), 2.2);
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// So many replicas beside the first proxy tell what one more takes.
const REPLICAS: usize = 1_000;

/// One proxy with six inbounds among thousands of policies: the first, and one more like it.
fn one_proxy(policies: usize, rounds: usize, report: &mut Report) {
    let alone = Ready::new(&many_policies(policies, 1));
    let among = Ready::new(&many_policies(policies, 1 + REPLICAS));
    let (mut colds, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (cold, _) = best(3, || alone.resolve());
        let (all, _) = best(3, || among.resolve());
        let more = all.saturating_sub(cold).as_secs_f64() / REPLICAS as f64;
        ratios.push(more / cold.as_secs_f64() * 100.0);
        colds.push(cold);
    }
    let cold = colds.into_iter().min().expect("a round");
    let percent = median(ratios);
    report.row(&format!("one proxy, {policies} policies, 6 inbounds, cold"), cold, None);
    let warm = Duration::from_secs_f64(cold.as_secs_f64() * percent / 100.0);
    report.line(format!(
        "  one more like it, mean of {REPLICAS}: {:.1} us; cold includes its index",
        warm.as_secs_f64() * 1e6
    ));
    report.at_most("one more proxy like the first: percent of the cold time", percent, 10.0);
}

/// Every fiftieth policy is for the mesh, every tenth for the proxy's app, the rest for other apps; half of them about
/// what comes in, half about clients.
fn many_policies(policies: usize, proxies: usize) -> Vec<Value> {
    let mut all = vec![json!({"type": "Mesh", "name": "default"})];
    for n in 0..policies {
        let target = match n {
            _ if n.is_multiple_of(50) => json!({"kind": "Mesh"}),
            _ if n % 10 < 2 => json!({"kind": "Dataplane", "labels": {"app": "app"}}),
            _ => json!({"kind": "Dataplane", "labels": {"app": format!("other-{n}")}}),
        };
        let caller =
            json!({"kind": "MeshSubset", "tags": {"kuma.io/service": format!("caller-{n}")}});
        let (kind, spec) = if n.is_multiple_of(2) {
            let conf = json!({"idleTimeout": format!("{}s", 1 + n % 50)});
            ("MeshTimeout", json!({"targetRef": target, "rules": [{"default": conf}]}))
        } else {
            let entry = json!({"targetRef": caller, "default": {"action": "Allow"}});
            ("MeshTrafficPermission", json!({"targetRef": target, "from": [entry]}))
        };
        let labels = json!({"kuma.io/origin": "global", "kuma.io/display-name": format!("p-{n}")});
        all.push(json!({
            "type": kind, "mesh": "default", "name": format!("p-{n}"), "labels": labels, "spec": spec,
        }));
    }
    for n in 0..proxies {
        let inbound = |i: usize| {
            let tags = json!({"kuma.io/service": format!("app-{i}")});
            json!({"port": 8000 + i, "name": format!("in-{i}"), "tags": tags})
        };
        let inbounds: Vec<Value> = (0..6).map(inbound).collect();
        let name = format!("app-{n}");
        let labels = json!({
            "app": "app", "kuma.io/origin": "zone", "kuma.io/zone": "east", "kuma.io/display-name": name,
        });
        all.push(json!({
            "type": "Dataplane", "mesh": "default", "name": name, "labels": labels,
            "networking": {"address": "10.0.0.1", "inbound": inbounds},
        }));
    }
    all
}

/// How many lookups are counted.
const LOOKUPS: usize = 10_000;

/// Instructions of a lookup among few and many destinations, each counted in a process of its own.
fn lookups(few: usize, many: usize, report: &mut Report) {
    let counted = [few, many].map(instructions);
    let [Some(one), Some(two)] = counted else {
        report.line("  lookups: not counted, there is no valgrind that works here".to_owned());
        return;
    };
    for (destinations, count) in [(few, one), (many, two)] {
        report.line(format!("  lookup among {destinations} destinations: {count:.1} instructions"));
    }
    report.at_most(
        format!("lookup among {many} destinations instead of {few}: instructions"),
        two / one,
        1.3,
    );
}

/// Instructions of one lookup among so many destinations.
fn instructions(destinations: usize) -> Option<f64> {
    let program = std::env::current_exe().expect("the bench has a file");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=/dev/null"]);
    valgrind.arg("--toggle-collect=*look_up_all*").arg(program);
    let output = valgrind.args(["--lookup", &destinations.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text.lines().find_map(|line| line.split_once("Collected :"))?.1.trim();
    let count: f64 = count.parse().ok()?;
    assert!(count > LOOKUPS as f64, "nothing was counted: {text}");
    Some(count / LOOKUPS as f64)
}

/// What runs under valgrind: a mesh with so many destinations, and lookups all over them.
fn look_up_among(destinations: usize) {
    let ready = Ready::new(&many_destinations(destinations));
    let resolved = ready.resolve();
    let (timeouts, _) = resolved.resolution.kinds().next().expect("a kind");
    let outbounds = resolved.proxies[0][0].outbounds(timeouts).expect("entries about destinations");
    // The Mesh is the first of what entries may mean.
    let place = |n: usize| (u32::try_from(1 + n * 7_919 % destinations).expect("a place"), 0);
    let places: Vec<DestinationIndex> = (0..LOOKUPS).map(place).collect();
    let found = look_up_all(&resolved, outbounds, &places);
    assert_eq!(found, LOOKUPS, "every destination has a conf");
}

#[inline(never)]
fn look_up_all(
    resolved: &MeshResolution,
    outbounds: &Outbounds,
    places: &[DestinationIndex],
) -> usize {
    let conf = |place: &&DestinationIndex| {
        let effective = resolved.resolution.effective(outbounds.of(**place));
        effective.is_some_and(|e| e.value.is_some())
    };
    places.iter().filter(conf).count()
}

/// One proxy, and services in ten groups with a policy each.
fn many_destinations(count: usize) -> Vec<Value> {
    let mut all = vec![json!({"type": "Mesh", "name": "default"})];
    for n in 0..count {
        let labels = json!({
            "group": format!("g-{}", n % 10), "kuma.io/origin": "zone", "kuma.io/zone": "east",
            "kuma.io/display-name": format!("svc-{n}"),
        });
        all.push(json!({
            "type": "MeshService", "mesh": "default", "name": format!("svc-{n}"), "labels": labels,
            "spec": {"ports": [{"port": 80, "name": "http", "targetPort": 80}], "selector": {"dataplaneTags": {"app": "x"}}},
        }));
    }
    for n in 0..10 {
        let target = json!({"kind": "MeshService", "labels": {"group": format!("g-{n}")}});
        let entry = json!({"targetRef": target, "default": {"idleTimeout": format!("{}s", n + 1)}});
        let labels = json!({"kuma.io/origin": "global", "kuma.io/display-name": format!("p-{n}")});
        all.push(json!({
            "type": "MeshTimeout", "mesh": "default", "name": format!("p-{n}"), "labels": labels,
            "spec": {"targetRef": {"kind": "Mesh"}, "to": [entry]},
        }));
    }
    all.push(json!({
        "type": "Dataplane", "mesh": "default", "name": "web",
        "labels": {"kuma.io/origin": "zone", "kuma.io/zone": "east", "kuma.io/display-name": "web"},
        "networking": {"address": "10.0.0.1", "inbound": [{"port": 80, "tags": {"kuma.io/service": "web"}}]},
    }));
    all
}
