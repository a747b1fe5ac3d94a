// SPDX-License-Identifier: Apache-2.0
//! In: a large mesh. Out: how long answers take, printed. Run it with `--ignored --nocapture`, in release mode.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement needs a clock and tells its result"
)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::super::{InspectCall, InspectQuestion, Inspector, Times, route};
use super::{EXCLUSIVE, Resolving, compat};

const PROXIES: usize = 10_000;
const POLICIES: usize = 2_000;
const APPS: usize = 1_000;
const SERVICES: usize = 500;

fn world() -> Resolving {
    let mut text = String::from(EXCLUSIVE);
    for n in 0..PROXIES {
        let app = n % APPS;
        write!(text, "\n---\n{{type: Dataplane, mesh: m, name: dp-{n}, labels: {{app: app-{app}, kuma.io/zone: east}}, networking: {{address: 10.0.{}.{}, inbound: [{{port: 8080, name: http, tags: {{kuma.io/service: svc-{app}}}}}]}}}}", n / 250, n % 250).unwrap();
    }
    for n in 0..SERVICES {
        write!(text, "\n---\n{{type: MeshService, mesh: m, name: svc-{n}, labels: {{kuma.io/display-name: svc-{n}}}, spec: {{ports: [{{port: 80, name: http}}]}}}}").unwrap();
    }
    for n in 0..POLICIES {
        let target = match n % 50 {
            0 => "{kind: Mesh}".to_owned(),
            _ => format!("{{kind: Dataplane, labels: {{app: app-{}}}}}", n % APPS),
        };
        let service = n % SERVICES;
        let (kind, spec) = match n % 4 {
            0 => (
                "MeshTimeout",
                format!(
                    "to: [{{targetRef: {{kind: MeshService, labels: {{kuma.io/display-name: svc-{service}}}}}, default: {{idleTimeout: {n}s}}}}]"
                ),
            ),
            1 => (
                "MeshTrafficPermission",
                format!(
                    "rules: [{{default: {{allow: [{{spiffeID: {{type: Exact, value: 'spiffe://td/{n}'}}}}]}}}}]"
                ),
            ),
            2 => ("MeshTimeout", format!("rules: [{{default: {{idleTimeout: {n}s}}}}]")),
            _ => (
                "MeshRetry",
                format!(
                    "to: [{{targetRef: {{kind: Mesh}}, default: {{http: {{numRetries: {n}}}}}}}]"
                ),
            ),
        };
        write!(
            text,
            "\n---\n{{type: {kind}, mesh: m, name: p-{n}, spec: {{targetRef: {target}, {spec}}}}}"
        )
        .unwrap();
    }
    compat(&[&text])
}

struct Measured {
    total: Duration,
    bytes: usize,
}

fn measure(inspector: &Inspector, world: &Resolving, asks: &[InspectQuestion<'_>]) -> Measured {
    let call = InspectCall { base: "http://here", times: &|_| Times::default() };
    let start = Instant::now();
    let mut bytes = 0;
    for ask in asks {
        let answer = inspector.answer(world.live(), call, ask);
        assert_eq!(answer.status, 200);
        bytes += answer.body.len();
    }
    Measured { total: start.elapsed(), bytes }
}

#[test]
#[ignore = "measures; run it alone and in release mode"]
fn answers_of_a_large_mesh() {
    let start = Instant::now();
    let world = world();
    println!("read and resolved in {:?}", start.elapsed());
    let start = Instant::now();
    let inspector = world.inspector();
    println!("inspector made in {:?}", start.elapsed());
    let kri = "kri_msvc_m___svc-1_http";
    let endpoints = [
        "dataplanes/dp-{}/_rules".to_owned(),
        "dataplanes/dp-{}/_policies".to_owned(),
        "dataplanes/dp-{}/_inbounds/kri_dp_m_east__x_http/_policies".to_owned(),
        format!("dataplanes/dp-{{}}/_outbounds/{kri}/_policies"),
        "dataplanes/dp-{}/_layout".to_owned(),
    ];
    for endpoint in endpoints {
        let paths: Vec<String> = (0..PROXIES)
            .map(|n| format!("/meshes/m/{}", endpoint.replace("{}", &n.to_string())))
            .collect();
        let asks: Vec<InspectQuestion<'_>> = paths.iter().map(|p| route(p, "").unwrap()).collect();
        let first = measure(&inspector, &world, &asks[..1]);
        let cold = measure(&inspector, &world, &asks[1..APPS]);
        let warm = measure(&inspector, &world, &asks[APPS..]);
        println!(
            "{endpoint}: first {:?}, cold {:?}, warm {:?}, {} bytes each",
            first.total,
            cold.total / u32::try_from(APPS - 1).unwrap(),
            warm.total / u32::try_from(PROXIES - APPS).unwrap(),
            warm.bytes / (PROXIES - APPS),
        );
    }
    let paths: Vec<String> = (0..POLICIES)
        .filter(|n| n % 4 == 0)
        .map(|n| format!("/meshes/m/meshtimeouts/p-{n}/_resources/dataplanes"))
        .collect();
    let asks: Vec<InspectQuestion<'_>> = paths.iter().map(|p| route(p, "").unwrap()).collect();
    let each = u32::try_from(asks.len()).unwrap();
    println!("_resources/dataplanes: cold {:?}", measure(&inspector, &world, &asks).total / each);
    println!("_resources/dataplanes: warm {:?}", measure(&inspector, &world, &asks).total / each);
}
