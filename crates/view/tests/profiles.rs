// SPDX-License-Identifier: Apache-2.0
//! Several profiles of one family, conditions, policies beside each other, and policies of several blocks.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that finds something else than it expects has to fail"
)]

#[path = "common/mod.rs"]
mod common;
#[path = "common/toy.rs"]
mod toy;

use common::golden;
use overrule_engine::{KindId, PathId, PolicyId};
use overrule_view::{EffectiveTable, Styles};
use toy::{Does, ToyWorld, toy};

const KIND: KindId = KindId(0);
/// The first part below the whole.
const ONE: PathId = PathId(1);

const TWO: &str = "\
apiVersion: test/v1
kind: Toy
metadata: {name: a, namespace: ns}
spec:
  targetRef: {name: whole}
  limits: {x: 1, w: 2}
---
apiVersion: test/v1
kind: Toy
metadata: {name: b, namespace: ns}
spec:
  targetRef: {name: whole}
  limits: {x: 1, w: 3, z: 4}
  gone: 5
";

/// `paper` lets the upper one keep its fields, `real` lets the lower one replace it and has another path.
fn two() -> ToyWorld {
    let paper = [("a", "bare", Does::Fill), ("b", "bare", Does::Fill)];
    let real = [("a", "bare", Does::Fill), ("b", "bare", Does::Replace)];
    toy(TWO, &[("paper", &[1, 2], &paper), ("real", &[1, 3], &real)])
}

fn every_path(part: &overrule_view::ScenePart<'_>) -> Vec<PathId> {
    part.resolution.paths.ids().collect()
}

#[test]
fn another_profile_is_told_where_it_differs() {
    let world = two();
    world.see(|scene, part| {
        let policy = overrule_view::effective(scene, part, KIND, ONE);
        let [other] = policy.other_profiles.as_slice() else {
            panic!("{:?}", policy.other_profiles)
        };
        assert_eq!((other.profile, other.shipped, other.path_exists), ("real", true, true));
        // `x` has the same value from another policy, `w` another value; `z` and `gone` are the same.
        assert_eq!(other.differs, ["/limits/w", "/limits/x"]);
        assert_eq!(other.origins.keys().collect::<Vec<_>>(), ["/limits/w", "/limits/x"]);
        assert_eq!(other.origins["/limits/w"][0].policy, "ns/b");
        // The second path of `paper` does not exist in `real`.
        let policy = overrule_view::effective(scene, part, KIND, PathId(2));
        assert!(!policy.other_profiles[0].path_exists && policy.other_profiles[0].spec.is_none());
    });
}

#[test]
fn differences_are_told_by_rule_where_rules_are_known() {
    let world = two();
    world.see_with(&["/limits"], |scene, part| {
        let policy = overrule_view::effective(scene, part, KIND, ONE);
        assert_eq!(policy.other_profiles[0].differs, ["/limits"]);
        assert_eq!(policy.other_profiles[0].origins.len(), 3, "every leaf of the rule");
    });
}

#[test]
fn answers_with_all_of_it_fit_the_schema() {
    let validator = jsonschema::validator_for(&overrule_view::schema()).unwrap();
    let fits = |json: String| {
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}\n{json}");
    };
    for world in [two(), blocks(), toy(BLOCKS, &[("paper", &[1], &CONDITIONS)])] {
        world.see(|scene, part| {
            fits(overrule_view::json(&overrule_view::effective(scene, part, KIND, ONE)));
            fits(overrule_view::json(&overrule_view::explain(scene, part, ONE, None, None)));
            fits(overrule_view::json(&overrule_view::policies(scene, part, &|_| true)));
            fits(overrule_view::json(&overrule_view::reach(scene, part, PolicyId(0), None)));
            for (other, kind, path, _) in overrule_view::only_elsewhere(scene, part, &every_path) {
                let policy = overrule_view::elsewhere(scene, part, other, kind, path);
                fits(overrule_view::json(&policy));
            }
        });
    }
}

