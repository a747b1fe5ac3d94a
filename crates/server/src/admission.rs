// SPDX-License-Identifier: Apache-2.0
//! In: the body of a request, or a file. Out: the resources in it, each with its own text, and what is wrong with them.
//! Not here: who may write them, whether they are stored.

use overrule::kuma::{FAMILY, GROUP, LabelSource, Settings};
use overrule::model::{self, Object, Scope, Snapshot};
use overrule::source::{self, Basis, Diagnostic, DocId, Documents, Input, Piece, Read, Severity};
use overrule::view::{self, v1};
use overrule::{Judged, Options};
use overrule_store::{Form, Key, Place};

/// A resource and its own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Who it is.
    pub key: Key,
    /// Its text. Payloads of Secrets are not in it.
    pub text: String,
    /// What the text is.
    pub form: Form,
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
pub fn admit(name: &str, body: &[u8], options: &Options) -> Admitted {
    let read = source::read(vec![Input::new(name, body)], &options.reading());
    let alone = Judged::of(&read, options);
    let told = |d: &&Diagnostic| refuses(d) || is_about_text(d);
    let mut found: Vec<Diagnostic> = alone.diagnostics.iter().filter(told).cloned().collect();
    let mut manifests = split(&read, &alone.snapshot, options);
    manifests.retain(|manifest| match misnamed(&manifest.key) {
        None => true,
        Some(why) => {
            let bad = Diagnostic::new(&model::codes::INVALID_NAME, why);
            found.push(bad.field("name").help("use lower case letters, digits, `-`, `_`, `.`"));
            false
        }
    });
    if options.duplicate_keys == source::DuplicateKeys::LastWins {
        // Where the last one wins, it does among documents too.
        found.retain(|d| d.code.id != model::codes::DUPLICATE_RESOURCE.id);
    }
    let findings = view::diagnostics(&read.documents.sources, &found);
    found.retain(refuses);
    Admitted { manifests, refusals: found, findings, documents: read.documents }
}

/// Why a resource of Kuma's cannot have its name: no path would lead to it.
fn misnamed(key: &Key) -> Option<String> {
    let fine = |name: &str| {
        let allowed = |b: u8| b.is_ascii_digit() || b.is_ascii_lowercase() || b"-_.".contains(&b);
        !name.is_empty() && name.len() <= 253 && name.bytes().all(allowed)
    };
    let mesh = match &key.place {
        Place::Mesh(mesh) => mesh.as_str(),
        _ => "default",
    };
    let ours = key.group == GROUP;
    (ours && !(fine(&key.name) && fine(mesh))).then(|| {
        let name: String = key.name.chars().take(64).collect();
        format!(
            "`{name}` in mesh `{}` is not a valid name",
            mesh.chars().take(64).collect::<String>()
        )
    })
}

/// Every resource of a body, repeated ones too.
fn split(read: &Read, snapshot: &Snapshot, options: &Options) -> Vec<Manifest> {
    let documents = &read.documents;
    // Kuma's tools strip documents, which shows in a block of text at the end of one.
    let strips = Settings::read(options.settings.of(FAMILY)).labels == LabelSource::AsWritten;
    let mut found = Vec::new();
    for doc in documents.ids() {
        match alone(read, doc, strips, options) {
            // The usual case: a document that is a resource keeps its comments and its layout.
            Some(manifest) if manifest.key.kind != "Secret" => found.push(manifest),
            // A List, a Secret, or a layout that does not stand by itself.
            _ => {
                let inside = snapshot.objects().filter(|o| o.root.doc == doc);
                let mut inside: Vec<&Object> = inside.collect();
                inside.sort_by_key(|o| o.at.start);
                for object in inside {
                    let text = documents.view(object.root).to_json().to_string();
                    let key = key_of(snapshot, object);
                    found.push(Manifest { key, text, form: Form::Json, piece: None });
                }
            }
        }
    }
    found
}

/// A document as a text of its own, if that is one resource. It is not read again, unless its text could say something
/// else by itself.
fn alone(read: &Read, doc: DocId, strips: bool, options: &Options) -> Option<Manifest> {
    let documents = &read.documents;
    let range = documents.range_of(doc)?;
    let source = documents.get(doc)?.source;
    let whole = documents.sources.get(source)?.text().get(range.clone())?;
    let text = if strips { whole.trim() } else { whole };
    let start = range.start + (whole.len() - whole.trim_start().len()) * usize::from(strips);
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
    let form = if text.trim_start().starts_with('{') { Form::Json } else { Form::Yaml };
    Some(Manifest { key, text: text.to_owned(), form, piece })
}

/// The one resource of a text; none if there is none, or several.
fn one(piece: &Piece) -> Option<Key> {
    let read = Read::of([piece]);
    if read.documents.len() != 1 {
        return None;
    }
    let parsed = model::parse(&read.documents);
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

/// Who a mesh is.
pub fn mesh_key(name: &str) -> Key {
    Key {
        group: GROUP.to_owned(),
        kind: "Mesh".to_owned(),
        place: Place::Cluster,
        name: name.to_owned(),
    }
}

/// The mesh that a resource is, or is in.
pub fn mesh_of(key: &Key) -> Option<&str> {
    match &key.place {
        Place::Mesh(mesh) => Some(mesh),
        Place::Cluster if key.group == GROUP && key.kind == "Mesh" => Some(&key.name),
        _ => None,
    }
}

/// What findings and origins call a stored resource: a target name, with its group where that is not the usual one.
pub fn source_name(key: &Key) -> String {
    let kind = key.kind.to_lowercase();
    let kind = match key.group.as_str() {
        "" | "gateway.networking.k8s.io" | GROUP => kind,
        group => format!("{kind}.{group}"),
    };
    match &key.place {
        Place::Cluster => format!("{kind}/{}", key.name),
        Place::Namespace(place) | Place::Mesh(place) => format!("{kind}/{place}/{}", key.name),
    }
}
