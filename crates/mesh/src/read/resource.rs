// SPDX-License-Identifier: Apache-2.0
//! In: documents in universal or Kubernetes form. Out: what every mesh resource has: type, mesh, name, labels, and its
//! identity. Not here: specs, and labels that a control plane would add (`labels`).

use std::collections::BTreeMap;

use overrule_source::{Documents, NodeRef, View};

use crate::kinds::{KindName, KindScope};
use crate::kri::Kri;
use crate::labels::{self, DEFAULT_MESH, LabelMap, PolicyRole, ResourceOrigin};

/// Who a resource is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// Type: `MeshTimeout`.
    pub kind: KindName,
    /// Mesh; empty for what belongs to none.
    pub mesh: String,
    /// Name as the control plane stores it: of a Kubernetes object `name.namespace`.
    pub name: String,
    /// Labels.
    pub labels: LabelMap,
}

impl Meta {
    /// Reads it from either form; none if there is no type or name.
    pub fn read(root: View<'_>) -> Option<Self> {
        let text = |of: View<'_>, key: &str| -> Option<String> {
            of.get(key).and_then(|v| v.scalar_text()).filter(|t| !t.is_empty()).map(Into::into)
        };
        let read_labels = |of: Option<View<'_>>| -> LabelMap {
            let entries = of.into_iter().flat_map(View::entries);
            entries
                .map(|(k, v)| (k.key_text().into(), v.scalar_text().unwrap_or("").into()))
                .collect()
        };
        let kind = |key: &str| text(root, key).map(|text| KindName::of_resource(&text));
        if let Some(kind) = kind("type") {
            let name = text(root, "name")?;
            let mesh = text(root, "mesh").unwrap_or_else(|| default_mesh(&kind));
            return Some(Self { kind, mesh, name, labels: read_labels(root.get("labels")) });
        }
        let kind = kind("kind")?;
        let meta = root.get("metadata")?;
        let labels = read_labels(meta.get("labels"));
        // Kinds without a `spec` of their own also have the field.
        let mesh = labels.get(labels::MESH).cloned().or_else(|| text(root, "mesh"));
        let mesh = mesh.unwrap_or_else(|| default_mesh(&kind));
        let name = text(meta, "name")?;
        let name = match text(meta, "namespace") {
            Some(namespace) => format!("{name}.{namespace}"),
            None => name,
        };
        Some(Self { kind, mesh, name, labels })
    }

    /// The name its owner gave it: all comparisons use it.
    pub fn display_name(&self) -> &str {
        labels::display_name(&self.name, &self.labels)
    }

    /// Its zone; empty if unknown.
    pub fn zone(&self) -> &str {
        labels::zone(&self.labels).unwrap_or_default()
    }

    /// The namespace it was created in; empty if none.
    pub fn namespace(&self) -> &str {
        labels::namespace(&self.labels).unwrap_or_default()
    }

    /// Where it was created.
    pub fn origin(&self) -> ResourceOrigin {
        labels::origin(&self.labels)
    }

    /// What it is for, as its label says.
    pub fn role(&self) -> PolicyRole {
        labels::role(&self.labels)
    }

    /// Its identity.
    pub fn kri(&self) -> Kri {
        Kri::from_meta(&self.kind, &self.mesh, &self.name, &self.labels)
    }

    /// Whether it has all of these labels, with these values.
    pub fn has_labels(&self, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(key, value)| self.labels.get(key) == Some(value))
    }
}

fn default_mesh(kind: &KindName) -> String {
    let global = kind.known().is_some_and(|k| k.scope == KindScope::Global);
    if global { String::new() } else { DEFAULT_MESH.to_owned() }
}

/// A resource and where it stands.
#[derive(Debug, Clone)]
pub struct PlacedResource {
    /// Who it is.
    pub meta: Meta,
    /// Its document.
    pub root: NodeRef,
}

impl PlacedResource {
    /// Reads a document.
    pub fn read(documents: &Documents, root: NodeRef) -> Option<Self> {
        Some(Self { meta: Meta::read(documents.view(root))?, root })
    }

    /// Its spec: the member of that name, or for types that have none the whole document.
    pub fn spec<'a>(&self, documents: &'a Documents) -> View<'a> {
        let root = documents.view(self.root);
        root.get("spec").unwrap_or(root)
    }
}
