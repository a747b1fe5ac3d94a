// SPDX-License-Identifier: Apache-2.0
//! In: small worlds, each about one sentence of the text. Out: the answer that sentence gives. Not here: random worlds.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::kgateway::documents;
use crate::kuma::{OracleConf, Profile, decide, resolve};

/// A proxy in a namespace of a zone, with two inbounds, a service there, another in the other zone, and the mesh.
const BASE: &str = "
{type: Mesh, name: default}
---
type: Dataplane
mesh: default
name: d
labels: {kuma.io/origin: zone, kuma.io/zone: east, k8s.kuma.io/namespace: shop, app: x}
networking:
  address: 10.0.0.1
  inbound:
  - {port: 80, name: http, tags: {kuma.io/service: web, version: v1}}
  - {port: 81, tags: {kuma.io/service: web-admin}}
---
type: MeshService
mesh: default
name: web-hash
labels: {kuma.io/display-name: web, kuma.io/origin: zone, kuma.io/zone: east, k8s.kuma.io/namespace: shop, app: x}
spec: {ports: [{port: 80, name: http}, {port: 81}]}
---
type: MeshService
mesh: default
name: web-hash-2
labels: {kuma.io/display-name: web, kuma.io/origin: zone, kuma.io/zone: west, k8s.kuma.io/namespace: shop, app: x}
spec: {ports: [{port: 80, name: http}]}
";
const DATAPLANE: &str = "kri_dp_default_east_shop_d_";
const MESH: &str = "kri_m____default_";
const EAST: &str = "kri_msvc_default_east_shop_web_";
const WEST: &str = "kri_msvc_default_west_shop_web_";

/// Where a policy was made, as its labels.
const GLOBAL: &str = "kuma.io/origin: global";
const SYSTEM: &str = "kuma.io/origin: zone, kuma.io/zone: east, k8s.kuma.io/namespace: kuma-system";
const SHOP: &str = "kuma.io/origin: zone, kuma.io/zone: east, k8s.kuma.io/namespace: shop";

fn timeout(name: &str, labels: &str, spec: &str) -> String {
    format!(
        "---\n{{type: MeshTimeout, mesh: default, name: {name}, labels: {{{labels}}}, spec: {{{spec}}}}}\n"
    )
}

fn answer(policies: &[String], profile: Profile) -> OracleConf {
    let text = format!("{BASE}{}", policies.concat());
    let mut answers = resolve(&documents(&text), profile);
    let mut answers = answers.remove(DATAPLANE).expect("the proxy");
    answers.remove("MeshTimeout").unwrap_or_default()
}

/// The idle timeout of the mesh, of both services and of the first port, under both rule sets if they agree.
fn idle(policies: &[String]) -> BTreeMap<String, String> {
    let [design, release] = Profile::ALL.map(|profile| answer(policies, profile).to);
    assert_eq!(design, release);
    idle_of(&release)
}

fn idle_of(confs: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
    let text = |conf: &Value| conf["idleTimeout"].as_str().unwrap_or("").to_owned();
    confs.iter().map(|(key, conf)| (key.clone(), text(conf))).collect()
}

fn to(target: &str, seconds: u8) -> String {
    format!("to: [{{targetRef: {{{target}}}, default: {{idleTimeout: {seconds}s}}}}]")
}

fn map<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// One policy about the mesh under each of two names: who wins?
fn winner(a: (&str, &str, &str), b: (&str, &str, &str), profile: Profile) -> String {
    let policy = |(name, labels, target): (&str, &str, &str), seconds| {
        let target = format!("targetRef: {{{target}}}, ");
        timeout(name, labels, &(target + &to("kind: Mesh", seconds)))
    };
    let found = answer(&[policy(a, 1), policy(b, 2)], profile);
    idle_of(&found.to).remove(MESH).expect("a conf")
}

