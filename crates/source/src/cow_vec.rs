// SPDX-License-Identifier: Apache-2.0
//! A copy-on-write vector: a shared vector and the few items that differ from it. Not here: what the items are.
//!
//! A fleet is a hundred thousand of everything, and a change is about one of each. Whoever holds the previous vector
//! keeps it; the new one costs as much as what differs.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

/// A copy-on-write vector: it may have most of its items in common with others. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CowVec<T> {
    base: Arc<Vec<T>>,
    /// Items that took the place of those in `base`, sorted by place. There are few of them.
    over: SmallVec<[(u32, T); 1]>,
}

impl<T> Default for CowVec<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for CowVec<T> {
    fn from(items: Vec<T>) -> Self {
        Self { base: Arc::new(items), over: SmallVec::new() }
    }
}

impl<T> CowVec<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.base.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty()
    }

    /// All of them in a row, unless some took the place of others.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.over.is_empty().then_some(&self.base)
    }

    /// One item.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        if self.over.is_empty() {
            return self.base.get(at);
        }
        self.base.get(at).map(|item| self.over_at(at).unwrap_or(item))
    }

    fn over_at(&self, at: usize) -> Option<&T> {
        let found = self.over.binary_search_by_key(&at, |(place, _)| *place as usize).ok()?;
        self.over.get(found).map(|(_, item)| item)
    }

    /// Every item, in order.
    pub fn iter(&self) -> Items<'_, T> {
        self.range(0..self.len()).iter()
    }

    /// The items of a range; what is past the end is left out.
    pub fn range(&self, range: Range<usize>) -> ItemsRun<'_, T> {
        let end = range.end.min(self.len());
        ItemsRun { list: self, start: range.start.min(end), end }
    }

    /// The place of the first item that does not fit, in a list that is sorted so that all that fit come first.
    pub fn partition_point(&self, fits: impl Fn(&T) -> bool) -> usize {
        let (mut start, mut end) = (0, self.len());
        while start < end {
            let middle = start + (end - start) / 2;
            match self.get(middle).is_some_and(&fits) {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        start
    }

    /// The places whose items differ from those of another list of this length, in order. Where the two share their items,
    /// only the few that took the place of others are looked at.
    pub(crate) fn differing(&self, other: &Self, same: impl Fn(&T, &T) -> bool) -> Vec<usize> {
        let differs = |at: &usize| match (self.get(*at), other.get(*at)) {
            (Some(one), Some(two)) => !same(one, two),
            _ => true,
        };
        if !Arc::ptr_eq(&self.base, &other.base) {
            return (0..self.len()).filter(differs).collect();
        }
        let mut places: Vec<usize> =
            self.over.iter().chain(&other.over).map(|(at, _)| *at as usize).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().filter(differs).collect()
    }

    /// Puts another item in a place of the list; others that have this list keep theirs. Does nothing past the end.
    pub fn set(&mut self, at: usize, item: T) {
        let (Ok(place), true) = (u32::try_from(at), at < self.len()) else { return };
        let alone = if self.over.is_empty() { Arc::get_mut(&mut self.base) } else { None };
        if let Some(slot) = alone.and_then(|items| items.get_mut(at)) {
            *slot = item;
            return;
        }
        match self.over.binary_search_by_key(&place, |(known, _)| *known) {
            Ok(found) => {
                if let Some((_, known)) = self.over.get_mut(found) {
                    *known = item;
                }
            }
            Err(found) => self.over.insert(found, (place, item)),
        }
    }
}

impl<T: Clone> CowVec<T> {
    /// The list as one that can be written to everywhere. It is copied if somebody else has it.
    pub fn edit(&mut self) -> &mut Vec<T> {
        let items = Arc::make_mut(&mut self.base);
        for (place, item) in self.over.drain(..) {
            if let Some(slot) = items.get_mut(place as usize) {
                *slot = item;
            }
        }
        items
    }

    /// Adds an item. The list is copied if somebody else has it.
    pub fn push(&mut self, item: T) {
        Arc::make_mut(&mut self.base).push(item);
    }

    /// Gives up sharing with others if more than a few items differ, so that items are found nearly as quickly as in any
    /// list. The whole list is copied then, which must be rare: a change differs in one item, or in a few.
    pub fn compact(&mut self) {
        const FEW: usize = 256;
        if self.over.len() > FEW {
            self.edit();
        }
    }
}

impl<T: PartialEq> PartialEq for CowVec<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for CowVec<T> {}

impl<'a, T> IntoIterator for &'a CowVec<T> {
    type Item = &'a T;
    type IntoIter = Items<'a, T>;

    fn into_iter(self) -> Items<'a, T> {
        self.iter()
    }
}

