// SPDX-License-Identifier: Apache-2.0
//! In: random lists of entries over few keys and values, and lists made to explode. Out: whether rules mean what the
//! entries mean, and whether building them ends. Not here: the order of rules; the data decides that.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a broken expectation shall stop the test; a test may look at the clock"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use overrule_mesh::subset::{
    Built, ElementRule, Subset, Tag, build, combinations, decide, exact, first,
};

const KEYS: [&str; 3] = ["a", "b", "c"];
const VALUES: [&str; 4] = ["1", "2", "3", "4"];
const LISTS: u64 = 3_000;
const FEWER: u64 = 1_000;

type Element = BTreeMap<&'static str, &'static str>;

/// The generator of Steele and Lea, splitmix: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    /// Up to seven entries over some keys and values; one value more is left for elements only.
    fn entries(&mut self) -> Vec<Subset> {
        let (keys, values) = ([1, 2, 3, 3, 3][self.below(5)], [1, 2, 2, 3][self.below(4)]);
        (0..self.below(8).max(self.below(8))).map(|_| self.entry(keys, values)).collect()
    }

    fn entry(&mut self, keys: usize, values: usize) -> Subset {
        let mut tags = Vec::new();
        for key in KEYS.iter().take(keys) {
            if self.below(2) == 0 {
                tags.push(Tag::is(*key, VALUES[self.below(values)]));
            }
        }
        Subset::new(tags)
    }
}

/// Every element over the keys, each absent or with one of the values; the empty one left out.
fn elements() -> Vec<Element> {
    let mut all = vec![Element::new()];
    for key in KEYS {
        let longer = |e: &Element| {
            let with = |value| e.clone().into_iter().chain([(key, value)]).collect::<Element>();
            VALUES.map(with)
        };
        let more: Vec<Element> = all.iter().flat_map(longer).collect();
        all.extend(more);
    }
    all.retain(|element| !element.is_empty());
    all
}

fn complete(entries: &[Subset], negations: bool) -> Vec<ElementRule> {
    let built = build(entries, negations, 100_000);
    assert!(!built.cut);
    built.rules
}

fn last(rules: &[ElementRule], at: Option<usize>) -> Option<usize> {
    at.and_then(|at| rules[at].relevant.last().copied())
}

/// Whether all values demanded are of one key, or no key has two: then the rules that contain an element are all
/// about the same, and the first is as good as any.
fn simple(entries: &[Subset]) -> bool {
    let tags: BTreeSet<&Tag> = entries.iter().flat_map(Subset::tags).collect();
    let keys: BTreeSet<&str> = tags.iter().map(|tag| &*tag.key).collect();
    keys.len() <= 1 || keys.len() == tags.len()
}

#[test]
fn rules_mean_what_the_entries_mean() {
    let elements = elements();
    let mut simple_lists = 0;
    for seed in 0..LISTS {
        let entries = Dice(seed).entries();
        let rules = complete(&entries, true);
        let is_simple = simple(&entries);
        simple_lists += u64::from(is_simple);
        for element in &elements {
            let meant = decide(&entries, element);
            let found = exact(&rules, element);
            assert_eq!(last(&rules, found), meant, "{seed} {element:?} {entries:?}");
            let contain = (0..entries.len()).filter(|e| entries[*e].contains_element(element));
            let relevant = found.map(|at| rules[at].relevant.clone()).unwrap_or_default();
            assert_eq!(relevant, contain.collect::<Vec<_>>(), "{seed} {element:?} {entries:?}");
            let by_first = last(&rules, first(&rules, element));
            assert_eq!(by_first.is_some(), meant.is_some(), "covered: {seed} {element:?}");
            assert!(!is_simple || by_first == meant, "{seed} {element:?} {entries:?}");
        }
    }
    assert!((LISTS / 4..LISTS / 4 * 3).contains(&simple_lists), "one-sided: {simple_lists}");
}

#[test]
fn rules_without_negations_mean_the_same() {
    let elements = elements();
    for seed in 0..FEWER {
        let entries = Dice(seed).entries();
        let rules = complete(&entries, false);
        for element in &elements {
            let found = last(&rules, exact(&rules, element));
            assert_eq!(found, decide(&entries, element), "{seed} {element:?} {entries:?}");
        }
    }
}

