// SPDX-License-Identifier: Apache-2.0
//! In: random worlds of every family and random edits of them. Out: whether a diff says just what differs between two full
//! answers. Not here: how it is told.
//!
//! The second implementation is as simple as it can be: every effective policy of both states, as JSON, side by side.
//! `OVERRULE_PAIRS=20000 cargo test --release -p overrule-diff --test naive` compares that many pairs.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise"
)]

use std::collections::{BTreeMap, BTreeSet};

use overrule::source::Input;
use overrule::{Analysis, Options, view};
use overrule_diff::{
    CodeOwners, MergeGates, NamedState, StateTexts, compare, kinds_in_force, read_both,
};
use overrule_testkit::rng::Rng;
use overrule_testkit::{generate, kgateway, kuadrant, kuma, yaml};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

/// What is in force at a path: the value, who set each field, and whether it fails.
type InForce = (Value, BTreeMap<String, BTreeSet<String>>, bool);

/// A value without empty members: an empty mapping says as much as none.
fn pruned(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| (key, pruned(value)));
            let members: serde_json::Map<_, _> = members.filter(|(_, v)| !v.is_null()).collect();
            if members.is_empty() { Value::Null } else { Value::Object(members) }
        }
        Value::Array(items) => Value::Array(items.into_iter().map(pruned).collect()),
        other => other,
    }
}

/// What is in force, by family, kind and path.
fn in_force(analysis: &Analysis) -> BTreeMap<String, InForce> {
    let stage = analysis.bare_stage();
    let scene = stage.scene();
    let mut found = BTreeMap::new();
    for part in scene.parts {
        for (kind, _) in part.resolution.kinds() {
            for (path, _) in part.resolution.contexts(kind) {
                let policy = view::effective(&scene, part, kind, path);
                let names = |list: &[view::v1::Origin]| -> BTreeSet<String> {
                    list.iter().map(|origin| origin.policy.clone()).collect()
                };
                let mut origins: BTreeMap<String, BTreeSet<String>> =
                    policy.origins.iter().map(|(at, list)| (at.clone(), names(list))).collect();
                let beside = policy.beside.iter().map(|beside| beside.policy.clone());
                origins.entry(String::new()).or_default().extend(beside);
                origins.retain(|_, names| !names.is_empty());
                let fails = !policy.error.is_empty();
                let spec = pruned(serde_json::to_value(&policy.spec).unwrap());
                if spec.is_null() && origins.is_empty() && !fails {
                    continue;
                }
                let path = serde_json::to_string(&policy.path).unwrap();
                let key = format!("{} {} {path}", policy.family, policy.policy_kind);
                found.insert(key, (spec, origins, fails));
            }
        }
    }
    found
}

fn texts(name: &str, objects: &[Value]) -> StateTexts {
    let input = |(at, object): (usize, &Value)| {
        let text = yaml::documents(std::slice::from_ref(object));
        Input::new(format!("{name}/{at:03}.yaml"), text)
    };
    StateTexts {
        name: name.to_owned(),
        root: name.to_owned(),
        inputs: objects.iter().enumerate().map(input).collect(),
    }
}

/// Adds, changes and removes resources, taken from another world of the same family.
fn edited(rng: &mut Rng, objects: &[Value], from: &[Value]) -> Vec<Value> {
    let mut objects = objects.to_vec();
    for _ in 0..=rng.below(4) {
        let at = usize::try_from(rng.below(objects.len() as u64)).unwrap();
        match rng.below(3) {
            0 if objects.len() > 1 => drop(objects.remove(at)),
            1 => objects[at] = rng.pick(from).clone(),
            _ => objects.push(rng.pick(from).clone()),
        }
    }
    objects
}

/// Compares one pair; how many changes it had.
fn pair(objects: &[Value], other: &[Value], options: &Options) -> usize {
    let (before, after) = (texts("old", objects), texts("new", other));
    let (old, new) = read_both(before, after, options);
    let old = Analysis::of(old, options);
    let with_kinds = Options { include_kinds: kinds_in_force(&old), ..options.clone() };
    let new = Analysis::of(new, &with_kinds);
    let (then, now) = (in_force(&old), in_force(&new));
    let expected: BTreeSet<&String> =
        then.keys().chain(now.keys()).filter(|key| then.get(*key) != now.get(*key)).collect();
    let named = |name, analysis| NamedState { name, analysis };
    let mut changes = compare(named("old", &old), named("new", &new), &CodeOwners::default());
    let key = |item: &view::v1::EffectiveChange| {
        let path = serde_json::to_string(&item.path).unwrap();
        format!("{} {} {path}", item.family, item.policy_kind)
    };
    let told: Vec<String> = changes.items.iter().map(key).collect();
    let set: BTreeSet<&String> = told.iter().collect();
    if let Some(key) = expected.symmetric_difference(&set).next().copied() {
        let (is_told, before, after) = (set.contains(key), then.get(key), now.get(key));
        panic!("told: {is_told}: {key}\n  before {before:?}\n  after  {after:?}");
    }
    assert_eq!(told.len(), set.len(), "none is told twice");
    // Every change is in one group, and every figure is within its bounds.
    let report = changes.report.clone().unwrap();
    let mut grouped: Vec<usize> = report.groups.iter().flat_map(|g| g.items.clone()).collect();
    grouped.sort_unstable();
    assert_eq!(grouped, (0..told.len()).collect::<Vec<_>>());
    let radius = report.radius;
    for share in [radius.resources, radius.policies, radius.paths, radius.routes, radius.hostnames]
    {
        assert!(share.affected <= share.of, "{radius:?}");
    }
    for group in report.groups.iter().filter(|group| group.uncovered) {
        for place in &group.items {
            assert!(changes.items[*place].after.is_none());
        }
    }
    assert_eq!(MergeGates::default().close(&mut changes), !told.is_empty());
    told.len()
}

fn gateway(seed: u64) -> Vec<Value> {
    let bytes: Vec<u8> = seed.to_le_bytes().iter().cycle().take(32).copied().collect();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    generate::world().new_tree(&mut runner).unwrap().current().resources
}

fn kuadrant_world(seed: u64) -> Vec<Value> {
    kuadrant::world(&mut Rng::new(seed, "diff", 1), &kuadrant::WorldShape::default())
}

/// A quarter of all pairs, for each of four families.
fn pairs(family: &str, world: fn(u64) -> Vec<Value>) {
    let all = std::env::var("OVERRULE_PAIRS").ok().and_then(|n| n.parse().ok());
    let count = all.unwrap_or(300_u64) / 4;
    let (mut changed, mut quiet) = (0, 0);
    for seed in 0..count {
        let mut rng = Rng::new(seed, family, 0);
        let objects = world(seed);
        let other = edited(&mut rng, &objects, &world(seed + 1));
        match pair(&objects, &other, &Options::default()) {
            0 => quiet += 1,
            n => changed += n,
        }
    }
    assert_eq!(pair(&world(0), &world(0), &Options::default()), 0, "{family}");
    println!("{family}: {count} pairs, {changed} changes, {quiet} pairs without one");
    assert!(changed > 0, "{family}: nothing changes, so nothing is tested");
}

#[test]
fn described_kinds() {
    pairs("gateway", gateway);
}

#[test]
fn kuadrant_policies() {
    pairs("kuadrant", kuadrant_world);
}

#[test]
fn kgateway_policies() {
    pairs("kgateway", |seed| kgateway::world::objects(seed).0);
}

#[test]
fn meshes() {
    pairs("kuma", kuma::world::documents);
}
