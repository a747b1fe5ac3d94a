// SPDX-License-Identifier: Apache-2.0
//! In: indexes and what changed. Out: the routes and proxies whose answers may differ, and everything that decides the
//! answer of one of them. Not here: resolving.
//!
//! ```text
//!            class ◄── Gateway ◄── ListenerSet                     what a route stands on, and who stands there with it
//!                          ▲
//!   delegating route ──► route ──► backends, extensions            the spine of the route
//!                          ▲
//!   policies: whoever mentions or selects a part of the spine, and what they mention themselves
//! ```
//!
//! A proxy of a mesh is decided by itself and by everything of meshes that is no proxy: policies select proxies by labels,
//! tags and names of several kinds, and a mesh has far fewer of them than of proxies.
//!
//! Both questions are answered too broadly rather than too narrowly: taking in a resource that does not matter costs
//! microseconds. Where the answer would be large, it is "everything", and the whole world is resolved.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Facts, Key, Role};
use super::links::{Links, PieceId};
use super::slab::Slab;

/// Targets that are answered one by one; with more, everything is resolved.
pub(super) const FEW: usize = 16;
/// Pieces that one route may depend on.
const MOST: usize = 400;
/// Pieces of meshes that one proxy may depend on.
const MOST_OF_MESHES: usize = 10_000;

/// What a change can affect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Affected {
    /// Anything.
    Everything,
    /// Answers about some targets, and no others.
    Some(Targets),
}

/// Routes and proxies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Targets {
    /// Pieces with routes or proxies whose answers may differ.
    pub(super) pieces: BTreeSet<PieceId>,
    /// Whether those of every proxy may.
    pub(super) all_proxies: bool,
}

/// Follows a change to the targets it can affect.
pub(super) struct Reach<'a> {
    links: &'a Links,
    pieces: &'a Slab,
    targets: Targets,
    /// Pieces whose change was followed, and those whose paths were.
    followed: BTreeSet<PieceId>,
    touched: BTreeSet<PieceId>,
    everything: bool,
}

impl<'a> Reach<'a> {
    pub(super) fn new(links: &'a Links, pieces: &'a Slab) -> Self {
        let (targets, followed, touched) = Default::default();
        Self { links, pieces, targets, followed, touched, everything: false }
    }

    /// What the change of a piece with these facts can affect.
    pub(super) fn of(mut self, piece: PieceId, facts: &[Facts]) -> Affected {
        self.changed(piece, facts);
        if self.stop() {
            return Affected::Everything;
        }
        Affected::Some(self.targets)
    }

    fn stop(&mut self) -> bool {
        self.everything |= self.targets.pieces.len() > FEW;
        self.everything
    }

    /// A piece says something else now.
    fn changed(&mut self, piece: PieceId, facts: &[Facts]) {
        if self.stop() || !self.followed.insert(piece) {
            return;
        }
        self.touch(piece, facts);
        for fact in facts.iter().filter(|f| f.role == Role::Other) {
            // What it acts on.
            self.each(self.links.called.count(&fact.mentions), |me| {
                let found: Vec<PieceId> = me.links.called.under(&fact.mentions).collect();
                found.into_iter().for_each(|target| me.touch(target, me.pieces.facts(target)));
            });
            self.each(self.links.labelled.count(&fact.selects), |me| {
                let found: Vec<PieceId> = me.links.labelled.under(&fact.selects).collect();
                found.into_iter().for_each(|target| me.touch(target, me.pieces.facts(target)));
            });
            // Who speaks of it speaks of something else now.
            self.each(self.links.others.count(&fact.own), |me| {
                let found: Vec<PieceId> = me.links.others.under(&fact.own).collect();
                found.into_iter().for_each(|user| me.changed(user, me.pieces.facts(user)));
            });
        }
    }

    /// Goes on unless there are so many that everything is cheaper.
    fn each(&mut self, count: usize, go: impl FnOnce(&mut Self)) {
        if count > MOST {
            self.everything = true;
        }
        if !self.stop() {
            go(self);
        }
    }

    /// Answers on paths through a piece may differ.
    fn touch(&mut self, piece: PieceId, facts: &[Facts]) {
        if self.stop() || !self.touched.insert(piece) {
            return;
        }
        for fact in facts {
            match fact.role {
                Role::Global | Role::Place => self.everything = true,
                Role::Route => {
                    self.targets.pieces.insert(piece);
                    // Routes that lead here, and routes that this one leads to.
                    self.routes_under(&fact.own);
                    self.each(self.links.called.count(&fact.mentions), |me| {
                        let found: Vec<PieceId> = me.links.called.under(&fact.mentions).collect();
                        for target in found {
                            let facts = me.pieces.facts(target);
                            if facts.iter().any(|f| f.role == Role::Route) {
                                me.touch(target, facts);
                            }
                        }
                    });
                }
                Role::Class | Role::Ground => {
                    self.routes_under(&fact.own);
                    // Listeners of one Gateway stand in each other's way, and a class has Gateways.
                    let near = self.links.others.under(&fact.own);
                    let near = near.chain(self.links.called.under(&fact.mentions));
                    let near = near.chain(self.links.of_class.under(&fact.own));
                    let near: Vec<PieceId> = near.take(MOST + 1).collect();
                    self.each(near.len(), |me| {
                        for other in near {
                            let facts = me.pieces.facts(other);
                            if facts.iter().any(|f| f.role == Role::Ground) {
                                me.touch(other, facts);
                            }
                        }
                    });
                }
                Role::Other => self.routes_under(&fact.own),
                Role::Proxy => {
                    self.targets.pieces.insert(piece);
                }
                Role::Mesh => self.targets.all_proxies = true,
            }
        }
    }

