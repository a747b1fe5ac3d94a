// SPDX-License-Identifier: Apache-2.0
//! In: manifests from a client that is known. Out: them in the store, or what storing them would change. Not here: the
//! shapes of URLs (`resources`, and those of extensions).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use overrule::Options;
use overrule::source::{Diagnostic, SourceId};
use overrule::view::{self, v1};
use overrule_guard::Grants;
use overrule_store::{
    Author, Change, ChangeKind, Committed, Precondition, Record, ResourceKey, Store, TextFormat,
};

use super::writing;
use crate::admission::{Admitted, Manifest, admit_within, source_name};
use crate::call::{Call, Reply};
use crate::changes;
use crate::clock;
use crate::live::State;
use crate::problem::Problem;
use crate::reader::{Reader, may_write};
use crate::shapes::{API_VERSION, WriteResult, WrittenItem};
use crate::work::WorkClass;

/// How long a writer waits for its change to be resolved. Then the answer is that it is stored.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who writes, for the history.
pub fn author(call: &Call) -> Author {
    Author {
        name: call.who.name.clone(),
        token: call.who.token.clone(),
        request: Some(call.request.clone()),
    }
}

/// What a client expects to be there, by `If-Match` and `If-None-Match`.
pub fn expectation(headers: &HeaderMap) -> Result<Precondition, Problem> {
    let text = |name| headers.get(name).map(|v| v.to_str().unwrap_or("?").trim().to_owned());
    let wrong = |name: &str, what: &str| {
        Err(Problem::bad(format!("bad request: header `{name}` must be {what}")))
    };
    match (text(header::IF_MATCH), text(header::IF_NONE_MATCH)) {
        (None, None) => Ok(Precondition::Any),
        (None, Some(any)) if any == "*" => Ok(Precondition::Absent),
        (None, Some(_)) => wrong("if-none-match", "`*`"),
        (Some(version), None) => match version.trim_matches('"').parse() {
            Ok(version) => Ok(Precondition::Version(version)),
            Err(_) => wrong("if-match", "a version such as \"12\""),
        },
        (Some(_), Some(_)) => wrong("if-match", "alone: `if-none-match` is there too"),
    }
}

/// Reads the body, on a thread that may take its time.
pub async fn read(call: &Call) -> Result<Admitted, Problem> {
    let app = Arc::clone(&call.app);
    let body = call.body.clone();
    // What is read of a body is many times as large, and stays until the call is answered.
    let held = app.work.turn_of(WorkClass::Parsed, &call.who, body.len().max(1)).await?;
    let work = move || {
        let admitted = admit_within(app.limits, "body", &body, &app.reading, &app.extensions);
        (admitted, held)
    };
    let (mut admitted, held) = call.work(WorkClass::Parse, work).await?;
    let pieces =
        admitted.manifests.iter_mut().filter_map(|m| Some((m.key.clone(), m.piece.take()?)));
    // Whoever resolves what this request stores need not read it again.
    let _ = call.prepared.set((call.app.live.prepared().hold(pieces), held));
    Ok(admitted)
}

/// Reads the body, and refuses what must not be stored.
pub async fn manifests(call: &Call) -> Result<Admitted, Problem> {
    let admitted = read(call).await?;
    if !admitted.refusals.is_empty() {
        return Err(refused(&admitted));
    }
    if admitted.manifests.is_empty() {
        return Err(Problem::bad("bad request: the body holds no resource; send YAML or JSON"));
    }
    Ok(admitted)
}

/// Says what is wrong with a body.
pub fn refused(admitted: &Admitted) -> Problem {
    let first = admitted.refusals.first();
    let detail = first.map_or_else(String::new, |d| d.message.to_string());
    let mut problem =
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "Resource is not valid", detail);
    for found in admitted.refusals.iter().take(changes::LISTED) {
        problem = problem.cause(found.field.to_string(), found.message.to_string());
    }
    problem.diagnostics = serde_json::to_value(&admitted.findings).ok();
    problem
}

