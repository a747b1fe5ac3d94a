// SPDX-License-Identifier: Apache-2.0
//! `/v1/history`, `/v1/audit`, `/v1/redact`, `/v1/backup`: what was changed, by whom; copies of everything. Not here:
//! answers about the past (`as-of` of every question).

use std::sync::Arc;

use http::StatusCode;
use overrule_ask::percent::encode;
use overrule_store::{HistoryEntry, HistoryFilter, ResourceKey, ResourceScope};

use super::write::{author, word};
use super::{blocking, writing};
use crate::admission::{key_of, source_name};
use crate::call::{Call, Reply};
use crate::problem::Problem;
use crate::reader::may_read;
use crate::shapes::{API_VERSION, AuditItem, AuditList, HistoryItem, HistoryList};
use crate::table::{BodySpec, Endpoint, EndpointAccess, Media, Param, ResponseSpec, Type, Verb};

const BEFORE: Param =
    Param::new("before", Type::Number(u64::MAX >> 1), "only what is older than this number");
const SIZE: Param = Param::new("size", Type::Number(1000), "most items; 100 if absent");
const TARGET: Param = Param::new("target", Type::Text, "only this resource");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        id: "history",
        method: Verb::Get,
        path: "/v1/history",
        about: "Every change: who, when, what. Newest first.",
        access: EndpointAccess::Known,
        query: &[
            TARGET,
            Param::new("namespace", Type::Text, "only this namespace"),
            Param::new("mesh", Type::Text, "only this mesh"),
            Param::new("author", Type::Text, "only by them"),
            BEFORE,
            SIZE,
        ],
        body: BodySpec::None,
        answers: &[ResponseSpec {
            status: 200,
            media: Media::Json("HistoryList"),
            about: "a page",
        }],
        errors: &[404],
        run: |call| Box::pin(history(call)),
    },
    Endpoint {
        id: "audit",
        method: Verb::Get,
        path: "/v1/audit",
        about: "Writes that were denied, and what admins did. Newest first.",
        access: EndpointAccess::Admin,
        query: &[BEFORE, SIZE],
        body: BodySpec::None,
        answers: &[ResponseSpec { status: 200, media: Media::Json("AuditList"), about: "a page" }],
        errors: &[],
        run: |call| Box::pin(audit(call)),
    },
    Endpoint {
        id: "redact",
        method: Verb::Post,
        path: "/v1/redact",
        about: "Takes the texts of a resource out of the history. Who, when and what stays.",
        access: EndpointAccess::Admin,
        query: &[TARGET.required()],
        body: BodySpec::None,
        answers: &[ResponseSpec { status: 204, media: Media::None, about: "they are gone" }],
        errors: &[404],
        run: |call| Box::pin(redact(call)),
    },
    Endpoint {
        id: "backup",
        method: Verb::Get,
        path: "/v1/backup",
        about: "Everything, as one consistent copy that `overrule serve --restore` reads.",
        access: EndpointAccess::Admin,
        query: &[],
        body: BodySpec::None,
        answers: &[ResponseSpec {
            status: 200,
            media: Media::Text("application/jsonl"),
            about: "the copy",
        }],
        errors: &[],
        run: |call| Box::pin(backup(call)),
    },
];

/// A resource by target name: one that is there, or one that the history still has.
async fn named(call: &Call, text: &str) -> Result<ResourceKey, Problem> {
    let missing = || Problem::not_found(format!("`{text}` does not exist"));
    let state = call.app.live.state();
    if let Ok(target) = text.parse::<overrule::model::TargetName>() {
        let snapshot = &state.analysis.snapshot;
        let found = [snapshot.resolve(&target), snapshot.resolve_deleted(&target)];
        let mut found = found.into_iter().flatten().map(|o| key_of(snapshot, o));
        let found = found.find(|key| may_read(&call.who.grants, key));
        if let Some(key) = found {
            return Ok(key);
        }
    }
    // Deleted ones are known by their full name only.
    let store = Arc::clone(&call.app.store);
    let everything = HistoryFilter { limit: 100_000, ..HistoryFilter::default() };
    let entries = blocking(move || store.history(&everything)).await?;
    let wanted = text.to_lowercase();
    let mut keys = entries.into_iter().map(|e| e.key);
    keys.find(|key| source_name(key).to_lowercase() == wanted && may_read(&call.who.grants, key))
        .ok_or_else(missing)
}

