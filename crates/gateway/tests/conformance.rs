// SPDX-License-Identifier: Apache-2.0
//! The conformance suite of the Gateway API: what it expects of routes and requests, predicted from its manifests.
//!
//! Its manifests come from the Go module; `conformance/facts.txt` says what is expected. Where the module cannot be had
//! (no Go, no proxy), the test says that it did not run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "topology/support.rs"]
mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use overrule_gateway::topology::{
    BackendFacts, ConditionType, GatewayIx, HttpRequest, MeshRouted, RuleIx, route_mesh_request,
    route_request,
};
use overrule_source::View;
use support::{World, world_of};

const MODULE: &str = "sigs.k8s.io/gateway-api@v1.4.1";
/// What the module must be, whoever delivers it.
const SUM: &str = "h1:NPxFutNkKNa8UfLd2CMlEuhIPMQgDQ6DXNKG9sHbJU8=";
const FACTS: &str = include_str!("conformance/facts.txt");
const INFRA: &str = "gateway-conformance-infra";
const MESH: &str = "gateway-conformance-mesh";

/// The folder of the suite, if the module can be had.
fn suite() -> Result<PathBuf, String> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    let mut go = Command::new("go");
    go.args(["mod", "download", "-json", MODULE]).current_dir(env!("CARGO_TARGET_TMPDIR"));
    // The sum is known here, so no other party has to confirm it.
    let settings = [
        ("GOFLAGS", "-modcacherw"),
        ("GOTOOLCHAIN", "local"),
        ("GONOSUMDB", "*"),
        ("GOWORK", "off"),
    ];
    let ran = go.env("GOMODCACHE", &cache).envs(settings).output();
    let ran = ran.map_err(|e| format!("go cannot be run: {e}"))?;
    let answer: serde_json::Value = serde_json::from_slice(&ran.stdout)
        .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&ran.stderr)))?;
    if let Some(error) = answer["Error"].as_str() {
        return Err(error.to_owned());
    }
    assert_eq!(answer["Sum"], SUM, "another module than the facts are about");
    Ok(Path::new(answer["Dir"].as_str().unwrap()).join("conformance"))
}

/// The manifests of a test and those that all tests share, without some kinds.
fn manifests(suite: &Path, test: &str, without: &[&str]) -> World {
    let shared =
        if test.starts_with("mesh/") { "mesh/manifests.yaml" } else { "base/manifests.yaml" };
    let files = [shared.to_owned(), format!("tests/{test}.yaml")].map(|name| {
        let text = std::fs::read_to_string(suite.join(&name)).unwrap();
        let is_kept = |d: &&str| !without.iter().any(|kind| d.contains(&format!("kind: {kind}\n")));
        let kept: Vec<&str> = text.split("\n---\n").filter(is_kept).collect();
        (name, kept.join("\n---\n").replace("{GATEWAY_CLASS_NAME}", "conformance"))
    });
    let files: Vec<(&str, String)> = files.iter().map(|(n, t)| (n.as_str(), t.clone())).collect();
    world_of(&files)
}

/// One test of the suite.
struct Case<'a> {
    suite: &'a Path,
    name: &'a str,
    world: World,
    gateway: Option<&'a str>,
    wrong: Vec<String>,
    /// Routes and requests that were asked about.
    routes: usize,
    requests: usize,
}

