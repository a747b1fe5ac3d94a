// SPDX-License-Identifier: Apache-2.0
//! In: two instances whose lines to PostgreSQL hang, lag, break and heal. Out: a write that failed is never made later, one that
//! was acknowledged is never undone by one that failed. Not here: a server that dies (`postgresql`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use overrule_store::{
    ChangeKind, Committed, Deadline, HistoryEntry, PgTls, Store, StoreError, open_postgres,
};

use crate::common::{author, delete, fresh_url, key, lab, put};
use crate::linear::{Act, Op, is_linear};
use crate::testing::{FaultyLine, PgLab, Way};

/// Seeds of the storm, and what each of its clients does. More with `OVERRULE_STORM`.
const SEEDS: [u64; 3] = [1, 2, 3];
const CALLS: u64 = 40;
const KEYS: [&str; 3] = ["a", "b", "c"];

/// An instance of its own schema's address, over a line of its own.
fn over(lab: &PgLab, url: &str) -> (Box<dyn Store>, FaultyLine) {
    let proxy = FaultyLine::new(lab.port()).unwrap();
    let url = url.replace(&lab.url(), &lab.url_over(proxy.port()));
    (open_postgres(&url, PgTls::Disabled).unwrap(), proxy)
}

/// What is in the history under a key, oldest first; none for a deletion.
fn texts(history: &[HistoryEntry], name: &str) -> Vec<Option<String>> {
    let of_key = history.iter().filter(|entry| entry.key == key(name));
    of_key.map(|entry| entry.text.clone()).collect()
}

/// Waits until an instance can write again.
fn recovered(store: &dyn Store) {
    let start = Instant::now();
    while let Err(error) = store.commit(&author(), &[put("other", "1")]) {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not come back: {error}");
        sleep(Duration::from_millis(20));
    }
}

/// A write over a line that hangs after some pieces. Another instance writes after it was answered, and then the line heals.
fn given_up(lab: &PgLab, way: Way, pieces: u32) -> &'static str {
    let url = fresh_url(lab);
    let other = open_postgres(&url, PgTls::Disabled).unwrap();
    let (store, proxy) = over(lab, &url);
    store.commit(&author(), &[put("a", "first"), put("b", "first")]).unwrap();
    proxy.hang_after(way, pieces);
    let start = Instant::now();
    let change = [put("a", "early"), delete("b")];
    let answer = store.commit_before(Deadline::within(Duration::from_secs(2)), &author(), &change);
    let took = start.elapsed();
    // The limit is 2 s; a busy machine may be slow to tell.
    assert!(took < Duration::from_secs(10), "after {pieces} pieces it took {took:?}");
    let late = other.commit(&author(), &[put("a", "late"), put("b", "late")]).unwrap();
    proxy.heal();
    recovered(&*store);
    // Everything that the line has kept has arrived: it was in front of what followed.
    let history = other.changes(0, usize::MAX).unwrap();
    let made = texts(&history, "a").contains(&Some("early".to_owned()));
    for name in ["a", "b"] {
        assert_eq!(other.get(&key(name), None).unwrap().unwrap().text, "late", "{way:?} {pieces}");
        let after = history.iter().filter(|entry| entry.key == key(name));
        assert_eq!(after.map(|entry| entry.revision).max(), Some(late.revision));
    }
    match answer {
        Ok(Committed { .. }) => {
            assert!(made, "{way:?} {pieces}: what was acknowledged is not there");
            "made"
        }
        Err(StoreError::Unavailable(_)) => {
            assert!(!made, "{way:?} {pieces}: what failed was made");
            "failed"
        }
        Err(StoreError::Unknown(_)) => "unknown",
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn a_write_that_was_given_up_is_never_made() {
    let lab = lab();
    let lab = &*lab;
    let mut answers: BTreeMap<&str, u32> = BTreeMap::new();
    let ways = [Way::ToServer, Way::ToClient];
    let all: Vec<_> = ways.iter().flat_map(|way| (0..20).map(|pieces| (*way, pieces))).collect();
    // As many at a time as the server has connections for.
    for some in all.chunks(8) {
        thread::scope(|scope| {
            let ask = |(way, pieces)| scope.spawn(move || given_up(lab, way, pieces));
            let some: Vec<_> = some.iter().copied().map(ask).collect();
            for answer in some {
                *answers.entry(answer.join().unwrap()).or_default() += 1;
            }
        });
    }
    println!("{answers:?}");
    // The line hung at every step, up to one behind the last.
    assert!(answers["failed"] >= 10 && answers["unknown"] >= 1 && answers["made"] >= 2);
}

/// A line that keeps the answer of a commit back and then breaks: the next connection finds out what became of it.
#[test]
fn what_became_of_a_commit_is_found_out() {
    let lab = lab();
    let url = fresh_url(&lab);
    let (store, proxy) = over(&lab, &url);
    let other = open_postgres(&url, PgTls::Disabled).unwrap();
    let mut found_out = 0;
    for n in 0..16_u32 {
        recovered(&*store);
        let value = n.to_string();
        proxy.hang_after(Way::ToClient, n);
        let (answer, broke) = thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let deadline = Deadline::within(Duration::from_secs(20));
                store.commit_before(deadline, &author(), &[put("a", &value)])
            });
            sleep(Duration::from_millis(300));
            // A write that is over has met no hanging line.
            let broke = !writing.is_finished();
            proxy.cut();
            proxy.heal();
            (writing.join().unwrap(), broke)
        });
        let now = other.get(&key("a"), None).unwrap().map(|record| record.text);
        let made = now == Some(value);
        match answer {
            Ok(_) => assert!(made, "{n}: what was acknowledged is not there"),
            Err(StoreError::Unavailable(_)) => assert!(!made, "{n}: what failed was made"),
            Err(error) => panic!("{n}: {error:?}"),
        }
        println!("{n}: hung {broke}, made {made}");
        found_out += u32::from(broke && made);
    }
    assert!(found_out >= 1, "no line hung at the answer of a commit");
}

