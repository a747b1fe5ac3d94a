// SPDX-License-Identifier: Apache-2.0
//! In: random worlds of the families of the Gateway API, from which objects are taken that others refer to. Out: whether
//! answers that rest on assumptions never contradict those of the whole world, or say that they rest on them.
//! Not here: how they say it (`crates/cli/tests`), changes (`live.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test stops at the first surprise"
)]

use std::collections::{BTreeMap, BTreeSet};

use overrule::source::{Input, SingleLetters};
use overrule::view::v1::{EffectivePolicy, PathElement};
use overrule::{Analysis, Options};
use overrule_testkit::rng::Rng;
use overrule_testkit::{generate, kgateway, kuadrant, yaml};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

/// Worlds of each family, and subsets of each that are taken away.
const WORLDS: u64 = 12;
const EACH: u64 = 8;

/// What is taken: kinds that others refer to. What nothing refers to cannot be missed.
const TAKEN: [&str; 4] = ["Gateway", "GatewayClass", "Namespace", "Service"];

fn options() -> Options {
    let single_letters = SingleLetters::Text;
    Options { compare: true, assume_missing: true, single_letters, ..Options::default() }
}

fn analyse(objects: &[Value], options: &Options) -> Analysis {
    let text = yaml::documents(objects);
    Analysis::new(vec![Input::new("a.yaml", text)], options)
}

/// A path without what may be unknown: the class of a Gateway nobody wrote.
fn place(path: &[PathElement]) -> String {
    let known = path.iter().filter(|e| e.kind != "GatewayClass");
    let names = known.map(|e| format!("{}/{}", e.namespace.as_deref().unwrap_or(""), e.name));
    names.collect::<Vec<_>>().join(" > ")
}

/// Family, profile, kind and place of an answer.
type Key = (&'static str, &'static str, String, String);

/// Every answer of every profile.
fn answers(analysis: &Analysis) -> BTreeMap<Key, Vec<EffectivePolicy>> {
    let stage = analysis.stage();
    let scene = stage.scene();
    let mut found: BTreeMap<Key, Vec<EffectivePolicy>> = BTreeMap::new();
    for part in scene.parts.iter().chain(scene.others.iter().map(|other| &other.part)) {
        let bare = overrule::view::Scene { others: &[], findings: None, ..scene };
        for (kind, _) in part.resolution.kinds() {
            for (path, _) in part.resolution.contexts(kind) {
                let one = overrule::view::effective(&bare, part, kind, path);
                let key = (part.family, part.profile, one.policy_kind.clone(), place(&one.path));
                found.entry(key).or_default().push(one);
            }
        }
    }
    found
}

/// What an answer says, without places, which differ where objects before it are gone.
fn said(answer: &EffectivePolicy) -> String {
    let mut plain = answer.clone();
    plain.path.iter_mut().for_each(|element| element.assumed = false);
    plain.assumptions.clear();
    let mut json = serde_json::to_value(&plain).unwrap();
    without_places(&mut json);
    json.to_string()
}

fn without_places(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("at");
            map.values_mut().for_each(without_places);
        }
        Value::Array(list) => list.iter_mut().for_each(without_places),
        _ => {}
    }
}

/// The policies of an answer, top first.
fn ladder(answer: &EffectivePolicy) -> Vec<&str> {
    answer.policies.iter().map(|p| p.policy.as_str()).collect()
}

/// Whether all of a list stand in another one, in the same order.
fn is_part(some: &[&str], all: &[&str]) -> bool {
    let mut all = all.iter();
    some.iter().all(|one| all.any(|other| other == one))
}

/// How much was seen of each sort.
#[derive(Debug, Default)]
struct Seen {
    equal: usize,
    marked: usize,
    kept: usize,
}

fn check(family: &str, seed: u64, objects: &[Value], options: &Options, seen: &mut Seen) {
    let mut rng = Rng::new(seed, family, 7);
    let can_go = |o: &Value| TAKEN.iter().any(|kind| o["kind"] == *kind);
    let there: Vec<usize> = (0..objects.len()).filter(|i| can_go(&objects[*i])).collect();
    if there.is_empty() {
        return;
    }
    let whole = answers(&analyse(objects, options));
    for _ in 0..EACH {
        let gone: BTreeSet<usize> = (0..=rng.below(3)).map(|_| *rng.pick(&there)).collect();
        let left = (0..objects.len()).filter(|i| !gone.contains(i));
        let left: Vec<Value> = left.map(|i| objects[i].clone()).collect();
        let names: Vec<String> = gone.iter().map(|i| objects[*i]["metadata"].to_string()).collect();
        let told = || format!("{family}, seed {seed}, without {}", names.join(", "));
        let analysis = analyse(&left, options);
        for (key, found) in answers(&analysis) {
            let full = whole.get(&key);
            for answer in &found {
                let says: Vec<String> = full.into_iter().flatten().map(said).collect();
                if answer.assumptions.is_empty() {
                    // What says nothing of assumptions is what the whole world answers.
                    assert!(says.contains(&said(answer)), "{}: {key:?}\n{answer:#?}", told());
                    seen.equal += 1;
                    continue;
                }
                seen.marked += 1;
                // Those that are there keep their order, and none is there that would not be.
                let Some(full) = full else { continue };
                let kept = full.iter().any(|full| is_part(&ladder(answer), &ladder(full)));
                assert!(kept, "{}: {key:?}\n{:?}\n{full:#?}", told(), ladder(answer));
                seen.kept += 1;
            }
        }
        let strict = Options { assume_missing: false, ..options.clone() };
        let strict = answers(&analyse(&left, &strict));
        let open = answers(&analysis);
        // Who acts without assumptions acts with them, and nobody loses a place.
        for (key, found) in &strict {
            for answer in found {
                let mut all = open.get(key).into_iter().flatten();
                let kept = all.any(|open| is_part(&ladder(answer), &ladder(open)));
                assert!(kept, "{}: {key:?} is lost\n{answer:#?}", told());
            }
        }
    }
}

fn enough(family: &str, seen: &Seen) {
    println!("{family}: {seen:?}");
    assert!(seen.equal > 100 && seen.marked > 100 && seen.kept > 50, "{family}: {seen:?}");
}

#[test]
fn of_gateway() {
    let mut seen = Seen::default();
    for seed in 0..WORLDS {
        let bytes: Vec<u8> = seed.to_le_bytes().iter().cycle().take(32).copied().collect();
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let world = generate::world().new_tree(&mut runner).unwrap().current();
        check("gateway", seed, &world.resources, &options(), &mut seen);
    }
    enough("gateway", &seen);
}

#[test]
fn of_kuadrant() {
    let mut seen = Seen::default();
    for seed in 0..WORLDS {
        let mut rng = Rng::new(seed, "assumed-kuadrant", 0);
        let world = kuadrant::world(&mut rng, &kuadrant::WorldShape::default());
        check("kuadrant", seed, &world, &options(), &mut seen);
    }
    enough("kuadrant", &seen);
}

#[test]
fn of_kgateway() {
    let mut seen = Seen::default();
    for seed in 0..WORLDS {
        let (objects, settings) = kgateway::world::objects(seed);
        let mut options = options();
        let mut set = |key: &str, value: Value| options.settings.set("kgateway", key, value);
        set("globalPolicyNamespace", settings.global_policy_namespace.into());
        set("delegationWildcardNamespace", settings.delegation_wildcard_namespace.into());
        check("kgateway", seed, &objects, &options, &mut seen);
    }
    enough("kgateway", &seen);
}
