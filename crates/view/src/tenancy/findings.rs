// SPDX-License-Identifier: Apache-2.0
//! In: what the stages found wrong. Out: what of it a reader may know. Not here: counting, text.
//!
//! A finding is for a reader if it stands in a document that may be read and depends on nothing else. Whether a target
//! exists, or which of two policies counts, depends on other documents; where all that matter may be read
//! ([`Sees::closed`](super::Sees::closed)), every finding is told, without places in documents that may not be read.

use overrule_engine::LadderId;
use overrule_model::ObjectId;
use overrule_source::{Basis, Diagnostic, Span};

use super::Reader;
use crate::diagnostics::item;
use crate::{ScenePart, v1};

impl Reader<'_> {
    /// The finding as the reader may know it; none if it may not.
    pub fn finding(&self, found: &Diagnostic) -> Option<Diagnostic> {
        let object = self.object_at(found.primary.as_ref()?.span).filter(|o| self.object(*o))?;
        if !self.closed(object) && found.code.basis != Basis::Document {
            return None;
        }
        let mut found = found.clone();
        found.related.retain(|label| self.span(label.span));
        Some(found)
    }

    /// Whether a place lies in a document that may be read.
    pub(super) fn span(&self, span: Span) -> bool {
        self.object_at(span).is_some_and(|o| self.object(o))
    }

    /// The object that is written around a place.
    fn object_at(&self, at: Span) -> Option<ObjectId> {
        self.scene.snapshot.written_at(self.scene.documents, at)
    }

    /// Findings about the policies on a ladder.
    pub(super) fn findings_on(
        &self,
        part: &ScenePart<'_>,
        ladder: LadderId,
    ) -> Vec<v1::DiagnosticItem> {
        let Some(findings) = self.scene.findings else { return Vec::new() };
        let policies = part.resolution.outcomes(ladder).iter();
        let objects = policies
            .filter_map(|(policy, _)| part.resolution.policy(*policy))
            .filter(|p| self.object(p.object))
            .filter_map(|p| self.scene.snapshot.get(p.object));
        let spans = objects.map(|o| self.scene.documents.view(o.root).span());
        let found = spans.flat_map(|span| findings.within(span));
        let found = found.filter_map(|d| self.finding(d));
        found.map(|d| item(&self.scene.documents.sources, &d)).collect()
    }
}
