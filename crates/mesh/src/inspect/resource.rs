// SPDX-License-Identifier: Apache-2.0
//! In: a resource that is stored. Out: it as the API returns it, alone or in a list, in either form; and by its identity:
//! `/_kri`. Not here: storing.

use overrule_engine::StepId;
use overrule_model::ObjectId;
use overrule_source::{Documents, NodeRef, View};
use serde_json::{Map, Value, json};

use super::answer::{InspectAnswer, bad_request, not_found};
use super::ask::InspectQuery;
use super::policies::parsed;
use super::{Flavour, InspectCall, InspectInput, Inspector};
use crate::conf::spec_of;
use crate::kinds::{KindName, KindScope};
use crate::kri::Kri;
use crate::resource::Meta;
use crate::settings::Settings;

/// What a resource has that is not its own.
const ENVELOPE: &[&str] = &[
    "type",
    "mesh",
    "name",
    "labels",
    "creationTime",
    "modificationTime",
    "kri",
    "spec",
    "status",
    "apiVersion",
    "kind",
    "metadata",
];

/// When a resource was created and changed last, as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// Created.
    pub created: String,
    /// Changed last.
    pub modified: String,
}

impl Default for Times {
    /// The zero time, which is what the API shows where nobody knows.
    fn default() -> Self {
        let never = || "0001-01-01T00:00:00Z".to_owned();
        Self { created: never(), modified: never() }
    }
}

/// A resource as the API returns it: who it is, then its spec, or its own fields for kinds that have none.
pub fn stored(documents: &Documents, meta: &Meta, root: NodeRef, times: &Times) -> Value {
    let kri = meta.kri().to_string();
    let members = [
        ("type", json!(meta.kind.as_str()), true),
        ("mesh", json!(meta.mesh), !meta.mesh.is_empty()),
        ("name", json!(meta.name), true),
        ("creationTime", json!(times.created), true),
        ("modificationTime", json!(times.modified), true),
        ("labels", json!(meta.labels), !meta.labels.is_empty()),
        ("kri", json!(kri), !kri.is_empty()),
    ];
    let written = members.into_iter().filter(|(_, _, is_there)| *is_there);
    let mut shown: Map<String, Value> =
        written.map(|(key, value, _)| (key.to_owned(), value)).collect();
    if is_new_style(&meta.kind) {
        shown.insert("spec".into(), spec(documents, meta, root));
        let status = documents.view(root).get("status").filter(|s| !s.is_null());
        shown.extend(status.map(|s| ("status".to_owned(), s.to_json())));
    } else {
        shown.extend(own_fields(documents.view(root)));
    }
    Value::Object(shown)
}

fn is_new_style(kind: &KindName) -> bool {
    kind.known().is_none_or(|kind| kind.is_new_style)
}

/// A spec with what its schema adds.
fn spec(documents: &Documents, meta: &Meta, root: NodeRef) -> Value {
    let Some(spec) = documents.view(root).get("spec").filter(|s| !s.is_null()) else {
        return json!({});
    };
    let node = NodeRef { doc: root.doc, node: spec.id() };
    spec_of(documents, meta.kind.known(), StepId(0), node).to_json(documents)
}

/// The fields of a kind without a spec. On Kubernetes even those stand below one.
fn own_fields(root: View<'_>) -> Map<String, Value> {
    let on_kubernetes = root.get("metadata").and_then(|_| root.get("spec"));
    let of = on_kubernetes.unwrap_or(root);
    let own = |key: &str| on_kubernetes.is_some() || !ENVELOPE.contains(&key);
    let entries = of.entries().filter(|(key, value)| own(key.key_text()) && !value.is_null());
    entries.map(|(key, value)| (key.key_text().to_owned(), value.to_json())).collect()
}

/// The same as an object of Kubernetes.
pub fn kubernetes(
    documents: &Documents,
    meta: &Meta,
    root: NodeRef,
    times: &Times,
    settings: &Settings,
) -> Value {
    let kind = meta.kind.known();
    let mut metadata = Map::new();
    metadata.insert("name".into(), json!(meta.display_name()));
    if kind.is_none_or(|kind| !kind.is_cluster_scoped) {
        let own = meta.namespace();
        let namespace = if own.is_empty() { &*settings.system_namespace } else { own };
        metadata.insert("namespace".into(), json!(namespace));
    }
    metadata.insert("creationTimestamp".into(), json!(times.created));
    let mut labels = meta.labels.clone();
    let in_mesh = kind.is_none_or(|kind| kind.scope == KindScope::Mesh);
    if in_mesh && is_new_style(&meta.kind) {
        labels.entry(crate::labels::MESH.into()).or_insert_with(|| meta.mesh.clone());
    }
    if !labels.is_empty() {
        metadata.insert("labels".into(), json!(labels));
    }
    let mut shown = Map::new();
    shown.insert("apiVersion".into(), json!("kuma.io/v1alpha1"));
    shown.insert("kind".into(), json!(meta.kind.as_str()));
    shown.insert("metadata".into(), Value::Object(metadata));
    if in_mesh && !is_new_style(&meta.kind) {
        shown.insert("mesh".into(), json!(meta.mesh));
    }
    let spec = if is_new_style(&meta.kind) {
        spec(documents, meta, root)
    } else {
        Value::Object(own_fields(documents.view(root)))
    };
    shown.insert("spec".into(), spec);
    Value::Object(shown)
}

/// A page of resources as the API returns it.
pub fn list(items: Vec<Value>, total: usize, next: Option<&str>) -> Value {
    json!({"total": total, "items": items, "next": next})
}

impl Inspector {
    pub(super) fn by_kri(
        &self,
        live: InspectInput<'_>,
        call: InspectCall<'_>,
        kri: &str,
        query: &InspectQuery<'_>,
    ) -> Result<InspectAnswer, InspectAnswer> {
        let kri = parsed(kri)?;
        let kubernetes_form = match query.get("format") {
            None | Some("universal") => false,
            Some("k8s" | "kubernetes") => true,
            Some(_) => {
                return Err(bad_request("unsupported value for query parameter 'format'"));
            }
        };
        let missing = || not_found("Could not retrieve a resource");
        let object = self.identified(live, &kri).ok_or_else(missing)?;
        let meta = live.resources.metas.get(&object).ok_or_else(missing)?;
        let root = *live.resources.roots.get(&object).ok_or_else(missing)?;
        let times = (call.times)(object);
        Ok(InspectAnswer::ok(&if kubernetes_form {
            kubernetes(live.documents, meta, root, &times, &live.resources.settings)
        } else {
            stored(live.documents, meta, root, &times)
        }))
    }

    /// The object of an identity, its section aside. The release computes the name it is stored under; what is
    /// identified by its labels is found too where these are computed.
    pub fn identified(&self, live: InspectInput<'_>, kri: &Kri) -> Option<ObjectId> {
        let kind = kri.kind.known()?;
        let settings = &live.resources.settings;
        let stored = |kubernetes: bool| {
            let name = kri.core_name(&settings.plane(kubernetes));
            self.find(live, kind, &kri.mesh, &name)
        };
        match self.flavour {
            Flavour::Compat => stored(false),
            Flavour::Native => {
                let kris = self.kris.get_or_init(|| {
                    live.resources.metas.iter().map(|(object, m)| (m.kri(), *object)).collect()
                });
                let own = kris.get(&kri.without_section()).copied();
                own.or_else(|| stored(false)).or_else(|| stored(true))
            }
        }
    }
}
