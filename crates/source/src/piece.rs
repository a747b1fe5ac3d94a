// SPDX-License-Identifier: Apache-2.0
//! In: what was read. Out: the same text by text, and put together again in any selection without reading again.
//! Not here: reading (`reader`).
//!
//! A text that did not change need not be read twice: its tree points into itself only, so that it can stand in
//! several readings at once. What differs between them is the number of its source.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Label};
use crate::document::{Document, Documents};
use crate::reader::Read;
use crate::source_map::{Source, SourceId, SourceMap, Span};
use crate::tree::Tree;

/// One text as it was read. Cheap to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    source: Arc<Source>,
    /// Each document with its number in the text.
    trees: Vec<(u32, Arc<Tree>)>,
    diagnostics: Vec<Diagnostic>,
}

impl Piece {
    pub(crate) fn new(
        source: Source,
        trees: Vec<(u32, Arc<Tree>)>,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        Self { source: Arc::new(source), trees, diagnostics }
    }

    /// The name of its text.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// The same text under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Box<str>>) -> Self {
        Arc::make_mut(&mut self.source).rename(name.into());
        self
    }

    /// Its text.
    pub fn text(&self) -> &str {
        self.source.text()
    }

    pub(crate) fn source(&self) -> Arc<Source> {
        Arc::clone(&self.source)
    }

    /// Its documents, each with its number in the text.
    pub(crate) fn trees(&self) -> impl Iterator<Item = (u32, Arc<Tree>)> {
        self.trees.iter().map(|(index, tree)| (*index, Arc::clone(tree)))
    }

    /// How many documents it has.
    pub fn len(&self) -> usize {
        self.trees.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }
}

impl Read {
    /// Puts pieces together as if they had been read together, in this order.
    pub fn of<'p>(pieces: impl IntoIterator<Item = &'p Piece>) -> Self {
        let (mut sources, mut documents, mut diagnostics) = (Vec::new(), Vec::new(), Vec::new());
        for (source, piece) in (0..).map(SourceId).zip(pieces) {
            sources.push(piece.source());
            documents.extend(piece.trees().map(|(index, tree)| Document { source, index, tree }));
            diagnostics.extend(piece.diagnostics.iter().map(|d| moved(d.clone(), source)));
        }
        Self { documents: Documents::new(SourceMap::new(sources), documents), diagnostics }
    }

    /// Takes a reading apart, text by text in its order.
    pub fn pieces(self) -> Vec<Piece> {
        let Self { documents, diagnostics } = self;
        let mut pieces: Vec<Piece> = documents
            .sources
            .shared()
            .map(|source| Piece { source, trees: Vec::new(), diagnostics: Vec::new() })
            .collect();
        for document in documents.all() {
            if let Some(piece) = pieces.get_mut(document.source.0 as usize) {
                piece.trees.push((document.index, Arc::clone(&document.tree)));
            }
        }
        for diagnostic in diagnostics {
            let source = diagnostic.primary.as_ref().map_or(SourceId(0), |at| at.span.source);
            if let Some(piece) = pieces.get_mut(source.0 as usize) {
                piece.diagnostics.push(moved(diagnostic, SourceId(0)));
            }
        }
        pieces
    }
}

/// A finding of one text, when that text has another number. Reading never relates one text to another.
fn moved(mut diagnostic: Diagnostic, source: SourceId) -> Diagnostic {
    let to = |label: &mut Label| label.span = Span { source, ..label.span };
    diagnostic.primary.iter_mut().for_each(to);
    diagnostic.related.iter_mut().for_each(to);
    diagnostic
}

impl Documents {
    /// What was found while some of its texts were read. None if no text, or more than one, has the name of one of them.
    /// The texts must be in the order of their names.
    pub fn findings<'p>(
        &self,
        pieces: impl IntoIterator<Item = &'p Piece>,
    ) -> Option<Vec<Diagnostic>> {
        let mut found = Vec::new();
        for piece in pieces.into_iter().filter(|piece| !piece.diagnostics.is_empty()) {
            let source = self.sources.only(piece.name())?;
            found.extend(piece.diagnostics.iter().map(|d| moved(d.clone(), source)));
        }
        Some(found)
    }

    fn all(&self) -> impl Iterator<Item = &Document> {
        self.ids().filter_map(|id| self.get(id))
    }
}
