// SPDX-License-Identifier: Apache-2.0
//! In: random sequences of commits, prunings and redactions. Out: every store answers like a naive list of entries.
//! Not here: several writers; crashes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use overrule_store::{
    Change, ChangeKind, Committed, Deadline, HistoryEntry, HistoryFilter, Precondition, Pruned,
    Record, ResourceKey, ResourceScope, Retention, Store, StoreError, StoreSnapshot, TextFormat,
    WrittenChange,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::common::{Bench, folder, memory, named, postgres};

/// One step. Numbers choose among what exists.
#[derive(Debug, Clone)]
enum Step {
    Commit {
        author: u8,
        changes: Vec<Wish>,
    },
    Prune(u64),
    Redact(u8),
    Feed {
        after: u8,
        limit: usize,
    },
    History {
        key: Option<u8>,
        place: Option<u8>,
        author: Option<u8>,
        before: Option<u8>,
        limit: usize,
    },
}

#[derive(Debug, Clone)]
struct Wish {
    key: u8,
    /// None deletes.
    text: Option<(u8, bool)>,
    /// 0 to 3 any, 4 absent, 5 the right version, 6 a wrong one.
    expect: u8,
}

const KEYS: u8 = 5;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = proptest::option::weighted(0.75, (0..3u8, any::<bool>()));
    let wish = (0..KEYS, text, 0..7u8).prop_map(|(key, text, expect)| Wish { key, text, expect });
    let choice = || proptest::option::of(0..KEYS);
    let step = prop_oneof![
        10 => (0..2u8, vec(wish, 0..4)).prop_map(|(author, changes)| Step::Commit { author, changes }),
        1 => (0..12u64).prop_map(Step::Prune),
        1 => (0..KEYS).prop_map(Step::Redact),
        2 => (0..20u8, 0..6usize).prop_map(|(after, limit)| Step::Feed { after, limit }),
        2 => (choice(), choice(), proptest::option::of(0..2u8), proptest::option::of(0..20u8), 0..6usize)
            .prop_map(|(key, place, author, before, limit)| {
                Step::History { key, place, author, before, limit }
            }),
    ];
    vec(step, 1..40)
}

fn key(number: u8) -> ResourceKey {
    let place = match number % 3 {
        0 => ResourceScope::Cluster,
        1 => ResourceScope::Namespace("n".to_owned()),
        _ => ResourceScope::Mesh("m".to_owned()),
    };
    let name = ["b", "a", "B", "c", "A"][usize::from(number)].to_owned();
    ResourceKey { group: "g".to_owned(), kind: "K".to_owned(), place, name }
}

fn author_name(number: u8) -> &'static str {
    ["ann", "bob"][usize::from(number)]
}

/// The naive store: all entries ever, and replay.
#[derive(Default)]
struct Model {
    entries: Vec<HistoryEntry>,
    created: Vec<Timestamp>,
    times: Vec<Timestamp>,
    horizon: u64,
}

impl Model {
    fn newest(&self) -> u64 {
        self.times.len() as u64
    }

    /// For every key, its last entry up to a revision.
    fn last(&self, revision: u64) -> BTreeMap<ResourceKey, usize> {
        let upto = self.entries.iter().enumerate().filter(|(_, e)| e.revision <= revision);
        upto.map(|(index, entry)| (entry.key.clone(), index)).collect()
    }

    fn live(&self, revision: u64) -> BTreeMap<ResourceKey, usize> {
        let mut last = self.last(revision);
        last.retain(|_, index| self.entries[*index].done != ChangeKind::Deleted);
        last
    }

    fn snapshot(&self, as_of: Option<u64>) -> Result<StoreSnapshot, StoreError> {
        let revision = as_of.unwrap_or(self.newest());
        if revision > self.newest() {
            return Err(StoreError::Future { newest: self.newest() });
        }
        if revision < self.horizon {
            return Err(StoreError::Gone { horizon: self.horizon });
        }
        let mut snapshot = StoreSnapshot { revision, records: Vec::new(), redacted: Vec::new() };
        for (key, index) in self.live(revision) {
            let entry = &self.entries[index];
            match &entry.text {
                None => snapshot.redacted.push(key),
                Some(text) => snapshot.records.push(Record {
                    key,
                    text: text.clone(),
                    form: entry.form,
                    version: entry.revision,
                    created: self.created[index],
                    modified: entry.at,
                }),
            }
        }
        Ok(snapshot)
    }

