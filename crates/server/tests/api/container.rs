// SPDX-License-Identifier: Apache-2.0
//! Behind a proxy, beside a collector, under an orchestrator.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use overrule_ask::Parameters;
use overrule_server::{Auth, Config, start};
use serde_json::{Value, json};

use crate::client::{Client, config, extensions, guarded, open};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn every_setting_has_its_variable() {
    for row in Config::TABLE {
        let told = row.help.contains("[env: OVERRULE_");
        assert!(row.env.is_some() || told, "--{} has no variable", row.name);
        let name = format!("OVERRULE_{}", row.name.replace('-', "_").to_uppercase());
        let named = row.env == Some(name.as_str()) || row.help.contains(&format!("[env: {name}]"));
        assert!(named, "--{} is not {name}", row.name);
    }
    for switch in extensions().switches() {
        assert!(switch.env.is_some(), "--{} has no variable", switch.name);
    }
}

#[test]
fn probes_need_no_token_and_tell_nothing_else() {
    let settings = Config {
        auth: Some(Auth::Token),
        probe_listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ..config()
    };
    let (running, _) = open(settings, &["examples/shop"]);
    let probes = Client::new(running.probes.unwrap(), None);
    assert_eq!(probes.get("/healthz").expect(200).json()["status"], "ok");
    assert_eq!(probes.get("/readyz").expect(200).json()["status"], "ok");
    for path in ["/", "/metrics", "/openapi.json", "/v1/resources", "/healthz/x", "/v1/effective"] {
        probes.get(path).expect(404);
    }
    probes.post("/healthz", "x").expect(404);
    let token = format!("Bearer {}", running.admin_token.clone().unwrap());
    probes.send("GET", "/v1/resources", &[("authorization", &token)], "").expect(404);
}

fn write(file: &Path, text: &str, mode: u32) {
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_first_admin_token_may_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let token = format!("ovr_{}_{}", "0a".repeat(8), "1b".repeat(32));
    let settings = || Config {
        auth: Some(Auth::Token),
        ephemeral: false,
        data: Some(folder.path().join("data")),
        admin_token_from: Some(file.clone()),
        ..config()
    };
    let begin = || start(settings(), Vec::new(), overrule::Options::default());
    write(&file, "hunter2", 0o600);
    let told = begin().err().unwrap().to_string();
    assert!(told.contains("does not hold a token") && !told.contains("hunter2"), "{told}");
    write(&file, &token, 0o644);
    let told = begin().err().unwrap().to_string();
    assert!(told.contains("chmod o="), "{told}");
    write(&file, &format!("{token}\n"), 0o440);
    for _ in 0..2 {
        let running = begin().unwrap();
        assert_eq!(running.admin_token, None, "none is made");
        let admin = Client::new(running.address, Some(token.clone()));
        let tokens = admin.get("/v1/tokens").expect(200).json();
        assert_eq!(tokens["items"].as_array().unwrap().len(), 1, "{tokens}");
        assert!(!folder.path().join("data/admin-token").exists());
        running.stop();
    }
}

#[test]
fn names_of_tokens_can_be_read_by_people() {
    let (_running, admin) = guarded(&[]);
    let make = |name: &str| {
        let body = json!({"name": name, "grants": ["read"]}).to_string();
        admin.send("POST", "/v1/tokens", &[("content-type", "application/json")], &body).status
    };
    assert_eq!(make("équipe Größe 店"), 201);
    for bad in ["a\u{7}", "a\u{202e}b", "\u{2066}x", "a\u{200b}", "a\nb", "\u{feff}a", "a\u{9b}1m"]
    {
        assert_eq!(make(bad), 400, "{bad:?}");
    }
}

#[test]
fn a_proxy_that_is_trusted_says_how_the_client_came() {
    let settings = Config { trusted_proxy: vec!["127.0.0.0/8".to_owned()], ..config() };
    let (_running, client) = open(settings, &["examples/shop"]);
    let next = |client: &Client| {
        let headers = [("forwarded", "for=203.0.113.9;proto=https")];
        let list = client.send("GET", "/v1/resources?size=1", &headers, "").expect(200).json();
        list["next"].as_str().unwrap().to_owned()
    };
    assert!(next(&client).starts_with("https://"));
    let (_running, stranger) = open(config(), &["examples/shop"]);
    assert!(next(&stranger).starts_with("http://"), "anybody can send that header");
}

