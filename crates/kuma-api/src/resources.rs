// SPDX-License-Identifier: Apache-2.0
//! `/meshes/{mesh}/{kind}/{name}` and its relatives: Kuma's resource API over the store. Not here: what is in force
//! (`inspect`), what a resource looks like in JSON (`overrule_mesh::inspect`).

use std::sync::Arc;

use http::StatusCode;
use overrule::source::{Documents, NodeRef};
use overrule_ask::percent::encode;
use overrule_mesh::inspect::{self as shapes, Times};
use overrule_mesh::kinds::{KindScope, ResourceKind};
use overrule_mesh::{FAMILY, GROUP, Profile, Settings};
use overrule_server::extension::write::{self, expectation};
use overrule_server::extension::{
    AT_LEAST, BodySpec, Call, Cause, Endpoint, Manifest, Media, Param, PendingReply, Problem,
    Reply, ResponseSpec, State, Type, Verb, blocking, may_read, state,
};
use overrule_store::{Change, Precondition, Record, ResourceKey, ResourceScope};
use serde_json::{Value, json};

use crate::{mesh_key, not_found};

const SIZE: Param = Param::new("size", Type::Number(1000), "most items; 100 if absent");
const OFFSET: Param = Param::new("offset", Type::Number(u64::MAX >> 1), "items to pass over");
const NAME: Param = Param::new("name", Type::Text, "only names that contain this");

const READ: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::Json("KumaResource"), about: "the resource" }];
const PAGE: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::Json("KumaList"), about: "a page" }];
const WRITTEN: &[ResponseSpec] = &[
    ResponseSpec { status: 200, media: Media::Json("KumaWritten"), about: "it is stored" },
    ResponseSpec { status: 201, media: Media::Json("KumaWritten"), about: "it is stored and new" },
];
const DELETED: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::None, about: "it is deleted" }];

const fn reading(
    id: &'static str,
    path: &'static str,
    query: &'static [Param],
    answers: &'static [ResponseSpec],
    run: fn(Call) -> PendingReply,
) -> Endpoint {
    let about = "Resources of meshes, as Kuma's API has them.";
    Endpoint { query, answers, errors: &[404, 412], ..Endpoint::reading(id, path, about, run) }
}

const fn writing(
    id: &'static str,
    method: Verb,
    path: &'static str,
    run: fn(Call) -> PendingReply,
) -> Endpoint {
    let put = matches!(method, Verb::Put);
    let about = "Writes a resource of a mesh, as Kuma's API does.";
    Endpoint {
        method,
        body: if put { BodySpec::Manifests } else { BodySpec::None },
        answers: if put { WRITTEN } else { DELETED },
        errors: &[403, 404, 409, 415],
        ..Endpoint::reading(id, path, about, run)
    }
}

const ONE: &str = "/meshes/{mesh}/{collection}/{name}";
const MESH: &str = "/meshes/{mesh}";
const GLOBAL: &str = "/{collection}/{name}";

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    reading("kumaListMeshes", "/meshes", &[SIZE, OFFSET, NAME, AT_LEAST], PAGE, |c| {
        Box::pin(list(c))
    }),
    reading("kumaGetMesh", MESH, &[AT_LEAST], READ, |c| Box::pin(get(c))),
    writing("kumaPutMesh", Verb::Put, MESH, |c| Box::pin(put(c))),
    writing("kumaDeleteMesh", Verb::Delete, MESH, |c| Box::pin(delete(c))),
    reading(
        "kumaList",
        "/meshes/{mesh}/{collection}",
        &[SIZE, OFFSET, NAME, AT_LEAST],
        PAGE,
        |c| Box::pin(list(c)),
    ),
    reading("kumaGet", ONE, &[AT_LEAST], READ, |c| Box::pin(get(c))),
    writing("kumaPut", Verb::Put, ONE, |c| Box::pin(put(c))),
    writing("kumaDelete", Verb::Delete, ONE, |c| Box::pin(delete(c))),
    reading("kumaListGlobal", "/{collection}", &[SIZE, OFFSET, NAME, AT_LEAST], PAGE, |c| {
        Box::pin(list(c))
    }),
    reading("kumaGetGlobal", GLOBAL, &[AT_LEAST], READ, |c| Box::pin(get(c))),
    writing("kumaPutGlobal", Verb::Put, GLOBAL, |c| Box::pin(put(c))),
    writing("kumaDeleteGlobal", Verb::Delete, GLOBAL, |c| Box::pin(delete(c))),
];

/// What a path is about.
struct Named {
    kind: &'static str,
    mesh: Option<String>,
    name: String,
}

