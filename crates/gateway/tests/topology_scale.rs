// SPDX-License-Identifier: Apache-2.0
//! Time of the two stages on a fleet. `cargo test --release -p overrule-gateway --test topology_scale -- --ignored --nocapture`
#![expect(clippy::disallowed_methods, reason = "this measures time")]
#![expect(clippy::print_stderr, reason = "this shows times")]
#![allow(clippy::unwrap_used, reason = "writing to a string does not fail")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use overrule_gateway::topology::parse;
use overrule_source::{Input, ReadOptions, read};

/// Time this thread was running, where the system tells: a busy machine does not count. Elsewhere the clock.
fn now(since: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let running = text.split(' ').next().and_then(|n| n.parse().ok());
    running.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Routes over 50 namespaces, Gateways with 64 listeners each, every route at one Gateway by hostname.
fn fleet(routes: usize, gateways: usize, services: bool) -> String {
    let mut text = String::new();
    text.push_str("apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: c}\nspec: {controllerName: example.com/c}\n");
    for g in 0..gateways {
        write!(text, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata:\n  name: g{g}\n  namespace: infra\nspec:\n  gatewayClassName: c\n  listeners:\n").unwrap();
        for l in 0..64 {
            write!(text, "  - name: l{l}\n    port: 443\n    protocol: HTTPS\n    hostname: '*.l{l}.g{g}.example.com'\n    tls:\n      certificateRefs:\n      - name: cert-{l}\n    allowedRoutes:\n      namespaces:\n        from: All\n").unwrap();
        }
    }
    for r in 0..routes {
        let (g, l, n) = (r % gateways, r % 64, r % 50);
        write!(text, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: route-{r}\n  namespace: team-{n}\nspec:\n  parentRefs:\n  - name: g{g}\n    namespace: infra\n  hostnames:\n  - r{r}.l{l}.g{g}.example.com\n  rules:\n  - name: main\n    matches:\n    - path:\n        type: PathPrefix\n        value: /a\n    backendRefs:\n    - name: svc-{r}\n      port: 80\n  - matches:\n    - path:\n        type: PathPrefix\n        value: /b\n    backendRefs:\n    - name: svc-{r}\n      port: 80\n").unwrap();
        if services {
            write!(text, "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: svc-{r}\n  namespace: team-{n}\nspec:\n  ports:\n  - name: http\n    port: 80\n").unwrap();
        }
    }
    text
}

#[test]
#[ignore = "measures time"]
fn a_hundred_thousand_routes() {
    let zero = Instant::now();
    for (routes, gateways, services) in
        [(1000, 1, true), (100_000, 10, false), (100_000, 10, true), (100_000, 1000, false)]
    {
        let text = fleet(routes, gateways, services);
        let start = Instant::now();
        let read = read(vec![Input::new("fleet.yaml", text)], &ReadOptions::default());
        let reading = start.elapsed();
        let start = now(zero);
        let fresh = overrule_model::parse(&read.documents).snapshot;
        let modelling = now(zero) - start;
        let mut snapshot = fresh.clone();
        let (resources, found) = parse(&read.documents, &mut snapshot);
        let parsing = (0..5)
            .map(|_| {
                let mut snapshot = fresh.clone();
                let start = now(zero);
                let parsed = parse(&read.documents, &mut snapshot);
                let time = now(zero) - start;
                drop(parsed);
                time
            })
            .min();
        let connecting = (0..9)
            .map(|_| {
                let start = now(zero);
                let built = resources.connect(&snapshot);
                let time = now(zero) - start;
                assert_eq!(built.topology.links.len(), routes);
                assert!(built.diagnostics.len() <= 1, "{:?}", built.diagnostics.first());
                time
            })
            .min();
        assert!(found.is_empty(), "{:?}", found.first());
        eprintln!(
            "{routes} routes, {gateways} gateways, services {services}: read {reading:?}, model {modelling:?}, parse {parsing:?}, connect {connecting:?}"
        );
    }
}
