// SPDX-License-Identifier: Apache-2.0
//! In: documents that a request brought, as they were read. Out: the same for whoever resolves what that request stored,
//! so that nothing is read twice. Not here: reading (`admission`), resolving (`live`).
//!
//! They are here for as long as the request is: what another server stored, or a request that is gone, has only a text.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overrule::source::Piece;
use overrule_store::ResourceKey;

/// Documents on their way to the store.
#[derive(Debug, Default)]
pub struct Prepared(Mutex<BTreeMap<ResourceKey, Vec<Arc<Piece>>>>);

impl Prepared {
    fn all(&self) -> MutexGuard<'_, BTreeMap<ResourceKey, Vec<Arc<Piece>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps documents until what is returned is dropped.
    pub fn hold(
        self: &Arc<Self>,
        pieces: impl IntoIterator<Item = (ResourceKey, Piece)>,
    ) -> PreparedGuard {
        let pieces = pieces.into_iter().map(|(key, piece)| (key, Arc::new(piece)));
        let pieces: Vec<(ResourceKey, Arc<Piece>)> = pieces.collect();
        for (key, piece) in &pieces {
            self.all().entry(key.clone()).or_default().push(Arc::clone(piece));
        }
        PreparedGuard { of: Arc::clone(self), pieces }
    }

    /// A document that has exactly this text.
    pub fn find(&self, key: &ResourceKey, text: &str) -> Option<Piece> {
        let all = self.all();
        let found = all.get(key)?.iter().find(|piece| piece.text() == text)?;
        Some(Piece::clone(found))
    }
}

/// Documents that are kept.
#[derive(Debug)]
pub struct PreparedGuard {
    of: Arc<Prepared>,
    pieces: Vec<(ResourceKey, Arc<Piece>)>,
}

impl Drop for PreparedGuard {
    fn drop(&mut self) {
        for (key, piece) in &self.pieces {
            let mut all = self.of.all();
            let Some(list) = all.get_mut(key) else { continue };
            list.retain(|known| !Arc::ptr_eq(known, piece));
            if list.is_empty() {
                all.remove(key);
            }
        }
    }
}
