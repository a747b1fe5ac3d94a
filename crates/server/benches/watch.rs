// SPDX-License-Identifier: Apache-2.0
//! In: 100,000 routes, a change of one resource, and watchers. Out: what the change costs with 1,000 watchers, as a ratio to
//! what it costs with one. Not here: connections; a watcher is given its event as bytes, which is what is left to send.
//!
//! `cargo bench -p overrule-server --bench watch`, `-- --quick` for a small one. Measured is everything between the commit
//! and the last event: reading the feed, resolving, comparing, and what each watcher is told. Times are processor time.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ProcessTime;
use overrule::Options;
use overrule_guard::Grants;
use overrule_server::Extensions;
use overrule_server::hostile::admit;
use overrule_server::watching::{Differences, Live, Resolving, WatchFilter};
use overrule_store::{Author, Change, Precondition, Store};

/// Watchers of the larger case.
const WATCHERS: usize = 1_000;
/// Documents of a commit.
const BATCH: usize = 10_000;

const KIND: &str = "apiVersion: overrule/v1
kind: PolicyKind
metadata: {name: timeoutpolicies.policies.example.com}
spec:
  group: policies.example.com
  kind: TimeoutPolicy
  class: Inherited
  targets: [{kind: Gateway}, {kind: HTTPRoute}]
";

fn main() -> ExitCode {
    let quick = std::env::args().any(|a| a == "--quick");
    let routes = if quick { 2_000 } else { 100_000 };
    let mut fleet = Fleet::new(routes);
    println!("{routes} routes in {} namespaces, {} policies", fleet.namespaces, routes / 5);
    let everybody = vec![grants("read"); WATCHERS];
    let tenants: Vec<Grants> = (0..WATCHERS)
        .map(|n| grants(&format!("read:namespace/team-{}", n % fleet.namespaces)))
        .collect();
    // Each may read what changed, and none has the rights of another: nothing can be shared.
    let alike: Vec<Grants> =
        (0..WATCHERS).map(|n| grants(&format!("read:namespace/team-0 read:mesh/m-{n}"))).collect();
    let mut holds = true;
    let rounds = if quick { 3 } else { 15 };
    let (policy, route): (Make, Make) = (fleet_policy, fleet_route);
    println!("one change of a policy on one route:");
    holds &= fleet.compare("  all read everything", policy, &everybody, rounds, Some(1.5));
    holds &= fleet.compare("  each reads a namespace", policy, &tenants, rounds, None);
    fleet.compare("  all may read it, by other rights", policy, &alike, rounds, None);
    println!("one change of a route:");
    let rounds = rounds.min(5);
    holds &= fleet.compare("  all read everything", route, &everybody, rounds, Some(1.5));
    holds &= fleet.compare("  each reads a namespace", route, &tenants, rounds, Some(1.5));
    holds &= fleet.compare("  all may read it, by other rights", route, &alike, rounds, None);
    if holds || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn grants(text: &str) -> Grants {
    Grants::new(text.split(' ').map(|grant| grant.parse().unwrap()).collect())
}

/// The document of a number, in another version each time.
type Make = fn(&Fleet, usize, usize) -> String;

fn fleet_route(fleet: &Fleet, n: usize, version: usize) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: route-{n}, namespace: team-{}}}
spec:
  parentRefs: [{{name: edge-{}, namespace: infra}}]
  hostnames: [r{n}.example.com]
  rules:
  - name: version-{version}
    backendRefs: [{{name: app-{n}, port: 80}}]
",
        n % fleet.namespaces,
        n % 100,
    )
}

fn fleet_policy(fleet: &Fleet, n: usize, version: usize) -> String {
    format!(
        "apiVersion: policies.example.com/v1
kind: TimeoutPolicy
metadata: {{name: route-{n}, namespace: team-{}}}
spec:
  targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: route-{n}}}
  defaults: {{strategy: merge, timeouts: {{request: {}ms}}}}