#[test]
fn the_history_pages_by_changes() {
    let (_running, client) = open(config(), &[]);
    let mesh =
        |n: usize| format!("type: Mesh\nname: mesh-{n}\nskipCreatingInitialPolicies: ['*']\n");
    let body: Vec<String> = (0..2500).map(mesh).collect();
    client.post("/v1/apply", &body.join("---\n")).expect(201);
    client.put("/v1/resources/mesh/late", &mesh(0).replace("mesh-0", "late")).expect(201);
    for size in [1000, 7] {
        let mut path = format!("/v1/history?size={size}");
        let mut seen: Vec<String> = Vec::new();
        for _ in 0..5 {
            let page: Value = client.get(&path).expect(200).json();
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= size, "{}", items.len());
            seen.extend(items.iter().map(|item| item["target"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else { break };
            assert_eq!(items.len(), size, "a page is full unless it is the last");
            path = next.strip_prefix(&client.base).unwrap().to_owned();
        }
        let number = seen.len();
        assert_eq!(number, if size == 1000 { 2501 } else { 35 });
        assert_eq!(seen[0], "mesh/late");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), number, "none is told twice");
    }
    client.get("/v1/history?before=1.x").expect(400);
    client.get("/v1/history?before=1.99999999999999999999999").expect(400);
}

#[test]
fn what_is_audited_is_kept_for_as_long_as_wanted() {
    let store = overrule_store::open_memory().unwrap();
    let author = overrule_store::Author::default();
    let event = |hours: i64| overrule_store::AuditEvent {
        id: 0,
        at: jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours),
        author: author.clone(),
        action: "write".to_owned(),
        what: format!("{hours}"),
        outcome: "denied".to_owned(),
    };
    for hours in [50, 40, 30, 20, 10, 0] {
        store.audit(&event(hours)).unwrap();
    }
    let left = |entries, hours: Option<i64>| {
        let age = hours.map(jiff::SignedDuration::from_hours);
        let gone = store.prune_audit(&overrule_store::Retention { entries, age }).unwrap();
        let all = store.audit_log(None, 100).unwrap();
        (gone, all.into_iter().map(|event| event.what).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(left(None, None), (0, "0 10 20 30 40 50".to_owned()));
    assert_eq!(left(Some(5), None), (1, "0 10 20 30 40".to_owned()));
    assert_eq!(left(None, Some(25)), (2, "0 10 20".to_owned()));
    assert_eq!(left(Some(0), Some(0)), (2, "0".to_owned()), "numbers go on from the newest");
    store.audit(&event(1)).unwrap();
    assert_eq!(store.audit_log(None, 1).unwrap()[0].id, 7);
}

/// A collector that takes one request.
fn collect(listener: &TcpListener) -> (String, Value) {
    let (stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

#[test]
fn requests_become_spans_of_their_traces() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    let (_running, client) = open(Config { otlp: Some(collector), ..config() }, &[]);
    let headers = [("traceparent", TRACE), ("x-request-id", "req:1")];
    let answer = client.send("PUT", "/v1/resources/mesh/m", &headers, "{: no").expect(422);
    assert_eq!((answer.header("traceparent"), answer.header("x-request-id")), (TRACE, "req:1"));
    let (head, body) = collect(&listener);
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span["parentSpanId"], "b7ad6b7169203331");
    assert_eq!(span["name"], "PUT /v1/resources/{kind}/{name}");
    let text = span["attributes"].to_string();
    assert!(text.contains("req:1") && text.contains("422"), "{text}");
    let wrong = Config { otlp: Some("localhost:4318".to_owned()), ..config() };
    assert!(start(wrong, Vec::new(), overrule::Options::default()).is_err());
}
