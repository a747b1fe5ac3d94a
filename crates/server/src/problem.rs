// SPDX-License-Identifier: Apache-2.0
//! In: what went wrong with a request. Out: its status and body, in the shape of the API that was asked. Not here: when
//! that is the case.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::extension::Extension;

/// A field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Where: `spec.to[0].targetRef.kind`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// Why a request is not answered as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// What happened, the same for all of its kind.
    pub title: String,
    /// What happened this time, and what to do.
    pub detail: String,
    /// Fields that are wrong.
    pub causes: Vec<Cause>,
    /// Findings in the body that was sent, in the form of `check`.
    pub diagnostics: Option<Value>,
    /// Seconds after which to try again.
    pub retry_after: Option<u32>,
}

impl Problem {
    /// One with nothing but words.
    pub fn new(status: StatusCode, title: &str, detail: impl Into<String>) -> Self {
        Self {
            status,
            title: title.to_owned(),
            detail: detail.into(),
            causes: Vec::new(),
            diagnostics: None,
            retry_after: None,
        }
    }

    /// A request that makes no sense.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Bad Request", detail)
    }

    /// Something that is not there, or that the asker may not see: both look the same.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found", detail)
    }

    /// Something the asker may not do.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Access Denied", detail)
    }

    /// The store or the engine cannot answer now.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable", detail);
        Self { retry_after: Some(1), ..problem }
    }

    /// Something went wrong here.
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", detail)
    }

    /// Adds a field that is wrong.
    pub fn cause(mut self, field: impl Into<String>, message: impl Into<String>) -> Self {
        self.causes.push(Cause { field: field.into(), message: message.into() });
        self
    }

    fn own(&self) -> Value {
        let mut body = json!({
            "type": "about:blank",
            "status": self.status.as_u16(),
            "title": self.title,
            "detail": self.detail,
        });
        if let Some(object) = body.as_object_mut() {
            if !self.causes.is_empty() {
                let all = self.causes.iter();
                let all = all.map(|c| json!({"field": c.field, "message": c.message}));
                object.insert("errors".to_owned(), all.collect());
            }
            if let Some(found) = &self.diagnostics {
                object.insert("diagnostics".to_owned(), found.clone());
            }
        }
        body
    }

    /// The answer, in the shape of the API that was asked: the server's own, or that of an extension.
    pub fn response(&self, of: Option<&dyn Extension>) -> Response {
        let (body, media) = match of {
            None => (self.own(), "application/problem+json"),
            Some(extension) => (extension.error(self), "application/json"),
        };
        let mut response = (self.status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"overrule\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
