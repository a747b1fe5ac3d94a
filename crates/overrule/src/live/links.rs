// SPDX-License-Identifier: Apache-2.0
//! In: facts of pieces that come and go. Out: who is called so, who mentions it, who selects it. Not here: what that
//! means for answers (`reach`).

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::facts::{Facts, Key, Role};

/// Place of a piece in its world.
pub(super) type PieceId = u32;

/// Few pieces, or many: a class of ten thousand Gateways must not be searched when one of them goes.
#[derive(Debug)]
enum List {
    Few(SmallVec<[PieceId; 4]>),
    Many(BTreeSet<PieceId>),
}

impl Default for List {
    fn default() -> Self {
        Self::Few(SmallVec::new())
    }
}

/// From so many on a list is a tree.
const MANY: usize = 64;

impl List {
    fn add(&mut self, piece: PieceId) {
        match self {
            Self::Few(few) if few.contains(&piece) => {}
            Self::Few(few) if few.len() < MANY => few.push(piece),
            Self::Few(few) => {
                *self = Self::Many(few.iter().copied().chain(std::iter::once(piece)).collect());
            }
            Self::Many(many) => {
                many.insert(piece);
            }
        }
    }

    fn remove(&mut self, piece: PieceId) {
        match self {
            Self::Few(few) => few.retain(|p| *p != piece),
            Self::Many(many) => {
                many.remove(&piece);
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Few(few) => few.len(),
            Self::Many(many) => many.len(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = PieceId> {
        let (few, many) = match self {
            Self::Few(few) => (Some(few), None),
            Self::Many(many) => (None, Some(many)),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten()).copied()
    }
}

/// Pieces by key.
#[derive(Debug, Default)]
pub(super) struct Table(HashMap<Key, List>);

impl Table {
    fn add(&mut self, keys: &[Key], piece: PieceId) {
        keys.iter().for_each(|key| self.0.entry(*key).or_default().add(piece));
    }

    fn remove(&mut self, keys: &[Key], piece: PieceId) {
        for key in keys {
            let Some(list) = self.0.get_mut(key) else { continue };
            list.remove(piece);
            if list.len() == 0 {
                self.0.remove(key);
            }
        }
    }

    /// Takes a piece from some keys to others.
    fn change(&mut self, was: &[Key], is: &[Key], piece: PieceId) {
        if was != is {
            self.remove(was, piece);
            self.add(is, piece);
        }
    }

    /// The pieces under any of these keys.
    pub(super) fn under(&self, keys: &[Key]) -> impl Iterator<Item = PieceId> {
        keys.iter().filter_map(|key| self.0.get(key)).flat_map(List::iter)
    }

    /// How many there are, without going through them; those under two keys count twice.
    pub(super) fn count(&self, keys: &[Key]) -> usize {
        keys.iter().filter_map(|key| self.0.get(key)).map(List::len).sum()
    }
}

/// All indexes. They are by names as written, so that what is missing is found too when it appears.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Who is called so.
    pub(super) called: Table,
    /// Routes that mention it.
    pub(super) routes: Table,
    /// Others that mention it.
    pub(super) others: Table,
    /// Gateways of a class.
    pub(super) of_class: Table,
    /// Who selects it.
    pub(super) selecting: Table,
    /// Who has these labels.
    pub(super) labelled: Table,
    /// Pieces of each kind, to see the first come and the last go.
    kinds: BTreeMap<Key, BTreeSet<PieceId>>,
    /// Pieces that act on everything.
    pub(super) global: BTreeSet<PieceId>,
    /// Pieces that act on proxies.
    pub(super) mesh: BTreeSet<PieceId>,
}

impl Links {
    /// Takes a piece in; the kinds that came with it.
    pub(super) fn add(&mut self, piece: PieceId, facts: &[Facts]) -> Vec<Key> {
        let mut new = Vec::new();
        for fact in facts {
            let kind = self.kinds.entry(fact.kind).or_default();
            if kind.is_empty() {
                new.push(fact.kind);
            }
            kind.insert(piece);
            match fact.role {
                Role::Global => drop(self.global.insert(piece)),
                Role::Mesh => drop(self.mesh.insert(piece)),
                _ => {}
            }
            self.called.add(&fact.own, piece);
            if fact.role == Role::Ground {
                self.called.add(&fact.sections, piece);
            }
            self.labelled.add(&fact.labels, piece);
            self.mentions(fact.role).add(&fact.mentions, piece);
            self.of_class.add(fact.class.as_slice(), piece);
            self.selecting.add(&fact.selects, piece);
        }
        new
    }

    /// Takes a piece out; the kinds that went with it.
    pub(super) fn remove(&mut self, piece: PieceId, facts: &[Facts]) -> Vec<Key> {
        let mut gone = Vec::new();
        for fact in facts {
            if let Some(kind) = self.kinds.get_mut(&fact.kind) {
                kind.remove(&piece);
                if kind.is_empty() {
                    self.kinds.remove(&fact.kind);
                    gone.push(fact.kind);
                }
            }
            self.global.remove(&piece);
            self.mesh.remove(&piece);
            self.called.remove(&fact.own, piece);
            if fact.role == Role::Ground {
                self.called.remove(&fact.sections, piece);
            }
            self.labelled.remove(&fact.labels, piece);
            self.mentions(fact.role).remove(&fact.mentions, piece);
            self.of_class.remove(fact.class.as_slice(), piece);
            self.selecting.remove(&fact.selects, piece);
        }
        gone
    }

    /// Takes in what a piece says now; it has the resources it had, which are of [`Role::Other`].
    pub(super) fn reword(&mut self, piece: PieceId, was: &[Facts], is: &[Facts]) {
        for (was, is) in was.iter().zip(is) {
            self.called.change(&was.own, &is.own, piece);
            self.labelled.change(&was.labels, &is.labels, piece);
            self.others.change(&was.mentions, &is.mentions, piece);
            self.of_class.change(was.class.as_slice(), is.class.as_slice(), piece);
            self.selecting.change(&was.selects, &is.selects, piece);
        }
    }

    fn mentions(&mut self, role: Role) -> &mut Table {
        if role == Role::Route { &mut self.routes } else { &mut self.others }
    }

    /// One piece of each kind that is not among these.
    pub(super) fn representatives(&self, there: &BTreeSet<Key>) -> impl Iterator<Item = PieceId> {
        let missing = self.kinds.iter().filter(|(kind, _)| !there.contains(kind));
        missing.filter_map(|(_, pieces)| pieces.first().copied())
    }
}
