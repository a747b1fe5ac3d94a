// SPDX-License-Identifier: Apache-2.0
//! In: a few thousand worlds. Out: they are valid, repeatable, and everything happens in them. Not here: the engine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{WorldShape, expressions, world};
use crate::kuadrant::{KINDS, Profile, condition, effective, full_name, paths, policy};
use crate::rng::Rng;

const PROFILES: [Profile; 3] = [Profile::Design, Profile::Latest, Profile::Operator];

fn worlds(number: u64, shape: &WorldShape) -> impl Iterator<Item = Vec<Value>> {
    (0..number).map(move |i| world(&mut Rng::new(7, "kuadrant", i), shape))
}

fn policies(world: &[Value]) -> impl Iterator<Item = &Value> {
    world.iter().filter(|o| KINDS.contains(&o["kind"].as_str().unwrap()))
}

#[test]
fn a_seed_names_a_world() {
    let shape = WorldShape::default();
    assert!(worlds(50, &shape).eq(worlds(50, &shape)));
    let order_free = worlds(50, &shape).all(|world| {
        let turned: Vec<Value> = world.iter().rev().cloned().collect();
        effective(&world, Profile::Design) == effective(&turned, Profile::Design)
    });
    assert!(order_free);
}

#[test]
fn identities_differ_and_targets_exist() {
    for world in worlds(2000, &WorldShape::default()) {
        let ids: BTreeSet<(String, String)> =
            world.iter().map(|o| (o["kind"].to_string(), full_name(o))).collect();
        assert_eq!(ids.len(), world.len());
        for policy in policies(&world) {
            let target = &policy["spec"]["targetRef"];
            let object = world.iter().find(|o| {
                o["kind"] == target["kind"]
                    && o["metadata"]["name"] == target["name"]
                    && o["metadata"]["namespace"] == policy["metadata"]["namespace"]
            });
            let object = object.unwrap_or_else(|| panic!("no target of {policy}"));
            let grpc_tokens = ("TokenRateLimitPolicy", "GRPCRoute");
            assert_ne!(
                (policy["kind"].as_str().unwrap(), target["kind"].as_str().unwrap()),
                grpc_tokens
            );
            if let Some(section) = target.get("sectionName").and_then(Value::as_str) {
                let list = object["spec"].get("listeners").or(object["spec"].get("rules")).unwrap();
                let sections = list.as_array().unwrap().iter().enumerate();
                let mut names = sections.map(|(i, s)| match s["name"].as_str() {
                    Some(name) => name.to_owned(),
                    None => format!("rule-{}", i + 1),
                });
                assert!(names.any(|name| name == section), "no section {section}");
            }
        }
    }
}

#[test]
fn one_block_is_what_the_crds_admit() {
    let shape = WorldShape { one_block: true, ..WorldShape::default() };
    for world in worlds(2000, &shape) {
        for policy in policies(&world) {
            let spec = policy["spec"].as_object().unwrap();
            let explicit: Vec<&str> =
                ["defaults", "overrides"].into_iter().filter(|b| spec.contains_key(*b)).collect();
            let bare =
                ["rules", "limits", "patterns", "when"].iter().any(|f| spec.contains_key(*f));
            assert_eq!(explicit.len() + usize::from(bare), 1, "{policy}");
            assert!(!spec.contains_key("unset") && !spec.contains_key("remove"), "{policy}");
            let block = explicit.first().map_or(&policy["spec"], |b| &policy["spec"][*b]);
            let field = if policy["kind"] == "AuthPolicy" { "rules" } else { "limits" };
            assert!(!block[field].as_object().unwrap().is_empty(), "{policy}");
            assert!(!block["when"].is_string(), "{policy}");
        }
    }
}

/// For each ladder, on how many levels it has policies.
fn levels(world: &[Value], profile: Profile) -> Vec<usize> {
    let policies = policy::read(world, profile);
    let mut found = Vec::new();
    for path in paths::all(world, profile) {
        for kind in KINDS {
            if kind == "TokenRateLimitPolicy" && path.route_kind == "GRPCRoute" {
                continue;
            }
            let ladder = policy::ladder(&policies, kind, &path);
            let targets: BTreeSet<String> =
                ladder.iter().map(|p| p.target_ref.to_string()).collect();
            found.extend(Some(targets.len()).filter(|levels| *levels > 0));
        }
    }
    found
}

