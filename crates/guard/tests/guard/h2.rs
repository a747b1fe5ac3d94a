// SPDX-License-Identifier: Apache-2.0
//! HTTP/2 peers, frame by frame: resets, floods, too many streams, no room for answers; while a good client is served.

use std::time::Duration;

use overrule_guard::ListenerLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::lab::{SOON, Server, closes, tight};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = payload.len().to_be_bytes()[5..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A head, written without compression.
fn head(host: &str, path: &str) -> Vec<u8> {
    // GET and http from the static table.
    let mut block = vec![0x82, 0x86];
    // Literals: path is name 4 of that table, authority name 1.
    for (name, value) in [(4, path), (1, host)] {
        block.extend([name, value.len() as u8]);
        block.extend(value.as_bytes());
    }
    block
}

struct Client {
    stream: TcpStream,
    host: String,
}

impl Client {
    /// Connected, with these settings, each a number and a value.
    async fn new(server: &Server, settings: &[(u16, u32)]) -> Self {
        let mut stream = server.connect().await;
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend(name.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(SETTINGS, 0, 0, &payload));
        bytes.extend(frame(SETTINGS, 1, 0, &[]));
        stream.write_all(&bytes).await.unwrap();
        Self { stream, host: server.address.to_string() }
    }

    fn get(&self, stream: u32, path: &str) -> Vec<u8> {
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &head(&self.host, path))
    }

    /// Sends, and says whether the other end still takes it.
    async fn send(&mut self, bytes: &[u8]) -> bool {
        matches!(timeout(SOON, self.stream.write_all(bytes)).await, Ok(Ok(())))
    }

    /// Asks for a page again and again, each time giving it up a little later, until the other end takes no more. Reads
    /// nothing.
    async fn goes_on(&mut self, path: &str, milliseconds: u64) {
        let began = Instant::now();
        for stream in (3..).step_by(2) {
            let request = self.get(stream, path);
            if !self.send(&request).await {
                return;
            }
            let lasted = began.elapsed();
            assert!(lasted < Duration::from_secs(9), "still served after {lasted:?}");
            sleep(Duration::from_millis(milliseconds)).await;
            self.send(&frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())).await;
        }
    }

    /// The next frame: kind, flags, stream, payload.
    async fn next(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut start = [0; 9];
        timeout(SOON, self.stream.read_exact(&mut start)).await.ok()?.ok()?;
        let length = u32::from_be_bytes([0, start[0], start[1], start[2]]);
        let stream = u32::from_be_bytes([start[5], start[6], start[7], start[8]]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).await.ok()?;
        if start[3] == PING && start[4] == 0 {
            self.send(&frame(PING, 1, 0, &payload)).await;
        }
        Some((start[3], start[4], stream, payload))
    }

    /// Reads until the other end says goodbye; its error code.
    async fn goodbye(&mut self) -> Option<u32> {
        loop {
            let (kind, _, _, payload) = self.next().await?;
            // The first half of a gentle goodbye names no stream yet.
            if kind == GOAWAY && payload[..4] != [0x7f, 0xff, 0xff, 0xff] {
                return Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
            }
        }
    }
}

const CALM: u32 = 11;

#[tokio::test]
async fn a_good_client_is_served() {
    let server = Server::open(tight()).await;
    let mut client = Client::new(&server, &[]).await;
    let request = client.get(1, "/who");
    client.send(&request).await;
    let mut body = Vec::new();
    while let Some((kind, flags, stream, payload)) = client.next().await {
        if kind == DATA && stream == 1 {
            body.extend(payload);
            if flags & END_STREAM != 0 {
                break;
            }
        }
    }
    assert_eq!(String::from_utf8(body).unwrap(), "local by open: admin");
    let began = Instant::now();
    assert_eq!(client.goodbye().await, Some(0), "a gentle goodbye when idle");
    assert!(began.elapsed() < Duration::from_secs(9));
    let mut foreign = Client::new(&server, &[]).await;
    foreign.host = "evil.example".to_owned();
    let request = foreign.get(1, "/");
    foreign.send(&request).await;
    while let Some((kind, _, _, payload)) = foreign.next().await {
        if kind == DATA {
            assert!(String::from_utf8_lossy(&payload).contains("does not answer for"));
            return;
        }
    }
    panic!("no answer");
}

