// SPDX-License-Identifier: Apache-2.0
//! In: rules of a proxy. Out: the same in the shapes of Kuma's own data. Not here: comparing.

use std::collections::BTreeMap;

use overrule_engine::StepId;
use overrule_mesh::conf::{entry_of, spec_of};
use overrule_mesh::entries::Item;
use overrule_mesh::policy::Policy;
use overrule_mesh::resource::{Meta, PlacedResource};
use overrule_mesh::rules::{ResourceRule, SubsetRule};
use overrule_mesh::subset::Subset;
use overrule_source::{Documents, View};
use serde_json::{Map, Value, json};

const NEVER: &str = "0001-01-01T00:00:00Z";

/// How metadata is written: as read, or as the variants rewrite it.
pub(super) trait Metas {
    /// The metadata of a resource.
    fn show(&self, meta: &Meta) -> Value;
}

/// As read.
pub(super) struct Lower;

impl Metas for Lower {
    fn show(&self, meta: &Meta) -> Value {
        lower(meta)
    }
}

/// Metadata of a resource as it is read.
pub(super) fn lower(meta: &Meta) -> Value {
    let mut shown = Map::new();
    let mut put = |key: &str, value: Value| shown.insert(key.to_owned(), value);
    put("type", json!(meta.kind.as_str()));
    put("name", json!(meta.name));
    put("creationTime", json!(NEVER));
    put("modificationTime", json!(NEVER));
    if !meta.mesh.is_empty() {
        put("mesh", json!(meta.mesh));
    }
    if !meta.labels.is_empty() {
        put("labels", json!(meta.labels));
    }
    let kri = meta.kri().to_string();
    if !kri.is_empty() {
        put("kri", json!(kri));
    }
    Value::Object(shown)
}

/// Metadata that a variant rewrote, with what Kubernetes adds.
pub(super) struct Upper {
    /// Namespace and name by the name of the resource.
    pub(super) extensions: BTreeMap<String, (String, String)>,
}

impl Metas for Upper {
    fn show(&self, meta: &Meta) -> Value {
        if meta.kind == overrule_mesh::kinds::MESH {
            return lower(meta);
        }
        let extension = self.extensions.get(&meta.name).map(|(namespace, name)| {
            json!({"k8s.kuma.io/namespace": namespace, "k8s.kuma.io/name": name})
        });
        json!({
            "Name": meta.name,
            "Mesh": meta.mesh,
            "Labels": meta.labels,
            "NameExtensions": extension,
            "CreationTime": NEVER,
            "ModificationTime": NEVER,
            "Version": "",
        })
    }
}

fn tags(subset: &Subset) -> Value {
    let tag =
        |t: &overrule_mesh::subset::Tag| json!({"Key": &*t.key, "Value": &*t.value, "Not": t.not});
    subset.tags().iter().map(tag).collect()
}

fn with_index(metas: &dyn Metas, origin: &Item<'_>) -> Value {
    json!({"Resource": metas.show(&origin.policy.meta), "RuleIndex": origin.entry.index})
}

pub(super) fn subset_rule(documents: &Documents, rule: &SubsetRule<'_>) -> Value {
    let owners =
        rule.merged.by_matches.iter().map(|(hash, o)| (hash.clone(), lower(&o.policy.meta)));
    json!({
        "Subset": tags(&rule.subset),
        "Conf": rule.merged.confs.first().map_or_else(|| json!({}), |c| c.to_json(documents)),
        "Origin": rule.merged.origins.iter().map(|o| lower(&o.policy.meta)).collect::<Vec<_>>(),
        "OriginByMatches": owners.collect::<Map<_, _>>(),
    })
}

pub(super) fn subset_rules(documents: &Documents, rules: &[SubsetRule<'_>]) -> Value {
    rules.iter().map(|r| subset_rule(documents, r)).collect()
}

pub(super) fn resource_rule(
    documents: &Documents,
    metas: &dyn Metas,
    rule: &ResourceRule<'_>,
) -> Value {
    let owners =
        rule.merged.by_matches.iter().map(|(hash, o)| (hash.clone(), with_index(metas, o)));
    json!({
        "Resource": metas.show(&rule.resource.meta),
        "ResourceSectionName": rule.section,
        "Conf": rule.merged.confs.iter().map(|c| c.to_json(documents)).collect::<Vec<_>>(),
        "Origin": rule.merged.origins.iter().map(|o| with_index(metas, o)).collect::<Vec<_>>(),
        "OriginByMatches": owners.collect::<Map<_, _>>(),
    })
}

pub(super) fn inbound_rule(documents: &Documents, (item, from): &(Item<'_>, bool)) -> Value {
    let entry = entry_of(documents, item.policy.kind, StepId(0), item.entry.node);
    let entry = entry.to_json(documents);
    let conf = match *from {
        true => json!({"BaseEntry": {
            "targetRef": entry.get("targetRef").cloned().unwrap_or_else(|| json!({"kind": "Mesh"})),
            "default": entry.get("default").cloned().unwrap_or_else(|| json!({})),
        }}),
        false => entry,
    };
    json!({"conf": conf, "origin": with_index(&Lower, item)})
}

/// A policy as it is read: metadata and spec.
pub(super) fn resource(documents: &Documents, resource: &PlacedResource) -> Value {
    let mut shown = lower(&resource.meta);
    let view = resource.spec(documents);
    let node = overrule_source::NodeRef { doc: resource.root.doc, node: view.id() };
    let spec = spec_of(documents, resource.meta.kind.known(), StepId(0), node).to_json(documents);
    if let Some(members) = shown.as_object_mut() {
        members.insert("spec".to_owned(), spec);
    }
    shown
}

/// A reference as it is written.
pub(super) fn target(documents: &Documents, policy: &Policy) -> Value {
    let root = documents.view(policy.root);
    let spec = root.get("spec").unwrap_or(root);
    spec.get("targetRef").map_or_else(|| json!({"kind": "Mesh"}), View::to_json)
}
