// SPDX-License-Identifier: Apache-2.0
//! In: confs in merge order. Out: merged values, their origins, what lost; and the same by ladders of the engine.
//! Not here: reading entries.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation shall stop the test"
)]

#[path = "conf_merging/random.rs"]
mod random;
mod support;

use overrule_engine::{Fold, Group, Ladders, PolicyId, Rung, Step, StepId, Traced};
use overrule_mesh::conf::plan::{KeyEquality, reversed};
use overrule_mesh::conf::{
    Append, ConfAlgebra, ConfStrategy, EntryPosition, Keyed, Merged, Plan, StepConfs, conf_of,
    merge_by,
};
use overrule_source::Documents;
use serde_json::{Value, json};
use support::{at, documents, losses, origins, roots};

fn values(confs: &[(StepId, Traced)]) -> Vec<Traced> {
    confs.iter().map(|(_, conf)| conf.clone()).collect()
}

/// The values of confs of a kind.
fn merge(documents: &Documents, kind: &str, confs: &[(StepId, Traced)]) -> Vec<Traced> {
    let plan = Plan::new(
        documents,
        ConfStrategy::of(support::kind(kind)),
        confs.iter().map(|(_, c)| c),
        0,
    );
    merge_by(documents, &plan, values(confs)).into_iter().map(|m| m.value).collect()
}

/// Entries, one per document, low to high.
struct World {
    documents: Documents,
    kind: &'static str,
    confs: Vec<(StepId, Traced)>,
}

impl World {
    fn new(kind: &'static str, position: EntryPosition, text: &str) -> Self {
        let documents = documents(text);
        let entries = (0..).map(StepId).zip(roots(&documents));
        let confs = entries
            .map(|(s, e)| (s, conf_of(&documents, support::kind(kind), s, e, position)))
            .collect();
        Self { documents, kind, confs }
    }

    fn merge(&self) -> Vec<Merged> {
        let plan = Plan::new(
            &self.documents,
            ConfStrategy::of(support::kind(self.kind)),
            self.confs.iter().map(|(_, c)| c),
            0,
        );
        let merged = merge_by(&self.documents, &plan, values(&self.confs));
        self.agrees_with_ladders(&merged);
        merged
    }

    fn json(&self, value: &Traced) -> Value {
        support::json(&self.documents, value)
    }

    /// The fold over ladders gives the same values and losses.
    fn agrees_with_ladders(&self, merged: &[Merged]) {
        let mut ladders = Ladders::default();
        let nodes = roots(&self.documents);
        let rungs = (0..).zip(&nodes).map(|(i, node)| {
            let step = Step {
                policy: PolicyId(i),
                entry: Some(0),
                block: "to",
                level: 0,
                value: *node,
                mode: 0,
                extra: 0,
            };
            Rung::Step(ladders.step(step))
        });
        let rungs: Vec<Rung> = rungs.collect();
        let confs = values(&self.confs);
        // Two plans, so that numbers of combinators are put to the test.
        let plans = [
            Plan::new(&self.documents, ConfStrategy::of(&overrule_mesh::kinds::TIMEOUT), [], 0),
            Plan::new(&self.documents, ConfStrategy::of(support::kind(self.kind)), &confs, 1),
        ];
        let hostnames: Vec<Box<str>> = merged.iter().filter_map(|m| m.group.clone()).collect();
        for one in merged {
            let extra = hostnames.iter().position(|h| Some(h) == one.group.as_ref());
            let extra = extra.map_or(0, |i| u32::try_from(i).unwrap() + 1);
            let ladder =
                ladders.group(Group { spec: 1, extra, rungs: rungs.iter().copied().collect() });
            let algebra = ConfAlgebra {
                documents: &self.documents,
                plans: &plans,
                confs: StepConfs::All(&confs),
                hostnames: &hostnames,
            };
            let effective = Fold::new(&self.documents, &ladders, &algebra).ladder(ladder);
            assert_eq!(effective.value.as_ref(), Some(&one.value));
            assert!(effective.losses.iter().eq(&one.losses));
        }
    }
}