/// The rules as told: groups by trying all sets of entries, combinations one by one, containment tag by tag.
fn told(entries: &[Subset]) -> Vec<ElementRule> {
    let n = entries.len();
    let nodes = |mask: usize| (0..n).filter(move |v| mask >> v & 1 == 1);
    let alike = |mask: usize| {
        nodes(mask).all(|a| nodes(mask).all(|b| a == b || entries[a].intersects(&entries[b])))
    };
    let maximal =
        |mask: &usize| alike(*mask) && (0..n).all(|v| mask >> v & 1 == 1 || !alike(mask | 1 << v));
    let mut groups: Vec<(String, BTreeSet<Tag>)> = (1..1usize << n)
        .filter(maximal)
        .map(|mask| {
            let text: Vec<String> = nodes(mask).map(|v| v.to_string()).collect();
            (text.join(":"), nodes(mask).flat_map(|v| entries[v].tags()).cloned().collect())
        })
        .collect();
    groups.sort_by(|a, b| b.0.cmp(&a.0));
    let mut rules = Vec::new();
    for (_, tags) in groups {
        for subset in combinations(&tags.into_iter().collect::<Vec<_>>()) {
            let relevant: Vec<usize> =
                (0..n).filter(|e| entries[*e].contains_subset(&subset)).collect();
            if !relevant.is_empty() {
                rules.push(ElementRule { subset, relevant });
            }
        }
    }
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.subset.positives()));
    rules
}

#[test]
fn rules_are_as_told() {
    for seed in 0..FEWER {
        let mut dice = Dice(seed);
        let mut entries = dice.entries();
        if seed % 4 == 0 {
            // Some lists with exclusions, which take the other way through the code.
            entries.push(Subset::new([Tag::is_not(KEYS[dice.below(2)], VALUES[dice.below(3)])]));
        }
        assert_eq!(complete(&entries, true), told(&entries), "{seed} {entries:?}");
    }
}

#[test]
fn the_element_without_keys_is_in_the_rule_without_tags_only() {
    let nothing = Element::new();
    let all = [Subset::default(), Subset::default()];
    assert_eq!(last(&complete(&all, true), first(&complete(&all, true), &nothing)), Some(1));
    let one = [Subset::default(), Subset::new([Tag::is("a", "1")])];
    assert_eq!(first(&complete(&one, true), &nothing), None);
    assert_eq!(decide(&one, &nothing), Some(0));
}

fn timed(entries: &[Subset], limit: usize) -> (Built, Duration) {
    let start = Instant::now();
    let built = build(entries, true, limit);
    let took = start.elapsed();
    (built, took)
}

/// What a build may take where tests run: unoptimised, beside others. Optimised it is milliseconds; without limits it
/// would be years.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn entries_of_distinct_keys_end() {
    for n in [25, 60, 500, 5000] {
        let entries: Vec<Subset> =
            (0..n).map(|i| Subset::new([Tag::is(format!("k{i}"), "v")])).collect();
        let (built, took) = timed(&entries, 10_000);
        assert!(built.cut && built.rules.len() <= 10_000 && took < SOON);
    }
}

#[test]
fn long_entries_end() {
    let entry =
        |name: &str| (0..400).map(|i| Tag::is(format!("{name}{i}"), "v")).collect::<Subset>();
    let (built, took) = timed(&[entry("a"), entry("b")], 10_000);
    assert!(built.cut && took < SOON);
    let (built, took) = timed(&[entry("a")], 1);
    assert!(!built.cut && built.rules.len() == 1 && took < SOON, "most combinations are nobody's");
}

#[test]
fn many_groups_end() {
    let entries: Vec<Subset> = (0..120)
        .map(|i| Subset::new([Tag::is(format!("k{}", i / 3), format!("v{}", i % 3))]))
        .collect();
    let (built, took) = timed(&entries, 10_000);
    assert!(built.cut && took < SOON);
    let mut excluding = entries;
    excluding.push(Subset::new([Tag::is_not("k0", "v0")]));
    let (built, took) = timed(&excluding, 10_000);
    assert!(built.cut && took < SOON);
}

#[test]
fn many_services_are_not_cut() {
    let mut entries = vec![Subset::default()];
    entries.extend((0..3000).map(|i| Subset::new([Tag::is("service", format!("s{i}"))])));
    let (built, took) = timed(&entries, 10_000);
    assert!(!built.cut && built.rules.len() == 6000 && took < SOON);
    let flat = build(&entries, false, 10_000);
    assert!(!flat.cut && flat.rules.len() == 3001);
}