",
        n % fleet.namespaces,
        version + 1,
    )
}

struct Fleet {
    namespaces: usize,
    store: Arc<dyn Store>,
    live: Option<Live>,
    versions: usize,
}

impl Fleet {
    fn new(routes: usize) -> Self {
        let store: Arc<dyn Store> = Arc::from(overrule_store::open_memory().unwrap());
        let mut fleet = Self { namespaces: routes / 100, store, live: None, versions: 0 };
        let mut texts = vec![KIND.to_owned()];
        for n in 0..100 {
            texts.push(format!(
                "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: edge-{n}, namespace: infra}}
spec:
  gatewayClassName: c
  listeners:
  - {{name: web, port: 80, protocol: HTTP, allowedRoutes: {{namespaces: {{from: All}}}}}}
"
            ));
        }
        texts.extend((0..routes).map(|n| fleet_route(&fleet, n, 0)));
        texts.extend((0..routes).step_by(5).map(|n| fleet_policy(&fleet, n, 0)));
        for batch in texts.chunks(BATCH) {
            let body = batch.iter().fold(String::new(), |mut body, text| {
                write!(body, "---\n{text}").unwrap();
                body
            });
            fleet.put(&body);
        }
        let resolving = Resolving::new(Options::default());
        fleet.live = Some(Live::open(Arc::clone(&fleet.store), resolving).unwrap());
        fleet
    }

    fn put(&self, body: &str) {
        let (options, extensions) = (Options::default(), Extensions::default());
        let admitted = admit("body", body.as_bytes(), &options, &extensions);
        assert!(admitted.refusals.is_empty(), "{:?}", admitted.refusals);
        let put = |m: overrule_server::hostile::Manifest| Change::Put {
            key: m.key,
            text: m.text,
            form: m.form,
            expect: Precondition::Any,
        };
        let changes: Vec<Change> = admitted.manifests.into_iter().map(put).collect();
        self.store.commit(&Author::default(), &changes).unwrap();
    }

    /// One change after another, with one watcher and with all, in turns. Whether the ratio of the medians holds.
    fn compare(
        &mut self,
        name: &str,
        make: Make,
        all: &[Grants],
        rounds: usize,
        bar: Option<f64>,
    ) -> bool {
        let (mut one, mut many) = (Vec::new(), Vec::new());
        let mut told = 0;
        for _ in 0..rounds {
            one.push(self.change(make, &all[..1]).0);
            let (took, events) = self.change(make, all);
            many.push(took);
            told = events;
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        };
        let (one, many) = (median(&mut one), median(&mut many));
        let ratio = many.as_secs_f64() / one.as_secs_f64();
        let holds = bar.is_none_or(|bar| ratio <= bar);
        let bar = bar.map_or(String::new(), |bar| {
            format!(" (bar: {bar:.2}) {}", if holds { "holds" } else { "DOES NOT HOLD" })
        });
        println!(
            "{name}: one {one:.1?}, {} {many:.1?}, {told} told; ratio {ratio:.2}{bar}",
            all.len()
        );
        holds
    }

    /// Changes a resource of the first namespace; how long it took until everybody was told, and how many were told
    /// something.
    fn change(&mut self, make: Make, watchers: &[Grants]) -> (Duration, usize) {
        self.versions += 1;
        self.put(&make(self, 0, self.versions));
        let (live, differences) = (self.live.as_ref().unwrap(), Differences::default());
        let before = live.state();
        let (wanted, start) = (WatchFilter::default(), ProcessTime::now());
        assert!(live.advance().unwrap());
        let after = live.state();
        let told = watchers.iter().map(|grants| {
            let ready = differences.ready(&before, &after, grants, &wanted);
            ready.unwrap_or_else(|| differences.event(live, &before, &after, grants, &wanted))
        });
        let told = told.filter(Option::is_some).count();
        (start.elapsed(), told)
    }
}
