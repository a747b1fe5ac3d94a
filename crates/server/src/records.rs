// SPDX-License-Identifier: Apache-2.0
//! In: records as they come, change and go. Out: all of them by key, where a copy costs little and shares everything that
//! stays. Not here: what is in a record.
//!
//! Every version of the store keeps its records, and a change is about a few of a hundred thousand. They lie in sorted
//! chunks behind shared pointers: a copy shares the chunks, and a change copies the one it is about.

use std::sync::Arc;

use overrule_store::{Key, Record};

/// A chunk with more is split. The list of chunks and a chunk are what a change copies.
const CHUNK: usize = 512;

type Chunk = Vec<Arc<Record>>;

/// Resources by identity, sorted by key. Cheap to copy.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// None of them is empty.
    chunks: Vec<Arc<Chunk>>,
}

impl Records {
    /// Where a key is, or would be: its chunk, and the place there.
    fn place(&self, key: &Key) -> (usize, Result<usize, usize>) {
        let before = |chunk: &Arc<Chunk>| chunk.last().is_some_and(|last| last.key < *key);
        let at = self.chunks.partition_point(before).min(self.chunks.len().saturating_sub(1));
        let chunk = self.chunks.get(at);
        (at, chunk.map_or(Err(0), |chunk| chunk.binary_search_by(|r| r.key.cmp(key))))
    }

    /// The record of a key.
    pub fn get(&self, key: &Key) -> Option<&Arc<Record>> {
        let (chunk, place) = self.place(key);
        self.chunks.get(chunk)?.get(place.ok()?)
    }

    /// Whether there is one.
    pub fn contains_key(&self, key: &Key) -> bool {
        self.get(key).is_some()
    }

    /// Every record, by key.
    pub fn values(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Every key, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.values().map(|record| &record.key)
    }

    /// Adds a record, or puts it in the place of the one with its key.
    pub fn insert(&mut self, record: Arc<Record>) {
        let (at, place) = self.place(&record.key);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(vec![record]));
            return;
        };
        let chunk = Arc::make_mut(chunk);
        match place {
            Ok(place) => {
                if let Some(known) = chunk.get_mut(place) {
                    *known = record;
                }
            }
            Err(place) => chunk.insert(place, record),
        }
        if chunk.len() > CHUNK {
            let rest = chunk.split_off(chunk.len() / 2);
            self.chunks.insert(at + 1, Arc::new(rest));
        }
    }

    /// Removes the record of a key.
    pub fn remove(&mut self, key: &Key) {
        let (at, Ok(place)) = self.place(key) else { return };
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        let chunk = Arc::make_mut(chunk);
        chunk.remove(place);
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
    }
}

/// Of several records with one key, the last counts.
impl FromIterator<Record> for Records {
    fn from_iter<I: IntoIterator<Item = Record>>(all: I) -> Self {
        let mut all: Chunk = all.into_iter().map(Arc::new).collect();
        all.reverse();
        all.sort_by(|a, b| a.key.cmp(&b.key));
        all.dedup_by(|b, a| a.key == b.key);
        Self { chunks: all.chunks(CHUNK / 2).map(|chunk| Arc::new(chunk.to_vec())).collect() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use overrule_store::{Form, Key, Place, Record};
    use proptest::prelude::*;

    use super::Records;

    fn record(name: u16, version: u64) -> Record {
        let key = Key {
            group: String::new(),
            kind: "K".to_owned(),
            place: Place::Cluster,
            name: format!("{name:05}"),
        };
        let now = jiff::Timestamp::UNIX_EPOCH;
        let text = String::new();
        Record { key, text, form: Form::Yaml, version, created: now, modified: now }
    }

    fn told<'a>(records: impl Iterator<Item = &'a Arc<Record>>) -> Vec<(Key, u64)> {
        records.map(|r| (r.key.clone(), r.version)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn they_are_a_sorted_map(
            start in prop::collection::vec(0..3000u16, 0..1500),
            edits in prop::collection::vec((0..3000u16, any::<bool>()), 0..1500),
        ) {
            let mut records: Records = start.iter().map(|name| record(*name, 0)).collect();
            let all = start.iter().map(|name| record(*name, 0));
            let mut map: BTreeMap<Key, Arc<Record>> = all.map(|r| (r.key.clone(), Arc::new(r))).collect();
            let before = (records.clone(), told(map.values()));
            for (version, (name, put)) in (1..).zip(edits) {
                let record = Arc::new(record(name, version));
                prop_assert_eq!(records.contains_key(&record.key), map.contains_key(&record.key));
                if put {
                    records.insert(Arc::clone(&record));
                    map.insert(record.key.clone(), record);
                } else {
                    records.remove(&record.key);
                    map.remove(&record.key);
                }
            }
            prop_assert_eq!(told(records.values()), told(map.values()));
            prop_assert_eq!(told(before.0.values()), before.1, "a copy keeps what it was");
            for key in map.keys() {
                prop_assert_eq!(records.get(key).map(|r| r.version), map.get(key).map(|r| r.version));
            }
        }
    }
}
