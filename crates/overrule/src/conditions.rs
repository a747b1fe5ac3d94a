// SPDX-License-Identifier: Apache-2.0
//! In: an analysis. Out: the conditions controllers would write on policies and on their targets. Not here: which
//! words they have; each family knows its own.

use overrule_family::{Affected, Condition, ReadWorld};
use overrule_model::ObjectId;

use crate::{Analysis, Answered, families};

impl Analysis {
    /// The conditions of every policy of a family, in the order of its policies; none for families whose controllers are
    /// not known.
    pub fn policy_conditions(&self, family: &str) -> Vec<Vec<Condition>> {
        let Some(answer) = self.shown().find(|a| a.family.name() == family) else {
            return Vec::new();
        };
        let known = self.known(answer);
        known
            .map(|known| answer.family.conditions(known, answer.profile, &answer.resolution))
            .unwrap_or_default()
    }

    /// The conditions of targets.
    pub fn affected(&self) -> Vec<Affected> {
        let all = self.shown().filter_map(|answer| {
            let known = self.known(answer)?;
            Some(answer.family.affected(known, answer.profile, &answer.resolution))
        });
        all.flatten().collect()
    }

    /// The policies that the family of an answer refuses for what they say themselves.
    pub fn refused(&self, answer: &Answered) -> Vec<ObjectId> {
        let known = self.known(answer);
        known.map(|known| answer.family.refused(known, answer.profile)).unwrap_or_default()
    }

    /// What a policy says besides where it acts, if its family can tell.
    pub fn content(&self, answer: &Answered, policy: ObjectId) -> Option<serde_json::Value> {
        answer.family.content(self.known(answer)?, policy)
    }

    /// What the family of an answer read.
    pub(crate) fn known(&self, answer: &Answered) -> Option<ReadWorld<'_>> {
        let place = families().iter().position(|f| f.name() == answer.family.name())?;
        Some(ReadWorld {
            documents: &self.documents,
            snapshot: &self.snapshot,
            topology: &self.topology,
            ground: &**self.grounds.get(place)?,
            policies: self.written.get(place).map(|written| &written.policies)?,
        })
    }
}
