// SPDX-License-Identifier: Apache-2.0
//! In: strings. Out: four-byte symbols that are equal exactly when the strings are.
//! Not here: an order. Symbols are numbered as they arrive, so sorting always goes through the text.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// An interned string. The empty string is [`Sym::EMPTY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sym(u32);

impl Sym {
    /// The empty string, in every interner.
    pub const EMPTY: Self = Self(0);

    /// Whether this is the empty string.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// The interner: one buffer of text, one table of numbers.
#[derive(Debug, Clone)]
pub struct Names {
    text: String,
    /// End offset of each string in `text`; string `i` starts where `i - 1` ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Default for Names {
    fn default() -> Self {
        // Room for the names of a small world, so that its table is not made anew a few times.
        const FEW: usize = 100;
        let mut names = Self {
            text: String::with_capacity(FEW * 16),
            ends: Vec::with_capacity(FEW),
            table: HashTable::with_capacity(FEW),
            hasher: DefaultHashBuilder::default(),
        };
        names.intern("");
        names
    }
}

impl Names {
    /// The symbol of a string, new or known.
    pub fn intern(&mut self, s: &str) -> Sym {
        let hash = self.hasher.hash_one(s);
        let (text, ends) = (&self.text, &self.ends);
        if let Some(&found) = self.table.find(hash, |&i| slice(text, ends, i) == s) {
            return Sym(found);
        }
        let id = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.grow(s.len());
        self.text.push_str(s);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        let (text, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        self.table.insert_unique(hash, id, |&i| hasher.hash_one(slice(text, ends, i)));
        Sym(id)
    }

    /// Makes room by an eighth, not by doubling: the names of a fleet are tens of megabytes that are kept.
    fn grow(&mut self, more: usize) {
        const LARGE: usize = 1 << 16;
        if self.text.len() >= LARGE && self.text.capacity() - self.text.len() < more {
            self.text.reserve_exact(more.max(self.text.len() / 8));
        }
        if self.ends.len() >= LARGE && self.ends.len() == self.ends.capacity() {
            self.ends.reserve_exact(self.ends.len() / 8);
        }
    }

    /// The symbol of a string that is known already.
    pub fn lookup(&self, s: &str) -> Option<Sym> {
        let hash = self.hasher.hash_one(s);
        self.table.find(hash, |&i| slice(&self.text, &self.ends, i) == s).map(|&i| Sym(i))
    }

    /// The string of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        slice(&self.text, &self.ends, sym.0)
    }
}

fn slice<'a>(text: &'a str, ends: &[u32], i: u32) -> &'a str {
    let start = match i.checked_sub(1) {
        None => 0,
        Some(before) => ends.get(before as usize).copied().unwrap_or(0),
    };
    let end = ends.get(i as usize).copied().unwrap_or(start);
    text.get(start as usize..end as usize).unwrap_or("")
}
