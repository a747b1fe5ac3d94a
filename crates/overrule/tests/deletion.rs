// SPDX-License-Identifier: Apache-2.0
//! In: random worlds of every family, of which one object is being deleted. Out: whether every answer is the one of the
//! world without that object. Not here: how it is shown (`crates/cli/tests`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test stops at the first surprise"
)]

use overrule::live::{Edit, KeyedText, Workspace};
use overrule::source::{Input, SingleLetters};
use overrule::{Analysis, Options};
use overrule_testkit::rng::Rng;
use overrule_testkit::{generate, kgateway, kuadrant, kuma, yaml};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

const WORLDS: u64 = 10;
/// Objects of each world that are deleted, one at a time.
const EACH: u64 = 6;

/// Findings that say why something is missing, or that it is assumed, as long as nobody knows better.
const KNOWS_BETTER: [&str; 5] = ["OV1111", "OV1206", "OV1207", "OV1617", "OV1616"];

fn options() -> Options {
    Options { compare: true, single_letters: SingleLetters::Text, ..Options::default() }
}

/// The other objects, and one in a text of its own, or none.
fn texts(others: &[Value], one: Option<&Value>) -> Vec<KeyedText> {
    let text = |name: &str, text: String| KeyedText {
        key: name.into(),
        input: Input::new(name, text),
        created: None,
    };
    let one = one.map_or_else(|| "# nothing\n".to_owned(), yaml::document);
    vec![text("a.yaml", yaml::documents(others)), text("z.yaml", one)]
}

/// Every effective policy, every outcome, every finding that is not about the deletion.
fn said(analysis: &Analysis) -> Vec<String> {
    let stage = analysis.stage();
    let scene = stage.scene();
    let mut said = Vec::new();
    for part in scene.parts.iter().chain(scene.others.iter().map(|other| &other.part)) {
        for (kind, _) in part.resolution.kinds() {
            for (path, _) in part.resolution.contexts(kind) {
                let mut effective = overrule::view::effective(&scene, part, kind, path);
                effective.diagnostics.clear();
                said.push(overrule::view::json_line(&effective));
            }
        }
        for (policy, entry) in part.resolution.policies() {
            let (outcome, tally) = (part.resolution.outcome(policy), part.resolution.tally(policy));
            let name = analysis.snapshot.display(entry.object);
            said.push(format!("{name} {} {tally:?}", outcome.word()));
        }
    }
    let told = analysis.diagnostics.iter().filter(|d| !KNOWS_BETTER.contains(&d.code.id));
    let mut found: Vec<String> =
        told.map(|d| format!("{} {} {:?}", d.code.id, d.message, d.primary)).collect();
    found.sort();
    said.extend(found);
    said
}

/// The same object as Kubernetes has it: universal resources are never being deleted.
fn on_kubernetes(object: &Value) -> Value {
    let Some(kind) = object["type"].as_str() else { return object.clone() };
    let mut labels = object["labels"].clone();
    if labels.is_null() {
        labels = json!({});
    }
    let name = object["name"].clone();
    let mut it =
        json!({"apiVersion": "kuma.io/v1alpha1", "kind": kind, "metadata": {"name": name}});
    if let Some(mesh) = object["mesh"].as_str() {
        labels["kuma.io/mesh"] = json!(mesh);
        it["mesh"] = json!(mesh);
    }
    it["metadata"]["labels"] = labels;
    let own = ["type", "name", "mesh", "labels", "creationTime", "spec"];
    let members = object.as_object().unwrap().iter().filter(|(key, _)| !own.contains(&&***key));
    let old: serde_json::Map<String, Value> =
        members.map(|(key, value)| (key.clone(), value.clone())).collect();
    it["spec"] = if object["spec"].is_null() { Value::Object(old) } else { object["spec"].clone() };
    it
}

fn check(family: &str, seed: u64, objects: &[Value]) -> usize {
    let mut rng = Rng::new(seed, family, 1);
    let mut mattered = 0;
    for _ in 0..EACH {
        let at = usize::try_from(rng.below(objects.len() as u64)).unwrap();
        let mut others = objects.to_vec();
        let live = on_kubernetes(&others.remove(at));
        if matches!(live["kind"].as_str(), Some("PolicyKind")) {
            continue;
        }
        let mut deleted = live.clone();
        deleted["metadata"]["deletionTimestamp"] = json!("2026-11-19T00:00:00Z");
        let without = Workspace::new(texts(&others, None), options());
        let with = Workspace::new(texts(&others, Some(&deleted)), options());
        let wanted = said(without.analysis());
        assert!(
            said(with.analysis()) == wanted,
            "{family}, seed {seed}: {deleted} takes part in\n{}",
            yaml::documents(&others)
        );
        assert_eq!(with.analysis().snapshot.deleted().len(), 1, "{deleted}");
        // The same when the mark comes and goes while somebody looks.
        let mut live_one = Workspace::new(texts(&others, Some(&live)), options());
        let before = said(live_one.analysis());
        mattered += usize::from(before != wanted);
        let put = |object: &Value| Edit::Put(texts(&others, Some(object)).remove(1));
        assert!(
            said(&live_one.change(vec![put(&deleted)])) == wanted,
            "{family}, seed {seed}: {deleted}"
        );
        assert!(
            said(&live_one.change(vec![put(&live)])) == before,
            "{family}, seed {seed}: {live}"
        );
    }
    mattered
}

/// Not all of them would have made no difference anyway.
fn enough(family: &str, mattered: usize) {
    println!("{family}: {mattered} objects made a difference");
    assert!(mattered > usize::try_from(WORLDS).unwrap(), "{family}: {mattered}");
}

#[test]
fn of_gateway() {
    let config = Config { failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let worlds = (0..WORLDS).map(|_| generate::world().new_tree(&mut runner).unwrap().current());
    enough("gateway", (0..).zip(worlds).map(|(n, w)| check("gateway", n, &w.resources)).sum());
}

#[test]
fn of_kuadrant() {
    let world = |seed| {
        kuadrant::world(&mut Rng::new(seed, "kuadrant", seed), &kuadrant::WorldShape::default())
    };
    enough("kuadrant", (0..WORLDS).map(|seed| check("kuadrant", seed, &world(seed))).sum());
}

#[test]
fn of_kgateway() {
    let world = |seed| kgateway::world::objects(seed).0;
    enough("kgateway", (0..WORLDS).map(|seed| check("kgateway", seed, &world(seed))).sum());
}

#[test]
fn of_kuma() {
    enough(
        "kuma",
        (0..WORLDS).map(|seed| check("kuma", seed, &kuma::world::documents(seed))).sum(),
    );
}
