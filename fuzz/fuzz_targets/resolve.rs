// SPDX-License-Identifier: Apache-2.0
//! In: any bytes. Out: a whole analysis and some of its answers, without panic or hang; nothing lost on the way.
//! Not here: whether the answers are right (`crates/gateway/tests/props.rs`).
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use overrule::engine::Outcome;
use overrule::source::{Diagnostic, Input};
use overrule::view::{self, Graph, Styles};
use overrule::{Analysis, Options};
use serde_json::Value;

/// Answers to look at; the rest is more of the same.
const SOME: usize = 8;

fuzz_target!(init: common::one_thread(), |data: &[u8]| {
    // Every family under every profile it has.
    let options = Options { compare: true, ..Options::default() };
    let analysis = Analysis::new(vec![Input::new("a.yaml", data)], &options);
    let found: Vec<Diagnostic> = analysis.diagnostics.iter().cloned().collect();
    common::check_diagnostics(&analysis.documents, &found);
    for resolution in analysis.answers.iter().map(|a| &a.resolution) {
        for (id, _) in resolution.policies() {
            let landed = resolution.attachments_of(id).count();
            assert!(landed + resolution.rejections_of(id).count() > 0, "a policy got lost");
            assert_eq!(resolution.outcome(id) == Outcome::Rejected, landed == 0);
        }
    }
    for family in overrule::families() {
        analysis.policy_conditions(family.name());
    }
    analysis.affected();
    view::diagnostics_text(&analysis.documents.sources, &found, &Styles::plain());
    let stage = analysis.stage();
    let scene = stage.scene();
    for part in scene.parts {
        let resolution = part.resolution;
        for (kind, _) in resolution.kinds() {
            for (path, _) in resolution.contexts(kind).take(SOME) {
                let effective = view::effective(&scene, part, kind, path);
                let spec = effective.spec.as_ref().map_or(Value::Null, Value::from);
                assert!(!effective.origins.is_empty() || is_hollow(&spec), "a value without origin: {spec}");
                let mut text = String::new();
                view::explain_text(&scene, part, path, Some(kind), Some("a.b"), &Styles::plain(), &mut text)
                    .expect("writing to memory");
            }
        }
        for (policy, _) in resolution.policies().take(SOME) {
            view::reach(&scene, part, policy, None);
        }
        Graph::build(&scene, part, None).svg();
    }
});

/// Mappings and lists of nothing have no leaf, so no origin.
fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.values().all(is_hollow),
        Value::Array(list) => list.is_empty(),
        Value::Null => true,
        _ => false,
    }
}
