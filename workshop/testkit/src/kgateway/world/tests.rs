// SPDX-License-Identifier: Apache-2.0
//! In: many worlds. Out: they are repeatable and valid, and everything happens in them. Not here: the engine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{generate, objects};
use crate::kgateway::{
    OraclePolicy, Profile, documents, effective, full_name, list, oracle, paths, status, text,
};

const PROFILES: [Profile; 2] = [Profile::Shipped, Profile::Design];

#[test]
fn a_seed_names_a_world_and_order_does_not_matter() {
    for seed in 0..40 {
        let (text, settings) = generate(seed);
        assert_eq!(generate(seed), (text.clone(), settings.clone()));
        let (mut world, _) = objects(seed);
        assert_eq!(documents(&text), world);
        for profile in PROFILES {
            let answers = oracle(&text, &settings, profile);
            world.reverse();
            assert_eq!(answers, effective(&world, &settings, profile), "seed {seed}");
        }
    }
}

#[test]
fn identities_differ_and_policies_say_something() {
    for seed in 0..300 {
        let (world, _) = objects(seed);
        let ids: BTreeSet<(&str, String)> =
            world.iter().map(|o| (text(o, "/kind"), full_name(o))).collect();
        assert_eq!(ids.len(), world.len(), "seed {seed}");
        for policy in world.iter().filter(|o| o["kind"] == "TrafficPolicy") {
            let spec = policy["spec"].as_object().unwrap();
            let units = spec.keys().filter(|field| !field.starts_with("target"));
            assert!(units.count() > 0, "seed {seed}: {policy}");
            for reference in list(policy, "/spec/targetRefs") {
                let target = world.iter().find(|o| {
                    o["kind"] == reference["kind"]
                        && o["metadata"]["name"] == reference["name"]
                        && o["metadata"]["namespace"] == policy["metadata"]["namespace"]
                });
                assert!(target.is_some(), "seed {seed}: {policy}");
            }
        }
    }
}

/// A path is told from all others by its names and rules.
#[test]
fn answers_have_names_of_their_own() {
    for seed in 0..100 {
        let (world, settings) = objects(seed);
        let answers = effective(&world, &settings, Profile::Shipped);
        let keys: BTreeSet<_> = answers.iter().map(|a| (a.kind, &a.path, &a.rules)).collect();
        assert_eq!(keys.len(), answers.len(), "seed {seed}");
        assert!(answers.len() < 2000, "seed {seed}: {} answers", answers.len());
    }
}

#[test]
fn everything_happens() {
    let mut seen: [BTreeMap<String, u64>; 2] = Default::default();
    for seed in 0..150 {
        let (world, settings) = objects(seed);
        let answers = PROFILES.map(|profile| effective(&world, &settings, profile));
        for (seen, (profile, answers_here)) in seen.iter_mut().zip(PROFILES.iter().zip(&answers)) {
            let mut count = |what: &str, yes: bool| {
                *seen.entry(what.to_owned()).or_default() += u64::from(yes);
            };
            count("profiles differ", answers[0] != answers[1]);
            let of_paths: BTreeSet<_> = answers_here.iter().map(|a| (a.kind, &a.path)).collect();
            count("one path over two rules", of_paths.len() < answers_here.len());
            for answer in answers_here {
                look(answer, *profile, &mut count);
            }
        }
        let mut count = |what: &str, yes: bool| {
            *seen[0].entry(what.to_owned()).or_default() += u64::from(yes);
        };
        let paths = paths::all(&world, &settings);
        for path in &paths {
            count("two routes", path.chain.len() == 2);
            count("three routes or more", path.chain.len() > 2);
            count("a set", path.set.is_some());
            count("HTTPS", path.secure);
            count("a GRPCRoute", path.route_kind == "GRPCRoute");
            let goes_on = paths.iter().any(|longer| {
                longer.chain.len() > path.chain.len() && longer.chain.starts_with(&path.chain)
            });
            count("delegates in vain", path.dead && !goes_on);
            count("goes in circles", path.dead && goes_on);
            count("delegates and serves", !path.dead && goes_on);
        }
    }
    for (seen, profile) in seen.iter().zip(PROFILES) {
        let rare: Vec<_> = seen.iter().filter(|(_, number)| **number < 5).collect();
        assert!(rare.is_empty(), "{profile:?}: {rare:?} of {seen:#?}");
        assert!(seen["three policies in force"] * 3 > seen["answers"], "{profile:?}: {seen:#?}");
        assert!(seen["an error"] * 2 < seen["answers"], "{profile:?}: {seen:#?}");
    }
}

