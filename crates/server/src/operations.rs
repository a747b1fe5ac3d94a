// SPDX-License-Identifier: Apache-2.0
//! `/healthz`, `/readyz`, `/metrics`, `/openapi.json`, `/`: what those who run the server ask. Not here: counting
//! (`metrics`), the document (`openapi`).

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;

use crate::app::App;
use crate::call::{Call, Reply};
use crate::problem::Problem;
use crate::shapes::Health;
use crate::table::{Endpoint, EndpointAccess, Media, ResponseSpec};
use crate::work::WorkClass;

const fn simple(
    id: &'static str,
    path: &'static str,
    about: &'static str,
    access: EndpointAccess,
    answers: &'static [ResponseSpec],
    run: fn(Call) -> crate::table::PendingReply,
) -> Endpoint {
    Endpoint { access, answers, ..Endpoint::reading(id, path, about, run) }
}

const HEALTH: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::Json("Health"), about: "all is well" }];

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    simple("index", "/", "What this is.", EndpointAccess::Anybody, INDEX, |call| {
        Box::pin(index(call))
    }),
    simple(
        "healthz",
        "/healthz",
        "Whether the process works.",
        EndpointAccess::Anybody,
        HEALTH,
        |_| Box::pin(async { Ok(Reply::fine(&Health { status: "ok".to_owned() })) }),
    ),
    simple(
        "readyz",
        "/readyz",
        "Whether requests can be answered: a write was tried just now, and taken.",
        EndpointAccess::Anybody,
        HEALTH,
        |call| Box::pin(ready(call)),
    ),
    simple(
        "metrics",
        "/metrics",
        "Figures for Prometheus.",
        EndpointAccess::ReadsAll,
        &[ResponseSpec {
            status: 200,
            media: Media::Text("application/openmetrics-text; version=1.0.0; charset=utf-8"),
            about: "figures",
        }],
        |call| Box::pin(metrics(call)),
    ),
    simple(
        "openapi",
        "/openapi.json",
        "This document.",
        EndpointAccess::Anybody,
        &[ResponseSpec { status: 200, media: Media::Json("Anything"), about: "OpenAPI 3.1" }],
        |call| {
            Box::pin(async move {
                let App { document, extensions, .. } = &*call.app;
                let text = document.get_or_init(|| crate::openapi::text(extensions)).clone();
                Ok(Reply::bytes(StatusCode::OK, "application/json", text))
            })
        },
    ),
];

const INDEX: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::Json("Anything"), about: "name and version" }];

async fn index(call: Call) -> Result<Reply, Problem> {
    Ok(Reply::fine(&json!({
        "tagline": call.app.extensions.tagline().unwrap_or("Overrule"),
        "product": "Overrule",
        "version": env!("CARGO_PKG_VERSION"),
        "api": "/openapi.json",
    })))
}

async fn ready(call: Call) -> Result<Reply, Problem> {
    match call.app.readiness.ask().await {
        Ok(()) => Ok(Reply::fine(&Health { status: "ok".to_owned() })),
        Err(why) => Err(Problem::unavailable(why)),
    }
}

async fn metrics(call: Call) -> Result<Reply, Problem> {
    let app = Arc::clone(&call.app);
    let write = move || app.metrics.text(&app.live.state(), &crate::vitals::text(&app));
    let text = call.work(WorkClass::Question, write).await?;
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(Reply::bytes(StatusCode::OK, media, text))
}
