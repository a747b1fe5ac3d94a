// SPDX-License-Identifier: Apache-2.0
//! In: what rules ask for besides an identity. Out: the first of a group of rules that a request meets. Not here:
//! identities.
//!
//! Server names, methods and paths become numbers once per request. A group is then asked by looking up each combination
//! of them, or by going through it if it is small: never more looks than it has entries.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::facts::lower;
use crate::first::{First, NONE};
use crate::rule::{Effect, Match, PathMatch};
use crate::tree::PathTree;

/// Not asked for; of a request: nothing that any rule asks for.
const ANY: u32 = 0;
/// Not known of the request. Denies are entered under it too, so that they match then.
const UNKNOWN: u32 = 1;
/// The first number of a text.
const TEXTS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    group: u32,
    sni: u32,
    method: u32,
    path: u32,
}

impl Key {
    /// Which of the three it asks for, as bits.
    fn shape(self) -> u8 {
        u8::from(self.sni != ANY)
            | u8::from(self.method != ANY) << 1
            | u8::from(self.path != ANY) << 2
    }
}

/// Texts and their numbers.
#[derive(Debug, Clone, Default)]
struct Texts(HashMap<Box<str>, u32>);

impl Texts {
    fn add(&mut self, text: &str, next: u32) -> u32 {
        *self.0.entry(text.into()).or_insert(next)
    }

    fn get(&self, text: &str) -> u32 {
        self.0.get(text).copied().unwrap_or(ANY)
    }
}

/// The prefixes that one directory stands for.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    /// The one without the slash: it is met by that path itself, too.
    loose: u32,
    /// The one with it.
    strict: u32,
}

/// Numbers of a request.
pub struct Ids {
    sni: u32,
    method: u32,
    /// Sorted.
    paths: SmallVec<[u32; 8]>,
}

#[derive(Debug, Clone)]
struct Group {
    entries: Box<[(Key, First)]>,
    /// A bit for each shape that occurs.
    shapes: u8,
}

/// All groups.
#[derive(Debug, Clone)]
pub struct Conditions {
    groups: Vec<Group>,
    table: HashMap<Key, First>,
    names: Texts,
    methods: Texts,
    exact: Texts,
    below: PathTree<Below>,
}

impl Conditions {
    pub fn ids(&self, sni: Option<&str>, method: Option<&str>, path: Option<&str>) -> Ids {
        Ids {
            sni: sni.map_or(ANY, |name| self.names.get(&lower(name))),
            method: method.map_or(UNKNOWN, |method| self.methods.get(method)),
            paths: path.map_or_else(|| SmallVec::from_slice(&[UNKNOWN]), |path| self.paths(path)),
        }
    }

    /// What rules say of paths that this one meets.
    fn paths(&self, path: &str) -> SmallVec<[u32; 8]> {
        let mut found = SmallVec::new();
        let exact = self.exact.get(path);
        if exact != ANY {
            found.push(exact);
        }
        // With one slash more, a path begins with itself as a directory.
        let mut directory: SmallVec<[u8; 128]> = SmallVec::from_slice(path.as_bytes());
        directory.push(b'/');
        self.below.walk(&directory, |below, rest| {
            let strict = if rest.is_empty() { ANY } else { below.strict };
            found.extend([below.loose, strict].into_iter().filter(|id| *id != ANY));
        });
        found.sort_unstable();
        found
    }

    /// The first rules of the group that are met.
    pub fn first(&self, group: u32, ids: &Ids) -> First {
        let place = usize::try_from(group).ok().and_then(|n| self.groups.get(n));
        let Some(Group { entries, shapes }) = place else { return First::NOTHING };
        if entries.len() <= ids.paths.len() + 3 {
            let met = entries.iter().filter(|(key, _)| ids.meet(*key));
            return met.fold(First::NOTHING, |first, (_, other)| first.min(*other));
        }
        let mut first = First::NOTHING;
        for shape in (1..8u8).filter(|shape| shapes & (1 << shape) != 0) {
            let sni = if shape & 1 == 0 { ANY } else { ids.sni };
            let method = if shape & 2 == 0 { ANY } else { ids.method };
            if (shape & 1 != 0 && sni == ANY) || (shape & 2 != 0 && method == ANY) {
                continue;
            }
            let paths: &[u32] = if shape & 4 == 0 { &[ANY] } else { &ids.paths };
            for path in paths {
                let key = Key { group, sni, method, path: *path };
                first = self.table.get(&key).map_or(first, |other| first.min(*other));
            }
        }
        first
    }
}

impl Ids {
    fn meet(&self, key: Key) -> bool {
        (key.sni == ANY || key.sni == self.sni)
            && (key.method == ANY || key.method == self.method)
            && (key.path == ANY || self.paths.binary_search(&key.path).is_ok())
    }
}

/// Takes rules and becomes [`Conditions`].
#[derive(Default)]
pub struct Builder {
    entries: BTreeMap<Key, First>,
    groups: u32,
    texts: u32,
    names: Texts,
    methods: Texts,
    exact: Texts,
    below: BTreeMap<Box<[u8]>, Below>,
}

impl Builder {
    /// Opens a group if there is none yet.
    pub fn group(&mut self, group: &mut u32) -> u32 {
        if *group == NONE {
            *group = self.groups;
            self.groups += 1;
        }
        *group
    }

    pub fn add(&mut self, group: u32, matches: &Match, effect: Effect, first: First) {
        let next = self.texts + TEXTS;
        // Numbers of different kinds never meet, so one count serves all; gaps do no harm.
        self.texts += 1;
        let sni = matches.sni.as_deref().map_or(ANY, |name| self.names.add(name, next));
        let method = matches.method.as_deref().map_or(ANY, |text| self.methods.add(text, next));
        let path = matches.path.as_ref().map_or(ANY, |path| self.path(path, next));
        let strict = effect == Effect::Deny;
        let or_unknown = |id: u32| {
            let more = (strict && id != ANY).then_some(UNKNOWN);
            [Some(id), more].into_iter().flatten()
        };
        for method in or_unknown(method) {
            for path in or_unknown(path) {
                let entry = self.entries.entry(Key { group, sni, method, path });
                entry.and_modify(|old| *old = old.min(first)).or_insert(first);
            }
        }
    }

    fn path(&mut self, path: &PathMatch, next: u32) -> u32 {
        let text = match path {
            PathMatch::Exact(text) => return self.exact.add(text, next),
            PathMatch::Prefix(text) => text.as_bytes(),
        };
        let strict = text.ends_with(b"/");
        let directory = if strict { text.into() } else { [text, b"/"].concat().into() };
        let below: &mut Below = self.below.entry(directory).or_default();
        let id = if strict { &mut below.strict } else { &mut below.loose };
        if *id == ANY {
            *id = next;
        }
        *id
    }

    pub fn build(self) -> Conditions {
        let entries: Vec<(Key, First)> = self.entries.into_iter().collect();
        let group = |entries: &[(Key, First)]| Group {
            entries: entries.into(),
            shapes: entries.iter().fold(0, |bits, (key, _)| bits | 1 << key.shape()),
        };
        Conditions {
            // Sorted by group, and each has an entry: they come as they were numbered.
            groups: entries.chunk_by(|(a, _), (b, _)| a.group == b.group).map(group).collect(),
            table: entries.iter().copied().collect(),
            names: self.names,
            methods: self.methods,
            exact: self.exact,
            below: PathTree::new(self.below),
        }
    }
}
