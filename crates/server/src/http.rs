// SPDX-License-Identifier: Apache-2.0
//! In: the list of endpoints. Out: the service that answers requests. Not here: connections, TLS and who is asking
//! (`overrule_guard`), what the endpoints do.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body as Stream;
use axum::extract::{RawPathParams, Request};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::BodyExt;
use overrule_guard::{Principal, RequestId};
use overrule_store::Deadline;

use crate::app::App;
use crate::call::{Call, Query};
use crate::clock;
use crate::extension::Extensions;
use crate::problem::Problem;
use crate::table::{BodySpec, Endpoint, EndpointAccess, Verb};

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

/// Answers one request, whatever becomes of it, and counts it.
async fn answer(
    app: Arc<App>,
    endpoint: Endpoint,
    params: RawPathParams,
    request: Request,
) -> Response {
    let since = clock::instant();
    let method = request.method().clone();
    let done = match take(&app, &endpoint, &params, request).await {
        Ok(call) => {
            let (who, id) = (call.who.name.clone(), call.request.clone());
            let done = (endpoint.run)(call).await;
            let status = done.as_ref().map_or_else(|p| p.status, |r| r.status);
            let took = since.elapsed();
            tracing::debug!(
                request = id,
                endpoint = endpoint.id,
                who,
                status = status.as_u16(),
                micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            );
            if method != Method::GET && method != Method::HEAD {
                tracing::info!(request = id, endpoint = endpoint.id, who, status = status.as_u16());
            }
            done
        }
        Err(problem) => Err(problem),
    };
    let response = match done {
        Ok(reply) => reply.response(),
        Err(problem) => {
            if problem.status.is_server_error() {
                tracing::warn!(endpoint = endpoint.id, detail = problem.detail, "not answered");
            }
            problem.response(app.extensions.of(endpoint.path))
        }
    };
    app.metrics.request(endpoint.id, response.status(), since.elapsed());
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
    // Without the guard in front there is nobody to answer to.
    let who = parts.extensions.get::<Principal>().cloned().unwrap_or_else(Principal::nobody);
    permitted(endpoint, &who)?;
    let query = Query::parse(endpoint, parts.uri.query().unwrap_or_default())?;
    let path: BTreeMap<String, String> =
        params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    if path.values().any(|part| part.contains('\0')) {
        return Err(Problem::bad("bad request: the path contains a NUL character"));
    }
    let body = match endpoint.body {
        BodySpec::None => Bytes::new(),
        kind => {
            media(kind, &parts.headers)?;
            collect(body).await?
        }
    };
    let host = parts.headers.get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or("localhost");
    let scheme = parts.uri.scheme_str().unwrap_or(if app.metrics.tls() { "https" } else { "http" });
    let uri = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let request = parts.extensions.get::<RequestId>().map(ToString::to_string).unwrap_or_default();
    Ok(Call {
        app: Arc::clone(app),
        who,
        request,
        path,
        query,
        base: format!("{scheme}://{host}"),
        headers: parts.headers,
        body,
        uri,
        deadline,
        prepared: OnceLock::new(),
    })
}

fn permitted(endpoint: &Endpoint, who: &Principal) -> Result<(), Problem> {
    let fine = match endpoint.access {
        EndpointAccess::Anybody => true,
        EndpointAccess::Known => !who.grants.is_empty(),
        EndpointAccess::ReadsAll => who.grants.reads_all(),
        EndpointAccess::Admin => who.grants.is_admin(),
    };
    match fine {
        true => Ok(()),
        false => Err(Problem::forbidden(match endpoint.access {
            EndpointAccess::Admin => "this needs a token with the grant `admin`",
            EndpointAccess::ReadsAll => "this needs a token that may read everything",
            _ => "this needs a token that grants something",
        })),
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
    match fine {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Unsupported Media Type",
            format!("`{said}` is not read here; send application/yaml or application/json"),
        )),
    }
}

async fn collect(body: Stream) -> Result<Bytes, Problem> {
    match body.collect().await {
        Ok(body) => Ok(body.to_bytes()),
        // The guard's limits show as errors of the body.
        Err(error) => {
            let detail = format!("the body cannot be read: {error}");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Payload Too Large", detail))
        }
    }
}
