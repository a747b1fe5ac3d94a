// SPDX-License-Identifier: Apache-2.0
//! In: answers and parts of answers, as they are made. Out: the same again without making them, as long as they are
//! held. Not here: what is held.
//!
//! A memo belongs to one revision and is dropped with it. Its size is limited; the oldest entry goes first.
//! Nothing is made while a lock is held, so readers wait for nobody who computes.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::{DefaultHashBuilder, Equivalent, HashMap};

/// Parts that are locked on their own.
const SHARDS: usize = 16;

/// What something held costs.
pub(super) trait Weigh {
    /// About how many bytes.
    fn weight(&self) -> usize;
}

impl Weigh for Vec<u32> {
    fn weight(&self) -> usize {
        self.len() * size_of::<u32>()
    }
}

struct Shard<K, T> {
    held: HashMap<K, Arc<T>>,
    order: VecDeque<K>,
    bytes: usize,
}

/// Things by key.
pub(super) struct Memo<K, T> {
    shards: Vec<RwLock<Shard<K, T>>>,
    hasher: DefaultHashBuilder,
    /// Most bytes of one shard.
    most: usize,
}

impl<K: Hash + Eq + Clone, T: Weigh> Memo<K, T> {
    /// A memo of at most so many bytes.
    pub(super) fn new(most: usize) -> Self {
        let shard =
            |_| RwLock::new(Shard { held: HashMap::new(), order: VecDeque::new(), bytes: 0 });
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            hasher: DefaultHashBuilder::default(),
            most: most / SHARDS,
        }
    }

    /// What is held under a key; if nothing is, what `make` gives, which is then held.
    pub(super) fn get<Q>(
        &self,
        key: &Q,
        owned: impl FnOnce() -> K,
        make: impl FnOnce() -> T,
    ) -> Arc<T>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        let at = usize::try_from(hash % SHARDS as u64).unwrap_or(0);
        let Some(shard) = self.shards.get(at) else { return Arc::new(make()) };
        // Nothing panics while a lock is held; if it did, what is held is whole all the same.
        if let Some(known) = shard.read().unwrap_or_else(PoisonError::into_inner).held.get(key) {
            return known.clone();
        }
        let made = Arc::new(make());
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have been faster; everybody shall have the same.
        if let Some(known) = shard.held.get(key) {
            return known.clone();
        }
        shard.put(owned(), made.clone(), self.most);
        made
    }

    /// How many bytes are held.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.shards.iter().map(|s| s.read().map_or(0, |s| s.bytes)).sum()
    }
}

impl<K: Hash + Eq + Clone, T: Weigh> Shard<K, T> {
    fn put(&mut self, key: K, made: Arc<T>, most: usize) {
        self.bytes += made.weight();
        self.order.push_back(key.clone());
        self.held.insert(key, made);
        while self.bytes > most && self.order.len() > 1 {
            let Some(oldest) = self.order.pop_front() else { return };
            let gone = self.held.remove(&oldest).map_or(0, |gone| gone.weight());
            self.bytes = self.bytes.saturating_sub(gone);
        }
    }
}

/// A list of policies of one mesh, by place; and the same borrowed, to look it up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ListKey(pub(super) u32, pub(super) Box<[u32]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ListRef<'a>(pub(super) u32, pub(super) &'a [u32]);

impl Equivalent<ListKey> for ListRef<'_> {
    fn equivalent(&self, key: &ListKey) -> bool {
        self.0 == key.0 && *self.1 == *key.1
    }
}

impl ListRef<'_> {
    pub(super) fn owned(self) -> ListKey {
        ListKey(self.0, self.1.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_made_once_and_the_first_goes_first() {
        let memo: Memo<ListKey, Vec<u32>> = Memo::new(SHARDS * 400);
        let mut made = 0;
        for _ in 0..3 {
            let key = ListRef(0, &[1, 2]);
            let found = memo.get(
                &key,
                || key.owned(),
                || {
                    made += 1;
                    vec![7]
                },
            );
            assert_eq!(*found, [7]);
        }
        assert_eq!(made, 1);
        for n in 0..10_000 {
            let list = [n];
            let key = ListRef(1, &list);
            memo.get(&key, || key.owned(), || vec![n; 10]);
        }
        assert!(memo.bytes() <= SHARDS * 400, "{}", memo.bytes());
        let mut again = 0;
        let key = ListRef(0, &[1, 2]);
        memo.get(
            &key,
            || key.owned(),
            || {
                again += 1;
                vec![]
            },
        );
        assert_eq!(again, 1, "it had to go");
    }

    #[test]
    fn something_larger_than_the_memo_is_still_answered() {
        let memo: Memo<u32, Vec<u32>> = Memo::new(0);
        assert_eq!(memo.get(&1, || 1, || vec![1; 100]).len(), 100);
        assert_eq!(memo.get(&1, || 1, Vec::new).len(), 100);
    }
}
