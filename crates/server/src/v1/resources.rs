// SPDX-License-Identifier: Apache-2.0
//! `/v1/resources`, `/v1/apply`, `/v1/delete`: resources of every family, by target name. Not here: paths of extensions.

use std::sync::Arc;

use http::StatusCode;
use overrule::model::TargetName;
use overrule_ask::percent::encode;
use overrule_store::{Change, Precondition, Record, ResourceKey, ResourceScope};

use super::write::{self, data, expectation, manifests, reply};
use super::{AS_OF, AT_LEAST, state};
use crate::admission::{key_of, source_name};
use crate::call::{Call, Reply};
use crate::live::State;
use crate::problem::Problem;
use crate::reader::may_read;
use crate::shapes::{API_VERSION, Stored, StoredItem, StoredList};
use crate::table::{BodySpec, Endpoint, EndpointAccess, Media, Param, ResponseSpec, Type, Verb};

const DRY_RUN: Param = Param::new("dry-run", Type::Bool, "store nothing; answer what would change");
const OUTPUT: Param =
    Param::new("output", Type::Word(&["json", "table"]), "form of the answer; json if absent");
const TEXT: Param = Param::new("output", Type::Word(&["json", "text"]), "`text`: only its text");
const SIZE: Param = Param::new("size", Type::Number(10_000), "most items; 1000 if absent");
const OFFSET: Param = Param::new("offset", Type::Number(u64::MAX >> 1), "items to pass over");

const WRITTEN: &[ResponseSpec] = &[
    ResponseSpec { status: 200, media: Media::Either("WriteResult"), about: "it is stored" },
    ResponseSpec {
        status: 201,
        media: Media::Either("WriteResult"),
        about: "it is stored and new",
    },
];
const ONE: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::Either("Stored"), about: "the resource" }];
const GONE: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::Either("WriteResult"), about: "it is deleted" }];
const READ_ERRORS: &[u16] = &[404, 410, 412];
const WRITE_ERRORS: &[u16] = &[403, 404, 409, 415, 422];

macro_rules! one {
    ($get:literal, $put:literal, $delete:literal, $path:literal) => {
        [
            Endpoint {
                id: $get,
                method: Verb::Get,
                path: $path,
                about: "A stored resource.",
                access: EndpointAccess::Known,
                query: &[TEXT, AT_LEAST, AS_OF],
                body: BodySpec::None,
                answers: ONE,
                errors: READ_ERRORS,
                run: |call| Box::pin(get(call)),
            },
            Endpoint {
                id: $put,
                method: Verb::Put,
                path: $path,
                about: "Stores a resource. `If-Match` with its version, or `If-None-Match: *`, guards against others.",
                access: EndpointAccess::Writes,
                query: &[DRY_RUN, OUTPUT],
                body: BodySpec::Manifests,
                answers: WRITTEN,
                errors: WRITE_ERRORS,
                run: |call| Box::pin(put(call)),
            },
            Endpoint {
                id: $delete,
                method: Verb::Delete,
                path: $path,
                about: "Deletes a resource.",
                access: EndpointAccess::Known,
                query: &[DRY_RUN, OUTPUT],
                body: BodySpec::None,
                answers: GONE,
                errors: WRITE_ERRORS,
                run: |call| Box::pin(delete(call)),
            },
        ]
    };
}

/// Of a namespace or mesh.
pub const PLACED: [Endpoint; 3] =
    one!("getResource", "putResource", "deleteResource", "/v1/resources/{kind}/{place}/{name}");
