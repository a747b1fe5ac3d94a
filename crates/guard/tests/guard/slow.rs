// SPDX-License-Identifier: Apache-2.0
//! HTTP/1 peers that are slow, silent, greedy or many, while a good client is served.

use std::time::Duration;

use overrule_guard::ListenerLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::lab::{SOON, Server, closes, exchange, rest, tight};

/// Sends bytes one by one until the other end has enough of it.
async fn drip(mut stream: TcpStream, bytes: Vec<u8>) -> Duration {
    let began = Instant::now();
    for byte in bytes {
        if stream.write_all(&[byte]).await.is_err() {
            break;
        }
        sleep(Duration::from_millis(40)).await;
    }
    assert!(closes(&mut stream).await, "the server ends it");
    began.elapsed()
}

#[tokio::test]
async fn slow_heads_and_silence() {
    let server = Server::open(tight()).await;
    let mut attackers = JoinSet::new();
    for number in 0..60 {
        let stream = server.connect().await;
        let head = match number % 3 {
            0 => Vec::new(),
            1 => server.request("GET", "/", &format!("X: {}\r\n", "y".repeat(2000))).into_bytes(),
            // The beginning of HTTP/2, never finished.
            _ => b"PRI * HTTP/2.0\r\n\r\nSM".to_vec(),
        };
        attackers.spawn(drip(stream, head));
    }
    server.serves_others().await;
    while let Some(lasted) = attackers.join_next().await {
        let lasted = lasted.unwrap();
        assert!(lasted < Duration::from_secs(9), "ended after {lasted:?}");
    }
    assert!(server.end().await.ended >= 60);
}

#[tokio::test]
async fn a_slow_second_head_on_a_good_connection() {
    let server = Server::open(ListenerLimits { idle_timeout: SOON, ..tight() }).await;
    let mut stream = server.connect().await;
    stream.write_all(server.request("GET", "/", "").as_bytes()).await.unwrap();
    let mut some = [0; 15];
    stream.read_exact(&mut some).await.unwrap();
    // Longer than a head may take: between requests that is not the bound.
    sleep(Duration::from_millis(900)).await;
    stream.write_all(server.request("GET", "/", "").as_bytes()).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    let lasted =
        drip(stream, server.request("GET", "/", &"X: y\r\n".repeat(90)).into_bytes()).await;
    assert!(lasted < Duration::from_secs(9), "ended after {lasted:?}");
}

#[tokio::test]
async fn idle_connections_are_ended() {
    let server = Server::open(tight()).await;
    let mut stream = server.connect().await;
    let began = Instant::now();
    let reply = exchange(&mut stream, server.request("GET", "/", "").as_bytes()).await;
    assert!(reply.ends_with("hello"));
    let lasted = began.elapsed();
    assert!(lasted > Duration::from_millis(1100) && lasted < Duration::from_secs(9), "{lasted:?}");
}

#[tokio::test]
async fn slow_bodies() {
    let server = Server::open(tight()).await;
    let mut attackers = JoinSet::new();
    for number in 0..30 {
        let mut stream = server.connect().await;
        let kind =
            if number % 2 == 0 { "Content-Length: 5000" } else { "Transfer-Encoding: chunked" };
        let head = server.request("POST", "/echo", &format!("{kind}\r\n"));
        attackers.spawn(async move {
            stream.write_all(head.as_bytes()).await.unwrap();
            let (mut from, mut to) = stream.into_split();
            let writer = tokio::spawn(async move {
                let bytes = if number % 2 == 0 { "x" } else { "1\r\nx\r\n" };
                while to.write_all(bytes.as_bytes()).await.is_ok() {
                    sleep(Duration::from_millis(50)).await;
                }
            });
            let reply = timeout(SOON, rest(&mut from)).await.expect("it ends");
            writer.abort();
            reply
        });
    }
    server.serves_others().await;
    while let Some(reply) = attackers.join_next().await {
        let reply = reply.unwrap();
        assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
    }
    server.is_quiet_soon().await;
}

/// A connection whose kernel takes little, so that what is not read is not hidden in buffers.
async fn narrow(server: &Server) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(server.address).await.unwrap()
}

#[tokio::test]
async fn peers_that_do_not_read() {
    let server = Server::open(tight()).await;
    let mut attackers = Vec::new();
    for _ in 0..20 {
        let mut stream = narrow(&server).await;
        stream.write_all(server.request("GET", "/big", "").as_bytes()).await.unwrap();
        attackers.push(stream);
    }
    server.has_in_flight(1).await;
    server.serves_others().await;
    server.is_quiet_soon().await;
    drop(attackers);
    assert!(server.end().await.ended >= 20);
}