#[test]
fn a_scalar_where_a_list_of_rules_could_stand_is_a_setting() {
    let manifests = "\
apiVersion: test/v1
kind: Toy
metadata: {name: a, namespace: ns}
spec:
  defaults: {when: a condition, limits: {x: 1}}
  overrides: {when: [one], limits: {x: 1}}
";
    let rungs = [("a", "overrides", Does::Skip), ("a", "defaults", Does::Skip)];
    let world = toy(manifests, &[("paper", &[1], &rungs)]);
    world.see_with(&["/when", "/limits/*"], |scene, part| {
        let rules = overrule_view::rules(scene, part, PolicyId(0));
        let said: Vec<_> = rules.iter().map(|r| (&*r.block, &*r.rule)).collect();
        let expected = [("overrides", "limits.x"), ("overrides", "when"), ("defaults", "limits.x")];
        assert_eq!(said, expected);
    });
}

#[test]
fn a_path_that_only_another_profile_has_is_found() {
    let world = two();
    world.see(|scene, part| {
        let found = overrule_view::only_elsewhere(scene, part, &every_path);
        let [(other, kind, path, _)] = found.as_slice() else { panic!("{}", found.len()) };
        assert_eq!(other.part.path_target(scene, *path), "thing/three");
        let policy = overrule_view::elsewhere(scene, part, other, *kind, *path);
        assert!(policy.only_elsewhere && policy.spec.is_none() && policy.origins.is_empty());
        assert_eq!((policy.profile, policy.other_profiles[0].profile), ("paper", "real"));
        assert!(policy.other_profiles[0].spec.is_some());
    });
}

#[test]
fn a_profile_that_says_the_same_is_not_told() {
    let rungs = [("a", "bare", Does::Fill), ("b", "bare", Does::Fill)];
    let world = toy(TWO, &[("paper", &[1, 2], &rungs), ("real", &[2, 1], &rungs)]);
    world.see(|scene, part| {
        for path in [ONE, PathId(2)] {
            let policy = overrule_view::effective(scene, part, KIND, path);
            assert_eq!(policy.other_profiles, []);
            assert!(!EffectiveTable::new().push(scene, part, KIND, path));
        }
        assert!(overrule_view::only_elsewhere(scene, part, &every_path).is_empty());
        let list = overrule_view::policies(scene, part, &|_| true);
        assert!(list.items.iter().all(|p| p.other_profiles.is_empty()));
    });
}

#[test]
fn profiles_as_text() {
    let world = two();
    let plain = Styles::plain();
    let mut out = String::new();
    world.see(|scene, part| {
        for path in [ONE, PathId(2)] {
            overrule_view::effective_text(scene, part, KIND, path, &plain, &mut out).unwrap();
            out.push_str("---\n");
        }
        let (other, kind, path, _) = overrule_view::only_elsewhere(scene, part, &every_path)[0];
        let policy = overrule_view::elsewhere(scene, part, other, kind, path);
        overrule_view::effective_policy_text(&policy, &plain, &mut out).unwrap();
        out.push('\n');
        let mut table = EffectiveTable::new();
        assert!(table.push(scene, part, KIND, ONE) && table.push(scene, part, KIND, PathId(2)));
        table.push_elsewhere(scene, part, other, kind, path);
        table.write(&plain, &mut out).unwrap();
        out.push('\n');
        let list = overrule_view::policies(scene, part, &|_| true);
        overrule_view::policies_table(&list, false, None, &plain, &mut out).unwrap();
        out.push('\n');
        overrule_view::explain_text(scene, part, ONE, None, None, &plain, &mut out).unwrap();
    });
    golden("profiles.txt", &out);
}

const BLOCKS: &str = "\
apiVersion: test/v1
kind: Toy
metadata: {name: many, namespace: ns}
spec:
  targetRef: {name: whole}
  limits: {bare: 1, a.b: 2}
  defaults:
    limits: {d: 1, both: 1}
  overrides:
    limits: {o: 1, both: 2}
---
apiVersion: test/v1
kind: Toy
metadata: {name: low, namespace: ns}
spec:
  limits: {d: 7, o: 8}
  other: 9
  gone: 10
";

const LADDER: [toy::Rung3; 4] = [
    ("many", "overrides", Does::Met),
    ("many", "defaults", Does::Fill),
    ("many", "bare", Does::Skip),
    ("low", "bare", Does::Lose),
];

