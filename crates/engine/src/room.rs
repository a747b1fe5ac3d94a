// SPDX-License-Identifier: Apache-2.0
//! In: pointers of losses, members of merged mappings. Out: each pointer and each mapping once, and memory that merging
//! uses again. Not here: merging. A fleet merges hundreds of thousands of times, and most of these are alike.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashSet, HashTable};

use crate::{Key, Traced, Word};

/// What merges have in common, and room for the next one.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pointers: HashSet<Word>,
    /// For a pointer on its way down.
    pub(crate) text: String,
    /// Members of all mappings that are being merged; each has those from a place on.
    pub(crate) members: Vec<Member>,
    /// Where many ladders are folded: the mappings so far, with their hashes.
    maps: Option<HashTable<(u64, Arc<[Member]>)>>,
    hasher: DefaultHashBuilder,
}

type Member = (Key, Traced);

impl Room {
    /// A room for many ladders, whose equal mappings are kept once.
    pub(crate) fn shared() -> Self {
        Self { maps: Some(HashTable::new()), ..Self::default() }
    }

    /// The one text of a pointer.
    pub(crate) fn share(&mut self, pointer: &str) -> Word {
        self.pointers.get_or_insert_with(pointer, |new| new.into()).clone()
    }

    /// The mapping of the members from a place on.
    pub(crate) fn map(&mut self, first: usize) -> Traced {
        let Some(maps) = &mut self.maps else {
            return Traced::Map(self.members.drain(first..).collect());
        };
        let members = self.members.get(first..).unwrap_or(&[]);
        let hash = hash(&self.hasher, members);
        let known = maps.find(hash, |(of, map)| *of == hash && same(map, members));
        if let Some((_, map)) = known {
            self.members.truncate(first);
            return Traced::Map(map.clone());
        }
        let map: Arc<[Member]> = self.members.drain(first..).collect();
        maps.insert_unique(hash, (hash, map.clone()), |(hash, _)| *hash);
        Traced::Map(map)
    }

    /// The one value like this: for a mapping that a family made.
    pub(crate) fn value(&mut self, value: Traced) -> Traced {
        let (Traced::Map(map), Some(maps)) = (&value, &mut self.maps) else { return value };
        let hash = hash(&self.hasher, map);
        let known = maps.find(hash, |(of, known)| *of == hash && same(known, map));
        match known {
            Some((_, known)) => Traced::Map(known.clone()),
            None => {
                maps.insert_unique(hash, (hash, map.clone()), |(hash, _)| *hash);
                value
            }
        }
    }
}

/// Members are looked at, what is below them is not: mappings there are already kept once.
fn hash(hasher: &DefaultHashBuilder, members: &[Member]) -> u64 {
    let mut state = hasher.build_hasher();
    for (key, value) in members {
        match key {
            Key::Node(node) => (node.doc.0, node.node.0).hash(&mut state),
            Key::Text(word) => word.hash(&mut state),
        }
        match value {
            Traced::Whole { step, node } => (step.0, node.doc.0, node.node.0).hash(&mut state),
            Traced::Map(map) => map.as_ptr().addr().hash(&mut state),
            Traced::List(list) => list.as_ptr().addr().hash(&mut state),
            Traced::Implied { step, .. } => step.0.hash(&mut state),
        }
    }
    state.finish()
}

fn same(a: &[Member], b: &[Member]) -> bool {
    let value = |a: &Traced, b: &Traced| match (a, b) {
        (Traced::Map(a), Traced::Map(b)) => Arc::ptr_eq(a, b),
        (Traced::List(a), Traced::List(b)) => Arc::ptr_eq(a, b),
        (a, b) => a == b,
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && value(&a.1, &b.1))
}

/// The room of a merger: of the fold it is part of, or its own.
#[derive(Debug)]
pub(crate) enum Held<'a> {
    Lent(&'a mut Room),
    Own(Room),
}

impl Held<'_> {
    pub(crate) fn get(&mut self) -> &mut Room {
        match self {
            Self::Lent(room) => room,
            Self::Own(room) => room,
        }
    }
}
