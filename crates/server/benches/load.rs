// SPDX-License-Identifier: Apache-2.0
//! In: a server with 10,000 proxies and 2,000 policies. Out: answers per second of the Inspect API as a ratio to those of
//! an answer of equal size that never changes, from the same server in the same run; latencies; memory over time.
//! Not here: how long resolving takes (`cargo bench -p overrule --bench kuma`).
//!
//! `cargo bench -p overrule-server --bench load`, `-- --quick` for a small one, `-- --minutes 10` to watch memory.
//! Clients and server share the machine, over loopback, and clients are as simple as they can be: a connection each, one
//! request after another, nothing looked at but the length of the answer.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use overrule::Options;
use overrule_kuma_api::KumaApi;
use overrule_server::{Config, Extensions, start, start_beside};
use overrule_testkit::yaml;
use serde_json::{Value, json};

/// Clients at once.
const CLIENTS: usize = 4;

fn main() -> ExitCode {
    let quick = std::env::args().any(|a| a == "--quick");
    let number = |flag: &str| -> Option<u64> {
        std::env::args().skip_while(|a| a != flag).nth(1).and_then(|n| n.parse().ok())
    };
    let minutes = number("--minutes").unwrap_or(0);
    let (proxies, policies) = if quick { (300, 60) } else { (10_000, 2_000) };
    let folder = tempfile::tempdir().unwrap();
    let documents = documents(proxies, policies);
    std::fs::write(folder.path().join("fleet.yaml"), yaml::documents(&documents)).unwrap();
    let names: Vec<(String, String)> = documents
        .iter()
        .filter(|d| d["type"] == "Dataplane")
        .map(|d| (text(&d["mesh"]), text(&d["name"])))
        .collect();
    let config = || Config {
        listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ephemeral: true,
        extensions: Extensions::new(&[&KumaApi]).with("kuma-compat"),
        ..Config::default()
    };
    let options = || Options {
        profiles: [("kuma".to_owned(), "2.13".to_owned())].into(),
        ..Options::default()
    };
    let since = Instant::now();
    let files = vec![folder.path().to_path_buf()];
    let server = start(config(), files.clone(), options()).unwrap();
    println!("{} proxies, {} policies: ready after {:.1?}", proxies, policies, since.elapsed());
    // Every proxy in turn, so that what is held ready is not only what was asked before.
    let paths: Vec<String> =
        names.iter().map(|(m, n)| format!("/meshes/{m}/dataplanes/{n}/_rules")).collect();
    let mut connection = Connection::open(server.address);
    let mut bytes = 0;
    let cold = Instant::now();
    for path in &paths {
        let (status, length) = connection.get(path);
        assert_eq!(status, 200, "{path}");
        bytes += length;
    }
    let mean = bytes / paths.len();
    println!(
        "first time: {:.0} µs an answer; mean body {mean} bytes",
        cold.elapsed().as_secs_f64() * 1e6 / paths.len() as f64
    );
    drop(connection);
    drop(server);
    let body = bytes::Bytes::from(vec![b'x'; mean]);
    let server =
        start_beside(config(), files, options(), vec![("/fixed".to_owned(), body)]).unwrap();
    let seconds = Duration::from_secs(if quick { 1 } else { 5 });
    let fixed = vec!["/fixed".to_owned()];
    // Both once to warm up, then in turns: the machine is noisy.
    run(server.address, &paths, Duration::from_millis(500));
    run(server.address, &fixed, Duration::from_millis(500));
    let (mut inspected, mut still) = (Vec::new(), Vec::new());
    for _ in 0..if quick { 1 } else { 3 } {
        inspected.push(run(server.address, &paths, seconds));
        still.push(run(server.address, &fixed, seconds));
    }
    let best = |all: &[Load]| all.iter().map(|l| l.per_second).fold(0.0, f64::max);
    let worst = |all: &[Load]| all.iter().map(|l| l.p99).max().unwrap();
    let ratio = best(&inspected) / best(&still);
    println!("inspect: {:.0}/s, p99 {:.2?}", best(&inspected), worst(&inspected));
    println!("static:  {:.0}/s, p99 {:.2?}", best(&still), worst(&still));
    let holds = ratio >= 0.5;
    println!("ratio: {ratio:.2} (bar: 0.50) {}", if holds { "holds" } else { "DOES NOT HOLD" });
    let flat = minutes == 0 || memory(server.address, &paths, minutes);
    if (holds && flat) || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A mesh as they are found: a tenth as many apps as proxies; every 50th policy is for the whole mesh, the others for one
/// app each.
fn documents(proxies: usize, policies: usize) -> Vec<Value> {
    let apps = proxies / 10;
    let mut all = vec![json!({"type": "Mesh", "name": "default"})];
    for n in 0..proxies {
        let app = format!("app-{}", n % apps);
        all.push(json!({
            "type": "Dataplane", "mesh": "default", "name": format!("{app}-{n}"),
            "labels": {"app": app},
            "networking": {
                "address": format!("10.{}.{}.{}", n / 65536, n / 256 % 256, n % 256),
                "inbound": [{"port": 8080, "tags": {"kuma.io/service": app, "app": app}}],
            },
        }));
    }
    let kinds = ["MeshTimeout", "MeshRetry", "MeshCircuitBreaker", "MeshTrafficPermission"];
    for n in 0..policies {
        let kind = kinds[n % kinds.len()];
        let target = match n % 50 {
            0 => json!({"kind": "Mesh"}),
            _ => json!({"kind": "MeshSubset", "tags": {"app": format!("app-{}", n % apps)}}),
        };
        let conf = match kind {
            "MeshTimeout" => json!({"idleTimeout": format!("{n}s")}),
            "MeshRetry" => json!({"http": {"numRetries": n}}),
            "MeshCircuitBreaker" => json!({"connectionLimits": {"maxConnections": n}}),
            _ => json!({"action": "Allow"}),
        };
        let field = if kind == "MeshTrafficPermission" { "from" } else { "to" };
        all.push(json!({
            "type": kind, "mesh": "default", "name": format!("policy-{n}"),
            "spec": {"targetRef": target, field: [{"targetRef": {"kind": "Mesh"}, "default": conf}]},
        }));
    }
    all
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What one run gave.
struct Load {
    per_second: f64,
    p99: Duration,
}

/// Asks for these paths in turn, from several connections, for a time.
fn run(address: SocketAddr, paths: &[String], time: Duration) -> Load {
    let stop = AtomicBool::new(false);
    let next = AtomicU64::new(0);
    let since = Instant::now();
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = Connection::open(address);
                    let mut took = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let path = &paths[usize::try_from(n).unwrap() % paths.len()];
                        let since = Instant::now();
                        let (status, _) = connection.get(path);
                        assert_eq!(status, 200);
                        took.push(since.elapsed());
                    }
                    took
                })
            })
            .collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|c| c.join().unwrap()).collect()
    });
    let elapsed = since.elapsed();
    took.sort_unstable();
    let p99 = took[took.len() * 99 / 100];
    Load { per_second: took.len() as f64 / elapsed.as_secs_f64(), p99 }
}

