// SPDX-License-Identifier: Apache-2.0
//! A copy-on-write sorted map: sorted chunks behind shared pointers. A copy shares the chunks, and a change copies the one
//! it is about. Not here: what the values are; each knows its key.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A chunk with more is split. The list of chunks and one chunk are what a change copies.
const CHUNK: usize = 512;

/// Values sorted by their keys, each key once. Cheap to copy.
pub struct SortedChunks<K, V> {
    key: fn(&V) -> &K,
    /// None of them is empty.
    chunks: Vec<Arc<Vec<V>>>,
}

impl<K, V> Clone for SortedChunks<K, V> {
    fn clone(&self) -> Self {
        Self { key: self.key, chunks: self.chunks.clone() }
    }
}

impl<K, V: fmt::Debug> fmt::Debug for SortedChunks<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values()).finish()
    }
}

impl<K, V> SortedChunks<K, V> {
    /// Every value, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Every key, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.values().map(self.key)
    }
}

impl<K: Ord, V: Clone> SortedChunks<K, V> {
    /// These values; of several with one key, the last counts.
    pub fn new(key: fn(&V) -> &K, values: impl IntoIterator<Item = V>) -> Self {
        let mut all: Vec<V> = values.into_iter().collect();
        all.reverse();
        all.sort_by(|a, b| key(a).cmp(key(b)));
        all.dedup_by(|b, a| key(a) == key(b));
        Self { key, chunks: all.chunks(CHUNK / 2).map(|chunk| Arc::new(chunk.to_vec())).collect() }
    }

    /// Where a key is, or would be: its chunk, and the place there.
    fn place(&self, key: &K) -> (usize, Result<usize, usize>) {
        let before = |chunk: &Arc<Vec<V>>| chunk.last().is_some_and(|last| (self.key)(last) < key);
        let at = self.chunks.partition_point(before).min(self.chunks.len().saturating_sub(1));
        let found =
            self.chunks.get(at).map(|chunk| chunk.binary_search_by(|v| (self.key)(v).cmp(key)));
        (at, found.unwrap_or(Err(0)))
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        let (chunk, place) = self.place(key);
        self.chunks.get(chunk)?.get(place.ok()?)
    }

    /// Whether there is one.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// The values whose keys are in a range.
    pub fn range(&self, range: RangeInclusive<K>) -> impl Iterator<Item = &V> {
        let (chunk, found) = self.place(range.start());
        let (Ok(place) | Err(place)) = found;
        let rest = self.chunks.iter().skip(chunk).flat_map(|chunk| chunk.iter()).skip(place);
        rest.take_while(move |value| range.contains((self.key)(value)))
    }

    /// Adds a value, or puts it in the place of the one with its key.
    pub fn insert(&mut self, value: V) {
        let (at, place) = self.place((self.key)(&value));
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(vec![value]));
            return;
        };
        let chunk = Arc::make_mut(chunk);
        match place {
            Ok(place) => {
                if let Some(known) = chunk.get_mut(place) {
                    *known = value;
                }
            }
            Err(place) => chunk.insert(place, value),
        }
        if chunk.len() > CHUNK {
            let rest = chunk.split_off(chunk.len() / 2);
            self.chunks.insert(at + 1, Arc::new(rest));
        }
    }

    /// Removes the value of a key.
    pub fn remove(&mut self, key: &K) {
        let (at, Ok(place)) = self.place(key) else { return };
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        let chunk = Arc::make_mut(chunk);
        chunk.remove(place);
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
    }
}
