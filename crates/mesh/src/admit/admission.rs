// SPDX-License-Identifier: Apache-2.0
//! In: a resource that somebody writes. Out: what it is refused for, field by field, in the order of the API: its schema
//! first, and only if that is good its name, its labels and the rules of its kind. Not here: whether its mesh is there,
//! and who may write.

use overrule_source::{Documents, NodeKind, NodeRef, View};
use serde_json::Value;

use crate::kinds::{self, KindName, ResourceKind, TRAFFIC_PERMISSION};
use crate::labels::{NewResource, compute_labels};
use crate::permission;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::quote::quoted;
use crate::resource::PlacedResource;
use crate::resources::written_short;
use crate::settings::{LabelSource, Settings};
use crate::shapes;
use crate::targetref::validate::TargetRefViolation;
use crate::validate::{self, AdmissionProblem, Against};

/// The kinds a reference may have at all, in the order the schema names them.
const TARGETS: [ResourceKind; 9] = [
    kinds::MESH,
    kinds::SUBSET,
    kinds::GATEWAY,
    kinds::SERVICE,
    kinds::EXTERNAL_SERVICE,
    kinds::MULTI_ZONE_SERVICE,
    kinds::SERVICE_SUBSET,
    kinds::HTTP_ROUTE,
    kinds::DATAPLANE,
];

const BAD_NAME: &str =
    "must be lower case letters, digits, '-', '_' and '.', and not longer than 253";
const BAD_VALUE: &str = "must be letters, digits, '-', '_' and '.', begin and end with a letter or digit, and not be longer than 63";

/// Everything a resource is refused for; nothing if it is taken.
pub fn violations(
    documents: &Documents,
    root: NodeRef,
    settings: &Settings,
    profile: &Profile,
) -> Vec<TargetRefViolation> {
    let Some(resource) = PlacedResource::read(documents, root) else {
        let field = if documents.view(root).get("name").is_some() { "type" } else { "name" };
        return vec![said(field, "must be defined")];
    };
    let problems = problems(documents, &resource, settings, profile);
    let schema: Vec<TargetRefViolation> = problems
        .iter()
        .filter(|p| p.against == Against::Schema || is_no_target(documents, p))
        .map(|p| of_schema(documents, p))
        .chain(shape(documents, &resource))
        .collect();
    if !schema.is_empty() {
        return schema;
    }
    let mut found = names_and_labels(&resource);
    found.extend(role(documents, &resource, settings));
    let release = *profile == Profile::Release;
    if release && resource.meta.kind == TRAFFIC_PERMISSION {
        // Of permissions the words of the release are known in full.
        found.extend(permission::violations(&resource.spec(documents).to_json()));
        return found;
    }
    found.extend(
        problems.into_iter().map(|p| TargetRefViolation { field: p.field, message: p.message }),
    );
    found
}

fn said(field: &str, message: &str) -> TargetRefViolation {
    TargetRefViolation { field: field.to_owned(), message: message.to_owned() }
}

/// What is wrong with a policy. The release passes over fields it does not know; what only it refuses, the design takes.
fn problems(
    documents: &Documents,
    resource: &PlacedResource,
    settings: &Settings,
    profile: &Profile,
) -> Vec<AdmissionProblem> {
    let Some(mut policy) = Policy::read(documents, resource) else { return Vec::new() };
    let mut found = validate::policy(documents, &policy);
    if *profile != Profile::Release {
        written_short(documents, &mut policy);
    }
    if *policy.kind == TRAFFIC_PERMISSION {
        found.extend(permission::problems(documents, &policy));
    }
    let to_the_letter = settings.labels == LabelSource::AsWritten;
    found.retain(|p| !(to_the_letter && p.against == Against::Fields));
    found.retain(|p| *profile == Profile::Release || !p.release_only);
    found
}

/// Whether a problem is about a kind that no reference anywhere may have: the schema knows that already.
fn is_no_target(documents: &Documents, problem: &AdmissionProblem) -> bool {
    let written = documents.view(problem.node).scalar_text();
    problem.field.ends_with("targetRef.kind")
        && written.is_some_and(|kind| KindName::of_reference(kind).known().is_none())
        && problem.message.contains("is not supported")
}

/// The words of the schema.
fn of_schema(documents: &Documents, problem: &AdmissionProblem) -> TargetRefViolation {
    let message = match problem.message.as_str() {
        "must be an object" => of_type("object", documents.view(problem.node)),
        "must be a list" => of_type("array", documents.view(problem.node)),
        "must be a string" => of_type("string", documents.view(problem.node)),
        _ => format!("in body should be one of [{}]", TARGETS.map(|kind| kind.name).join(" ")),
    };
    TargetRefViolation { field: problem.field.clone(), message }
}

fn of_type(wanted: &str, found: View<'_>) -> String {
    let found = match found.kind() {
        NodeKind::Map => "object",
        NodeKind::List => "array",
        NodeKind::Bool => "boolean",
        NodeKind::Int | NodeKind::Float => "number",
        NodeKind::String => "string",
        NodeKind::Null => "null",
    };
    format!("in body must be of type {wanted}: \"{found}\"")
}

/// Proxies and services whose fields are of another type than they must be.
fn shape(documents: &Documents, resource: &PlacedResource) -> Vec<TargetRefViolation> {
    let spec = resource.spec(documents);
    let below = spec.id() != documents.view(resource.root).id();
    let new_style = resource.meta.kind.known().is_none_or(|kind| kind.is_new_style);
    let path = if below && new_style { "spec." } else { "" };
    let flaws = shapes::flaws(resource.meta.kind.known(), spec, path).into_iter();
    flaws.map(|flaw| TargetRefViolation { field: flaw.field, message: flaw.message }).collect()
}