    /// Whether an entry must still be there: after the horizon, or the state at it.
    fn kept(&self, horizon: u64) -> Vec<usize> {
        let base = self.live(horizon);
        (0..self.entries.len())
            .filter(|index| {
                let entry = &self.entries[*index];
                entry.revision > horizon || base.get(&entry.key) == Some(index)
            })
            .collect()
    }

    /// The outcome of a commit at a time that the real store chose.
    fn commit(
        &mut self,
        author: &str,
        changes: &[Change],
        at: Timestamp,
    ) -> Result<(u64, Vec<WrittenChange>), StoreError> {
        let revision = self.newest() + 1;
        let (entries, created) = (self.entries.clone(), self.created.clone());
        let mut written = Vec::new();
        for change in changes {
            match self.one(author, change, revision, at) {
                Ok(done) => written.push(done),
                Err(error) => {
                    (self.entries, self.created) = (entries, created);
                    return Err(error);
                }
            }
        }
        if self.entries.len() == entries.len() {
            return Ok((revision - 1, written));
        }
        self.times.push(at);
        Ok((revision, written))
    }

    fn one(
        &mut self,
        author: &str,
        change: &Change,
        revision: u64,
        at: Timestamp,
    ) -> Result<WrittenChange, StoreError> {
        let key = change.key().clone();
        let found = self.live(revision).get(&key).copied();
        let version = found.map(|index| self.entries[index].revision);
        let check = |expected: Precondition| {
            let fine = match expected {
                Precondition::Any => true,
                Precondition::Absent => version.is_none(),
                Precondition::Version(wanted) => version == Some(wanted),
            };
            let conflict =
                StoreError::Conflict { key: Box::new(key.clone()), expected, found: version };
            if fine { Ok(()) } else { Err(conflict) }
        };
        let (done, form, text) = match change {
            Change::Put { text, form, expect, .. } => {
                check(*expect)?;
                let old = found.map(|index| &self.entries[index]);
                if old.is_some_and(|e| e.text.as_ref() == Some(text) && e.form == *form) {
                    let version = version.unwrap();
                    return Ok(WrittenChange { key, version, done: ChangeKind::Unchanged });
                }
                let done = if found.is_some() { ChangeKind::Changed } else { ChangeKind::Created };
                (done, *form, Some(text.clone()))
            }
            Change::Delete { expect, .. } => {
                let Some(index) = found else { return Err(StoreError::NotFound(Box::new(key))) };
                check(*expect)?;
                (ChangeKind::Deleted, self.entries[index].form, None)
            }
        };
        let created = found.map_or(at, |index| self.created[index]);
        self.created.push(created);
        let author = named(author);
        let entry = HistoryEntry {
            revision,
            at,
            author,
            key: key.clone(),
            done,
            version: revision,
            text,
            redacted: false,
            form,
        };
        self.entries.push(entry);
        Ok(WrittenChange { key, version: revision, done })
    }

    fn prune(&mut self, keep: u64) -> Pruned {
        let before = self.kept(self.horizon).len();
        let told = self.entries.iter().rev().filter(|entry| entry.revision > self.horizon);
        let first_gone = told.map(|entry| entry.revision).nth(keep as usize);
        self.horizon = first_gone.unwrap_or(self.horizon);
        let after = self.kept(self.horizon).len();
        Pruned { horizon: self.horizon, entries: (before - after) as u64 }
    }

    fn redact(&mut self, key: &ResourceKey) -> u64 {
        let spared = self.live(self.newest()).get(key).copied();
        let mut removed = 0;
        for index in self.kept(self.horizon) {
            let entry = &mut self.entries[index];
            if entry.key == *key && Some(index) != spared && entry.text.take().is_some() {
                entry.redacted = true;
                removed += 1;
            }
        }
        removed
    }

    fn feed(&self, after: u64, limit: usize) -> Result<Vec<HistoryEntry>, StoreError> {
        if after > self.newest() {
            return Err(StoreError::Future { newest: self.newest() });
        }
        if after < self.horizon {
            return Err(StoreError::Gone { horizon: self.horizon });
        }
        let all: Vec<_> = self.entries.iter().filter(|e| e.revision > after).cloned().collect();
        Ok(whole_revisions(all, limit.max(1)))
    }

    fn history(&self, filter: &HistoryFilter) -> Vec<HistoryEntry> {
        let fits = |entry: &&HistoryEntry| {
            entry.revision > self.horizon
                && filter.before.is_none_or(|before| entry.revision < before)
                && filter.key.as_ref().is_none_or(|key| entry.key == *key)
                && filter.place.as_ref().is_none_or(|place| entry.key.place == *place)
                && filter.author.as_ref().is_none_or(|author| entry.author.name == *author)
        };
        whole_revisions(self.entries.iter().rev().filter(fits).cloned().collect(), filter.limit)
    }
}

