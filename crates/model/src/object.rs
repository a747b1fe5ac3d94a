// SPDX-License-Identifier: Apache-2.0
//! The identity of resources. Not here: their specs.

use overrule_source::{NodeRef, Span};

use crate::{Created, Labels, Sym};

/// API group and kind, without the version: the same object in two versions is one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupKind {
    /// API group; empty for the core group.
    pub group: Sym,
    /// Kind, in its own spelling.
    pub kind: Sym,
}

/// Where a name has to be unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The whole cluster (or, for Kuma, the whole control plane).
    Cluster,
    /// A Kubernetes namespace.
    Namespace(Sym),
    /// A Kuma mesh (universal form).
    Mesh(Sym),
}

impl Scope {
    /// The namespace or mesh; empty for the cluster.
    pub fn name(self) -> Sym {
        match self {
            Self::Cluster => Sym::EMPTY,
            Self::Namespace(name) | Self::Mesh(name) => name,
        }
    }
}

/// Index of an object in its snapshot. Order = group, kind, namespace, name, compared as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// One resource: its identity and its place. The crate that knows the kind reads the spec from the document.
#[derive(Debug, Clone)]
pub struct Object {
    /// Its index.
    pub id: ObjectId,
    /// What it is.
    pub kind: GroupKind,
    /// API version without the group (`v1`); empty for the universal form.
    pub version: Sym,
    /// Where its name is unique.
    pub scope: Scope,
    /// Its name.
    pub name: Sym,
    /// Labels.
    pub labels: Labels,
    /// Creation time.
    pub created: Created,
    /// When it was deleted, as written, if finalizers still keep it. Such an object takes no part in any answer.
    pub deleted: Option<Sym>,
    /// The mapping that is the resource (a document root or an element of a List).
    pub root: NodeRef,
    /// The place to point at: its name.
    pub at: Span,
}
