// SPDX-License-Identifier: Apache-2.0
//! Kuma's Inspect API: takes a request to the state of the moment. Not here: the answers (`overrule_mesh`).

use http::StatusCode;
use overrule::model::ObjectId;
use overrule_mesh::inspect::{self as shapes, InspectQuestion, Times, route};
use overrule_mesh::kri::Kri;
use overrule_server::extension::{
    Call, Endpoint, Media, Param, PendingReply, Problem, Reply, ResponseSpec, State, Type, key_of,
    may_read,
};

use crate::lookups::Lookups;
use crate::{flavour, mesh_key, not_found};

const ANSWER: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::Json("KumaAnswer"), about: "the answer" }];
const PAGE: &[ResponseSpec] =
    &[ResponseSpec { status: 200, media: Media::Json("KumaList"), about: "a page" }];

const PAGING: &[Param] = &[
    Param::new("name", Type::Any, "only names that contain this"),
    Param::new("size", Type::Like("^[0-9]*$"), "most items; 100 if absent, 1000 at most"),
    Param::new("offset", Type::Like("^[0-9]*$"), "items to pass over"),
];

const fn inspect(
    id: &'static str,
    path: &'static str,
    about: &'static str,
    query: &'static [Param],
    answers: &'static [ResponseSpec],
) -> Endpoint {
    Endpoint { query, answers, errors: &[404, 500], ..Endpoint::reading(id, path, about, run) }
}

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    inspect(
        "kumaRules",
        "/meshes/{mesh}/{collection}/{name}/_rules",
        "Every rule that a dataplane or a MeshGateway gets.",
        &[],
        ANSWER,
    ),
    inspect(
        "kumaPolicies",
        "/meshes/{mesh}/dataplanes/{name}/_policies",
        "What policies say of the whole proxy.",
        &[],
        ANSWER,
    ),
    inspect(
        "kumaInboundPolicies",
        "/meshes/{mesh}/dataplanes/{name}/_inbounds/{kri}/_policies",
        "Rules for inbound traffic, each with its origin.",
        &[],
        ANSWER,
    ),
    inspect(
        "kumaOutboundPolicies",
        "/meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_policies",
        "What policies say of a destination.",
        &[],
        ANSWER,
    ),
    inspect(
        "kumaRoutes",
        "/meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_routes",
        "Routes to a destination.",
        &[],
        ANSWER,
    ),
    inspect(
        "kumaRoutePolicies",
        "/meshes/{mesh}/dataplanes/{name}/_outbounds/{kri}/_routes/{route}/_policies",
        "What policies say of one route to a destination.",
        &[],
        ANSWER,
    ),
    inspect(
        "kumaLayout",
        "/meshes/{mesh}/dataplanes/{name}/_layout",
        "What a proxy listens on and where it sends.",
        &[],
        ANSWER,
    ),
    inspect(
        "kumaConfig",
        "/meshes/{mesh}/dataplanes/{name}/_config",
        "Parameters are checked; the configuration itself is not generated here.",
        &[
            Param::new("shadow", Type::Like("^(true|false)?$"), "with shadow policies"),
            Param::new("include", Type::Like("^(diff)?$"), "what else"),
        ],
        ANSWER,
    ),
    inspect(
        "kumaPolicyDataplanes",
        "/meshes/{mesh}/{collection}/{name}/_resources/dataplanes",
        "The dataplanes that a policy selects.",
        PAGING,
        PAGE,
    ),
    inspect(
        "kumaServiceDataplanes",
        "/meshes/{mesh}/{collection}/{name}/_dataplanes",
        "The dataplanes behind a service.",
        PAGING,
        PAGE,
    ),
    inspect(
        "kumaHostnames",
        "/meshes/{mesh}/{collection}/{name}/_hostnames",
        "The hostnames of a service.",
        &[],
        PAGE,
    ),
    inspect(
        "kumaByKri",
        "/_kri/{kri}",
        "A resource by its identity.",
        &[Param::new("format", Type::Like("^(universal|k8s|kubernetes)?$"), "how it is written")],
        &[ResponseSpec { status: 200, media: Media::Json("KumaEither"), about: "the resource" }],
    ),
    inspect("kumaKinds", "/_resources", "Every kind of resource.", &[], ANSWER),
    inspect("kumaPolicyKinds", "/policies", "Every kind of policy.", &[], ANSWER),
];

fn run(call: Call) -> PendingReply {
    Box::pin(answer(call))
}

/// Looks an answer up. It takes microseconds, so it is done where the request is; only preparing the lookups of a state
/// is not.
async fn answer(call: Call) -> Result<Reply, Problem> {
    let (path, query) = call.uri.split_once('?').unwrap_or((&call.uri, ""));
    let ask = route(path, query).ok_or_else(|| not_found("Not Found"))?;
    let state = call.app.live.state();
    visible(&call, &ask)?;
    let flavour = flavour(call.app.extensions.on());
    let make = move |state: &State| Lookups::new(&state.analysis, flavour);
    let lookups = state.derived(&call, make).await?;
    let times = |object: ObjectId| times(&state, object);
    let base = shapes::InspectCall { base: &call.base, times: &times };
    let answer = lookups.answer(&state.analysis, base, &ask);
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reply = Reply::bytes(status, "application/json", answer.body.into_bytes());
    Ok(reply.version(state.revision))
}

/// Who may not read everything is answered within meshes it may read whole; another mesh looks as if it were not there.
fn visible(call: &Call, ask: &InspectQuestion<'_>) -> Result<(), Problem> {
    let grants = &call.who.grants;
    let (mesh, title) = match ask {
        InspectQuestion::Kinds | InspectQuestion::PolicyKinds => return Ok(()),
        InspectQuestion::Kri { kri, .. } => match Kri::parse(kri) {
            Ok(kri) => (kri.mesh.to_string(), "Could not retrieve a resource"),
            Err(_) => return Ok(()),
        },
        InspectQuestion::Proxy { mesh, .. }
        | InspectQuestion::GatewayRules { mesh, .. }
        | InspectQuestion::Dataplanes { mesh, .. }
        | InspectQuestion::Hostnames { mesh, .. } => (mesh.to_string(), "Failed to retrieve Mesh"),
    };
    // Resources of no mesh are for those who read everything.
    let in_mesh = || !mesh.is_empty() && may_read(grants, &mesh_key(&mesh));
    if grants.reads_all() || in_mesh() { Ok(()) } else { Err(not_found(title)) }
}

fn times(state: &State, object: ObjectId) -> Times {
    let snapshot = &state.analysis.snapshot;
    let record = snapshot.get(object).and_then(|o| state.records.get(&key_of(snapshot, o)));
    record.map_or_else(Times::default, |record| Times {
        created: record.created.to_string(),
        modified: record.modified.to_string(),
    })
}
