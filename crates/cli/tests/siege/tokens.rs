// SPDX-License-Identifier: Apache-2.0
//! In: tokens that are missing, wrong, expired, revoked or rotated, and requests that pages of others make. Out: that none
//! of them gets in, and that no secret is repeated. Not here: what tokens let one see (`tenants`).

use std::process::Command;
use std::time::Duration;

use crate::ask::Ask;
use crate::asks::{reads, writes};
use crate::lock::Locked;
use crate::manifests::ground;

/// What anybody may ask.
const OPEN: [&str; 4] = ["/", "/healthz", "/readyz", "/openapi.json"];

#[test]
fn nobody_gets_in_without_a_token() {
    let locked = Locked::new(&[]);
    let document = locked.server.get("/openapi.json").json();
    let closed =
        reads(&document, &["lion"]).into_iter().filter(|c| !OPEN.contains(&c.path.as_str()));
    let closed = closed.map(|case| Ask::new("GET", &case.path));
    let text = "type: Mesh\nname: mesh-lion\n";
    let asks: Vec<Ask> = closed
        .chain([
            Ask::new("PUT", "/meshes/mesh-lion").body(text),
            Ask::new("POST", "/v1/apply").body(text),
        ])
        .chain([Ask::new("GET", "/v1/watch"), Ask::new("DELETE", "/meshes/mesh-lion")])
        .collect();
    let mut unknown = 0;
    for ask in &asks {
        let answer = locked.server.ask(ask);
        // Who fails too often is told to wait.
        assert!(matches!(answer.status, 401 | 429), "{ask:?}: {answer:?}");
        assert!(answer.header("www-authenticate").is_some() || answer.status == 429, "{answer:?}");
        unknown += usize::from(answer.status == 401);
    }
    assert!(unknown > 100, "only {unknown} were judged by their token");
    assert!(asks.len() > 100, "only {} requests", asks.len());
}

#[test]
fn wrong_tokens_are_refused() {
    let locked = Locked::new(&[]);
    let read = Ask::new("GET", "/v1/resources");
    let cut = &locked.admin[..locked.admin.len() - 1];
    let other = Locked::new(&[]).admin;
    for token in ["", "x", cut, &format!("{}x", locked.admin), &other] {
        let answer = locked.server.ask(&read.clone().token(token));
        assert_eq!(answer.status, 401, "{token}: {answer:?}");
    }
    let basic = read.clone().header("authorization", "Basic YWRtaW46YWRtaW4=");
    locked.server.ask(&basic).expect(401);
    let query = Ask::new("GET", &format!("/v1/resources?token={}", locked.admin));
    locked.server.ask(&query).expect(401);
    locked.server.ask(&read.token(&locked.admin)).expect(200);
}

