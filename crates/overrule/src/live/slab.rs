// SPDX-License-Identifier: Apache-2.0
//! In: texts that come and go. Out: each by its place, which it keeps while it is there. Not here: who concerns whom
//! (`links`).

use std::sync::Arc;

use overrule_model::Created;
use overrule_source::Piece;

use super::facts::Facts;
use super::links::PieceId;
use crate::reworded::NewWords;

/// A text of the world.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) piece: Piece,
    pub(super) created: Option<Created>,
    pub(super) facts: Box<[Facts]>,
}

impl Kept {
    /// What takes the place of the words it had.
    pub(super) fn words(&self) -> NewWords<'_> {
        let Self { piece, created, facts } = self;
        NewWords { piece, created: *created, resources: facts.len() }
    }
}

/// Texts by place; places of texts that went are taken again.
#[derive(Debug, Default)]
pub(super) struct Slab {
    kept: Vec<Option<Arc<Kept>>>,
    free: Vec<PieceId>,
}

impl Slab {
    pub(super) fn get(&self, id: PieceId) -> Option<&Arc<Kept>> {
        self.kept.get(id as usize)?.as_ref()
    }

    pub(super) fn insert(&mut self, kept: Arc<Kept>) -> PieceId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.kept.push(None);
            PieceId::try_from(self.kept.len() - 1).unwrap_or(PieceId::MAX)
        });
        self.replace(id, kept);
        id
    }

    /// Another text in the place of one.
    pub(super) fn replace(&mut self, id: PieceId, kept: Arc<Kept>) {
        if let Some(slot) = self.kept.get_mut(id as usize) {
            *slot = Some(kept);
        }
    }

    pub(super) fn remove(&mut self, id: PieceId) -> Option<Arc<Kept>> {
        let kept = self.kept.get_mut(id as usize)?.take()?;
        self.free.push(id);
        Some(kept)
    }

    /// The facts of a piece.
    pub(super) fn facts(&self, piece: PieceId) -> &[Facts] {
        self.get(piece).map_or(&[], |kept| &kept.facts)
    }
}
