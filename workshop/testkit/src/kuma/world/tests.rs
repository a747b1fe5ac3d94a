// SPDX-License-Identifier: Apache-2.0
//! In: many worlds. Out: they are repeatable and valid, and everything happens in them. Not here: the mesh crate.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{documents, generate};
use crate::kuma::{KINDS, OracleConf, Profile, resolve};

const WORLDS: u64 = 400;

fn label<'o>(object: &'o Value, name: &str) -> &'o str {
    object["labels"][name].as_str().unwrap_or("")
}

#[test]
fn a_seed_names_a_world_and_order_does_not_matter() {
    for seed in 0..60 {
        let mut world = documents(seed);
        assert_eq!(world, documents(seed));
        assert_eq!(crate::kgateway::documents(&generate(seed)), world);
        for profile in Profile::ALL {
            let answers = resolve(&world, profile);
            world.reverse();
            assert_eq!(answers, resolve(&world, profile), "seed {seed}");
        }
    }
}

#[test]
fn identities_and_names_differ_and_roles_are_those_a_control_plane_would_write() {
    for seed in 0..WORLDS {
        let world = documents(seed);
        let id = |o: &Value| {
            let labels = ["kuma.io/display-name", "kuma.io/zone", "k8s.kuma.io/namespace"];
            let labels: Vec<String> = labels.map(|l| label(o, l).to_owned()).to_vec();
            (o["type"].to_string(), o["mesh"].to_string(), labels)
        };
        let ids: BTreeSet<_> = world.iter().map(id).collect();
        assert_eq!(ids.len(), world.len(), "seed {seed}");
        let names: BTreeSet<_> =
            world.iter().map(|o| (o["type"].to_string(), o["name"].to_string())).collect();
        assert_eq!(names.len(), world.len(), "seed {seed}");
        for policy in world.iter().filter(|o| KINDS.contains(&o["type"].as_str().unwrap())) {
            let namespace = label(policy, "k8s.kuma.io/namespace");
            assert_eq!(label(policy, "kuma.io/policy-role"), role(policy, namespace), "{policy}");
        }
    }
}

/// The role of a policy, from its entries.
fn role(policy: &Value, namespace: &str) -> &'static str {
    if namespace.is_empty() {
        return "";
    }
    if namespace == "kuma-system" {
        return "system";
    }
    let Some(to) = policy["spec"]["to"].as_array() else { return "workload-owner" };
    assert!(policy["spec"].get("from").is_none(), "{policy}");
    let produces = |entry: &Value| {
        let target = &entry["targetRef"];
        let near = target.get("namespace").is_none_or(|n| n == namespace);
        target["kind"] == "MeshService" && target.get("name").is_some() && near
    };
    let producers = to.iter().filter(|entry| produces(entry)).count();
    assert!(producers == 0 || producers == to.len(), "{policy}");
    if producers > 0 { "producer" } else { "consumer" }
}

/// What worlds are for: a property over worlds in which nothing happens would show nothing.
#[test]
fn everything_happens() {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let mut count = |what: &'static str, happened: bool| {
        *seen.entry(what).or_default() += u64::from(happened);
    };
    for seed in 0..WORLDS {
        let world = documents(seed);
        let [design, release] = Profile::ALL.map(|profile| resolve(&world, profile));
        count("the rule sets differ", design != release);
        let answers: Vec<&OracleConf> = release.values().flat_map(BTreeMap::values).collect();
        count("a mesh", answers.iter().any(|a| a.to.keys().any(|k| k.starts_with("kri_m_"))));
        for kind in ["msvc", "mzsvc", "extsvc"] {
            let prefix = format!("kri_{kind}_");
            let named = answers.iter().flat_map(|a| a.to.keys()).any(|k| k.starts_with(&prefix));
            count(kind, named);
        }
        let section = |key: &String| !key.ends_with('_');
        count("a section", answers.iter().any(|a| a.to.keys().any(section)));
        count("inbounds", answers.iter().any(|a| a.inbounds.len() > 1));
        let differ =
            |a: &&OracleConf| a.inbounds.values().any(|v| Some(v) != a.inbounds.values().next());
        count("inbounds that differ", answers.iter().any(differ));
        count("a single conf", answers.iter().any(|a| a.single.is_some()));
        let clients = |a: &&OracleConf| a.from.values().any(|entries| entries.len() > 2);
        count("many entries about clients", answers.iter().any(clients));
        let grown = |a: &&OracleConf| {
            let at = "/sidecar/profiles/appendProfiles";
            let list = a.single.as_ref().and_then(|c| c.pointer(at)).and_then(Value::as_array);
            list.is_some_and(|list| list.len() > 2)
        };
        count("a list that grew", answers.iter().any(grown));
        count("a proxy with nothing", release.values().any(BTreeMap::is_empty));
    }
    let rare = ["a list that grew", "many entries about clients"];
    for (what, times) in &seen {
        let least = if rare.contains(what) { WORLDS / 100 } else { WORLDS / 10 };
        assert!(*times >= least, "{what}: only {times} of {WORLDS}\n{seen:?}");
    }
    assert_eq!(seen.len(), 12, "{seen:?}");
}
