// SPDX-License-Identifier: Apache-2.0
//! In: a world, and the same with one policy less. Out: that what is said to change is what does.

use std::collections::BTreeMap;

use overrule::Analysis;
use overrule::view::{self, v1};
use overrule_ask::{Effective, Everything};
use serde_json::Value;

use crate::tenancy::ask;
use crate::worlds::{self, Tenant};

fn changes(before: &Analysis, after: &Analysis) -> v1::EffectiveChanges {
    let stages = (before.stage(), after.stage());
    view::changes(&stages.0.scene(), &stages.1.scene())
}

/// What is in force at the targets that are kept, the slow way: value and names of policies, by kind and path.
pub fn in_force(analysis: &Analysis, keep: &dyn Fn(&str) -> bool) -> BTreeMap<String, String> {
    let answer = ask::<Effective>(analysis, &Everything, "output=json");
    let json = answer.lines().skip(2).collect::<Vec<_>>().join("\n");
    let json: Value =
        serde_json::Deserializer::from_str(&json).into_iter().next().unwrap().unwrap();
    let mut found = BTreeMap::new();
    for item in json["items"].as_array().unwrap() {
        let origins = item["origins"].as_object().unwrap().iter().map(|(at, list)| {
            let names = list.as_array().unwrap().iter().map(|o| o["policy"].to_string());
            (at.clone(), names.collect::<std::collections::BTreeSet<_>>())
        });
        let origins: BTreeMap<_, _> = origins.collect();
        let fails = item["error"].as_array().is_some_and(|e| !e.is_empty());
        let nothing = item["spec"].is_null() && origins.is_empty() && !fails;
        if nothing || !keep(item["target"].as_str().unwrap()) {
            continue;
        }
        let key = format!("{} {} {}", item["family"], item["policyKind"], item["path"]);
        found.insert(key, format!("{} {origins:?} {fails}", item["spec"]));
    }
    found
}

#[test]
fn what_is_said_to_change_does() {
    let mut changed = 0;
    for world in worlds::all(6) {
        let policies: Vec<usize> = (0..world.objects.len())
            .filter(|i| {
                let kind =
                    world.objects[*i]["type"].as_str().or(world.objects[*i]["kind"].as_str());
                kind.is_some_and(|k| {
                    k.ends_with("Policy") || k == "MeshTimeout" || k == "MeshRetry"
                })
            })
            .collect();
        let before = world.analyse(0);
        let then = in_force(&before, &|_| true);
        for gone in policies.into_iter().step_by(3) {
            let after = world.without(&|i| i == gone).analyse(0);
            let now = in_force(&after, &|_| true);
            let mut expected: Vec<&String> = then
                .keys()
                .chain(now.keys())
                .filter(|key| then.get(*key) != now.get(*key))
                .collect();
            expected.sort();
            expected.dedup();
            let found = changes(&before, &after);
            let key = |c: &v1::EffectiveChange| {
                let path = serde_json::to_value(&c.path).unwrap();
                format!("{:?} {:?} {path}", c.family, c.policy_kind)
            };
            let mut told: Vec<String> = found.items.iter().map(key).collect();
            told.sort();
            assert_eq!(told.iter().collect::<Vec<_>>(), expected, "{} without {gone}", world.name);
            for item in &found.items {
                assert!(item.because.contains("was removed"), "{}: {}", world.name, item.because);
                assert!(!item.fields.is_empty());
            }
            changed += told.len();
            // Nothing changes back and forth alike.
            assert_eq!(changes(&after, &before).items.len(), found.items.len());
        }
        assert!(changes(&before, &world.analyse(1)).items.is_empty(), "{}", world.name);
    }
    assert!(changed > 50, "too little changes to test anything: {changed}");
}

#[test]
fn a_reader_is_told_of_its_own_only() {
    let mut told = 0;
    for world in worlds::all(6) {
        let before = world.analyse(0);
        for gone in (0..world.objects.len()).step_by(4) {
            let after = world.without(&|i| i == gone).analyse(0);
            let stages = (before.stage(), after.stage());
            let found = view::changes_for(&stages.0.scene(), &stages.1.scene(), &Tenant);
            told += found.items.len();
            let mut text = view::json(&found);
            view::changes_text(&found, &view::Styles::plain(), &mut text).unwrap();
            for mark in ["labelmark", "commentmark", "filemark", "secret-"] {
                assert!(!text.contains(mark), "{}: {mark}\n{text}", world.name);
            }
            for item in &found.items {
                let named = item.because.split([' ', ',']).filter(|w| w.contains("namemark"));
                for name in named {
                    let sets = |f: &v1::FieldChange| f.from.iter().chain(&f.to).any(|n| n == name);
                    assert!(
                        item.fields.iter().any(sets),
                        "{}: {name} in {}",
                        world.name,
                        item.because
                    );
                }
            }
        }
    }
    assert!(told > 20, "too little is told to test anything: {told}");
}