#[tokio::test]
async fn rapid_reset() {
    let server = Server::open(tight()).await;
    let mut client = Client::new(&server, &[]).await;
    let mut bytes = Vec::new();
    for number in 0..5000 {
        bytes.extend(client.get(2 * number + 1, "/hang"));
        bytes.extend(frame(RST_STREAM, 0, 2 * number + 1, &8_u32.to_be_bytes()));
    }
    client.send(&bytes).await;
    server.serves_others().await;
    assert_eq!(client.goodbye().await, Some(CALM));
    server.is_quiet_soon().await;
}

/// Slow enough that each request is begun before it is given up.
#[tokio::test]
async fn steady_reset() {
    let limits =
        ListenerLimits { abandoned_requests: 50, grace: Duration::from_millis(200), ..tight() };
    let server = Server::open(limits).await;
    let mut client = Client::new(&server, &[]).await;
    client.goes_on("/hang", 8).await;
    assert!(closes(&mut client.stream).await);
    server.is_quiet_soon().await;
    let report = server.end().await;
    assert_eq!(report.ended, 1);
    assert!((51..400).contains(&report.requests), "{report:?}");
}

/// Told to go, it answers no ping and asks on, for pages that are done at once: it is quiet whenever it is looked at.
#[tokio::test]
async fn goodbye_is_not_heard() {
    let limits =
        ListenerLimits { abandoned_requests: 0, grace: Duration::from_millis(200), ..tight() };
    let server = Server::open(limits).await;
    let mut client = Client::new(&server, &[]).await;
    let mut bytes = client.get(1, "/hang");
    assert!(client.send(&bytes).await);
    server.has_in_flight(1).await;
    bytes = frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes());
    assert!(client.send(&bytes).await);
    client.goes_on("/", 5).await;
    assert!(closes(&mut client.stream).await);
    assert_eq!(server.end().await.ended, 1);
}

#[tokio::test]
async fn many_streams() {
    let limits = ListenerLimits { streams_per_connection: 10, ..tight() };
    let server = Server::open(limits).await;
    let mut client = Client::new(&server, &[]).await;
    let mut bytes = Vec::new();
    for number in 0..500 {
        bytes.extend(client.get(2 * number + 1, "/hang"));
    }
    client.send(&bytes).await;
    sleep(Duration::from_millis(200)).await;
    assert!(server.gate.in_flight() <= 10, "{}", server.gate.in_flight());
    server.serves_others().await;
    server.is_quiet_soon().await;
}

#[tokio::test]
async fn continuation_flood() {
    let server = Server::open(tight()).await;
    let mut client = Client::new(&server, &[]).await;
    let start = frame(HEADERS, END_STREAM, 1, &head(&client.host, "/"));
    client.send(&start).await;
    // A header of 100 bytes, again and again.
    let mut header = vec![0, 1, b'a', 96];
    header.extend([b'b'; 96]);
    let more = frame(CONTINUATION, 0, 1, &header).repeat(100);
    let began = Instant::now();
    let mut sent = 0;
    while began.elapsed() < SOON && client.send(&more).await {
        sent += 1;
        tokio::task::yield_now().await;
    }
    server.serves_others().await;
    assert!(began.elapsed() < SOON, "ended after {:?}", began.elapsed());
    assert!(sent < 20_000);
}

#[tokio::test]
async fn empty_continuations_and_a_slow_head() {
    let server = Server::open(tight()).await;
    let mut client = Client::new(&server, &[]).await;
    let start = frame(HEADERS, END_STREAM, 1, &head(&client.host, "/"));
    client.send(&start).await;
    let began = Instant::now();
    while began.elapsed() < SOON && client.send(&frame(CONTINUATION, 0, 1, &[])).await {
        sleep(Duration::from_millis(30)).await;
    }
    assert!(began.elapsed() < Duration::from_secs(9), "ended after {:?}", began.elapsed());
    server.serves_others().await;
}