/// One of each verdict, and two policies at once.
const CONDITIONS: [toy::Rung3; 4] = [
    ("many", "overrides", Does::Met),
    ("many", "defaults", Does::Skip),
    ("many", "bare", Does::Fail),
    ("low", "bare", Does::Beside),
];

fn policy(world: &ToyWorld, name: &str) -> PolicyId {
    let mut all = world.answers[0].1.policies();
    let named = |o: &overrule_model::Object| world.snapshot.text(o.name) == name;
    all.find(|(_, p)| world.snapshot.get(p.object).is_some_and(named)).unwrap().0
}

fn blocks() -> ToyWorld {
    toy(BLOCKS, &[("paper", &[1, 2], &LADDER)])
}

#[test]
fn rules_of_several_blocks_are_counted_apart() {
    let world = blocks();
    world.see_with(&["/limits/*"], |scene, part| {
        let rules = overrule_view::rules(scene, part, policy(&world, "many"));
        let said: Vec<_> = rules
            .iter()
            .map(|r| (&*r.block, &*r.rule, r.counts.in_force, r.counts.shadowed, r.counts.skipped))
            .collect();
        assert_eq!(
            said,
            [
                ("overrides", "limits.both", 2, 0, 0),
                ("overrides", "limits.o", 2, 0, 0),
                ("defaults", "limits.both", 0, 2, 0),
                ("defaults", "limits.d", 2, 0, 0),
                ("bare", "limits[\"a.b\"]", 0, 0, 2),
                ("bare", "limits.bare", 0, 0, 2),
            ]
        );
        assert_eq!(rules[2].by, ["ns/many"]);
        assert_eq!(rules[4].because, ["its condition is not met"]);
    });
    world.see(|scene, part| {
        let rules = overrule_view::rules(scene, part, policy(&world, "low"));
        let gone = rules.iter().find(|r| r.rule == "gone").unwrap();
        assert_eq!((gone.counts.removed, &gone.removed_by[..]), (2, &["ns/many".to_owned()][..]));
        assert!(gone.by.is_empty());
        assert!(rules.iter().all(|r| r.rule != "targetRef"));
    });
}

#[test]
fn reach_finds_a_rule_in_its_block_and_under_a_name_with_dots() {
    let world = blocks();
    let many = policy(&world, "many");
    world.see(|scene, part| {
        let reach = |rule| overrule_view::reach(scene, part, many, Some(rule));
        for (rule, pointer, outcome) in [
            ("limits.a.b", "/limits/a.b", "skipped"),
            ("limits[\"a.b\"]", "/limits/a.b", "skipped"),
            ("spec.limits.bare", "/limits/bare", "skipped"),
            ("limits.o", "/limits/o", "in force"),
            // In two blocks, of which one is in force.
            ("limits.both", "/limits/both", "partly"),
            ("overrides.limits.both", "/limits/both", "in force"),
            ("spec.defaults.limits.both", "/limits/both", "shadowed"),
        ] {
            let found = reach(rule);
            assert_eq!((found.rule.as_deref(), found.outcome), (Some(pointer), outcome), "{rule}");
            assert_eq!(found.counts.paths, 2, "{rule}");
        }
        for rule in ["/limits/a/b", "overrides.limits.d", "targetRef", "limits.nothing"] {
            let found = reach(rule);
            assert!(found.targets.is_empty(), "{rule}: {found:?}");
        }
    });
}

#[test]
fn blocks_that_lost_say_which_block_lost_what_to_whom() {
    // `low` replaces everything: two blocks of `many` are lost in full, each told as its block.
    let rungs = [
        ("many", "overrides", Does::Fill),
        ("many", "defaults", Does::Fill),
        ("low", "bare", Does::Replace),
    ];
    let world = toy(BLOCKS, &[("paper", &[1], &rungs)]);
    world.see(|scene, part| {
        let policy = overrule_view::effective(scene, part, KIND, ONE);
        let lost: Vec<_> = policy
            .shadowed
            .iter()
            .map(|l| (&*l.block, &*l.pointer, l.by.join(","), l.reason))
            .collect();
        assert_eq!(
            lost,
            [
                ("overrides", "", "ns/low".to_owned(), "replaced"),
                // Its `both` went to the overrides before: not all of it went to the same.
                ("defaults", "/limits/both", "ns/many".to_owned(), "merged"),
                ("defaults", "/limits/d", "ns/low".to_owned(), "replaced"),
            ]
        );
        let mut out = String::new();
        overrule_view::effective_text(scene, part, KIND, ONE, &Styles::plain(), &mut out).unwrap();
        assert!(
            out.contains("shadowed (Overridden): ns/many (all of its overrides) by ns/low"),
            "{out}"
        );
    });
}

