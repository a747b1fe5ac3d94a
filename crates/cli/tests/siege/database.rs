// SPDX-License-Identifier: Apache-2.0
//! In: two servers on one PostgreSQL that is killed beneath them. Out: that they say so, come back by themselves and lose
//! nothing. Not here: servers that are killed (`crash`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use overrule_store::testing::PgLab;

use crate::ask::{Answer, Ask};
use crate::ledger::Ledger;
use crate::load::{Load, Trouble};
use crate::manifests::{Key, ground};
use crate::random::Random;
use crate::server::{Server, Start};
use crate::{apart, number, turn};

/// No answer may take longer, whatever state the database is in.
const LONGEST: Duration = Duration::from_secs(5);
/// How often one of two servers is killed.
const SERVER_KILLS: usize = 10;
/// After this time with a database that answers, servers do so too.
const RECOVERY: Duration = Duration::from_secs(10);

/// Waits until a server can write again.
fn recovered(server: &Server) -> Duration {
    let since = Instant::now();
    loop {
        let ready = server.ask(&Ask::new("GET", "/readyz"));
        match ready.status {
            200 => return since.elapsed(),
            503 => {}
            _ => panic!("{ready:?}"),
        }
        assert!(since.elapsed() < RECOVERY, "it does not recover: {}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asks while the database is away. Reading goes on, writing is refused, and neither takes long.
fn bear(server: &Server) -> [Answer; 3] {
    let value = Key::Timeout(0).text(0);
    let asks = [
        Ask::new("GET", "/readyz"),
        Ask::new("GET", "/v1/effective"),
        // It expects a version that cannot be, so that it is no write even if the database is back.
        Ask::new("PUT", &Key::Timeout(0).path()).body(&value).header("if-match", "\"9999999\""),
    ];
    asks.map(|ask| {
        let answer = server.ask(&ask);
        assert!(answer.took < LONGEST, "{ask:?} took {:?}", answer.took);
        answer
    })
}

#[test]
fn nothing_is_lost_when_the_database_is_killed() {
    let _turn = turn();
    let (kills, seed) = (number("OVERRULE_PG_KILLS", 20), number("OVERRULE_SEED", 7));
    let mut lab = PgLab::new().unwrap();
    let start = Start::new(&[]).with("OVERRULE_POSTGRES", &lab.url());
    let servers = [start.run(), start.run()];
    let ledger = Arc::new(Ledger::default());
    let ask = Ask::new("POST", "/v1/apply").body(&ground());
    ledger.ground(servers[0].ask(&ask).expect(201).version());
    let mut random = Random::new(seed, 100);
    let (since, mut slowest) = (Instant::now(), Duration::ZERO);
    let addresses = [servers[0].address, servers[1].address];
    for _ in 0..kills {
        let load = Load::start(&addresses, &ledger, Trouble::Unavailable, 4, random.next());
        std::thread::sleep(Duration::from_millis(random.below(400)));
        lab.kill();
        for server in &servers {
            let [ready, read, written] = bear(server);
            assert_eq!((ready.status, read.status, written.status), (503, 200, 503));
        }
        std::thread::sleep(Duration::from_millis(random.below(200)));
        lab.start().unwrap();
        let took = servers.iter().map(recovered).max().unwrap();
        slowest = slowest.max(took);
        // Under load again before anything is compared.
        std::thread::sleep(Duration::from_millis(random.below(300)));
        load.stop();
        ledger.assert_fine();
        settle(&servers);
        ledger.compare(&servers[0]);
        ledger.compare(&servers[1]);
    }
    for server in &servers {
        apart::compare(server, &ledger.texts());
        assert!(!server.log().contains("panicked"), "{}", server.log());
    }
    let (all, stored, unclear, version) = ledger.counts();
    eprintln!(
        "{kills} kills of PostgreSQL in {:?}: {all} writes, {stored} acknowledged, {unclear} unclear, version {version}; \
         slowest recovery {slowest:?}, slowest write {:?}",
        since.elapsed(),
        ledger.slowest()
    );
    assert!(ledger.slowest() < LONGEST, "a write took {:?}", ledger.slowest());
    assert!(stored > 0 && unclear > 0, "the load was none");
}

/// A server that is killed leaves nothing in the database that stops the other one.
#[test]
fn nothing_is_lost_when_one_of_two_servers_is_killed() {
    let _turn = turn();
    let lab = PgLab::new().unwrap();
    let start = Start::new(&[]).with("OVERRULE_POSTGRES", &lab.url());
    let (mut stays, mut dies) = (start.run(), start.run());
    let ledger = Arc::new(Ledger::default());
    let ask = Ask::new("POST", "/v1/apply").body(&ground());
    ledger.ground(stays.ask(&ask).expect(201).version());
    let mut random = Random::new(number("OVERRULE_SEED", 7), 300);
    for _ in 0..SERVER_KILLS {
        let steady = [stays.address];
        let steady = Load::start(&steady, &ledger, Trouble::Unavailable, 2, random.next());
        let doomed = [dies.address];
        let doomed = Load::start(&doomed, &ledger, Trouble::Killed, 2, random.next());
        std::thread::sleep(Duration::from_millis(random.below(400)));
        dies.kill();
        doomed.stop();
        std::thread::sleep(Duration::from_millis(random.below(200)));
        dies = start.run();
        steady.stop();
        let pair = [stays, dies];
        settle(&pair);
        pair.iter().for_each(|server| ledger.compare(server));
        [stays, dies] = pair;
    }
    assert!(ledger.slowest() < LONGEST, "a write took {:?}", ledger.slowest());
    apart::compare(&stays, &ledger.texts());
}

/// Waits until all servers are at the same version; that takes less than a second.
pub fn settle(servers: &[Server]) {
    let since = Instant::now();
    loop {
        let versions: Vec<u64> =
            servers.iter().map(|s| s.get("/v1/resources?size=1").version()).collect();
        if versions.iter().all(|v| *v == versions[0]) {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(3), "they stay apart: {versions:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server that is started while its database is away says why it does not run.
#[test]
fn a_database_that_is_not_there_is_told_at_the_start() {
    let url = "postgres://postgres:geheim-7@127.0.0.1:9/postgres";
    let said = Start::new(&[]).with("OVERRULE_POSTGRES", url).attempt().err().unwrap();
    assert!(said.starts_with("exit status: 3"), "{said}");
    assert!(said.contains("not available"), "{said}");
    assert!(!said.contains("geheim-7"), "the password is shown: {said}");
}
