// SPDX-License-Identifier: Apache-2.0
//! In: random lists of `from` entries that allow or deny, and random clients. Out: whether a deny can be lost on the way
//! from entries to rules. Not here: who selects a proxy, the order of policies, what Envoy is told.
//!
//! What is shown, for lists of up to nine entries over at most four keys with three values each, and every client over
//! these keys and one value more:
//!
//! * The last entry that contains the client decides. The test finds it with its own few lines, from the references
//!   as they are written.
//! * [`decide`], which reads the entries, gives the same action, for the client without tags too.
//! * [`first`] in the rules of [`deciding`], the form that is compiled, gives the same action: the first match counts.
//! * [`exact`] in the rules of a complete [`build`] gives the same action; so no client that an entry denies last is
//!   allowed, and none that is allowed last is denied. The rule knows every entry that contains the client, and no other.
//! * A client nobody speaks of gets no rule, so that the answer stays the default: deny.
//! * Twenty-five entries with a key each have more rules than can be written: `build` says so (`cut`), soon, and
//!   `decide` still answers for every client that was tried.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a broken expectation shall stop the test; a test may look at the clock"
)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use overrule_mesh::subset::{Subset, Tag, build, decide, deciding, exact, first};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

const SERVICE: &str = "kuma.io/service";
const KEYS: [&str; 3] = ["version", "team", "zone"];
const VALUES: [&str; 3] = ["a", "b", "c"];
/// A value no entry asks for.
const ELSE: &str = "z";
/// More rules than any of the small lists makes.
const ROOM: usize = 100_000;

type Tags = BTreeMap<&'static str, &'static str>;