#[test]
fn who_wins() {
    let mesh = "kind: Mesh";
    let label = "kind: Dataplane, labels: {app: x}";
    let subset = "kind: MeshSubset, tags: {version: v1}";
    let service = "kind: MeshService, name: web-admin";
    let by_name = "kind: Dataplane, name: d";
    let role = |role: &str| format!("{SHOP}, kuma.io/policy-role: {role}");
    let (consumer, producer) = (role("consumer"), role("producer"));
    for (weak, strong) in [
        (("a", SHOP, mesh), ("b", GLOBAL, label)),
        (("a", SHOP, label), ("b", GLOBAL, subset)),
        (("a", SHOP, subset), ("b", GLOBAL, service)),
        (("a", SHOP, label), ("b", SHOP, by_name)),
        (("a", GLOBAL, mesh), ("b", SYSTEM, mesh)),
        (("a", GLOBAL, mesh), ("b", "", mesh)),
        (("a", "", mesh), ("b", SYSTEM, mesh)),
        (("a", SYSTEM, mesh), ("b", &consumer, mesh)),
        (("a-b", SYSTEM, mesh), ("a", SYSTEM, mesh)),
    ] {
        for profile in Profile::ALL {
            assert_eq!(winner(weak, strong, profile), "2s", "{weak:?} {strong:?}");
            assert_eq!(winner(strong, weak, profile), "1s", "{weak:?} {strong:?}");
        }
    }
    let two = (("a", producer.as_str(), mesh), ("b", consumer.as_str(), mesh));
    assert_eq!(winner(two.0, two.1, Profile::Release), "2s", "roles decide");
    assert_eq!(winner(two.0, two.1, Profile::Design), "1s", "one namespace, so names decide");
    let same = |labels: &str| format!("{labels}, kuma.io/display-name: p");
    let (one, other) = (same(SYSTEM), same("kuma.io/origin: zone, kuma.io/zone: east"));
    let of_shop = ("a", one.as_str(), mesh);
    for profile in Profile::ALL {
        assert_eq!(winner(of_shop, ("b", &other, mesh), profile), "2s", "the smaller identifier");
    }
}

#[test]
fn a_section_of_a_dataplane_beats_none_and_labels_beat_neither() {
    let rules = |name: &str, labels: &str, target: &str, seconds: u8| {
        let target = format!("targetRef: {{kind: Dataplane{target}}}");
        let rule = format!("rules: [{{default: {{idleTimeout: {seconds}s}}}}]");
        timeout(name, labels, &format!("{target}, {rule}"))
    };
    let policies = [
        rules("a", SHOP, ", labels: {app: x}", 1),
        rules("b", GLOBAL, ", labels: {app: x}, sectionName: http", 2),
        rules("c", SYSTEM, ", labels: {}", 3),
    ];
    for profile in Profile::ALL {
        let inbounds = idle_of(&answer(&policies, profile).inbounds);
        assert_eq!(inbounds, map([("81", "1s"), ("http", "2s")]));
    }
}

#[test]
fn policies_stay_where_they_are_but_producers() {
    let west = "kuma.io/origin: zone, kuma.io/zone: west, k8s.kuma.io/namespace: shop";
    let pay = "kuma.io/origin: zone, kuma.io/zone: east, k8s.kuma.io/namespace: pay";
    for (place, role, design, release) in [
        (GLOBAL, "system", true, true),
        (SYSTEM, "system", true, true),
        (SHOP, "consumer", true, true),
        (SHOP, "producer", true, true),
        (west, "consumer", false, false),
        (west, "producer", false, true),
        (pay, "consumer", false, false),
        (pay, "workload-owner", false, false),
        (pay, "producer", false, true),
    ] {
        let labels = format!("{place}, kuma.io/policy-role: {role}");
        let policy = timeout("p", &labels, &to("kind: Mesh", 1));
        let found = Profile::ALL
            .map(|profile| !answer(std::slice::from_ref(&policy), profile).to.is_empty());
        assert_eq!(found, [design, release], "{place} {role}");
    }
    let shadow = format!("{GLOBAL}, kuma.io/effect: shadow");
    assert_eq!(idle(&[timeout("p", &shadow, &to("kind: Mesh", 1))]), map([]));
}

#[test]
fn what_entries_are_about() {
    let labels = "kind: MeshService, labels: {kuma.io/display-name: web}";
    let policy = |target: &str| [timeout("p", SHOP, &to(target, 1))];
    assert_eq!(idle(&policy(labels)), map([(EAST, "1s"), (WEST, "1s")]));
    assert_eq!(idle(&policy("kind: MeshService, name: web")), map([(EAST, "1s")]));
    let other = "kind: MeshService, name: web, namespace: pay";
    assert_eq!(idle(&policy(other)), map([]));
    let global = timeout("p", GLOBAL, &to("kind: MeshService, name: web, namespace: shop", 1));
    assert_eq!(idle(&[global]), map([]), "a name is of the policy's own zone");
    let http = format!("{labels}, sectionName: http");
    let (east, west) = (format!("{EAST}http"), format!("{WEST}http"));
    assert_eq!(idle(&policy(&http)), map([(&east, "1s"), (&west, "1s")]));
    let number = format!("{labels}, sectionName: '81'");
    assert_eq!(idle(&policy(&number)), map([(&format!("{EAST}81"), "1s")]));
    let named = format!("{labels}, sectionName: '80'");
    assert_eq!(idle(&policy(&named)), map([]), "a port with a name has no number");
}

