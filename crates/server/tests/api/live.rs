// SPDX-License-Identifier: Apache-2.0
//! Changes: dry runs, watching, the past, files.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use crate::client::{Client, config, extensions, open};
use overrule_server::{Config, start};

const POLICY: &str = "apiVersion: policies.example.com/v1\nkind: TimeoutPolicy\nmetadata:\n  name: cart-timeouts\n  namespace: shop\nspec:\n  targetRef:\n    group: gateway.networking.k8s.io\n    kind: HTTPRoute\n    name: cart\n  timeouts:\n    request: 7s\n";

#[test]
fn a_dry_run_tells_what_would_change_and_changes_nothing() {
    let (_running, client) = open(config(), &["examples/shop"]);
    let before = client.get("/v1/effective").text;
    let told = client.post("/v1/apply?dry-run=true", POLICY).expect(200).json();
    assert_eq!(told["dryRun"], true);
    assert_eq!(told["items"][0]["done"], "created");
    let changes = told["changes"]["items"].as_array().unwrap();
    assert!(!changes.is_empty());
    assert!(
        changes.iter().any(|c| c["target"].as_str().unwrap().starts_with("httproute/shop/cart"))
    );
    assert_eq!(client.get("/v1/effective").text, before);
    let text = client.post("/v1/apply?dry-run=true&output=table", POLICY).expect(200);
    assert!(text.text.contains("would be created"), "{}", text.text);
    assert!(text.text.contains("7s"), "{}", text.text);
    // The same, done.
    client.post("/v1/apply", POLICY).expect(201);
    assert_ne!(client.get("/v1/effective").text, before);
    let then = client.get("/v1/effective?as-of=1").expect(200);
    assert_eq!(then.text, before);
    assert_eq!(then.header("overrule-version"), "1");
    client.get("/v1/effective?as-of=99").expect(400);
    client.get("/v1/effective?as-of=yesterday").expect(400);
    client.get("/v1/effective?at-least=99").expect(412);
    client.get("/v1/effective?at-least=2").expect(200);
}

/// Lines of a stream of events as they come.
fn watch(client: &Client, path: &str) -> impl Iterator<Item = String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_recv_body(Some(Duration::from_secs(20)))
        .build()
        .into();
    let response = agent.get(format!("{}{path}", client.base)).call().unwrap();
    assert_eq!(response.status().as_u16(), 200);
    BufReader::new(response.into_body().into_reader()).lines().map(Result::unwrap)
}

#[test]
fn watching_tells_which_effective_policies_changed_and_why() {
    let (_running, client) = open(config(), &["examples/shop"]);
    let mut lines = watch(&client, "/v1/watch");
    assert_eq!(lines.next().unwrap(), "event: version");
    client.post("/v1/apply", POLICY).expect(201);
    let mut seen = lines.by_ref().skip_while(|line| line != "event: change");
    assert_eq!(seen.next().unwrap(), "event: change");
    assert_eq!(seen.next().unwrap(), "id: 2");
    let data = seen.next().unwrap();
    let data: serde_json::Value =
        serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    let first = &data["items"][0];
    assert_eq!(first["policyKind"], "TimeoutPolicy");
    assert!(first["because"].as_str().unwrap().contains("cart-timeouts"), "{first}");
    // Who was away is told what happened meanwhile.
    let mut late = watch(&client, "/v1/watch?since=1");
    assert!(late.by_ref().any(|line| line == "event: change"));
}

#[test]
fn a_backup_restores_everything() {
    let (_running, client) = open(config(), &["examples/shop"]);
    client.post("/v1/apply", POLICY).expect(201);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.jsonl");
    std::fs::write(&file, client.get("/v1/backup").expect(200).text).unwrap();
    let restored = Config { restore: Some(file), ..config() };
    let running = start(restored, Vec::new(), overrule::Options::default()).unwrap();
    let other = Client::new(running.address, None);
    for path in ["/v1/effective", "/v1/resources", "/v1/history", "/v1/effective?as-of=1"] {
        assert_eq!(
            other.get(path).expect(200).text.replace(&other.base, ""),
            client.get(path).text.replace(&client.base, ""),
            "{path}"
        );
    }
}

