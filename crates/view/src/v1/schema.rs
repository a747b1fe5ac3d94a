// SPDX-License-Identifier: Apache-2.0
//! In: the types of the model. Out: one JSON Schema (2020-12) that every document of the model satisfies.
//! Not here: the published copy, `docs/schema/overrule-v1.json`; a test keeps it equal.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::{
    AccessDecision, AccessDecisionList, CallerList, DiagnosticList, EffectiveChanges,
    EffectivePolicy, EffectivePolicyList, Explanation, ExplanationList, Graph, PolicyList, Reach,
    ResourceList, UncoveredList,
};

/// The schema of all kinds: a document satisfies exactly one of them, by its `kind`.
pub fn schema() -> Value {
    let mut generator =
        schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    let kinds = [
        of::<EffectivePolicy>(&mut generator),
        of::<EffectivePolicyList>(&mut generator),
        of::<Explanation>(&mut generator),
        of::<ExplanationList>(&mut generator),
        of::<Reach>(&mut generator),
        of::<PolicyList>(&mut generator),
        of::<ResourceList>(&mut generator),
        of::<UncoveredList>(&mut generator),
        of::<DiagnosticList>(&mut generator),
        of::<Graph>(&mut generator),
        of::<AccessDecision>(&mut generator),
        of::<AccessDecisionList>(&mut generator),
        of::<CallerList>(&mut generator),
        of::<EffectiveChanges>(&mut generator),
    ];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:overrule:schema:v1",
        "title": "overrule/v1",
        "description": "Everything `overrule -o json` and the HTTP API answer. Fields are only ever added.",
        "oneOf": kinds,
        "$defs": generator.take_definitions(true),
    })
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}
