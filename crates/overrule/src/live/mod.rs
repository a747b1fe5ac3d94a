// SPDX-License-Identifier: Apache-2.0
//! In: texts that come, change and go. Out: what is in force now, without resolving what did not change.
//! Not here: files, stores, threads.
//!
//! ```text
//! edit ──► piece: read once, whom it mentions ──► reach: which routes it can affect
//!                          │ few, and only words of policies       │ few              │ many
//!                          ▼                                       ▼                  ▼
//!   the last whole resolution, with the ladders      their neighbourhood, resolved    the whole world
//!   of these policies folded again                   by the whole pipeline
//!                          └───────────────────────► Published ◄───┴──────────────────┘
//! ```
//!
//! The answer about a route depends on a few dozen resources however large the fleet is: what it stands on, what it
//! sends to, and the policies of those. The answer about a proxy depends on no other proxy. Such a neighbourhood is a
//! small world of its own, and the pipeline that resolves whole fleets resolves it too: there is no second
//! implementation of any rule. Lists, counts and findings are about everything, so they come with the next whole
//! resolution ([`World::gather`]), for which nothing is read again.
//!
//! What a reader has is a [`Published`], which never changes; the next one takes its place at once.

mod facts;
mod gathered;
mod links;
mod near;
mod reach;
mod slab;

use std::collections::BTreeSet;
use std::sync::Arc;

use overrule_gateway::topology::RouteKind;
use overrule_model::{Created, TargetName};
use overrule_source::{Input, Piece, Read, ReadOptions};

use crate::reworded::NewWords;
use crate::{Analysis, Options};
use facts::{Key, Keys, Role};
use links::{Links, PieceId};
use near::{Near, Nears};
use reach::{Affected, Neighbours, Reach, Targets};
use slab::{Kept, Slab};

pub use gathered::Gathered;

/// Texts that are taken in one by one when everything is resolved again.
const FEW_TEXTS: usize = 64;
/// Texts of which an answer may have other words than the whole resolution.
const FEW_WORDS: usize = 8;

/// A text, and what its keeper knows about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What tells it apart from all others, whatever it is called.
    pub key: Box<str>,
    /// Its name, as findings and origins show it, and its content.
    pub input: Input,
    /// When its resources were created, if they do not say it themselves.
    pub created: Option<Created>,
}

/// A text that comes, changes, or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// It is there, and says this.
    Put(Text),
    /// The one with this key is not there any more.
    Remove(Box<str>),
}

/// The texts of a world, with indexes of who concerns whom. One writer at a time; readers have what it publishes.
#[derive(Debug)]
pub struct World {
    options: Options,
    reading: ReadOptions,
    keys: Arc<Keys>,
    slab: Slab,
    links: Links,
    version: u64,
    published: Arc<Published>,
    /// What changed since the last whole resolution: the version, and the text if nothing but its words did.
    since: Vec<(u64, Option<PieceId>)>,
}

/// What is in force at one version. Immutable.
#[derive(Debug, Clone)]
pub struct Published {
    /// How many changes led here.
    pub version: u64,
    /// The newest whole resolution.
    pub whole: Arc<Analysis>,
    /// The version that is of.
    pub whole_version: u64,
    /// Routes and proxies that changes since then affect.
    near: Nears,
    /// The last change that could affect anything.
    everything: u64,
    /// The last change that could affect any proxy.
    proxies: u64,
    keys: Arc<Keys>,
}

impl Published {
    /// Whether the whole resolution is of this version.
    pub fn is_settled(&self) -> bool {
        self.whole_version == self.version
    }

    /// An analysis that has the answers about a target as of this version, without findings unless it is settled; none if
    /// only the next whole resolution or a look at the world ([`World::about`]) has them.
    pub fn about(&self, target: &str) -> Option<&Arc<Analysis>> {
        if self.is_settled() {
            return Some(&self.whole);
        }
        let (role, key) = self.keys.target(target)?;
        let felt = match role {
            Role::Proxy => self.proxies.max(self.everything),
            _ => self.everything,
        };
        match self.near.get(key).filter(|near| near.version >= felt) {
            Some(near) => near.analysis.as_ref(),
            None => (felt <= self.whole_version).then_some(&self.whole),
        }
    }
}

