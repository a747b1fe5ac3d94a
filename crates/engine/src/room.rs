// SPDX-License-Identifier: Apache-2.0
//! In: pointers of losses, members of merged mappings. Out: each pointer once, and memory that merging uses again.
//! Not here: merging. A fleet merges hundreds of thousands of times, and most of these texts and lists are alike.

use hashbrown::HashSet;

use crate::{FieldKey, SharedText, Traced};

/// What merges have in common, and room for the next one.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pointers: HashSet<SharedText>,
    /// For a pointer on its way down.
    pub(crate) text: String,
    /// Members of all mappings that are being merged; each has those from a place on.
    pub(crate) members: Vec<(FieldKey, Traced)>,
}

impl Room {
    /// The one text of a pointer.
    pub(crate) fn share(&mut self, pointer: &str) -> SharedText {
        self.pointers.get_or_insert_with(pointer, |new| new.into()).clone()
    }
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
