// SPDX-License-Identifier: Apache-2.0
//! In: the list of endpoints and the types of answers. Out: the OpenAPI 3.1 document. Not here: anything written twice:
//! what the document says is what the router and the checks of requests are made of.

use std::sync::OnceLock;

use bytes::Bytes;
use overrule_ask::{Can, Parameter, Parameters, Required};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::http::endpoints;
use crate::problem::Face;
use crate::shapes as s;
use crate::table::{Access, Answer, Body, Endpoint, Media, Param, Type};

/// The document as text; made once.
pub fn text() -> Bytes {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    TEXT.get_or_init(|| serde_json::to_vec(&document()).unwrap_or_default().into()).clone()
}

/// The document.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints() {
        let of_path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        if let Some(of_path) = of_path.as_object_mut() {
            of_path.insert(endpoint.method.word().to_owned(), operation(&endpoint));
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
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let mut parameters: Vec<Value> = path_parameters(endpoint.path);
    parameters.extend(endpoint.query.iter().map(parameter));
    if matches!(endpoint.method.word(), "put" | "delete") && endpoint.access == Access::Known {
        parameters.push(header("If-Match", "only if this is its version"));
        parameters.push(header("If-None-Match", "`*`: only if it is not there"));
    }
    let mut operation = json!({
        "operationId": endpoint.id,
        "summary": endpoint.about,
        "parameters": parameters,
        "responses": responses(endpoint),
        "security": match endpoint.access {
            Access::Anybody => json!([]),
            _ => json!([{"token": []}, {}]),
        },
    });
    let content = match endpoint.body {
        Body::None => None,
        Body::Json(schema) => Some(json!({"application/json": {"schema": reference(schema)}})),
        Body::Manifests => Some(json!({
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

fn path_parameters(path: &str) -> Vec<Value> {
    let parts = path.split('/').filter_map(|p| p.strip_prefix('{')?.strip_suffix('}'));
    let one = |name: &str| {
        let schema = match name {
            "kri" | "route" => json!({"type": "string", "pattern": "^kri_[a-z]+(_[^_/]*){5}$"}),
            _ => json!({"type": "string", "minLength": 1}),
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
    };
    json!({"name": param.name, "in": "query", "required": param.required, "description": param.about, "schema": schema})
}

fn responses(endpoint: &Endpoint) -> Value {
    let mut all = Map::new();
    for Answer { status, media, about } in endpoint.answers {
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
    let face = Face::of(endpoint.path);
    let mut errors: Vec<u16> = vec![400, 401, 403, 405, 408, 413, 421, 429, 431, 503];
    errors.extend(endpoint.errors);
    errors.sort_unstable();
    errors.dedup();
    for status in errors {
        let (media, schema) = match face {
            Face::Own => ("application/problem+json", "Problem"),
            Face::Kuma => ("application/json", "KumaError"),
        };
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
        "Decision" => one_of(&["AccessDecision", "AccessDecisionList"]),
        "Listed" => one_of(&["ResourceList", "PolicyList", "UncoveredList"]),
        name => json!({"$ref": format!("#/components/schemas/{name}")}),
    }
}

fn one_of(names: &[&str]) -> Value {
    let refs = names.iter().map(|n| json!({"$ref": format!("#/components/schemas/{n}")}));
    json!({"anyOf": refs.collect::<Vec<_>>()})
}

/// Every schema: of the model shared with the command line, of the server's own answers, of Kuma's.
fn schemas() -> Value {
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
    all.extend(kuma());
    let mut all = Value::Object(all);
    relocate(&mut all);
    all
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// What has no type of its own here.
fn kuma() -> Map<String, Value> {
    let texts = json!({"type": "array", "items": {
        "type": "object",
        "properties": {"field": {"type": "string"}, "message": {"type": "string"}, "reason": {"type": "string"}},
        "required": ["field"],
    }});
    let own = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"}, "status": {"type": "integer"}, "title": {"type": "string"},
            "detail": {"type": "string"}, "errors": texts, "diagnostics": {},
        },
        "required": ["type", "status", "title", "detail"],
    });
    let error = json!({
        "type": "object",
        "properties": {
            "type": {"const": "/std-errors"}, "status": {"type": "integer"}, "title": {"type": "string"},
            "detail": {"type": "string"}, "details": {"type": "string"},
            "invalid_parameters": texts, "causes": texts,
        },
        "required": ["type", "status", "title", "detail", "details"],
    });
    let resource = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"}, "mesh": {"type": "string"}, "name": {"type": "string"},
            "creationTime": {"type": "string"}, "modificationTime": {"type": "string"},
        },
        "required": ["type", "name"],
    });
    let kubernetes = json!({
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
        },
        "required": ["apiVersion", "kind", "metadata"],
    });
    let list = json!({
        "type": "object",
        "properties": {
            "total": {"type": "integer"},
            "items": {"type": ["array", "null"], "items": {"type": "object"}},
            "next": {"type": ["string", "null"]},
        },
        "required": ["total", "items"],
    });
    let texts_of = |least: u64| json!({"type": "array", "minItems": least, "maxItems": 10000, "items": {"type": "string", "minLength": 1}});
    let needed = |row: &&Parameter| row.required != Required::No;
    let lists = Can::TABLE.iter().map(|row| (row.name.to_owned(), texts_of(needed(&row).into())));
    let matrix = json!({
        "type": "object",
        "properties": lists.collect::<Map<_, _>>(),
        "required": Can::TABLE.iter().filter(needed).map(|row| row.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    });
    let all = [
        ("Problem", own),
        ("KumaError", error),
        ("KumaResource", resource.clone()),
        ("KumaList", list),
        ("KumaWritten", json!({"type": "object"})),
        ("KumaEither", json!({"anyOf": [resource, kubernetes]})),
        ("KumaAnswer", json!({"type": "object"})),
        ("Matrix", matrix),
    ];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
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
