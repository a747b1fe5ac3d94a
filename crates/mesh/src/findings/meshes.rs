// SPDX-License-Identifier: Apache-2.0
//! In: the meshes of the input. Out: those that are not there, those that are assumed, and what a control plane
//! creates with a mesh and no file has; policies of the old generation. Not here: what policies of a mesh do.

use std::collections::BTreeMap;

use overrule_model::{GroupKind, ObjectId, ObjectKey, Scope};
use overrule_source::{Diagnostic, View};

use super::{World, count, some_of};
use crate::codes;
use crate::kinds::{self, KindScope, ResourceKind};
use crate::labels;
use crate::resources::{GROUP, MeshResources};

/// The policies a control plane creates with a mesh: type, and name before the name of the mesh.
const DEFAULTS: [(ResourceKind, &str); 4] = [
    (kinds::TIMEOUT, "mesh-timeout-all"),
    (kinds::TIMEOUT, "mesh-gateways-timeout-all"),
    (kinds::CIRCUIT_BREAKER, "mesh-circuit-breaker-all"),
    (kinds::RETRY, "mesh-retry-all"),
];

pub(super) fn report(world: &World<'_>, out: &mut Vec<Diagnostic>) {
    let members = members(world);
    let meshes = &world.resources.meshes;
    let there = meshes.iter().filter(|m| m.object.is_some());
    let there: Vec<String> = there.map(|m| m.name.to_string()).collect();
    for mesh in meshes {
        match mesh.object {
            Some(object) => out.extend(defaults(world, mesh, object)),
            None => out.extend(members.get(&*mesh.name).map(|(first, number)| {
                // A mesh that is being deleted is known not to be there.
                if there.is_empty() && deleted(world, &mesh.name).is_none() {
                    assumed(world, &mesh.name, *first)
                } else {
                    unknown(world, &mesh.name, *first, *number, &there)
                }
            })),
        }
    }
    legacy(world, out);
}

/// Who belongs to each mesh: the first, and how many.
fn members<'a>(world: &World<'a>) -> BTreeMap<&'a str, (ObjectId, usize)> {
    let mut members: BTreeMap<&str, (ObjectId, usize)> = BTreeMap::new();
    for (object, meta) in &world.resources.metas {
        let global = meta.kind.known().is_some_and(|k| k.scope == KindScope::Global);
        if !global {
            members.entry(&meta.mesh).or_insert((*object, 0)).1 += 1;
        }
    }
    members
}

fn assumed(world: &World<'_>, mesh: &str, first: ObjectId) -> Diagnostic {
    let message = format!(
        "Mesh `{mesh}` not found in the input; it is assumed to exist, without any settings"
    );
    let d = Diagnostic::new(&codes::ASSUMED_MESH, message);
    world
        .at_object(d, first)
        .help(format!("add it: kumactl get mesh {mesh} -o yaml; it says whether mTLS is enabled"))
}

fn unknown(
    world: &World<'_>,
    mesh: &str,
    first: ObjectId,
    number: usize,
    there: &[String],
) -> Diagnostic {
    let who = count(number, "resource belongs", "resources belong");
    let place = world.document(first).and_then(named);
    let because = match place {
        Some(_) => format!("{who} to mesh `{mesh}`, which is not in the input"),
        None => format!("{who} to mesh `{mesh}`, because no mesh is named; it is not in the input"),
    };
    let near = world.budget.nearest(mesh, there.len(), there.iter().map(String::as_str));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the input has {}; name one of them, or add the Mesh", some_of(there)),
    };
    let d = Diagnostic::new(&codes::UNKNOWN_MESH, because).help(help);
    let d = match place {
        Some((view, field)) => d.at(view.span()).field(field),
        None => world.at_object(d, first),
    };
    deleted(world, mesh).map_or(d.clone(), |key| world.snapshot.with_deletion(d, key))
}

/// The Mesh of a name, if it is being deleted.
fn deleted(world: &World<'_>, mesh: &str) -> Option<ObjectKey> {
    let name = |text| world.snapshot.names().lookup(text);
    let kind = GroupKind { group: name(GROUP)?, kind: name(kinds::MESH.name)? };
    let key = ObjectKey { kind, scope: Scope::Cluster, name: name(mesh)? };
    world.snapshot.find_deleted(key).map(|_| key)
}

/// Where a document names its mesh.
fn named(root: View<'_>) -> Option<(View<'_>, &'static str)> {
    if root.get("type").is_some() {
        return root.get("mesh").map(|mesh| (mesh, "mesh"));
    }
    let labels = root.get("metadata")?.get("labels")?;
    labels.get(labels::MESH).map(|mesh| (mesh, "metadata.labels"))
}

fn defaults(world: &World<'_>, mesh: &MeshResources, object: ObjectId) -> Option<Diagnostic> {
    let root = world.document(object)?;
    let spec = root.get("spec").unwrap_or(root);
    let skipped = spec.get("skipCreatingInitialPolicies").into_iter().flat_map(View::items);
    let skipped: Vec<&str> = skipped.filter_map(View::as_str).collect();
    if skipped.contains(&"*") {
        return None;
    }
    let full = |name: &str| format!("{name}-{}", mesh.name);
    let names: Vec<String> = DEFAULTS
        .iter()
        .filter(|(kind, _)| !skipped.contains(&kind.name))
        .map(|(_, name)| format!("`{}`", full(name)))
        .collect();
    let is_default = |p: &crate::policy::Policy| {
        DEFAULTS.iter().any(|(kind, n)| p.kind == kind && p.meta.display_name() == full(n))
    };
    if names.is_empty() || mesh.policies.iter().any(is_default) {
        return None;
    }
    let message = format!(
        "the control plane creates default policies for mesh `{}` that are not in the input: {}; answers do not contain them",
        mesh.name,
        names.join(", ")
    );
    let d = Diagnostic::new(&codes::DEFAULT_POLICIES, message);
    Some(world.at_object(d, object).help(format!(
        "add them: kumactl get meshtimeouts --mesh {0} -o yaml, meshcircuitbreakers and meshretries too; or set `skipCreatingInitialPolicies: [\"*\"]` on the Mesh",
        mesh.name
    )))
}

/// Each kind of the old generation once.
fn legacy(world: &World<'_>, out: &mut Vec<Diagnostic>) {
    let mut kinds: BTreeMap<(&str, &str), (ObjectId, usize)> = BTreeMap::new();
    for (object, meta) in &world.resources.metas {
        let kind = meta.kind.known();
        if let Some((kind, successor)) = kind.and_then(|k| Some((k.name, k.successor?))) {
            kinds.entry((kind, successor)).or_insert((*object, 0)).1 += 1;
        }
    }
    for ((kind, successor), (first, number)) in kinds {
        let who = count(number, &format!("{kind} is"), &format!("{kind}s are"));
        let message =
            format!("{who} not read: policies without `targetRef` have rules of their own");
        let d = Diagnostic::new(&codes::LEGACY, message);
        out.push(
            world
                .at_object(d, first)
                .help(format!("answers do not contain them; use {successor} instead")),
        );
    }
}
