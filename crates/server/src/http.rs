// SPDX-License-Identifier: Apache-2.0
//! In: the list of endpoints. Out: the service that answers requests. Not here: connections, TLS and who is asking
//! (`overrule_guard`), what the endpoints do.

use std::collections::BTreeMap;
use std::error::Error;
use std::iter::successors;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body as Stream;
use axum::extract::{RawPathParams, Request};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError};
use overrule_guard::{NoRoom, Peer, Principal, RequestId, RequestPlace, TraceParent};
use overrule_store::{Author, Deadline};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::app::App;
use crate::call::{Call, Query};
use crate::clock;
use crate::extension::Extensions;
use crate::otlp::RequestSpan;
use crate::problem::Problem;
use crate::reader::may_write_at;
use crate::table::{BodySpec, Endpoint, EndpointAccess, Verb};

/// Bytes of a body that are read although the request is refused.
const PASSED_OVER: usize = 1 << 20;

/// Every endpoint there is.
pub fn endpoints(extensions: &Extensions) -> Vec<Endpoint> {
    let own: [&[Endpoint]; 8] = [
        &crate::v1::questions::ENDPOINTS,
        &crate::v1::resources::MANY,
        &crate::v1::resources::PLACED,
        &crate::v1::resources::CLUSTER,
        std::slice::from_ref(&crate::v1::watch::ENDPOINT),
        crate::v1::history::ENDPOINTS,
        crate::v1::tokens::ENDPOINTS,
        crate::operations::ENDPOINTS,
    ];
    own.concat().into_iter().chain(extensions.endpoints()).collect()
}

/// The service.
pub fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for endpoint in endpoints(&app.extensions) {
        let app = Arc::clone(app);
        let method = match endpoint.method {
            Verb::Get => MethodFilter::GET,
            Verb::Put => MethodFilter::PUT,
            Verb::Post => MethodFilter::POST,
            Verb::Delete => MethodFilter::DELETE,
        };
        let run = move |params: RawPathParams, request: Request| {
            answer(Arc::clone(&app), endpoint, params, request)
        };
        router = router.route(endpoint.path, on(method, run));
    }
    let (no_path, no_method) = (app.extensions.clone(), app.extensions.clone());
    router
        .fallback(async move |request: Request| unknown(&no_path, &request))
        .method_not_allowed_fallback(async move |request: Request| {
            not_allowed(&no_method, &request)
        })
}

fn unknown(extensions: &Extensions, request: &Request) -> Response {
    let problem = Problem::not_found("no such path; /openapi.json lists all paths");
    problem.response(extensions.of(request.uri().path()))
}

fn not_allowed(extensions: &Extensions, request: &Request) -> Response {
    let detail = format!("{} is not possible here; see `allow`", request.method());
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed", detail);
    problem.response(extensions.of(request.uri().path()))
}

/// Answers one request. The threads that serve connections do no work of it, but for signs of life.
///
/// A write goes on when its client hangs up or its time is over: it may be done already, and it is counted and logged
/// whatever becomes of it. A question ends, but for what has a turn.
async fn answer(
    app: Arc<App>,
    endpoint: Endpoint,
    params: RawPathParams,
    request: Request,
) -> Response {
    if endpoint.access == EndpointAccess::Anybody && endpoint.id == "healthz" {
        return record(app, endpoint, params, request).await;
    }
    let runtime = app.runtime.clone();
    let extension = app.extensions.of(endpoint.path);
    let done = if endpoint.method == Verb::Get {
        Attended(runtime.spawn(record(app, endpoint, params, request))).await
    } else {
        let request_id = id(request.extensions());
        let (sender, receiver) = oneshot::channel();
        runtime.spawn(async move {
            let counting = Arc::clone(&app);
            let response = record(app, endpoint, params, request).await;
            if sender.send(response).is_err() {
                counting.metrics.undelivered(endpoint.id);
                tracing::info!(
                    request = request_id,
                    endpoint = endpoint.id,
                    "nobody heard the answer: the client hung up, or the time for the request was over"
                );
            }
        });
        receiver.await.ok()
    };
    // The panic has been logged.
    done.unwrap_or_else(|| Problem::internal("the request failed; see the log").response(extension))
}

