// SPDX-License-Identifier: Apache-2.0
//! In: the sets of entries, in merge order. Out: rules, most demanding first, each with the entries whose confs it
//! merges. Not here: the confs; reading the rules.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::algebra::{Subset, Tag};
use super::bits::Bits;
use super::cliques::groups;
use super::combine::combinations;
use super::walk::Index;
use super::work::{TAG_STEPS, Work};

/// The most entries that rules over several keys are made of: who is compatible with whom takes a bit per pair.
pub const MAX_ENTRIES: usize = 16_384;

/// A set of elements and the entries that speak of all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementRule {
    /// The elements.
    pub subset: Subset,
    /// Numbers of the entries that contain them, in merge order: the last one wins. Never empty.
    pub relevant: Vec<usize>,
}

/// What [`build`] made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Built {
    /// The rules, in the order [`first`](super::first) reads them.
    pub rules: Vec<ElementRule>,
    /// Whether rules are missing because a limit was met. Lookups in such a list mean nothing;
    /// [`decide`](super::decide) still answers.
    pub cut: bool,
}

/// The rules of a list of entries.
///
/// Without `negations`, and if the entries use one key at most, each distinct set is a rule. Otherwise entries that
/// could speak of one element are grouped, and each way to say yes or no to the tags of a group is a rule if some
/// entry contains it. The rules with most demanded values come first; beyond that the order is fixed by the numbers of
/// the entries.
///
/// Both the groups and the ways of one group can be exponentially many. At most `limit` rules are made, with work in
/// proportion to `limit` and the size of the entries; that rules are missing is told by [`Built::cut`]. Which ones are
/// there then depends on the arguments only, and can be none: each group makes a rule, so more groups than `limit` are
/// not begun.
pub fn build(entries: &[Subset], negations: bool, limit: usize) -> Built {
    let mut out = Output::new(entries, limit);
    if !negations && keys(entries) <= 1 {
        one_key(entries, &mut out);
        return out.sorted_by(|rule| rule.subset.tags().len());
    }
    match Index::of(entries) {
        _ if entries.len() > MAX_ENTRIES => out.work.cut = true,
        Some(index) => {
            for group in groups(&index.near(), limit, &mut out.work) {
                index.walk(&group, &mut out);
            }
        }
        None => try_all(entries, &mut out),
    }
    out.sorted_by(|rule| rule.subset.positives())
}

/// How many keys the entries use.
fn keys(entries: &[Subset]) -> usize {
    entries.iter().flat_map(Subset::tags).map(|tag| &tag.key).collect::<BTreeSet<_>>().len()
}

/// Rules on the way, and what they may cost.
pub(super) struct Output {
    pub(super) rules: Vec<ElementRule>,
    pub(super) work: Work,
    limit: usize,
}

impl Output {
    fn new(entries: &[Subset], limit: usize) -> Self {
        let tags: usize = entries.iter().map(|entry| entry.tags().len()).sum();
        let size = limit.saturating_add(entries.len()).saturating_add(tags);
        Self { rules: Vec::new(), work: Work::of(size), limit }
    }

    /// Whether one more rule of this size may be added; it is paid for.
    pub(super) fn admits(&mut self, tags: usize, relevant: usize) -> bool {
        if self.rules.len() >= self.limit {
            self.work.cut = true;
        }
        self.work.spend(tags.saturating_mul(TAG_STEPS).saturating_add(relevant))
    }

    fn sorted_by(mut self, rank: impl Fn(&ElementRule) -> usize) -> Built {
        self.rules.sort_by_cached_key(|rule| Reverse(rank(rule)));
        Built { rules: self.rules, cut: self.work.cut }
    }
}

/// Every distinct set is a rule, in the order of first appearance. A set of one demanded value contains nothing but
/// itself where there is one key, so only the other sets have to be asked about each.
fn one_key(entries: &[Subset], out: &mut Output) {
    let mut numbers: BTreeMap<&Subset, Vec<usize>> = BTreeMap::new();
    let mut order: Vec<&Subset> = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let same = numbers.entry(entry).or_default();
        if same.is_empty() {
            order.push(entry);
        }
        same.push(number);
    }
    let wide = |set: &&Subset| !matches!(set.tags(), [tag] if !tag.not);
    let wide: Vec<&Subset> = order.iter().copied().filter(wide).collect();
    for set in order {
        let around = wide.iter().copied().filter(|w| *w != set && w.contains_subset(set));
        let own = std::iter::once(set).filter(|set| set.contains_subset(set));
        let sets = own.chain(around);
        let mut relevant: Vec<usize> =
            sets.filter_map(|s| numbers.get(s)).flatten().copied().collect();
        relevant.sort_unstable();
        if relevant.is_empty() {
            continue;
        }
        if !out.admits(set.tags().len().saturating_add(wide.len()), relevant.len()) {
            return;
        }
        out.rules.push(ElementRule { subset: set.clone(), relevant });
    }
}

/// The same as [`Index::walk`] over all groups, for entries of any form: by trying every combination on every entry.
fn try_all(entries: &[Subset], out: &mut Output) {
    let tags: usize = entries.iter().map(|entry| entry.tags().len().saturating_add(1)).sum();
    let mut near = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        if !out.work.spend(tags) {
            return;
        }
        let mut company = Bits::none(entries.len());
        company.insert(number);
        let compatible = entries.iter().enumerate().filter(|(_, other)| entry.intersects(other));
        compatible.for_each(|(other, _)| company.insert(other));
        near.push(company);
    }
    for group in groups(&near, out.limit, &mut out.work) {
        for subset in combinations(&sorted_tags(entries, &group)) {
            if !out.work.spend(tags) {
                return;
            }
            let contain = entries.iter().enumerate().filter(|(_, e)| e.contains_subset(&subset));
            let relevant: Vec<usize> = contain.map(|(number, _)| number).collect();
            if relevant.is_empty() {
                continue;
            }
            if !out.admits(subset.tags().len(), relevant.len()) {
                return;
            }
            out.rules.push(ElementRule { subset, relevant });
        }
    }
}

/// The tags of a group, each once, by key and value.
fn sorted_tags(entries: &[Subset], group: &[usize]) -> Vec<Tag> {
    let of_group = group.iter().filter_map(|entry| entries.get(*entry));
    let tags: BTreeSet<&Tag> = of_group.flat_map(Subset::tags).collect();
    tags.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests;
