// SPDX-License-Identifier: Apache-2.0
//! In: the server on a folder, under a write load. Out: that killing it at any moment loses nothing. Not here: a database
//! that is killed (`database`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ask::Ask;
use crate::ledger::Ledger;
use crate::load::{Load, Trouble};
use crate::manifests::ground;
use crate::random::Random;
use crate::server::Start;
use crate::{apart, number, turn};

/// Every how many starts the answers are compared with those from scratch, at least; the first and the last always are.
const FROM_SCRATCH: u64 = 4;

#[test]
fn nothing_is_lost_when_the_server_is_killed() {
    let _turn = turn();
    let (kills, seed) = (number("OVERRULE_KILLS", 200), number("OVERRULE_SEED", 7));
    let folder = TempDir::new().unwrap();
    let start = Start::new(&["--data", folder.path().join("data").to_str().unwrap()]);
    let ledger = Arc::new(Ledger::default());
    let mut random = Random::new(seed, 0);
    let since = Instant::now();
    let mut server = start.run();
    let ask = Ask::new("POST", "/v1/apply").body(&ground());
    ledger.ground(server.ask(&ask).expect(201).version());
    for kill in 0..kills {
        let load = Load::start(&[server.address], &ledger, Trouble::Killed, 3, random.next());
        std::thread::sleep(Duration::from_millis(random.below(400)));
        server.kill();
        load.stop();
        server = start.run();
        ledger.compare(&server);
        if kill % FROM_SCRATCH == 0 || kill + 1 == kills {
            apart::compare(&server, &ledger.texts());
        }
    }
    ledger.compare_past(&server, &mut random);
    let (all, stored, unclear, version) = ledger.counts();
    eprintln!(
        "{kills} kills in {:?}: {all} writes, {stored} acknowledged, {unclear} unclear, version {version}",
        since.elapsed()
    );
    assert!(stored as u64 > kills && unclear > 0, "the load was none");
}

/// Answers of a server that has been told of one change after the other are those of one that is told all at once.
#[test]
fn what_grew_is_what_is_computed_at_once() {
    let _turn = turn();
    let ledger = Arc::new(Ledger::default());
    let server = Start::new(&["--ephemeral"]).run();
    let ask = Ask::new("POST", "/v1/apply").body(&ground());
    ledger.ground(server.ask(&ask).expect(201).version());
    for round in 0..5 {
        let load = Load::start(&[server.address], &ledger, Trouble::Unavailable, 3, round);
        std::thread::sleep(Duration::from_millis(400));
        load.stop();
        ledger.compare(&server);
        apart::compare(&server, &ledger.texts());
    }
}
