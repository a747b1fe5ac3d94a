// SPDX-License-Identifier: Apache-2.0
//! In: an analysis, and texts whose policies say something else now. Out: an analysis with the new answers that shares
//! everything else with the one before. Not here: how a family goes on from its answers (`family::update`).
//!
//! Only if nothing but the content of policies changed: who they are, what they target and how old they are stays. That is
//! what nearly every change of a policy is.

use std::collections::BTreeSet;
use std::sync::Arc;

use overrule_family::{AnyFamily, Before, ContentChange, Replaced, Updated};
use overrule_gateway::topology::rests_on_assumptions;
use overrule_model::{Created, ObjectId, Snapshot};
use overrule_source::{Diagnostic, DocId, Documents, Piece, SourceId};

use crate::analysis::Touched;
use crate::answers::Answered;
use crate::families::own_kinds;
use crate::finding_set::FindingSet;
use crate::{Analysis, Assume, Options, families, placeholders};

/// A text that says something else now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewText<'a> {
    /// The text as it is.
    pub(crate) piece: &'a Piece,
    /// When its resources were created, if they do not say it themselves.
    pub(crate) created: Option<Created>,
}

/// A world in which a few texts have other words, before anything is resolved.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    pub(crate) documents: Documents,
    pub(crate) snapshot: Snapshot,
    /// What changed.
    pub(crate) changed: Vec<DocId>,
    pub(crate) objects: Vec<ObjectId>,
}

