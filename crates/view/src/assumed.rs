// SPDX-License-Identifier: Apache-2.0
//! In: paths and policies. Out: the objects on their way that nobody wrote, which answers about them rest on.
//! Not here: what is assumed.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{NodeId, PathId, PolicyId};
use overrule_model::{Assumed, GroupKind, ObjectId, ObjectKey, Scope, Snapshot, Sym};
use overrule_source::{Documents, Position};

use crate::{Scene, ScenePart, v1, words};

/// Kinds at the root of every path, so often kept elsewhere that a row of a table does not mention them.
const ROOTS: [&str; 2] = ["gatewayclass", "mesh"];

/// Whether a row of a table says that it rests on assumptions.
pub(crate) fn is_told_in_rows(assumptions: &[v1::Assumption]) -> bool {
    let kind = |a: &v1::Assumption| a.target.split('/').next().map(str::to_owned);
    assumptions.iter().any(|a| kind(a).is_none_or(|kind| !ROOTS.contains(&kind.as_str())))
}

/// Whether anything is assumed at all. Mostly nothing is.
fn is_any(snapshot: &Snapshot) -> bool {
    snapshot.all_assumed().next().is_some()
}

/// What the answer about a path rests on.
pub(crate) fn of_path(scene: &Scene<'_>, part: &ScenePart<'_>, path: PathId) -> BTreeSet<ObjectId> {
    match is_any(scene.snapshot) {
        true => {
            let nodes = part.resolution.paths.nodes(path);
            nodes.into_iter().flat_map(|node| of_node(scene, part, node)).collect()
        }
        false => BTreeSet::new(),
    }
}

/// What the answers about each policy rest on.
pub(crate) fn by_policy(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
) -> BTreeMap<PolicyId, BTreeSet<ObjectId>> {
    let mut found: BTreeMap<PolicyId, BTreeSet<ObjectId>> = BTreeMap::new();
    if !is_any(scene.snapshot) {
        return found;
    }
    for attachment in &part.resolution.attachments {
        let objects = of_node(scene, part, attachment.node);
        found.entry(attachment.policy).or_default().extend(objects);
    }
    for (kind, _) in part.resolution.kinds() {
        for (path, ladder) in part.resolution.contexts(kind) {
            let policies = part.resolution.outcomes(ladder);
            if policies.is_empty() {
                continue;
            }
            let objects = of_path(scene, part, path);
            for (policy, _) in policies {
                found.entry(*policy).or_default().extend(&objects);
            }
        }
    }
    found
}

/// The object of a node, and its namespace, as far as nobody wrote them.
fn of_node(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    node: NodeId,
) -> impl Iterator<Item = ObjectId> {
    let snapshot = scene.snapshot;
    let node = part.topology.get(node);
    let own = node.and_then(|node| node.object);
    let namespace = node.and_then(|node| {
        let kind = GroupKind { group: Sym::EMPTY, kind: snapshot.names().lookup("Namespace")? };
        let key = ObjectKey { kind, scope: Scope::Cluster, name: node.namespace };
        snapshot.find(key).map(|namespace| namespace.id)
    });
    let is_assumed = |id: &ObjectId| snapshot.assumed(*id).is_some();
    own.into_iter().chain(namespace).filter(is_assumed)
}

/// The same as data.
pub(crate) fn told<'o>(
    scene: &Scene<'_>,
    objects: impl IntoIterator<Item = &'o ObjectId>,
) -> Vec<v1::Assumption> {
    assumptions(scene.documents, scene.snapshot, objects)
}

/// Those of some objects that are not in the input, as data.
pub fn assumptions<'o>(
    documents: &Documents,
    snapshot: &Snapshot,
    objects: impl IntoIterator<Item = &'o ObjectId>,
) -> Vec<v1::Assumption> {
    let assumption = |id: &ObjectId| {
        let (object, why) = (snapshot.get(*id)?, snapshot.assumed(*id)?);
        let Position { file, line, column } = documents.sources.position(object.at);
        Some(v1::Assumption {
            target: snapshot.display(*id).to_string(),
            derived_from: derived_from(snapshot, why),
            at: v1::Place { file, line, column },
        })
    };
    objects.into_iter().filter_map(assumption).collect()
}

/// The object that another one follows from.
pub(crate) fn derived_from(snapshot: &Snapshot, why: Assumed) -> Option<String> {
    match why {
        Assumed::Named => None,
        Assumed::Derived(key) => {
            let object = snapshot.find(key)?;
            Some(snapshot.display(object.id).to_string())
        }
    }
}

/// `gateway infra/edge and namespace shop (not in the input)`.
fn in_words(assumptions: &[v1::Assumption]) -> String {
    let mut named: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for assumption in assumptions {
        let target = words::target(&assumption.target);
        match &assumption.derived_from {
            None => named.push(target),
            Some(from) => all.push(format!("{target} (derived from {})", words::target(from))),
        }
    }
    if !named.is_empty() {
        all.insert(0, format!("{} (not in the input)", words::and(&named)));
    }
    all.join("; ")
}

/// The line that says so.
pub fn line(assumptions: &[v1::Assumption]) -> String {
    format!("Assumed: {}", in_words(assumptions))
}

/// What a table says of a resource that nobody wrote.
pub(crate) fn resource(resource: &v1::Resource) -> Option<String> {
    resource.assumed.then(|| match &resource.derived_from {
        None => "assumed, named here".to_owned(),
        Some(from) => format!("derived from {}", words::target(from)),
    })
}