/// Of the whole cluster.
pub const CLUSTER: [Endpoint; 3] = one!(
    "getClusterResource",
    "putClusterResource",
    "deleteClusterResource",
    "/v1/resources/{kind}/{name}"
);
/// Many at once.
pub const MANY: [Endpoint; 3] = [
    Endpoint {
        id: "listResources",
        method: Verb::Get,
        path: "/v1/resources",
        about: "Stored resources, by kind, place and name.",
        access: EndpointAccess::Known,
        query: &[
            Param::new("kind", Type::Text, "only this kind"),
            Param::new("namespace", Type::Text, "only this namespace"),
            Param::new("mesh", Type::Text, "only this mesh"),
            SIZE,
            OFFSET,
            AT_LEAST,
            AS_OF,
        ],
        body: BodySpec::None,
        answers: &[ResponseSpec { status: 200, media: Media::Json("StoredList"), about: "a page" }],
        errors: &[410, 412],
        run: |call| Box::pin(list(call)),
    },
    Endpoint {
        id: "apply",
        method: Verb::Post,
        path: "/v1/apply",
        about: "Stores any number of resources: all of them, or none.",
        access: EndpointAccess::Writes,
        query: &[DRY_RUN, OUTPUT],
        body: BodySpec::Manifests,
        answers: WRITTEN,
        errors: &[403, 409, 415, 422],
        run: |call| Box::pin(apply(call)),
    },
    Endpoint {
        id: "deleteAll",
        method: Verb::Post,
        path: "/v1/delete",
        about: "Deletes the resources that these manifests name: all of them, or none.",
        access: EndpointAccess::Writes,
        query: &[DRY_RUN, OUTPUT],
        body: BodySpec::Manifests,
        answers: GONE,
        errors: &[403, 404, 409, 415, 422],
        run: |call| Box::pin(delete_all(call)),
    },
];

/// The target name in the path of a call.
fn name(call: &Call) -> String {
    match call.part("place") {
        "" => format!("{}/{}", call.part("kind"), call.part("name")),
        place => format!("{}/{place}/{}", call.part("kind"), call.part("name")),
    }
}

/// The resource that a call is about, if it is there and may be read.
fn find(call: &Call, state: &State) -> Result<Arc<Record>, Problem> {
    let text = name(call);
    let missing = || Problem::not_found(format!("`{text}` does not exist"));
    let target: TargetName =
        text.parse().map_err(|_why: overrule::model::TargetNameError| missing())?;
    if target.section.is_some() {
        return Err(missing());
    }
    let snapshot = &state.analysis.snapshot;
    let found = [snapshot.resolve(&target), snapshot.resolve_deleted(&target)];
    let keys = found.into_iter().flatten().map(|object| key_of(&state.analysis.snapshot, object));
    let mut keys = keys.filter(|key| may_read(&call.who.grants, key));
    let (Some(key), None) = (keys.next(), keys.next()) else { return Err(missing()) };
    state.records.get(&key).cloned().ok_or_else(missing)
}

/// What a list tells of a resource.
pub fn item(record: &Record) -> StoredItem {
    let Record { key, version, created, modified, .. } = record;
    let (namespace, mesh) = match &key.place {
        ResourceScope::Cluster => (None, None),
        ResourceScope::Namespace(name) => (Some(name.clone()), None),
        ResourceScope::Mesh(name) => (None, Some(name.clone())),
    };
    StoredItem {
        target: source_name(key),
        group: key.group.clone(),
        kind: key.kind.clone(),
        namespace,
        mesh,
        name: key.name.clone(),
        version: *version,
        created: created.to_string(),
        modified: modified.to_string(),
    }
}

async fn get(call: Call) -> Result<Reply, Problem> {
    let state = state(&call).await?;
    call.answer(move |call| got(call, &state)).await
}

fn got(call: &Call, state: &State) -> Result<Reply, Problem> {
    let record = find(call, state)?;
    let etag = format!("\"{}\"", record.version);
    let reply = match call.query.text("output") {
        Some("text") => {
            Reply::bytes(StatusCode::OK, "text/plain; charset=utf-8", record.text.clone())
        }
        _ => Reply::fine(&Stored {
            api_version: API_VERSION,
            kind: "Stored",
            item: item(&record),
            text: record.text.clone(),
            manifest: data(&record, &call.app.reading),
        }),
    };
    Ok(reply.with("etag", etag).version(state.revision))
}

async fn put(call: Call) -> Result<Reply, Problem> {
    let expect = expectation(&call.headers)?;
    let admitted = manifests(&call).await?;
    let mut all = admitted.manifests.into_iter();
    let (Some(manifest), None) = (all.next(), all.next()) else {
        let detail = "bad request: the body holds several resources; POST them to /v1/apply";
        return Err(Problem::bad(detail));
    };
    if !is_named(&call, &manifest.key) {
        let detail = format!(
            "bad request: the path is for {}, the body is {}",
            name(&call),
            source_name(&manifest.key)
        );
        return Err(Problem::bad(detail));
    }
    Ok(reply(&call, write::write(&call, vec![write::put(manifest, expect)]).await?))
}