/// A task that ends when nobody waits for it any more.
struct Attended(JoinHandle<Response>);

impl Future for Attended {
    type Output = Option<Response>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(Result::ok)
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn id(extensions: &http::Extensions) -> String {
    extensions.get::<RequestId>().map(ToString::to_string).unwrap_or_default()
}

/// Answers one request, counts it and logs it.
async fn record(
    app: Arc<App>,
    endpoint: Endpoint,
    params: RawPathParams,
    request: Request,
) -> Response {
    let (since, began) = (clock::instant(), clock::now());
    let method = request.method().clone();
    let id = id(request.extensions());
    let trace = request.extensions().get::<TraceParent>().cloned();
    let who = request.extensions().get().map_or("", |who: &Principal| &who.name).to_owned();
    let done = match take(&app, &endpoint, &params, request).await {
        Ok(call) => (endpoint.run)(call).await,
        Err(problem) => Err(problem),
    };
    let response = match done {
        Ok(reply) => reply.response(),
        Err(problem) => {
            if problem.status.is_server_error() {
                let detail = problem.detail.as_str();
                tracing::warn!(request = id, endpoint = endpoint.id, detail, "not answered");
            }
            problem.response(app.extensions.of(endpoint.path))
        }
    };
    let (status, took) = (response.status(), since.elapsed());
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let of = trace.as_ref().map(TraceParent::trace);
    let code = status.as_u16();
    if method == Method::GET || method == Method::HEAD {
        tracing::debug!(
            request = id,
            trace = of,
            endpoint = endpoint.id,
            who,
            status = code,
            micros
        );
    } else {
        tracing::info!(
            request = id,
            trace = of,
            endpoint = endpoint.id,
            who,
            status = code,
            micros
        );
    }
    if app.spans.wanted() {
        let began = began.as_nanosecond();
        app.spans.send(RequestSpan {
            parent: trace.map(|trace| (trace.trace().to_owned(), trace.span().to_owned())),
            name: format!("{method} {}", endpoint.path),
            times: (began, began.saturating_add(took.as_nanos().cast_signed())),
            status: code,
            attributes: vec![
                ("http.request.method", method.to_string()),
                ("http.route", endpoint.path.to_owned()),
                ("overrule.request", id),
                ("overrule.endpoint", endpoint.id.to_owned()),
            ],
        });
    }
    app.metrics.request(endpoint.id, status, took);
    response
}

/// Takes a request apart and checks everything that its endpoint says about requests.
async fn take(
    app: &Arc<App>,
    endpoint: &Endpoint,
    params: &RawPathParams,
    request: Request,
) -> Result<Call, Problem> {
    // The guard's clock began to run just before.
    let deadline = Deadline::within(app.request_limit);
    let (parts, body) = request.into_parts();
    let (query, path) = match checked(app, endpoint, params, &parts) {
        Ok(checked) => checked,
        Err(refusal) => {
            if endpoint.body != BodySpec::None {
                pass_over(body).await;
            }
            return Err(refusal);
        }
    };
    let body = match endpoint.body {
        BodySpec::None => Bytes::new(),
        _ => collect(body).await?,
    };
    let Parts { headers, uri, extensions, .. } = parts;
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or("localhost");
    let tls = extensions.get::<Peer>().map_or(app.metrics.tls(), |peer| peer.tls);
    let scheme = uri.scheme_str().unwrap_or(if tls { "https" } else { "http" });
    Ok(Call {
        app: Arc::clone(app),
        // Without the guard in front there is nobody to answer to.
        who: extensions.get::<Principal>().cloned().unwrap_or_else(Principal::nobody),
        request: id(&extensions),
        path,
        query,
        base: format!("{scheme}://{host}"),
        uri: uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers,
        body,
        deadline,
        prepared: OnceLock::new(),
        place: extensions.get::<RequestPlace>().cloned(),
    })
}

/// Reads the beginning of a body for nothing: most clients send all of it before they look at the answer, and would find
/// the connection closed. What is longer is not worth it.
async fn pass_over(mut body: Stream) {
    let mut rest = PASSED_OVER;
    while let Some(Ok(frame)) = body.frame().await {
        match rest.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
            Some(less) => rest = less,
            None => return,
        }
    }
}

