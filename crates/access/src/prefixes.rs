// SPDX-License-Identifier: Apache-2.0
//! In: prefixes of identities. Out: all of them that an identity begins with. Not here: what else rules ask for.
//!
//! A prefix is a directory (up to its last slash) and a remainder without a slash. Directories are found by a [`PathTree`];
//! under each, remainders by looking up the beginning of the next segment for each length that occurs there. The longest hit
//! is enough: a remainder knows the next shorter one that it begins with. Their hash grows byte by byte, so that all lengths
//! together cost one pass.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::first::{Best, NONE, Slot};
use crate::tree::PathTree;

/// Remainders of one directory.
type List = Vec<(Box<[u8]>, Slot)>;

#[derive(Debug, Clone)]
struct Directory {
    id: u32,
    here: Slot,
    /// Lengths of remainders, the shortest first.
    lengths: Box<[usize]>,
}

#[derive(Debug, Clone)]
struct Remainder {
    directory: u32,
    text: Box<[u8]>,
    slot: Slot,
    /// The next shorter one of this directory that this begins with.
    shorter: u32,
}

/// Prefixes with a slot each.
#[derive(Debug, Clone)]
pub struct Prefixes {
    tree: PathTree<Directory>,
    remainders: Vec<Remainder>,
    table: HashTable<u32>,
    mixer: Mixer,
    filter: Filter,
}

impl Prefixes {
    pub fn new(prefixes: BTreeMap<Box<str>, Slot>) -> Self {
        let mut by_directory: BTreeMap<Box<[u8]>, List> = BTreeMap::new();
        for (text, slot) in prefixes {
            let cut = text.rfind('/').map_or(0, |slash| slash + 1);
            let (directory, remainder) = text.as_bytes().split_at_checked(cut).unwrap_or_default();
            by_directory.entry(directory.into()).or_default().push((remainder.into(), slot));
        }
        let mut remainders = Vec::new();
        let directory = |(id, (text, list)): (u32, (Box<[u8]>, List))| {
            (text, Directory::new(id, list, &mut remainders))
        };
        let directories = (0u32..).zip(by_directory).map(directory).collect();
        let mixer = Mixer::new();
        let table = index(&remainders, mixer);
        let hashes = remainders.iter().map(|r| mixer.all(r.directory, &r.text));
        let filter = Filter::new(hashes);
        Self { tree: PathTree::new(directories), remainders, table, mixer, filter }
    }

    /// What is found of all prefixes of the identity; the tree asks longer ones first.
    pub fn find(&self, identity: &str, mut first: impl FnMut(&Slot) -> Best) -> Best {
        let mut best = Best::NOTHING;
        self.tree.walk(identity.as_bytes(), |directory, rest| {
            best.over(first(&directory.here));
            if !directory.lengths.is_empty() {
                best.over(self.remainders(directory, rest, &mut first));
            }
        });
        best
    }

    fn remainders(
        &self,
        directory: &Directory,
        rest: &[u8],
        first: &mut impl FnMut(&Slot) -> Best,
    ) -> Best {
        let mut next = self.longest(directory, rest);
        let mut best = Best::NOTHING;
        while let Some(remainder) = next {
            best.under(first(&remainder.slot));
            next = self.at(remainder.shorter);
        }
        best
    }

    fn at(&self, id: u32) -> Option<&Remainder> {
        usize::try_from(id).ok().and_then(|n| self.remainders.get(n))
    }

    /// The longest remainder of the directory that this begins with.
    fn longest(&self, directory: &Directory, rest: &[u8]) -> Option<&Remainder> {
        let mut lengths = directory.lengths.iter().copied();
        let mut length = lengths.next()?;
        let mut hash = self.mixer.start(directory.id);
        let mut found = None;
        for (read, byte) in (1..).zip(rest) {
            if *byte == b'/' {
                break;
            }
            hash = self.mixer.add(hash, *byte);
            if read == length {
                let hash = Mixer::finish(hash);
                if self.filter.may_have(hash) {
                    found = self.get(hash, directory.id, rest.get(..length)?).or(found);
                }
                let Some(next) = lengths.next() else { break };
                length = next;
            }
        }
        found
    }