#[test]
fn tokens_end() {
    let locked = Locked::new(&[]);
    let read =
        |token: &str| locked.server.ask(&Ask::new("GET", "/v1/resources").token(token)).status;
    let (revoked, id) = locked.made(r#"{"name": "a", "grants": ["read"]}"#);
    assert_eq!(read(&revoked), 200);
    let path = format!("/v1/tokens/{id}");
    locked.server.ask(&Ask::new("DELETE", &path).token(&locked.admin)).expect(204);
    assert_eq!(read(&revoked), 401);
    let (old, id) = locked.made(r#"{"name": "b", "grants": ["read"]}"#);
    let path = format!("/v1/tokens/{id}/rotate");
    let made = locked.server.ask(&Ask::new("POST", &path).token(&locked.admin)).expect(201).json();
    assert_eq!((read(&old), read(made["token"].as_str().unwrap())), (401, 200));
    let soon = Command::new("date").args(["-u", "-d", "+2 seconds", "+%FT%TZ"]).output().unwrap();
    let soon = String::from_utf8(soon.stdout).unwrap();
    let request = format!(r#"{{"name": "c", "grants": ["read"], "expires": "{}"}}"#, soon.trim());
    let (short, _) = locked.made(&request);
    assert_eq!(read(&short), 200);
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(read(&short), 401);
}

/// A stream ends with the token it was opened with.
#[test]
fn a_revoked_token_watches_no_longer() {
    let locked = Locked::new(&[]);
    let apply = |text: &str| {
        let ask = Ask::new("POST", "/v1/apply").token(&locked.admin).body(text);
        assert!(locked.server.ask(&ask).status < 300);
    };
    apply(&ground());
    let (token, id) = locked.made(r#"{"name": "a", "grants": ["read"]}"#);
    let ask = Ask::new("GET", "/v1/watch").token(&token);
    let mut stream = ask.open(locked.server.address, Duration::from_secs(3)).unwrap();
    stream.piece().unwrap().unwrap();
    let path = format!("/v1/tokens/{id}");
    locked.server.ask(&Ask::new("DELETE", &path).token(&locked.admin)).expect(204);
    apply(&crate::manifests::Key::Timeout(1).text(5));
    let next = stream.piece().expect("the stream goes on without an end");
    assert_eq!(next, None, "it tells on");
}

/// Secrets are shown once, and are in no log, list, history or copy.
#[test]
fn secrets_are_shown_once() {
    let locked = Locked::new(&["--log", "trace"]);
    let (token, id) = locked.made(r#"{"name": "a", "grants": ["read"]}"#);
    let document = locked.server.get("/openapi.json").json();
    let mut seen = String::new();
    for case in reads(&document, &["lion"]) {
        let ask = Ask::new("GET", &case.path).token(&locked.admin);
        seen.push_str(&locked.server.ask(&ask).body);
    }
    for ask in writes(&document, &["type: Mesh\nname: mesh-lion\n"]) {
        let rotates = format!("{ask:?}").contains("/v1/tokens\"");
        let answer = locked.server.ask(&ask.token(&token));
        assert!(!rotates || answer.status == 403, "{answer:?}");
        seen.push_str(&answer.body);
    }
    for path in ["/v1/backup", "/v1/tokens", "/v1/audit", "/v1/history"] {
        let answer = locked.server.ask(&Ask::new("GET", path).token(&locked.admin)).expect(200);
        seen.push_str(&answer.body);
    }
    assert!(seen.contains(&id), "tokens are listed by id");
    let log = locked.server.log();
    assert!(log.contains("makeToken"), "the log is one: {log}");
    for secret in [&locked.admin, &token] {
        // What stands behind the id is the secret.
        let bare = secret.rsplit(['_', '.']).next().unwrap();
        assert!(bare.len() > 20, "{secret}");
        assert!(!seen.contains(bare), "a secret is in an answer");
        assert!(!log.contains(bare), "a secret is in the log");
    }
    let kept: Vec<u8> = std::fs::read_dir(locked.folder.path().join("data"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file() && !path.ends_with("admin-token"))
        .flat_map(|path| std::fs::read(path).unwrap())
        .collect();
    for secret in [&locked.admin, &token] {
        let bare = secret.rsplit(['_', '.']).next().unwrap().as_bytes();
        assert!(!kept.windows(bare.len()).any(|part| part == bare), "a secret is in the store");
    }
}

/// Requests for another host, or from another page, are refused before anything else.
#[test]
fn other_hosts_and_pages_are_refused() {
    let locked = Locked::new(&["--host", "policies.example"]);
    let read = Ask::new("GET", "/v1/resources").token(&locked.admin);
    let status = |ask: Ask| locked.server.ask(&ask).status;
    let own = locked.server.address.to_string();
    let port = locked.server.address.port();
    for host in
        ["evil.example", "evil.example:80", "", &format!("{own}.evil.example"), "127.0.0.1:1"]
    {
        let refused = status(read.clone().header("host", host));
        assert!(matches!(refused, 400 | 403 | 421), "{host}: {refused}");
    }
    for host in [&own, &format!("localhost:{port}"), "policies.example"] {
        assert_eq!(status(read.clone().header("host", host)), 200, "{host}");
    }
    let write = Ask::new("POST", "/v1/apply").token(&locked.admin).body("type: Mesh\nname: m\n");
    for origin in ["https://evil.example", "null", &format!("http://{own}.evil.example")] {
        assert_eq!(status(read.clone().header("origin", origin)), 403, "{origin}");
        assert_eq!(status(write.clone().header("origin", origin)), 403, "{origin}");
    }
    let total = locked.server.ask(&read).json()["total"].clone();
    assert_eq!(total, 0, "something was written");
}

/// Without tokens a page of somebody else's is the danger: it is refused there too.
#[test]
fn an_open_server_refuses_pages_too() {
    let server = crate::server::Start::new(&["--ephemeral"]).run();
    let write = Ask::new("POST", "/v1/apply").body("type: Mesh\nname: m\n");
    server.ask(&write.clone().header("origin", "https://evil.example")).expect(403);
    let rebound = server.ask(&write.header("host", "evil.example"));
    assert!(matches!(rebound.status, 400 | 403 | 421), "{rebound:?}");
    assert_eq!(server.get("/v1/resources").json()["total"], 0);
}
