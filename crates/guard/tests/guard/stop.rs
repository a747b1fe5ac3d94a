// SPDX-License-Identifier: Apache-2.0
//! Stopping: what is in flight is finished, what does not finish is closed, nothing new begins.

use std::time::Duration;

use overrule_guard::ListenerLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::lab::{SOON, Server, closes, rest, tight};

#[tokio::test]
async fn requests_in_flight_finish() {
    let server =
        Server::open(ListenerLimits { header_timeout: SOON, idle_timeout: SOON, ..tight() }).await;
    let address = server.address;
    let mut silent = server.connect().await;
    let mut busy = Vec::new();
    for _ in 0..5 {
        let mut stream = server.connect().await;
        stream.write_all(server.request("GET", "/slow", "").as_bytes()).await.unwrap();
        busy.push(stream);
    }
    server.has_in_flight(5).await;
    let began = Instant::now();
    let done = server.stop();
    sleep(Duration::from_millis(50)).await;
    assert!(TcpStream::connect(address).await.is_err(), "nothing new begins");
    assert!(closes(&mut silent).await);
    for mut stream in busy {
        let reply = rest(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 200") && reply.ends_with("slow"), "{reply}");
    }
    let report = done.await.unwrap();
    assert_eq!((report.cut, report.requests), (0, 5));
    assert!(began.elapsed() < Duration::from_secs(5), "no longer than it takes");
}

#[tokio::test]
async fn what_does_not_finish_is_closed() {
    let limits = ListenerLimits { grace: Duration::from_millis(300), ..tight() };
    let server = Server::open(limits).await;
    let mut stream = server.connect().await;
    stream.write_all(server.request("GET", "/events", "").as_bytes()).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    let report = server.end().await;
    assert_eq!(report.cut, 1);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(closes(&mut stream).await);
}

/// The answer ends long after the signal, and its peer reads slowly: all of it arrives.
#[tokio::test]
async fn a_large_answer_is_sent_to_its_end() {
    let limits = ListenerLimits { grace: Duration::from_secs(8), ..tight() };
    let server = Server::open(limits).await;
    let mut stream = server.connect().await;
    stream.write_all(server.request("GET", "/big", "").as_bytes()).await.unwrap();
    server.has_in_flight(1).await;
    let done = server.stop();
    let (mut total, mut buffer) = (0, vec![0; 256 << 10]);
    loop {
        let read = stream.read(&mut buffer).await.unwrap();
        total += read;
        if read == 0 {
            break;
        }
        sleep(Duration::from_millis(15)).await;
    }
    assert!(total > 32 << 20, "{total}");
    assert_eq!(done.await.unwrap().cut, 0);
}
