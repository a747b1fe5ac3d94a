// SPDX-License-Identifier: Apache-2.0
//! In: a server with 5,000 routes on one Gateway, 256 clients that watch it over HTTP, and changes that touch every route.
//! Out: how long a write takes with them and without, and how soon `/healthz` is answered meanwhile. Not here: what is told
//! (`watch`), how long resolving takes.
//!
//! `cargo bench -p overrule-server --bench crowd`, `-- --quick` for a small one. Clients and server share the machine.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use overrule::Options;
use overrule_server::{Config, start};

fn main() -> ExitCode {
    let quick = std::env::args().any(|a| a == "--quick");
    let (routes, watchers, rounds) = if quick { (200, 8, 3) } else { (5_000, 256, 15) };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fleet.yaml"), fleet(routes)).unwrap();
    let config = Config {
        listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ephemeral: true,
        max_connections: Some(1024),
        ..Config::default()
    };
    let server = start(config, vec![folder.path().to_path_buf()], Options::default()).unwrap();
    let address = server.address;
    // Once to warm up.
    put(address, 0);
    let mut number = 0;
    let mut write = |told: &dyn Fn()| {
        number += 1;
        let since = Instant::now();
        put(address, number);
        let took = since.elapsed();
        told();
        took
    };
    let alone = median((0..rounds).map(|_| write(&|| ())).collect());
    let crowd = Crowd::of(address, watchers);
    let stop = Arc::new(AtomicBool::new(false));
    let asking = Arc::clone(&stop);
    let health = std::thread::spawn(move || alive(address, &asking));
    let watched: Vec<Duration> = (1..=rounds).map(|n| write(&|| crowd.heard(n))).collect();
    stop.store(true, Ordering::Relaxed);
    let mut health = health.join().unwrap();
    health.sort_unstable();
    let p99 = health[health.len() * 99 / 100];
    let watched = median(watched);
    let ratio = watched.as_secs_f64() / alone.as_secs_f64();
    let mark = |holds: bool| if holds { "holds" } else { "DOES NOT HOLD" };
    println!("{routes} routes change, {watchers} watch, {} bytes told", crowd.bytes());
    println!("  a write: {alone:.1?} alone, {watched:.1?} watched");
    println!("  ratio {ratio:.2} (bar: 1.50) {}", mark(ratio <= 1.5));
    let soon = p99 < Duration::from_millis(50);
    println!("  /healthz p99 of {}: {p99:.1?} (bar: 50 ms) {}", health.len(), mark(soon));
    if (ratio <= 1.5 && soon) || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fleet(routes: usize) -> String {
    let mut text = String::from(
        "apiVersion: overrule/v1
kind: PolicyKind
metadata: {name: timeoutpolicies.policies.example.com}
spec:
  group: policies.example.com
  kind: TimeoutPolicy
  class: Inherited
  targets: [{kind: Gateway}, {kind: HTTPRoute}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec: {gatewayClassName: c, listeners: [{name: web, port: 80, protocol: HTTP}]}
",
    );
    for n in 0..routes {
        write!(
            text,
            "---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: route-{n}, namespace: infra}}
spec: {{parentRefs: [{{name: edge}}], hostnames: [r{n}.example.com], rules: [{{backendRefs: [{{name: app, port: 80}}]}}]}}
"
        )
        .unwrap();
    }
    text
}

/// Changes what is in force on every route.
fn put(address: SocketAddr, number: usize) {
    let body = format!(
        "apiVersion: policies.example.com/v1
kind: TimeoutPolicy
metadata: {{name: edge, namespace: infra}}
spec:
  targetRef: {{group: gateway.networking.k8s.io, kind: Gateway, name: edge}}
  defaults: {{strategy: merge, timeouts: {{request: {}ms}}}}
",
        number + 1
    );
    let path = "/v1/resources/timeoutpolicy.policies.example.com/infra/edge";
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "PUT {path} HTTP/1.0\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 20"), "{answer}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How long `/healthz` took, each time, on a connection of its own.
fn alive(address: SocketAddr, stop: &AtomicBool) -> Vec<Duration> {
    let mut took = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let since = Instant::now();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /healthz HTTP/1.0\r\nhost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
        took.push(since.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
    took
}

/// Clients that watch until the bench ends.
struct Crowd {
    size: usize,
    heard: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
}

impl Crowd {
    /// Each is there once it knows which version it begins with.
    fn of(address: SocketAddr, size: usize) -> Self {
        let (heard, bytes) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let there = Arc::<AtomicUsize>::default();
        for _ in 0..size {
            let (heard, bytes, there) =
                (Arc::clone(&heard), Arc::clone(&bytes), Arc::clone(&there));
            std::thread::spawn(move || listen(address, &there, &heard, &bytes));
        }
        while there.load(Ordering::Relaxed) < size {
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { size, heard, bytes }
    }

    /// Waits until everybody has heard of so many changes.
    fn heard(&self, changes: usize) {
        while self.heard.load(Ordering::Relaxed) < changes * self.size {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Reads events; one ends with an empty line.
fn listen(address: SocketAddr, there: &AtomicUsize, heard: &AtomicUsize, bytes: &AtomicUsize) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /v1/watch HTTP/1.0\r\nhost: {address}\r\n\r\n").unwrap();
    let mut buffer = vec![0; 256 << 10];
    let (mut start, mut last) = (Vec::new(), 0);
    while let Ok(read) = stream.read(&mut buffer) {
        if read == 0 {
            return;
        }
        bytes.fetch_add(read, Ordering::Relaxed);
        for &byte in &buffer[..read] {
            if byte == b'\n' && last == b'\n' {
                if start.starts_with(b"event: change") {
                    heard.fetch_add(1, Ordering::Relaxed);
                } else if start.starts_with(b"event: version") {
                    there.fetch_add(1, Ordering::Relaxed);
                }
                start.clear();
            } else if byte != b'\r' && start.len() < 16 && !(start.is_empty() && byte == b'\n') {
                start.push(byte);
            }
            if byte != b'\r' {
                last = byte;
            }
        }
    }
}