fn whole_revisions(entries: Vec<HistoryEntry>, limit: usize) -> Vec<HistoryEntry> {
    let mut page: Vec<HistoryEntry> = Vec::new();
    for entry in entries {
        if page.len() >= limit && page.last().is_none_or(|last| last.revision != entry.revision) {
            break;
        }
        page.push(entry);
    }
    page
}

fn changes(model: &Model, wishes: &[Wish]) -> Vec<Change> {
    let live = model.live(model.newest());
    let expect = |wish: &Wish| {
        let version = live.get(&key(wish.key)).map(|index| model.entries[*index].revision);
        match wish.expect {
            4 => Precondition::Absent,
            5 => version.map_or(Precondition::Absent, Precondition::Version),
            6 => Precondition::Version(version.unwrap_or(1) + 1),
            _ => Precondition::Any,
        }
    };
    wishes
        .iter()
        .map(|wish| match wish.text {
            Some((text, json)) => Change::Put {
                key: key(wish.key),
                text: format!("text {text}"),
                form: if json { TextFormat::Json } else { TextFormat::Yaml },
                expect: expect(wish),
            },
            None => Change::Delete { key: key(wish.key), expect: expect(wish) },
        })
        .collect()
}

fn run(store: &dyn Store, steps: &[Step]) {
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Commit { author, changes: wishes } => {
                commit(store, &mut model, author_name(*author), wishes);
            }
            Step::Prune(entries) => {
                let retention = Retention { entries: Some(*entries), age: None };
                assert_eq!(store.prune(&retention).unwrap(), model.prune(*entries));
            }
            Step::Redact(number) => {
                let key = key(*number);
                assert_eq!(
                    store.redact(Deadline::usual(), &named("root"), &key).unwrap(),
                    model.redact(&key)
                );
            }
            Step::Feed { after, limit } => {
                let after = u64::from(*after);
                assert_eq!(store.changes(after, *limit), model.feed(after, *limit));
            }
            Step::History { key: number, place, author, before, limit } => {
                let filter = HistoryFilter {
                    key: number.map(key),
                    place: place.map(|number| key(number).place),
                    author: author.map(|number| author_name(number).to_owned()),
                    before: before.map(u64::from),
                    limit: *limit,
                };
                assert_eq!(store.history(&filter).unwrap(), model.history(&filter));
            }
        }
        assert_eq!(store.snapshot(None), model.snapshot(None));
    }
    compare_all(store, &model);
}

fn commit(store: &dyn Store, model: &mut Model, author: &str, wishes: &[Wish]) {
    let changes = changes(model, wishes);
    let real = store.commit(&named(author), &changes);
    let at = real.as_ref().map_or(Timestamp::UNIX_EPOCH, |committed| committed.at);
    let expected = model.commit(author, &changes, at);
    let real = real.map(|Committed { revision, written, .. }| (revision, written));
    assert_eq!(real, expected);
}

/// Every revision, every key, every time.
fn compare_all(store: &dyn Store, model: &Model) {
    assert_eq!(store.revision().unwrap(), model.newest());
    assert!(model.times.is_sorted(), "times run backwards");
    for revision in 0..=model.newest() + 1 {
        let expected = model.snapshot(Some(revision));
        assert_eq!(store.snapshot(Some(revision)), expected);
        for number in 0..KEYS {
            let key = key(number);
            let one = expected
                .as_ref()
                .map_err(Clone::clone)
                .map(|snapshot| snapshot.records.iter().find(|record| record.key == key).cloned());
            assert_eq!(store.get(&key, Some(revision)), one);
        }
    }
    for time in &model.times {
        let revision = model.times.iter().filter(|other| *other <= time).count() as u64;
        let gone = Err(StoreError::Gone { horizon: model.horizon });
        let expected = if revision < model.horizon { gone } else { Ok(revision) };
        assert_eq!(store.revision_at(*time), expected);
    }
}

fn check(cases: u32, make: fn() -> Bench) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&steps(), |steps| {
            run(&*make().store, &steps);
            Ok(())
        })
        .unwrap();
}

#[test]
fn memory_answers_like_the_model() {
    check(256, memory);
}

#[test]
fn a_folder_answers_like_the_model() {
    check(48, folder);
}

#[test]
fn postgres_answers_like_the_model() {
    // The server lives as long as one test uses it.
    let _lab = crate::common::lab();
    check(16, postgres);
}
