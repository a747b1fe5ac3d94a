// SPDX-License-Identifier: Apache-2.0
//! In: small lists of entries. Out: their rules as text. Not here: random lists; see the tests of the crate.

use super::*;

/// `a=1 b!=2` as a set.
fn set(text: &str) -> Subset {
    text.split_whitespace()
        .map(|word| match word.split_once("!=") {
            Some((key, value)) => Tag::is_not(key, value),
            None => word.split_once('=').map(|(key, value)| Tag::is(key, value)).unwrap(),
        })
        .collect()
}

fn sets(texts: &[&str]) -> Vec<Subset> {
    texts.iter().map(|text| set(text)).collect()
}

/// Rules as `a=1 b!=2: 0 1`.
fn shown(rules: &[ElementRule]) -> Vec<String> {
    let tag = |t: &Tag| format!("{}{}{}", t.key, if t.not { "!=" } else { "=" }, t.value);
    let rule = |r: &ElementRule| {
        let tags: Vec<String> = r.subset.tags().iter().map(tag).collect();
        let from: Vec<String> = r.relevant.iter().map(usize::to_string).collect();
        format!("{}: {}", tags.join(" "), from.join(" "))
    };
    rules.iter().map(rule).collect()
}

fn rules(entries: &[&str], negations: bool) -> Vec<String> {
    let built = build(&sets(entries), negations, 1000);
    assert!(!built.cut);
    shown(&built.rules)
}

#[test]
fn no_entries_no_rules() {
    assert!(rules(&[], true).is_empty() && rules(&[], false).is_empty());
}

#[test]
fn one_key_without_negations() {
    let shown = rules(&["", "s=a", "s=b", "", "s=a"], false);
    assert_eq!(shown, ["s=a: 0 1 3 4", "s=b: 0 2 3", ": 0 3"]);
}

#[test]
fn one_key_with_negations() {
    assert_eq!(rules(&["", "s=a", ""], true), ["s=a: 0 1 2", "s!=a: 0 2"]);
    assert_eq!(rules(&["s=a", "s=b"], true), ["s=b: 1", "s=a: 0"], "later groups first");
    assert_eq!(rules(&["", ""], true), [": 0 1"]);
}

#[test]
fn two_keys_negate_even_when_not_asked_to() {
    let both = ["a=1 b=1: 0 1", "a!=1 b=1: 1", "a=1 b!=1: 0"];
    assert_eq!(rules(&["a=1", "b=1"], false), both);
    assert_eq!(rules(&["a=1", "b=1"], true), both);
}

#[test]
fn tags_are_sorted_and_groups_stay_apart() {
    let shown = rules(&["", "z=1 a=1", "z=2"], true);
    let expected =
        ["a=1 z=1: 0 1", "z=2: 0 2", "a!=1 z=1: 0", "a=1 z!=1: 0", "z!=2: 0", "a!=1 z!=1: 0"];
    assert_eq!(shown, expected);
}

#[test]
fn both_ways_agree() {
    let lists: [&[&str]; 5] = [
        &["", "a=1", "b=1", "a=2", "c=1 b=2"],
        &["a=1 b=1", "a=1 b=2", "a=2", "b=1"],
        &["c=1", "b=1", "a=1", "", "c=1 a=1"],
        &["", "", "x=1", "x=1", "x=2 y=1", "y=1"],
        &["a=1", "a=2", "a=3", "b=1", "b=2", "b=3"],
    ];
    for list in lists {
        let entries = sets(list);
        let mut out = Output::new(&entries, 1000);
        try_all(&entries, &mut out);
        assert_eq!(out.sorted_by(|rule| rule.subset.positives()), build(&entries, true, 1000));
    }
}

#[test]
fn entries_that_exclude() {
    assert_eq!(rules(&["s!=a"], true), ["s!=a: 0"]);
    assert_eq!(rules(&["s!=a"], false), ["s!=a: 0"]);
    assert_eq!(rules(&["s!=a", "s=b"], false), ["s!=a: 0", "s=b: 0 1"]);
    let shown = rules(&["s!=a", "t=b"], true);
    assert_eq!(shown, ["s=a t=b: 1", "s!=a t=b: 0 1", "s!=a t!=b: 0"]);
}

#[test]
fn exactly_the_limit_is_not_cut() {
    let entries = sets(&["a=1", "b=1"]);
    assert!(!build(&entries, true, 3).cut);
    let built = build(&entries, true, 2);
    assert!(built.cut && built.rules.len() == 2);
    let entries = sets(&["a=1", "a=2"]);
    assert!(!build(&entries, false, 2).cut && build(&entries, false, 1).cut);
    let none = build(&entries, true, 0);
    assert!(none.cut && none.rules.is_empty());
}

#[test]
fn too_many_entries_are_refused() {
    let entries = vec![Subset::default(); MAX_ENTRIES + 1];
    assert!(build(&entries, true, 10).cut);
    let built = build(&entries, false, 10);
    assert_eq!((built.cut, built.rules.len()), (false, 1));
}
