// SPDX-License-Identifier: Apache-2.0
//! In: a server that is asked to end while it works. Out: that it finishes what it began, and that the next one finds all
//! of it. Not here: being killed (`crash`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ask::{Ask, Stream};
use crate::ledger::Ledger;
use crate::load::{Load, Trouble};
use crate::manifests::{Key, ground};
use crate::server::{Server, Start};
use crate::turn;

/// By then a server that is told to end has ended.
const SOON: Duration = Duration::from_secs(8);

fn start(folder: &TempDir) -> Start {
    Start::new(&["--data", folder.path().join("data").to_str().unwrap()])
}

/// Reads the first event of a stream.
fn watch(server: &Server) -> Stream {
    let mut stream =
        Ask::new("GET", "/v1/watch").open(server.address, Duration::from_secs(10)).unwrap();
    assert_eq!(stream.status, 200);
    let hello = stream.piece().unwrap().unwrap();
    assert!(hello.starts_with("event: version\n"), "{hello}");
    stream
}

/// Sends a request but for its last byte; the connection, and that byte.
fn half(server: &Server, key: Key) -> (TcpStream, Vec<u8>) {
    let text = key.text(77);
    let head = format!(
        "PUT {} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
        key.own_path(),
        server.address,
        text.len()
    );
    let (first, last) = text.split_at(text.len() - 1);
    let mut socket = TcpStream::connect(server.address).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.write_all(format!("{head}{first}").as_bytes()).unwrap();
    (socket, last.as_bytes().to_vec())
}

fn ends(signal: &str, seed: u64) {
    let _turn = turn();
    let folder = TempDir::new().unwrap();
    let server = start(&folder).run();
    let ledger = Arc::new(Ledger::default());
    let ask = Ask::new("POST", "/v1/apply").body(&ground());
    ledger.ground(server.ask(&ask).expect(201).version());
    let mut stream = watch(&server);
    let load = Load::start(&[server.address], &ledger, Trouble::Ending, 3, seed);
    std::thread::sleep(Duration::from_millis(300));
    let since = Instant::now();
    server.signal(signal);
    let (status, log, rest) = server.wait(SOON);
    let took = since.elapsed();
    load.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert_eq!(rest, "", "it says where it listens, and nothing else");
    assert!(log.contains("stopped"), "{log}");
    assert!(log.contains("cut=0"), "requests were cut off: {log}");
    // What comes ends with a last, empty piece, as HTTP has it.
    while stream.piece().expect("the stream was cut off").is_some() {}
    let server = start(&folder).run();
    ledger.compare(&server);
    ledger.assert_all_told();
    let (all, stored, ..) = ledger.counts();
    assert!(stored > all / 4, "the load was none");
    eprintln!("SIG{signal} under load: ended in {took:?}, {stored} of {all} acknowledged");
}

#[test]
fn a_server_that_is_told_to_end_loses_nothing() {
    ends("TERM", 21);
}

#[test]
fn a_server_that_is_interrupted_loses_nothing() {
    ends("INT", 22);
}

/// A request that has begun is answered, and what it wrote is there.
#[test]
fn what_is_under_way_is_answered() {
    let folder = TempDir::new().unwrap();
    let server = start(&folder).run();
    server.ask(&Ask::new("POST", "/v1/apply").body(&ground())).expect(201);
    let key = Key::Retry(3);
    let (mut socket, last) = half(&server, key);
    std::thread::sleep(Duration::from_millis(200));
    server.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    let refused = TcpStream::connect(server.address);
    assert!(refused.is_err(), "a server that ends takes no new connection");
    socket.write_all(&last).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let (status, log, _) = server.wait(SOON);
    assert_eq!(status.code(), Some(0), "{log}");
    let server = start(&folder).run();
    let text = server.get(&format!("{}?output=text", key.own_path())).body;
    assert_eq!(text, key.text(77));
}

/// A client that never finishes does not keep a server from ending.
#[test]
fn who_never_finishes_is_not_waited_for() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    let server = Start::new(&["--data", path.to_str().unwrap(), "--grace", "1"]).run();
    let _half = half(&server, Key::Retry(3));
    std::thread::sleep(Duration::from_millis(200));
    let since = Instant::now();
    server.signal("TERM");
    let (status, log, _) = server.wait(SOON);
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let folder = TempDir::new().unwrap();
    let first = start(&folder).run();
    let said = start(&folder).attempt().err().unwrap();
    assert!(said.starts_with("exit status: 3"), "{said}");
    let data = folder.path().join("data");
    assert!(said.contains(data.to_str().unwrap()), "it does not say which folder: {said}");
    first.ask(&Ask::new("POST", "/v1/apply").body(&ground())).expect(201);
    // A server that was killed leaves nothing behind that keeps the next one out.
    first.kill();
    let next = start(&folder).run();
    assert!(next.get("/v1/resources").json()["total"].as_u64().unwrap() > 0);
}
