// SPDX-License-Identifier: Apache-2.0
//! In: seeds. Out: small worlds of every family in which some objects are secret. Not here: what is asked about them.

use overrule::model::{Object, Snapshot};
use overrule::source::Input;
use overrule::{Analysis, Options};
use overrule_ask::Sees;
use overrule_testkit::{deletion, generate, kgateway, kuadrant, kuma, rng::Rng, yaml};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// The label that secret objects have.
const SECRET: &str = "secret";

/// Who may read all that has not the label.
pub struct Tenant;

impl Sees for Tenant {
    fn object(&self, snapshot: &Snapshot, object: &Object) -> bool {
        snapshot.names().lookup(SECRET).is_none_or(|key| object.labels.get(key).is_none())
    }

    fn everything(&self) -> bool {
        false
    }
}

/// A world.
#[derive(Clone)]
pub struct World {
    pub name: String,
    pub objects: Vec<Value>,
    /// By object.
    pub secret: Vec<bool>,
    /// By object: its number, which stays when others go.
    numbers: Vec<usize>,
}

/// Worlds of every family.
pub fn all(seeds: u64) -> Vec<World> {
    let mut worlds = Vec::new();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for seed in 0..seeds {
        let gateway = generate::world().new_tree(&mut runner).unwrap().current();
        worlds.push(World::new("gateway", seed, gateway.resources));
        let mut random = Rng::new(seed, "tenancy", 0);
        let shape = kuadrant::WorldShape::default();
        worlds.push(World::new("kuadrant", seed, kuadrant::world(&mut random, &shape)));
        worlds.push(World::new("kgateway", seed, kgateway::world::objects(seed).0));
        worlds.push(World::new("kuma", seed, kuma::world::documents(seed)));
    }
    worlds
}

impl World {
    fn new(family: &str, seed: u64, mut objects: Vec<Value>) -> Self {
        // In every second world some objects are being deleted, secret ones and others.
        if seed % 2 == 1 {
            deletion::mark(&mut Rng::new(seed, "deletion", 0), &mut objects, 8);
        }
        let mut secret = Vec::new();
        for (i, object) in objects.iter_mut().enumerate() {
            let mut rng = Rng::new(seed, "secret", i as u64);
            // Kinds are described for everybody; the mesh itself is everybody's.
            let open =
                matches!(object["kind"].as_str(), Some("PolicyKind")) || object["type"] == "Mesh";
            let hidden = !open && rng.next() % 100 < 45;
            secret.push(hidden);
            if hidden {
                hide(object, i);
            }
        }
        let numbers = (0..objects.len()).collect();
        Self { name: format!("{family} {seed}"), objects, secret, numbers }
    }

    /// The analysis; `generation` changes everything about secret objects that has no meaning.
    pub fn analyse(&self, generation: u32) -> Analysis {
        let input = |(i, object): (usize, &Value)| match (self.secret[i], self.numbers[i]) {
            (false, i) => Input::new(format!("open-{i:03}.yaml"), yaml::document(object)),
            (true, i) => {
                let mut object = object.clone();
                set_label(&mut object, &format!("labelmark{i}x{generation}"));
                let text = format!("# commentmark{i}x{generation}\n{}", yaml::document(&object));
                Input::new(format!("secret-{i:03}-filemark{i}x{generation}.yaml"), text)
            }
        };
        let inputs = self.objects.iter().enumerate().map(input).collect();
        Analysis::new(inputs, &Options { compare: true, ..Options::default() })
    }

    /// The same without some objects.
    pub fn without(&self, gone: &dyn Fn(usize) -> bool) -> Self {
        let keep = |i: &usize| !gone(*i);
        let objects = self.objects.iter().enumerate().filter(|(i, _)| keep(i));
        let secret = self.secret.iter().enumerate().filter(|(i, _)| keep(i));
        let numbers = self.numbers.iter().enumerate().filter(|(i, _)| keep(i));
        Self {
            name: self.name.clone(),
            objects: objects.map(|(_, o)| o.clone()).collect(),
            secret: secret.map(|(_, s)| *s).collect(),
            numbers: numbers.map(|(_, n)| *n).collect(),
        }
    }
}

/// Marks a secret object; where that breaks no references, its name too.
fn hide(object: &mut Value, i: usize) {
    set_label(object, "x");
    let is_policy = object["kind"].as_str().is_some_and(|k| k.ends_with("Policy"));
    if let (true, Some(name)) = (is_policy, object["metadata"]["name"].as_str()) {
        object["metadata"]["name"] = json!(format!("namemark{i}x-{name}"));
    }
}

fn set_label(object: &mut Value, value: &str) {
    let universal = object.get("type").is_some();
    let holder = if universal { object } else { &mut object["metadata"] };
    if !holder["labels"].is_object() {
        holder["labels"] = json!({});
    }
    holder["labels"][SECRET] = json!(value);
}