#[test]
fn later_confs_win_field_by_field() {
    let world = World::new("MeshTimeout", EntryPosition::To, "
default: {idleTimeout: 10s, connectionTimeout: 60s, http: {requestTimeout: 1s, streamIdleTimeout: 2s}}
---
default: {idleTimeout: 20s}
---
default: {http: {requestTimeout: 3s}}
");
    let merged = world.merge();
    let [one] = &merged[..] else { panic!("{merged:?}") };
    assert_eq!(
        world.json(&one.value),
        json!({"idleTimeout": "20s", "connectionTimeout": "1m0s",
        "http": {"requestTimeout": "3s", "streamIdleTimeout": "2s"}})
    );
    let expected = at([
        ("/idleTimeout", 1),
        ("/connectionTimeout", 0),
        ("/http/requestTimeout", 2),
        ("/http/streamIdleTimeout", 0),
    ]);
    assert_eq!(origins(&world.documents, &one.value), expected);
    assert_eq!(losses(&one.losses), ["0 /idleTimeout by 1", "0 /http/requestTimeout by 2"]);
    assert_eq!(one.steps.to_vec(), [StepId(0), StepId(1), StepId(2)]);
}

#[test]
fn no_confs_and_empty_confs() {
    let documents = documents("{}");
    assert_eq!(merge(&documents, "MeshTimeout", &[]), []);
    let world = World::new("MeshTimeout", EntryPosition::To, "targetRef: {}\n---\ntargetRef: {}\n");
    let merged = world.merge();
    assert_eq!(world.json(&merged[0].value), json!({}));
    assert_eq!(merged[0].value.steps().to_vec(), [StepId(1)], "the last one implies it");
    let world = World::new(
        "MeshTimeout",
        EntryPosition::To,
        "default: {idleTimeout: 1s}\n---\ntargetRef: {}\n",
    );
    assert_eq!(world.json(&world.merge()[0].value), json!({"idleTimeout": "1s"}));
}

#[test]
fn lists_replace_unless_their_name_says_append() {
    let world = World::new("MeshMetric", EntryPosition::Single, "
default: {applications: [{port: 1}], sidecar: {profiles: {appendProfiles: [{name: All}], include: [{match: a}]}}}
---
default: {sidecar: {includeUnused: true}}
---
default: {applications: [{port: 2}], sidecar: {profiles: {appendProfiles: [{name: Basic}], include: []}}}
");
    let one = &world.merge()[0];
    assert_eq!(
        world.json(&one.value),
        json!({
        "applications": [{"port": 2, "path": "/metrics"}],
        "sidecar": {"includeUnused": true, "profiles": {"appendProfiles": [{"name": "All"}, {"name": "Basic"}], "include": []}}})
    );
    let found = origins(&world.documents, &one.value);
    let expected = [
        ("/sidecar/profiles/appendProfiles/0", 0),
        ("/sidecar/profiles/appendProfiles/1", 2),
        ("/sidecar/profiles/include", 2),
        ("/sidecar/includeUnused", 1),
    ];
    for (pointer, step) in expected {
        assert_eq!(found.get(pointer), Some(&step), "{pointer} in {found:?}");
    }
}

#[test]
fn names_inside_lists_append_nothing() {
    let world = World::new(
        "MeshTrace",
        EntryPosition::Single,
        "
default: {backends: [{appendX: [1]}], appendNot: a, tags: [{name: a}]}
---
default: {backends: [{appendX: [2]}], appendNot: b}
",
    );
    let expected =
        json!({"backends": [{"appendX": [2]}], "appendNot": "b", "tags": [{"name": "a"}]});
    assert_eq!(world.json(&world.merge()[0].value), expected);
}

#[test]
fn defaults_of_the_schema_override() {
    let world = World::new(
        "MeshTLS",
        EntryPosition::From,
        "
default: {tlsVersion: {min: TLS12, max: TLS13}}
---
default: {tlsVersion: {min: TLS13}}
",
    );
    let one = &world.merge()[0];
    assert_eq!(world.json(&one.value), json!({"tlsVersion": {"min": "TLS13", "max": "TLSAuto"}}));
    assert_eq!(losses(&one.losses), ["0 /tlsVersion/min by 1", "0 /tlsVersion/max by 1"]);
}

#[test]
fn rules_of_the_strongest_route_come_first() {
    let world = World::new("MeshHTTPRoute", EntryPosition::To, "
rules:
- {matches: [{path: {type: Exact, value: /low}}], default: {backendRefs: [{name: low}]}}
- {matches: [{headers: [{name: h, value: v}]}], default: {filters: [{type: low}], backendRefs: [{name: low}]}}
---
rules:
- {matches: [{path: {type: Exact, value: /high}}], default: {}}
- {matches: [{headers: [{type: Exact, value: v, name: h}]}], default: {filters: [{type: high}]}}
");
    let one = &world.merge()[0];
    let header = json!([{"headers": [{"type": "Exact", "name": "h", "value": "v"}]}]);
    assert_eq!(
        world.json(&one.value),
        json!({"rules": [
        {"matches": [{"path": {"type": "Exact", "value": "/high"}}], "default": {}},
        {"matches": header, "default": {"filters": [{"type": "high"}], "backendRefs": [{"name": "low", "weight": 1}]}},
        {"matches": [{"path": {"type": "Exact", "value": "/low"}}], "default": {"backendRefs": [{"name": "low", "weight": 1}]}}]})
    );
    assert_eq!(
        losses(&one.losses),
        ["0 /rules/1/default/filters by 1"],
        "equal matches are no loss"
    );
}

#[test]
fn in_one_route_the_first_of_equal_rules_wins() {
    let world = World::new(
        "MeshHTTPRoute",
        EntryPosition::To,
        "
rules:
- {matches: [{method: GET}], default: {filters: [{type: first}]}}
- {matches: [{method: PUT}], default: {}}
- {matches: [{method: GET}], default: {filters: [{type: second}], backendRefs: [{name: second}]}}
",
    );
    let one = &world.merge()[0];
    assert_eq!(
        world.json(&one.value),
        json!({"rules": [
        {"matches": [{"method": "GET"}], "default": {"filters": [{"type": "first"}], "backendRefs": [{"name": "second", "weight": 1}]}},
        {"matches": [{"method": "PUT"}], "default": {}}]})
    );
    assert_eq!(losses(&one.losses), ["0 /rules/0/default/filters by 0"]);
    assert_eq!(one.losses[0].reason.id, "same-matches");
}

#[test]
fn one_conf_per_hostname() {
    let rule = |name: &str| format!("[{{matches: [{{method: {name}}}], default: {{}}}}]");
    let world = World::new(
        "MeshHTTPRoute",
        EntryPosition::To,
        &format!(
            "
{{hostnames: [b.com, a.com, b.com], rules: {}}}
---
{{rules: {}}}
---
{{hostnames: [c.com, a.com], rules: {}}}
",
            rule("GET"),
            rule("PUT"),
            rule("POST")
        ),
    );
    let merged = world.merge();
    let methods = |m: &Merged| -> Vec<String> {
        let rules = world.json(&m.value)["rules"].as_array().expect("rules").clone();
        rules.iter().map(|r| r["matches"][0]["method"].as_str().unwrap().to_owned()).collect()
    };
    let seen: Vec<_> = merged.iter().map(|m| (m.group.as_deref(), methods(m))).collect();
    let expected: [(Option<&str>, &[&str]); 4] = [
        (Some("b.com"), &["GET"]),
        (Some("a.com"), &["POST", "GET"]),
        (None, &["PUT"]),
        (Some("c.com"), &["POST"]),
    ];
    assert_eq!(seen, expected.map(|(h, m)| (h, m.iter().map(|m| (*m).to_owned()).collect())));
    let hostnames: Vec<Value> =
        merged.iter().map(|m| world.json(&m.value)["hostnames"].clone()).collect();
    assert_eq!(hostnames, [json!(["b.com"]), json!(["a.com"]), Value::Null, json!(["c.com"])]);
    assert!(merged.iter().all(|m| m.losses.is_empty()));
    assert_eq!(merged[1].steps.to_vec(), [StepId(0), StepId(2)]);
}

/// Many routes on one service: the fold looks at every rule held once per route, and no more than that.
#[test]
fn a_hundred_routes_of_ten_rules() {
    let route = |i: usize| {
        let rule = |j: usize| json!({"matches": [{"path": {"type": "Exact", "value": format!("/{}", i * 7 + j)}}], "default": {"backendRefs": [{"name": "b"}]}});
        json!({"rules": (0..10).map(rule).collect::<Vec<_>>()}).to_string()
    };
    let text = (0..100).map(route).collect::<Vec<_>>().join("\n---\n");
    let world = World::new("MeshHTTPRoute", EntryPosition::To, &text);
    let merged = merge(&world.documents, world.kind, &world.confs);
    let rules = merged[0].get(&world.documents, "rules").expect("rules").items(&world.documents);
    assert_eq!(rules.len(), 99 * 7 + 10);
}

/// Field names of no kind, nulls, and everything at once: two groups, keys, appended lists.
#[test]
fn a_strategy_by_path() {
    let documents = documents(
        "
{names: [x, z], items: [{id: {a: 1, b: 2}, default: {p: 1}}], more: {list: [1]}, plain: [1], gone: 1}
---
{names: [z], items: [{id: {b: 2, a: 1}, default: {q: 2}}, {id: 5}], more: {list: [2]}, plain: [2], gone: null}
---
{items: [{default: {r: 1}}, {default: {r: 2}}], more: {list: null}}
",
    );
    let strategy = ConfStrategy {
        append: Append::Paths(vec!["more.list".into()]),
        keyed: Some(Keyed { list: "items".into(), key: "id".into(), identity: KeyEquality::Value }),
        group_by: Some("names".into()),
        first_counts: false,
    };
    let confs: Vec<(StepId, Traced)> =
        (0..).zip(roots(&documents)).map(|(i, n)| support::whole(i, n)).collect();
    let plan = Plan::new(&documents, strategy, [], 0);
    let turn = |value: &Traced| reversed(&documents, value, "items");
    let turned: Vec<(StepId, Traced)> = confs.iter().map(|(s, c)| (*s, turn(c))).collect();
    let merged = merge_by(&documents, &plan, values(&turned));
    let merged: Vec<Value> = merged
        .iter()
        .map(|m| support::without_nulls(support::json(&documents, &turn(&m.value))))
        .collect();
    let first = json!({"id": {"a": 1, "b": 2}, "default": {"p": 1}});
    let both = json!({"id": {"a": 1, "b": 2}, "default": {"p": 1, "q": 2}});
    let expected = [
        json!({"names": ["x"], "items": [first], "more": {"list": [1]}, "plain": [1], "gone": 1}),
        json!({"names": ["z"], "items": [both, {"id": 5}], "more": {"list": [1, 2]}, "plain": [2]}),
        json!({"items": [{"default": {"r": 2}}], "more": {}}),
    ];
    assert_eq!(merged, expected);
}
