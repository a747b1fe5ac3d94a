// SPDX-License-Identifier: Apache-2.0
//! In: a group of compatible entries that demand values only. Out: its combinations that some entry contains, with
//! those entries, in the order of [`combinations`](super::combinations). Not here: entries with exclusions.
//!
//! Compatible entries agree on the value of every key, so a combination says yes or no to each tag, and an entry
//! contains it if it says yes to all of the entry's tags. An entry outside the group contains none of them: it would be
//! compatible with all of the group. Every branch that still has an entry ends in a rule, so the walk takes as long as
//! its result is large.

use std::sync::Arc;

use super::algebra::{Subset, Tag};
use super::bits::Bits;
use super::build::{ElementRule, Output};

/// The tags of all entries, each once, by key and value.
#[derive(Debug)]
pub(super) struct Index<'a> {
    tags: Vec<&'a Tag>,
    /// Per entry the numbers of its tags.
    of: Vec<Vec<usize>>,
}

impl<'a> Index<'a> {
    /// None if an entry excludes a value, or demands two of one key.
    pub(super) fn of(entries: &'a [Subset]) -> Option<Self> {
        let mut tags: Vec<&Tag> = entries.iter().flat_map(Subset::tags).collect();
        tags.sort_unstable();
        tags.dedup();
        if tags.iter().any(|tag| tag.not) {
            return None;
        }
        let number = |tag: &Tag| tags.binary_search(&tag).ok();
        let of: Vec<Vec<usize>> = entries
            .iter()
            .map(|entry| {
                let mut of: Vec<usize> = entry.tags().iter().filter_map(number).collect();
                of.sort_unstable();
                of
            })
            .collect();
        let index = Self { tags, of };
        index.of.iter().all(|of| index.keys_differ(of)).then_some(index)
    }

    fn keys_differ(&self, tags: &[usize]) -> bool {
        let keys = tags.iter().map(|tag| self.tags.get(*tag).map(|tag| &tag.key));
        keys.clone().zip(keys.skip(1)).all(|(a, b)| a != b)
    }

    /// Per entry the entries compatible with it, key by key: those with another value of the key are not.
    pub(super) fn near(&self) -> Vec<Bits> {
        let entries = self.of.len();
        let mut holders: Vec<Vec<usize>> = vec![Vec::new(); self.tags.len()];
        for (entry, of) in self.of.iter().enumerate() {
            for tag in of {
                if let Some(holders) = holders.get_mut(*tag) {
                    holders.push(entry);
                }
            }
        }
        let mut near = vec![Bits::all(entries); entries];
        let tagged: Vec<(&Tag, Vec<usize>)> = self.tags.iter().copied().zip(holders).collect();
        for same_key in tagged.chunk_by(|(a, _), (b, _)| a.key == b.key) {
            let all = bits(entries, same_key.iter().flat_map(|(_, holders)| holders));
            for (_, holders) in same_key.iter().filter(|_| same_key.len() > 1) {
                let others = all.without(&bits(entries, holders));
                for entry in holders {
                    if let Some(near) = near.get_mut(*entry) {
                        *near = near.without(&others);
                    }
                }
            }
        }
        near
    }

    /// Writes the rules of a group.
    pub(super) fn walk(&self, group: &[usize], out: &mut Output) {
        let of = || group.iter().filter_map(|entry| self.of.get(*entry));
        let mut tags: Vec<usize> = of().flatten().copied().collect();
        tags.sort_unstable();
        tags.dedup();
        let mut demanders = vec![Bits::none(group.len()); tags.len()];
        for (at, of) in of().enumerate() {
            for tag in of {
                let place = tags.binary_search(tag).ok();
                if let Some(demanders) = place.and_then(|place| demanders.get_mut(place)) {
                    demanders.insert(at);
                }
            }
        }
        let tags: Vec<&Tag> = tags.iter().filter_map(|tag| self.tags.get(*tag).copied()).collect();
        let not = vec![false; tags.len()];
        Walk { group, tags, demanders, not }.run(out);
    }
}

