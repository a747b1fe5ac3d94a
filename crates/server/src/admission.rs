// SPDX-License-Identifier: Apache-2.0
//! In: the body of a request, or a file. Out: the resources in it, each with its own text, and what is wrong with them.
//! Not here: who may write them, whether they are stored.

use overrule::model::{Object, Scope, Snapshot, UNIVERSAL_GROUP};
use overrule::source::{Diagnostic, Documents, Input, NodeRef, Severity};
use overrule::view::{self, v1};
use overrule::{Analysis, Options};
use overrule_store::{Form, Key, Place};

use crate::extension::Extensions;

/// A resource and its own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Who it is.
    pub key: Key,
    /// Its text. Payloads of Secrets are not in it.
    pub text: String,
    /// What the text is.
    pub form: Form,
}

/// What was found in a body.
#[derive(Debug)]
pub struct Admitted {
    /// Resources, in the order they stand.
    pub manifests: Vec<Manifest>,
    /// Findings that make it unacceptable.
    pub refusals: Vec<Diagnostic>,
    /// All findings that the body alone gives reason for, as `check` tells them.
    pub findings: v1::DiagnosticList,
}

/// Codes of errors that a resource has by itself, whatever else exists. Others (a target that is not there yet) are told,
/// but refused nowhere: resources come in any order.
const BY_ITSELF: [&str; 16] = [
    "OV1211", "OV1214", "OV1217", "OV1310", "OV1311", "OV1317", "OV1323", "OV1401", "OV1402",
    "OV1501", "OV1502", "OV1601", "OV1602", "OV1627", "OV1303", "OV1306",
];

/// Whether a finding makes a resource unacceptable.
pub fn refuses(found: &Diagnostic) -> bool {
    let id = found.code.id;
    found.severity() == Severity::Error && (is_about_text(found) || BY_ITSELF.contains(&id))
}

/// Reads a body. `name` is what findings call it.
pub fn admit(name: &str, body: &[u8], options: &Options, extensions: &Extensions) -> Admitted {
    let alone = Analysis::new(vec![Input::new(name, body)], options);
    let told = |d: &&Diagnostic| refuses(d) || is_about_text(d);
    let mut found: Vec<Diagnostic> = alone.diagnostics.iter().filter(told).cloned().collect();
    let mut manifests = split(&alone, options, extensions);
    manifests.retain(|manifest| {
        let refusal = extensions.refusal(&manifest.key);
        let fine = refusal.is_none();
        found.extend(refusal);
        fine
    });
    if options.duplicate_keys == overrule::source::DuplicateKeys::LastWins {
        // Where the last one wins, it does among documents too.
        found.retain(|d| d.code.id != overrule::model::codes::DUPLICATE_RESOURCE.id);
    }
    let findings = view::diagnostics(&alone.documents.sources, &found);
    found.retain(refuses);
    Admitted { manifests, refusals: found, findings }
}

/// Whether a finding concerns nothing but the text: it cannot be read, or names nothing.
pub fn is_about_text(found: &Diagnostic) -> bool {
    found.code.id.starts_with("OV10") || found.code.id.starts_with("OV11")
}

/// Every resource of a body, repeated ones too.
fn split(alone: &Analysis, options: &Options, extensions: &Extensions) -> Vec<Manifest> {
    let documents = &alone.documents;
    let mut found = Vec::new();
    for doc in documents.ids() {
        let root = documents.root(doc);
        let at = NodeRef { doc, node: root.id() };
        let whole = text_of(documents, at).map(str::to_owned);
        let resources = whole.and_then(|text| one(&text, options).map(|key| (text, key)));
        match resources {
            // The usual case: a document that is a resource keeps its comments and its layout.
            Some((text, key)) if key.kind != "Secret" => {
                let text = extensions.kept(text, options);
                let form = if text.trim_start().starts_with('{') { Form::Json } else { Form::Yaml };
                found.push(Manifest { key, text, form });
            }
            // A List, a Secret, or a layout that does not stand by itself.
            _ => {
                let inside = alone.snapshot.objects().filter(|o| o.root.doc == doc);
                let mut inside: Vec<&Object> = inside.collect();
                inside.sort_by_key(|o| o.at.start);
                for object in inside {
                    let value = documents.view(object.root).to_json();
                    let key = key_of(&alone.snapshot, object);
                    found.push(Manifest { key, text: value.to_string(), form: Form::Json });
                }
            }
        }
    }
    found
}

/// The text of a document, from its first key to its last value.
fn text_of(documents: &Documents, at: NodeRef) -> Option<&str> {
    let span = documents.view(at).span();
    let text = documents.sources.get(span.source)?.text();
    // Lines are kept whole, so that nothing behind the last value is cut in two.
    let end = usize::try_from(span.end).ok()?;
    let rest = text.get(end..)?;
    let line = rest.find('\n').map_or(rest.len(), |i| i + 1);
    let tail = rest.get(..line)?;
    let end =
        if tail.trim_start().starts_with('#') || tail.trim().is_empty() { end + line } else { end };
    text.get(usize::try_from(span.start).ok()?..end)
}

/// The one resource of a text; none if there is none, or several.
fn one(text: &str, options: &Options) -> Option<Key> {
    let read = overrule::source::read_one("", text, &options.reading());
    if read.documents.len() != 1 {
        return None;
    }
    let parsed = overrule::model::parse(&read.documents);
    let mut objects = parsed.snapshot.objects();
    let object = objects.next()?;
    let root = read.documents.root(object.root.doc);
    let is_root = object.root.node == root.id() && objects.next().is_none();
    is_root.then(|| key_of(&parsed.snapshot, object))
}

/// Who an object is.
pub fn key_of(snapshot: &Snapshot, object: &Object) -> Key {
    let text = |sym| snapshot.text(sym).to_owned();
    Key {
        group: text(object.kind.group),
        kind: text(object.kind.kind),
        place: match object.scope {
            Scope::Cluster => Place::Cluster,
            Scope::Namespace(name) => Place::Namespace(text(name)),
            Scope::Mesh(name) => Place::Mesh(text(name)),
        },
        name: text(object.name),
    }
}

/// The mesh that a resource is, or is in.
pub fn mesh_of(key: &Key) -> Option<&str> {
    match &key.place {
        Place::Mesh(mesh) => Some(mesh),
        Place::Cluster if key.group == UNIVERSAL_GROUP && key.kind == "Mesh" => Some(&key.name),
        _ => None,
    }
}

/// What findings and origins call a stored resource: a target name, with its group where that is not the usual one.
pub fn source_name(key: &Key) -> String {
    let kind = key.kind.to_lowercase();
    let kind = match key.group.as_str() {
        "" | "gateway.networking.k8s.io" | UNIVERSAL_GROUP => kind,
        group => format!("{kind}.{group}"),
    };
    match &key.place {
        Place::Cluster => format!("{kind}/{}", key.name),
        Place::Namespace(place) | Place::Mesh(place) => format!("{kind}/{place}/{}", key.name),
    }
}
