// SPDX-License-Identifier: Apache-2.0
//! In: the body of a request, or a file. Out: the resources in it, each with its own text, and what is wrong with them.
//! Not here: who may write them, whether they are stored.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use overrule::model::{self, Object, Scope, Snapshot, UNIVERSAL_GROUP};
use overrule::source::{
    self, Basis, Diagnostic, DocId, Documents, Input, Limits, Piece, Read, ReadOptions, Severity,
    SourceMap,
};
use overrule::view::{self, v1};
use overrule::{Judged, Options};
use overrule_store::{ResourceKey, ResourceScope, TextFormat};

use crate::changes::gravest;
use crate::extension::Extensions;

/// A resource and its own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Who it is.
    pub key: ResourceKey,
    /// Its text. Payloads of Secrets are not in it.
    pub text: String,
    /// What the text is.
    pub form: TextFormat,
    /// The text as it was read, under the name that findings will show; none if nobody has read it yet.
    pub piece: Option<Piece>,
}

/// What was found in a body. It is read once, and judged by nothing but itself.
#[derive(Debug)]
pub struct Admitted {
    /// Resources, in the order they stand.
    pub manifests: Vec<Manifest>,
    /// Findings that make it unacceptable.
    pub refusals: Vec<Diagnostic>,
    /// All findings that the body alone gives reason for, as `check` tells them.
    pub findings: v1::DiagnosticList,
    /// The body as it was read.
    pub documents: Documents,
}

/// Whether a finding makes a resource unacceptable: an error that nothing else could mend. Others (a target that is not
/// there yet) are told, but refused nowhere: resources come in any order.
pub fn refuses(found: &Diagnostic) -> bool {
    found.severity() == Severity::Error && found.code.basis != Basis::World
}

/// Whether a finding concerns nothing but the text: it cannot be read, or names nothing.
pub fn is_about_text(found: &Diagnostic) -> bool {
    let mut codes = source::codes::ALL.iter().chain(model::codes::ALL);
    codes.any(|code| *code == found.code)
}

/// Reads a body. `name` is what findings call it.
pub fn admit(name: &str, body: &[u8], options: &Options, extensions: &Extensions) -> Admitted {
    admit_within(Limits::default(), name, body, options, extensions)
}

/// Reads a body of a stranger.
pub fn admit_within(
    limits: Limits,
    name: &str,
    body: &[u8],
    options: &Options,
    extensions: &Extensions,
) -> Admitted {
    let reading = ReadOptions { limits, ..options.reading() };
    let read = source::read(vec![Input::new(name, body)], &reading);
    let alone = Judged::of(&read, options);
    let told = |d: &&Diagnostic| refuses(d) || is_about_text(d);
    let mut found: Vec<Diagnostic> = alone.diagnostics.iter().filter(told).cloned().collect();
    let mut manifests = split(&read, &alone.snapshot, options, extensions);
    manifests.retain(|manifest| {
        let refusal = extensions.refusal(&manifest.key);
        let fine = refusal.is_none();
        found.extend(refusal);
        fine
    });
    if options.duplicate_keys == source::DuplicateKeys::LastWins {
        // Where the last one wins, it does among documents too.
        found.retain(|d| d.code.id != model::codes::DUPLICATE_RESOURCE.id);
    }
    let findings = listed(&read.documents.sources, &found);
    found.retain(refuses);
    Admitted { manifests, refusals: found, findings, documents: read.documents }
}

/// Findings as an answer lists them: the gravest, and how many there are in all.
fn listed(sources: &SourceMap, found: &[Diagnostic]) -> v1::DiagnosticList {
    let (first, _) = gravest(found.iter().collect(), |d| Some(d.clone()));
    let count = |severity| found.iter().filter(|d| d.severity() == severity).count();
    v1::DiagnosticList {
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        notes: count(Severity::Note),
        ..view::diagnostics(sources, &first)
    }
}