#[test]
fn conditions_and_neighbours_are_told() {
    let world = toy(BLOCKS, &[("paper", &[1], &CONDITIONS)]);
    world.see(|scene, part| {
        let explained = overrule_view::explain(scene, part, ONE, None, None);
        let ladder = &explained.kinds[0].ladder;
        let verdicts: Vec<_> =
            ladder.iter().map(|r| r.condition.as_ref().map(|c| c.verdict)).collect();
        assert_eq!(verdicts, [Some("holds"), Some("does not hold"), Some("failed"), None]);
        let effective = &explained.kinds[0].effective;
        assert_eq!(effective.beside[0].policy, "ns/low");
        assert!(effective.origins[""].iter().any(|o| o.policy == "ns/low"));
        assert_eq!(effective.policies[1].outcome, "in force");
        let reach = overrule_view::reach(scene, part, policy(&world, "low"), Some("other"));
        assert_eq!(reach.outcome, "in force");
        let mut out = String::new();
        overrule_view::explanation_text(&explained, &Styles::plain(), &mut out).unwrap();
        overrule_view::effective_text(scene, part, KIND, ONE, &Styles::plain(), &mut out).unwrap();
        golden("conditions.txt", &out);
        golden("conditions.json", &(overrule_view::json(&explained) + "\n"));
    });
}

#[test]
fn columns_fit_the_width_there_is() {
    let world = blocks();
    let mut out = String::new();
    world.see(|scene, part| {
        let explained = overrule_view::explain(scene, part, ONE, None, None);
        for width in [120, 70, 60, 30] {
            let mut text = String::new();
            let styles = Styles::plain().with_width(width);
            overrule_view::explanation_text(&explained, &styles, &mut text).unwrap();
            let section = text.split("Side by side\n").nth(1).unwrap();
            let section = section.split("\nIn force").next().unwrap();
            for line in section.lines() {
                let wide = line.chars().count() > width && !line.contains("left out");
                assert!(!wide, "{width}: {line}");
            }
            out.push_str(&format!("== {width}\n{section}"));
        }
    });
    golden("side_by_side.txt", &out);
}

#[test]
fn the_middle_is_left_out_before_columns_get_too_narrow() {
    let manifests: String = (0..5)
        .map(|i| {
            format!(
                "---\napiVersion: test/v1\nkind: Toy\nmetadata: {{name: p{i}, namespace: ns}}\nspec: \
                 {{field{i}: a-value-that-needs-some-room-{i}}}\n"
            )
        })
        .collect();
    let names = ["p0", "p1", "p2", "p3", "p4"];
    let rungs: Vec<toy::Rung3> = names.iter().map(|n| (*n, "bare", Does::Fill)).collect();
    let world = toy(&manifests, &[("paper", &[1], &rungs)]);
    world.see(|scene, part| {
        let explained = overrule_view::explain(scene, part, ONE, None, None);
        let shown = |width: usize| {
            let mut text = String::new();
            let styles = Styles::plain().with_width(width);
            overrule_view::explanation_text(&explained, &styles, &mut text).unwrap();
            text.split("Side by side\n").nth(1).unwrap().to_owned()
        };
        assert!(shown(300).contains("A ns/p0") && shown(300).contains("C ns/p2"));
        let narrow = shown(100);
        assert!(narrow.contains("3 policies between them are left out"), "{narrow}");
        assert!(
            narrow.contains("A ns/p0") && narrow.contains("E ns/p4") && !narrow.contains("C ns/p2")
        );
        // Lines of policies that are left out are still marked.
        assert!(narrow.contains("C┃ field2: "), "{narrow}");
        // Stacked: nothing is left out.
        assert!(shown(40).contains("C ns/p2\n"), "{}", shown(40));
    });
}
