// SPDX-License-Identifier: Apache-2.0
//! In: random confs and routes. Out: whether they are merged as the steps say that upstream documents, on plain JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::World;
use overrule_mesh::conf::EntryPosition;

/// The steps as they are told, on plain JSON: rules reversed and put one after another, equal ones merged at the place of
/// the last, all reversed.
fn told(confs: &[Value]) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for conf in confs {
        for rule in conf["rules"].as_array().expect("rules").iter().rev() {
            let before = all.iter().position(|r| r["matches"] == rule["matches"]);
            let mut merged = before.map_or_else(|| Value::Object(Map::new()), |i| all.remove(i));
            patch(&mut merged, rule);
            all.push(merged);
        }
    }
    all.reverse();
    json!({"rules": all})
}

/// RFC 7396.
fn patch(target: &mut Value, with: &Value) {
    let Value::Object(with) = with else {
        *target = with.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, value) in with {
        match value.is_null() {
            true => drop(target.as_object_mut().unwrap().remove(key)),
            false => {
                patch(target.as_object_mut().unwrap().entry(key).or_insert(Value::Null), value)
            }
        }
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[test]
fn random_routes_agree_with_the_steps_as_told() {
    let mut dice = Dice(3);
    for round in 0..300 {
        let rule = |dice: &mut Dice| {
            let mut default = Map::new();
            for key in ["filters", "backendRefs", "x", "z"] {
                if dice.roll(2) == 0 {
                    let value = dice.roll(3);
                    default.insert(
                        key.into(),
                        if key == "x" {
                            json!({"a": value})
                        } else {
                            json!([{"name": value.to_string(), "weight": 1}])
                        },
                    );
                }
            }
            json!({"matches": [{"method": format!("M{}", dice.roll(4))}], "default": default})
        };
        let mut confs: Vec<Value> = Vec::new();
        for _ in 0..=dice.roll(4) {
            let rules: Vec<Value> = (0..dice.roll(5)).map(|_| rule(&mut dice)).collect();
            confs.push(json!({"rules": rules}));
        }
        let text = confs.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
        let world = World::new("MeshHTTPRoute", EntryPosition::To, &text);
        let merged = world.merge();
        assert_eq!(world.json(&merged[0].value), told(&confs), "round {round}: {text}");
    }
}

#[test]
fn random_confs_agree_with_the_patches_as_told() {
    fn conf(dice: &mut Dice, depth: u64) -> Value {
        let mut map = Map::new();
        for key in ["a", "b", "appendC", "d"] {
            let value = match dice.roll(4) {
                0 if depth > 0 && key != "appendC" => conf(dice, depth - 1),
                1 if key != "appendC" => json!(dice.roll(9)),
                2 => json!([dice.roll(9), dice.roll(9)]),
                _ => continue,
            };
            map.insert(key.into(), value);
        }
        Value::Object(map)
    }
    /// Appended lists of one place, in order.
    fn gather(value: &Value, at: &str, found: &mut BTreeMap<String, Vec<Value>>) {
        for (key, member) in value.as_object().into_iter().flatten() {
            let at = format!("{at}/{key}");
            match member {
                Value::Array(items) if key.starts_with("append") => {
                    found.entry(at).or_default().extend(items.iter().cloned())
                }
                _ => gather(member, &at, found),
            }
        }
    }
    let mut dice = Dice(11);
    let mut compared = 0;
    for round in 0..300 {
        let confs: Vec<Value> = (0..=dice.roll(4)).map(|_| conf(&mut dice, 2)).collect();
        // A place that is a mapping here and something else there has no told result for what is appended below it.
        let mut told = confs[0].clone();
        let mut lists = BTreeMap::new();
        gather(&confs[0], "", &mut lists);
        let mut mixed = false;
        for conf in &confs[1..] {
            mixed |= clash(&told, conf);
            patch(&mut told, conf);
            gather(conf, "", &mut lists);
        }
        if mixed {
            continue;
        }
        for (pointer, items) in lists {
            *told.pointer_mut(&pointer).expect("a list") = Value::Array(items);
        }
        let text = confs
            .iter()
            .map(|c| json!({"default": c}).to_string())
            .collect::<Vec<_>>()
            .join("\n---\n");
        let world = World::new("MeshProxyPatch", EntryPosition::Single, &text);
        assert_eq!(world.json(&world.merge()[0].value), told, "round {round}: {text}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

fn clash(a: &Value, b: &Value) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else {
        return a.is_object() != b.is_object();
    };
    a.iter().any(|(key, value)| b.get(key).is_some_and(|other| clash(value, other)))
}
