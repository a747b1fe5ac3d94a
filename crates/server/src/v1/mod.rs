// SPDX-License-Identifier: Apache-2.0
//! The endpoints under `/v1`, for all families: one file per concern.

pub mod history;
pub mod questions;
pub mod resources;
pub mod tokens;
pub mod watch;
pub mod write;

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use overrule_store::{Deadline, Store, StoreError, StoreError as E};

use crate::call::Call;
use crate::clock;
use crate::live::State;
use crate::metrics;
use crate::problem::Problem;
use crate::table::{Param, Type};
use crate::work::WorkClass;

/// Waits for a version.
pub const AT_LEAST: Param = Param::new(
    "at-least",
    Type::Number(u64::MAX >> 1),
    "answer from this version or a newer one: wait for it if it is not resolved yet",
);
/// Asks about the past.
pub const AS_OF: Param = Param::new(
    "as-of",
    Type::Like("^([0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}T.+)$"),
    "answer as it was at this version (a number) or time (RFC 3339)",
);

/// How long a version is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state that a request is about.
pub async fn state(call: &Call) -> Result<Arc<State>, Problem> {
    if let Some(revision) = call.query.number("at-least") {
        at_least(call, revision).await?;
    }
    match call.query.text("as-of") {
        None => Ok(call.app.live.state()),
        Some(text) => {
            let revision = revision(call, text).await?;
            as_of(call, revision).await
        }
    }
}

/// The state at a version of the past. Keys whose texts were redacted are not in it.
pub async fn as_of(call: &Call, revision: u64) -> Result<Arc<State>, Problem> {
    let live = &call.app.live;
    if let Some(found) = live.at(revision) {
        return Ok(found);
    }
    let room = call.app.work.turn(WorkClass::PastState, &call.who).await?;
    if let Some(found) = live.at(revision) {
        return Ok(found);
    }
    let live = Arc::clone(live);
    call.stored(WorkClass::Past, move || live.past(revision, room)).await
}

/// Waits for a version.
async fn at_least(call: &Call, revision: u64) -> Result<(), Problem> {
    if call.app.live.state().revision >= revision {
        return Ok(());
    }
    let store = Arc::clone(&call.app.store);
    let newest = call.stored(WorkClass::Store, move || store.revision()).await?;
    if revision > newest {
        return Err(Problem::new(
            StatusCode::PRECONDITION_FAILED,
            "Precondition Failed",
            format!("there is no version {revision} yet; the newest is {newest}"),
        ));
    }
    if call.app.live.wait(revision, PATIENCE).await {
        return Ok(());
    }
    Err(Problem::unavailable(format!("version {revision} is still being resolved")))
}

/// A version by number or time.
pub async fn revision(call: &Call, text: &str) -> Result<u64, Problem> {
    if let Ok(number) = text.parse::<u64>() {
        return Ok(number);
    }
    let Ok(time) = text.parse::<jiff::Timestamp>() else {
        let why = "must be a version or a time such as 2026-01-31T09:00:00Z";
        return Err(
            Problem::bad(format!("bad request: parameter `as-of`: {why}")).cause("as-of", why)
        );
    };
    let store = Arc::clone(&call.app.store);
    call.stored(WorkClass::Store, move || store.revision_at(time)).await
}

/// Runs something that waits for the store.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(|| timed(work)).await;
    done.unwrap_or_else(|e| Err(E::Other(e.to_string()))).map_err(|e| problem(&e))
}

/// Runs something that writes. Who asked is answered before its time is over, whatever the store does; what is not written
/// by then is not written later.
pub async fn writing<T: Send + 'static>(
    call: &Call,
    work: impl FnOnce(&dyn Store, Deadline) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let (store, deadline) = (Arc::clone(&call.app.store), call.deadline);
    let done = blocking(move || work(&*store, deadline));
    match tokio::time::timeout_at(deadline.answer().into(), done).await {
        Ok(done) => done,
        Err(_elapsed) => Err(problem(&E::Unknown("the store did not answer in time".to_owned()))),
    }
}

/// Asks the store, and counts how long that takes.
pub fn timed<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let since = clock::instant();
    let done = work();
    metrics::stored(since.elapsed());
    done
}

/// What a failure of the store means to who asked.
pub fn problem(error: &StoreError) -> Problem {
    let say = |status, title: &str| Problem::new(status, title, error.to_string());
    match error {
        E::Conflict { .. } => say(StatusCode::CONFLICT, "Conflict"),
        E::NotFound(_) => say(StatusCode::NOT_FOUND, "Not Found"),
        E::Gone { .. } => say(StatusCode::GONE, "Gone"),
        E::Future { .. } => say(StatusCode::BAD_REQUEST, "Bad Request"),
        E::NotEmpty => say(StatusCode::CONFLICT, "Conflict"),
        E::Unavailable(_) | E::OtherSchema { .. } => Problem {
            retry_after: Some(1),
            ..say(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable")
        },
        // Not 503, which says that nothing was written.
        E::Unknown(_) => say(StatusCode::GATEWAY_TIMEOUT, "Gateway Timeout"),
        _ => say(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
    }
}