impl Keys {
    /// The key of a route or proxy as somebody types it; none if it is neither.
    fn target(&self, target: &str) -> Option<(Role, Key)> {
        let target: TargetName = target.parse().ok()?;
        let word = target.kind.to_lowercase();
        let is = |group: &str, kind: &str| {
            overrule_model::is_called(kind, &word)
                && target.group.as_deref().is_none_or(|g| g == group)
        };
        let route = RouteKind::ALL
            .into_iter()
            .map(RouteKind::name)
            .find(|kind| is(overrule_gateway::topology::GROUP, kind));
        let own = self.targets().find(|(group, kind)| is(group, kind));
        let proxy = || own.map(|(_, kind)| (Role::Proxy, kind));
        let (role, kind) = route.map(|kind| (Role::Route, kind)).or_else(proxy)?;
        Some((role, self.named(kind, target.namespace.as_deref()?, &target.name)))
    }
}

impl World {
    /// Reads and resolves everything. Of two texts with one key the last counts.
    pub fn new(texts: Vec<Text>, options: Options) -> Self {
        let reading = options.reading();
        let keys = Arc::new(Keys::new(&options.settings));
        let (inputs, known): (Vec<Input>, Vec<_>) =
            texts.into_iter().map(|t| (t.input, (t.key, t.created))).unzip();
        let read = overrule_source::read(inputs, &reading);
        let published = Arc::new(Published {
            version: 0,
            whole: Arc::default(),
            whole_version: 0,
            near: Nears::default(),
            everything: 0,
            proxies: 0,
            keys: Arc::clone(&keys),
        });
        let mut world = Self {
            options,
            reading,
            keys,
            slab: Slab::default(),
            links: Links::default(),
            version: 0,
            published,
            since: Vec::new(),
        };
        for (piece, (key, created)) in read.pieces().into_iter().zip(known) {
            world.take_out(&key);
            let kept = world.keep(key, piece, created);
            world.take_in(kept);
        }
        let whole = world.gather().resolve();
        world.settled(0, Arc::new(whole));
        world
    }

