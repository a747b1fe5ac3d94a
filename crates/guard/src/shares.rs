// SPDX-License-Identifier: Apache-2.0
//! In: who asks for part of something that all use: connections, places, bytes. Out: a share, while there is enough left,
//! in all and for that one. Not here: waiting for one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something that all use, and how much of it one may have.
#[derive(Debug)]
pub struct Shares<K> {
    most: usize,
    most_per_owner: usize,
    taken: Mutex<Taken<K>>,
}

/// No larger than the number of shares.
#[derive(Debug)]
struct Taken<K> {
    all: usize,
    by_owner: BTreeMap<K, usize>,
}

/// What somebody took; given back when dropped.
#[derive(Debug)]
pub struct Share<K: Ord> {
    of: Arc<Shares<K>>,
    owner: K,
    size: usize,
}

/// Why there is no share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// All of it is taken.
    All,
    /// This one has as much as one may have.
    Own,
}

/// What one of several owners may take of so much: three quarters, so that something is always left for others.
#[must_use]
pub fn fair_part(most: usize) -> usize {
    (most - most / 4).min(most.saturating_sub(1)).max(1)
}

impl<K: Ord + Clone> Shares<K> {
    /// So much of it, and so much of that for one.
    #[must_use]
    pub fn new(most: usize, most_per_owner: usize) -> Arc<Self> {
        let taken = Mutex::new(Taken { all: 0, by_owner: BTreeMap::new() });
        Arc::new(Self { most, most_per_owner, taken })
    }

    /// So much of it, of which one may have [`fair_part`].
    #[must_use]
    pub fn fair(most: usize) -> Arc<Self> {
        Self::new(most, fair_part(most))
    }

    fn taken(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much is taken now.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.taken().all
    }

    /// So much of it.
    ///
    /// # Errors
    /// When there is not enough left.
    pub fn take(self: &Arc<Self>, owner: K, size: usize) -> Result<Share<K>, Full> {
        self.grant(&owner, size, self.most_per_owner)?;
        Ok(Share { of: Arc::clone(self), owner, size })
    }

    /// So much of it, for somebody with whom nobody has to share.
    ///
    /// # Errors
    /// When there is not enough left.
    pub fn take_any(self: &Arc<Self>, owner: K, size: usize) -> Result<Share<K>, Full> {
        self.grant(&owner, size, self.most)?;
        Ok(Share { of: Arc::clone(self), owner, size })
    }

    fn grant(&self, owner: &K, size: usize, most_per_owner: usize) -> Result<(), Full> {
        let mut taken = self.taken();
        let own = taken.by_owner.get(owner).copied().unwrap_or(0);
        if taken.all.saturating_add(size) > self.most {
            return Err(Full::All);
        }
        if own.saturating_add(size) > most_per_owner {
            return Err(Full::Own);
        }
        taken.all += size;
        taken.by_owner.insert(owner.clone(), own + size);
        Ok(())
    }
}

impl<K: Ord> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all = taken.all.saturating_sub(self.size);
        match taken.by_owner.get_mut(&self.owner) {
            Some(own) if *own > self.size => *own -= self.size,
            _ => {
                taken.by_owner.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_run_out_and_come_back() {
        let shares = Shares::new(3, 2);
        let first = shares.take("a", 1).unwrap();
        let _second = shares.take("a", 1).unwrap();
        assert_eq!(shares.take("a", 1).unwrap_err(), Full::Own);
        let third = shares.take("b", 1).unwrap();
        assert_eq!(shares.take("c", 1).unwrap_err(), Full::All);
        drop(first);
        assert_eq!(shares.take("c", 2).unwrap_err(), Full::All, "one is left, not two");
        drop(third);
        assert_eq!(shares.taken().by_owner.len(), 1, "nobody is remembered who is gone");
        let all = shares.take_any("a", 2).unwrap();
        assert_eq!(shares.in_use(), 3);
        drop(all);
        assert_eq!(shares.in_use(), 1);
    }

    #[test]
    fn nobody_can_have_all_of_what_several_could_use() {
        for most in 2..2000 {
            assert!((1..most).contains(&fair_part(most)), "{most}");
        }
        assert_eq!(fair_part(1), 1);
    }
}
