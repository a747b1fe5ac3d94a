// SPDX-License-Identifier: Apache-2.0
//! In: two servers whose lines to PostgreSQL hang and break, a database that stops, a disk that is full, another schema. Out:
//! that 503 means "never", and that readiness tells the truth within a second. Not here: a database that is killed (`database`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use overrule_store::testing::{FaultyLine, PgLab, Way};
use tempfile::TempDir;

use crate::ask::{Answer, Ask};
use crate::database::settle;
use crate::ledger::Ledger;
use crate::load::{Load, Trouble};
use crate::manifests::{Key, ground};
use crate::random::Random;
use crate::server::{Server, Start};
use crate::{number, turn};

/// Pieces that pass before a line hangs: from none to a whole write. `crates/store/tests/store/lines.rs` takes every number.
const PIECES: [u32; 8] = [0, 1, 3, 6, 9, 11, 12, 13];
/// How often something happens to a line.
const TROUBLES: u64 = 25;

/// A server over a line of its own.
fn over(lab: &PgLab) -> (Server, FaultyLine) {
    let proxy = FaultyLine::new(lab.port()).unwrap();
    let start = Start::new(&["--request-timeout", "4"]);
    (start.with("OVERRULE_POSTGRES", &lab.url_over(proxy.port())).run(), proxy)
}

