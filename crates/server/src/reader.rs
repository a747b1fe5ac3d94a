// SPDX-License-Identifier: Apache-2.0
//! In: what somebody may read and write. Out: whether that includes a resource. Not here: roles and scopes themselves
//! (`overrule_guard`).

use std::collections::BTreeMap;

use overrule::model::{Object, Snapshot};
use overrule_guard::{Grants, Protected};
use overrule_store::{ResourceKey, ResourceScope};

use crate::admission::{key_of, mesh_of};

/// Somebody who reads.
pub struct Reader<'a>(pub &'a Grants);

impl overrule_ask::Sees for Reader<'_> {
    fn object(&self, snapshot: &Snapshot, object: &Object) -> bool {
        may_read(self.0, &key_of(snapshot, object))
    }

    fn everything(&self) -> bool {
        self.0.reads_all()
    }

    /// Nothing outside of a mesh acts on what is in it.
    fn closed(&self, snapshot: &Snapshot, object: &Object) -> bool {
        let key = key_of(snapshot, object);
        let mesh = mesh_of(&key);
        self.0.reads_all() || mesh.is_some_and(|mesh| self.0.may_read(&Protected::Mesh(mesh)))
    }
}

/// Where a resource belongs.
fn target(key: &ResourceKey) -> Protected<'_> {
    match &key.place {
        // Who may read a namespace may read what it says of itself; so it is with a mesh.
        ResourceScope::Cluster if key.group.is_empty() && key.kind == "Namespace" => {
            Protected::Namespace(&key.name)
        }
        ResourceScope::Cluster => mesh_of(key).map_or(Protected::Cluster, Protected::Mesh),
        ResourceScope::Namespace(name) => Protected::Namespace(name),
        // A Kubernetes object of Kuma's carries its namespace at the end of its name.
        ResourceScope::Mesh(mesh) => match key.name.rsplit_once('.') {
            Some((_, namespace)) => Protected::Both { mesh, namespace },
            None => Protected::Mesh(mesh),
        },
    }
}

/// Whether a resource may be read.
pub fn may_read(grants: &Grants, key: &ResourceKey) -> bool {
    grants.may_read(&target(key))
}

/// Whether anything may be written that a path names, as far as the path tells: a resource of `place`, or one without a
/// place, which may be a mesh or a namespace itself.
pub fn may_write_at(grants: &Grants, path: &BTreeMap<String, String>) -> bool {
    let part = |name| path.get(name).map(String::as_str);
    match part("mesh").or_else(|| part("place")).or_else(|| part("name")) {
        None => grants.writes_any(),
        Some(name) => {
            grants.may_write(&Protected::Mesh(name))
                || grants.may_write(&Protected::Namespace(name))
                || grants.writes_all()
        }
    }
}

/// Whether a resource may be written.
pub fn may_write(grants: &Grants, key: &ResourceKey) -> bool {
    grants.may_write(&target(key))
}
