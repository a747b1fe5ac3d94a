// SPDX-License-Identifier: Apache-2.0
//! In: a `targetRef` as written. Out: the reference as plain data. Not here: whether it is allowed (`validate`), what
//! it selects.

pub mod validate;

use crate::kinds::{self, KindName};
use overrule_source::View;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// A reference of a policy, with every field a version up to 2.14 has. What is not written is none; what is written and
/// empty is not: for labels and proxy types that makes a difference.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetRef {
    /// What it refers to; empty if it is not written.
    pub kind: KindName,
    /// The display name of one resource, or of a service tag.
    pub name: Option<String>,
    /// The namespace of the resource of that name.
    pub namespace: Option<String>,
    /// The labels of all resources meant.
    pub labels: Option<BTreeMap<String, String>>,
    /// The tags of the inbounds or listeners meant.
    pub tags: Option<BTreeMap<String, String>>,
    /// Reserved.
    pub mesh: Option<String>,
    /// The types of proxies meant: `Sidecar`, `Gateway`.
    pub proxy_types: Option<Vec<String>>,
    /// The port, inbound or listener meant.
    pub section_name: Option<String>,
}

/// A field that holds something other than it must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The path below the reference, such as `tags["port"]`; empty for the reference itself.
    pub field: String,
    /// What must be there.
    pub expected: &'static str,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.field.is_empty() { "the reference" } else { &self.field };
        write!(f, "{at} must be {}", self.expected)
    }
}

impl std::error::Error for ReadError {}

impl TargetRef {
    /// Reads a reference. Fields that are null are not written; fields that Kuma does not know are passed over.
    pub fn read(value: &Value) -> Result<Self, ReadError> {
        let Some(fields) = value.as_object() else {
            return Err(ReadError { field: String::new(), expected: "an object" });
        };
        let fields = Fields(fields);
        Ok(Self {
            kind: KindName::of_reference(&fields.text("kind")?.unwrap_or_default()),
            name: fields.text("name")?,
            namespace: fields.text("namespace")?,
            labels: fields.texts_by_key("labels")?,
            tags: fields.texts_by_key("tags")?,
            mesh: fields.text("mesh")?,
            proxy_types: fields.texts("proxyTypes")?,
            section_name: fields.text("sectionName")?,
        })
    }

    /// Reads a reference from a document. Values of another type than they must have are not written: a validator says so.
    pub fn from_view(view: View<'_>) -> Self {
        let member = |key: &str| view.get(key).filter(|v| !v.is_null());
        let text = |key: &str| member(key).and_then(|v| v.scalar_text()).map(str::to_owned);
        let texts = |key: &str| {
            let entries = member(key)?.entries();
            let pair = |(k, v): (View<'_>, View<'_>)| {
                (k.key_text().to_owned(), v.scalar_text().unwrap_or("").to_owned())
            };
            Some(entries.map(pair).collect())
        };
        let items = |key: &str| {
            let items = member(key)?.items();
            Some(items.filter_map(|v| v.scalar_text()).map(str::to_owned).collect())
        };
        Self {
            kind: KindName::of_reference(&text("kind").unwrap_or_default()),
            name: text("name"),
            namespace: text("namespace"),
            labels: texts("labels"),
            tags: texts("tags"),
            mesh: text("mesh"),
            proxy_types: items("proxyTypes"),
            section_name: text("sectionName"),
        }
    }

    /// A reference to everything, which is what a policy without one has.
    pub fn whole_mesh() -> Self {
        Self { kind: KindName::Known(&kinds::MESH), ..Self::default() }
    }

    /// The name, empty if it is not written.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The namespace, empty if it is not written.
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    /// The section, empty if it is not written.
    pub fn section_name(&self) -> &str {
        self.section_name.as_deref().unwrap_or_default()
    }

    /// The reserved mesh, empty if it is not written.
    pub fn mesh(&self) -> &str {
        self.mesh.as_deref().unwrap_or_default()
    }

