// SPDX-License-Identifier: Apache-2.0
//! In: trees and the sources they came from. Out: small ids that name any node of any document, and views of them.
//! Not here: reading (`reader`), what a document means (the `model` crate).

use std::ops::Range;
use std::sync::Arc;

use crate::cow_vec::CowVec;
use crate::piece::Piece;
use crate::source_map::{SourceId, SourceMap, Span};
use crate::tree::{Tree, TreeNodeId, View};

/// Index of a [`Document`] in its [`Documents`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u32);

/// One node of one document: what provenance is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    /// The document.
    pub doc: DocId,
    /// The node in it.
    pub node: TreeNodeId,
}

/// One document of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The source it was read from.
    pub source: SourceId,
    /// Which document of its source it is, from 0, counting those that could not be read but no empty ones.
    pub index: u32,
    /// Its content. It may be part of several readings.
    pub tree: Arc<Tree>,
}

/// Every document of one reading, in the order of the inputs, with the texts they point into.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Documents {
    /// The texts, redacted ranges blanked.
    pub sources: SourceMap,
    documents: CowVec<Document>,
}

/// What an id of another reading shows: nothing. A wrong id is a bug of the caller, not a reason to abort a run.
static NOTHING: Tree = Tree::empty();

impl Documents {
    /// The ids of all documents, in order.
    pub fn ids(&self) -> impl Iterator<Item = DocId> + use<> {
        (0..u32::try_from(self.documents.len()).unwrap_or(u32::MAX)).map(DocId)
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// One document.
    pub fn get(&self, doc: DocId) -> Option<&Document> {
        self.documents.get(doc.0 as usize)
    }

    /// The root node of a document.
    pub fn root(&self, doc: DocId) -> View<'_> {
        self.view(NodeRef { doc, node: TreeNodeId(0) })
    }

    /// The node an id names. An id this value did not hand out shows as null.
    pub fn view(&self, at: NodeRef) -> View<'_> {
        match self.get(at.doc) {
            Some(document) => {
                let text = self.sources.get(document.source).map_or("", |source| source.text());
                View::new(text, &document.tree, document.source, at.node)
            }
            None => View::new("", &NOTHING, SourceId(0), TreeNodeId(0)),
        }
    }

    /// The id of a node seen through a view of that document.
    pub fn node_ref(view: View<'_>, doc: DocId) -> NodeRef {
        NodeRef { doc, node: view.id() }
    }

    /// Gives up sharing with what it was made from if more than a few texts differ.
    pub fn compact(&mut self) {
        self.sources.compact();
        self.documents.compact();
    }

    /// The documents that were read anew since an earlier reading of the same texts. None if there are more or fewer now.
    pub fn changed_since(&self, before: &Self) -> Option<Vec<DocId>> {
        let same =
            |a: &Document, b: &Document| a.source == b.source && Arc::ptr_eq(&a.tree, &b.tree);
        (self.len() == before.len()).then(|| {
            let places = self.documents.differing(&before.documents, same);
            places.into_iter().map(|at| DocId(u32::try_from(at).unwrap_or(u32::MAX))).collect()
        })
    }

    /// Bytes held by the trees (the texts not counted).
    pub fn memory(&self) -> usize {
        self.documents.iter().map(|d| size_of::<Document>() + d.tree.memory()).sum()
    }

    /// All of them, in the order of the sources.
    pub(crate) fn new(sources: SourceMap, documents: Vec<Document>) -> Self {
        Self { sources, documents: documents.into() }
    }

    /// The documents of a source.
    fn of_source(&self, source: SourceId) -> Range<usize> {
        let of = |at: usize| self.documents.get(at).map(|d| d.source);
        // Where every text has one document, it stands where its text stands.
        let at = source.0 as usize;
        let only = of(at) == Some(source) && at.checked_sub(1).and_then(of) != Some(source);
        let start = match only {
            true => at,
            false => self.documents.partition_point(|d| d.source < source),
        };
        let end = (start..).find(|at| of(*at) != Some(source));
        start..end.unwrap_or(start)
    }

    /// The document that a place is in.
    pub fn at(&self, place: Span) -> Option<DocId> {
        let range = self.of_source(place.source);
        let id = |at: usize| u32::try_from(at).ok().map(DocId);
        let begins =
            |at: usize| id(at).is_some_and(|doc| self.root(doc).span().start <= place.start);
        // The last one that begins before it.
        let (mut from, mut to) = (range.start, range.end);
        while from < to {
            let middle = from.midpoint(to);
            if begins(middle) { from = middle + 1 } else { to = middle }
        }
        id(from.checked_sub(1).filter(|at| *at >= range.start)?)
    }

    /// The same with one more text, after all others.
    #[must_use]
    pub fn added(mut self, piece: &Piece) -> Self {
        let source = self.sources.add(piece.source());
        let documents = piece.trees().map(|(index, tree)| Document { source, index, tree });
        self.documents.edit().extend(documents);
        self
    }

    /// The same without its last text, if that has this name.
    #[must_use]
    pub fn without_last(mut self, name: &str) -> Self {
        let last = self.sources.iter().last().filter(|(_, source)| source.name() == name);
        if let Some((source, _)) = last {
            self.documents.edit().retain(|document| document.source != source);
            self.sources.remove_last();
        }
        self
    }

    /// The same with other words in one of the texts, which has as many documents as it had; all that is not about it is
    /// shared. Gives the documents that changed. None if no text, or more than one, has its name. The texts must be in
    /// the order of their names.
    pub fn with(&self, piece: &Piece) -> Option<(Self, Vec<DocId>)> {
        let source = self.sources.only(piece.name())?;
        let places = self.of_source(source);
        let same = piece.len() == places.len();
        let trees = same.then(|| piece.trees())?;
        let mut now = self.clone();
        now.sources.set(source, piece.source());
        let mut changed = Vec::with_capacity(piece.len());
        for (place, (index, tree)) in places.zip(trees) {
            now.documents.set(place, Document { source, index, tree });
            changed.push(DocId(u32::try_from(place).unwrap_or(u32::MAX)));
        }
        Some((now, changed))
    }
}
