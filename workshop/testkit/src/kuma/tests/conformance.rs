// SPDX-License-Identifier: Apache-2.0
//! In: the Kuma cases beside the repository, if they are there. Out: the naive implementation agrees with those about
//! order and about destinations. Not here: kinds and references it does not know.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::kgateway::documents;
use crate::kuma::read::OracleMeshes;
use crate::kuma::{Profile, order, rules};

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/kuma");
    folder.is_dir().then_some(folder)
}

fn read(path: &Path) -> Vec<Value> {
    documents(&std::fs::read_to_string(path).unwrap())
}

/// Cases of a restated file; none, with a word about it, where there is no data.
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
fn cases(name: &str) -> Vec<Value> {
    let Some(folder) = folder() else {
        eprintln!("not run: there are no cases");
        return Vec::new();
    };
    let cases = read(&folder.join(name)).remove(0)["cases"].as_array().unwrap().clone();
    assert!(cases.len() > 3, "{name}");
    cases
}

fn policy(name: &Value, labels: &Value, target: &Value, to: &[Value]) -> Value {
    let to: Vec<Value> = to.iter().map(|to| json!({"targetRef": to})).collect();
    let labels = if labels.is_null() { &json!({}) } else { labels };
    let target = if target.is_null() { &json!({"kind": "Mesh"}) } else { target };
    json!({
        "type": "MeshTimeout", "mesh": "default", "name": name, "labels": labels, "spec": {"targetRef": target, "to": to},
    })
}

#[test]
fn dataplane_references() {
    for case in cases("ordering/dataplane_refs.yaml") {
        let [a, b] = ["a", "b"].map(|side| policy(&json!("same"), &json!({}), &case[side], &[]));
        let world = OracleMeshes::read(&[a, b]);
        let [a, b] = world.policies.as_slice() else { panic!("two policies") };
        let found = order::policies(a, b, Profile::Release);
        let expected = case["expected"].as_i64().unwrap().cmp(&0);
        assert_eq!(found, expected, "{case}");
    }
}

/// Ties keep their order there; here no two have one name.
#[test]
fn policies() {
    for case in cases("ordering/policies.yaml") {
        if case.to_string().contains("MeshGateway\",\"name\":\"g\",\"tags") {
            continue; // Tags of gateways are not known here.
        }
        let list = case["policies"].as_array().unwrap();
        let drafts = list.iter().map(|p| policy(&p["name"], &p["labels"], &p["targetRef"], &[]));
        let mut world = OracleMeshes::read(&drafts.collect::<Vec<_>>());
        world.policies.sort_by(|a, b| order::policies(a, b, Profile::Release));
        let found: Vec<&str> = world.policies.iter().map(|p| p.meta.display.as_str()).collect();
        assert_eq!(json!(found), case["expected"], "{case}");
    }
}

#[test]
fn entries() {
    for case in cases("ordering/to_entries.yaml") {
        let list = case["policies"].as_array().unwrap();
        let drafts = list.iter().map(|p| {
            policy(&p["name"], &p["labels"], &p["targetRef"], p["to"].as_array().unwrap())
        });
        let mut world = OracleMeshes::read(&drafts.collect::<Vec<_>>());
        world.policies.sort_by(|a, b| order::policies(a, b, Profile::Release));
        let numbered = world.policies.iter().flat_map(|p| {
            p.to.iter().enumerate().map(move |(i, e)| (format!("{}[{i}]", p.meta.display), p, e))
        });
        let mut numbered: Vec<_> = numbered.collect();
        numbered.sort_by(|a, b| order::entries((a.1, a.2), (b.1, b.2), Profile::Release));
        let found: Vec<&str> = numbered.iter().map(|(name, _, _)| name.as_str()).collect();
        assert_eq!(json!(found), case["expected"], "{case}");
    }
}

/// Labels a variant adds, and the name its resources have.
fn variants() -> [(&'static str, Value); 4] {
    let namespace = "k8s.kuma.io/namespace";
    [
        ("global-uni", json!({"kuma.io/origin": "global"})),
        ("global-k8s", json!({"kuma.io/origin": "global", namespace: "ns-k8s"})),
        ("zone-uni", json!({"kuma.io/origin": "zone", "kuma.io/zone": "zone-uni"})),
        (
            "zone-k8s",
            json!({"kuma.io/origin": "zone", "kuma.io/zone": "zone-k8s", namespace: "ns-k8s"}),
        ),
    ]
}

/// The file's own labels stay.
fn relabelled(world: &[Value], labels: &Value) -> Vec<Value> {
    let mut world = world.to_vec();
    for object in world.iter_mut().filter(|object| object["type"] != "Mesh") {
        let mut all = labels.clone();
        all["kuma.io/display-name"] = object["name"].clone();
        for (key, value) in object["labels"].as_object().into_iter().flatten() {
            all[key] = value.clone();
        }
        object["labels"] = all;
    }
    world
}

#[test]
fn destinations() {
    let Some(folder) = folder() else { return };
    let mut compared = 0;
    for case in ["mt_with_ms", "mt_with_ms-labels", "mt_with_ms-sectionname", "mt_with_ms_and_mesh"]
    {
        let world = read(&folder.join(format!("resourcerules/{case}.input.yaml")));
        for (variant, labels) in variants() {
            let golden = folder.join(format!("resourcerules/{case}/{variant}.golden.yaml"));
            if !golden.exists() {
                continue;
            }
            let golden = read(&golden).remove(0);
            let golden = golden.as_object().unwrap().iter();
            let expected: BTreeMap<String, Value> =
                golden.map(|(key, rule)| (key.clone(), rule["Conf"][0].clone())).collect();
            let mut world = OracleMeshes::read(&relabelled(&world, &labels));
            world.policies.retain(|p| p.meta.display.starts_with("matched-for-rules-"));
            world.policies.sort_by(|a, b| order::policies(a, b, Profile::Release));
            let policies: Vec<_> = world.policies.iter().collect();
            let found = rules::to(&world, &policies, Profile::Release);
            let seconds = |(key, conf): (&String, &Value)| (key.clone(), in_seconds(conf));
            let found: BTreeMap<_, _> = found.iter().map(seconds).collect();
            let expected: BTreeMap<_, _> = expected.iter().map(seconds).collect();
            assert_eq!(found, expected, "{case} {variant}");
            compared += 1;
        }
    }
    assert!(compared >= 8, "only {compared}");
}

/// Durations in one form: the files write 100s, the answers 1m40s.
fn in_seconds(conf: &Value) -> Value {
    match conf {
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), in_seconds(v))).collect(),
        Value::String(text) => match text.split_once('m') {
            Some((minutes, rest)) => {
                let number = |text: &str| text.trim_end_matches('s').parse::<u64>().unwrap_or(0);
                json!(format!("{}s", number(minutes) * 60 + number(rest)))
            }
            None => conf.clone(),
        },
        other => other.clone(),
    }
}

#[test]
fn nothing_ties() {
    let same = |zone: &str| {
        let labels = json!({"kuma.io/display-name": "p", "kuma.io/zone": zone});
        policy(&json!(zone), &labels, &json!({"kind": "Mesh"}), &[])
    };
    let world = OracleMeshes::read(&[same("a"), same("b")]);
    let [a, b] = world.policies.as_slice() else { panic!("two policies") };
    for profile in Profile::ALL {
        assert_eq!(order::policies(a, b, profile), Ordering::Greater);
    }
}