/// Marsaglia's generator: the same numbers on every machine.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// What all clients did, by key.
#[derive(Default)]
struct Book {
    clock: AtomicU64,
    values: AtomicU64,
    ops: Mutex<BTreeMap<&'static str, Vec<Op>>>,
    /// Values of writes that failed.
    failed: Mutex<Vec<u64>>,
}

impl Book {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn note(&self, key: &'static str, act: Act, called: u64, answered: u64) {
        let mut ops = self.ops.lock().unwrap();
        ops.entry(key).or_default().push(Op { act, called, answered });
    }

    /// One random call.
    fn call(&self, store: &dyn Store, chance: &mut Chance) {
        let name = KEYS[usize::try_from(chance.below(3)).unwrap()];
        let called = self.now();
        if chance.below(3) == 0 {
            let read = store.get(&key(name), None);
            if let Ok(found) = read {
                let value = found.map(|record| record.text.parse().unwrap());
                self.note(name, Act::Read(value), called, self.now());
            }
            return;
        }
        let names: Vec<_> = if chance.below(4) == 0 { KEYS.to_vec() } else { vec![name] };
        let gone = chance.below(4) == 0;
        let value = (!gone).then(|| self.values.fetch_add(1, Ordering::SeqCst));
        let change = |name: &&str| value.map_or(delete(name), |n| put(name, &n.to_string()));
        let changes: Vec<_> = names.iter().map(change).collect();
        let deadline = Deadline::within(Duration::from_millis(300 + chance.below(2500)));
        let done = store.commit_before(deadline, &author(), &changes);
        let answered = self.now();
        let act = match done {
            Ok(_) => Act::Write(value),
            Err(StoreError::Unknown(_)) => Act::Perhaps(value),
            Err(StoreError::Unavailable(_)) => {
                return self.failed.lock().unwrap().extend(value);
            }
            // One of several may be there; it is none of ours to say which.
            Err(StoreError::NotFound(_)) if names.len() > 1 => return,
            Err(StoreError::NotFound(_)) => Act::Read(None),
            Err(error) => panic!("{error:?}"),
        };
        for name in names {
            self.note(name, act.clone(), called, answered);
        }
    }
}

/// Does something to a line, and after a while something else.
fn trouble(proxies: &[FaultyLine], seed: u64, over: &AtomicBool) {
    let mut chance = Chance::new(seed);
    while !over.load(Ordering::Relaxed) {
        let proxy = &proxies[usize::try_from(chance.below(2)).unwrap()];
        let way = if chance.below(2) == 0 { Way::ToServer } else { Way::ToClient };
        match chance.below(6) {
            0 => proxy.hang(way),
            1 | 2 => proxy.hang_after(way, u32::try_from(chance.below(30)).unwrap()),
            3 => proxy.lag(way, Duration::from_millis(chance.below(60))),
            4 => proxy.cut(),
            _ => {
                proxy.hang(way);
                sleep(Duration::from_millis(chance.below(300)));
                proxy.cut();
            }
        }
        sleep(Duration::from_millis(50 + chance.below(900)));
        proxy.heal();
        sleep(Duration::from_millis(chance.below(250)));
    }
    proxies.iter().for_each(FaultyLine::heal);
}

