// SPDX-License-Identifier: Apache-2.0
//! In: single commits. Out: versions, conflicts, order, tokens, audit, on every store. Not here: history.

use jiff::Timestamp;
use overrule_store::{
    AuditEvent, Change, ChangeKind, Deadline, Precondition, ResourceKey, ResourceScope, Store,
    StoreError, TextFormat, TokenRow,
};

use crate::common::{author, delete, each, key, named, put, put_if};

#[test]
fn a_commit_is_one_revision_for_all_its_changes() {
    each(|store| {
        let first = store.commit(&author(), &[put("a", "1"), put("b", "1")]).unwrap();
        assert_eq!(first.revision, 1);
        let second = store
            .commit(&author(), &[put("a", "2"), put("b", "1"), put("c", "1"), delete("b")])
            .unwrap();
        assert_eq!(second.revision, 2);
        let done: Vec<_> = second.written.iter().map(|w| (w.done, w.version)).collect();
        assert_eq!(
            done,
            [
                (ChangeKind::Changed, 2),
                (ChangeKind::Unchanged, 1),
                (ChangeKind::Created, 2),
                (ChangeKind::Deleted, 2)
            ]
        );
        let a = store.get(&key("a"), None).unwrap().unwrap();
        assert_eq!((a.text.as_str(), a.version), ("2", 2));
        assert_eq!((a.created, a.modified), (first.at, second.at));
        assert!(store.get(&key("b"), None).unwrap().is_none());
        assert_eq!(store.revision().unwrap(), 2);
    });
}

#[test]
fn a_store_knows_what_it_takes() {
    each(|store| {
        let before = store.size().unwrap();
        let text = "x".repeat(1 << 20);
        store.commit(&author(), &[put("a", &text), put("b", &text)]).unwrap();
        let after = store.size().unwrap();
        // PostgreSQL compresses.
        assert!(before > 0 && after > before, "{before} {after}");
        if let Some(connections) = store.connections() {
            assert_eq!(connections.used, 0, "nothing is going on");
            assert!((1..=connections.most).contains(&connections.idle), "{connections:?}");
        }
    });
}

#[test]
fn what_changes_nothing_makes_no_revision() {
    each(|store| {
        let first = store.commit(&author(), &[put("a", "1")]).unwrap();
        let again = store.commit(&named("bob"), &[put("a", "1")]).unwrap();
        assert_eq!((again.revision, again.at), (1, first.at));
        assert_eq!(again.written[0].done, ChangeKind::Unchanged);
        assert_eq!(store.commit(&author(), &[]).unwrap().revision, 1);
        assert_eq!(store.changes(0, 10).unwrap().len(), 1);
        let other_form = Change::Put {
            key: key("a"),
            text: "1".to_owned(),
            form: TextFormat::Json,
            expect: Precondition::Any,
        };
        assert_eq!(store.commit(&author(), &[other_form]).unwrap().revision, 2);
    });
}

#[test]
fn a_wrong_expectation_stops_the_whole_commit() {
    each(|store| {
        store.commit(&author(), &[put("a", "1")]).unwrap();
        let conflict = |expected, found| {
            Err(StoreError::Conflict { key: Box::new(key("a")), expected, found })
        };
        let absent =
            store.commit(&author(), &[put("b", "1"), put_if("a", "2", Precondition::Absent)]);
        assert_eq!(absent, conflict(Precondition::Absent, Some(1)));
        assert!(store.get(&key("b"), None).unwrap().is_none());
        let old = store.commit(&author(), &[put_if("a", "2", Precondition::Version(7))]);
        assert_eq!(old, conflict(Precondition::Version(7), Some(1)));
        // Even a change that would alter nothing.
        let same = store.commit(&author(), &[put_if("a", "1", Precondition::Version(7))]);
        assert_eq!(same, conflict(Precondition::Version(7), Some(1)));
        let gone = Change::Delete { key: key("a"), expect: Precondition::Version(7) };
        assert_eq!(store.commit(&author(), &[gone]), conflict(Precondition::Version(7), Some(1)));
        let missing = store.commit(&author(), &[put("c", "1"), delete("b")]);
        assert_eq!(missing, Err(StoreError::NotFound(Box::new(key("b")))));
        assert!(store.get(&key("c"), None).unwrap().is_none());
        assert_eq!(store.revision().unwrap(), 1);
        let right = Change::Delete { key: key("a"), expect: Precondition::Version(1) };
        assert_eq!(store.commit(&author(), &[right]).unwrap().revision, 2);
        store.commit(&author(), &[put_if("a", "3", Precondition::Absent)]).unwrap();
        let created = store.get(&key("a"), None).unwrap().unwrap();
        assert_eq!(created.created, created.modified);
    });
}