/// Whether the path of a call names this resource.
fn is_named(call: &Call, key: &ResourceKey) -> bool {
    let kind = call.part("kind").to_lowercase();
    let (kind, group) = match kind.split_once('.') {
        Some((kind, group)) => (kind.to_owned(), Some(group.to_owned())),
        None => (kind, None),
    };
    let own = key.kind.to_lowercase();
    let kinds = [own.clone(), format!("{own}s"), format!("{own}es")];
    let place = match &key.place {
        ResourceScope::Cluster => "",
        ResourceScope::Namespace(name) | ResourceScope::Mesh(name) => name,
    };
    kinds.contains(&kind)
        && group.is_none_or(|g| g == key.group)
        && call.part("place") == place
        && call.part("name") == key.name
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    let expect = expectation(&call.headers)?;
    let record = find(&call, &call.app.live.state())?;
    let change = Change::Delete { key: record.key.clone(), expect };
    Ok(reply(&call, write::write(&call, vec![change]).await?))
}

async fn apply(call: Call) -> Result<Reply, Problem> {
    let admitted = manifests(&call).await?;
    let changes =
        admitted.manifests.into_iter().map(|m| write::put(m, Precondition::Any)).collect();
    Ok(reply(&call, write::write(&call, changes).await?))
}

async fn delete_all(call: Call) -> Result<Reply, Problem> {
    let admitted = manifests(&call).await?;
    let delete = |key| Change::Delete { key, expect: Precondition::Any };
    let changes = admitted.manifests.into_iter().map(|m| delete(m.key)).collect();
    Ok(reply(&call, write::write(&call, changes).await?))
}

async fn list(call: Call) -> Result<Reply, Problem> {
    let state = state(&call).await?;
    call.answer(move |call| Ok(listed(call, &state))).await
}

fn listed(call: &Call, state: &State) -> Reply {
    let (kind, namespace, mesh) =
        (call.query.text("kind"), call.query.text("namespace"), call.query.text("mesh"));
    let kinds = kind.map(|word| {
        let snapshot = &state.analysis.snapshot;
        let (word, group) = match word.split_once('.') {
            Some((word, group)) => (word, Some(group)),
            None => (word, None),
        };
        let called = snapshot.kinds_called(word, group).into_iter();
        let text = |sym| snapshot.text(sym).to_owned();
        called.map(|k| (text(k.group), text(k.kind))).collect::<Vec<_>>()
    });
    let wanted = |record: &&Arc<Record>| {
        let key = &record.key;
        may_read(&call.who.grants, key)
            && kinds.as_ref().is_none_or(|all| {
                all.iter().any(|(group, kind)| *group == key.group && *kind == key.kind)
            })
            && namespace
                .is_none_or(|n| matches!(&key.place, ResourceScope::Namespace(own) if own == n))
            && mesh.is_none_or(|n| matches!(&key.place, ResourceScope::Mesh(own) if own == n))
    };
    let (size, offset) = (call.query.count("size", 1000), call.query.count("offset", 0));
    let all: Vec<&Arc<Record>> = state.records.values().filter(wanted).collect();
    let end = offset.saturating_add(size);
    let next = (end < all.len() && size > 0).then(|| {
        let rest = [("kind", kind), ("namespace", namespace), ("mesh", mesh)];
        let rest =
            rest.iter().filter_map(|(name, value)| Some(format!("&{name}={}", encode((*value)?))));
        format!("{}/v1/resources?size={size}&offset={end}{}", call.base, rest.collect::<String>())
    });
    let items = all.iter().skip(offset).take(size).map(|record| item(record)).collect();
    let list = StoredList {
        api_version: API_VERSION,
        kind: "StoredList",
        version: state.revision,
        total: all.len(),
        items,
        next,
    };
    Reply::fine(&list).version(state.revision)
}