fn names_and_labels(resource: &PlacedResource) -> Vec<TargetRefViolation> {
    let mut found = Vec::new();
    let name = &resource.meta.name;
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    if name.len() > 253 || !name.bytes().all(good) {
        found.push(said("name", BAD_NAME));
    }
    for (key, value) in &resource.meta.labels {
        let plain = key.rsplit_once('/').map_or(key.as_str(), |(_, name)| name);
        if plain.is_empty() || !is_word(plain) || !is_word(value) {
            found.push(said(&format!("labels[{}]", quoted(key)), BAD_VALUE));
        }
    }
    found
}

/// What the value of a label may be.
fn is_word(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let outer = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    let ends = outer(text.bytes().next()) && outer(text.bytes().next_back());
    text.len() <= 63 && ends && text.bytes().all(inner)
}

/// A policy whose entries do not agree on what it is for. Only namespaces give roles.
fn role(
    documents: &Documents,
    resource: &PlacedResource,
    settings: &Settings,
) -> Option<TargetRefViolation> {
    let root = documents.view(resource.root);
    let metadata = root.get("metadata").filter(|_| root.get("type").is_none())?;
    let namespace = metadata.get("namespace").and_then(|n| n.scalar_text()).unwrap_or("default");
    let document: Value = root.to_json();
    let written = NewResource {
        kind: resource.meta.kind.known(),
        mesh: &resource.meta.mesh,
        namespace,
        labels: &resource.meta.labels,
        document: &document,
    };
    let why = compute_labels(&written, &settings.plane(true)).err()?;
    Some(said("spec", &why.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use overrule_source::{Input, ReadOptions, read};

    fn refused(text: &str, labels: LabelSource, profile: &Profile) -> Vec<String> {
        let documents = read(vec![Input::new("a.yaml", text)], &ReadOptions::default()).documents;
        let doc = documents.ids().next().unwrap();
        let root = Documents::node_ref(documents.root(doc), doc);
        let settings = Settings { labels, ..Settings::default() };
        let found = violations(&documents, root, &settings, profile);
        found.into_iter().map(|v| format!("{}: {}", v.field, v.message)).collect()
    }

    fn release(text: &str) -> Vec<String> {
        refused(text, LabelSource::AsWritten, &Profile::Release)
    }

    #[test]
    fn a_good_policy_is_taken() {
        let text = "type: MeshTimeout\nmesh: m\nname: a\nlabels: {a/b: c}\nspec: {to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]}";
        assert_eq!(release(text), [""; 0]);
    }

    #[test]
    fn the_schema_comes_first_and_alone() {
        let text = "type: MeshTimeout\nmesh: m\nname: A\nspec: {targetRef: {kind: Mesh, name: 1}, to: [{targetRef: {kind: Nope}}, 1]}";
        assert_eq!(
            release(text),
            [
                "spec.targetRef.name: in body must be of type string: \"number\"",
                "spec.to[0].targetRef.kind: in body should be one of [Mesh MeshSubset MeshGateway MeshService MeshExternalService MeshMultiZoneService MeshServiceSubset MeshHTTPRoute Dataplane]",
                "spec.to[1]: in body must be of type object: \"number\"",
            ]
        );
    }

    #[test]
    fn then_names_labels_and_rules_are_told_together() {
        let text = "type: MeshTimeout\nmesh: m\nname: A\nlabels: {x: \"-\"}\nspec: {targetRef: {kind: Mesh, name: a}}";
        let found = release(text);
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        assert_eq!(fields, ["name", "labels[\"x\"]", "spec.targetRef.name", "spec"]);
    }

    #[test]
    fn unknown_fields_are_passed_over_by_the_release_and_told_otherwise() {
        let text = "type: MeshTimeout\nmesh: m\nname: a\nspec: {tpyo: 1, to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]}";
        assert_eq!(release(text), [""; 0]);
        let told = refused(text, LabelSource::Computed, &Profile::Release);
        assert!(told.iter().any(|t| t.starts_with("spec.tpyo: unknown field")), "{told:?}");
    }

    #[test]
    fn permissions_are_refused_in_the_words_of_the_release_or_of_the_design() {
        let text = "type: MeshTrafficPermission\nmesh: m\nname: a\nspec: {default: {allow: [{method: GET}]}}";
        assert_eq!(release(text), ["spec: at least one of 'from' or 'rules' has to be defined"]);
        let design = Profile::Design { system: Profile::SYSTEM.into() };
        assert_eq!(refused(text, LabelSource::Computed, &design), [""; 0]);
        let text = text.replace("GET", "''");
        assert_eq!(refused(&text, LabelSource::Computed, &design).len(), 1);
    }

    #[test]
    fn proxies_roles_and_documents_that_are_no_resources() {
        let proxy = "type: Dataplane\nmesh: m\nname: a\nnetworking: {inbound: [{port: x}]}";
        assert_eq!(
            release(proxy),
            ["networking.inbound[0].port: must be a number from 1 to 65535"]
        );
        let mixed = "apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmetadata: {name: a, namespace: shop}\nspec: {to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}], from: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]}";
        let want = "spec: it's not allowed to mix 'to' and 'from' arrays in the same policy";
        assert_eq!(release(mixed), [want]);
        assert_eq!(release("type: Mesh"), ["name: must be defined"]);
        assert_eq!(release("name: a"), ["type: must be defined"]);
    }
}