#[test]
fn everything_happens() {
    for profile in PROFILES {
        let shape = WorldShape { one_block: profile == Profile::Operator, ..WorldShape::default() };
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        let mut count = |what, yes: bool| *seen.entry(what).or_default() += u64::from(yes);
        for world in worlds(1000, &shape) {
            let answers = effective(&world, profile);
            let levels = levels(&world, profile);
            count("worlds with three levels", levels.iter().any(|levels| *levels >= 3));
            for levels in levels {
                count("ladders", true);
                count("ladders of three levels", levels >= 3);
                count("ladders of four levels", levels == 4);
            }
            count("a world without an effective policy", answers.is_empty());
            for ((kind, _, route_kind), answer) in &answers {
                let lost = || answer.overridden.iter();
                let mut sources: BTreeSet<&str> =
                    answer.rules.values().map(|r| r.policy.as_str()).collect();
                sources.extend(lost().map(|l| l.policy.as_str()));
                count("answers", true);
                count("three policies with rules", sources.len() >= 3);
                count("on a GRPCRoute", route_kind == "GRPCRoute");
                count("of tokens", kind == "TokenRateLimitPolicy");
                count("two sources in force", {
                    let sources: BTreeSet<_> = answer.rules.values().map(|r| &r.policy).collect();
                    sources.len() > 1
                });
                count("a default in force", answer.rules.values().any(|r| r.block == "defaults"));
                count("a bare rule in force", answer.rules.values().any(|r| r.block == "bare"));
                count(
                    "an override in force",
                    answer.rules.values().any(|r| r.block == "overrides"),
                );
                count("a default lost", lost().any(|l| l.block == "defaults"));
                count("a bare rule lost", lost().any(|l| l.block == "bare"));
                count("an override lost", lost().any(|l| l.block == "overrides"));
                count("lost to another rule", lost().any(|l| !answer.rules.contains_key(&l.rule)));
                if profile != Profile::Operator {
                    count("no rule left", answer.rules.is_empty());
                    count("removed", !answer.removed.is_empty());
                    count("condition false", answer.skipped.iter().any(|s| !s.failed));
                    count("condition failed", answer.skipped.iter().any(|s| s.failed));
                    count("lost to its own policy", lost().any(|l| l.by.contains(&l.policy)));
                }
            }
        }
        let rare: Vec<_> = seen.iter().filter(|(_, number)| **number < 40).collect();
        assert!(rare.is_empty(), "{profile:?}: {rare:?} of {seen:?}");
        assert!(seen["ladders of three levels"] * 10 > seen["ladders"], "{profile:?}: {seen:?}");
        assert!(seen["worlds with three levels"] > 400, "{profile:?}: {seen:?}");
    }
}

/// Each expression of the pool is met, not met or fails somewhere, and most are both met and not.
#[test]
fn expressions_are_good_for_something() {
    let views: Vec<Value> = worlds(150, &WorldShape::default())
        .flat_map(|world| {
            let bare = |p: &Value| KINDS.contains(&p["kind"].as_str().unwrap());
            world.into_iter().filter(bare).collect::<Vec<_>>()
        })
        .collect();
    let mut both = 0;
    for expression in expressions::pool() {
        let answers: BTreeSet<Option<bool>> =
            views.iter().map(|view| condition::evaluate(expression, view)).collect();
        both += usize::from(answers.contains(&Some(true)) && answers.contains(&Some(false)));
    }
    let all = expressions::pool().count();
    assert!(all >= 25 && both * 10 >= all * 8, "{both} of {all}");
}

/// Run by hand: `cargo test --release -p overrule-testkit --lib speed_of -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stderr, clippy::disallowed_methods, reason = "a measurement")]
fn speed_of_the_oracle() {
    for profile in PROFILES {
        let shape = WorldShape { one_block: profile == Profile::Operator, ..WorldShape::default() };
        let worlds: Vec<_> = worlds(10_000, &shape).collect();
        let start = std::time::Instant::now();
        let answers: usize = worlds.iter().map(|world| effective(world, profile).len()).sum();
        let each = start.elapsed() / 10_000;
        eprintln!("{profile:?}: {each:?} a world, {} answers a world", answers as f64 / 1e4);
    }
}
