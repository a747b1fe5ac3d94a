// SPDX-License-Identifier: Apache-2.0
//! In: clocks that jump, releases with other schemas. Out: changes are dated rightly, and of two releases only the later one
//! writes. Not here: what needs nothing but the public interface (`tests`).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::clock::{self, ClockReading, ClockTrouble, SteadyClock};
use crate::pg::open_with as open_release;
use crate::schema::Schema;
use crate::sqlite::open_with as open_dated;
use crate::testing::PgLab;
use crate::{
    Author, Change, Deadline, PgTls, Precondition, ResourceKey, ResourceScope, Retention, Store,
    StoreError, TextFormat,
};

fn key(name: &str) -> ResourceKey {
    ResourceKey {
        group: String::new(),
        kind: "ConfigMap".to_owned(),
        place: ResourceScope::Cluster,
        name: name.to_owned(),
    }
}

fn put(store: &dyn Store, text: &str) -> Result<Timestamp, StoreError> {
    let (key, text) = (key("a"), text.to_owned());
    let change = Change::Put { key, text, form: TextFormat::Yaml, expect: Precondition::Any };
    store.commit(&Author::default(), &[change]).map(|committed| committed.at)
}

/// The clocks of a machine, to be set by hand.
#[derive(Clone)]
struct Machine(Arc<Mutex<ClockReading>>);

impl Machine {
    fn new() -> Self {
        let wall = "2026-01-01T00:00:00Z".parse().unwrap();
        Self(Arc::new(Mutex::new(ClockReading { wall, running: SignedDuration::ZERO })))
    }

    fn clock(&self) -> SteadyClock {
        let machine = self.clone();
        SteadyClock::reading(Box::new(move || *machine.0.lock().unwrap()))
    }

    fn wall(&self) -> Timestamp {
        self.0.lock().unwrap().wall
    }

    /// Time passes.
    fn pass(&self, seconds: i64) {
        self.set(seconds);
        self.0.lock().unwrap().running += SignedDuration::from_secs(seconds);
    }

    /// Somebody sets the clock.
    fn set(&self, by: i64) {
        self.0.lock().unwrap().wall += SignedDuration::from_secs(by);
    }
}

const HOUR: i64 = 3600;

#[test]
fn a_clock_that_is_set_right_is_followed_and_one_that_jumps_is_not() {
    let machine = Machine::new();
    let clock = machine.clock();
    machine.pass(1000);
    machine.set(1);
    assert_eq!((clock.now(), clock.jumped()), (machine.wall(), None), "a small step");
    for by in [HOUR, -HOUR] {
        let before = machine.wall();
        machine.set(by);
        assert_eq!(clock.now(), before, "it goes on");
        machine.pass(10);
        assert_eq!(clock.now(), before + SignedDuration::from_secs(10));
        assert_eq!(clock.jumped(), Some(SignedDuration::from_secs(by)));
        machine.set(-by);
        assert_eq!((clock.now(), clock.jumped()), (machine.wall(), None), "it came back");
    }
}

#[test]
fn a_jump_while_the_store_is_open_dates_nothing_wrongly() {
    let (dir, machine) = (tempfile::tempdir().unwrap(), Machine::new());
    let store = open_dated(dir.path(), machine.clock()).unwrap();
    let start = machine.wall();
    let at = |seconds| start + SignedDuration::from_secs(seconds);
    put(&*store, "before").unwrap();
    machine.pass(60);
    machine.set(HOUR);
    assert_eq!(put(&*store, "while").unwrap(), at(60));
    let trouble = store.clock_trouble().unwrap();
    assert_eq!(trouble, ClockTrouble::Jumped(SignedDuration::from_secs(HOUR)));
    assert!(trouble.to_string().contains("jumped forward by 1h"), "{trouble}");
    // What is too old is not told by a clock that is wrong.
    let age = Retention { entries: None, age: Some(SignedDuration::from_mins(10)) };
    assert_eq!(store.prune(&age).unwrap().horizon, 0);
    machine.pass(60);
    machine.set(-HOUR);
    assert_eq!(put(&*store, "after").unwrap(), at(120));
    assert_eq!(store.clock_trouble(), None);
    let asked = [(0, 1), (59, 1), (60, 2), (119, 2), (120, 3), (HOUR, 3)];
    for (seconds, revision) in asked {
        assert_eq!(store.revision_at(at(seconds)).unwrap(), revision, "at {seconds} s");
    }
}