    /// What is in force.
    pub fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published)
    }

    /// Applies edits as one change and publishes what it leads to. Routes it affects are resolved; if they are many, that
    /// is left to the next whole resolution.
    pub fn change(&mut self, edits: Vec<Edit>) -> Arc<Published> {
        self.version += 1;
        let mut before = Vec::new();
        let (affected, words) = self.apply(edits, &mut before);
        let mut next = Published { version: self.version, ..(*self.published).clone() };
        match affected {
            Affected::Everything => {
                next.everything = self.version;
                next.near = Nears::default();
            }
            Affected::Some(targets) => {
                if targets.all_proxies {
                    next.proxies = self.version;
                }
                let mut found = self.reworded(&targets, words).unwrap_or_else(|| {
                    targets.pieces.iter().flat_map(|piece| self.renew(*piece)).collect()
                });
                // A target that is gone has no answer, also not the one it had.
                let gone = before.into_iter().filter(|k| self.links.called.count(&[*k]) == 0);
                found.extend(gone.map(|key| self.answer(key, None, None)));
                next.near.add(found);
            }
        }
        self.publish(next)
    }

    fn answer(
        &self,
        key: Key,
        analysis: Option<Arc<Analysis>>,
        words: Option<Arc<[PieceId]>>,
    ) -> Near {
        Near { key, version: self.version, analysis, words }
    }

    /// The keys of the routes and proxies of a piece.
    fn answered(&self, piece: PieceId) -> impl Iterator<Item = Key> {
        let facts = self.slab.facts(piece).iter().filter(|f| f.role.is_answered());
        facts.filter_map(|f| f.own.first().copied())
    }

    /// Answers again for the routes and proxies of a piece.
    fn renew(&self, piece: PieceId) -> impl Iterator<Item = Near> {
        let analysis = self.near(piece).map(Arc::new);
        self.answered(piece).map(move |key| self.answer(key, analysis.clone(), None))
    }

    /// Answers again where nothing but the words of some texts changed, now or since the whole resolution: that
    /// resolution with those words. None if it must be more than that.
    fn reworded(&self, targets: &Targets, words: Option<Vec<PieceId>>) -> Option<Vec<Near>> {
        let Published { whole, whole_version, everything, near, .. } = &*self.published;
        let felt = everything > whole_version || targets.all_proxies;
        let mut words = words.filter(|_| !felt)?;
        let keys: Vec<Key> = targets.pieces.iter().flat_map(|p| self.answered(*p)).collect();
        for known in keys.iter().filter_map(|key| near.get(*key)) {
            words.extend(known.words.as_ref()?.iter());
        }
        words.sort_unstable();
        words.dedup();
        let texts = words.iter().map(|id| self.slab.get(*id).map(|kept| kept.words()));
        let texts: Vec<NewWords<'_>> = texts.take(FEW_WORDS + 1).collect::<Option<_>>()?;
        if keys.is_empty() || texts.len() > FEW_WORDS {
            return None;
        }
        let analysis = Arc::new(whole.reworded(&texts, &self.options)?);
        let words: Arc<[PieceId]> = words.into();
        let answer = |key| self.answer(key, Some(Arc::clone(&analysis)), Some(Arc::clone(&words)));
        Some(keys.into_iter().map(answer).collect())
    }

    /// An analysis that has the answers about a route or proxy as of now, whatever was published; none for another
    /// target, for one that is not there, and for one that depends on a large part of the world.
    pub fn about(&self, target: &str) -> Option<Analysis> {
        let (_, key) = self.keys.target(target)?;
        let piece = self.links.called.under(&[key]).next()?;
        self.near(piece)
    }

    fn near(&self, piece: PieceId) -> Option<Analysis> {
        let pieces = Neighbours::of(&self.links, &self.slab, piece)?;
        let kept = pieces.iter().filter_map(|id| self.slab.get(*id).cloned()).collect();
        let Published { whole, whole_version, everything, .. } = &*self.published;
        // What describes kinds is felt everywhere when it changes.
        let known = (everything <= whole_version).then_some(&*whole.base);
        Some(Gathered::new(self.version, kept, self.options.clone()).resolve_part(known))
    }

    /// Everything a whole resolution needs, to run it without holding the world.
    pub fn gather(&self) -> Gathered {
        let kept = self.slab.all().cloned().collect();
        let gathered = Gathered::new(self.version, kept, self.options.clone());
        let words = self.since.iter().map(|(_, piece)| *piece).take(FEW_TEXTS + 1);
        let words: Option<BTreeSet<PieceId>> = words.collect();
        match words.filter(|w| !w.is_empty() && self.since.len() <= FEW_TEXTS) {
            Some(words) => {
                let words = words.iter().filter_map(|id| self.slab.get(*id).cloned()).collect();
                gathered.after(Arc::clone(&self.published.whole), words)
            }
            None => gathered,
        }
    }

    /// Resolves everything and publishes it, while the caller waits.
    pub fn settle(&mut self) -> Arc<Published> {
        let whole = self.gather().resolve();
        self.settled(self.version, Arc::new(whole))
    }

    /// Takes the result of a whole resolution in, and publishes it. What changed since stays answered for itself.
    pub fn settled(&mut self, version: u64, whole: Arc<Analysis>) -> Arc<Published> {
        let mut next = (*self.published).clone();
        if version < next.whole_version {
            return self.published();
        }
        (next.whole, next.whole_version) = (whole, version);
        next.near = next.near.since(version);
        self.since.retain(|(changed, _)| *changed > version);
        self.publish(next)
    }

    fn publish(&mut self, next: Published) -> Arc<Published> {
        self.published = Arc::new(next);
        self.published()
    }

    /// Applies edits; `before` gets the keys of targets that were in texts which changed. With what that affects come
    /// the texts, if nothing but their words changed.
    fn apply(
        &mut self,
        edits: Vec<Edit>,
        before: &mut Vec<Key>,
    ) -> (Affected, Option<Vec<PieceId>>) {
        let mut all = Affected::Some(Targets::default());
        let mut words = Some(Vec::new());
        for edit in edits {
            let (key, kept) = match edit {
                Edit::Put(text) => (text.key.clone(), Some(self.read(text))),
                Edit::Remove(key) => (key, None),
            };
            let was = self.slab.find(&key).and_then(|id| Some((id, self.slab.get(id)?.clone())));
            match (was, kept) {
                (Some((id, was)), Some(is)) if same_resources(&was, &is) => {
                    join(&mut all, self.reword(id, &was, is));
                    self.since.push((self.version, Some(id)));
                    words.iter_mut().for_each(|words| words.push(id));
                }
                (was, kept) => {
                    let targets = was.iter().flat_map(|(_, was)| &was.facts);
                    let targets = targets.filter(|f| f.role.is_answered());
                    before.extend(targets.filter_map(|f| f.own.first()));
                    join(&mut all, self.replace(&key, kept));
                    self.since.push((self.version, None));
                    words = None;
                }
            }
        }
        (all, words)
    }

    /// Takes in a text with the resources it had, of which none is a target; what that affects.
    fn reword(&mut self, id: PieceId, was: &Kept, is: Arc<Kept>) -> Affected {
        let acts = !was.facts.iter().zip(&is.facts).all(|(was, is)| was.acts_like(is));
        let mut all = Reach::new(&self.links, &self.slab).of(id, &was.facts);
        self.links.reword(id, &was.facts, &is.facts);
        is.stands_for(was);
        self.slab.replace(id, is);
        if acts {
            join(&mut all, Reach::new(&self.links, &self.slab).of(id, self.slab.facts(id)));
        }
        all
    }

    /// Puts a text, or none, in the place of the one with a key; what that affects.
    fn replace(&mut self, key: &str, kept: Option<Arc<Kept>>) -> Affected {
        // What it affected as it was, and what it affects as it is.
        let mut all = self.reach(key);
        let gone = self.take_out(key);
        let mut came = Vec::new();
        if let Some(kept) = kept {
            came = self.take_in(kept);
            join(&mut all, self.reach(key));
        }
        // The first and the last of a kind are felt everywhere: kinds that nobody uses take no part.
        if kinds_differ(gone, came) {
            all = Affected::Everything;
        }
        all
    }

    /// Reads a text.
    fn read(&self, Text { key, input, created }: Text) -> Arc<Kept> {
        self.keep(key, overrule_source::read_piece(input, &self.reading), created)
    }

    /// Finds out whom a text concerns.
    fn keep(&self, key: Box<str>, piece: Piece, created: Option<Created>) -> Arc<Kept> {
        let read = Read::of([&piece]);
        let parsed = overrule_model::parse(&read.documents);
        let facts = self.keys.facts(&read.documents, &parsed.snapshot);
        Arc::new(Kept::new(key, piece, created, facts))
    }

    /// What a text as it is now can affect.
    fn reach(&self, key: &str) -> Affected {
        let Some(id) = self.slab.find(key) else { return Affected::Some(Targets::default()) };
        Reach::new(&self.links, &self.slab).of(id, self.slab.facts(id))
    }

    /// Removes a text; the kinds that went with it.
    fn take_out(&mut self, key: &str) -> Vec<Key> {
        let Some(id) = self.slab.find(key) else { return Vec::new() };
        let Some(kept) = self.slab.remove(id) else { return Vec::new() };
        self.links.remove(id, &kept.facts)
    }

    /// Adds a text; the kinds that came with it.
    fn take_in(&mut self, kept: Arc<Kept>) -> Vec<Key> {
        let id = self.slab.insert(Arc::clone(&kept));
        self.links.add(id, &kept.facts)
    }
}

/// Whether a text has its name and the resources it had, and these are no part of what policies act on.
fn same_resources(was: &Kept, is: &Kept) -> bool {
    let mut both = was.facts.iter().zip(&is.facts);
    was.piece.name() == is.piece.name()
        && was.facts.len() == is.facts.len()
        && both.all(|(a, b)| {
            a.kind == b.kind && a.own.first() == b.own.first() && b.role == Role::Other
        })
}

/// Whether the kinds that went are not the ones that came.
fn kinds_differ(mut gone: Vec<Key>, mut came: Vec<Key>) -> bool {
    gone.sort_unstable();
    came.sort_unstable();
    gone != came
}

fn join(all: &mut Affected, more: Affected) {
    match (all, more) {
        (Affected::Some(all), Affected::Some(more))
            if all.pieces.len() + more.pieces.len() <= reach::FEW =>
        {
            all.pieces.extend(more.pieces);
            all.all_proxies |= more.all_proxies;
        }
        (all, _) => *all = Affected::Everything,
    }
}