/// Waits until readiness says yes.
fn ready(server: &Server) {
    let since = Instant::now();
    loop {
        let answer = server.ask(&Ask::new("GET", "/readyz"));
        if answer.status == 200 {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{answer:?}: {}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Readiness must say no, once what it found out before does not count as now any more, and must keep nobody waiting.
#[track_caller]
fn not_ready(server: &Server) -> Answer {
    std::thread::sleep(Duration::from_millis(300));
    let answer = server.ask(&Ask::new("GET", "/readyz")).expect(503);
    // A second, and what a busy machine adds.
    assert!(answer.took < Duration::from_secs(2), "{answer:?}");
    answer
}

/// A write over a line that hangs after some pieces; then another server writes, and the line heals.
fn given_up(servers: [&Server; 2], line: &FaultyLine, way: Way, pieces: u32) -> u16 {
    let key = Key::Limit(u64::from(pieces % 8));
    let (early, late) = (u64::from(pieces) + 1000, u64::from(pieces) + 2000);
    let put = |value| Ask::new("PUT", &key.path()).body(&key.text(value));
    let first = servers[1].ask(&put(u64::from(pieces) + 500));
    settle_at(servers, first.version());
    line.hang_after(way, pieces);
    let ask = match pieces % 4 {
        0 => Ask::new("DELETE", &key.path()),
        1 => Ask::new("POST", "/v1/apply").body(&key.text(early)),
        _ => put(early),
    };
    let answer = servers[0].ask(&ask);
    assert!([200, 201, 503, 504].contains(&answer.status), "{answer:?}");
    let acknowledged = servers[1].ask(&put(late));
    assert!([200, 201].contains(&acknowledged.status), "{acknowledged:?}");
    line.heal();
    ready(servers[0]);
    settle_at(servers, acknowledged.version());
    for server in servers {
        let now = server.get(&format!("{}?output=text", key.own_path())).body;
        assert_eq!(now, key.text(late), "{way:?} after {pieces}: answered {}", answer.status);
    }
    if answer.status == 503 {
        // Neither before nor after: 503 says that it was not done.
        let path = format!("/v1/history?target={}&size=2", key.target());
        let history = servers[1].get(&path).json();
        let item = &history["items"][1]["text"];
        assert_eq!(item.as_str(), Some(key.text(u64::from(pieces) + 500).as_str()), "{history}");
    }
    answer.status
}

/// Waits until both know a version.
fn settle_at(servers: [&Server; 2], version: u64) {
    for server in servers {
        server.get(&format!("/v1/resources?size=1&at-least={version}"));
    }
}

#[test]
fn what_was_answered_503_is_never_done() {
    let _turn = turn();
    let lab = PgLab::new().unwrap();
    let (one, line) = over(&lab);
    let other = Start::new(&[]).with("OVERRULE_POSTGRES", &lab.url()).run();
    one.ask(&Ask::new("POST", "/v1/apply").body(&ground())).expect(201);
    let mut told = std::collections::BTreeMap::new();
    for way in [Way::ToServer, Way::ToClient] {
        for pieces in PIECES {
            let status = given_up([&one, &other], &line, way, pieces);
            *told.entry(status).or_insert(0) += 1;
        }
    }
    eprintln!("writes over lines that hang: {told:?}");
    assert!(told.get(&503).is_some_and(|n| *n >= 6), "{told:?}");
}

/// Whatever happens to the lines, what two servers told their clients fits what is there.
#[test]
fn lines_that_break_lose_nothing_and_bring_nothing_back() {
    let _turn = turn();
    let lab = PgLab::new().unwrap();
    let ((one, first), (two, second)) = (over(&lab), over(&lab));
    let (servers, lines) = ([one, two], [first, second]);
    let ledger = Arc::new(Ledger::default());
    let ask = Ask::new("POST", "/v1/apply").body(&ground());
    ledger.ground(servers[0].ask(&ask).expect(201).version());
    let mut random = Random::new(number("OVERRULE_SEED", 7), 500);
    let addresses = [servers[0].address, servers[1].address];
    let load = Load::start(&addresses, &ledger, Trouble::Lines, 6, random.next());
    for _ in 0..TROUBLES {
        let line = &lines[usize::try_from(random.below(2)).unwrap()];
        let way = *random.of(&[Way::ToServer, Way::ToClient]);
        match random.below(4) {
            0 => line.hang(way),
            1 => line.hang_after(way, u32::try_from(random.below(30)).unwrap()),
            2 => line.lag(way, Duration::from_millis(random.below(50))),
            _ => line.cut(),
        }
        // Some stay longer than a request may take.
        let longest = if random.below(4) == 0 { 5000 } else { 1000 };
        std::thread::sleep(Duration::from_millis(100 + random.below(longest)));
        line.heal();
        std::thread::sleep(Duration::from_millis(random.below(300)));
    }
    servers.iter().for_each(ready);
    load.stop();
    ledger.assert_fine();
    settle(&servers);
    servers.iter().for_each(|server| ledger.compare(server));
    let (all, stored, unclear, version) = ledger.counts();
    eprintln!(
        "{all} writes, {stored} acknowledged, {unclear} failed or unclear, version {version}"
    );
    assert!(stored > 50 && unclear > 5, "the load was none");
}

#[test]
fn readiness_tells_at_once_that_a_database_stands_still() {
    let _turn = turn();
    let lab = PgLab::new().unwrap();
    let start = Start::new(&[]).with("OVERRULE_POSTGRES", &lab.url());
    let servers = [start.run(), start.run()];
    servers.iter().for_each(ready);
    lab.freeze();
    // Requests that wait for the database must not keep readiness waiting.
    std::thread::scope(|scope| {
        for server in &servers {
            for n in 0..12 {
                let put =
                    Ask::new("PUT", &Key::Limit(n % 8).path()).body(&Key::Limit(n % 8).text(n));
                scope.spawn(move || server.ask(&put));
            }
        }
        for _ in 0..5 {
            servers.iter().for_each(|server| drop(not_ready(server)));
        }
        lab.thaw();
    });
    servers.iter().for_each(ready);
    assert!(servers[0].log().contains("not ready"), "{}", servers[0].log());
}

#[test]
fn readiness_tells_that_a_database_refuses() {
    let lab = PgLab::new().unwrap();
    let start = Start::new(&[]).with("OVERRULE_POSTGRES", &lab.url());
    drop(start.run());
    lab.run(
        "CREATE USER app PASSWORD 'only-for-tests'; GRANT USAGE ON SCHEMA overrule TO app;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA overrule TO app",
    );
    let theirs = lab.url().replacen("//postgres:", "//app:", 1);
    let server = Start::new(&[]).with("OVERRULE_POSTGRES", &theirs).run();
    ready(&server);
    lab.run("REVOKE INSERT ON overrule.entries FROM app");
    not_ready(&server);
    lab.run("GRANT INSERT ON overrule.entries TO app");
    ready(&server);
}

/// A limit on the size of files stands for a disk of that size.
#[test]
fn readiness_tells_that_a_disk_is_full() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let start = Start::new(&["--data", data.to_str().unwrap()]);
    let server = start.clone().after("trap '' XFSZ; ulimit -f 3000").run();
    ready(&server);
    let key = Key::Limit(0);
    let put = |n: u64| {
        let filler = format!("# {}\n", "x".repeat(20_000));
        server.ask(&Ask::new("PUT", &key.path()).body(&format!("{filler}{}", key.text(n))))
    };
    let refused = (1..1000).map(put).find(|answer| ![200, 201].contains(&answer.status)).unwrap();
    assert_eq!(refused.status, 503, "{refused:?}");
    for _ in 0..5 {
        not_ready(&server);
    }
    drop(server);
    ready(&start.run());
}

/// While instances are replaced one by one, one of the release before neither writes nor says that it could.
#[test]
fn a_server_stops_writing_when_another_release_has_changed_the_schema() {
    let lab = PgLab::new().unwrap();
    let server = Start::new(&[]).with("OVERRULE_POSTGRES", &lab.url()).run();
    server.ask(&Ask::new("POST", "/v1/apply").body(&ground())).expect(201);
    let put = Ask::new("PUT", &Key::Limit(0).path()).body(&Key::Limit(0).text(1));
    server.ask(&put).expect(201);
    let set =
        |by: i64| format!("UPDATE overrule.meta SET number = number + {by} WHERE name = 'schema'");
    lab.run(&set(1));
    // It says so without being asked.
    let since = Instant::now();
    while !server.log().contains("nothing is written any more") {
        assert!(since.elapsed() < Duration::from_secs(20), "{}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let other = Ask::new("PUT", &Key::Limit(0).path()).body(&Key::Limit(0).text(2));
    let refused = server.ask(&other).expect(503);
    assert!(refused.body.contains("schema"), "{refused:?}");
    assert!(not_ready(&server).body.contains("schema"));
    // Questions are still answered.
    assert_eq!(
        server.get(&format!("{}?output=text", Key::Limit(0).own_path())).body,
        Key::Limit(0).text(1)
    );
    lab.run(&set(-1));
    ready(&server);
    server.ask(&other).expect(200);
}

/// A change that a clock ahead has dated makes no question by time wrong for those that follow.
#[test]
fn a_change_that_is_dated_in_the_future_is_named_and_hides_no_other() {
    let lab = PgLab::new().unwrap();
    let start = Start::new(&[]).with("OVERRULE_POSTGRES", &lab.url());
    let server = start.run();
    server.ask(&Ask::new("POST", "/v1/apply").body(&ground())).expect(201);
    let put = |server: &Server, n| {
        server.ask(&Ask::new("PUT", &Key::Limit(0).path()).body(&Key::Limit(0).text(n))).version()
    };
    let wrong = put(&server, 1);
    drop(server);
    // As a clock that was an hour ahead would have left it.
    lab.run(&format!(
        "UPDATE overrule.meta SET number = number + 3600000000 WHERE name = 'at';
         UPDATE overrule.revisions SET at = at + 3600000000 WHERE revision = {wrong}"
    ));
    let server = start.run();
    let since = Instant::now();
    while !server.log().contains("in the future") {
        assert!(since.elapsed() < Duration::from_secs(20), "{}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let right = put(&server, 2);
    let history = server.get("/v1/history?size=1").json();
    let at = history["items"][0]["at"].as_str().unwrap();
    let answer = server.get(&format!("/v1/effective?as-of={at}"));
    assert_eq!(answer.version(), right, "{history}");
}
