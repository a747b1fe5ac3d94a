// SPDX-License-Identifier: Apache-2.0
//! In: rules or entries, and an element. Out: the one that decides for the element. Not here: making rules.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::algebra::Subset;
use super::build::ElementRule;

/// The first rule that contains the element.
///
/// Groups of entries become rules on their own, so where values of one key make several groups the first rule is not
/// bound to know every entry that contains the element. [`exact`] finds the one that does.
pub fn first<K, V>(rules: &[ElementRule], element: &BTreeMap<K, V>) -> Option<usize>
where
    K: Borrow<str> + Ord,
    V: AsRef<str>,
{
    rules.iter().position(|rule| rule.subset.contains_element(element))
}

/// Of the rules that contain the element the one to which most entries contribute, the first of equals.
///
/// The rules of a complete list of entries that only demand values have one, for every element with at least one key,
/// to which all entries contribute that contain the element: no rule that contains it has another entry. That rule
/// merges what the entries say of the element, and its last entry is what [`decide`] finds.
pub fn exact<K, V>(rules: &[ElementRule], element: &BTreeMap<K, V>) -> Option<usize>
where
    K: Borrow<str> + Ord,
    V: AsRef<str>,
{
    let mut best: Option<(usize, usize)> = None;
    for (at, rule) in rules.iter().enumerate() {
        let more = best.is_none_or(|(most, _)| rule.relevant.len() > most);
        if more && rule.subset.contains_element(element) {
            best = Some((rule.relevant.len(), at));
        }
    }
    best.map(|(_, at)| at)
}

/// The last entry that contains the element: what a list of entries in merge order means, without any rules. Unlike
/// the rules, it finds the sets of everything for the element without keys.
pub fn decide<'s, I, K, V>(entries: I, element: &BTreeMap<K, V>) -> Option<usize>
where
    I: IntoIterator<Item = &'s Subset, IntoIter: ExactSizeIterator + DoubleEndedIterator>,
    K: Borrow<str> + Ord,
    V: AsRef<str>,
{
    entries.into_iter().rposition(|entry| entry.contains_element(element))
}

/// Rules by which entries decide when the first match counts: the last entry comes first, and a set that a later entry
/// has too is left out. As many rules as entries at most, whatever their keys: combinations are never made.
pub fn deciding(entries: &[Subset]) -> Vec<ElementRule> {
    let mut seen = std::collections::BTreeSet::new();
    let mut rules = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate().rev() {
        if seen.insert(entry.clone().canonical()) {
            rules.push(ElementRule { subset: entry.clone(), relevant: vec![at] });
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::super::Tag;
    use super::*;

    fn rule(tags: &[(&str, &str)], relevant: &[usize]) -> ElementRule {
        let subset = tags.iter().map(|(key, value)| Tag::is(*key, *value)).collect();
        ElementRule { subset, relevant: relevant.to_vec() }
    }

    #[test]
    fn first_and_exact() {
        let rules = [
            rule(&[("b", "1")], &[7]),
            rule(&[("a", "1")], &[0, 1]),
            rule(&[], &[0, 2]),
            rule(&[], &[0]),
        ];
        let element = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        assert_eq!(first(&rules, &element), Some(1));
        assert_eq!(exact(&rules, &element), Some(1), "the first of two with as many");
        let both = BTreeMap::from([("a", "1"), ("b", "1")]);
        assert_eq!((first(&rules, &both), exact(&rules, &both)), (Some(0), Some(1)));
        assert_eq!(first(&rules[..2], &BTreeMap::from([("c", "1")])), None);
        assert_eq!(exact(&rules[..2], &BTreeMap::from([("c", "1")])), None);
    }

    #[test]
    fn the_last_entry_decides() {
        let entries = [Subset::default(), Subset::new([Tag::is("a", "1")]), Subset::default()];
        let nothing: BTreeMap<&str, &str> = BTreeMap::new();
        assert_eq!(decide(&entries, &nothing), Some(2));
        assert_eq!(decide(&entries[..2], &BTreeMap::from([("a", "1")])), Some(1));
        assert_eq!(decide(&entries[1..2], &nothing), None);
        assert_eq!(decide(&[], &nothing), None);
    }
}
