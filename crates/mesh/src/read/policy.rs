// SPDX-License-Identifier: Apache-2.0
//! In: policy resources. Out: their target and entries, as nodes of their documents. Not here: whether they are valid
//! (`targetref::validate`), confs (`conf`).

use overrule_source::{Documents, NodeRef, View};

use crate::kinds::ResourceKind;
use crate::resource::{Meta, PlacedResource};
use crate::targetref::TargetRef;

/// One element of `to`, `from` or `rules`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshEntry {
    /// Whom it is about; of an element of `rules`, nobody in particular.
    pub target: TargetRef,
    /// The element.
    pub node: NodeRef,
    /// Its place in the list.
    pub index: u32,
}

/// A policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Who it is.
    pub meta: Meta,
    /// Its place in a list of policies, for whoever keeps one.
    pub place: u32,
    /// What its type can do.
    pub kind: &'static ResourceKind,
    /// Its document.
    pub root: NodeRef,
    /// Which proxies it selects; `Mesh` if it does not say.
    pub target: TargetRef,
    /// Entries about destinations.
    pub to: Vec<MeshEntry>,
    /// Entries about clients.
    pub from: Vec<MeshEntry>,
    /// Entries about inbound traffic.
    pub rules: Vec<MeshEntry>,
    /// Its one conf, for types that have no entries.
    pub single: Option<NodeRef>,
    /// Its spec as an entry, for the same.
    pub whole: MeshEntry,
}

impl Policy {
    /// Reads a policy; none if the type is not a policy.
    pub fn read(documents: &Documents, resource: &PlacedResource) -> Option<Self> {
        let kind = resource.meta.kind.known().filter(|k| k.is_policy())?;
        let spec = resource.spec(documents);
        let at = |view: View<'_>| NodeRef { doc: resource.root.doc, node: view.id() };
        let target = |of: View<'_>| {
            let written = of.get("targetRef").filter(|t| !t.is_null());
            written.map_or_else(TargetRef::whole_mesh, TargetRef::from_view)
        };
        let entries = |key: &str| -> Vec<MeshEntry> {
            let items = spec.get(key).into_iter().flat_map(View::items);
            let entry = |(index, item)| MeshEntry { target: target(item), node: at(item), index };
            (0..).zip(items).map(entry).collect()
        };
        Some(Self {
            meta: resource.meta.clone(),
            place: 0,
            kind,
            root: resource.root,
            target: target(spec),
            to: entries("to"),
            from: entries("from"),
            rules: entries("rules"),
            single: spec.get("default").map(at),
            whole: MeshEntry { target: TargetRef::whole_mesh(), node: at(spec), index: 0 },
        })
    }

    /// Whether it only counts where shadow policies are asked for.
    pub fn is_shadow(&self) -> bool {
        crate::labels::is_shadow(&self.meta.labels)
    }
}