/// Makes sure that everything may be written. What may not be read looks as if it could not exist.
pub fn allowed(call: &Call, keys: &[ResourceKey]) -> Result<(), Problem> {
    match keys.iter().find(|key| !may_write(&call.who.grants, key)) {
        None => Ok(()),
        Some(key) => {
            let detail = format!("you may not write {}", source_name(key));
            let place = call.place.clone();
            call.app.audit(place, author(call), "write", &source_name(key), "denied");
            Err(Problem::forbidden(detail))
        }
    }
}

/// Stores changes and waits until they are resolved, so that the writer reads what it wrote.
pub async fn commit(call: &Call, changes: Vec<Change>) -> Result<Committed, Problem> {
    let author = author(call);
    let write = move |store: &dyn Store, by| store.commit_before(by, &author, &changes);
    let committed = writing(call, write).await?;
    // It is stored, whatever happens now. A slow resolution does not change that.
    let left = call.deadline.answer().saturating_duration_since(clock::instant());
    let _ = call.app.live.wait(committed.revision, PATIENCE.min(left)).await;
    Ok(committed)
}

/// What was done, in a word.
pub fn word(done: ChangeKind) -> &'static str {
    match done {
        ChangeKind::Created => "created",
        ChangeKind::Changed => "changed",
        ChangeKind::Unchanged => "unchanged",
        ChangeKind::Deleted => "deleted",
    }
}

/// Stores changes, or tells what they would change.
pub async fn write(call: &Call, changes: Vec<Change>) -> Result<(WriteResult, bool), Problem> {
    let keys: Vec<ResourceKey> = changes.iter().map(key).cloned().collect();
    allowed(call, &keys)?;
    if call.query.is("dry-run") {
        return Ok((dry_run(call, changes).await?, false));
    }
    let committed = commit(call, changes).await?;
    let created = committed.written.iter().any(|w| w.done == ChangeKind::Created);
    let state = call.app.live.state();
    let (diagnostics, more_diagnostics) = findings(&call.who.grants, &state, &keys);
    let items = committed.written.iter().map(|w| WrittenItem {
        target: source_name(&w.key),
        done: word(w.done),
        version: w.version,
    });
    let result = WriteResult {
        api_version: API_VERSION,
        kind: "WriteResult",
        version: committed.revision,
        dry_run: false,
        items: items.collect(),
        diagnostics,
        more_diagnostics,
        changes: None,
    };
    Ok((result, created))
}

fn key(change: &Change) -> &ResourceKey {
    match change {
        Change::Put { key, .. } | Change::Delete { key, .. } => key,
    }
}

/// What is wrong with some resources, as far as the writer may read it; and how many more findings there are.
fn findings(
    grants: &Grants,
    state: &State,
    keys: &[ResourceKey],
) -> (Vec<v1::DiagnosticItem>, Option<usize>) {
    let names: BTreeSet<String> = keys.iter().map(source_name).collect();
    let (all, sources) = (&state.analysis.diagnostics, &state.analysis.documents.sources);
    // Looked up, so that a write does not go through everything that is wrong with everything else.
    let known: Option<Vec<SourceId>> = names.iter().map(|name| sources.only(name)).collect();
    let found = match known {
        Some(known) => known.into_iter().flat_map(|source| all.of_source(source)).collect(),
        None => {
            let about = |d: &&Diagnostic| {
                let at = d.primary.as_ref().and_then(|l| sources.get(l.span.source));
                at.is_some_and(|source| names.contains(source.name()))
            };
            all.iter().filter(about).collect()
        }
    };
    let (found, more) = changes::visible(state, &Reader(grants), found);
    (view::diagnostics(sources, &found).items, (more > 0).then_some(more))
}