impl Named {
    fn key(&self) -> ResourceKey {
        ResourceKey {
            group: GROUP.to_owned(),
            kind: self.kind.to_owned(),
            place: self.mesh.clone().map_or(ResourceScope::Cluster, ResourceScope::Mesh),
            name: self.name.clone(),
        }
    }
}

/// The kind that a path names: of a mesh, or of none.
fn collection(call: &Call) -> Result<(&'static str, bool), Problem> {
    let path = match call.part("collection") {
        "" => "meshes",
        path => path,
    };
    let kind = ResourceKind::by_path(path).ok_or_else(|| not_found("Not Found"))?;
    Ok((kind.name, kind.scope == KindScope::Global))
}

fn named(call: &Call) -> Result<Named, Problem> {
    let (kind, global) = collection(call)?;
    let mesh = call.part("mesh").to_owned();
    if call.part("collection").is_empty() {
        return Ok(Named { kind, mesh: None, name: mesh });
    }
    if global != mesh.is_empty() {
        return Err(not_found("Not Found"));
    }
    let mesh = (!global).then_some(mesh);
    Ok(Named { kind, mesh, name: call.part("name").to_owned() })
}

/// A resource in the shape of the API.
fn shown(call: &Call, state: &State, record: &Record) -> Value {
    let times =
        Times { created: record.created.to_string(), modified: record.modified.to_string() };
    let kuma = &state.analysis.meshes().resources;
    let object = record_object(state, record);
    let known = object.and_then(|o| Some((kuma.metas.get(&o)?, *kuma.roots.get(&o)?)));
    match known {
        Some((meta, root)) => shapes::stored(&state.analysis.documents, meta, root, &times),
        // Stored, but not read as one of Kuma's: shown as it is.
        None => write::data(record, &call.app.reading),
    }
}

fn record_object(state: &State, record: &Record) -> Option<overrule::model::ObjectId> {
    let snapshot = &state.analysis.snapshot;
    let names = snapshot.names();
    let scope = match &record.key.place {
        ResourceScope::Cluster => overrule::model::Scope::Cluster,
        ResourceScope::Namespace(name) => overrule::model::Scope::Namespace(names.lookup(name)?),
        ResourceScope::Mesh(name) => overrule::model::Scope::Mesh(names.lookup(name)?),
    };
    let kind = overrule::model::GroupKind {
        group: names.lookup(&record.key.group)?,
        kind: names.lookup(&record.key.kind)?,
    };
    let key = overrule::model::ObjectKey { kind, scope, name: names.lookup(&record.key.name)? };
    snapshot.find(key).map(|object| object.id)
}

async fn get(call: Call) -> Result<Reply, Problem> {
    let state = state(&call).await?;
    call.answer(move |call| got(call, &state)).await
}

fn got(call: &Call, state: &State) -> Result<Reply, Problem> {
    let key = named(call)?.key();
    let missing = || not_found("Could not retrieve a resource");
    let record = state.records.get(&key).filter(|_| may_read(&call.who.grants, &key));
    let record = record.ok_or_else(missing)?;
    let reply = Reply::fine(&shown(call, state, record));
    Ok(reply.with("etag", format!("\"{}\"", record.version)).version(state.revision))
}

async fn list(call: Call) -> Result<Reply, Problem> {
    let state = state(&call).await?;
    call.answer(move |call| listed(call, &state)).await
}

fn listed(call: &Call, state: &State) -> Result<Reply, Problem> {
    let (kind, _) = collection(call)?;
    let mesh = call.part("mesh");
    if !mesh.is_empty() {
        let known = mesh_key(mesh);
        if !state.records.contains_key(&known) || !may_read(&call.who.grants, &known) {
            return Err(not_found("Could not retrieve resources"));
        }
    }
    let wanted = |record: &&Arc<Record>| {
        let key = &record.key;
        key.group == GROUP
            && key.kind == kind
            && (mesh.is_empty() || matches!(&key.place, ResourceScope::Mesh(own) if own == mesh))
            && call.query.text("name").is_none_or(|part| key.name.contains(part))
            && may_read(&call.who.grants, key)
    };
    let all: Vec<&Arc<Record>> = state.records.values().filter(wanted).collect();
    let (size, offset) = (call.query.count("size", 100), call.query.count("offset", 0));
    let end = offset.saturating_add(size);
    let items: Vec<Value> =
        all.iter().skip(offset).take(size).map(|record| shown(call, state, record)).collect();
    let path = call.uri.split('?').next().unwrap_or_default();
    let name = call.query.text("name").map_or_else(String::new, |n| format!("&name={}", encode(n)));
    let next = (end < all.len() && size > 0)
        .then(|| format!("{}{path}?offset={end}&size={size}{name}", call.base));
    let body = json!({"total": all.len(), "items": items, "next": next});
    Ok(Reply::fine(&body).version(state.revision))
}