async fn history(call: Call) -> Result<Reply, Problem> {
    let key = match call.query.text("target") {
        Some(text) => Some(named(&call, text).await?),
        None => None,
    };
    let place = match (call.query.text("namespace"), call.query.text("mesh")) {
        (Some(name), _) => Some(ResourceScope::Namespace(name.to_owned())),
        (None, Some(name)) => Some(ResourceScope::Mesh(name.to_owned())),
        (None, None) => None,
    };
    let size = call.query.count("size", 100);
    let mut before = call.query.number("before");
    let mut items: Vec<HistoryItem> = Vec::new();
    let mut more = false;
    // What may not be read is passed over; pages stay full, so that nothing shows how much there is of it.
    loop {
        let filter = HistoryFilter {
            key: key.clone(),
            place: place.clone(),
            author: call.query.text("author").map(str::to_owned),
            before,
            limit: 1000,
        };
        let store = Arc::clone(&call.app.store);
        let entries = blocking(move || store.history(&filter)).await?;
        let last = entries.len() < 1000;
        before = entries.last().map(|e| e.revision);
        for entry in entries {
            if !may_read(&call.who.grants, &entry.key) {
                continue;
            }
            // A page ends between versions, for `before` names one.
            if items.len() >= size && items.last().is_some_and(|i| i.version != entry.revision) {
                more = true;
                break;
            }
            items.push(item(entry));
        }
        if more || last {
            break;
        }
    }
    let next = items.last().filter(|_| more && size > 0).map(|last| {
        let given = ["target", "namespace", "mesh", "author"].iter();
        let given = given.filter_map(|n| Some(format!("&{n}={}", encode(call.query.text(n)?))));
        let given: String = given.collect();
        format!("{}/v1/history?size={size}&before={}{given}", call.base, last.version)
    });
    Ok(Reply::fine(&HistoryList { api_version: API_VERSION, kind: "HistoryList", items, next }))
}

fn item(entry: HistoryEntry) -> HistoryItem {
    HistoryItem {
        version: entry.revision,
        at: entry.at.to_string(),
        author: entry.author.name,
        request: entry.author.request,
        target: source_name(&entry.key),
        done: word(entry.done),
        text: entry.text,
        redacted: entry.redacted,
    }
}

async fn audit(call: Call) -> Result<Reply, Problem> {
    let size = call.query.count("size", 100);
    let before = call.query.number("before");
    let store = Arc::clone(&call.app.store);
    // One more than shown tells whether there are older ones.
    let mut events = blocking(move || store.audit_log(before, size + 1)).await?;
    let full = events.len() > size && size > 0;
    events.truncate(size);
    let items: Vec<AuditItem> = events
        .into_iter()
        .map(|e| AuditItem {
            id: e.id,
            at: e.at.to_string(),
            author: e.author.name,
            request: e.author.request,
            action: e.action,
            what: e.what,
            outcome: e.outcome,
        })
        .collect();
    let next = items
        .last()
        .filter(|_| full)
        .map(|last| format!("{}/v1/audit?size={size}&before={}", call.base, last.id));
    Ok(Reply::fine(&AuditList { api_version: API_VERSION, kind: "AuditList", items, next }))
}

async fn redact(call: Call) -> Result<Reply, Problem> {
    let text = call.query.text("target").unwrap_or_default().to_owned();
    let key = named(&call, &text).await?;
    let author = author(&call);
    writing(&call, move |store, by| store.redact(by, &author, &key)).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn backup(call: Call) -> Result<Reply, Problem> {
    let store = Arc::clone(&call.app.store);
    let dump = blocking(move || {
        let mut out = Vec::new();
        store.dump(&mut out)?;
        Ok(out)
    });
    let dump = dump.await?;
    call.app.audit(author(&call), "backup", "everything", "done");
    Ok(Reply::bytes(StatusCode::OK, "application/jsonl", dump))
}
