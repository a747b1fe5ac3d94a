// SPDX-License-Identifier: Apache-2.0
//! In: the texts of two states. Out: both as they were read, where a text that both have is read once. Not here: files,
//! repositories, servers.

use std::collections::BTreeMap;

use overrule::source::{self, Input, Piece, Read, ReadOptions};

/// The texts of a state.
#[derive(Debug, Clone, Default)]
pub struct StateTexts {
    /// As the user named it.
    pub name: String,
    /// What the names of its texts begin with, where that names the state and not the text: `old/`.
    pub root: String,
    /// Its texts.
    pub inputs: Vec<Input>,
}

impl StateTexts {
    /// The name of a text within its state.
    fn within<'n>(&self, name: &'n str) -> &'n str {
        name.strip_prefix(self.root.as_str()).unwrap_or(name).trim_start_matches('/')
    }
}

/// Reads both. Texts are put in the order of their names, as every analysis wants them.
pub fn read_both(before: &StateTexts, after: &StateTexts, options: &ReadOptions) -> (Read, Read) {
    // Texts that both have, by their name within both, with what the later state calls them.
    let mut shared: BTreeMap<&str, Option<Box<str>>> = BTreeMap::new();
    let old: BTreeMap<&str, &[u8]> =
        before.inputs.iter().map(|i| (before.within(&i.name), &*i.bytes)).collect();
    let is_shared = |input: &Input| {
        old.get(after.within(&input.name)).is_some_and(|bytes| **bytes == *input.bytes)
    };
    let mut fresh = Vec::new();
    for input in &after.inputs {
        match is_shared(input) {
            true => drop(shared.insert(after.within(&input.name), Some(input.name.clone()))),
            false => fresh.push(input.clone()),
        }
    }
    let old_pieces = pieces(before.inputs.clone(), options);
    let mut new_pieces = pieces(fresh, options);
    for piece in &old_pieces {
        let name = shared.get_mut(before.within(piece.name())).and_then(Option::take);
        new_pieces.extend(name.map(|name| match *name == *piece.name() {
            true => piece.clone(),
            false => piece.clone().named(name),
        }));
    }
    new_pieces.sort_by(|a, b| a.name().cmp(b.name()));
    (Read::of(&old_pieces), Read::of(&new_pieces))
}

fn pieces(mut inputs: Vec<Input>, options: &ReadOptions) -> Vec<Piece> {
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    source::read(inputs, options).pieces()
}
