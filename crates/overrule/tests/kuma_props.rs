// SPDX-License-Identifier: Apache-2.0
//! What must hold of Kuma's answers on any input: the order of documents never matters, every policy ends in exactly one
//! outcome, every value has one origin and its policy is on the ladder, ladders are in rank order, and a proxy of a shape
//! has what the first of it has.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly, and draws from lists it has just made"
)]

use std::collections::{BTreeMap, BTreeSet};

use overrule::engine::{Outcome, PathId, Resolution};
use overrule::source::{Input, SingleLetters};
use overrule::view::{self, v1};
use overrule::{Analysis, Answered, Options};
use overrule_testkit::rng::Rng;
use overrule_testkit::{kuma, yaml};
use serde_json::Value;

const WORLDS: u64 = 120;

fn analysis(documents: &[Value]) -> Analysis {
    let options =
        Options { compare: true, single_letters: SingleLetters::Text, ..Options::default() };
    Analysis::new(vec![Input::new("world.yaml", yaml::documents(documents))], &options)
}

fn answers(analysis: &Analysis) -> impl Iterator<Item = &Answered> {
    analysis.answers.iter().map(|a| &**a).filter(|a| a.family.name() == "kuma")
}

/// What is said about each kind at each path, positions aside.
fn said(analysis: &Analysis) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    let stage = analysis.stage();
    let scene = stage.scene();
    let parts = scene.parts.iter().chain(scene.others.iter().map(|o| &o.part));
    for part in parts.filter(|p| p.family == "kuma") {
        for (kind, _) in part.resolution.kinds() {
            for (path, _) in part.resolution.contexts(kind) {
                let found = view::effective(&scene, part, kind, path);
                let place = format!("{} {} {}", part.profile, found.policy_kind, path_text(&found));
                let origins: Vec<String> = found
                    .origins
                    .iter()
                    .flat_map(|(at, all)| all.iter().map(move |o| (at, o)))
                    .map(|(at, o)| format!("{at} {} {}", o.policy, o.block))
                    .collect();
                let answer = format!("{:?} {origins:?} {:?}", found.spec, found.policies);
                assert!(said.insert(place.clone(), answer).is_none(), "{place} is told twice");
            }
        }
    }
    said
}

fn path_text(found: &v1::EffectivePolicy) -> String {
    let one = |e: &v1::PathElement| {
        format!("{} {}/{}", e.kind, e.namespace.as_deref().unwrap_or(""), e.name)
    };
    found.path.iter().map(one).collect::<Vec<_>>().join(" > ")
}

fn shuffled(documents: &[Value], seed: u64) -> Vec<Value> {
    let mut rng = Rng::new(seed, "shuffle", 0);
    let mut left = documents.to_vec();
    let mut out = Vec::new();
    while !left.is_empty() {
        let at = usize::try_from(rng.below(left.len() as u64)).unwrap();
        out.push(left.swap_remove(at));
    }
    out
}

#[test]
fn the_order_of_documents_never_matters() {
    for seed in 0..WORLDS {
        let documents = kuma::world::documents(seed);
        let other = shuffled(&documents, seed);
        assert_eq!(said(&analysis(&documents)), said(&analysis(&other)), "seed {seed}");
    }
}

#[test]
fn every_policy_ends_in_one_outcome() {
    let mut seen = BTreeSet::new();
    for seed in 0..WORLDS {
        let analysis = analysis(&kuma::world::documents(seed));
        for answer in answers(&analysis) {
            let resolution = &answer.resolution;
            for (id, _) in resolution.policies() {
                let landed = resolution.attachments_of(id).count();
                let refused = resolution.rejections_of(id).count();
                assert_eq!(refused, usize::from(landed == 0), "seed {seed}");
                let outcome = resolution.outcome(id);
                assert_eq!(outcome == Outcome::Rejected, landed == 0, "seed {seed}");
                seen.insert(outcome);
            }
        }
    }
    let wanted = [Outcome::InForce, Outcome::Partly, Outcome::Shadowed, Outcome::Rejected];
    assert!(wanted.iter().all(|o| seen.contains(o)), "the worlds are too tame: {seen:?}");
}

fn each_path(resolution: &Resolution, mut see: impl FnMut(PathId, overrule::engine::LadderId)) {
    for (kind, _) in resolution.kinds() {
        resolution.contexts(kind).for_each(|(path, ladder)| see(path, ladder));
    }
}

#[test]
fn every_value_has_an_origin_on_its_ladder_and_ladders_are_in_rank_order() {
    for seed in 0..WORLDS {
        let analysis = analysis(&kuma::world::documents(seed));
        for answer in answers(&analysis) {
            let resolution = &answer.resolution;
            each_path(resolution, |_, ladder| {
                let steps = resolution.ladders.steps(ladder);
                let value = resolution.effective(ladder).and_then(|e| e.value.as_ref());
                for step in value.map(|v| v.steps()).unwrap_or_default() {
                    assert!(steps.contains(&step), "seed {seed}");
                }
                assert_eq!(value.is_some(), !steps.is_empty(), "seed {seed}");
                for (above, below) in steps.iter().zip(steps.iter().skip(1)) {
                    let ranks =
                        (resolution.rank(*above).unwrap(), resolution.rank(*below).unwrap());
                    assert!(ranks.0 <= ranks.1, "seed {seed}: {ranks:?}");
                }
            });
        }
    }
}
