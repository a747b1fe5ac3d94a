// SPDX-License-Identifier: Apache-2.0
//! In: the texts of two states. Out: both as they were read, where a text that both have is read once. Not here: files,
//! repositories, servers.

use std::collections::BTreeMap;

use overrule::Options;
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

/// The name of a text within a state of this root.
fn within<'n>(root: &str, name: &'n str) -> &'n str {
    name.strip_prefix(root).unwrap_or(name).trim_start_matches('/')
}

/// Reads both. Texts are put in the order of their names, as every analysis wants them.
pub fn read_both(before: StateTexts, after: StateTexts, options: &Options) -> (Read, Read) {
    // What one of the states describes, the other one may have.
    let reading = options.reading_of(before.inputs.iter().chain(&after.inputs));
    let (old_root, new_root) = (before.root, after.root);
    // Texts that both have, by their name within both, with what the later state calls them.
    let mut shared: BTreeMap<String, Box<str>> = BTreeMap::new();
    let mut fresh = Vec::new();
    {
        let within_old = |input: &'_ Input| within(&old_root, &input.name).to_owned();
        let old: BTreeMap<String, &Input> =
            before.inputs.iter().map(|input| (within_old(input), input)).collect();
        for input in after.inputs {
            let name = within(&new_root, &input.name);
            // A text that was named is read in another way than one that was found.
            let same = |then: &&Input| (&then.bytes, then.found) == (&input.bytes, input.found);
            match old.get(name).filter(|then| same(then)) {
                Some(_) => _ = shared.insert(name.to_owned(), input.name.clone()),
                None => fresh.push(input),
            }
        }
    }
    let old_pieces = pieces(before.inputs, &reading);
    let mut new_pieces = pieces(fresh, &reading);
    for piece in &old_pieces {
        let name = shared.remove(within(&old_root, piece.name()));
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
