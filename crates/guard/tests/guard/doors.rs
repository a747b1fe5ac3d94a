// SPDX-License-Identifier: Apache-2.0
//! Who is let in, over real requests; and whom certificates stand for.

use std::time::Duration;

use overrule_guard::certificate::RuleError;
use overrule_guard::{
    CertificateRule, Certificates, ClientCertificate, Denied, Doors, HostNames, How, Tokens, now,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::lab::{Server, closed, exchange, tight, token};

async fn server(doors: Doors) -> Server {
    Server::start(tight(), doors, None, HostNames::default()).await
}

#[tokio::test]
async fn open_doors_let_everybody_in() {
    let server = server(Doors::open()).await;
    assert!(server.get("/who", "").await.ends_with("local by open: admin"));
}

#[tokio::test]
async fn closed_doors_ask_for_a_token() {
    let (doors, header) = closed();
    let server = server(doors.with_public("/healthz")).await;
    assert!(server.get("/who", &header).await.ends_with("reader by token: read"));
    let refused = server.get("/who", "").await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert!(refused.contains("www-authenticate: Bearer") && refused.contains("x-request-id: "));
    assert!(refused.ends_with("GET /who: no token was given; send `Authorization: Bearer TOKEN`"));
    for wrong in [
        "Authorization: Basic YTpi\r\n".to_owned(),
        "Authorization: Bearer\r\n".to_owned(),
        format!("{header}{header}"),
    ] {
        assert!(server.get("/who", &wrong).await.starts_with("HTTP/1.1 401"), "{wrong}");
    }
    assert!(server.get("/healthz", "").await.starts_with("HTTP/1.1 200"));
    assert!(server.get("/healthz/", "").await.starts_with("HTTP/1.1 401"));
    assert!(server.get("/who?token=/healthz", "").await.starts_with("HTTP/1.1 401"));
}

#[tokio::test]
async fn tokens_are_exchanged_while_serving() {
    let (doors, old) = closed();
    let server = server(doors).await;
    let (plain, row) = token("writer", "write");
    assert!(server.get("/who", &old).await.starts_with("HTTP/1.1 200"));
    server.doors.set_tokens(Tokens::new([row]));
    assert!(server.get("/who", &old).await.starts_with("HTTP/1.1 401"), "rotated away");
    let new = format!("Authorization: Bearer {plain}\r\n");
    assert!(server.get("/who", &new).await.ends_with("writer by token: write"));
}

#[tokio::test]
async fn guessing_is_slowed_down_and_nobody_else() {
    let (doors, right) = closed();
    let server = server(doors).await;
    let (wrong, _) = token("stranger", "admin");
    let wrong = format!("Authorization: Bearer {wrong}\r\n");
    let mut longest = Duration::ZERO;
    for _ in 0..6 {
        let began = Instant::now();
        assert!(server.get("/", &wrong).await.starts_with("HTTP/1.1 401"));
        longest = longest.max(began.elapsed());
    }
    assert!(longest > Duration::from_millis(390), "the sixth waits: {longest:?}");
    let began = Instant::now();
    let mut many = JoinSet::new();
    for _ in 0..20 {
        let request = server.request("GET", "/", &format!("Connection: close\r\n{wrong}"));
        let mut stream = server.connect().await;
        many.spawn(async move { exchange(&mut stream, request.as_bytes()).await });
    }
    assert!(server.get("/", &right).await.starts_with("HTTP/1.1 200"));
    assert!(began.elapsed() < Duration::from_secs(2), "the right token does not wait");
    let mut too_many = 0;
    while let Some(reply) = many.join_next().await {
        let reply = reply.unwrap();
        assert!(reply.starts_with("HTTP/1.1 401") || reply.starts_with("HTTP/1.1 429"), "{reply}");
        too_many += usize::from(reply.contains("retry-after: 10"));
    }
    assert!(too_many > 0);
    assert_eq!(server.gate.in_flight(), 0);
}

fn certificate() -> ClientCertificate {
    ClientCertificate {
        subject: "CN=alice,O=Example".to_owned(),
        sans: vec!["dns:alice.example".to_owned(), "uri:spiffe://mesh/alice".to_owned()],
        spiffe: Some("spiffe://mesh/alice".to_owned()),
        fingerprint: "ab".repeat(32),
        expires: jiff::Timestamp::MAX,
    }
}

fn rules(json: &str) -> Result<Certificates, RuleError> {
    Certificates::new(serde_json::from_str::<Vec<CertificateRule>>(json).unwrap())
}

fn one(which: &str) -> Result<Certificates, RuleError> {
    rules(&format!(r#"[{{{which}, "name": "alice", "grants": ["read:mesh/a"]}}]"#))
}

#[test]
fn certificates_stand_for_people() {
    for fits in [
        r#""san": "dns:Alice.Example""#,
        r#""san": "spiffe://mesh/alice""#,
        r#""san": "uri:spiffe://mesh/alice""#,
        r#""subject": "CN=alice,O=Example""#,
        &format!(r#""fingerprint": "{}AB""#, "AB:".repeat(31)),
    ] {
        let who = one(fits).unwrap().authenticate(&certificate(), now()).unwrap();
        assert_eq!((who.name.as_str(), who.how), ("alice", How::Certificate), "{fits}");
        assert_eq!(who.grants.to_string(), "read:mesh/a");
        let old = ClientCertificate { expires: jiff::Timestamp::UNIX_EPOCH, ..certificate() };
        assert_eq!(one(fits).unwrap().authenticate(&old, now()), Err(Denied::Expired));
    }
    for other in [
        r#""san": "email:alice.example""#,
        r#""san": "dns:alice.example.evil""#,
        r#""san": "uri:dns:alice.example""#,
        r#""subject": "CN=alice""#,
    ] {
        let who = one(other).unwrap().authenticate(&certificate(), now());
        assert_eq!(who, Err(Denied::Unknown), "{other}");
    }
    for wrong in [
        r#""san": "alice.example""#,
        r#""san": "dns:""#,
        r#""san": "ip:nowhere""#,
        r#""subject": """#,
        r#""fingerprint": "abcd""#,
        r#""san": "dns:a", "subject": "CN=a""#,
    ] {
        assert!(one(wrong).is_err(), "{wrong}");
    }
    assert!(rules(r#"[{"name": "a", "grants": []}]"#).is_err(), "says which");
}
