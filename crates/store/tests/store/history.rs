// SPDX-License-Identifier: Apache-2.0
//! In: sequences of commits. Out: the feed, the history, past states, pruning, redaction, on every store.
//! Not here: random sequences, which are `model`.

use std::thread::sleep;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use overrule_store::{
    Change, ChangeKind, Deadline, HistoryFilter, Precondition, ResourceKey, ResourceScope,
    Retention, Store, StoreError, TextFormat,
};

use crate::common::{author, delete, each, key, named, put};

fn filled(store: &dyn Store) {
    store.commit(&author(), &[put("a", "1"), put("b", "1")]).unwrap();
    store.commit(&named("bob"), &[put("a", "2")]).unwrap();
    store.commit(&author(), &[delete("b"), put("c", "1")]).unwrap();
    store.commit(&named("bob"), &[put("a", "3"), put("b", "2")]).unwrap();
}

#[test]
fn the_feed_never_cuts_a_revision() {
    each(|store| {
        filled(store);
        let revisions = |after, limit| -> Vec<u64> {
            store.changes(after, limit).unwrap().iter().map(|entry| entry.revision).collect()
        };
        assert_eq!(revisions(0, 1), [1, 1]);
        assert_eq!(revisions(0, 3), [1, 1, 2]);
        assert_eq!(revisions(2, 1), [3, 3]);
        assert_eq!(revisions(0, 100), [1, 1, 2, 3, 3, 4, 4]);
        assert_eq!(revisions(4, 100), [0; 0]);
        assert_eq!(store.changes(5, 1), Err(StoreError::Future { newest: 4 }));
        let third = &store.changes(2, 1).unwrap();
        assert_eq!((third[0].done, third[0].text.as_deref()), (ChangeKind::Deleted, None));
        assert_eq!((third[1].done, third[1].text.as_deref()), (ChangeKind::Created, Some("1")));
        assert_eq!(third[0].author, author());
        assert!(!third[0].redacted);
    });
}

#[test]
fn the_history_is_filtered_and_paged() {
    each(|store| {
        filled(store);
        let elsewhere = ResourceKey { place: ResourceScope::Mesh("shop".to_owned()), ..key("a") };
        let change = Change::Put {
            key: elsewhere.clone(),
            text: "{}".to_owned(),
            form: TextFormat::Json,
            expect: Precondition::Any,
        };
        store.commit(&named("cy"), &[change]).unwrap();
        let ask = |filter: HistoryFilter| -> Vec<(u64, String)> {
            let entries = store.history(&filter).unwrap();
            entries.into_iter().map(|entry| (entry.revision, entry.key.name)).collect()
        };
        let all = HistoryFilter::default;
        let pair = |revision, name: &str| (revision, name.to_owned());
        let of_a = ask(HistoryFilter { key: Some(key("a")), ..all() });
        assert_eq!(of_a, [pair(4, "a"), pair(2, "a"), pair(1, "a")]);
        let mesh = ask(HistoryFilter { place: Some(elsewhere.place.clone()), ..all() });
        assert_eq!(mesh, [pair(5, "a")]);
        let bob = HistoryFilter { author: Some("bob".to_owned()), ..all() };
        assert_eq!(ask(bob.clone()), [pair(4, "b"), pair(4, "a"), pair(2, "a")]);
        assert_eq!(ask(HistoryFilter { limit: 1, ..bob.clone() }), [pair(4, "b"), pair(4, "a")]);
        let next = HistoryFilter { limit: 1, before: Some(4), ..bob };
        assert_eq!(ask(next), [pair(2, "a")]);
        assert_eq!(ask(HistoryFilter { limit: 0, ..all() }), []);
        assert_eq!(ask(all()).len(), 8);
    });
}

#[test]
fn the_past_is_read_by_revision_and_by_time() {
    each(|store| {
        assert_eq!(store.revision_at(Timestamp::MAX).unwrap(), 0);
        let mut times = Vec::new();
        for n in 1..=4 {
            times.push(store.commit(&author(), &[put("a", &n.to_string())]).unwrap().at);
            sleep(Duration::from_millis(3));
        }
        assert!(times.is_sorted());
        for (n, at) in times.iter().enumerate() {
            let revision = n as u64 + 1;
            assert_eq!(store.revision_at(*at).unwrap(), revision);
            let before = *at - SignedDuration::from_micros(1);
            assert_eq!(store.revision_at(before).unwrap(), revision - 1);
            let record = store.get(&key("a"), Some(revision)).unwrap().unwrap();
            assert_eq!((record.text, record.version), (revision.to_string(), revision));
            assert_eq!((record.created, record.modified), (times[0], *at));
        }
        assert!(store.get(&key("a"), Some(0)).unwrap().is_none());
        assert_eq!(store.snapshot(Some(0)).unwrap().records, []);
        assert_eq!(store.snapshot(Some(5)), Err(StoreError::Future { newest: 4 }));
        assert_eq!(store.get(&key("a"), Some(5)), Err(StoreError::Future { newest: 4 }));
        assert_eq!(store.revision_at(Timestamp::MAX).unwrap(), 4);
    });
}