impl Analysis {
    /// Puts texts in the place of those they were. None if they have other resources than they had.
    pub(crate) fn patch(&self, texts: &[NewText<'_>], options: &Options) -> Option<Patch> {
        // What is assumed about age may depend on all texts.
        if options.assume_created != Assume::Newest {
            return None;
        }
        let (mut documents, mut snapshot) = (self.documents.clone(), self.snapshot.clone());
        let (mut changed, mut objects) = (Vec::new(), Vec::new());
        for text in texts {
            let (docs, ids);
            (documents, docs) = documents.with(text.piece)?;
            (snapshot, ids) =
                overrule_model::again(&snapshot, &documents, &docs, options.default_namespace())?;
            if let Some(created) = text.created {
                ids.iter().for_each(|id| snapshot.assume_created_of(*id, created));
            }
            changed.extend(docs);
            objects.extend(ids);
        }
        let rests = |documents: &Documents, snapshot: &Snapshot| {
            objects.iter().any(|object| rests_on_assumptions(documents, snapshot, *object))
        };
        // What is assumed, and the place that asks for it, may be another now.
        if options.assume_missing
            && (rests(&self.documents, &self.snapshot) || rests(&documents, &snapshot))
        {
            return None;
        }
        Some(Patch { documents, snapshot, changed, objects })
    }

    /// The same world in which a few texts say something else. `read` is what was found while these texts were read. None
    /// if more than the content of policies differs, or a family needs to resolve everything.
    pub(crate) fn updated(&self, patch: Patch, read: Vec<Diagnostic>) -> Option<Self> {
        let texts = patch.texts();
        // Requirements are about all paths.
        let unsure = self.has_placeholders || !self.base.variants.is_empty();
        let known = self.base.diagnostics.concerning(&texts);
        if unsure || !self.requirements.is_empty() || !known.is_empty() {
            return None;
        }
        let Patch { mut documents, mut snapshot, objects, .. } = patch;
        let (mut written, mut answers) = (self.written.clone(), self.answers.clone());
        let (mut touched, mut replaced, mut findings) = (Vec::new(), Vec::new(), read);
        let mut known = BTreeSet::new();
        let concerning: Vec<Arc<Diagnostic>> =
            self.diagnostics.concerning(&texts).into_iter().collect();
        for ((family, ground), written) in families().iter().zip(&self.grounds).zip(&mut written) {
            let is_theirs =
                |object: &&ObjectId| family.may_update(&**ground, &written.policies, **object);
            let theirs: Vec<ObjectId> = objects.iter().filter(is_theirs).copied().collect();
            if theirs.is_empty() {
                continue;
            }
            known.extend(theirs.iter().copied());
            let places = self.places_of(*family);
            let before: Vec<Before<'_>> =
                places.iter().map(|(_, answer)| answer.before()).collect();
            let Updated { policies, read, answers: now, extras, findings: found, replaced: theirs } =
                family.updated(ContentChange {
                    documents: &documents,
                    snapshot: &mut snapshot,
                    before: (&self.documents, &self.snapshot),
                    topology: &self.topology,
                    ground: &**ground,
                    policies: &written.policies,
                    objects: &theirs,
                    own_kinds: own_kinds(),
                    answers: &before,
                    findings: &concerning,
                })?;
            let extras = extras.into_iter().chain(std::iter::repeat(None));
            for (((place, answer), (resolution, ladders)), extra) in
                places.into_iter().zip(now).zip(extras)
            {
                touched.extend(ladders.into_iter().map(|ladder| (place, ladder)));
                *answers.get_mut(place)? = Arc::new(answer.with(resolution, extra));
            }
            findings.extend(read.iter().cloned());
            findings.extend(found);
            *written = written.with(policies, &texts, read);
            replaced.push(theirs);
        }
        if known.len() < objects.len() {
            return None;
        }
        if placeholders::soften(&documents.sources, &mut findings) {
            return None;
        }
        let diagnostics = self.with_findings(&texts, &replaced, findings)?;
        documents.compact();
        snapshot.compact();
        let (base, touched) = (Arc::clone(&self.base), Touched::Ladders(touched));
        let has_placeholders = false;
        Some(Self {
            documents,
            snapshot,
            base,
            written,
            answers,
            diagnostics,
            has_placeholders,
            touched,
        })
    }

    /// The answers of a family, with their places.
    fn places_of(&self, family: &dyn AnyFamily) -> Vec<(usize, &Answered)> {
        let all = self.answers.iter().map(|answer| &**answer).enumerate();
        all.filter(|(_, answer)| answer.family.name() == family.name()).collect()
    }

    /// Previous findings that are still true, and new ones. None if one comes or goes that cannot be told alone.
    fn with_findings(
        &self,
        texts: &BTreeSet<SourceId>,
        replaced: &[Replaced],
        mut found: Vec<Diagnostic>,
    ) -> Option<FindingSet> {
        let is_anywhere = |d: &Diagnostic| replaced.iter().any(|r| r.is_anywhere(d));
        if self.diagnostics.nowhere().chain(&found).any(is_anywhere) {
            return None;
        }
        let concern = |d: &Diagnostic| {
            let mut labels = d.primary.iter().chain(&d.related);
            labels.any(|label| texts.contains(&label.span.source))
        };
        let changes = |d: &Diagnostic| concern(d) || replaced.iter().any(|r| r.has(d));
        // What is found about others is not all there is about them.
        found.retain(changes);
        let mut sources = texts.clone();
        sources.extend(replaced.iter().flat_map(Replaced::sources));
        let mut gone = self.diagnostics.concerning(&sources);
        gone.retain(|d| changes(d));
        let mut changed = gone.iter().map(|d| &**d).chain(&found);
        if changed.any(|d| replaced.iter().any(|r| r.is_whole(d))) {
            return None;
        }
        let mut diagnostics = self.diagnostics.clone();
        gone.iter().for_each(|d| diagnostics.remove(d));
        found.into_iter().for_each(|d| diagnostics.insert(d));
        Some(diagnostics)
    }
}

impl Patch {
    /// The texts that changed, to tell which findings are about them.
    pub(crate) fn texts(&self) -> BTreeSet<SourceId> {
        let source = |doc: &DocId| self.documents.get(*doc).map(|d| d.source);
        self.changed.iter().filter_map(source).collect()
    }
}
