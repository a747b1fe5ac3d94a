// SPDX-License-Identifier: Apache-2.0
//! In: strings. Out: four-byte symbols that are equal exactly when the strings are.
//! Not here: an order. Symbols are numbered as they arrive, so sorting always goes through the text.

use std::hash::BuildHasher;
use std::sync::Arc;

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

/// The interner. Those that are copies of one share the names it had, once it was [compact](Names::compact).
#[derive(Debug, Clone)]
pub struct Names {
    shared: Option<Arc<Table>>,
    /// Names that came after those; their symbols go on where those of `shared` end.
    own: Table,
    hasher: DefaultHashBuilder,
}

/// One buffer of text, one table of numbers.
#[derive(Debug, Clone, Default)]
struct Table {
    text: String,
    /// End offset of each string in `text`; string `i` starts where `i - 1` ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
}

impl Default for Names {
    fn default() -> Self {
        // Room for the names of a few resources, so that the table is not made anew a few times; up to a kilobyte memory
        // is quickly had.
        const FEW: usize = 100;
        let own = Table {
            text: String::with_capacity(FEW * 10),
            ends: Vec::with_capacity(FEW),
            table: HashTable::with_capacity(FEW),
        };
        let mut names = Self { shared: None, own, hasher: DefaultHashBuilder::default() };
        names.intern("");
        names
    }
}

impl Names {
    /// The symbol of a string, new or known.
    pub fn intern(&mut self, s: &str) -> Sym {
        let hash = self.hasher.hash_one(s);
        let known = self.find(hash, s);
        known.unwrap_or_else(|| Sym(self.shared_len() + self.own.push(hash, s, &self.hasher)))
    }

    /// The symbol of a string that is known already.
    pub fn lookup(&self, s: &str) -> Option<Sym> {
        self.find(self.hasher.hash_one(s), s)
    }

    fn find(&self, hash: u64, s: &str) -> Option<Sym> {
        let shared = self.shared.as_ref().and_then(|shared| shared.find(hash, s));
        shared.map(Sym).or_else(|| self.own.find(hash, s).map(|i| Sym(self.shared_len() + i)))
    }

    /// The string of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        let shared = self.shared_len();
        match sym.0.checked_sub(shared) {
            Some(own) => self.own.get(own),
            None => self.shared.as_ref().map_or("", |shared| shared.get(sym.0)),
        }
    }

    /// How many symbols are those of shared names.
    fn shared_len(&self) -> u32 {
        self.shared.as_ref().map_or(0, |shared| shared.len())
    }

    /// From now on copies share what is known by now. Symbols stay as they are.
    pub fn compact(&mut self) {
        // A few names more than what is shared are copied rather than what is shared.
        const FEW: u32 = 16;
        if self.own.len() <= self.shared_len() / FEW {
            return;
        }
        let mut all = match self.shared.take() {
            None => std::mem::take(&mut self.own),
            Some(shared) => Arc::unwrap_or_clone(shared),
        };
        for i in 0..self.own.len() {
            let s = self.own.get(i);
            all.push(self.hasher.hash_one(s), s, &self.hasher);
        }
        (self.shared, self.own) = (Some(Arc::new(all)), Table::default());
    }
}

impl Table {
    fn len(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    fn find(&self, hash: u64, s: &str) -> Option<u32> {
        self.table.find(hash, |&i| self.get(i) == s).copied()
    }

    /// Adds a string that is not there.
    fn push(&mut self, hash: u64, s: &str, hasher: &DefaultHashBuilder) -> u32 {
        let id = self.len();
        self.grow(s.len());
        self.text.push_str(s);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        let (text, ends) = (&self.text, &self.ends);
        self.table.insert_unique(hash, id, |&i| hasher.hash_one(slice(text, ends, i)));
        id
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

    fn get(&self, i: u32) -> &str {
        slice(&self.text, &self.ends, i)
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

#[cfg(test)]
mod tests {
    use super::{Names, Sym};

    /// Copies go their own ways, and nobody notices where a name is kept.
    #[test]
    fn symbols_stay_whatever_is_shared() {
        let mut names = Names::default();
        let mut known: Vec<(Sym, String)> = Vec::new();
        for round in 0..6 {
            for n in 0..(3 << round) {
                let word = format!("{round}-{n}");
                known.push((names.intern(&word), word));
            }
            names.compact();
            let mut copy = names.clone();
            let other = copy.intern("elsewhere");
            assert!(names.lookup("elsewhere").is_none() && copy.text(other) == "elsewhere");
            for (sym, word) in &known {
                assert_eq!((names.text(*sym), names.lookup(word)), (word.as_str(), Some(*sym)));
                assert_eq!((copy.intern(word), copy.text(*sym)), (*sym, word.as_str()));
            }
        }
        assert_eq!(names.intern(""), Sym::EMPTY);
    }
}
