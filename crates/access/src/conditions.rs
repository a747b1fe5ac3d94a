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
use crate::first::{First, NONE, Ranked};
use crate::rule::{Effect, Match, PathMatch};
use crate::spelling::Decoded;
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
    /// Of allows, from the closest on; then of denies.
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
    denied: Denied,
}

/// The paths that denies ask for, as servers decode them.
#[derive(Debug, Clone)]
struct Denied {
    exact: HashMap<Box<[u8]>, u32>,
    below: PathTree<Below>,
    odd: Vec<Odd>,
}

/// A path with parameters, which are compared too; whether it means what is below; its number. They are rare, and asked one
/// after the other.
type Odd = (Decoded, bool, u32);

impl Denied {
    /// Adds those that cover a path.
    fn find(&self, path: &str, found: &mut SmallVec<[u32; 8]>) {
        let decoded = Decoded::of_request(path);
        let mut plain = decoded.plain();
        found.extend(self.exact.get(&*plain).copied());
        plain.push(b'/');
        walk(&self.below, &plain, found);
        let odd = self.odd.iter().filter(|(odd, below, _)| odd.covers(*below, &decoded));
        found.extend(odd.map(|(.., id)| *id));
    }
}

/// Adds the prefixes of a path, which has one slash more: so it begins with itself as a directory.
fn walk(tree: &PathTree<Below>, directory: &[u8], found: &mut SmallVec<[u32; 8]>) {
    tree.walk(directory, |below, rest| {
        let strict = if rest.is_empty() { ANY } else { below.strict };
        found.extend([below.loose, strict].into_iter().filter(|id| *id != ANY));
    });
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
        let mut directory: SmallVec<[u8; 128]> = SmallVec::from_slice(path.as_bytes());
        directory.push(b'/');
        walk(&self.below, &directory, &mut found);
        let exact = self.exact.get(path);
        if exact != ANY {
            found.push(exact);
        }
        found.reverse();
        self.denied.find(path, &mut found);
        found
    }

    /// Adds the first rules of the group that are met.
    pub fn first(&self, group: u32, ids: &Ids, ranked: &mut Ranked) {
        let place = usize::try_from(group).ok().and_then(|n| self.groups.get(n));
        let Some(Group { entries, shapes }) = place else { return };
        if entries.len() <= ids.paths.len() + 3 {
            for (key, first) in entries {
                if let Some(rank) = ids.rank(*key) {
                    ranked.add(rank, *first);
                }
            }
            return;
        }
        for shape in (0..8u8).filter(|shape| shapes & (1 << shape) != 0) {
            let sni = if shape & 1 == 0 { ANY } else { ids.sni };
            let method = if shape & 2 == 0 { ANY } else { ids.method };
            if (shape & 1 != 0 && sni == ANY) || (shape & 2 != 0 && method == ANY) {
                continue;
            }
            let get = |path| self.table.get(&Key { group, sni, method, path });
            if shape & 4 == 0 {
                if let Some(first) = get(ANY) {
                    ranked.add(0, *first);
                }
                continue;
            }
            for (rank, path) in (1..).zip(&ids.paths) {
                if let Some(first) = get(*path) {
                    ranked.add(rank, *first);
                }
            }
        }
    }
}

impl Ids {
    /// How close a key is that is met.
    fn rank(&self, key: Key) -> Option<usize> {
        let is_met = (key.sni == ANY || key.sni == self.sni)
            && (key.method == ANY || key.method == self.method);
        if !is_met || key.path == ANY {
            return is_met.then_some(0);
        }
        self.paths.iter().position(|path| *path == key.path).map(|at| at + 1)
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
    denied_exact: HashMap<Box<[u8]>, u32>,
    denied_below: BTreeMap<Box<[u8]>, Below>,
    odd: Vec<Odd>,
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
        let strict = effect == Effect::Deny;
        let path = matches.path.as_ref().map_or(ANY, |path| {
            if strict { self.denied(path, next) } else { self.path(path, next) }
        });
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
        match path {
            PathMatch::Exact(text) => self.exact.add(text, next),
            PathMatch::Prefix(text) => below(&mut self.below, text.as_bytes(), next),
        }
    }

    fn denied(&mut self, path: &PathMatch, next: u32) -> u32 {
        // What no request has gets a number that none has.
        let Some(decoded) = Decoded::of_deny(path) else { return next };
        if decoded.has_parameters() {
            self.odd.push((decoded, path.is_prefix(), next));
            return next;
        }
        let text = decoded.plain();
        match path {
            PathMatch::Exact(_) => *self.denied_exact.entry(text.into()).or_insert(next),
            PathMatch::Prefix(_) => below(&mut self.denied_below, &text, next),
        }
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
            denied: Denied {
                exact: self.denied_exact,
                below: PathTree::new(self.denied_below),
                odd: self.odd,
            },
        }
    }
}

/// The number of a prefix.
fn below(all: &mut BTreeMap<Box<[u8]>, Below>, text: &[u8], next: u32) -> u32 {
    let strict = text.ends_with(b"/");
    let directory = if strict { text.into() } else { [text, b"/"].concat().into() };
    let below: &mut Below = all.entry(directory).or_default();
    let id = if strict { &mut below.strict } else { &mut below.loose };
    if *id == ANY {
        *id = next;
    }
    *id
}
