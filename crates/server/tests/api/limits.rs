// SPDX-License-Identifier: Apache-2.0
//! What one client may take, and what is asked of it first.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use overrule_server::Config;
use serde_json::json;

use crate::client::{Client, config, guarded, open};

fn with_grants(admin: &Client, name: &str, grants: &[&str]) -> Client {
    let body = json!({"name": name, "grants": grants}).to_string();
    let made = admin.send("POST", "/v1/tokens", &[("content-type", "application/json")], &body);
    admin.with(made.expect(201).json()["token"].as_str().unwrap())
}

/// Who may not write gets no look at what a body costs or says.
#[test]
fn rights_come_before_the_body() {
    let (_running, admin) = guarded(&[]);
    let reader = with_grants(&admin, "reader", &["read"]);
    let writer = with_grants(&admin, "writer", &["write:namespace/shop", "write:mesh/default"]);
    let broken = "{: this is no YAML";
    for (client, method, path) in [
        (&reader, "POST", "/v1/apply"),
        (&reader, "POST", "/v1/delete"),
        (&reader, "PUT", "/v1/resources/httproute/shop/cart"),
        (&reader, "PUT", "/v1/resources/mesh/default"),
        (&writer, "PUT", "/v1/resources/httproute/bank/cart"),
        (&writer, "PUT", "/v1/resources/gatewayclass/edge"),
        (&writer, "PUT", "/meshes/other/meshtimeouts/slow"),
    ] {
        client.send(method, path, &[], broken).expect(403);
    }
    let log = admin.get("/v1/audit?size=1000").expect(200).json();
    let denied = log["items"].as_array().unwrap();
    let denied = denied.iter().filter(|item| item["outcome"] == "denied").count();
    assert!(denied >= 5, "what is denied is in the audit log: {log}");
    writer.put("/v1/resources/httproute/shop/cart", broken).expect(422);
    writer.put("/v1/resources/mesh/default", broken).expect(422);
    writer.post("/v1/apply", broken).expect(422);
}

#[test]
fn documents_of_a_body_are_bounded() {
    let mesh = "type: Mesh\nname: default\n---\n";
    let (_running, client) = open(Config { max_documents: Some(10), ..config() }, &[]);
    client.post("/v1/apply", &format!("{mesh}{}", "---\n{}\n".repeat(9))).expect(422);
    for body in [
        format!("{mesh}{}", "---\n".repeat(20)),
        format!("{mesh}{}", "---\n{}\n".repeat(20)),
        "{}".repeat(20),
        format!("---\n{}\n", "{} ".repeat(6)).repeat(3),
    ] {
        let told = client.post("/v1/apply", &body).expect(422).json();
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.contains("more than 10 documents"), "{detail}");
    }
    client.post("/v1/apply", mesh).expect(201);
}

/// A matrix of questions is read again by whoever answers, so it has no room for anything else.
#[test]
fn a_matrix_holds_questions_only() {
    let (_running, client) = open(config(), &["examples/access/mesh"]);
    let matrix = "from: [spiffe://shop.mesh/a]\nto: [dataplane/default/ledger-1]\n";
    client.post("/v1/can", matrix).expect(200);
    for (body, why) in [
        (format!("{matrix}{}", "---\n{}\n".repeat(10)), "more than 1 document"),
        (format!("{matrix}junk: [{}]\n", "1, ".repeat(200_000)), "100000"),
        (format!("{matrix}junk: [1]\n"), "junk"),
        ("from: [".to_owned(), "bad request"),
    ] {
        let told = client.post("/v1/can", &body).expect(400).json();
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.contains(why), "{detail}");
    }
}

/// What is wrong with a body takes no more room in the answer than people can read, and its number is told.
#[test]
fn findings_of_a_body_are_bounded() {
    let (_running, client) = open(config(), &[]);
    let route = |spec: &str| {
        let head = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a, namespace: b}";
        format!("{head}\nspec: {{{spec}}}\n")
    };
    let fields: String = (0..5_000).map(|n| format!("field{n}: 1, ")).collect();
    let told = client.post("/v1/apply", &route(&fields)).expect(201).json();
    let unknown = told["diagnostics"].as_array().unwrap().iter().filter(|d| d["code"] == "OV1109");
    let words: Vec<&str> = unknown.map(|d| d["message"].as_str().unwrap()).collect();
    assert_eq!(words.len(), 21);
    assert!(words.iter().any(|w| w.contains("4980 more fields of `spec`")), "{words:?}");
    // Routes to a Gateway that is not there, with rules that have no backend: an error and a warning each.
    let route = |n: usize| {
        let route = route("parentRefs: [{name: none}], rules: [{}]");
        route.replace("name: a,", &format!("name: a{n},"))
    };
    let body: Vec<String> = (0..1_500).map(route).collect();
    for path in ["/v1/apply?dry-run=true", "/v1/apply"] {
        let answer = client.post(path, &body.join("---\n")).json();
        let told = answer["diagnostics"].as_array().unwrap();
        assert_eq!(told.len(), 1_000);
        assert!(told.iter().all(|d| d["severity"] == "error"), "the gravest first");
        assert!(answer["moreDiagnostics"].as_u64() >= Some(2_000), "{}", answer["moreDiagnostics"]);
    }
    // Identical definitions are one, so each has its own name.
    let one = |n: usize| format!("---\ntype: MeshTimeout\nmesh: default\nname: t{n}\nspec: []\n");
    let wrong: String = (0..3_000).map(one).collect();
    let told = client.post("/v1/apply", &wrong).expect(422).json();
    let list = &told["diagnostics"];
    assert!(list["errors"].as_u64() >= Some(3_000), "{}", list["errors"]);
    assert_eq!(list["items"].as_array().unwrap().len(), 1_000);
    assert_eq!(told["errors"].as_array().unwrap().len(), 1_000);
}

/// What is kept of the past, for those who ask and those who watch, leaves room for more.
#[test]
fn states_that_are_kept_are_not_in_the_way_of_others() {
    let (_running, client) = open(config(), &[]);
    for n in 1..=14 {
        let mesh = format!("type: Mesh\nname: m{n}\nskipCreatingInitialPolicies: ['*']\n");
        client.put(&format!("/v1/resources/mesh/m{n}"), &mesh).expect(201);
    }
    let host = client.base.strip_prefix("http://").unwrap();
    let watch = |since: usize| {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET /v1/watch?since={since} HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
        let mut lines = BufReader::new(stream).lines();
        assert!(lines.any(|line| line.unwrap().contains("event: version")));
        lines
    };
    let watchers: Vec<_> = (1..=4).map(watch).collect();
    let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(50)));
    let patient = Client { agent: agent.build().into(), ..client.clone() };
    for version in 5..=13 {
        let list = patient.get(&format!("/v1/resources?as-of={version}")).expect(200).json();
        assert_eq!(list["total"], version, "{list}");
    }
    drop(watchers);
}

/// What a client of its own is told of work that is under way.
#[test]
fn work_and_watchers_are_counted() {
    let (_running, client) = open(config(), &["examples/kuma"]);
    let figures = client.get("/metrics").expect(200).text;
    for line in [
        "overrule_work_in_flight{class=\"past\"} 0",
        "overrule_work_in_flight{class=\"question\"} 1",
        "overrule_work_waiting{class=\"parse\"} 0",
        "overrule_watchers{} 0",
    ] {
        assert!(figures.lines().any(|found| found == line), "{line}: {figures}");
    }
}
