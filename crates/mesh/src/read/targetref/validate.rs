// SPDX-License-Identifier: Apache-2.0
//! In: a reference and what the place it stands in allows. Out: what Kuma 2.13 says is wrong with it, in Kuma's order.
//! Not here: which kinds a policy allows where (the caller says), whether the reference finds anything.

use super::TargetRef;
use crate::kinds::{self, ResourceKind};
use crate::quote::quoted;
use std::collections::BTreeMap;

/// What the place of a reference allows.
#[derive(Debug, Clone, Copy)]
pub struct TargetRefOptions<'a> {
    /// The path of the reference in its document; fields are told below it.
    pub path: &'a str,
    /// The kinds allowed.
    pub supported_kinds: &'a [ResourceKind],
    /// What to say of another kind, in place of the usual sentence.
    pub supported_kinds_error: Option<&'a str>,
    /// The policy has entries for inbound traffic, so that a section of a Dataplane makes sense.
    pub is_inbound_policy: bool,
    /// The policy can tell the listeners of a gateway apart.
    pub gateway_listener_tags_allowed: bool,
    /// Names that are good although they hold characters that names must not.
    pub allowed_invalid_names: &'a [&'a str],
}

impl Default for TargetRefOptions<'_> {
    fn default() -> Self {
        Self {
            path: "targetRef",
            supported_kinds: &[],
            supported_kinds_error: None,
            is_inbound_policy: false,
            gateway_listener_tags_allowed: false,
            allowed_invalid_names: &[],
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetRefViolation {
    /// The path of the field.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// Everything that is wrong with a reference. A kind that is missing or not allowed is all that is said.
pub fn validate(reference: &TargetRef, options: &TargetRefOptions<'_>) -> Vec<TargetRefViolation> {
    let mut check = Check { reference, options, found: Vec::new() };
    if reference.kind.as_str().is_empty() {
        check.say("kind", "must be defined");
    } else if !reference.kind.is_one_of(options.supported_kinds) {
        check.unsupported();
    } else {
        check.fields();
    }
    check.found
}

/// A field that some kinds forbid: its name, and whether it holds anything. What is written and empty counts as not
/// written.
type Field = (&'static str, fn(&TargetRef) -> bool);

const NAME: Field = ("name", |r| !r.name().is_empty());
const NAMESPACE: Field = ("namespace", |r| !r.namespace().is_empty());
const LABELS: Field = ("labels", TargetRef::has_labels);
const TAGS: Field = ("tags", TargetRef::has_tags);
const MESH: Field = ("mesh", |r| !r.mesh().is_empty());
const PROXY_TYPES: Field = ("proxyTypes", TargetRef::has_proxy_types);
const SECTION_NAME: Field = ("sectionName", |r| !r.section_name().is_empty());

struct Check<'a> {
    reference: &'a TargetRef,
    options: &'a TargetRefOptions<'a>,
    found: Vec<TargetRefViolation>,
}

impl Check<'_> {
    fn fields(&mut self) {
        match self.reference.kind.known() {
            Some(&kinds::MESH) => self.mesh(),
            Some(&kinds::DATAPLANE) => self.dataplane(),
            Some(&kinds::SUBSET) => self.mesh_subset(),
            Some(&kinds::SERVICE | &kinds::MULTI_ZONE_SERVICE) => self.service(),
            Some(&kinds::HTTP_ROUTE) => self.route(),
            Some(&kinds::EXTERNAL_SERVICE) => self.external_service(),
            Some(&kinds::SERVICE_SUBSET | &kinds::GATEWAY) => self.by_name_and_tags(),
            _ => {}
        }
    }

    fn mesh(&mut self) {
        if self.has(NAME) {
            self.say("name", "using name with kind Mesh is not yet supported");
        }
        self.forbid(&[MESH, TAGS, LABELS, NAMESPACE, SECTION_NAME]);
        self.some_proxy_types();
    }

    fn dataplane(&mut self) {
        self.forbid(&[TAGS, MESH, PROXY_TYPES]);
        self.labels_or("name and namespace");
        if !self.options.is_inbound_policy && self.has(SECTION_NAME) {
            self.say("sectionName", "can only be used with inbound policies");
        }
    }

    fn mesh_subset(&mut self) {
        self.forbid(&[NAME, MESH]);
        self.tags(is_tag_value, TAG_VALUE);
        self.forbid(&[LABELS, NAMESPACE, SECTION_NAME]);
        self.some_proxy_types();
    }

    fn service(&mut self) {
        self.name_characters();
        self.forbid(&[MESH, TAGS, PROXY_TYPES]);
        self.name_unless_labels();
        self.labels_or("name and namespace");
    }

    fn route(&mut self) {
        self.name_characters();
        self.forbid(&[MESH, TAGS, PROXY_TYPES, SECTION_NAME]);
        self.name_unless_labels();
        self.labels_or("name and namespace");
    }

    fn external_service(&mut self) {
        self.name_characters();
        self.forbid(&[MESH, TAGS, PROXY_TYPES]);
        self.name_unless_labels();
        self.labels_or("name");
        self.forbid(&[SECTION_NAME]);
    }

    fn by_name_and_tags(&mut self) {
        self.require_name();
        self.name_characters();
        self.forbid(&[MESH, PROXY_TYPES]);
        self.tags(is_selector_value, SELECTOR_VALUE);
        if self.reference.kind == kinds::GATEWAY && !self.options.gateway_listener_tags_allowed {
            self.forbid(&[TAGS]);
        }
        self.forbid(&[LABELS, NAMESPACE, SECTION_NAME]);
    }

    fn unsupported(&mut self) {
        let usual = || format!("value '{}' is not supported", self.reference.kind);
        let message = self.options.supported_kinds_error.map_or_else(usual, str::to_owned);
        self.say("kind", message);
    }

    fn forbid(&mut self, fields: &[Field]) {
        let reference = self.reference;
        for (field, _) in fields.iter().filter(|(_, is_set)| is_set(reference)) {
            self.say(field, format!("must not be set with kind {}", reference.kind));
        }
    }

    fn has(&self, (_, is_set): Field) -> bool {
        is_set(self.reference)
    }

    fn require_name(&mut self) {
        if !self.has(NAME) {
            self.say("name", format!("must be set with kind {}", self.reference.kind));
        }
    }

    fn name_unless_labels(&mut self) {
        if !self.has(LABELS) {
            self.require_name();
        }
    }

    fn labels_or(&mut self, others: &str) {
        let by_name = self.has(NAME) || self.has(NAMESPACE);
        if self.has(LABELS) && by_name {
            self.say("labels", format!("either labels or {others} must be specified"));
        }
    }

    fn name_characters(&mut self) {
        let name = self.reference.name();
        let is_good = name.bytes().all(|b| b.is_ascii_lowercase() || is_other(b, b".-_"));
        if !is_good && !self.options.allowed_invalid_names.contains(&name) {
            self.say("name", BAD_NAME);
        }
    }

    fn some_proxy_types(&mut self) {
        if self.reference.proxy_types.as_ref().is_some_and(Vec::is_empty) {
            self.say("proxyTypes", "must be undefined or have at least one element");
        }
    }

    fn tags(&mut self, is_value: fn(&str) -> bool, message: &str) {
        let reference = self.reference;
        for (key, value) in reference.tags.iter().flat_map(BTreeMap::iter) {
            let field = format!("tags[{}]", quoted(key));
            if key.is_empty() {
                self.say("tags", "tag name must be non-empty");
            }
            if !key.bytes().all(is_tag_byte) {
                self.say(&field, TAG_NAME);
            }
            if value.is_empty() {
                self.say(&field, "tag value must be non-empty");
            }
            if !is_value(value) {
                self.say(&field, message);
            }
        }
    }

    fn say(&mut self, field: &str, message: impl Into<String>) {
        let path = self.options.path;
        let dot = if path.is_empty() { "" } else { "." };
        self.found.push(TargetRefViolation {
            field: format!("{path}{dot}{field}"),
            message: message.into(),
        });
    }
}

const BAD_NAME: &str =
    "invalid characters: must consist of lower case alphanumeric characters, '-', '.' and '_'.";
const TAG_NAME: &str =
    "tag name must consist of alphanumeric characters, dots, dashes, slashes and underscores";
const TAG_VALUE: &str =
    "tag value must consist of alphanumeric characters, dots, dashes and underscores";
const SELECTOR_VALUE: &str = "tag value must consist of alphanumeric characters, dots, dashes, slashes and underscores or be \"*\"";

/// A digit or one of the others; letters are the caller's.
fn is_other(byte: u8, others: &[u8]) -> bool {
    byte.is_ascii_digit() || others.contains(&byte)
}

fn is_tag_byte(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || is_other(byte, b".-_:/")
}

fn is_tag_value(value: &str) -> bool {
    value.bytes().all(|byte| is_tag_byte(byte) && byte != b'/')
}

fn is_selector_value(value: &str) -> bool {
    value == "*" || value.bytes().all(is_tag_byte)
}

#[cfg(test)]
mod tests {
    use super::{
        ResourceKind, SELECTOR_VALUE, TAG_NAME, TAG_VALUE, TargetRef, TargetRefOptions, validate,
    };
    use serde_json::{Value, json};

    fn found(reference: &Value, options: &TargetRefOptions<'_>) -> Vec<(String, String)> {
        let reference = TargetRef::read(reference).unwrap();
        let kinds: Vec<ResourceKind> = reference.kind.known().into_iter().copied().collect();
        let options = TargetRefOptions { supported_kinds: &kinds, path: "", ..*options };
        let pair = |v: super::TargetRefViolation| (v.field, v.message);
        validate(&reference, &options).into_iter().map(pair).collect()
    }

    fn fields(reference: &Value) -> Vec<String> {
        found(reference, &TargetRefOptions::default()).into_iter().map(|(field, _)| field).collect()
    }

    #[test]
    fn every_field_at_once() {
        let all = |kind: &str| {
            json!({
                "kind": kind, "name": "A", "namespace": "n", "labels": {"a": "b"},
                "tags": {"c": "d e"}, "mesh": "m", "proxyTypes": ["Sidecar"], "sectionName": "s",
            })
        };
        for (kind, want) in [
            ("Mesh", "name mesh tags labels namespace sectionName"),
            ("Dataplane", "tags mesh proxyTypes labels sectionName"),
            ("MeshSubset", "name mesh tags[\"c\"] labels namespace sectionName"),
            ("MeshService", "name mesh tags proxyTypes labels"),
            ("MeshMultiZoneService", "name mesh tags proxyTypes labels"),
            ("MeshHTTPRoute", "name mesh tags proxyTypes sectionName labels"),
            ("MeshExternalService", "name mesh tags proxyTypes labels sectionName"),
            ("MeshServiceSubset", "name mesh proxyTypes tags[\"c\"] labels namespace sectionName"),
            ("MeshGateway", "name mesh proxyTypes tags[\"c\"] tags labels namespace sectionName"),
            ("Anything", "kind"),
        ] {
            assert_eq!(fields(&all(kind)).join(" "), want, "{kind}");
        }
    }

    #[test]
    fn only_a_kind() {
        for (kind, want) in [
            ("Mesh", ""),
            ("Dataplane", ""),
            ("MeshSubset", ""),
            ("MeshService", "name"),
            ("MeshHTTPRoute", "name"),
            ("MeshExternalService", "name"),
            ("MeshServiceSubset", "name"),
            ("MeshGateway", "name"),
        ] {
            assert_eq!(fields(&json!({"kind": kind})).join(" "), want, "{kind}");
        }
    }

    #[test]
    fn kinds() {
        let said = |reference: Value, options: &TargetRefOptions<'_>| {
            let found = validate(&TargetRef::read(&reference).unwrap(), options);
            found.into_iter().map(|v| format!("{}: {}", v.field, v.message)).collect::<Vec<_>>()
        };
        let none = TargetRefOptions::default();
        assert_eq!(said(json!({"name": "*"}), &none), ["targetRef.kind: must be defined"]);
        let want = ["targetRef.kind: value 'Mesh' is not supported"];
        assert_eq!(said(json!({"kind": "Mesh", "name": "*"}), &none), want);
        let own =
            TargetRefOptions { supported_kinds_error: Some("no"), path: "spec.targetRef", ..none };
        assert_eq!(said(json!({"kind": "Mesh"}), &own), ["spec.targetRef.kind: no"]);
    }

    #[test]
    fn tags_of_subsets_and_of_selectors() {
        let tags = json!({"": "a", "b/:._-9Z": "*", "c d": "", "e": "x/y", "f\"": "x y"});
        let said = |kind: &str| {
            let reference = json!({"kind": kind, "name": "a", "tags": tags});
            let options = TargetRefOptions {
                gateway_listener_tags_allowed: true,
                ..TargetRefOptions::default()
            };
            let mut found = found(&reference, &options);
            found.retain(|(field, _)| field.starts_with("tags"));
            found
        };
        let pair = |field: &str, message: &str| (field.to_owned(), message.to_owned());
        let common = [
            pair("tags", "tag name must be non-empty"),
            pair(r#"tags["c d"]"#, TAG_NAME),
            pair(r#"tags["c d"]"#, "tag value must be non-empty"),
            pair(r#"tags["f\""]"#, TAG_NAME),
        ];
        let mut gateway = common.to_vec();
        gateway.push(pair(r#"tags["f\""]"#, SELECTOR_VALUE));
        assert_eq!(said("MeshGateway"), gateway);
        assert_eq!(said("MeshServiceSubset"), gateway);
        let mut subset = common.to_vec();
        subset.insert(1, pair(r#"tags["b/:._-9Z"]"#, TAG_VALUE));
        subset.insert(4, pair(r#"tags["e"]"#, TAG_VALUE));
        subset.push(pair(r#"tags["f\""]"#, TAG_VALUE));
        assert_eq!(said("MeshSubset"), subset);
    }

    #[test]
    fn empty_is_unset_except_for_proxy_types() {
        let empty = json!({"name": "", "labels": {}, "tags": {}, "proxyTypes": [], "mesh": ""});
        for (kind, want) in
            [("Mesh", "proxyTypes"), ("MeshSubset", "proxyTypes"), ("MeshService", "name")]
        {
            let mut reference = empty.clone();
            reference["kind"] = kind.into();
            assert_eq!(fields(&reference), [want]);
        }
    }

    #[test]
    fn exceptions_are_the_callers() {
        let name = json!({"kind": "MeshService", "name": "kuma.io/unresolved"});
        assert_eq!(fields(&name), ["name"]);
        let allowed = ["kuma.io/unresolved"];
        let options =
            TargetRefOptions { allowed_invalid_names: &allowed, ..TargetRefOptions::default() };
        assert_eq!(found(&name, &options), []);
        let section = json!({"kind": "Dataplane", "sectionName": "http"});
        let message = "can only be used with inbound policies";
        let said = found(&section, &TargetRefOptions::default());
        assert_eq!(said, [("sectionName".to_owned(), message.to_owned())]);
        let inbound = TargetRefOptions { is_inbound_policy: true, ..TargetRefOptions::default() };
        assert_eq!(found(&section, &inbound), []);
    }
}
