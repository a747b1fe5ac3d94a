// SPDX-License-Identifier: Apache-2.0
//! In: objects with a `deletionTimestamp`. Out: their set apart, and the finding about each that somebody may count on.
//! Not here: that nothing else finds them; [`Snapshot`](crate::Snapshot) holds them apart from all others.

use hashbrown::HashMap;
use overrule_source::Diagnostic;

use crate::snapshot::key_of;
use crate::{GroupKind, Object, ObjectId, ObjectKey, Snapshot, codes};

/// Objects that are being deleted.
#[derive(Debug, Default)]
pub(crate) struct Deleted {
    /// By group, kind, namespace, name. Their ids follow those of all others.
    pub(crate) objects: Vec<Object>,
    by_key: HashMap<ObjectKey, usize>,
}

impl Deleted {
    /// Takes them out of all objects and gives every object its id.
    pub(crate) fn apart(all: &mut Vec<Object>) -> Self {
        let mut objects: Vec<Object> = all.extract_if(.., |o| o.deleted.is_some()).collect();
        for (id, object) in (0..).zip(all.iter_mut().chain(&mut objects)) {
            object.id = ObjectId(id);
        }
        let by_key = objects.iter().enumerate().map(|(at, object)| (key_of(object), at)).collect();
        Self { objects, by_key }
    }

    pub(crate) fn find(&self, key: ObjectKey) -> Option<&Object> {
        self.objects.get(*self.by_key.get(&key)?)
    }

    /// Their kinds, each once.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = GroupKind> {
        self.objects.chunk_by(|a, b| a.kind == b.kind).filter_map(|run| Some(run.first()?.kind))
    }
}

/// What is to be told of objects that are being deleted. Nothing of those that no answer is about anyway: a dump of a
/// cluster is full of Pods on their way out.
pub(crate) fn findings(
    snapshot: &Snapshot,
    takes_part: impl Fn(GroupKind) -> bool,
) -> impl Iterator<Item = Diagnostic> {
    let told = move |object: &&Object| {
        let GroupKind { group, kind } = object.kind;
        takes_part(object.kind) && !is_workload(snapshot.text(group), snapshot.text(kind))
    };
    snapshot.deleted().iter().filter(told).filter_map(|object| {
        let d = Diagnostic::new(&codes::BEING_DELETED, snapshot.deletion(object)?);
        let help =
            "nothing to do if that is meant; a manifest that is to be applied must not have the field";
        Some(d.at(object.at).field("metadata.deletionTimestamp").help(help))
    })
}

/// Whether a kind is of Kubernetes itself and nothing that policies are about.
fn is_workload(group: &str, kind: &str) -> bool {
    let built_in = !group.contains('.') || group.ends_with(".k8s.io");
    let other = group.starts_with("gateway.networking.") || group == "apiextensions.k8s.io";
    built_in && !other && !matches!(kind, "Service" | "Namespace")
}
