// SPDX-License-Identifier: Apache-2.0
//! `/v1/history`, `/v1/audit`, `/v1/redact`, `/v1/backup`: what was changed, by whom; copies of everything. Not here:
//! answers about the past (`as-of` of every question).

use std::sync::Arc;

use http::StatusCode;
use overrule_ask::percent::encode;
use overrule_store::{HistoryEntry, HistoryFilter, ResourceKey, ResourceScope};

use super::write::{author, word};
use super::writing;
use crate::admission::{key_of, source_name};
use crate::call::{Call, Reply};
use crate::problem::Problem;
use crate::reader::may_read;
use crate::shapes::{API_VERSION, AuditItem, AuditList, HistoryItem, HistoryList};
use crate::table::{BodySpec, Endpoint, EndpointAccess, Media, Param, ResponseSpec, Type, Verb};
use crate::work::WorkClass;

const BEFORE: Param =
    Param::new("before", Type::Number(u64::MAX >> 1), "only what is older than this number");
const OLDER: Param = Param::new(
    "before",
    Type::Like("^[0-9]+([.][0-9]+)?$"),
    "only what is older than this version, or the rest of it after so many changes (`12.500`), as `next` has it",
);
/// Changes that are read at once: their texts may be long.
const STEP: usize = 64;
/// Bytes of texts after which a page ends.
const PAGE: usize = 8 << 20;
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
            OLDER,
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
    let (wanted, grants) = (text.to_lowercase(), call.who.grants.clone());
    let find = move || {
        let named = |key: &ResourceKey| source_name(key).to_lowercase() == wanted;
        let mut filter = HistoryFilter { limit: STEP, ..HistoryFilter::default() };
        loop {
            let entries = store.history(&filter)?;
            let (last, oldest) = (entries.len() < STEP, entries.last().map(|e| e.revision));
            let mut keys = entries.into_iter().map(|e| e.key);
            let found = keys.find(|key| named(key) && may_read(&grants, key));
            if found.is_some() || last {
                return Ok(found);
            }
            filter.before = oldest;
        }
    };
    call.stored(WorkClass::Store, find).await?.ok_or_else(missing)
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
    let (mut before, mut passed) = match call.query.text("before").map(cursor) {
        None => (None, None),
        Some(cursor) => cursor?,
    };
    let first = passed;
    let mut items: Vec<HistoryItem> = Vec::new();
    // What the page that comes next begins with.
    let (mut next, mut bytes) = (None, 0);
    // What may not be read is passed over; pages stay full, so that nothing shows how much there is of it.
    loop {
        let filter = HistoryFilter {
            key: key.clone(),
            place: place.clone(),
            author: call.query.text("author").map(str::to_owned),
            before,
            limit: STEP,
        };
        let store = Arc::clone(&call.app.store);
        let entries = call.stored(WorkClass::Store, move || store.history(&filter)).await?;
        let last = entries.len() < STEP;
        before = entries.last().map(|e| e.revision);
        for entry in entries {
            if !may_read(&call.who.grants, &entry.key) {
                continue;
            }
            // Of the version in which the page before ended, what it had is passed over.
            match &mut passed {
                Some((version, rest)) if *version == entry.revision && *rest > 0 => {
                    *rest -= 1;
                    continue;
                }
                _ => {}
            }
            if items.len() >= size || (bytes > PAGE && !items.is_empty()) {
                next = Some(entry.revision);
                break;
            }
            bytes += entry.text.as_ref().map_or(0, String::len);
            items.push(item(entry));
        }
        if next.is_some() || last {
            break;
        }
    }
    let next = items.last().zip(next).map(|(last, next)| {
        let mut from = last.version.to_string();
        if last.version == next {
            let given = items.iter().rev().take_while(|item| item.version == next).count();
            let earlier = first.filter(|(version, _)| *version == next).map_or(0, |(_, n)| n);
            from = format!("{from}.{}", earlier.saturating_add(given as u64));
        }
        let given = ["target", "namespace", "mesh", "author"].iter();
        let given = given.filter_map(|n| Some(format!("&{n}={}", encode(call.query.text(n)?))));
        let given: String = given.collect();
        format!("{}/v1/history?size={size}&before={from}{given}", call.base)
    });
    let list = HistoryList { api_version: API_VERSION, kind: "HistoryList", items, next };
    call.answer(move |_| Ok(Reply::fine(&list))).await
}

/// The version below which a page begins, and how much of a version was told already.
type Cursor = (Option<u64>, Option<(u64, u64)>);

/// Reads `12`, or `12.500`.
fn cursor(text: &str) -> Result<Cursor, Problem> {
    let why = "must be a version, or a version and a number of changes such as 12.500";
    let wrong = || Problem::bad(format!("bad request: parameter `before`: {why}"));
    let number = |text: &str| {
        let number = text.parse::<u64>().ok().filter(|n| *n <= u64::MAX >> 1);
        number.ok_or_else(|| wrong().cause("before", why))
    };
    match text.split_once('.') {
        None => Ok((Some(number(text)?), None)),
        Some((version, given)) => {
            let version = number(version)?;
            Ok((Some(version.saturating_add(1)), Some((version, number(given)?))))
        }
    }
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
    let read = move || store.audit_log(before, size + 1);
    let mut events = call.stored(WorkClass::Store, read).await?;
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
    let dump = call.stored(WorkClass::Backup, move || {
        let mut out = Vec::new();
        store.dump(&mut out)?;
        Ok(out)
    });
    let dump = dump.await?;
    call.app.audit(call.place.clone(), author(&call), "backup", "everything", "done");
    Ok(Reply::bytes(StatusCode::OK, "application/jsonl", dump))
}
