// SPDX-License-Identifier: Apache-2.0
//! The published schema is the one the types have, and everything printed fits it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that finds something else than it expects has to fail"
)]

mod common;

use common::{World, compare, fixture, root, world};
use overrule_view::{Graph, v1};
use serde::Serialize;
use serde_json::Value;

#[test]
fn published_schema_is_current() {
    let text = format!("{:#}\n", overrule_view::schema());
    compare(root().join("../../docs/schema/overrule-v1.json"), &text);
}

/// Checks one document against the schema, and that its `kind` fits exactly one.
fn fits<T: Serialize>(validator: &jsonschema::Validator, document: &T) {
    let text = overrule_view::json_line(document);
    let value: Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{} does not fit: {errors:?}\n{text}", value["kind"]);
    assert_eq!(value["apiVersion"], "overrule/v1");
}

fn every_kind_fits(world: &World) {
    let validator = jsonschema::draft202012::new(&overrule_view::schema()).unwrap();
    world.see(|scene, part| {
        let mut items = Vec::new();
        for (kind, path, _) in world.contexts() {
            let item = overrule_view::effective(scene, part, kind, path);
            fits(&validator, &item);
            fits(&validator, &overrule_view::explain(scene, part, path, Some(kind), None));
            for field in ["timeouts", "timeouts.request", "no.such", ""] {
                let answer = overrule_view::explain(scene, part, path, None, Some(field));
                fits(&validator, &answer);
            }
            items.push(item);
        }
        let (api_version, kind) = (v1::API_VERSION, "EffectivePolicyList");
        let unresolved = Vec::new();
        fits(&validator, &v1::EffectivePolicyList { api_version, kind, items, unresolved });
        for (policy, _) in world.resolution.policies() {
            fits(&validator, &overrule_view::reach(scene, part, policy, None));
            fits(&validator, &overrule_view::reach(scene, part, policy, Some("timeouts")));
            fits(&validator, &overrule_view::reach(scene, part, policy, Some("no.such")));
        }
        fits(&validator, &overrule_view::policies(scene, part, &|_| true));
        fits(&validator, &overrule_view::resources(scene, &|_| true));
        for (kind, _) in world.resolution.kinds() {
            fits(&validator, &overrule_view::without(scene, part, kind));
        }
        fits(&validator, &overrule_view::diagnostics(&scene.documents.sources, &world.diagnostics));
        fits(&validator, Graph::build(scene, part, None).json());
        for (node, _) in part.topology.iter() {
            fits(&validator, Graph::build(scene, part, Some(node)).json());
        }
    });
}

#[test]
fn every_document_fits_the_schema() {
    every_kind_fits(&fixture("shop.yaml"));
    every_kind_fits(&fixture("hostile.yaml"));
    every_kind_fits(&world(&[]));
}

#[test]
fn a_document_of_another_shape_does_not_fit() {
    let validator = jsonschema::draft202012::new(&overrule_view::schema()).unwrap();
    for bad in [
        serde_json::json!({"apiVersion": "overrule/v1", "kind": "Nothing"}),
        serde_json::json!({"apiVersion": "overrule/v2", "kind": "PolicyList", "items": []}),
        serde_json::json!({"apiVersion": "overrule/v1", "kind": "PolicyList"}),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}