#[test]
fn pruning_keeps_the_present_and_every_state_from_the_horizon_on() {
    each(|store| {
        filled(store);
        let states: Vec<_> = (0..=4).map(|r| store.snapshot(Some(r)).unwrap()).collect();
        let keep = |entries| Retention { entries: Some(entries), age: None };
        assert_eq!(store.prune(&keep(7)).unwrap().horizon, 0);
        // Three would cut revision 3 in two, so it goes as a whole.
        let pruned = store.prune(&keep(3)).unwrap();
        assert_eq!(pruned.horizon, 3);
        let gone = StoreError::Gone { horizon: 3 };
        assert_eq!(store.snapshot(Some(2)), Err(gone.clone()));
        assert_eq!(store.get(&key("a"), Some(2)), Err(gone.clone()));
        assert_eq!(store.changes(2, 10), Err(gone.clone()));
        assert_eq!(store.revision_at(Timestamp::UNIX_EPOCH), Err(gone));
        assert_eq!(store.snapshot(Some(3)).unwrap(), states[3]);
        assert_eq!(store.snapshot(Some(4)).unwrap(), states[4]);
        assert_eq!(store.snapshot(None).unwrap(), states[4]);
        assert_eq!(store.changes(3, 10).unwrap().len(), 2);
        assert_eq!(store.history(&HistoryFilter::default()).unwrap().len(), 2);
        assert_eq!(store.prune(&keep(3)).unwrap().entries, 0);
        assert_eq!(store.prune(&keep(0)).unwrap().horizon, 4);
        assert_eq!(store.history(&HistoryFilter::default()).unwrap(), []);
        assert_eq!(store.snapshot(None).unwrap(), states[4]);
        assert_eq!(store.commit(&author(), &[put("a", "9")]).unwrap().revision, 5);
        assert_eq!(store.snapshot(Some(4)).unwrap(), states[4]);
    });
}

#[test]
fn pruning_by_age_keeps_reads_within_the_age() {
    each(|store| {
        let first = store.commit(&author(), &[put("a", "1")]).unwrap().at;
        store.commit(&author(), &[put("a", "2")]).unwrap();
        sleep(Duration::from_millis(400));
        store.commit(&author(), &[put("a", "3")]).unwrap();
        let age = |age| Retention { entries: None, age: Some(age) };
        assert_eq!(store.prune(&age(SignedDuration::from_hours(1))).unwrap().horizon, 0);
        assert_eq!(store.prune(&age(SignedDuration::MAX)).unwrap().horizon, 0);
        let pruned = store.prune(&age(SignedDuration::from_millis(300))).unwrap();
        // Revision 2 was in force when the span began.
        assert_eq!(pruned.horizon, 2);
        assert_eq!(store.get(&key("a"), Some(2)).unwrap().unwrap().text, "2");
        assert_eq!(store.revision_at(first), Err(StoreError::Gone { horizon: 2 }));
        assert_eq!(store.prune(&age(SignedDuration::ZERO)).unwrap().horizon, 3);
    });
}

#[test]
fn a_redaction_removes_texts_and_nothing_else() {
    each(|store| {
        filled(store);
        assert_eq!(store.redact(Deadline::usual(), &named("root"), &key("a")).unwrap(), 2);
        let past = store.snapshot(Some(2)).unwrap();
        assert_eq!(past.redacted, [key("a")]);
        assert_eq!(past.records.len(), 1);
        assert!(store.get(&key("a"), Some(2)).unwrap().is_none());
        assert_eq!(store.get(&key("a"), None).unwrap().unwrap().text, "3");
        assert_eq!(store.get(&key("a"), Some(4)).unwrap().unwrap().text, "3");
        let of_a = HistoryFilter { key: Some(key("a")), ..HistoryFilter::default() };
        let entries = store.history(&of_a).unwrap();
        let shown: Vec<_> = entries.iter().map(|e| (e.text.as_deref(), e.redacted)).collect();
        assert_eq!(shown, [(Some("3"), false), (None, true), (None, true)]);
        assert_eq!(entries[1].author, named("bob"));
        assert_eq!(store.redact(Deadline::usual(), &named("root"), &key("a")).unwrap(), 0);
        // A deleted key has no present to spare.
        store.commit(&author(), &[delete("a")]).unwrap();
        assert_eq!(store.redact(Deadline::usual(), &named("root"), &key("a")).unwrap(), 1);
        assert_eq!(store.snapshot(Some(4)).unwrap().redacted, [key("a")]);
        let log = store.audit_log(None, 10).unwrap();
        assert_eq!(log.len(), 3);
        assert_eq!((log[0].action.as_str(), &log[0].author), ("redact", &named("root")));
        assert_eq!(log[0].what, key("a").to_string());
        assert_eq!(store.revision().unwrap(), 5);
    });
}