#[test]
fn a_redacted_text_is_gone_from_the_history() {
    let (_running, client) = open(config(), &["examples/shop"]);
    client.post("/v1/apply", &POLICY.replace("7s", "77s")).expect(201);
    client.post("/v1/apply", POLICY).expect(200);
    assert!(client.get("/v1/history").text.contains("77s"));
    let target = "timeoutpolicy/shop/cart-timeouts";
    client.post(&format!("/v1/redact?target={target}"), "").expect(204);
    let history = client.get("/v1/history").expect(200);
    assert!(!history.text.contains("77s"), "{}", history.text);
    assert!(client.get(&format!("/v1/history?target={target}")).text.contains("changed"));
    client.get(&format!("/v1/resources/{target}")).expect(200);
}

#[test]
fn files_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, POLICY).unwrap();
    let followed = Config { watch_files: true, ..config() };
    let files = vec![folder.path().to_path_buf()];
    let running = start(followed, files, overrule::Options::default()).unwrap();
    let client = Client::new(running.address, None);
    let until = |what: &str, done: &dyn Fn() -> bool| {
        let since = Instant::now();
        while !done() {
            assert!(since.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let path = "/v1/resources/timeoutpolicy/shop/cart-timeouts?output=text";
    assert!(client.get(path).expect(200).text.contains("7s"));
    std::fs::write(&file, POLICY.replace("7s", "8s")).unwrap();
    until("a change arrives", &|| client.get(path).text.contains("8s"));
    std::fs::write(&file, "not: [yaml").unwrap();
    std::thread::sleep(Duration::from_millis(600));
    client.get(path).expect(200);
    std::fs::remove_file(&file).unwrap();
    until("a removal arrives", &|| client.get(path).status == 404);
}

/// A resource of each sort, in the forms that clients send.
const DOCUMENTS: [(&str, &str); 4] = [
    ("/v1/resources/timeoutpolicy/shop/cart-timeouts", POLICY),
    (
        "/v1/resources/httproute/shop/extra",
        "# a comment\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: extra, namespace: shop}\nspec:\n  parentRefs: [{name: edge, namespace: infra}]\n---\n",
    ),
    (
        "/v1/resources/ratelimitpolicy/shop/few",
        "apiVersion: kuadrant.io/v1\nkind: RateLimitPolicy\nmetadata: {name: few, namespace: shop}\nspec:\n  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}\n  limits: {few: {rates: [{limit: 1, window: 1s}]}}\n",
    ),
    ("/meshes/default", "{\"type\": \"Mesh\", \"name\": \"default\"}"),
];

#[test]
fn a_document_that_is_put_is_parsed_once() {
    let options = || overrule::Options {
        parsed: overrule::source::ParseCount::counting(),
        ..overrule::Options::default()
    };
    for compat in [false, true] {
        let extensions = if compat { extensions().with("kuma-compat") } else { extensions() };
        let (config, options) = (Config { extensions, ..config() }, options());
        let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shop");
        let running = start(config, vec![shop.into()], options.clone()).unwrap();
        let client = Client::new(running.address, None);
        let parsed = |work: &dyn Fn()| {
            let before = options.parsed.get();
            work();
            options.parsed.get() - before
        };
        for (path, text) in DOCUMENTS {
            assert_eq!(parsed(&|| drop(client.put(path, text).expect(201))), 1, "{path}");
            assert_eq!(parsed(&|| drop(client.put(path, text).expect(200))), 1, "{path} again");
        }
        let more = text_of_three();
        assert_eq!(parsed(&|| drop(client.post("/v1/apply", &more).expect(201))), 3);
        let path = "/meshes/default/dataplanes/web";
        let proxy = "type: Dataplane\nmesh: default\nname: web\nnetworking:\n  address: 10.0.0.1\n  inbound:\n  - {port: 80, tags: {kuma.io/service: web}}\n";
        assert_eq!(parsed(&|| drop(client.put(path, proxy).expect(201))), 1, "{path}");
        // What was resolved is what was put.
        assert!(client.get("/v1/effective").text.contains("7s"));
        assert!(client.get(path).text.contains("10.0.0.1"));
    }
}

fn text_of_three() -> String {
    let one = |n: u8| POLICY.replace("cart-timeouts", &format!("more-{n}"));
    [1, 2, 3].map(one).join("---\n")
}