/// What changes would lead to. Nothing is stored.
async fn dry_run(call: &Call, changes: Vec<Change>) -> Result<WriteResult, Problem> {
    let present = call.app.live.state();
    let mut items = Vec::new();
    for change in &changes {
        items.push(expected(&present, change)?);
    }
    let keys: Vec<ResourceKey> = changes.iter().map(key).cloned().collect();
    let edit = move |records: &mut crate::records::Records| {
        for change in changes {
            match change {
                Change::Put { key, text, form, .. } => {
                    let created = records.get(&key).map_or_else(clock::now, |r| r.created);
                    let record = Record {
                        key: key.clone(),
                        text,
                        form,
                        version: 0,
                        created,
                        modified: clock::now(),
                    };
                    records.insert(Arc::new(record));
                }
                Change::Delete { key, .. } => {
                    records.remove(&key);
                }
            }
        }
    };
    let (live, grants) = (Arc::clone(&call.app.live), call.who.grants.clone());
    // All of it in one turn: the state that it leads to is gone when that ends.
    let work = move || {
        let (before, after) = live.what_if(edit);
        let changes = changes::changes(&before, &after, &Reader(&grants));
        (before.revision, findings(&grants, &after, &keys), changes)
    };
    let (revision, (diagnostics, more_diagnostics), changes) =
        call.work(WorkClass::DryRun, work).await?;
    Ok(WriteResult {
        api_version: API_VERSION,
        kind: "WriteResult",
        version: revision,
        dry_run: true,
        items,
        diagnostics,
        more_diagnostics,
        changes: Some(changes),
    })
}

/// What would become of one change, judged by the present.
fn expected(state: &State, change: &Change) -> Result<WrittenItem, Problem> {
    let key = key(change);
    let there = state.records.get(key);
    let (expect, done) = match (change, there) {
        (Change::Put { expect, .. }, None) => (expect, ChangeKind::Created),
        (Change::Put { text, expect, .. }, Some(r)) if r.text == *text => {
            (expect, ChangeKind::Unchanged)
        }
        (Change::Put { expect, .. }, Some(_)) => (expect, ChangeKind::Changed),
        (Change::Delete { expect, .. }, Some(_)) => (expect, ChangeKind::Deleted),
        (Change::Delete { .. }, None) => {
            return Err(Problem::not_found(format!("`{}` does not exist", source_name(key))));
        }
    };
    let fits = match expect {
        Precondition::Any => true,
        Precondition::Absent => there.is_none(),
        Precondition::Version(version) => there.is_some_and(|r| r.version == *version),
    };
    if fits {
        Ok(WrittenItem {
            target: source_name(key),
            done: word(done),
            version: there.map_or(0, |r| r.version),
        })
    } else {
        Err(Problem::new(
            StatusCode::CONFLICT,
            "Conflict",
            format!("`{}` is not as you expect it; read it again", source_name(key)),
        ))
    }
}

/// The change that stores a manifest.
pub fn put(manifest: Manifest, expect: Precondition) -> Change {
    let Manifest { key, text, form, .. } = manifest;
    Change::Put { key, text, form, expect }
}

/// The answer to a write.
pub fn reply(call: &Call, (result, created): (WriteResult, bool)) -> Reply {
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let version = result.version;
    let reply = match call.query.text("output") {
        Some("table") => Reply::bytes(status, "text/plain; charset=utf-8", text(&result)),
        _ => Reply::json(status, &result),
    };
    reply.version(version)
}

/// The same for people.
fn text(result: &WriteResult) -> String {
    let mut out = String::new();
    for item in &result.items {
        let done =
            if result.dry_run { format!("would be {}", item.done) } else { item.done.to_owned() };
        out.push_str(&format!("{} {done}\n", view::escape::terminal(&item.target)));
    }
    for found in &result.diagnostics {
        let message = view::escape::terminal(&found.message);
        out.push_str(&format!("{}[{}]: {message}\n", found.severity, found.code));
    }
    if let Some(more) = result.more_diagnostics {
        out.push_str(&format!("{more} more findings; `overrule check` shows all\n"));
    }
    if let Some(changes) = &result.changes {
        out.push_str(&changes::text(changes));
    }
    out
}

/// The text of a record as data.
pub fn data(record: &Record, options: &Options) -> serde_json::Value {
    if record.form == TextFormat::Json
        && let Ok(value) = serde_json::from_str(&record.text)
    {
        return value;
    }
    let read = overrule::source::read_one("", &record.text, &options.reading());
    match read.documents.ids().next() {
        Some(doc) => read.documents.root(doc).to_json(),
        None => serde_json::Value::Null,
    }
}