#[test]
fn a_store_that_was_written_by_a_clock_ahead_goes_on_by_the_right_one() {
    let (dir, machine) = (tempfile::tempdir().unwrap(), Machine::new());
    let start = machine.wall();
    let at = |seconds| start + SignedDuration::from_secs(seconds);
    let open = || open_dated(dir.path(), machine.clock()).unwrap();
    put(&*open(), "right").unwrap();
    machine.pass(60);
    machine.set(HOUR);
    put(&*open(), "ahead").unwrap();
    machine.set(-HOUR);
    machine.pass(60);
    let store = open();
    let trouble = store.clock_trouble().unwrap();
    assert_eq!(trouble, ClockTrouble::Future(SignedDuration::from_secs(HOUR - 60)));
    assert_eq!(put(&*store, "right again").unwrap(), at(120));
    assert_eq!(store.clock_trouble(), None);
    machine.pass(60);
    put(&*store, "still right").unwrap();
    let asked = [(0, 1), (119, 1), (120, 3), (179, 3), (180, 4), (HOUR, 4), (2 * HOUR, 4)];
    for (seconds, revision) in asked {
        assert_eq!(store.revision_at(at(seconds)).unwrap(), revision, "at {seconds} s");
    }
    // A clock that is before all history is wrong itself.
    drop(store);
    machine.set(-1000 * HOUR);
    assert_eq!(put(&*open(), "by a clock that was never set").unwrap(), at(180));
}

/// What a release after this one does to the tables.
const LATER: Schema = Schema::later(&["CREATE TABLE later (number INTEGER NOT NULL PRIMARY KEY)"]);

#[test]
fn of_two_releases_only_the_later_one_writes() {
    let lab = PgLab::new().unwrap();
    let url = lab.url();
    let open = |schema| open_release(&url, PgTls::Disabled, schema);
    let old = [open(Schema::OURS).unwrap(), open(Schema::OURS).unwrap()];
    put(&*old[0], "1").unwrap();
    let other = StoreError::OtherSchema { found: 3, known: 2 };
    assert_eq!(Schema::OURS.known(), 2, "the words above are about this release");
    // Instances are replaced one by one. From the first on, the old ones write nothing, of any kind.
    let new = open(LATER).unwrap();
    for store in &old {
        assert_eq!(put(&**store, "2").unwrap_err(), other);
        let redacted = store.redact(Deadline::usual(), &Author::default(), &key("a"));
        assert_eq!(redacted.unwrap_err(), other);
        let revoked = store.revoke_token(Deadline::usual(), "t", Timestamp::now());
        assert_eq!(revoked.unwrap_err(), other);
        assert_eq!(store.prune(&Retention { entries: Some(0), age: None }).unwrap_err(), other);
        assert_eq!(store.healthy().unwrap_err(), other);
    }
    assert_eq!(new.revision().unwrap(), 1);
    put(&*new, "3").unwrap();
    new.healthy().unwrap();
    // They know it without being asked to write.
    let start = clock::instant();
    while old.iter().any(|store| store.other_schema() != Some(other.clone())) {
        assert!(start.elapsed() < Duration::from_secs(20), "nobody noticed");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(new.other_schema(), None);
    // They go on reading, so that they can be replaced without a pause.
    for store in &old {
        assert_eq!(store.get(&key("a"), None).unwrap().unwrap().text, "3");
        assert_eq!(store.changes(1, 10).unwrap().len(), 1);
    }
    assert_eq!(
        open(Schema::OURS).err().unwrap(),
        StoreError::TooNew { found: 3, known: 2 },
        "and no new one of the old release starts"
    );
    // The way back is a backup into a schema of its own.
    let mut backup = Vec::new();
    new.dump(&mut backup).unwrap();
    let back = open_release(&format!("{url}?schema=back"), PgTls::Disabled, Schema::OURS).unwrap();
    back.restore(&mut backup.as_slice()).unwrap();
    assert_eq!(back.snapshot(None).unwrap(), new.snapshot(None).unwrap());
    put(&*back, "4").unwrap();
}