impl Case<'_> {
    fn is_mesh(&self) -> bool {
        self.name.starts_with("mesh/")
    }

    fn expect(&mut self, what: &str, expected: &str, found: &str) {
        if expected != found {
            self.wrong
                .push(format!("{}: {what}: expected {expected}, predicted {found}", self.name));
        }
    }

    /// `NAME = ACCEPTED REFS`
    fn route(&mut self, fact: &str) {
        let (name, expected) = fact.split_once(" = ").unwrap();
        let full = if name.contains('/') { name.to_owned() } else { format!("{INFRA}/{name}") };
        let conditions = self.world.topology.conditions(self.world.route(&full));
        for (kind, expected) in [ConditionType::Accepted, ConditionType::ResolvedRefs]
            .into_iter()
            .zip(expected.split(' '))
        {
            let reasons: BTreeSet<&str> =
                conditions.iter().filter(|c| c.kind == kind).map(|c| c.reason).collect();
            let found: Vec<&str> = reasons.into_iter().collect();
            if expected != "-" {
                self.expect(&format!("{kind:?} of {name}"), expected, &found.join(" "));
            }
        }
        self.routes += 1;
    }

    /// `METHOD URL | HEADER: VALUE @ NAMESPACE -> BACKEND...`
    fn request(&mut self, fact: &str) {
        let (line, expected) = fact.split_once(" -> ").unwrap();
        let (asked, client) = line.split_once(" @ ").unwrap_or((line, MESH));
        let mut parts = asked.split(" | ");
        let mut request: HttpRequest =
            parts.next().unwrap().parse().unwrap_or_else(|e| panic!("{fact}: {e}"));
        let headers = parts.map(|part| part.split_once(": ").unwrap());
        request.headers.extend(headers.map(|(k, v)| (k.to_owned(), v.to_owned())));
        let found = match self.is_mesh() {
            true => self.called(&request, client),
            false => self.taken(&request),
        };
        self.expect(line, expected, &found);
        self.requests += 1;
    }

    /// What becomes of a request at the Gateway.
    fn taken(&self, request: &HttpRequest) -> String {
        let World { documents, snapshot, topology, .. } = &self.world;
        let name = self.gateway.unwrap();
        let is_it = |ix: &GatewayIx| {
            let node = topology.nodes.get(topology.gateway(*ix).unwrap().node).unwrap();
            snapshot.text(node.name) == name && snapshot.text(node.namespace) == INFRA
        };
        let gateway = (0..topology.gateways.len()).map(GatewayIx::from).find(is_it);
        let gateway = gateway.unwrap_or_else(|| panic!("{}: no Gateway {name}", self.name));
        let routed = route_request(documents, snapshot, topology, request);
        let taken = routed.taken.iter().find(|taken| taken.gateway == gateway);
        taken.map_or_else(|| "404".to_owned(), |taken| self.answer(taken.rule))
    }

    /// What becomes of a request that a client in a namespace sends to a Service.
    fn called(&self, request: &HttpRequest, client: &str) -> String {
        let World { documents, snapshot, topology, .. } = &self.world;
        let answers = route_mesh_request(documents, snapshot, topology, request);
        let own = answers.iter().find(|a| a.clients.is_some_and(|c| snapshot.text(c) == client));
        let taken = own.or_else(|| answers.iter().find(|a| a.clients.is_none()));
        match taken.map(|taken| taken.routed) {
            None | Some(MeshRouted::Direct) => "direct".to_owned(),
            Some(MeshRouted::NoRule | MeshRouted::NoPort) => "404".to_owned(),
            Some(MeshRouted::Taken { rule, .. }) => self.answer(rule),
        }
    }

    /// What a rule answers: a redirect, its backends, or 500.
    fn answer(&self, rule: RuleIx) -> String {
        let topology = &self.world.topology;
        let view = self.world.documents.view(topology.rule(rule).unwrap().tree);
        let filters = view.get("filters").into_iter().flat_map(View::items);
        if let Some(redirect) = filters.filter_map(|f| f.get("requestRedirect")).next() {
            let status = redirect.get("statusCode").map(|status| status.to_json().to_string());
            return status.unwrap_or_else(|| "302".to_owned());
        }
        if topology.broken_share(rule).is_some_and(|broken| broken.is_all()) {
            return "500".to_owned();
        }
        let uses = topology.uses_of(rule).iter().filter(|used| {
            let there = matches!(used.facts, BackendFacts::Resolved | BackendFacts::Unknown);
            there && used.weight > 0
        });
        let name = |node| self.world.snapshot.text(topology.nodes.get(node).unwrap().name);
        let names: BTreeSet<&str> =
            uses.map(|used| name(topology.backend(used.backend).unwrap().node)).collect();
        names.into_iter().collect::<Vec<_>>().join(" ")
    }
}

/// Names of all tests of the suite that have manifests.
fn tests_of(suite: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["", "mesh/"] {
        for entry in std::fs::read_dir(suite.join("tests").join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            found.extend(name.strip_suffix(".yaml").map(|name| format!("{folder}{name}")));
        }
    }
    found
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
fn every_route_and_request_is_predicted() {
    let suite = match suite() {
        Ok(suite) => suite,
        Err(why) => {
            eprintln!("DID NOT RUN: {MODULE} cannot be had: {}", why.trim());
            return;
        }
    };
    let (mut done, mut seen) = (Vec::new(), BTreeSet::new());
    let mut open: Option<Case<'_>> = None;
    let mut exceptions = 0;
    for line in FACTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap();
        match (word, open.as_mut()) {
            ("test", _) => {
                assert!(seen.insert(rest.to_owned()), "{rest} is there twice");
                let world = manifests(&suite, rest, &[]);
                let (name, wrong) = (rest, Vec::new());
                let next = Case {
                    suite: &suite,
                    name,
                    world,
                    gateway: None,
                    wrong,
                    routes: 0,
                    requests: 0,
                };
                done.extend(open.replace(next));
            }
            ("nothing", _) => {
                let (name, reason) = rest.split_once(": ").unwrap();
                assert!(seen.insert(name.to_owned()) && !reason.is_empty(), "{name}");
            }
            ("gateway", Some(case)) => case.gateway = Some(rest),
            ("route", Some(case)) => case.route(rest),
            ("without", Some(case)) => case.world = manifests(case.suite, case.name, &[rest]),
            ("except", Some(_)) => exceptions += 1,
            (_, Some(case)) => case.request(line),
            (_, None) => panic!("a fact about no test: {line}"),
        }
    }
    done.extend(open);
    assert_eq!(
        seen,
        tests_of(&suite),
        "every test of the suite is there, or named as one without facts"
    );
    let wrong: Vec<&String> = done.iter().flat_map(|case| &case.wrong).collect();
    let sum = |count: fn(&Case<'_>) -> usize| done.iter().map(count).sum::<usize>();
    let (routes, requests) = (sum(|case| case.routes), sum(|case| case.requests));
    eprintln!(
        "{routes} routes and {requests} requests of {} tests, {exceptions} exceptions, {} wrong",
        done.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}
