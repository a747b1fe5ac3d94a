// SPDX-License-Identifier: Apache-2.0
//! `/v1/watch`: which effective policies changed, and why, as server-sent events. Not here: comparing (`differences`).
//!
//! A watcher keeps the state it told of last and compares the newest one with it. So a slow reader misses nothing, it
//! gets several changes as one, and nothing queues up for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body as Stream, Bytes};
use http::StatusCode;
use tokio::sync::mpsc;

use super::{as_of, revision};
use crate::call::{Call, Reply};
use crate::differences::WatchFilter;
use crate::live::State;
use crate::problem::Problem;
use crate::table::{BodySpec, Endpoint, EndpointAccess, Media, Param, ResponseSpec, Type, Verb};
use crate::work::WorkClass;

/// Silence after which a sign of life is sent, so that a broken connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    id: "watch",
    method: Verb::Get,
    path: "/v1/watch",
    about: "Server-sent events: which effective policies changed, and why. `Last-Event-ID` or `since` resumes.",
    access: EndpointAccess::Known,
    query: &[
        Param::new(
            "since",
            Type::Like("^([0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}T.+)$"),
            "tell what changed since this version or time first",
        ),
        Param::new("kind", Type::Text, "only this policy kind"),
        Param::new("target", Type::Text, "only targets that begin with this"),
        Param::new("output", Type::Word(&["json", "table"]), "form of the events; json if absent"),
    ],
    body: BodySpec::None,
    answers: &[ResponseSpec {
        status: 200,
        media: Media::Text("text/event-stream"),
        about: "events",
    }],
    errors: &[410],
    run: |call| Box::pin(watch(call)),
};

async fn watch(mut call: Call) -> Result<Reply, Problem> {
    let Some(place) = call.app.watcher(&call.who) else {
        return Err(Problem::unavailable(
            "all places for watching are taken, or as many as one client may have",
        ));
    };
    let header = call.headers.get("last-event-id").and_then(|v| v.to_str().ok());
    let since = header.or_else(|| call.query.text("since")).map(str::to_owned);
    let start = match since {
        Some(text) => {
            let revision = revision(&call, &text).await?;
            as_of(&call, revision).await?
        }
        None => call.app.live.state(),
    };
    // From now on it takes a place among those who watch, and none in flight.
    call.place = None;
    let (sender, receiver) = mpsc::channel::<Bytes>(1);
    tokio::spawn(async move {
        let app = Arc::clone(&call.app);
        // The other end is gone: that is how watching ends.
        let _ = tell(call, start, sender).await;
        drop(place);
        if app.watching() == 0 {
            app.differences.clear();
        }
    });
    let stream = ReceiverStream(receiver);
    let mut reply = Reply::bytes(StatusCode::OK, "text/event-stream", Bytes::new());
    reply.body = Stream::from_stream(stream);
    Ok(reply.with("cache-control", "no-store").with("x-accel-buffering", "no"))
}

/// Bytes as they come.
struct ReceiverStream(mpsc::Receiver<Bytes>);

impl futures_core::Stream for ReceiverStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(Ok))
    }
}

async fn tell(
    mut call: Call,
    start: Arc<State>,
    sender: mpsc::Sender<Bytes>,
) -> Result<(), mpsc::error::SendError<Bytes>> {
    let mut published = call.app.live.published();
    let mut ended = call.app.ending();
    let mut last = start;
    let text = |name| call.query.text(name).map(str::to_owned);
    let table = call.query.text("output") == Some("table");
    let wanted = WatchFilter { kind: text("kind"), target: text("target"), table };
    let hello = format!("event: version\nid: {0}\ndata: {{\"version\":{0}}}\n\n", last.revision);
    sender.send(hello.into()).await?;
    loop {
        let newest = call.app.live.state();
        if newest.revision != last.revision {
            // A token that was revoked meanwhile reads no further.
            let Some(grants) = call.app.still(&call.who) else { return Ok(()) };
            call.who.grants = grants;
            let told = event(&call, &last, &newest, &wanted).await;
            let (Ok(event), revision) = (told, newest.revision) else { return Ok(()) };
            let told = Arc::downgrade(&newest);
            // A peer that does not read must not keep states: there may be many such peers, each at another version.
            drop((last, newest));
            if let Some(event) = event {
                sender.send(event).await?;
            }
            last = match told.upgrade() {
                Some(state) => state,
                None => match as_of(&call, revision).await {
                    Ok(state) => state,
                    // Too old by now: the client resumes, and is told so.
                    Err(_) => return Ok(()),
                },
            };
            continue;
        }
        tokio::select! {
            () = sender.closed() => return Ok(()),
            _ = ended.changed() => return Ok(()),
            changed = published.changed() => if changed.is_err() { return Ok(()) },
            () = tokio::time::sleep(HEARTBEAT) => sender.send(Bytes::from_static(b": alive\n\n")).await?,
        }
    }
}

/// What a reader is told of a newer state. Whoever comes first makes it, on a thread that may take its time; others wait
/// for it on none.
async fn event(
    call: &Call,
    last: &Arc<State>,
    newest: &Arc<State>,
    wanted: &WatchFilter,
) -> Result<Option<Bytes>, Problem> {
    let app = &call.app;
    let ready = || app.differences.ready(last, newest, &call.who.grants, wanted);
    if let Some(event) = ready() {
        return Ok(event);
    }
    let turn = app.work.turn(WorkClass::Tell, &call.who).await?;
    if let Some(event) = ready() {
        return Ok(event);
    }
    let (app, wanted, grants) = (Arc::clone(app), wanted.clone(), call.who.grants.clone());
    let (last, newest) = (Arc::clone(last), Arc::clone(newest));
    let work = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        app.differences.event(&app.live, &last, &newest, &grants, &wanted)
    });
    work.await.map_err(|e| Problem::internal(e.to_string()))
}
