// SPDX-License-Identifier: Apache-2.0
//! In: a problem. Out: it in the shape of Kuma's API; and the schemas of that API, which have no types of their own.

use overrule_server::extension::{Cause, Problem};
use serde_json::{Value, json};

/// The schema of errors.
pub(crate) const ERROR: &str = "KumaError";

/// A problem as Kuma says it.
pub(crate) fn error(problem: &Problem) -> Value {
    let mut body = json!({
        "type": "/std-errors",
        "status": problem.status.as_u16(),
        "title": problem.title,
        "detail": problem.detail,
        "details": problem.detail,
    });
    let causes = &problem.causes;
    if let Some(object) = body.as_object_mut().filter(|_| !causes.is_empty()) {
        let parameter = |c: &Cause| json!({"field": c.field, "reason": c.message});
        let cause = |c: &Cause| json!({"field": c.field, "message": c.message});
        object.insert("invalid_parameters".to_owned(), causes.iter().map(parameter).collect());
        object.insert("causes".to_owned(), causes.iter().map(cause).collect());
    }
    body
}

/// Every schema.
pub(crate) fn schemas() -> Vec<(&'static str, Value)> {
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
    vec![
        (ERROR, error_schema()),
        ("KumaResource", resource.clone()),
        ("KumaList", list),
        ("KumaWritten", json!({"type": "object"})),
        ("KumaEither", json!({"anyOf": [resource, kubernetes]})),
        ("KumaAnswer", json!({"type": "object"})),
    ]
}

fn error_schema() -> Value {
    let text = json!({"type": "string"});
    let causes = json!({"type": "array", "items": {
        "type": "object",
        "properties": {"field": text, "message": text, "reason": text},
        "required": ["field"],
    }});
    json!({
        "type": "object",
        "properties": {
            "type": {"const": "/std-errors"}, "status": {"type": "integer"}, "title": text,
            "detail": text, "details": text, "invalid_parameters": causes, "causes": causes,
        },
        "required": ["type", "status", "title", "detail", "details"],
    })
}