fn bits<'a>(bound: usize, numbers: impl IntoIterator<Item = &'a usize>) -> Bits {
    let mut set = Bits::none(bound);
    numbers.into_iter().for_each(|n| set.insert(*n));
    set
}

/// The walk over the combinations of one group.
struct Walk<'a> {
    group: &'a [usize],
    tags: Vec<&'a Tag>,
    /// Per tag the members of the group, by place, that demand it.
    demanders: Vec<Bits>,
    /// What the branch at hand says to each tag.
    not: Vec<bool>,
}

/// A branch to take: the tags from `open` on are answered.
struct Branch {
    open: usize,
    /// The answer to the tag at `open`.
    not: bool,
    /// The members no answer has excluded.
    alive: Bits,
}

impl Walk<'_> {
    /// The first tag changes fastest, so the last is answered first. Saying yes to all is the counter's start, which
    /// comes last.
    fn run(mut self, out: &mut Output) {
        let everyone = Bits::all(self.group.len());
        let mut branches =
            vec![Branch { open: self.tags.len(), not: false, alive: everyone.clone() }];
        let mut at_start = true;
        while let Some(branch) = branches.pop() {
            if !out.work.spend(branch.alive.words().saturating_add(1)) {
                return;
            }
            if let Some(not) = self.not.get_mut(branch.open) {
                *not = branch.not;
            }
            match branch.open.checked_sub(1) {
                Some(open) => self.fork(open, branch.alive, &mut branches),
                None if at_start => at_start = false,
                None => self.write(&branch.alive, out),
            }
        }
        self.not.fill(false);
        self.write(&everyone, out);
    }

    fn fork(&self, open: usize, alive: Bits, branches: &mut Vec<Branch>) {
        let Some(demanders) = self.demanders.get(open) else { return };
        let rest = alive.without(demanders);
        if !rest.is_empty() {
            branches.push(Branch { open, not: true, alive: rest });
        }
        branches.push(Branch { open, not: false, alive });
    }

    fn write(&self, alive: &Bits, out: &mut Output) {
        if !out.admits(self.tags.len(), alive.count()) {
            return;
        }
        let tag = |(tag, not): (&&Tag, &bool)| Tag {
            key: Arc::clone(&tag.key),
            value: Arc::clone(&tag.value),
            not: *not,
        };
        let subset = Subset::of_distinct(self.tags.iter().zip(&self.not).map(tag).collect());
        let relevant = alive.iter().filter_map(|at| self.group.get(at).copied()).collect();
        out.rules.push(ElementRule { subset, relevant });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(tags: &[(&str, &str)]) -> Subset {
        tags.iter().map(|(key, value)| Tag::is(*key, *value)).collect()
    }

    #[test]
    fn exclusions_and_contradictions_are_for_others() {
        assert!(Index::of(&[Subset::new([Tag::is_not("a", "1")])]).is_none());
        assert!(Index::of(&[set(&[("a", "1"), ("b", "1"), ("a", "2")])]).is_none());
        assert!(Index::of(&[set(&[("a", "1")]), set(&[("a", "2")])]).is_some());
    }

    #[test]
    fn near_is_intersects() {
        let mut entries = vec![set(&[])];
        for a in ["1", "2", "3"] {
            entries.push(set(&[("a", a)]));
            for b in ["1", "2"] {
                entries.push(set(&[("b", b)]));
                entries.push(set(&[("b", b), ("a", a)]));
            }
        }
        let near = Index::of(&entries).unwrap().near();
        for (a, at) in entries.iter().zip(0..) {
            for (b, bt) in entries.iter().zip(0..) {
                assert_eq!(near[at].has(bt), at == bt || a.intersects(b), "{a:?} {b:?}");
            }
        }
    }
}
