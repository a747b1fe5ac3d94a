// SPDX-License-Identifier: Apache-2.0
//! In: texts that come and go. Out: each by its key and by its place, which it keeps while it is there. Not here: who concerns whom
//! (`links`).

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};
use overrule_model::Created;
use overrule_source::{Piece, SourceId};

use super::facts::Facts;
use super::links::PieceId;
use crate::reworded::NewWords;

/// A text of the world.
#[derive(Debug)]
pub(super) struct Kept {
    /// What tells it apart from all others.
    pub(super) key: Box<str>,
    pub(super) piece: Piece,
    pub(super) created: Option<Created>,
    pub(super) facts: Box<[Facts]>,
    /// Which of the texts of the last whole resolution it was: where to look for it first.
    place: AtomicU32,
}

impl Kept {
    pub(super) fn new(
        key: Box<str>,
        piece: Piece,
        created: Option<Created>,
        facts: Box<[Facts]>,
    ) -> Self {
        Self { key, piece, created, facts, place: AtomicU32::new(0) }
    }

    /// What takes the place of the words it had.
    pub(super) fn words(&self) -> NewWords<'_> {
        let Self { piece, created, facts, place, .. } = self;
        let place = SourceId(place.load(Ordering::Relaxed));
        NewWords { piece, created: *created, resources: facts.len(), place }
    }

    /// Says which of all texts it is.
    pub(super) fn stands_at(&self, place: u32) {
        self.place.store(place, Ordering::Relaxed);
    }

    /// Says that it is where another one was.
    pub(super) fn stands_for(&self, was: &Self) {
        self.stands_at(was.place.load(Ordering::Relaxed));
    }
}

/// Texts by place and by key; places of texts that went are taken again.
#[derive(Debug, Default)]
pub(super) struct Slab {
    kept: Vec<Option<Arc<Kept>>>,
    free: Vec<PieceId>,
    by_key: HashTable<PieceId>,
    hasher: DefaultHashBuilder,
}

impl Slab {
    pub(super) fn get(&self, id: PieceId) -> Option<&Arc<Kept>> {
        self.kept.get(id as usize)?.as_ref()
    }

    /// Every text.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Kept>> {
        self.kept.iter().flatten()
    }

    /// The place of the text with a key.
    pub(super) fn find(&self, key: &str) -> Option<PieceId> {
        let is = |id: &PieceId| self.get(*id).is_some_and(|kept| *kept.key == *key);
        self.by_key.find(self.hasher.hash_one(key), is).copied()
    }

    /// Adds a text with a key that none has.
    pub(super) fn insert(&mut self, kept: Arc<Kept>) -> PieceId {
        let hash = self.hasher.hash_one(&*kept.key);
        let id = self.free.pop().unwrap_or_else(|| {
            self.kept.push(None);
            PieceId::try_from(self.kept.len() - 1).unwrap_or(PieceId::MAX)
        });
        self.replace(id, kept);
        let (all, hasher) = (&self.kept, &self.hasher);
        self.by_key.insert_unique(hash, id, |id| {
            let kept = all.get(*id as usize).and_then(Option::as_ref);
            kept.map_or(0, |kept| hasher.hash_one(&*kept.key))
        });
        id
    }

    /// Another text with the same key in the place of one.
    pub(super) fn replace(&mut self, id: PieceId, kept: Arc<Kept>) {
        if let Some(slot) = self.kept.get_mut(id as usize) {
            *slot = Some(kept);
        }
    }

    pub(super) fn remove(&mut self, id: PieceId) -> Option<Arc<Kept>> {
        let kept = self.kept.get_mut(id as usize)?.take()?;
        let hash = self.hasher.hash_one(&*kept.key);
        if let Ok(entry) = self.by_key.find_entry(hash, |known| *known == id) {
            entry.remove();
        }
        self.free.push(id);
        Some(kept)
    }

    /// The facts of a piece.
    pub(super) fn facts(&self, piece: PieceId) -> &[Facts] {
        self.get(piece).map_or(&[], |kept| &kept.facts)
    }
}
