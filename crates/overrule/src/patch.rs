// SPDX-License-Identifier: Apache-2.0
//! In: an analysis, and texts whose policies say something else now. Out: an analysis with the answers of today that shares
//! everything else with the one before. Not here: which targets that is about (`live`).
//!
//! Only for policies of kinds that descriptors describe, and only if nothing but their words changed: who they are, what
//! they target and how old they are stays. That is what nearly every change of a policy is.

use std::collections::BTreeSet;
use std::sync::Arc;

use overrule_engine::PolicyId;
use overrule_gateway::Gep713;
use overrule_gateway::policy::{self, Policy};
use overrule_gateway::resolve::{Words, reworded, told_again};
use overrule_model::{Created, ObjectId, Snapshot};
use overrule_source::{Diagnostic, DocId, Documents, CowVec, Piece, SourceId};

use crate::analysis::{Touched, Written, settle};
use crate::{Analysis, Assume, Options};

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
            (snapshot, ids) = overrule_model::again(&snapshot, &documents, &docs)?;
            if let Some(created) = text.created {
                ids.iter().for_each(|id| snapshot.assume_created_of(*id, created));
            }
            changed.extend(docs);
            objects.extend(ids);
        }
        Some(Patch { documents, snapshot, changed, objects })
    }

    /// The same world in which a few texts say something else. `read` is what was found while these texts were read. None
    /// if more than what policies say differs.
    pub(crate) fn reworded(&self, patch: Patch, read: Vec<Diagnostic>) -> Option<Self> {
        let texts = patch.texts();
        if self.base.diagnostics.iter().any(|d| texts.concern(d)) {
            return None;
        }
        let New { analysis: mut now, mut policies, changed, written } = self.with_words(patch)?;
        let (topology, kinds, resolution) = (&now.base.topology, now.base.kinds(), now.gateway());
        let (places, found) =
            told_again(&now.snapshot, topology, kinds, &policies, resolution, &changed)?;
        let holds = |d: &&Diagnostic| !texts.concern(d) && !places.concern(d);
        let mut diagnostics: Vec<Diagnostic> =
            self.diagnostics.iter().filter(holds).cloned().collect();
        diagnostics.extend(read);
        diagnostics.extend(written.iter().cloned());
        diagnostics.extend(found);
        now.diagnostics = settle(diagnostics, &now.documents);
        policies.settle();
        let described = now.written.first_mut()?;
        let unchanged = described.diagnostics.iter().filter(|d| !texts.concern(d)).cloned();
        let diagnostics = unchanged.chain(written).collect();
        *described = Written { policies: Arc::new(policies), diagnostics };
        now.documents.settle();
        now.snapshot.settle();
        // Nobody else has it yet.
        if let Some(gateway) = now.answers.first_mut().and_then(Arc::get_mut) {
            gateway.resolution.settle();
        }
        Some(now)
    }

    fn with_words(&self, patch: Patch) -> Option<New> {
        // Requirements are about all paths.
        if !self.requirements.is_empty() {
            return None;
        }
        let Patch { documents, mut snapshot, objects, .. } = patch;
        let (before, kinds) = (self.policies::<Gep713>()?, self.kinds());
        let (mut policies, mut written) = (Vec::with_capacity(objects.len()), Vec::new());
        for object in objects {
            let place = before.partition_point(|p| p.object < object);
            let was = before.get(place).filter(|p| p.object == object)?;
            let age = |of: &Snapshot| of.get(object).map(|o| o.created.key());
            if age(&snapshot) != age(&self.snapshot) {
                return None;
            }
            let (is, found) = policy::reparse(&documents, &mut snapshot, kinds, was)?;
            policies.push(Words { id: PolicyId(u32::try_from(place).ok()?), was, is });
            written.extend(found);
        }
        let (resolution, ladders) =
            reworded(&documents, &snapshot, kinds, self.gateway(), &policies)?;
        let changed = policies.iter().map(|words| words.id).collect();
        let mut now = before.clone();
        policies.into_iter().for_each(|Words { id, is, .. }| now.set(id.0 as usize, is));
        let mut answers = self.answers.clone();
        let gateway = answers.first_mut()?;
        *gateway = Arc::new(gateway.with(resolution));
        let mut all = self.written.clone();
        // Findings of before are not needed again; they come with the next whole resolution.
        all.first_mut()?.policies = Arc::new(now.clone());
        let analysis = Self {
            documents,
            snapshot,
            base: Arc::clone(&self.base),
            written: all,
            answers,
            diagnostics: Vec::new(),
            touched: Touched::Ladders(ladders.into_iter().map(|ladder| (0, ladder)).collect()),
        };
        Some(New { analysis, policies: now, changed, written })
    }
}

/// An analysis with other words, before findings.
struct New {
    analysis: Analysis,
    /// The policies of today.
    policies: CowVec<Policy>,
    changed: Vec<PolicyId>,
    /// What was found while these policies were read.
    written: Vec<Diagnostic>,
}

/// The sources of texts that changed.
pub(crate) struct Changed(BTreeSet<SourceId>);

impl Changed {
    /// Whether a finding points at one of them.
    pub(crate) fn concern(&self, diagnostic: &Diagnostic) -> bool {
        let mut labels = diagnostic.primary.iter().chain(&diagnostic.related);
        labels.any(|label| self.0.contains(&label.span.source))
    }
}

impl Patch {
    /// The texts that changed, to tell which findings are about them.
    pub(crate) fn texts(&self) -> Changed {
        let source = |doc: &DocId| self.documents.get(*doc).map(|d| d.source);
        Changed(self.changed.iter().filter_map(source).collect())
    }
}