/// The kind of the entry counts within what a policy is, not above it.
#[test]
fn entries_in_order() {
    let east = "kind: MeshService, name: web";
    let http = format!("{EAST}http");
    let entry = |target: &str, seconds: u8| {
        format!("{{targetRef: {{{target}}}, default: {{idleTimeout: {seconds}s}}}}")
    };
    let section = format!("{east}, sectionName: http");
    let both =
        format!("to: [{}, {}, {}]", entry(&section, 1), entry(east, 2), entry("kind: Mesh", 3));
    let all = map([(MESH, "3s"), (EAST, "2s"), (&http, "1s")]);
    assert_eq!(idle(&[timeout("a", SHOP, &both)]), all, "written in the wrong order");
    let wide = format!("targetRef: {{kind: Dataplane}}, {}", to("kind: Mesh", 4));
    let hidden = map([(MESH, "4s"), (EAST, "4s"), (&http, "4s")]);
    assert_eq!(idle(&[timeout("a", SHOP, &both), timeout("b", GLOBAL, &wide)]), hidden);
    let twice = format!("to: [{}, {}]", entry(east, 1), entry(east, 2));
    assert_eq!(idle(&[timeout("a", SHOP, &twice)]), map([(EAST, "2s")]));
}

#[test]
fn a_mesh_that_is_not_there_says_nothing() {
    let text = format!("{BASE}{}", timeout("p", GLOBAL, &to("kind: Mesh", 1)));
    let mut world = documents(&text);
    world.retain(|object| object["type"] != "Mesh");
    assert!(resolve(&world, Profile::Release)[DATAPLANE].is_empty());
}

#[test]
fn inbounds_by_their_own_tags_and_from_read_as_rules() {
    let rules = |name: &str, target: &str, rest: &str| {
        timeout(name, GLOBAL, &format!("targetRef: {{{target}}}, {rest}"))
    };
    let policies = [
        rules("d", "kind: Mesh", "from: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]"),
        rules(
            "c",
            "kind: MeshSubset, tags: {kuma.io/service: '*', version: v1}",
            "rules: [{default: {connectionTimeout: 2s}}, {matches: [{}], default: {idleTimeout: 9s}}]",
        ),
        rules(
            "b",
            "kind: MeshSubset, tags: {kuma.io/service: web-admin, version: v1}",
            "rules: [{default: {idleTimeout: 3s}}]",
        ),
    ];
    let found = answer(&policies, Profile::Release).inbounds;
    let expected = BTreeMap::from([
        ("81".to_owned(), json!({"idleTimeout": "1s"})),
        ("http".to_owned(), json!({"idleTimeout": "1s", "connectionTimeout": "2s"})),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn gateways_and_single_confs_and_clients() {
    let text = "
type: Dataplane
mesh: default
name: g
networking: {gateway: {tags: {kuma.io/service: edge}}}
---
{type: MeshTrace, mesh: default, name: b, spec: {default: {sampling: {overall: 1, random: 1}}}}
---
{type: MeshTrace, mesh: default, name: a, spec: {targetRef: {kind: Mesh, proxyTypes: [Gateway]}, default: {sampling: {random: 2}}}}
---
{type: MeshTrace, mesh: default, name: c, spec: {targetRef: {kind: Mesh, proxyTypes: [Sidecar]}, default: {sampling: {random: 3}}}}
---
{type: MeshTrace, mesh: default, name: d, spec: {targetRef: {kind: MeshService, name: edge}, default: {tags: []}}}
---
{type: MeshTrace, mesh: default, name: e, spec: {targetRef: {kind: MeshService, name: other}, default: {tags: [{}]}}}
---
{type: MeshTrace, mesh: other, name: e, spec: {default: {sampling: {random: 5}}}}
---
type: Dataplane
mesh: default
name: s
networking: {inbound: [{port: 80, tags: {kuma.io/service: s}}]}
---
type: MeshTrafficPermission
mesh: default
name: p
spec:
  from:
  - {targetRef: {kind: Mesh}, default: {action: Allow}}
  - {targetRef: {kind: MeshSubset, tags: {version: v1}}, default: {action: Deny}}
  - {targetRef: {kind: MeshServiceSubset, name: web, tags: {version: v1}}, default: {action: Allow}}
";
    let answers = resolve(&documents(text), Profile::Design);
    let gateway = &answers["kri_dp_default___g_"];
    let single = gateway["MeshTrace"].single.clone();
    assert_eq!(single, Some(json!({"sampling": {"overall": 1, "random": 2}, "tags": []})));
    assert!(!gateway.contains_key("MeshTrafficPermission"), "it has no inbounds");
    let entries = &answers["kri_dp_default___s_"]["MeshTrafficPermission"].from["80"];
    for (client, action) in [
        (map([]), "Allow"),
        (map([("version", "v1")]), "Deny"),
        (map([("version", "v1"), ("kuma.io/service", "db")]), "Deny"),
        (map([("version", "v1"), ("kuma.io/service", "web")]), "Allow"),
    ] {
        assert_eq!(decide(entries, &client), Some(json!({"action": action})), "{client:?}");
    }
    assert_eq!(decide(&entries[1..], &map([])), None);
}