/// The `targetRef` of an entry.
#[derive(Debug, Clone)]
enum Client {
    Mesh,
    MeshSubset(Tags),
    MeshService(&'static str),
    MeshServiceSubset(&'static str, Tags),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Allow,
    Deny,
}

#[derive(Debug, Clone)]
struct Entry {
    from: Client,
    action: Action,
}

/// What the reference says, read word by word.
fn contains(from: &Client, client: &Tags) -> bool {
    let tagged = |tags: &Tags| tags.iter().all(|(key, value)| client.get(key) == Some(value));
    let is = |name: &str| client.get(SERVICE).is_some_and(|service| *service == name);
    match from {
        Client::Mesh => true,
        Client::MeshSubset(tags) => tagged(tags),
        Client::MeshService(name) => is(name),
        Client::MeshServiceSubset(name, tags) => is(name) && tagged(tags),
    }
}

/// The last entry that contains the client.
fn meant(entries: &[Entry], client: &Tags) -> Option<Action> {
    let mut action = None;
    for entry in entries {
        if contains(&entry.from, client) {
            action = Some(entry.action);
        }
    }
    action
}

/// The reference as the set of tags the library works with.
fn subset(from: &Client) -> Subset {
    let tags = |tags: &Tags| tags.iter().map(|(k, v)| Tag::is(*k, *v)).collect::<Vec<_>>();
    let service = |name: &str| Tag::is(SERVICE, name);
    match from {
        Client::Mesh => Subset::default(),
        Client::MeshSubset(wanted) => Subset::new(tags(wanted)),
        Client::MeshService(name) => Subset::new([service(name)]),
        Client::MeshServiceSubset(name, wanted) => {
            Subset::new(std::iter::once(service(name)).chain(tags(wanted)))
        }
    }
}

fn tags() -> impl Strategy<Value = Tags> {
    btree_map(select(&KEYS[..]), select(&VALUES[..]), 1..=3)
}

fn from() -> impl Strategy<Value = Client> {
    prop_oneof![
        1 => Just(Client::Mesh),
        4 => tags().prop_map(Client::MeshSubset),
        2 => select(&VALUES[..]).prop_map(Client::MeshService),
        2 => (select(&VALUES[..]), tags()).prop_map(|(n, t)| Client::MeshServiceSubset(n, t)),
    ]
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let action = prop_oneof![Just(Action::Allow), Just(Action::Deny)];
    vec((from(), action).prop_map(|(from, action)| Entry { from, action }), 0..=9)
}

/// Every client over the keys, each absent, with one of the values or with another; the one without tags first.
fn clients() -> Vec<Tags> {
    let mut all = vec![Tags::new()];
    for key in KEYS.into_iter().chain([SERVICE]) {
        let more: Vec<Tags> = all
            .iter()
            .flat_map(|client| {
                VALUES.into_iter().chain([ELSE]).map(move |value| {
                    client.clone().into_iter().chain([(key, value)]).collect::<Tags>()
                })
            })
            .collect();
        all.extend(more);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_deny_is_never_lost(entries in entries()) {
        let sets: Vec<Subset> = entries.iter().map(|entry| subset(&entry.from)).collect();
        let rules = deciding(&sets);
        prop_assert!(rules.len() <= sets.len());
        let built = build(&sets, true, ROOM);
        prop_assert!(!built.cut);
        for client in clients() {
            let wanted = meant(&entries, &client);
            let by_entries = decide(&sets, &client).map(|at| entries[at].action);
            prop_assert_eq!(by_entries, wanted, "{:?}", client);
            let first = first(&rules, &client).map(|at| &rules[at].relevant);
            let by_first = first.and_then(|r| r.last()).map(|at| entries[*at].action);
            prop_assert_eq!(by_first, wanted, "{:?}", client);
            if client.is_empty() {
                continue; // Rules are about clients with tags: without any there is only `decide`.
            }
            let rule = exact(&built.rules, &client).map(|at| &built.rules[at].relevant);
            let by_rules = rule.and_then(|r| r.last()).map(|at| entries[*at].action);
            prop_assert_eq!(by_rules, wanted, "{:?}", client);
            let speak: Vec<usize> =
                (0..entries.len()).filter(|e| contains(&entries[*e].from, &client)).collect();
            prop_assert_eq!(rule.cloned().unwrap_or_default(), speak, "{:?}", client);
        }
    }
}

/// The lists of the property are not one-sided: denies decide, allows decide, and one hides another.
#[test]
fn lists_are_worth_asking_about() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut allowed, mut denied, mut hidden, mut silent) = (0_u32, 0_u32, 0_u32, 0_u32);
    for _ in 0..200 {
        let entries = entries().new_tree(&mut runner).unwrap().current();
        for client in clients() {
            match meant(&entries, &client) {
                Some(Action::Allow) => allowed += 1,
                Some(Action::Deny) => denied += 1,
                None => silent += 1,
            }
            let speaks =
                |action| entries.iter().any(|e| e.action == action && contains(&e.from, &client));
            hidden += u32::from(speaks(Action::Allow) && speaks(Action::Deny));
        }
    }
    for count in [allowed, denied, hidden, silent] {
        assert!(count > 5_000, "{allowed} {denied} {hidden} {silent}");
    }
}

/// What may be taken where tests run: unoptimised, beside others. Without a limit it would be 2^25 rules.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_list_that_explodes_is_cut_and_still_decided() {
    const N: usize = 25;
    let key = |n: usize| format!("key-{n}");
    let sets: Vec<Subset> = (0..N).map(|n| Subset::new([Tag::is(key(n), "on")])).collect();
    let start = Instant::now();
    let built = build(&sets, true, 10_000);
    assert!(start.elapsed() < SOON);
    assert!(built.cut && built.rules.len() <= 10_000);
    // Every other entry denies. One, two or three keys at once: the last of them decides, with or without others.
    let action = |n: usize| if n.is_multiple_of(2) { Action::Deny } else { Action::Allow };
    for a in 0..N {
        for b in a..N {
            for c in b..N {
                let mut client: BTreeMap<String, &str> =
                    [a, b, c].into_iter().map(|n| (key(n), "on")).collect();
                client.insert("other".to_owned(), "on");
                assert_eq!(decide(&sets, &client).map(action), Some(action(c)), "{client:?}");
            }
        }
    }
    let off: BTreeMap<String, &str> = (0..N).map(|n| (key(n), "off")).collect();
    assert_eq!(decide(&sets, &off), None);
}