fn look(answer: &OraclePolicy, profile: Profile, count: &mut impl FnMut(&str, bool)) {
    if answer.kind == "builtin" {
        let from: BTreeSet<&str> =
            answer.accumulated.iter().map(|entry| text(entry, "/from")).collect();
        count("piled up from two rules", from.len() > 1);
        let leaf = answer.rules.len() > 1 && answer.sources.values().flatten().count() > 0;
        count("a slot in a chain", leaf);
        for slot in answer.fields.keys() {
            count(&format!("slot {slot}"), true);
        }
        return;
    }
    let sources = |unit: &str| answer.sources.get(unit).map_or(0, BTreeSet::len);
    let field =
        |unit: &str, pointer: &str| answer.fields.get(unit).and_then(|v| v.pointer(pointer));
    let length = |value: Option<&Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
    let all: BTreeSet<&String> = answer.sources.values().flatten().collect();
    count("answers", true);
    count("three policies in force", all.len() >= 3);
    count("an error", answer.error);
    for unit in answer.fields.keys() {
        count(&format!("unit {unit}"), true);
    }
    for unit in ["extAuth", "extProc"] {
        count(&format!("{unit} disabled"), field(unit, "/disable").is_some());
        count(&format!("{unit} of two providers"), length(field(unit, "/providers")) > 1);
    }
    if profile == Profile::Shipped {
        let both = field("extAuth", "/disable").and(field("extAuth", "/providers"));
        count("providers beside disable", both.is_some());
    }
    for unit in ["headerModifiers", "jwtAuth", "rateLimit.global", "oauth2"] {
        count(&format!("{unit} in levels"), field(unit, "/levels").is_some());
    }
    count("jwtAuth disabled", field("jwtAuth", "/disable").is_some());
    count("timeouts of two", sources("timeouts") > 1);
    count("transformation of two", sources("transformation") > 1);
    count("transformation of three", sources("transformation") > 2);
    count("access list of two", sources("acl") > 1);
    let metadata = field("transformation", "/request/dynamicMetadata");
    count("metadata", metadata.is_some());
    for unit in &answer.shadowed {
        count(&format!("shadowed {unit}"), true);
    }
}

#[test]
fn every_status_happens() {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..100 {
        let (world, settings) = objects(seed);
        for entries in status(&world, &settings).into_values() {
            *seen.entry("no ancestor").or_default() += u64::from(entries.is_empty());
            *seen.entry("two ancestors").or_default() += u64::from(entries.len() > 1);
            for reasons in entries.into_values() {
                *seen.entry(reasons.attached).or_default() += 1;
            }
        }
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(seen.values().all(|number| *number >= 10), "{seen:?}");
}

/// Run by hand: `cargo test --release -p overrule-testkit --lib kgateway::world -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stderr, clippy::disallowed_methods, reason = "a measurement")]
fn speed_of_the_oracle() {
    for profile in PROFILES {
        let worlds: Vec<_> = (0..1000).map(objects).collect();
        let start = std::time::Instant::now();
        let answers: usize =
            worlds.iter().map(|(world, settings)| effective(world, settings, profile).len()).sum();
        let each = start.elapsed() / 1000;
        eprintln!("{profile:?}: {each:?} a world, {} answers a world", answers as f64 / 1e3);
    }
}