#[tokio::test]
async fn pings_and_settings_without_end() {
    let server = Server::open(tight()).await;
    let mut attackers = Vec::new();
    for number in 0..4 {
        let mut client = Client::new(&server, &[]).await;
        let one = match number % 2 {
            0 => frame(PING, 0, 0, &[7; 8]),
            _ => frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 255, 255]),
        };
        attackers.push(tokio::spawn(async move {
            let began = Instant::now();
            let many = one.repeat(500);
            // Never reads the answers.
            while began.elapsed() < SOON && client.stream.write_all(&many).await.is_ok() {}
            began.elapsed()
        }));
    }
    server.serves_others().await;
    for attacker in attackers {
        let lasted = attacker.await.unwrap();
        assert!(lasted < Duration::from_secs(9), "ended after {lasted:?}");
    }
}

/// The peer announces no room for any byte of an answer.
#[tokio::test]
async fn no_room_for_answers() {
    let server = Server::open(tight()).await;
    let mut clients = Vec::new();
    for room in [0, 1, 10_000] {
        let mut client = Client::new(&server, &[(4, room)]).await;
        let mut bytes = Vec::new();
        for number in 0..20 {
            bytes.extend(client.get(2 * number + 1, "/big"));
        }
        client.send(&bytes).await;
        clients.push(client);
    }
    server.has_in_flight(20).await;
    server.serves_others().await;
    server.is_quiet_soon().await;
    for mut client in clients {
        assert!(closes(&mut client.stream).await);
    }
    assert_eq!(server.end().await.ended, 3);
}

/// Small answers, no room: nothing is in flight any more, and the connection is idle.
#[tokio::test]
async fn no_room_for_small_answers() {
    let server = Server::open(tight()).await;
    let mut client = Client::new(&server, &[(4, 0)]).await;
    let request = client.get(1, "/");
    client.send(&request).await;
    server.serves_others().await;
    assert!(closes(&mut client.stream).await);
    server.is_quiet_soon().await;
}

#[tokio::test]
async fn a_body_that_never_comes() {
    let server = Server::open(tight()).await;
    let mut client = Client::new(&server, &[]).await;
    let mut block = head(&client.host, "/echo");
    // POST instead of GET.
    block[0] = 0x83;
    client.send(&frame(HEADERS, END_HEADERS, 1, &block)).await;
    server.serves_others().await;
    while let Some((kind, _, _, payload)) = client.next().await {
        if kind == DATA {
            assert!(String::from_utf8_lossy(&payload).contains("did not arrive in time"));
            server.is_quiet_soon().await;
            return;
        }
    }
    panic!("no answer");
}

/// A peer that answers no ping cannot be told gently, and holds nobody up.
#[tokio::test]
async fn a_deaf_peer_does_not_delay_stopping() {
    let server = Server::open(ListenerLimits { grace: SOON, idle_timeout: SOON, ..tight() }).await;
    let mut client = Client::new(&server, &[]).await;
    let request = client.get(1, "/");
    client.send(&request).await;
    sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    let report = server.end().await;
    assert_eq!((report.requests, report.cut), (1, 0));
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[tokio::test]
async fn answers_in_flight_finish_when_stopping() {
    let server = Server::open(tight()).await;
    let mut client = Client::new(&server, &[]).await;
    let request = client.get(1, "/slow");
    client.send(&request).await;
    server.has_in_flight(1).await;
    let done = server.stop();
    let mut body = Vec::new();
    while let Some((kind, _, _, payload)) = client.next().await {
        if kind == DATA {
            body.extend(payload);
        }
    }
    assert_eq!(body, b"slow");
    assert_eq!(done.await.unwrap().cut, 0);
}
