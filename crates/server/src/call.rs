// SPDX-License-Identifier: Apache-2.0
//! In: a request whose endpoint is known. Out: its parts, checked against the endpoint's description. Not here: who may
//! call, what is answered.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use overrule_ask::Arguments;
use overrule_ask::percent::decode;
use overrule_guard::{Principal, RequestPlace};
use overrule_store::{Deadline, StoreError};

use crate::app::App;
use crate::prepared::PreparedGuard;
use crate::problem::Problem;
use crate::table::{Endpoint, Type};
use crate::v1;
use crate::work::{WorkClass, WorkTurn};

/// A request, taken apart.
pub struct Call {
    /// The server.
    pub app: Arc<App>,
    /// Who asks.
    pub who: Principal,
    /// Its id, for logs and history.
    pub request: String,
    /// Parameters of the path, decoded.
    pub path: BTreeMap<String, String>,
    /// Parameters of the query, checked and typed.
    pub query: Query,
    /// Headers.
    pub headers: HeaderMap,
    /// The body; empty where the endpoint takes none.
    pub body: Bytes,
    /// Scheme and host by which the server was reached, for links.
    pub base: String,
    /// Path as it was asked for.
    pub uri: String,
    /// When a write must be over, so that its client is told what became of it.
    pub deadline: Deadline,
    /// What was read of the body, until the call is answered.
    pub prepared: OnceLock<(PreparedGuard, WorkTurn)>,
    /// The place it takes until it is answered and all its work is done; none behind no guard.
    pub place: Option<RequestPlace>,
}

impl Call {
    /// A parameter of the path. The router only lets requests through that have it.
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// Does work that takes its time, on a thread that may take it. The work holds its turn, and the place of the request:
    /// it goes on when the client hangs up.
    pub async fn work<T: Send + 'static>(
        &self,
        class: WorkClass,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.app.work.turn(class, &self.who).await?;
        let place = self.place.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _kept = (turn, place);
            work()
        });
        done.await.map_err(|e| Problem::internal(e.to_string()))
    }

    /// Makes the answer, JSON included, on a thread that may take its time.
    pub async fn answer(
        self,
        make: impl FnOnce(&Self) -> Result<Reply, Problem> + Send + 'static,
    ) -> Result<Reply, Problem> {
        let turn = self.app.work.turn(WorkClass::Question, &self.who).await?;
        let done = tokio::task::spawn_blocking(move || {
            let (_turn, call) = (turn, self);
            make(&call)
        });
        done.await.unwrap_or_else(|e| Err(Problem::internal(e.to_string())))
    }

    /// Does work that the store may refuse.
    pub async fn stored<T: Send + 'static>(
        &self,
        class: WorkClass,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        // Resolving takes longer than the store, and is counted for itself.
        let done = match class {
            WorkClass::Store | WorkClass::Backup => self.work(class, || v1::timed(work)).await?,
            _ => self.work(class, work).await?,
        };
        done.map_err(|e| v1::problem(&e))
    }
}

/// Parameters of a query by name, each as its endpoint wants it.
#[derive(Debug, Clone, Default)]
pub struct Query(Arguments);

impl Query {
    /// Checks a query against what the endpoint takes.
    pub fn parse(endpoint: &Endpoint, text: &str) -> Result<Self, Problem> {
        let mut found = Arguments::default();
        for (name, value) in pairs(text) {
            let Some(param) = endpoint.query.iter().find(|p| p.name == name) else {
                let known: Vec<&str> = endpoint.query.iter().map(|p| p.name).collect();
                let known = if known.is_empty() {
                    "it takes none".to_owned()
                } else {
                    format!("it takes {}", known.join(", "))
                };
                return Err(Problem::bad(format!(
                    "bad request: unknown parameter `{name}`; {known}"
                ))
                .cause(name, "unknown parameter"));
            };
            let wrong = |why: String| {
                Problem::bad(format!("bad request: parameter `{name}`: {why}"))
                    .cause(name.clone(), why)
            };
            check(param.kind, &value).map_err(wrong)?;
            match (param.kind, found.all(&name)) {
                (Type::Texts, _) | (_, []) => found.add(name, value),
                (Type::Any | Type::Like(_), _) => {}
                (_, _) => return Err(wrong("is there twice".to_owned())),
            }
        }
        for param in endpoint.query.iter().filter(|p| p.required) {
            if found.all(param.name).is_empty() {
                let detail = format!("bad request: parameter `{}` is missing", param.name);
                return Err(Problem::bad(detail).cause(param.name, "must be defined"));
            }
        }
        Ok(Self(found))
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.all(name).first().map(String::as_str)
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// A number of things; the usual one if none is given.
    pub fn count(&self, name: &str, usual: usize) -> usize {
        self.number(name).map_or(usual, |number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// Whether a switch is on.
    pub fn is(&self, name: &str) -> bool {
        matches!(self.text(name), Some("true" | ""))
    }

    /// What a question is read from.
    pub fn arguments(&self) -> &Arguments {
        &self.0
    }
}

/// Names and values, decoded.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name, true), decode(value, true))
    })
}

fn check(kind: Type, value: &str) -> Result<(), String> {
    if value.contains('\0') {
        return Err("must not contain a NUL character".to_owned());
    }
    match kind {
        Type::Text | Type::Texts if value.is_empty() => Err("must not be empty".to_owned()),
        Type::Any | Type::Like(_) | Type::Text | Type::Texts => Ok(()),
        Type::Bool if matches!(value, "true" | "" | "false") => Ok(()),
        Type::Bool => Err("must be true or false".to_owned()),
        Type::Number(largest) => match value.parse::<u64>() {
            Ok(number) if number <= largest => Ok(()),
            _ => Err(format!("must be a number from 0 to {largest}")),
        },
        Type::Word(words) | Type::WordOr(words, _) if words.contains(&value) => Ok(()),
        Type::WordOr(_, begin) if value.starts_with(begin) => Ok(()),
        Type::Word(words) => Err(format!("must be one of {}", words.join(", "))),
        Type::WordOr(words, begin) => {
            Err(format!("must be one of {}, or begin with {begin}", words.join(", ")))
        }
    }
}

/// What is answered.
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// Headers, the content type among them.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

impl Reply {
    /// Bytes of a type.
    pub fn bytes(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        if !media.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        }
        Self { status, headers, body: Body::from(body.into()) }
    }

    /// JSON.
    pub fn json(status: StatusCode, value: &impl serde::Serialize) -> Self {
        let text = serde_json::to_vec(value).unwrap_or_default();
        Self::bytes(status, "application/json", text)
    }

    /// JSON, and all is well.
    pub fn fine(value: &impl serde::Serialize) -> Self {
        Self::json(StatusCode::OK, value)
    }

    /// Nothing to say.
    pub fn empty(status: StatusCode) -> Self {
        Self::bytes(status, "", Bytes::new())
    }

    /// Adds a header; a value that HTTP does not allow is left out.
    pub fn with(mut self, name: &'static str, value: impl AsRef<str>) -> Self {
        if let Ok(value) = HeaderValue::from_str(value.as_ref()) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// Says which version was answered from.
    pub fn version(self, revision: u64) -> Self {
        self.with("overrule-version", revision.to_string())
    }

    /// As HTTP has it.
    pub fn response(self) -> Response {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
