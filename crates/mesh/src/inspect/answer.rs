// SPDX-License-Identifier: Apache-2.0
//! In: what an endpoint found, or why it has nothing. Out: a status and a body of bytes, and the API's problem object.
//! Not here: HTTP, which answer belongs to which question.

use bytes::Bytes;
use serde_json::{Value, json};
use smallvec::{SmallVec, smallvec};

use crate::targetref::validate::TargetRefViolation;

/// What the API answers.
#[derive(Debug, Clone)]
pub struct InspectAnswer {
    /// The status.
    pub status: u16,
    /// JSON.
    pub body: JsonBody,
}

/// JSON in pieces, to be sent one after another. Cloning copies no byte.
#[derive(Debug, Clone, Default)]
pub struct JsonBody(SmallVec<[Bytes; 3]>);

impl JsonBody {
    /// The pieces, in order.
    pub fn pieces(&self) -> &[Bytes] {
        &self.0
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it in one piece; copies only if there are several.
    pub fn into_bytes(self) -> Bytes {
        match self.0.as_slice() {
            [one] => one.clone(),
            _ => self.0.concat().into(),
        }
    }

    /// The value it stands for; null if it is no JSON.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.0.concat()).unwrap_or_default()
    }
}

impl From<Bytes> for JsonBody {
    fn from(bytes: Bytes) -> Self {
        Self(smallvec![bytes])
    }
}

impl From<[Bytes; 3]> for JsonBody {
    fn from(pieces: [Bytes; 3]) -> Self {
        Self(pieces.into())
    }
}

impl From<&Value> for JsonBody {
    fn from(value: &Value) -> Self {
        Bytes::from(value.to_string()).into()
    }
}

impl InspectAnswer {
    /// A good answer.
    pub fn ok(body: impl Into<JsonBody>) -> Self {
        Self { status: 200, body: body.into() }
    }
}

/// What a resource is refused for: the field, and what is wrong with it.
pub type RefusedField = TargetRefViolation;

/// A problem, as every endpoint of the API tells it. Causes are told twice, as newer and as older clients read them.
pub fn error(status: u16, title: &str, detail: &str, causes: &[RefusedField]) -> InspectAnswer {
    let mut problem = json!({
        "type": "/std-errors",
        "status": status,
        "title": title,
        "detail": detail,
        "details": detail,
    });
    if let Some(members) = problem.as_object_mut().filter(|_| !causes.is_empty()) {
        let told = |key: &str| -> Value {
            causes.iter().map(|c| json!({"field": c.field, key: c.message})).collect()
        };
        members.insert("invalid_parameters".into(), told("reason"));
        members.insert("causes".into(), told("message"));
    }
    InspectAnswer { status, body: (&problem).into() }
}

/// Nothing of that name; the title says what was looked for.
pub fn not_found(title: &str) -> InspectAnswer {
    error(404, title, "Not found", &[])
}

/// A question that cannot be understood.
pub fn bad_request(why: &str) -> InspectAnswer {
    error(400, "Bad Request", &format!("bad request: {why}"), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_tells_its_detail_twice_and_causes_only_if_there_are_any() {
        let plain = bad_request("no");
        assert_eq!(
            plain.body.value(),
            json!({
                "type": "/std-errors", "status": 400, "title": "Bad Request",
                "detail": "bad request: no", "details": "bad request: no",
            })
        );
        let cause = RefusedField { field: "spec.to".into(), message: "must be defined".into() };
        let with = error(400, "t", "d", &[cause]).body.value();
        let want = json!([{"field": "spec.to", "reason": "must be defined"}]);
        assert_eq!(with["invalid_parameters"], want);
        assert_eq!(with["causes"], json!([{"field": "spec.to", "message": "must be defined"}]));
    }

    #[test]
    fn pieces_make_one_body() {
        let body = JsonBody::from([Bytes::from("{\"a\":"), Bytes::from("1"), Bytes::from("}")]);
        assert_eq!((body.len(), body.is_empty(), body.pieces().len()), (7, false, 3));
        assert_eq!(body.value(), json!({"a": 1}));
        assert_eq!(&*body.into_bytes(), b"{\"a\":1}");
        assert!(JsonBody::default().is_empty());
    }
}
