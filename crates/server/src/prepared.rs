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

    /// Keeps documents until what is returned is dropped; of several about one resource the last.
    pub fn hold(
        self: &Arc<Self>,
        pieces: impl IntoIterator<Item = (ResourceKey, Piece)>,
    ) -> PreparedGuard {
        // A resource has one piece of each request, however often a body repeats it: giving back looks at all it has.
        let pieces = pieces.into_iter().map(|(key, piece)| (key, Arc::new(piece)));
        let pieces: BTreeMap<ResourceKey, Arc<Piece>> = pieces.collect();
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
    pieces: BTreeMap<ResourceKey, Arc<Piece>>,
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::sync::Arc;

    use overrule::source::{Input, ReadOptions, read_piece};
    use overrule_store::{ResourceKey, ResourceScope};

    use super::Prepared;

    #[test]
    fn a_request_holds_one_document_of_a_resource() {
        let key = ResourceKey {
            group: String::new(),
            kind: "Mesh".to_owned(),
            place: ResourceScope::Cluster,
            name: "m".to_owned(),
        };
        let piece = |n: usize| {
            let text = format!("type: Mesh\nname: m\nlabels: {{n: n{n}}}\n");
            (key.clone(), read_piece(Input::new("", text.as_bytes()), &ReadOptions::default()))
        };
        let prepared = Arc::new(Prepared::default());
        let one = prepared.hold((0..1000).map(piece));
        let other = prepared.hold([piece(7)]);
        assert_eq!(prepared.all().get(&key).unwrap().len(), 2, "one for each request");
        assert!(prepared.find(&key, piece(999).1.text()).is_some(), "the last one counts");
        drop(one);
        assert!(prepared.find(&key, piece(999).1.text()).is_none());
        assert!(prepared.find(&key, piece(7).1.text()).is_some());
        drop(other);
        assert!(prepared.all().is_empty());
    }
}
