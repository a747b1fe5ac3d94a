// SPDX-License-Identifier: Apache-2.0
//! In: documents. Out: the same with the objects that controllers would make of them, in a text of their own; which object
//! each is made of. Not here: what they make (`Family::derived`).
//!
//! Nothing shows that text: its objects point at what they are made of, and findings about them are left out.

use overrule_family::{Derived, DerivedObject};
use overrule_model::{ObjectId, ObjectKey, Snapshot};
use overrule_source::{Diagnostic, Documents, Input, SourceId, Span};

use crate::concerns::{concerns, derived_from};
use crate::{Options, families};

/// The name of the text. It comes after every other, because texts stand in the order of their names.
const NAME: &str = "\u{10ffff}derived";

/// Adds what controllers would make. Gives what each document of the new text is made of, and findings.
pub(crate) fn add(documents: &mut Documents, options: &Options) -> Derived {
    *documents = std::mem::take(documents).without_last(NAME);
    let mut found = Derived::default();
    if !options.assume_missing || !documents.ids().any(|doc| may_run(documents, doc)) {
        return found;
    }
    let snapshot =
        overrule_model::parse_for(documents, concerns(), options.default_namespace()).snapshot;
    for family in families() {
        let Derived { objects, diagnostics } = family.derived(documents, &snapshot);
        found.objects.extend(objects);
        found.diagnostics.extend(diagnostics);
    }
    if !found.objects.is_empty() {
        let manifests = found.objects.iter().map(|object| object.manifest.to_string());
        let text = manifests.collect::<Vec<_>>().join("\n---\n");
        let piece = overrule_source::read_piece(Input::new(NAME, text), &options.reading());
        *documents = std::mem::take(documents).added(&piece);
    }
    found
}

/// Whether a document is, or holds, something that runs.
fn may_run(documents: &Documents, doc: overrule_source::DocId) -> bool {
    let root = documents.root(doc);
    match root.get("kind").and_then(|kind| kind.as_str()) {
        Some(kind) => derived_from().any(|own| own.kind == kind) || kind.ends_with("List"),
        None => root.get("apiVersion").is_none() && root.get("type").is_none(),
    }
}

/// Notes in a snapshot what objects are derived from. What is of the same name as an object of the input is not in it.
pub(crate) fn note(documents: &Documents, snapshot: &mut Snapshot, derived: &[DerivedObject]) {
    let Some(source) = source_of(documents).filter(|_| !derived.is_empty()) else { return };
    let noted = snapshot.objects().filter(|o| o.at.source == source).filter_map(|object| {
        let place = documents.get(object.root.doc)?.index;
        let from = derived.get(place as usize)?.from;
        Some((object.id, from, snapshot.find(from)?.at))
    });
    let noted: Vec<(ObjectId, ObjectKey, Span)> = noted.collect();
    snapshot.note_derived(noted);
}

/// Leaves out findings about what nobody wrote.
pub(crate) fn forget(documents: &Documents, diagnostics: &mut Vec<Diagnostic>) {
    let Some(source) = source_of(documents) else { return };
    diagnostics.retain(|d| d.primary.as_ref().is_none_or(|label| label.span.source != source));
}

/// How many texts were read.
pub(crate) fn texts_read(documents: &Documents) -> usize {
    documents.sources.len() - usize::from(source_of(documents).is_some())
}

fn source_of(documents: &Documents) -> Option<SourceId> {
    documents.sources.iter().last().filter(|(_, source)| source.name() == NAME).map(|(id, _)| id)
}