    /// The labels, by key.
    pub fn label_pairs(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.labels.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The tags, by key.
    pub fn tag_pairs(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.tags.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether at least one label is written.
    pub fn has_labels(&self) -> bool {
        self.labels.as_ref().is_some_and(|labels| !labels.is_empty())
    }

    /// Whether at least one tag is written.
    pub fn has_tags(&self) -> bool {
        self.tags.as_ref().is_some_and(|tags| !tags.is_empty())
    }

    /// Whether at least one proxy type is written.
    pub fn has_proxy_types(&self) -> bool {
        self.proxy_types.as_ref().is_some_and(|types| !types.is_empty())
    }
}

/// Access to the fields of an object, with errors that say where.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<Option<String>, ReadError> {
        self.get(key).map(|value| text(value, || key.into())).transpose()
    }

    fn texts(&self, key: &str) -> Result<Option<Vec<String>>, ReadError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let items =
            value.as_array().ok_or_else(|| ReadError { field: key.into(), expected: "a list" })?;
        let item = |(at, value)| text(value, || format!("{key}[{at}]"));
        items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Some)
    }

    fn texts_by_key(&self, key: &str) -> Result<Option<BTreeMap<String, String>>, ReadError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let items = value
            .as_object()
            .ok_or_else(|| ReadError { field: key.into(), expected: "an object" })?;
        let item = |(name, value): (&String, &Value)| {
            text(value, || format!("{key}[{}]", crate::quote::quoted(name)))
                .map(|text| (name.clone(), text))
        };
        items.iter().map(item).collect::<Result<_, _>>().map(Some)
    }
}

fn text(value: &Value, field: impl FnOnce() -> String) -> Result<String, ReadError> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| ReadError { field: field(), expected: "a string" })
}

#[cfg(test)]
mod tests {
    use super::TargetRef;
    use serde_json::json;

    #[test]
    fn absent_null_and_empty() {
        let read = |value| TargetRef::read(&value).unwrap();
        assert_eq!(read(json!({})), TargetRef::default());
        assert_eq!(read(json!({"kind": "Mesh", "labels": null, "x": 1})), TargetRef::whole_mesh());
        let empty = read(json!({"labels": {}, "tags": {}, "proxyTypes": [], "name": ""}));
        assert_eq!(empty.labels, Some([].into()));
        assert_eq!(
            (empty.proxy_types.clone(), empty.name.clone()),
            (Some(vec![]), Some("".into()))
        );
        assert!(!empty.has_labels() && !empty.has_tags() && !empty.has_proxy_types());
        assert_eq!((empty.name(), empty.namespace(), empty.section_name()), ("", "", ""));
    }

    #[test]
    fn everything() {
        let all = json!({
            "kind": "Dataplane", "name": "web", "namespace": "shop", "labels": {"a": "b"},
            "tags": {"c": "d"}, "mesh": "m", "proxyTypes": ["Sidecar"], "sectionName": "http",
        });
        let read = TargetRef::read(&all).unwrap();
        let texts = [read.name(), read.namespace(), read.mesh(), read.section_name()];
        assert_eq!(texts, ["web", "shop", "m", "http"]);
        assert!(read.has_labels() && read.has_tags() && read.has_proxy_types());
    }

    #[test]
    fn what_is_not_text_is_told() {
        let error = |value| TargetRef::read(&value).unwrap_err().to_string();
        assert_eq!(error(json!("Mesh")), "the reference must be an object");
        assert_eq!(error(json!({"kind": 1})), "kind must be a string");
        assert_eq!(error(json!({"tags": {"port": 80}})), r#"tags["port"] must be a string"#);
        assert_eq!(error(json!({"labels": []})), "labels must be an object");
        assert_eq!(error(json!({"proxyTypes": {}})), "proxyTypes must be a list");
        assert_eq!(error(json!({"proxyTypes": ["a", []]})), "proxyTypes[1] must be a string");
    }
}