/// Memory under load; flat if the last third needs at most a twentieth more than the second.
fn memory(address: SocketAddr, paths: &[String], minutes: u64) -> bool {
    let mut seen = Vec::new();
    for minute in 1..=minutes {
        run(address, paths, Duration::from_secs(60));
        let resident = resident();
        println!("minute {minute}: {} MiB resident", resident >> 20);
        seen.push(resident);
    }
    let third = seen.len() / 3;
    let peak = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    let (middle, last) = (peak(&seen[third..third * 2]), peak(&seen[third * 2..]));
    let flat = last * 20 <= middle * 21;
    println!("memory {}", if flat { "is flat" } else { "GROWS" });
    flat
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

/// A connection that asks one thing after another.
struct Connection {
    stream: TcpStream,
    host: SocketAddr,
    buffer: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, host: address, buffer: vec![0; 1 << 20] }
    }

    /// Status and length of the body.
    fn get(&mut self, path: &str) -> (u16, usize) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host);
        self.stream.write_all(request.as_bytes()).unwrap();
        let mut have = 0;
        loop {
            have += self.stream.read(&mut self.buffer[have..]).unwrap();
            let Some(end) = self.buffer[..have].windows(4).position(|w| w == b"\r\n\r\n") else {
                continue;
            };
            let head = std::str::from_utf8(&self.buffer[..end]).unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
            });
            let length: usize = length.unwrap();
            let mut left = (end + 4 + length).saturating_sub(have);
            while left > 0 {
                let most = left.min(self.buffer.len());
                let read = self.stream.read(&mut self.buffer[..most]).unwrap();
                assert!(read > 0, "the server closed the connection");
                left -= read;
            }
            return (status, length);
        }
    }
}
