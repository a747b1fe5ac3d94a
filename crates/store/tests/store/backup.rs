// SPDX-License-Identifier: Apache-2.0
//! In: backups, whole and spoilt. Out: the same store from a whole one, nothing from a spoilt one. Not here: migrations.

use overrule_store::{Deadline, HistoryFilter, Retention, Store, StoreError};

use crate::basics::token;
use crate::common::{author, delete, folder, key, memory, named, postgres, put};

fn fill(store: &dyn Store) {
    store.commit(&author(), &[put("a", "1"), put("b", "é\n\"😀")]).unwrap();
    store.commit(&named("bob"), &[put("a", "2"), delete("b")]).unwrap();
    store.commit(&author(), &[put("a", "3"), put("c", "1")]).unwrap();
    store.prune(&Retention { entries: Some(4), age: None }).unwrap();
    store.commit(&author(), &[put("a", "4")]).unwrap();
    store.redact(Deadline::usual(), &named("root"), &key("a")).unwrap();
    store.put_token(Deadline::usual(), &token("t")).unwrap();
}

fn dumped(store: &dyn Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.dump(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_backup_moves_between_all_stores() {
    for source in [memory, folder, postgres] {
        let source = source();
        fill(&*source.store);
        let bytes = dumped(&*source.store);
        for target in [memory, folder, postgres] {
            let target = target();
            println!("from {} to {}", source.kind, target.kind);
            let (one, two) = (&source.store, &target.store);
            let subscriber = two.subscribe();
            assert_eq!(two.restore(&mut bytes.as_slice()).unwrap(), 4);
            assert_eq!(*subscriber.borrow(), 4);
            assert_eq!(dumped(&**two), bytes);
            assert_eq!(two.snapshot(None).unwrap(), one.snapshot(None).unwrap());
            assert_eq!(two.tokens().unwrap(), one.tokens().unwrap());
            assert_eq!(two.audit_log(None, 9).unwrap(), one.audit_log(None, 9).unwrap());
            for revision in 0..=5 {
                assert_eq!(two.snapshot(Some(revision)), one.snapshot(Some(revision)));
            }
            let all = HistoryFilter::default();
            assert_eq!(two.history(&all).unwrap(), one.history(&all).unwrap());
            assert_eq!(two.commit(&author(), &[put("d", "1")]).unwrap().revision, 5);
            assert_eq!(two.restore(&mut bytes.as_slice()), Err(StoreError::NotEmpty));
        }
    }
}

#[test]
fn a_spoilt_backup_restores_nothing() {
    let source = memory();
    fill(&*source.store);
    let whole = dumped(&*source.store);
    for make in [memory, postgres] {
        let target = make();
        let refused = |bytes: &[u8], what: &str| {
            let result = target.store.restore(&mut &*bytes);
            assert!(result.is_err(), "{what} was restored");
            assert_eq!(target.store.revision().unwrap(), 0, "{what}");
            assert_eq!(target.store.snapshot(None).unwrap().records, [], "{what}");
            assert_eq!(target.store.tokens().unwrap(), [], "{what}");
        };
        refused(b"", "nothing");
        refused(b"hello\n", "something else");
        let step = if target.kind == "memory" { 5 } else { 97 };
        for end in (0..whole.len()).step_by(step) {
            refused(&whole[..end], "a cut backup");
        }
        for at in (0..whole.len()).step_by(step) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            refused(&bytes, &format!("a backup with an altered byte {at}"));
        }
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for skipped in 0..lines.len() {
            let mut rest = lines.clone();
            rest.remove(skipped);
            refused(&rest.concat(), "a backup without a line");
        }
        refused(&[whole.as_slice(), whole.as_slice()].concat(), "two backups");
        assert_eq!(target.store.restore(&mut whole.as_slice()).unwrap(), 4);
    }
}

#[test]
fn a_backup_of_a_later_format_is_refused_by_its_number() {
    let source = memory();
    let whole = String::from_utf8(dumped(&*source.store)).unwrap();
    let later = whole.replacen("\"format\":1", "\"format\":2", 1);
    assert_ne!(later, whole);
    let result = memory().store.restore(&mut later.as_bytes());
    assert_eq!(result, Err(StoreError::TooNew { found: 2, known: 1 }));
}

#[test]
fn a_full_output_is_an_error() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for make in [memory, postgres] {
        let source = make();
        fill(&*source.store);
        let size = dumped(&*source.store).len();
        for room in [0, size / 2, size - 1] {
            assert!(source.store.dump(&mut Full(room)).is_err());
        }
        source.store.dump(&mut Full(size)).unwrap();
    }
}
