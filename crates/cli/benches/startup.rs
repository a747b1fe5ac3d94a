// SPDX-License-Identifier: Apache-2.0
//! In: the built command, a small folder and a large one. Out: the processor time of its own that an answer takes: of
//! the small folder in milliseconds and as a ratio to a process that does nothing, of the large one from the cache as a
//! ratio to the answer that was computed. Not here: where the time goes (a profiler knows).
//!
//! `cargo bench -p overrule-cli --bench startup`, `-- --quick` for a short one that reports and never fails.
//! Processor time, not time on the clock: the machine has others to serve.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench prints, and stops at the first surprise"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Milliseconds of its own that the answer about a small folder may take.
const SMALL: f64 = 20.0;

/// Share of the computed answer that the kept one may take.
const KEPT: f64 = 0.5;

const FILES: usize = 20;

fn main() -> ExitCode {
    let quick = std::env::args().any(|a| a == "--quick");
    let (runs, routes) = if quick { (11, 20_000) } else { (101, 100_000) };
    let temp = tempfile::tempdir().unwrap();
    let (small, large, cache) =
        (temp.path().join("small"), temp.path().join("large"), temp.path().join("cache"));
    let nothing = own(runs, || Command::new("true"));
    write(&small, FILES, 100);
    let answer = own(runs, || ask(&small, &cache));
    println!("startup, {FILES} files with 100 routes, median of {runs} runs");
    println!("  {:>8.2} ms  a process that does nothing", nothing);
    let mut fine = bar("ms of its own per answer", answer, SMALL);
    println!("  {:>8.1}     times the process that does nothing", answer / nothing);

    let bytes = write(&large, routes / 100 + 1, routes);
    let fresh = own(3, || {
        let mut command = ask(&large, &cache);
        command.arg("--no-cache");
        command
    });
    let first = own(1, || ask(&large, &cache));
    let kept = own(11, || ask(&large, &cache));
    let entries = std::fs::read_dir(cache.join("overrule")).unwrap().count();
    assert_eq!(entries, 1, "the answer was kept");
    println!("cache, {routes} routes, {:.0} MB", bytes as f64 / 1e6);
    println!(
        "  {fresh:>8.1} ms  computed; {first:.1} ms computed and kept; {kept:.1} ms from the cache"
    );
    fine &= bar("kept / computed", kept / fresh, KEPT);
    if fine || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn bar(what: &str, value: f64, at_most: f64) -> bool {
    let mark = if value <= at_most { "ok  " } else { "MISS" };
    println!("  {mark} {value:>8.3}  at most {at_most:>5.1}  {what}");
    value <= at_most
}

/// A question about one route.
fn ask(folder: &Path, cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overrule"));
    command.args(["effective", "httproute/shop/r7", "-f"]).arg(folder);
    command
        .env("XDG_CACHE_HOME", cache)
        .env_remove("OVERRULE_NO_CACHE")
        .env_remove("OVERRULE_SERVER");
    command
}

/// The median of the processor time that runs take, in milliseconds: theirs and the kernel's for them.
fn own(runs: usize, command: impl Fn() -> Command) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let before = children();
            let mut command = command();
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            assert!(command.status().unwrap().success(), "{command:?}");
            (children() - before) as f64 / 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[runs / 2]
}

/// Microseconds of all children that have ended.
fn children() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
}

/// A gateway with a policy in one file, and routes in the others.
fn write(folder: &Path, files: usize, routes: usize) -> usize {
    std::fs::create_dir(folder).unwrap();
    let mut texts = vec![GATEWAY.to_owned()];
    texts.resize(files, String::new());
    for route in 0..routes {
        let text = &mut texts[1 + route % (files - 1)];
        write!(
            text,
            "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n\
             metadata:\n  name: r{route}\n  namespace: shop\nspec:\n  parentRefs:\n  - name: edge\n  \
             hostnames:\n  - r{route}.example.com\n  rules:\n  - matches:\n    - path:\n        type: PathPrefix\n        \
             value: /\n    backendRefs:\n    - name: cart\n      port: 8080\n"
        )
        .unwrap();
    }
    for (place, text) in texts.iter().enumerate() {
        std::fs::write(folder.join(format!("{place:04}.yaml")), text).unwrap();
    }
    texts.iter().map(String::len).sum()
}

const GATEWAY: &str = "\
apiVersion: overrule/v1
kind: PolicyKind
metadata: {name: timeoutpolicies.policies.example.com}
spec: {group: policies.example.com, kind: TimeoutPolicy, class: Inherited}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: edge}
spec: {controllerName: example.com/controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: edge
  listeners:
  - {name: web, port: 80, protocol: HTTP}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 8080}]}
---
apiVersion: policies.example.com/v1
kind: TimeoutPolicy
metadata: {name: timeouts, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}]
  timeouts: {request: 5s}
";
