// SPDX-License-Identifier: Apache-2.0
//! In: clients that send what is expensive, many at once, and hang up. Out: that the server's threads and memory stay
//! bounded, and that it gives memory back. Not here: fairness between callers (`overrule_server::work`).

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::ask::Ask;
use crate::lock::Locked;
use crate::server::{Server, Start};
use crate::turn;

/// A figure of the process, in the unit of the kernel: KiB, or a number.
fn figure(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Waits until nothing is being worked on.
fn settle(server: &Server) {
    let since = Instant::now();
    loop {
        let figures = server.get("/metrics").body;
        let busy = figures.lines().filter(|line| line.starts_with("overrule_work_in_flight{"));
        let states = |line: &&str| line.contains("states");
        // The request for the figures is work itself.
        let own = |line: &&str| line.contains("\"question\"") && line.ends_with(" 1");
        if busy.filter(|line| !states(line) && !own(line)).all(|line| line.ends_with(" 0")) {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(120), "{figures}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn routes(number: usize) -> String {
    let mut all = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: shop}\nspec:\n  \
         gatewayClassName: edge\n  listeners:\n  - {name: web, port: 80, protocol: HTTP}\n"
        .to_owned();
    for n in 0..number {
        write!(
            all,
            "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: route-{n}, namespace: shop}}\nspec:\n  \
             parentRefs: [{{name: edge}}]\n  hostnames: [r{n}.example.com]\n  rules:\n  - backendRefs: [{{name: app, port: 80}}]\n"
        )
        .unwrap();
    }
    all
}

/// Sends the head of a request and hangs up.
fn hang_up(server: &Server, path: &str) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    stream.write_all(head.as_bytes()).unwrap();
    // Long enough to be understood; it is no matter if it is not.
    std::thread::sleep(Duration::from_millis(5));
}

#[test]
fn clients_that_hang_up_leave_no_work_behind_that_is_not_bounded() {
    let _turn = turn();
    let server = Start::new(&["--ephemeral"]).run();
    server.ask(&Ask::new("POST", "/v1/apply").body(&routes(2_000))).expect(201);
    for n in 0..60 {
        let body = format!(
            "type: Mesh\nname: default\nlabels: {{n: 'n{n}'}}\nskipCreatingInitialPolicies: ['*']\n"
        );
        server.ask(&Ask::new("PUT", "/v1/resources/mesh/default").body(&body));
    }
    settle(&server);
    let (before, mut threads) = (figure(&server, "VmRSS"), 0);
    for round in 0..3 {
        for n in 1..=60 {
            hang_up(&server, &format!("/v1/get?as-of={n}"));
            // A kind without a policy: the present state has to be resolved again.
            hang_up(&server, &format!("/v1/effective?kind=Kind{round}x{n}"));
            threads = threads.max(figure(&server, "Threads"));
        }
    }
    let most = figure(&server, "VmHWM");
    let processors = std::thread::available_parallelism().unwrap().get() as u64;
    assert!(threads < 30 + 6 * processors, "{threads} threads");
    assert!(most < before * 8 + 400_000, "{most} KiB of {before}");
    settle(&server);
    server.get("/v1/get?as-of=7");
}

#[test]
fn bodies_of_many_documents_cost_little_and_memory_comes_back() {
    let _turn = turn();
    let server = Locked::new(&[]);
    let reader = server.make("reader", "\"read\"");
    let body = "---\n{}\n".repeat(1_200_000);
    let send = |token: &str| {
        let ask = Ask::new("POST", "/v1/apply").token(token).body(&body);
        std::thread::scope(|scope| {
            // Who is refused before the body is read may find the connection closed.
            let one = || ask.send(server.server.address).map_or(403, |answer| answer.status);
            let all: Vec<_> = (0..16).map(|_| scope.spawn(one)).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<u16>>()
        })
    };
    let before = figure(&server.server, "VmRSS");
    let told = send(&reader);
    assert!(told.iter().all(|status| matches!(status, 403 | 429 | 503)), "{told:?}");
    let refused = send(&server.admin);
    assert!(refused.contains(&422), "{refused:?}");
    assert!(refused.iter().all(|status| matches!(status, 422 | 429 | 503)), "{refused:?}");
    let most = figure(&server.server, "VmHWM");
    assert!(most < before + 900_000, "{most} KiB at most");
    let since = Instant::now();
    while figure(&server.server, "VmRSS") > before + 100_000 {
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "{} KiB",
            figure(&server.server, "VmRSS")
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_write_whose_client_hung_up_is_recorded() {
    let server = Start::new(&["--ephemeral"]).run();
    let body = routes(3_000);
    let head = format!(
        "POST /v1/apply HTTP/1.1\r\nhost: {}\r\nx-request-id: hung-up\r\ncontent-length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    drop(stream);
    let since = Instant::now();
    let line = |log: &str| log.lines().any(|l| l.contains("hung-up") && l.contains("status=201"));
    while !line(&server.log()) {
        assert!(since.elapsed() < Duration::from_secs(60), "{}", server.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    let figures = server.get("/metrics").body;
    let count = "overrule_requests_total{endpoint=\"apply\",status=\"201\"} 1";
    assert!(figures.contains(count), "{figures}");
    let history = server.get("/v1/history?size=1").body;
    assert!(history.contains("\"request\":\"hung-up\""), "{history}");
}