/// Items that stand side by side in a list.
#[derive(Debug)]
pub struct ItemsRun<'a, T> {
    list: &'a CowVec<T>,
    start: usize,
    end: usize,
}

impl<T> Clone for ItemsRun<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ItemsRun<'_, T> {}

impl<'a, T> ItemsRun<'a, T> {
    /// Every item, in order.
    pub fn iter(self) -> Items<'a, T> {
        let base = self.list.base.get(self.start..self.end).unwrap_or(&[]);
        let over = self.list.over.partition_point(|(place, _)| (*place as usize) < self.start);
        let over = self.list.over.get(over..).unwrap_or(&[]);
        Items { at: self.start, base: base.iter(), over }
    }

    /// The first one.
    pub fn first(self) -> Option<&'a T> {
        self.iter().next()
    }

    /// The last one.
    pub fn last(self) -> Option<&'a T> {
        self.list.get(self.end.checked_sub(1)?).filter(|_| !self.is_empty())
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl<'a, T> IntoIterator for ItemsRun<'a, T> {
    type Item = &'a T;
    type IntoIter = Items<'a, T>;

    fn into_iter(self) -> Items<'a, T> {
        self.iter()
    }
}

/// Goes through items in order.
#[derive(Debug, Clone)]
pub struct Items<'a, T> {
    /// The place of the next one.
    at: usize,
    base: std::slice::Iter<'a, T>,
    /// What took the place of items from there on.
    over: &'a [(u32, T)],
}

impl<'a, T> Iterator for Items<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        let item = self.base.next()?;
        let at = self.at;
        self.at += 1;
        match self.over.split_first() {
            Some(((place, other), rest)) if *place as usize == at => {
                self.over = rest;
                Some(other)
            }
            _ => Some(item),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.base.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<&'a T> {
        self.at += n.min(self.base.len());
        let passed = self.over.partition_point(|(place, _)| (*place as usize) < self.at);
        self.over = self.over.get(passed..).unwrap_or(&[]);
        match n.checked_sub(1) {
            Some(skipped) => self.base.nth(skipped).and_then(|_| self.next()),
            None => self.next(),
        }
    }
}

impl<T> ExactSizeIterator for Items<'_, T> {}

#[cfg(test)]
mod tests {
    use super::CowVec;

    #[test]
    fn a_list_with_other_items_is_that_list() {
        let before: CowVec<u32> = (0..10).collect::<Vec<_>>().into();
        let mut now = before.clone();
        now.set(3, 30);
        now.set(7, 70);
        now.set(3, 31);
        now.set(10, 99);
        let expected = vec![0, 1, 2, 31, 4, 5, 6, 70, 8, 9];
        assert!(now.iter().eq(&expected) && before.iter().copied().eq(0..10));
        assert_eq!(now, CowVec::from(expected.clone()));
        assert_ne!(now, before);
        for (at, item) in expected.iter().enumerate() {
            assert_eq!(now.get(at), Some(item));
            assert_eq!(now.iter().nth(at), Some(item));
            assert!(now.iter().skip(at).eq(&expected[at..]), "after {at}");
        }
        assert_eq!((now.get(10), now.iter().nth(10)), (None, None));
        assert!(now.range(2..5).iter().eq(&expected[2..5]));
        assert_eq!((now.range(8..20).len(), now.range(20..30).is_empty()), (2, true));
        assert_eq!((now.range(3..8).first(), now.range(3..8).last()), (Some(&31), Some(&70)));
        assert_eq!((now.range(4..4).first(), now.range(4..4).last()), (None, None));
        assert_eq!(now.edit(), &expected);
        assert!(now.iter().eq(&expected) && before.iter().copied().eq(0..10));
        now.set(0, 5);
        assert!(now.over.is_empty() && now.get(0) == Some(&5), "nobody else has it");
    }

    #[test]
    fn a_place_is_found_by_halves() {
        for len in 0..20 {
            let list: CowVec<usize> = (0..len).collect::<Vec<_>>().into();
            (0..=len).for_each(|n| assert_eq!(list.partition_point(|item| *item < n), n));
        }
    }
}
