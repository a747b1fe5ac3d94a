// SPDX-License-Identifier: Apache-2.0
//! In: two servers on one PostgreSQL. Out: that writes through both lose nothing of each other, and that both come to the
//! same answers. Not here: a database that goes away (`database`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use overrule_store::testing::PgLab;

use crate::ask::Ask;
use crate::database::settle;
use crate::ledger::{Ledger, etag};
use crate::load::{Load, Trouble};
use crate::manifests::{Key, ground};
use crate::server::{Server, Start};
use crate::{apart, turn};

/// Clients that count, and how far each counts.
const COUNTERS: u64 = 4;
const STEPS: u64 = 25;

struct Pair {
    servers: [Server; 2],
    _lab: PgLab,
}

fn pair() -> Pair {
    let lab = PgLab::new().unwrap();
    let start = Start::new(&[]).with("OVERRULE_POSTGRES", &lab.url());
    let servers = [start.run(), start.run()];
    let ask = Ask::new("POST", "/v1/apply").body(&ground());
    servers[0].ask(&ask).expect(201);
    settle(&servers);
    Pair { servers, _lab: lab }
}

/// Everything both can be asked, except what depends on when a request is made.
fn same(servers: &[Server; 2]) {
    settle(servers);
    let lists = [
        "/v1/resources",
        "/v1/history?size=1000",
        "/meshes",
        "/meshes/default/meshtimeouts",
        "/meshes/default/meshretries",
        "/meshes/default/dataplanes",
    ];
    for path in apart::QUESTIONS.iter().chain(&lists) {
        let own = |server: &Server| server.get(path).body.replace(&server.url(), "");
        assert_eq!(own(&servers[0]), own(&servers[1]), "{path} differs");
    }
}

fn count(servers: &[Server; 2], key: Key, client: u64) {
    let mut done = 0;
    while done < STEPS {
        let server = &servers[usize::try_from((client + done) % 2).unwrap()];
        let read = server.get(&key.own_path());
        let value = read.json()["manifest"]["spec"]["to"][0]["default"]["http"]["numRetries"]
            .as_u64()
            .unwrap();
        let ask = Ask::new("PUT", &key.path()).body(&key.text(value + 1));
        let answer = server.ask(&ask.header("if-match", &etag(&read).to_string()));
        match answer.status {
            200 => done += 1,
            409 => {}
            _ => panic!("{answer:?}"),
        }
    }
}

#[test]
fn no_update_is_lost_between_two_servers() {
    let _turn = turn();
    let pair = pair();
    let key = Key::Retry(0);
    pair.servers[0].ask(&Ask::new("PUT", &key.path()).body(&key.text(0))).expect(201);
    settle(&pair.servers);
    std::thread::scope(|scope| {
        for client in 0..COUNTERS {
            let servers = &pair.servers;
            scope.spawn(move || count(servers, key, client));
        }
    });
    same(&pair.servers);
    for server in &pair.servers {
        let text = server.get(&format!("{}?output=text", key.own_path())).body;
        assert_eq!(text, key.text(COUNTERS * STEPS), "an update was lost");
    }
}

#[test]
fn each_sees_what_the_other_is_told_within_a_second() {
    let _turn = turn();
    let pair = pair();
    let mut slowest = Duration::ZERO;
    for n in 0..20 {
        let key = Key::Timeout(n % 4);
        let (one, other) = match n % 2 {
            0 => (&pair.servers[0], &pair.servers[1]),
            _ => (&pair.servers[1], &pair.servers[0]),
        };
        let ask = Ask::new("PUT", &key.path()).body(&key.text(n + 1));
        let version = one.ask(&ask).version();
        let since = Instant::now();
        while other.get("/v1/resources?size=1").version() < version {
            assert!(since.elapsed() < Duration::from_secs(1), "write {n} is not seen");
            std::thread::sleep(Duration::from_millis(2));
        }
        slowest = slowest.max(since.elapsed());
    }
    let wanted = pair.servers[0].get("/v1/resources?size=1").version();
    let path = format!("/v1/effective?at-least={wanted}");
    assert!(pair.servers[1].get(&path).version() >= wanted);
    eprintln!("slowest change seen by the other server: {slowest:?}");
}

#[test]
fn two_servers_come_to_the_same_bytes() {
    let _turn = turn();
    let pair = pair();
    let ledger = Arc::new(Ledger::default());
    ledger.ground(pair.servers[0].get("/v1/resources").version());
    let addresses = [pair.servers[0].address, pair.servers[1].address];
    for round in 0..3 {
        let load = Load::start(&addresses, &ledger, Trouble::Unavailable, 4, 40 + round);
        std::thread::sleep(Duration::from_millis(700));
        load.stop();
        same(&pair.servers);
        ledger.compare(&pair.servers[0]);
        ledger.compare(&pair.servers[1]);
    }
    apart::compare(&pair.servers[1], &ledger.texts());
    let (all, stored, ..) = ledger.counts();
    assert!(stored > all / 4, "the load was none");
}

/// A token that one server revokes is refused by the other one.
#[test]
fn what_is_revoked_at_one_server_is_refused_at_the_other() {
    let lab = PgLab::new().unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("admin-token");
    let start = Start::new(&["--auth", "token", "--admin-token-file", file.to_str().unwrap()])
        .with("OVERRULE_POSTGRES", &lab.url());
    let servers = [start.run(), start.run()];
    let admin = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let make = Ask::new("POST", "/v1/tokens").header("content-type", "application/json");
    let make = make.token(&admin).body(r#"{"name": "reader", "grants": ["read"]}"#);
    let made = servers[0].ask(&make).expect(201).json();
    let read = Ask::new("GET", "/v1/resources").token(made["token"].as_str().unwrap());
    becomes(&servers[1], &read, 200);
    let id = made["item"]["id"].as_str().unwrap();
    servers[1].ask(&Ask::new("DELETE", &format!("/v1/tokens/{id}")).token(&admin)).expect(204);
    servers[1].ask(&read).expect(401);
    becomes(&servers[0], &read, 401);
}

fn becomes(server: &Server, ask: &Ask, status: u16) {
    let since = Instant::now();
    while server.ask(ask).status != status {
        assert!(since.elapsed() < Duration::from_secs(2), "it does not become {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