/// Every resource of a body, repeated ones too.
fn split(
    read: &Read,
    snapshot: &Snapshot,
    options: &Options,
    extensions: &Extensions,
) -> Vec<Manifest> {
    let documents = &read.documents;
    // Looked through once, however many documents need it.
    let by_document = LazyCell::new(|| {
        let mut all: BTreeMap<DocId, Vec<&Object>> = BTreeMap::new();
        for object in snapshot.all_read() {
            all.entry(object.root.doc).or_default().push(object);
        }
        all
    });
    let mut found = Vec::new();
    for doc in documents.ids() {
        match alone(read, doc, options, extensions) {
            // The usual case: a document that is a resource keeps its comments and its layout.
            Some(manifest) if manifest.key.kind != "Secret" => found.push(manifest),
            // A List, a Secret, or a layout that does not stand by itself.
            _ => {
                let mut inside = by_document.get(&doc).cloned().unwrap_or_default();
                inside.sort_by_key(|o| o.at.start);
                for object in inside {
                    let text = documents.view(object.root).to_json().to_string();
                    let key = key_of(snapshot, object);
                    found.push(Manifest { key, text, form: TextFormat::Json, piece: None });
                }
            }
        }
    }
    found
}

/// A document as a text of its own, if that is one resource. It is not read again, unless its text could say something
/// else by itself.
fn alone(read: &Read, doc: DocId, options: &Options, extensions: &Extensions) -> Option<Manifest> {
    let documents = &read.documents;
    let range = documents.range_of(doc)?;
    let source = documents.get(doc)?.source;
    let whole = documents.sources.get(source)?.text().get(range.clone())?;
    let text = extensions.kept(whole, options);
    let start = range.start + whole.find(text)?;
    let cut = read.cut(doc, start..start + text.len(), "");
    let (key, piece) = match cut {
        Some(piece) => (one(&piece)?, Some(piece)),
        None => {
            let piece = source::read_piece(Input::new("", whole), &options.reading());
            let key = one(&piece)?;
            (key, (text == whole).then_some(piece))
        }
    };
    let piece = piece.map(|piece| piece.named(source_name(&key)));
    let form = if text.trim_start().starts_with('{') { TextFormat::Json } else { TextFormat::Yaml };
    Some(Manifest { key, text: text.to_owned(), form, piece })
}

/// The one resource of a text; none if there is none, or several.
fn one(piece: &Piece) -> Option<ResourceKey> {
    let read = Read::of([piece]);
    if read.documents.len() != 1 {
        return None;
    }
    let parsed = model::parse(&read.documents);
    let mut objects = parsed.snapshot.all_read();
    let object = objects.next()?;
    let root = read.documents.root(object.root.doc);
    let is_root = object.root.node == root.id() && objects.next().is_none();
    is_root.then(|| key_of(&parsed.snapshot, object))
}

/// Who an object is.
pub fn key_of(snapshot: &Snapshot, object: &Object) -> ResourceKey {
    let text = |sym| snapshot.text(sym).to_owned();
    ResourceKey {
        group: text(object.kind.group),
        kind: text(object.kind.kind),
        place: match object.scope {
            Scope::Cluster => ResourceScope::Cluster,
            Scope::Namespace(name) => ResourceScope::Namespace(text(name)),
            Scope::Mesh(name) => ResourceScope::Mesh(text(name)),
        },
        name: text(object.name),
    }
}

/// The mesh that a resource is, or is in.
pub fn mesh_of(key: &ResourceKey) -> Option<&str> {
    match &key.place {
        ResourceScope::Mesh(mesh) => Some(mesh),
        ResourceScope::Cluster if key.group == UNIVERSAL_GROUP && key.kind == "Mesh" => {
            Some(&key.name)
        }
        _ => None,
    }
}

/// What findings and origins call a stored resource: a target name, with its group where that is not the usual one.
pub fn source_name(key: &ResourceKey) -> String {
    let kind = key.kind.to_lowercase();
    let kind = match key.group.as_str() {
        "" | "gateway.networking.k8s.io" | UNIVERSAL_GROUP => kind,
        group => format!("{kind}.{group}"),
    };
    match &key.place {
        ResourceScope::Cluster => format!("{kind}/{}", key.name),
        ResourceScope::Namespace(place) | ResourceScope::Mesh(place) => {
            format!("{kind}/{place}/{}", key.name)
        }
    }
}
