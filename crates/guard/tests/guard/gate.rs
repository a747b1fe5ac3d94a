// SPDX-License-Identifier: Apache-2.0
//! What a request passes on its way in: host, size, place, time.

use std::time::Duration;

use overrule_guard::{HostNames, ListenerLimits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep};

use crate::lab::{SOON, Server, closed, exchange, tight, two};

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let names = HostNames::new(["overrule.example"]).unwrap();
    let server = Server::start(tight(), overrule_guard::Doors::open(), None, names).await;
    let ask = async |head: &str| {
        exchange(&mut server.connect().await, format!("{head}Connection: close\r\n\r\n").as_bytes())
            .await
    };
    let evil = ask("GET / HTTP/1.1\r\nHost: evil.example\r\n").await;
    assert!(evil.starts_with("HTTP/1.1 421"), "{evil}");
    assert!(ask("GET / HTTP/1.1\r\nHost: overrule.example\r\n").await.starts_with("HTTP/1.1 200"));
    assert!(ask("GET / HTTP/1.1\r\n").await.starts_with("HTTP/1.1 400"));
    let from_page = server.get("/", "Origin: http://evil.example\r\n").await;
    assert!(from_page.starts_with("HTTP/1.1 403"), "{from_page}");
    let own = format!("Origin: http://{}\r\n", server.address);
    assert!(server.get("/", &own).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn request_ids_are_given_or_kept_if_harmless() {
    let server = Server::open(tight()).await;
    let id = |reply: String| {
        let line =
            reply.lines().find(|line| line.starts_with("x-request-id: ")).unwrap().to_owned();
        line.strip_prefix("x-request-id: ").unwrap().to_owned()
    };
    assert_eq!(id(server.get("/", "X-Request-Id: trace-0123\r\n").await), "trace-0123");
    assert_eq!(id(server.get("/", "X-Request-Id: a:b/c.1\r\n").await), "a:b/c.1");
    let first = id(server.get("/", "X-Request-Id: in\"jected}{\r\n").await);
    let long = "x".repeat(129);
    let second = id(server.get("/", &format!("X-Request-Id: {long}\r\n")).await);
    assert_ne!(first, second);
    assert!(first.len() >= 10 && !first.contains('"') && second.len() < 100);
}

#[tokio::test]
async fn the_trace_of_a_client_is_kept_and_returned() {
    let server = Server::open(tight()).await;
    let sent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
    assert!(server.get("/", sent).await.contains(sent));
    assert!(!server.get("/", "traceparent: nonsense\r\n").await.contains("traceparent"));
    assert!(!server.get("/", &sent.repeat(2)).await.contains("traceparent"));
}

/// Whoever has shown a token may still not have all places: others get theirs.
#[tokio::test]
async fn one_token_cannot_have_every_place() {
    let (doors, first, second) = two();
    let limits = ListenerLimits { requests_in_flight: 4, ..tight() };
    let server = Server::start(limits, doors, None, HostNames::default()).await;
    let mut slow = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect().await;
        stream.write_all(server.request("GET", "/slow", &first).as_bytes()).await.unwrap();
        slow.push(stream);
    }
    server.has_in_flight(3).await;
    let told = server.get("/", &first).await;
    assert!(told.starts_with("HTTP/1.1 429") && told.contains("retry-after: 1"), "{told}");
    assert!(server.get("/", &second).await.starts_with("HTTP/1.1 200"));
    server.is_quiet_soon().await;
    assert!(server.get("/", &first).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn bodies_are_bounded() {
    let server = Server::open(ListenerLimits { body_bytes: 1000, ..tight() }).await;
    let post = async |headers: &str, body: &str| {
        let head = server.request("POST", "/echo", &format!("Connection: close\r\n{headers}"));
        exchange(&mut server.connect().await, format!("{head}{body}").as_bytes()).await
    };
    let fits = post("Content-Length: 1000\r\n", &"x".repeat(1000)).await;
    assert!(fits.ends_with("1000 bytes"), "{fits}");
    let declared = post("Content-Length: 1001\r\n", "").await;
    assert!(declared.starts_with("HTTP/1.1 413"), "{declared}");
    let huge = post("Content-Length: 18446744073709551615\r\n", "").await;
    assert!(huge.starts_with("HTTP/1.1 4"), "{huge}");
    let chunk = format!("200\r\n{}\r\n", "x".repeat(0x200));
    let chunked = post("Transfer-Encoding: chunked\r\n", &format!("{chunk}{chunk}0\r\n\r\n")).await;
    assert!(chunked.starts_with("HTTP/1.1 413"), "{chunked}");
    server.serves_others().await;
}

/// Bytes that have arrived are counted until nobody needs them; one token cannot have all the room there is.
#[tokio::test]
async fn uploads_together_are_bounded() {
    let (doors, first, second) = two();
    let limits = ListenerLimits {
        body_bytes: 1000,
        upload_bytes: 2000,
        request_timeout: SOON,
        read_timeout: SOON,
        ..tight()
    };
    let server = Server::start(limits, doors, None, HostNames::default()).await;
    let post = async |token: &str| {
        let headers = format!("Connection: close\r\nContent-Length: 700\r\n{token}");
        let head = server.request("POST", "/echo", &headers);
        let all = format!("{head}{}", "x".repeat(700));
        exchange(&mut server.connect().await, all.as_bytes()).await
    };
    let mut slow = server.connect().await;
    let headers = format!("Content-Length: 1000\r\n{first}");
    let head = server.request("POST", "/echo", &headers);
    slow.write_all(format!("{head}{}", "x".repeat(900)).as_bytes()).await.unwrap();
    // As soon as those bytes have arrived.
    let refused = async {
        loop {
            let told = post(&first).await;
            if !told.starts_with("HTTP/1.1 200") {
                return told;
            }
        }
    };
    let told = tokio::time::timeout(SOON, refused).await.unwrap();
    assert!(told.starts_with("HTTP/1.1 503"), "{told}");
    assert!(post(&second).await.ends_with("700 bytes"), "there is room for others");
    slow.write_all("x".repeat(100).as_bytes()).await.unwrap();
    server.is_quiet_soon().await;
    assert!(post(&first).await.ends_with("700 bytes"), "it is given back");
}

#[tokio::test]
async fn when_all_places_are_taken_others_are_told_to_come_back() {
    let server = Server::open(ListenerLimits { requests_in_flight: 2, ..tight() }).await;
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut stream = server.connect().await;
        stream.write_all(server.request("GET", "/slow", "").as_bytes()).await.unwrap();
        slow.push(stream);
    }
    server.has_in_flight(2).await;
    let began = Instant::now();
    let busy = server.get("/", "").await;
    assert!(busy.starts_with("HTTP/1.1 503") && busy.contains("retry-after: 1"), "{busy}");
    assert!(began.elapsed() < Duration::from_millis(400), "it does not queue");
    server.is_quiet_soon().await;
    server.serves_others().await;
}

#[tokio::test]
async fn strangers_take_no_place() {
    let (doors, right) = closed();
    let limits = ListenerLimits { requests_in_flight: 1, ..tight() };
    let server = Server::start(limits, doors, None, HostNames::default()).await;
    let mut strangers = Vec::new();
    for _ in 0..20 {
        let mut stream = server.connect().await;
        let head = server.request("POST", "/hang", "Content-Length: 10\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        strangers.push(stream);
    }
    assert_eq!(server.gate.in_flight(), 0);
    assert!(server.get("/", &right).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let server = Server::open(tight()).await;
    let reply = server.get("/hang", "").await;
    assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
    assert!(reply.ends_with("the answer took too long"));
    server.is_quiet_soon().await;
}

#[tokio::test]
async fn endless_answers_have_places_of_their_own() {
    let limits = ListenerLimits { requests_in_flight: 1, event_streams: 2, ..tight() };
    let server = Server::open(limits).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = server.connect().await;
        stream.write_all(server.request("GET", "/events", "").as_bytes()).await.unwrap();
        let mut some = [0; 15];
        stream.read_exact(&mut some).await.unwrap();
        assert_eq!(&some, b"HTTP/1.1 200 OK");
        streams.push(stream);
    }
    assert!(server.get("/events", "").await.starts_with("HTTP/1.1 503"));
    server.is_quiet_soon().await;
    // Longer than every bound: an endless answer whose peer listens is not idle and not slow.
    sleep(Duration::from_millis(2500)).await;
    server.serves_others().await;
    assert!(server.get("/events", "").await.starts_with("HTTP/1.1 503"), "both still there");
    drop(streams);
    sleep(Duration::from_millis(200)).await;
    let mut again = server.connect().await;
    again.write_all(server.request("GET", "/events", "").as_bytes()).await.unwrap();
    let mut some = [0; 15];
    again.read_exact(&mut some).await.unwrap();
    assert_eq!(&some, b"HTTP/1.1 200 OK", "places come back");
}