#[test]
fn a_snapshot_is_sorted_like_keys_whatever_the_letters() {
    each(|store| {
        let mut keys = Vec::new();
        for name in ["b", "B", "a-b", "a.b", "ab", "é", "😀", "Z", "\u{fffd}", ""] {
            for place in [
                ResourceScope::Cluster,
                ResourceScope::Namespace("x".to_owned()),
                ResourceScope::Namespace("X".to_owned()),
                ResourceScope::Mesh("a".to_owned()),
            ] {
                let (group, kind) = (String::new(), "Mesh".to_owned());
                keys.push(ResourceKey { group, kind, place, name: name.to_owned() });
            }
        }
        let changes: Vec<_> = keys
            .iter()
            .map(|key| Change::Put {
                key: key.clone(),
                text: format!("é\n\t\"{}\" 😀", key.name),
                form: TextFormat::Yaml,
                expect: Precondition::Absent,
            })
            .collect();
        store.commit(&author(), &changes).unwrap();
        store.commit(&author(), &[put("later", "1")]).unwrap();
        let past = store.snapshot(Some(1)).unwrap();
        let found: Vec<_> = past.records.iter().map(|record| record.key.clone()).collect();
        keys.sort();
        assert_eq!(found, keys);
        let present = store.snapshot(None).unwrap();
        assert!(present.records.is_sorted_by(|a, b| a.key < b.key));
        assert_eq!(present.records.len(), keys.len() + 1);
        assert_eq!(past.records[0].text, "é\n\t\"\" 😀");
    });
}

#[test]
fn a_large_commit_equals_many_small_ones() {
    each(|store| {
        let name = |n: usize| format!("r{n:04}");
        let all: Vec<_> = (0..750).map(|n| put(&name(n), "1")).collect();
        store.commit(&author(), &all).unwrap();
        let mut second: Vec<_> = (0..750)
            .map(|n| match n % 3 {
                0 => put_if(&name(n), "2", Precondition::Version(1)),
                1 => delete(&name(n)),
                _ => put(&name(n), "1"),
            })
            .collect();
        second.push(put(&name(0), "3"));
        store.commit(&author(), &second).unwrap();
        let snapshot = store.snapshot(None).unwrap();
        assert_eq!(snapshot.records.len(), 500);
        assert_eq!(snapshot.records[0].text, "3");
        assert_eq!(snapshot.records.iter().filter(|r| r.version == 2).count(), 250);
        assert_eq!(store.changes(1, 1).unwrap().len(), 501);
        assert_eq!(store.snapshot(Some(1)).unwrap().records.len(), 750);
    });
}

#[test]
fn no_store_takes_what_another_could_not_keep() {
    each(|store| {
        for change in [put("a\0b", "1"), put("a", "1\0")] {
            let error = store.commit(&author(), &[change]).unwrap_err();
            assert!(error.to_string().contains("NUL"), "{error}");
        }
        assert_eq!(store.revision().unwrap(), 0);
    });
}

#[test]
fn subscribers_hear_of_revisions_and_tokens() {
    each(|store| {
        let (revisions, tokens) = (store.subscribe(), store.token_changes());
        store.commit(&author(), &[put("a", "1")]).unwrap();
        assert_eq!(*revisions.borrow(), 1);
        assert_eq!(*tokens.borrow(), 0);
        store.put_token(Deadline::usual(), &token("one")).unwrap();
        assert_eq!(*tokens.borrow(), 1);
        assert!(store.revoke_token(Deadline::usual(), "one", Timestamp::UNIX_EPOCH).unwrap());
        assert_eq!(*tokens.borrow(), 2);
        assert_eq!(*revisions.borrow(), 1);
        store.healthy().unwrap();
    });
}

pub fn token(id: &str) -> TokenRow {
    TokenRow {
        id: id.to_owned(),
        name: format!("token {id}"),
        hash: vec![0, 1, 254, 255],
        grants: "[\"read\"]".to_owned(),
        created: Timestamp::from_second(1_700_000_000).unwrap(),
        expires: Some(Timestamp::from_second(1_800_000_000).unwrap()),
        revoked: None,
    }
}

#[test]
fn tokens_are_kept_replaced_and_revoked_once() {
    each(|store| {
        assert!(store.first_token(&token("admin")).unwrap());
        assert!(!store.first_token(&token("second")).unwrap());
        store.put_token(Deadline::usual(), &token("b")).unwrap();
        let renamed = TokenRow { name: "new".to_owned(), expires: None, ..token("b") };
        store.put_token(Deadline::usual(), &renamed).unwrap();
        assert_eq!(store.tokens().unwrap(), [token("admin"), renamed]);
        let at = Timestamp::from_second(1_750_000_000).unwrap();
        assert!(store.revoke_token(Deadline::usual(), "admin", at).unwrap());
        assert!(store.revoke_token(Deadline::usual(), "admin", Timestamp::UNIX_EPOCH).unwrap());
        assert!(!store.revoke_token(Deadline::usual(), "nobody", at).unwrap());
        assert_eq!(store.tokens().unwrap()[0].revoked, Some(at));
        // A revoked token is still one that was there.
        assert!(!store.first_token(&token("third")).unwrap());
        let shown = format!("{:?}", store.tokens().unwrap());
        assert!(!shown.contains("254"), "{shown}");
    });
}

#[test]
fn the_audit_log_counts_and_pages() {
    each(|store: &dyn Store| {
        for n in 0..5 {
            let event = AuditEvent {
                id: 99,
                at: Timestamp::from_second(n).unwrap(),
                author: named("ann"),
                action: "put".to_owned(),
                what: format!("thing {n}"),
                outcome: "done".to_owned(),
            };
            store.audit(&event).unwrap();
        }
        let page = store.audit_log(None, 2).unwrap();
        assert_eq!(page.iter().map(|event| event.id).collect::<Vec<_>>(), [5, 4]);
        let rest = store.audit_log(Some(4), 10).unwrap();
        assert_eq!(rest.iter().map(|event| event.id).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(rest[0].what, "thing 2");
        assert_eq!(rest[0].author, named("ann"));
    });
}
