// SPDX-License-Identifier: Apache-2.0
//! In: the keys of the maps that are open. Out: whether a map already has a key, in constant time.
//! Not here: what a duplicate means.
//!
//! One stack holds the keys of all open maps, because a map adds none while one inside it is open. Small maps are
//! searched one by one; larger ones get a hash table of node ids, which is only ever looked up, never iterated.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use super::Arena;

/// Maps with more keys than this get a table.
const SMALL: usize = 12;

/// The keys of all open maps.
#[derive(Debug)]
pub(super) struct Keys {
    ids: Vec<u32>,
    hasher: DefaultHashBuilder,
}

/// The part of [`Keys`] that belongs to one map.
#[derive(Debug)]
pub(super) struct Own {
    first: usize,
    table: Option<HashTable<u32>>,
}

impl Default for Keys {
    fn default() -> Self {
        // Room for the keys that are open at once in nearly every document.
        Self { ids: Vec::with_capacity(32), hasher: DefaultHashBuilder::default() }
    }
}

impl Keys {
    pub(super) fn open(&self) -> Own {
        Own { first: self.ids.len(), table: None }
    }

    pub(super) fn close(&mut self, own: &Own) {
        self.ids.truncate(own.first);
    }

    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }

    pub(super) fn find(&self, own: &Own, text: &str, arena: &Arena<'_>) -> Option<u32> {
        match &own.table {
            Some(table) => {
                let hash = self.hasher.hash_one(text);
                table.find(hash, |&id| arena.text_of(arena.node(id)) == text).copied()
            }
            None => {
                let mut ids = self.ids.get(own.first..).unwrap_or_default().iter().copied();
                ids.find(|&id| arena.text_of(arena.node(id)) == text)
            }
        }
    }

    /// Adds a key that the map does not have.
    pub(super) fn add(&mut self, own: &mut Own, id: u32, arena: &Arena<'_>) {
        self.ids.push(id);
        let hash = |id: &u32| self.hasher.hash_one(arena.text_of(arena.node(*id)));
        if let Some(table) = &mut own.table {
            table.insert_unique(hash(&id), id, hash);
            return;
        }
        let ids = self.ids.get(own.first..).unwrap_or_default();
        if ids.len() > SMALL {
            let mut table = HashTable::with_capacity(4 * SMALL);
            for id in ids {
                table.insert_unique(hash(id), *id, hash);
            }
            own.table = Some(table);
        }
    }

    /// Puts a key in the place of one with the same text.
    pub(super) fn replace(&mut self, own: &mut Own, earlier: u32, id: u32, arena: &Arena<'_>) {
        let hash = self.hasher.hash_one(arena.text_of(arena.node(id)));
        if let Some(table) = &mut own.table {
            if let Some(entry) = table.find_mut(hash, |&known| known == earlier) {
                *entry = id;
            }
        } else {
            let ids = self.ids.get_mut(own.first..).unwrap_or_default();
            if let Some(entry) = ids.iter_mut().find(|known| **known == earlier) {
                *entry = id;
            }
        }
    }
}