/// Writes that were made, may have been, and failed, in one storm.
fn storm(seed: u64) -> [usize; 3] {
    let lab = lab();
    let url = fresh_url(&lab);
    let (stores, proxies): (Vec<_>, Vec<_>) = (0..2).map(|_| over(&lab, &url)).unzip();
    let (book, done) = (Arc::new(Book::default()), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| trouble(&proxies, seed, &done));
        let client = |n: u64| {
            let (store, book) = (&stores[usize::try_from(n % 2).unwrap()], &book);
            scope.spawn(move || {
                let mut chance = Chance::new(seed * 100 + n + 1);
                (0..CALLS).for_each(|_| book.call(&**store, &mut chance));
            })
        };
        let clients: Vec<_> = (0..6).map(client).collect();
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|end| end.unwrap());
    });
    stores.iter().for_each(|store| recovered(&**store));
    for name in KEYS {
        let called = book.now();
        let found = stores[0].get(&key(name), None).unwrap();
        let value = found.map(|record| record.text.parse().unwrap());
        book.note(name, Act::Read(value), called, book.now());
    }
    check(&book, &stores[1].changes(0, usize::MAX).unwrap(), seed)
}

fn check(book: &Book, history: &[HistoryEntry], seed: u64) -> [usize; 3] {
    let failed = book.failed.lock().unwrap();
    let made: Vec<u64> =
        history.iter().filter_map(|entry| entry.text.as_ref()?.parse().ok()).collect();
    let late: Vec<_> = failed
        .iter()
        .filter(|value| {
            let told = history.iter().any(|e| {
                e.key != key("other") && e.text.as_deref() == Some(value.to_string().as_str())
            });
            told && made.contains(value)
        })
        .collect();
    assert!(late.is_empty(), "seed {seed}: writes that failed were made: {late:?}");
    let ops = book.ops.lock().unwrap();
    for (name, ops) in &*ops {
        assert!(is_linear(ops), "seed {seed}: {name} is not linearizable: {ops:#?}");
        for op in ops.iter() {
            if let Act::Write(Some(value)) = op.act {
                let value = Some(value.to_string());
                let times = history.iter().filter(|e| e.key == key(name) && e.text == value);
                assert_eq!(
                    times.count(),
                    1,
                    "seed {seed}: an acknowledged write is not there once"
                );
            }
        }
    }
    assert!(history.iter().all(|entry| entry.done != ChangeKind::Unchanged));
    let count = |fits: fn(&Act) -> bool| ops.values().flatten().filter(|op| fits(&op.act)).count();
    [
        count(|act| matches!(act, Act::Write(_))),
        count(|act| matches!(act, Act::Perhaps(_))),
        failed.len(),
    ]
}

#[test]
fn whatever_lines_do_each_key_is_linearizable() {
    let more: Option<u64> = std::env::var("OVERRULE_STORM").ok().map(|n| n.parse().unwrap());
    let is_long = more.is_some();
    let seeds: Vec<u64> = more.map_or(SEEDS.to_vec(), |n| (1..=n).collect());
    // How many writes fail depends on how busy the machine is; more lines are drawn until enough did.
    let further: Vec<u64> = (1_000..1_060).collect();
    let mut all = [0; 3];
    let further = further.chunks(3).filter(|_| !is_long);
    for (round, some) in seeds.chunks(3).chain(further).enumerate() {
        let is_enough = all[0] > 100 && all[2] > 10;
        if round >= seeds.len().div_ceil(3) && is_enough {
            break;
        }
        thread::scope(|scope| {
            let storms: Vec<_> = some.iter().map(|seed| scope.spawn(|| storm(*seed))).collect();
            for found in storms {
                let found = found.join().unwrap();
                all.iter_mut().zip(found).for_each(|(sum, n)| *sum += n);
            }
        });
    }
    let [written, unknown, failed] = all;
    println!("{written} written, {unknown} unknown, {failed} failed");
    assert!(written > 100 && failed > 10, "the lines were too good or too bad: {all:?}");
}