    /// Routes that mention something.
    fn routes_under(&mut self, keys: &[Key]) {
        self.each(self.links.routes.count(keys), |me| {
            let found: Vec<PieceId> = me.links.routes.under(keys).collect();
            found.into_iter().for_each(|route| me.touch(route, me.pieces.facts(route)));
        });
    }
}

/// Gathers what decides the answers about the targets of one piece.
pub(super) struct Neighbours<'a> {
    links: &'a Links,
    pieces: &'a Slab,
    found: BTreeSet<PieceId>,
    /// Parts of the spine, and whether what they lead to is part of it too.
    spine: BTreeMap<PieceId, bool>,
    /// What routes of the spine name: listeners, or Gateways with all of theirs.
    named: BTreeSet<Key>,
    too_many: bool,
}

impl<'a> Neighbours<'a> {
    /// Every piece that decides the answers about the routes and proxies of a piece; none if they are too many.
    pub(super) fn of(links: &'a Links, pieces: &'a Slab, piece: PieceId) -> Option<Vec<PieceId>> {
        let (found, spine, named) = Default::default();
        let mut all = Self { links, pieces, found, spine, named, too_many: false };
        let has = |role| pieces.facts(piece).iter().any(|f| f.role == role);
        if has(Role::Route) {
            all.spine(piece, true);
            all.listeners();
        }
        all.found.insert(piece);
        all.found.extend(&links.global);
        let of_meshes = has(Role::Proxy).then_some(&links.mesh);
        let many = of_meshes.map_or(0, BTreeSet::len);
        if many > MOST_OF_MESHES {
            return None;
        }
        all.found.extend(of_meshes.into_iter().flatten());
        // Some rules ask whether there is anything of a kind at all.
        let there: BTreeSet<Key> =
            all.found.iter().flat_map(|p| pieces.facts(*p)).map(|f| f.kind).collect();
        all.found.extend(links.representatives(&there));
        (!all.too_many && all.found.len() <= MOST + many).then(|| all.found.into_iter().collect())
    }

    fn full(&mut self) -> bool {
        self.too_many |= self.found.len() > MOST;
        self.too_many
    }

    /// A part of the topology the route is in. Below a route that leads here its other routes do not matter.
    fn spine(&mut self, piece: PieceId, down: bool) {
        if self.full() || self.spine.get(&piece).is_some_and(|known| *known || !down) {
            return;
        }
        self.spine.insert(piece, down);
        self.take(piece);
        for fact in self.pieces.facts(piece) {
            if fact.role == Role::Global {
                continue;
            }
            if fact.role == Role::Route {
                self.too_many |= down && fact.delegates_widely;
                self.named.extend(&fact.sections);
                let parents: Vec<PieceId> = self.links.routes.under(&fact.own).collect();
                parents.into_iter().for_each(|parent| self.spine(parent, false));
            }
            let mentioned = self.links.called.under(&fact.mentions);
            let mentioned = mentioned.chain(self.links.called.under(fact.class.as_slice()));
            for target in self.bounded(mentioned) {
                let route = self.pieces.facts(target).iter().any(|f| f.role == Role::Route);
                if !route || (down && fact.role == Role::Route) {
                    self.spine(target, down);
                }
            }
            let hanging = self.links.others.under(&fact.own);
            let hanging = hanging.chain(self.links.selecting.under(&fact.labels));
            for user in self.bounded(hanging) {
                self.hanging(user);
            }
        }
    }

    /// What acts on the listeners that the routes of the spine are served by.
    fn listeners(&mut self) {
        let spine: Vec<PieceId> = self.spine.keys().copied().collect();
        for fact in spine.into_iter().flat_map(|piece| self.pieces.facts(piece)) {
            if fact.role != Role::Ground {
                continue;
            }
            let all = fact.own.iter().any(|key| self.named.contains(key));
            for section in &fact.sections {
                if all || self.named.contains(section) {
                    let users = self.links.others.under(std::slice::from_ref(section));
                    self.bounded(users).into_iter().for_each(|user| self.hanging(user));
                }
            }
        }
    }

    /// Something that acts on the spine, with what it speaks of.
    fn hanging(&mut self, piece: PieceId) {
        if self.full() || !self.take(piece) {
            return;
        }
        for fact in self.pieces.facts(piece).iter().filter(|f| f.role == Role::Other) {
            for target in self.bounded(self.links.called.under(&fact.mentions)) {
                let other = self.pieces.facts(target).iter().all(|f| f.role == Role::Other);
                match other {
                    true => self.hanging(target),
                    false => {
                        self.take(target);
                    }
                }
            }
        }
    }

    /// Takes a piece in, with what acts on its namespaces.
    fn take(&mut self, piece: PieceId) -> bool {
        let new = self.found.insert(piece);
        if new {
            let facts = self.pieces.facts(piece).iter();
            facts.for_each(|f| self.found.extend(self.links.called.under(&f.places)));
        }
        new
    }

    fn bounded(&mut self, found: impl Iterator<Item = PieceId>) -> Vec<PieceId> {
        let found: Vec<PieceId> = found.take(MOST + 1).collect();
        self.too_many |= found.len() > MOST;
        found
    }
}