/// Checks everything about a request but its body.
fn checked(
    app: &App,
    endpoint: &Endpoint,
    params: &RawPathParams,
    parts: &Parts,
) -> Result<(Query, BTreeMap<String, String>), Problem> {
    let who = parts.extensions.get::<Principal>().cloned().unwrap_or_else(Principal::nobody);
    permitted(endpoint, &who)?;
    let query = Query::parse(endpoint, parts.uri.query().unwrap_or_default())?;
    let path: BTreeMap<String, String> =
        params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    if path.values().any(|part| part.contains('\0')) {
        return Err(Problem::bad("bad request: the path contains a NUL character"));
    }
    if endpoint.access == EndpointAccess::Writes && !may_write_at(&who.grants, &path) {
        let (request, place) =
            (id(&parts.extensions), parts.extensions.get::<RequestPlace>().cloned());
        let author = Author { name: who.name, token: who.token, request: Some(request) };
        app.audit(place, author, "write", parts.uri.path(), "denied");
        return Err(Problem::forbidden("you may not write anything there"));
    }
    if endpoint.body != BodySpec::None {
        media(endpoint.body, &parts.headers)?;
    }
    Ok((query, path))
}

fn permitted(endpoint: &Endpoint, who: &Principal) -> Result<(), Problem> {
    let fine = match endpoint.access {
        EndpointAccess::Anybody => true,
        EndpointAccess::Known => !who.grants.is_empty(),
        // The path tells more; it is asked next.
        EndpointAccess::Writes => !who.grants.is_empty(),
        EndpointAccess::ReadsAll => who.grants.reads_all(),
        EndpointAccess::Admin => who.grants.is_admin(),
    };
    if fine {
        Ok(())
    } else {
        Err(Problem::forbidden(match endpoint.access {
            EndpointAccess::Admin => "this needs a token with the grant `admin`",
            EndpointAccess::ReadsAll => "this needs a token that may read everything",
            _ => "this needs a token that grants something",
        }))
    }
}

/// Refuses bodies that say they are something else. What says nothing is taken for YAML, which JSON is too.
fn media(kind: BodySpec, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(said) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let said = said.to_str().unwrap_or_default().to_ascii_lowercase();
    let said = said.split(';').next().unwrap_or_default().trim();
    let json = matches!(said, "application/json" | "text/json") || said.ends_with("+json");
    let yaml = said.contains("yaml") || matches!(said, "text/plain" | "application/octet-stream");
    // Clients such as curl call everything a form unless told otherwise.
    let unsaid = said == "application/x-www-form-urlencoded";
    let fine = match kind {
        BodySpec::Json("Matrix") => json || yaml || unsaid,
        BodySpec::Json(_) => json || unsaid,
        BodySpec::Manifests => json || yaml || unsaid,
        BodySpec::None => true,
    };
    if fine {
        Ok(())
    } else {
        Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Unsupported Media Type",
            format!("`{said}` is not read here; send application/yaml or application/json"),
        ))
    }
}

async fn collect(body: Stream) -> Result<Bytes, Problem> {
    match body.collect().await {
        Ok(body) => Ok(body.to_bytes()),
        // The guard's limits show as errors of the body.
        Err(error) => {
            let detail = format!("the body cannot be read: {error}");
            let causes = || successors(Some(&error as &dyn Error), |&error| error.source());
            Err(if causes().any(|e| e.is::<NoRoom>()) {
                Problem::unavailable(detail)
            } else if causes().any(|e| e.is::<LengthLimitError>()) {
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Payload Too Large", detail)
            } else {
                Problem::bad(format!("bad request: {detail}"))
            })
        }
    }
}
