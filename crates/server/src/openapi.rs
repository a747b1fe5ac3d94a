// SPDX-License-Identifier: Apache-2.0
//! In: the list of endpoints and the types of answers. Out: the OpenAPI 3.1 document. Not here: anything written twice:
//! what the document says is what the router and the checks of requests are made of.

use bytes::Bytes;
use overrule_ask::{Can, Parameter, Parameters, Required};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::extension::{Extension, Extensions};
use crate::http::endpoints;
use crate::shapes as s;
use crate::table::{BodySpec, Endpoint, EndpointAccess, Media, Param, ResponseSpec, Type};

/// The document as text.
pub fn text(extensions: &Extensions) -> Bytes {
    serde_json::to_vec(&document(extensions)).unwrap_or_default().into()
}

/// The document.
pub fn document(extensions: &Extensions) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints(extensions) {
        let of_path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        if let Some(of_path) = of_path.as_object_mut() {
            of_path.insert(
                endpoint.method.word().to_owned(),
                operation(&endpoint, extensions.of(endpoint.path)),
            );
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Overrule",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Which policy is in force here, why, and what happens if I change it?",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas(extensions),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// `of` is the extension that it is of, if it is not the server's own.
fn operation(endpoint: &Endpoint, of: Option<&dyn Extension>) -> Value {
    let mut parameters: Vec<Value> = path_parameters(endpoint.path, of);
    parameters.extend(endpoint.query.iter().map(parameter));
    if matches!(endpoint.method.word(), "put" | "delete")
        && matches!(endpoint.access, EndpointAccess::Known | EndpointAccess::Writes)
    {
        parameters.push(header("If-Match", "only if this is its version"));
        parameters.push(header("If-None-Match", "`*`: only if it is not there"));
    }
    let mut operation = json!({
        "operationId": endpoint.id,
        "summary": endpoint.about,
        "parameters": parameters,
        "responses": responses(endpoint, of),
        "security": match endpoint.access {
            EndpointAccess::Anybody => json!([]),
            _ => json!([{"token": []}, {}]),
        },
    });
    let content = match endpoint.body {
        BodySpec::None => None,
        BodySpec::Json(schema) => Some(json!({"application/json": {"schema": reference(schema)}})),
        BodySpec::Manifests => Some(json!({
            "application/json": {"schema": {"type": "object"}},
            "application/yaml": {"schema": {"type": "object"}},
        })),
    };
    if let (Some(content), Some(operation)) = (content, operation.as_object_mut()) {
        operation.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
    }
    operation
}

fn header(name: &str, about: &str) -> Value {
    json!({"name": name, "in": "header", "required": false, "description": about, "schema": {"type": "string"}})
}

fn path_parameters(path: &str, of: Option<&dyn Extension>) -> Vec<Value> {
    let parts = path.split('/').filter_map(|p| p.strip_prefix('{')?.strip_suffix('}'));
    let one = |name: &str| {
        let schema = match of.and_then(|extension| extension.pattern(name)) {
            Some(pattern) => json!({"type": "string", "pattern": pattern}),
            None => json!({"type": "string", "minLength": 1}),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    };
    parts.map(one).collect()
}

fn parameter(param: &Param) -> Value {
    let schema = match param.kind {
        Type::Any => json!({"type": "string"}),
        Type::Like(pattern) => json!({"type": "string", "pattern": pattern}),
        Type::Text => json!({"type": "string", "minLength": 1}),
        Type::Texts => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        Type::Bool => json!({"type": "boolean"}),
        Type::Number(largest) => json!({"type": "integer", "minimum": 0, "maximum": largest}),
        Type::Word(words) => json!({"type": "string", "enum": words}),
        Type::WordOr(words, begin) => json!({"type": "string", "anyOf": [
            {"enum": words},
            {"pattern": format!("^{begin}")},
        ]}),
    };
    json!({"name": param.name, "in": "query", "required": param.required, "description": param.about, "schema": schema})
}

fn responses(endpoint: &Endpoint, of: Option<&dyn Extension>) -> Value {
    let mut all = Map::new();
    for ResponseSpec { status, media, about } in endpoint.answers {
        let mut response = json!({"description": about});
        let content = match media {
            Media::None => None,
            Media::Json(schema) => Some(json!({"application/json": {"schema": reference(schema)}})),
            // Tools check each event by itself.
            Media::Text("text/event-stream") => {
                Some(json!({"text/event-stream": {"schema": {"type": "object"}}}))
            }
            Media::Text(media) => Some(json!({*media: {"schema": {"type": "string"}}})),
            Media::Either(schema) => Some(json!({
                "application/json": {"schema": reference(schema)},
                "application/yaml": {"schema": reference(schema)},
                "text/plain; charset=utf-8": {"schema": {"type": "string"}},
                "image/svg+xml": {"schema": {"type": "string"}},
            })),
        };
        if let (Some(content), Some(response)) = (content, response.as_object_mut()) {
            response.insert("content".to_owned(), content);
        }
        all.insert(status.to_string(), response);
    }
    let (media, schema) = match of {
        None => ("application/problem+json", "Problem"),
        Some(extension) => ("application/json", extension.error_schema()),
    };
    let mut errors: Vec<u16> = vec![400, 401, 403, 405, 408, 413, 421, 429, 431, 503];
    if endpoint.writes() {
        // Nobody knows whether it was written.
        errors.push(504);
    }
    errors.extend(endpoint.errors);
    errors.sort_unstable();
    errors.dedup();
    for status in errors {
        let about = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
        let response = json!({
            "description": about.unwrap_or("error"),
            "content": {media: {"schema": reference(schema)}},
        });
        all.entry(status.to_string()).or_insert(response);
    }
    Value::Object(all)
}

fn reference(schema: &str) -> Value {
    match schema {
        "Anything" => json!({}),
        "Effective" => one_of(&["EffectivePolicyList", "EffectivePolicy"]),
        "Explained" => one_of(&["Explanation", "ExplanationList", "Reach"]),
        "Decision" => one_of(&["AccessDecision", "AccessDecisionList", "CallerList"]),
        "Listed" => one_of(&["ResourceList", "PolicyList", "UncoveredList"]),
        name => json!({"$ref": format!("#/components/schemas/{name}")}),
    }
}

fn one_of(names: &[&str]) -> Value {
    let refs = names.iter().map(|n| json!({"$ref": format!("#/components/schemas/{n}")}));
    json!({"anyOf": refs.collect::<Vec<_>>()})
}

/// Every schema: of the model shared with the command line, of the server's own answers, of extensions.
fn schemas(extensions: &Extensions) -> Value {
    let mut all = Map::new();
    let model = overrule::view::schema();
    if let Some(Value::Object(defs)) = model.get("$defs") {
        all.extend(defs.clone());
    }
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let mut out = settings.clone().for_serialize().into_generator();
    of::<s::StoredList>(&mut out);
    of::<s::Stored>(&mut out);
    of::<s::WriteResult>(&mut out);
    of::<s::HistoryList>(&mut out);
    of::<s::AuditList>(&mut out);
    of::<s::TokenList>(&mut out);
    of::<s::NewToken>(&mut out);
    of::<s::Health>(&mut out);
    all.extend(out.take_definitions(true));
    let mut taken = settings.for_deserialize().into_generator();
    of::<s::TokenRequest>(&mut taken);
    all.extend(taken.take_definitions(true));
    all.insert("Problem".to_owned(), problem());
    all.insert("Matrix".to_owned(), matrix());
    all.extend(extensions.schemas().map(|(name, schema)| (name.to_owned(), schema)));
    let mut all = Value::Object(all);
    relocate(&mut all);
    all
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// An error.
fn problem() -> Value {
    let texts = json!({"type": "array", "items": {
        "type": "object",
        "properties": {"field": {"type": "string"}, "message": {"type": "string"}, "reason": {"type": "string"}},
        "required": ["field"],
    }});
    json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"}, "status": {"type": "integer"}, "title": {"type": "string"},
            "detail": {"type": "string"}, "errors": texts, "diagnostics": {},
        },
        "required": ["type", "status", "title", "detail"],
    })
}

/// Many questions at once.
fn matrix() -> Value {
    let texts = |least: u64| json!({"type": "array", "minItems": least, "maxItems": 10000, "items": {"type": "string", "minLength": 1}});
    let needed = |row: &&Parameter| row.required != Required::No;
    let lists = Can::TABLE.iter().map(|row| (row.name.to_owned(), texts(needed(&row).into())));
    json!({
        "type": "object",
        "properties": lists.collect::<Map<_, _>>(),
        "required": Can::TABLE.iter().filter(needed).map(|row| row.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

/// Schemas refer to each other where OpenAPI keeps them.
fn relocate(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(text)) = map.get_mut("$ref")
                && let Some(name) = text.strip_prefix("#/$defs/")
            {
                *text = format!("#/components/schemas/{name}");
            }
            map.values_mut().for_each(relocate);
        }
        Value::Array(list) => list.iter_mut().for_each(relocate),
        _ => {}
    }
}
