// SPDX-License-Identifier: Apache-2.0
//! The engine agrees with a deliberately naive second implementation on random worlds: every field on every row and
//! listener, who wrote it, and what fails. `OVERRULE_WORLDS=20000` runs more of them, `OVERRULE_SEED=7` only that one.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may fail loudly, and says how much it compared"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use overrule_engine::{LadderId, PathId, Resolution};
use overrule_envoy_gateway::{EnvoyGateway, Profile, Settings, parse, resolve};
use overrule_family::{ResolveOptions, World};
use overrule_model::Snapshot;
use overrule_source::{Documents, Input, ReadOptions, read};
use overrule_testkit::envoygateway::{OnRow, RowAnswers, oracle, world};
use overrule_testkit::yaml;
use overrule_topology::{GatewayTopology, build};
use serde_json::{Map, Value};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

fn seeds() -> Range<u64> {
    match number("OVERRULE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OVERRULE_WORLDS").unwrap_or(300),
    }
}

const KINDS: [&str; 4] =
    ["BackendTrafficPolicy", "ClientTrafficPolicy", "EnvoyExtensionPolicy", "SecurityPolicy"];

/// The engine's answers in the form of the oracle.
fn answers(objects: &[Value]) -> RowAnswers {
    let text = yaml::documents(objects);
    let documents = read(vec![Input::new("world.yaml", text)], &ReadOptions::default()).documents;
    let mut snapshot = overrule_model::parse(&documents).snapshot;
    let topology = build(&documents, &mut snapshot).topology;
    let policies = parse(&documents, &mut snapshot);
    let settings = Settings { closed_world: true, ..Settings::default() };
    let world: World<'_, EnvoyGateway> = World {
        documents: &documents,
        snapshot: &snapshot,
        topology: &topology,
        ground: &settings,
        policies: &policies,
        profile: Profile::Shipped,
    };
    let resolved = resolve(world, &ResolveOptions::default());
    let mut found = RowAnswers::new();
    let seen = Seen {
        documents: &documents,
        snapshot: &snapshot,
        topology: &topology,
        resolution: &resolved.resolution,
    };
    for (kind, result) in resolved.resolution.kinds() {
        let Some(name) = KINDS.into_iter().find(|k| *k == snapshot.text(result.kind)) else {
            continue;
        };
        for (path, ladder) in resolved.resolution.contexts(kind) {
            let has = seen.has(ladder);
            let there = match name {
                "ClientTrafficPolicy" => has.fails || !has.fields.is_empty(),
                _ => has.taken || has.fails || !has.fields.is_empty(),
            };
            if there {
                found.insert((seen.path(path), name), has);
            }
        }
    }
    found
}

struct Seen<'a> {
    documents: &'a Documents,
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    resolution: &'a Resolution,
}

impl Seen<'_> {
    fn has(&self, ladder: LadderId) -> OnRow {
        let Some(effective) = self.resolution.effective(ladder) else { return OnRow::default() };
        let entries = effective.value.iter().flat_map(|v| v.entries(self.documents));
        let (mut fields, mut writers) = (Map::new(), BTreeMap::new());
        for (key, value) in entries {
            let key = key.text(self.documents).to_owned();
            let policies = value.steps().into_iter().map(|step| {
                let policy = self.resolution.ladders.get_step(step).unwrap().policy;
                self.snapshot.full_name(self.resolution.policy(policy).unwrap().object)
            });
            writers.insert(key.clone(), policies.collect::<BTreeSet<String>>());
            fields.insert(key, value.to_json(self.documents));
        }
        let fails = !effective.poison().is_empty();
        OnRow { taken: effective.value.is_some(), fields, writers, fails }
    }

    fn path(&self, path: PathId) -> Vec<String> {
        let nodes = self.resolution.paths.nodes(path);
        let text = |sym| self.snapshot.text(sym);
        let named = nodes.iter().skip(1).map(|id| {
            let node = self.topology.nodes.get(*id).unwrap();
            let rule = self.topology.rule_of(*id).and_then(|ix| self.topology.rule(ix));
            match (node.section.is_empty(), rule) {
                (false, Some(rule)) if !rule.named => format!("#{}", rule.index),
                (false, _) => text(node.section).to_owned(),
                (true, _) if self.topology.route_of(*id).is_some() => {
                    format!("{} {}/{}", text(node.kind), text(node.namespace), text(node.name))
                }
                (true, _) => format!("{}/{}", text(node.namespace), text(node.name)),
            }
        });
        named.collect()
    }
}

#[test]
fn the_engine_agrees_with_the_oracle() {
    let (mut compared, mut merged, mut failing, mut empty) = (0, 0, 0, 0);
    for seed in seeds() {
        let objects = world::objects(seed);
        let (wanted, actual) = (oracle(&objects), answers(&objects));
        for key in wanted.keys().chain(actual.keys()).collect::<BTreeSet<_>>() {
            let none = OnRow::default();
            let (wanted, actual) =
                (wanted.get(key).unwrap_or(&none), actual.get(key).unwrap_or(&none));
            let same = wanted.fields == actual.fields
                && wanted.writers == actual.writers
                && wanted.fails == actual.fails;
            assert!(
                same,
                "seed {seed}, {key:?}\nwanted {wanted:#?}\nactual {actual:#?}\n{}",
                yaml::documents(&objects)
            );
            compared += 1;
            let writers: BTreeSet<&String> = wanted.writers.values().flatten().collect();
            merged += usize::from(writers.len() > 1);
            failing += usize::from(wanted.fails);
            empty += usize::from(wanted.taken && wanted.fields.is_empty());
        }
    }
    println!("{compared} answers, {merged} merged, {failing} failing, {empty} taken by nothing");
    let all = number("OVERRULE_SEED").is_none();
    assert!(!all || (compared > 1_000 && merged > 20 && failing > 50 && empty > 20));
}