/// A refusal in the words of the API.
fn invalid(problem: Problem) -> Problem {
    Problem {
        status: StatusCode::BAD_REQUEST,
        title: "Could not process a resource".to_owned(),
        detail: "Resource is not valid".to_owned(),
        ..problem
    }
}

fn violation(field: &str, message: &str) -> Problem {
    invalid(Problem::bad("")).cause(field, message)
}

/// The one resource of the body, checked against the path.
async fn manifest(call: &Call, named: &Named) -> Result<Manifest, Problem> {
    let admitted = write::read(call).await?;
    let [manifest] = admitted.manifests.as_slice() else {
        return Err(if admitted.refusals.is_empty() {
            Problem::bad("bad request: the body must be one resource")
        } else {
            Problem::bad(admitted.refusals.first().map_or("", |d| &d.message))
        });
    };
    let key = &manifest.key;
    let mut wrong = invalid(Problem::bad(""));
    let mut say = |field: &str| {
        let message = format!("{field} from the URL has to be the same as in body");
        wrong.causes.push(Cause { field: field.to_owned(), message });
    };
    if key.name != named.name {
        say("name");
    }
    if key.kind != named.kind || key.group != GROUP {
        say("type");
    }
    if let Some(mesh) = &named.mesh
        && key.place != ResourceScope::Mesh(mesh.clone())
    {
        say("mesh");
    }
    if !wrong.causes.is_empty() {
        return Err(wrong);
    }
    let violations = violations(call, &admitted.documents);
    if !violations.is_empty() {
        let problem = invalid(Problem::bad(""));
        return Err(violations.into_iter().fold(problem, |p, v| p.cause(v.field, v.message)));
    }
    if !admitted.refusals.is_empty() {
        return Err(invalid(write::refused(&admitted)));
    }
    Ok(manifest.clone())
}

/// What that release refuses a body for, in its order and its words.
fn violations(call: &Call, documents: &Documents) -> Vec<shapes::RefusedField> {
    let options = &call.app.reading;
    let Some(doc) = documents.ids().next() else { return Vec::new() };
    let root = NodeRef { doc, node: documents.root(doc).id() };
    let profile = options.profiles.get(FAMILY).map_or("", String::as_str);
    let settings: Settings = options.settings.read(FAMILY, Settings::set);
    let profile = Profile::from_name(profile, &settings);
    overrule_mesh::admission::violations(documents, root, &settings, &profile)
}

async fn put(call: Call) -> Result<Reply, Problem> {
    let named = named(&call)?;
    let expect = expectation(&call.headers)?;
    let key = named.key();
    write::allowed(&call, std::slice::from_ref(&key))?;
    let manifest = manifest(&call, &named).await?;
    let state = call.app.live.state();
    if let Some(mesh) = &named.mesh {
        let mesh = mesh_key(mesh);
        // Another server may have made it a moment ago.
        let store = Arc::clone(&call.app.store);
        let there = state.records.contains_key(&mesh)
            || blocking(move || store.get(&mesh, None)).await?.is_some();
        if !there {
            return Err(violation("mesh", "Mesh is not found"));
        }
    }
    let committed = write::commit(&call, vec![write::put(manifest, expect)]).await?;
    let created = committed.written.iter().any(|w| w.done == overrule_store::ChangeKind::Created);
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Reply::json(status, &json!({})).version(committed.revision))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    let named = named(&call)?;
    let expect = expectation(&call.headers)?;
    let key = named.key();
    let state = call.app.live.state();
    let missing = || not_found("Could not delete a resource");
    if !state.records.contains_key(&key) || !may_read(&call.who.grants, &key) {
        return Err(missing());
    }
    write::allowed(&call, std::slice::from_ref(&key))?;
    let mut changes = vec![Change::Delete { key, expect }];
    if named.kind == "Mesh" {
        let inside = |place: &ResourceScope| matches!(place, ResourceScope::Mesh(mesh) if *mesh == named.name);
        let of_mesh = state.records.keys().filter(|key| inside(&key.place));
        for key in of_mesh {
            if key.kind == "Dataplane" {
                let message = "unable to delete mesh, there are still some dataplanes attached";
                return Err(violation("mesh", message));
            }
            // What belongs to a mesh goes with it.
            changes.push(Change::Delete { key: key.clone(), expect: Precondition::Any });
        }
    }
    let committed = write::commit(&call, changes).await?;
    Ok(Reply::empty(StatusCode::OK).version(committed.revision))
}