    fn get(&self, hash: u64, directory: u32, text: &[u8]) -> Option<&Remainder> {
        let same =
            |id: &u32| self.at(*id).is_some_and(|r| r.directory == directory && *r.text == *text);
        self.table.find(hash, same).and_then(|id| self.at(*id))
    }
}

/// A hash that can be read after every byte. Its factor differs from process to process, so that nobody can write
/// prefixes that meet in it.
#[derive(Debug, Clone, Copy)]
struct Mixer(u64);

impl Mixer {
    fn new() -> Self {
        Self(DefaultHashBuilder::default().hash_one(0u64) | 1)
    }

    fn start(self, directory: u32) -> u64 {
        self.0.wrapping_mul(u64::from(directory) + 1)
    }

    fn add(self, hash: u64, byte: u8) -> u64 {
        (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(self.0)
    }

    /// The high bits are the good ones; the table uses the low ones too.
    fn finish(hash: u64) -> u64 {
        hash ^ (hash >> 32)
    }

    fn all(self, directory: u32, text: &[u8]) -> u64 {
        Self::finish(text.iter().fold(self.start(directory), |hash, byte| self.add(hash, *byte)))
    }
}

/// Says of most hashes that are not in the table that they are not, cheaper than the table does.
#[derive(Debug, Clone)]
struct Filter {
    /// As many as a power of two.
    words: Box<[u64]>,
    /// Their number less one.
    mask: u64,
}

impl Filter {
    fn new(hashes: impl ExactSizeIterator<Item = u64>) -> Self {
        // Sixteen bits for each: one in sixteen of the others passes at most.
        let count = (hashes.len() / 4 + 1).next_power_of_two();
        let mask = u64::try_from(count - 1).unwrap_or(0);
        let mut this = Self { words: vec![0; count].into(), mask };
        for hash in hashes {
            let place = this.place(hash);
            if let Some(word) = this.words.get_mut(place) {
                *word |= 1 << (hash & 63);
            }
        }
        this
    }

    fn place(&self, hash: u64) -> usize {
        usize::try_from((hash >> 6) & self.mask).unwrap_or(0)
    }

    fn may_have(&self, hash: u64) -> bool {
        self.words.get(self.place(hash)).is_some_and(|word| word >> (hash & 63) & 1 == 1)
    }
}

impl Directory {
    /// The list is sorted, and no text is in it twice.
    fn new(id: u32, list: List, remainders: &mut Vec<Remainder>) -> Self {
        let mut this = Self { id, here: Slot::EMPTY, lengths: Box::default() };
        let mut lengths = Vec::new();
        // What the one before begins with, and itself.
        let mut chain: Vec<u32> = Vec::new();
        for (text, slot) in list {
            if text.is_empty() {
                this.here = slot;
                continue;
            }
            let begins = |n: &u32| {
                let other = usize::try_from(*n).ok().and_then(|n| remainders.get(n));
                other.is_some_and(|r: &Remainder| text.starts_with(&r.text))
            };
            while chain.last().is_some_and(|n| !begins(n)) {
                chain.pop();
            }
            let shorter = chain.last().copied().unwrap_or(NONE);
            chain.extend(u32::try_from(remainders.len()));
            lengths.push(text.len());
            remainders.push(Remainder { directory: id, text, slot, shorter });
        }
        lengths.sort_unstable();
        lengths.dedup();
        this.lengths = lengths.into();
        this
    }
}

fn index(remainders: &[Remainder], mixer: Mixer) -> HashTable<u32> {
    let hash = |r: &Remainder| mixer.all(r.directory, &r.text);
    let hash_at =
        |id: &u32| usize::try_from(*id).ok().and_then(|n| remainders.get(n)).map_or(0, hash);
    let mut table = HashTable::with_capacity(remainders.len());
    for (id, remainder) in (0u32..).zip(remainders) {
        table.insert_unique(hash(remainder), id, hash_at);
    }
    table
}
