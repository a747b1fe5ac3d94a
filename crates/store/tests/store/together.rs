// SPDX-License-Identifier: Apache-2.0
//! In: threads that write and read at once, on one store and on two instances of a database. Out: no update is lost, no reader
//! sees half of one. Not here: crashes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use overrule_store::{PgTls, Precondition, Store, StoreError, open_postgres};

use crate::basics::token;
use crate::common::{author, each, fresh_url, key, lab, put, put_if};

/// Adds one to a number in the store, again and again until it wins.
fn increment(store: &dyn Store) {
    loop {
        let record = store.get(&key("counter"), None).unwrap().unwrap();
        let next = record.text.parse::<u64>().unwrap() + 1;
        let expect = Precondition::Version(record.version);
        match store.commit(&author(), &[put_if("counter", &next.to_string(), expect)]) {
            Ok(_) => return,
            Err(StoreError::Conflict { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

fn count_up(stores: &[&dyn Store], each: u64) {
    stores[0].commit(&author(), &[put("counter", "0")]).unwrap();
    thread::scope(|scope| {
        for store in stores {
            for _ in 0..3 {
                scope.spawn(move || (0..each).for_each(|_| increment(*store)));
            }
        }
    });
    let total = each * 3 * stores.len() as u64;
    for store in stores {
        let record = store.get(&key("counter"), None).unwrap().unwrap();
        assert_eq!(record.text, total.to_string());
        assert_eq!(store.revision().unwrap(), total + 1);
        let feed = store.changes(0, usize::MAX).unwrap();
        let told: Vec<u64> = feed.iter().map(|entry| entry.revision).collect();
        assert_eq!(told, (1..=total + 1).collect::<Vec<_>>());
    }
}

#[test]
fn no_update_is_lost_among_threads() {
    each(|store| count_up(&[store], 20));
}

#[test]
fn no_update_is_lost_among_instances() {
    let lab = lab();
    let url = fresh_url(&lab);
    let one = open_postgres(&url, PgTls::Disabled).unwrap();
    let two = open_postgres(&url, PgTls::Disabled).unwrap();
    count_up(&[&*one, &*two], 20);
    assert_eq!(one.snapshot(None).unwrap(), two.snapshot(None).unwrap());
    let dumps = [&one, &two].map(|store| {
        let mut bytes = Vec::new();
        store.dump(&mut bytes).unwrap();
        bytes
    });
    assert_eq!(dumps[0], dumps[1]);
}

#[test]
fn a_reader_sees_whole_commits_in_order() {
    each(|store| {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..60 {
                    let text = n.to_string();
                    store.commit(&author(), &[put("a", &text), put("b", &text)]).unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
            scope.spawn(|| {
                let (mut last, mut seen) = (0, 0);
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot(None).unwrap();
                    assert!(snapshot.revision >= last);
                    last = snapshot.revision;
                    let texts: Vec<_> = snapshot.records.iter().map(|r| &r.text).collect();
                    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{texts:?}");
                    assert_eq!(texts.is_empty(), last == 0);
                    // The feed is read as instances read it: from where it was left.
                    let feed = store.changes(seen, 7).unwrap();
                    for pair in feed.chunks(2) {
                        seen += 1;
                        assert_eq!((pair[0].revision, pair[1].revision), (seen, seen));
                    }
                }
            });
        });
    });
}

#[test]
fn readers_do_not_wait_for_a_writer() {
    for make in [crate::common::memory, crate::common::folder, crate::common::postgres] {
        slow_backup(&*make().store);
    }
}

fn slow_backup(store: &dyn Store) {
    store.commit(&author(), &[put("a", "1")]).unwrap();
    // A backup of a store holds a read open for as long as its reader is slow; writers go on.
    struct Slow<'a>(&'a dyn Store);
    impl std::io::Write for Slow<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let before = self.0.revision().unwrap();
            self.0.commit(&author(), &[put("a", &format!("after {before}"))]).unwrap();
            assert_eq!(self.0.revision().unwrap(), before + 1);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    store.dump(&mut Slow(store)).unwrap();
    assert!(store.revision().unwrap() >= 2);
}

fn within(limit: Duration, what: &str, mut reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < limit, "{what} took longer than {limit:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn instances_hear_of_each_other_within_a_second() {
    let lab = lab();
    let url = fresh_url(&lab);
    let one = open_postgres(&url, PgTls::Disabled).unwrap();
    let two = open_postgres(&url, PgTls::Disabled).unwrap();
    let (revisions, tokens) = (two.subscribe(), two.token_changes());
    for n in 1..=5 {
        one.commit(&author(), &[put("a", &n.to_string())]).unwrap();
        within(Duration::from_secs(1), "a revision", || *revisions.borrow() == n);
    }
    assert!(one.first_token(&token("admin")).unwrap());
    within(Duration::from_secs(1), "a token", || *tokens.borrow() == 1);
    assert!(!two.first_token(&token("admin2")).unwrap());
}

#[test]
fn the_first_token_is_given_once() {
    let lab = lab();
    let url = fresh_url(&lab);
    let winners = thread::scope(|scope| {
        let open = |n: u32| {
            let url = url.clone();
            scope.spawn(move || {
                let store = open_postgres(&url, PgTls::Disabled).unwrap();
                store.first_token(&token(&n.to_string())).unwrap()
            })
        };
        // All open at once, so all find no tables.
        let threads: Vec<_> = (0..4).map(open).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap().then_some(())).count()
    });
    assert_eq!(winners, 1);
}
