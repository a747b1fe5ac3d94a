// SPDX-License-Identifier: Apache-2.0
//! In: an analysis, and texts whose policies say something else now. Out: an analysis with the answers of today that shares
//! everything else with the one before. Not here: which targets that is about (`live`).
//!
//! Only for policies of kinds that descriptors describe, and only if nothing but their words changed: who they are, what
//! they target and how old they are stays. That is what nearly every change of a policy is.

use std::sync::Arc;

use overrule_engine::PolicyId;
use overrule_gateway::policy;
use overrule_gateway::resolve::{Words, reworded};
use overrule_model::{Created, ObjectId, Snapshot};
use overrule_source::{DocId, Documents, Piece, SourceId};

use crate::families::{Answered, Wanted};
use crate::{Analysis, Assume, Options};

/// A text whose words changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewWords<'a> {
    /// The text as it is.
    pub(crate) piece: &'a Piece,
    /// When its resources were created, if they do not say it themselves.
    pub(crate) created: Option<Created>,
    /// How many resources it has, and had.
    pub(crate) resources: usize,
    /// Where it stands among all texts; a guess.
    pub(crate) place: SourceId,
}

/// A world in which a few texts have other words, before anything is resolved.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) documents: Documents,
    pub(crate) snapshot: Snapshot,
    /// What changed.
    pub(crate) changed: Vec<DocId>,
    pub(crate) objects: Vec<ObjectId>,
}

impl Analysis {
    /// Puts texts in the place of those they were. None if they have other resources than they had.
    pub(crate) fn patch(&self, texts: &[NewWords<'_>], options: &Options) -> Option<Patch> {
        // What is assumed about age may depend on all texts.
        if options.assume_created != Assume::Newest {
            return None;
        }
        let (mut documents, mut snapshot) = (self.documents.clone(), self.snapshot.clone());
        let (mut changed, mut objects) = (Vec::new(), Vec::new());
        for text in texts {
            let (docs, ids);
            (documents, docs) = documents.with(text.piece, text.place)?;
            (snapshot, ids) = overrule_model::again(&snapshot, &documents, &docs, text.resources)?;
            if let Some(created) = text.created {
                ids.iter().for_each(|id| snapshot.assume_created_of(*id, created));
            }
            changed.extend(docs);
            objects.extend(ids);
        }
        Some(Patch { documents, snapshot, changed, objects })
    }

    /// The same world with other words in a few texts, without findings. None if more than what policies say differs.
    pub(crate) fn reworded(&self, texts: &[NewWords<'_>], options: &Options) -> Option<Self> {
        // Requirements are about all paths.
        let patch = self.patch(texts, options).filter(|_| self.requirements.is_empty())?;
        let Patch { documents, mut snapshot, objects, .. } = patch;
        let mut policies = Vec::with_capacity(objects.len());
        for object in objects {
            let place = self.policies.partition_point(|p| p.object < object);
            let was = self.policies.get(place).filter(|p| p.object == object)?;
            let age = |of: &Snapshot| of.get(object).map(|o| o.created.key());
            if age(&snapshot) != age(&self.snapshot) {
                return None;
            }
            let (is, _) = policy::reparse(&documents, &mut snapshot, &self.kinds, was)?;
            policies.push(Words { id: PolicyId(u32::try_from(place).ok()?), was, is });
        }
        let resolution = reworded(&documents, &snapshot, &self.kinds, self.gateway(), &policies)?;
        let mut now = self.policies.clone();
        policies.into_iter().for_each(|Words { id, is, .. }| now.set(id.0 as usize, is));
        let mut answers = self.answers.clone();
        let gateway = answers.first_mut()?;
        let wanted = Wanted { profile: gateway.profile, shown: gateway.shown };
        *gateway = Arc::new(Answered::gateway(wanted, resolution));
        Some(Self {
            documents,
            snapshot,
            base: Arc::clone(&self.base),
            policies: now,
            written: Vec::new(),
            kuadrant: Arc::clone(&self.kuadrant),
            kgateway: Arc::clone(&self.kgateway),
            kgateway_settings: Arc::clone(&self.kgateway_settings),
            answers,
            diagnostics: Vec::new(),
        })
    }
}
