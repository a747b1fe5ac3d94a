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
use overrule_model::{Created, Snapshot};
use overrule_source::Piece;

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
}

impl Analysis {
    /// The same world with other words in a few texts, without findings. None if more than what policies say differs.
    pub(crate) fn reworded(&self, texts: &[NewWords<'_>], options: &Options) -> Option<Self> {
        // What is assumed about age depends on all texts, and requirements are about all paths.
        if options.assume_created != Assume::Newest || !self.requirements.is_empty() {
            return None;
        }
        let (mut documents, mut snapshot) = (self.documents.clone(), self.snapshot.clone());
        let mut policies = Vec::new();
        for text in texts {
            let (changed, objects);
            (documents, changed) = documents.with(text.piece)?;
            (snapshot, objects) =
                overrule_model::again(&snapshot, &documents, &changed, text.resources)?;
            for object in objects {
                if let Some(created) = text.created {
                    snapshot.assume_created_of(object, created);
                }
                let place = self.policies.partition_point(|p| p.object < object);
                let was = self.policies.get(place).filter(|p| p.object == object)?;
                let age = |of: &Snapshot| of.get(object).map(|o| o.created.key());
                if age(&snapshot) != age(&self.snapshot) {
                    return None;
                }
                let (is, _) = policy::reparse(&documents, &mut snapshot, &self.kinds, was)?;
                let id = PolicyId(u32::try_from(place).ok()?);
                policies.push(Words { id, was, is });
            }
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