#[tokio::test]
async fn peers_that_read_a_few_bytes_now_and_then() {
    let server = Server::open(tight()).await;
    let mut stream = narrow(&server).await;
    stream.write_all(server.request("GET", "/big", "").as_bytes()).await.unwrap();
    let began = Instant::now();
    let mut few = [0; 64];
    while stream.read(&mut few).await.is_ok_and(|read| read > 0) {
        sleep(Duration::from_millis(50)).await;
        if began.elapsed() > SOON {
            break;
        }
        if server.gate.in_flight() == 0 {
            break;
        }
    }
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    assert_eq!(server.gate.in_flight(), 0);
}

#[tokio::test]
async fn a_slow_but_steady_reader_gets_everything() {
    let server = Server::open(tight()).await;
    let mut stream = server.connect().await;
    let request = server.request("GET", "/big", "Connection: close\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut total, mut buffer) = (0, vec![0; 256 << 10]);
    // About three seconds: longer than every bound, each piece well within its own.
    loop {
        let read = stream.read(&mut buffer).await.unwrap();
        if read == 0 {
            break;
        }
        total += read;
        sleep(Duration::from_millis(10)).await;
    }
    assert!(total > 32 << 20, "{total}");
}

#[tokio::test]
async fn a_hundred_thousand_headers() {
    let server = Server::open(tight()).await;
    let mut attackers = JoinSet::new();
    for number in 0..8 {
        let mut stream = server.connect().await;
        let headers = match number % 2 {
            0 => "A: b\r\n".repeat(100_000),
            _ => format!("A: {}\r\n", "b".repeat(1_000_000)),
        };
        let request = server.request("GET", "/", &headers);
        attackers.spawn(async move {
            let _ = stream.write_all(request.as_bytes()).await;
            timeout(SOON, rest(&mut stream)).await.expect("it ends")
        });
    }
    server.serves_others().await;
    while let Some(reply) = attackers.join_next().await {
        let reply = reply.unwrap();
        // The answer may be lost when the peer is still sending.
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{reply}");
    }
    let few = server.get("/", &"A: b\r\n".repeat(101)).await;
    assert!(few.starts_with("HTTP/1.1 431"), "{few}");
    assert_eq!(server.end().await.requests, 10, "none of theirs got through");
}

#[tokio::test]
async fn pipelining() {
    let server = Server::open(tight()).await;
    let mut stream = server.connect().await;
    let many = server.request("GET", "/", "").repeat(2000);
    let last = server.request("GET", "/", "Connection: close\r\n");
    let attacker = tokio::spawn(async move {
        let (mut from, mut to) = stream.split();
        let all = format!("{many}{last}");
        let (sent, reply) = tokio::join!(to.write_all(all.as_bytes()), rest(&mut from));
        sent.unwrap();
        reply
    });
    server.serves_others().await;
    let reply = timeout(SOON, attacker).await.expect("it ends").unwrap();
    assert_eq!(reply.matches("HTTP/1.1 200").count(), 2001);
}

#[tokio::test]
async fn pipelining_without_reading() {
    let server = Server::open(tight()).await;
    let stream = narrow(&server).await;
    let many = server.request("GET", "/", "").repeat(200);
    let attacker = tokio::spawn(async move {
        let (from, mut to) = stream.into_split();
        let began = Instant::now();
        while to.write_all(many.as_bytes()).await.is_ok() && began.elapsed() < 4 * SOON {}
        drop(from);
        began.elapsed()
    });
    server.serves_others().await;
    // The kernel's buffers fill first: some ten thousand answers.
    let lasted = attacker.await.unwrap();
    assert!(lasted < 3 * SOON, "ended after {lasted:?}");
}

#[tokio::test]
async fn too_many_connections_of_one_address() {
    let limits = ListenerLimits { connections_per_ip: 5, connections: 12, ..tight() };
    let server =
        Server::open(ListenerLimits { header_timeout: SOON, idle_timeout: SOON, ..limits }).await;
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(server.connect_from(2).await);
    }
    server.serves_others().await;
    for from in 3..8 {
        for _ in 0..5 {
            held.push(server.connect_from(from).await);
        }
    }
    let mut refused = server.connect_from(9).await;
    assert!(closes(&mut refused).await, "all seats are taken");
    drop(held);
    sleep(Duration::from_millis(300)).await;
    server.serves_others().await;
    let report = server.end().await;
    assert!(report.turned_away >= 15 + 18, "{report:?}");
}

#[tokio::test]
async fn garbage() {
    let server = Server::open(tight()).await;
    let mut attackers = JoinSet::new();
    for seed in 0..40_u32 {
        let mut stream = server.connect().await;
        attackers.spawn(async move {
            let mut state = seed.wrapping_mul(2_654_435_761) | 1;
            let bytes: Vec<u8> = (0..50_000)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 17;
                    state ^= state << 5;
                    state.to_le_bytes()[seed as usize % 4]
                })
                .collect();
            let _ = stream.write_all(&bytes).await;
            closes(&mut stream).await
        });
    }
    server.serves_others().await;
    while let Some(closed) = attackers.join_next().await {
        assert!(closed.unwrap());
    }
}
