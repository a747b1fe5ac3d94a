// SPDX-License-Identifier: Apache-2.0
//! In: two states of the world, as scenes. Out: at which kinds and paths what is in force differs between them. Not here:
//! what differs there, and who may know it (`diff.rs`).
//!
//! Paths are the same if they visit nodes of the same names; every path has a hash of them, made of the hash of the path
//! it extends. What is in force on a ladder has a hash too, made once for each distinct ladder, so that a path costs one
//! lookup and one comparison.

use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::{HashMap, HashSet};
use overrule_engine::{KindId, LadderId, PathId};

use crate::effective::{Result, result};
use crate::written::written;
use crate::{Scene, ScenePart, json_line};

/// One kind at one path in one of the states.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    /// Its place among the parts of the scene; none if the family or kind is not there.
    part: Option<usize>,
    pub(crate) kind: KindId,
    /// None if the path is not there.
    pub(crate) path: Option<PathId>,
    pub(crate) ladder: LadderId,
}

impl Side {
    const NOTHING: Self = Self { part: None, kind: KindId(0), path: None, ladder: LadderId::EMPTY };

    pub(crate) fn part<'a>(&self, scene: &Scene<'a>) -> Option<&'a ScenePart<'a>> {
        scene.parts.get(self.part?)
    }

    /// The family and the path, if both are there.
    pub(crate) fn at<'a>(&self, scene: &Scene<'a>) -> Option<(&'a ScenePart<'a>, PathId)> {
        self.part(scene).zip(self.path)
    }

    pub(crate) fn fails(&self, scene: &Scene<'_>) -> bool {
        let failures = self.at(scene).map(|(part, path)| part.resolution.failures(path));
        failures.is_some_and(|mut f| f.next().is_some())
    }

    pub(crate) fn result(&self, scene: &Scene<'_>) -> Result {
        let Some(part) = self.part(scene) else { return Result::default() };
        let mut found = result(scene, part, part.resolution.effective(self.ladder));
        found.broken |= self.fails(scene);
        found
    }
}

/// One kind at one path in both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    /// Which kind, counted.
    pub(crate) number: usize,
    pub(crate) before: Side,
    pub(crate) after: Side,
}

/// Every kind and path at which what is in force differs: those of the state after in their order, then those that are
/// gone.
pub(crate) fn all(before: &Scene<'_>, after: &Scene<'_>) -> Vec<Pair> {
    let sides = (Hashed::all(before), Hashed::all(after));
    let mut kinds: Vec<KindName> = Vec::new();
    for kind in sides.1.iter().chain(&sides.0).flat_map(Hashed::kinds) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut pairs = Vec::new();
    for (number, kind) in kinds.iter().enumerate() {
        let side = |side: &[Hashed<'_>]| {
            side.iter().enumerate().find_map(|(part, h)| Some((part, h.kind(kind)?)))
        };
        let (old, new) = (side(&sides.0), side(&sides.1));
        let old = old.and_then(|(part, id)| Some((sides.0.get(part)?, part, id)));
        let new = new.and_then(|(part, id)| Some((sides.1.get(part)?, part, id)));
        of_kind(number, (before, old), (after, new), &mut pairs);
    }
    pairs
}

/// The same where ids mean the same in both states, and nothing can differ but these ladders, each of a part of the scene.
pub(crate) fn of_ladders(
    before: &Scene<'_>,
    after: &Scene<'_>,
    ladders: &[(usize, LadderId)],
) -> Vec<Pair> {
    let mut marks = (HashMap::new(), HashMap::new());
    let mut differs = |&(part, ladder): &(usize, LadderId)| {
        let side = Side { part: Some(part), ladder, ..Side::NOTHING };
        let (then, now) = (marks.0.entry(part).or_default(), marks.1.entry(part).or_default());
        mark(before, &side, then) != mark(after, &side, now)
    };
    let mut differing: HashMap<usize, HashSet<LadderId>> = HashMap::new();
    for (part, ladder) in ladders.iter().copied().filter(|l| differs(l)) {
        differing.entry(part).or_default().insert(ladder);
    }
    let (mut pairs, mut number) = (Vec::new(), 0);
    for (place, part) in after.parts.iter().enumerate() {
        for (kind, _) in part.resolution.kinds() {
            number += 1;
            let Some(differing) = differing.get(&place) else { continue };
            let contexts = part.resolution.contexts(kind);
            for (path, ladder) in contexts.filter(|(_, ladder)| differing.contains(ladder)) {
                let side = Side { part: Some(place), kind, path: Some(path), ladder };
                pairs.push(Pair { number, before: side, after: side });
            }
        }
    }
    pairs
}

/// A part that has a kind, its place, and the kind there.
type OfKind<'h, 'a> = Option<(&'h Hashed<'a>, usize, KindId)>;

fn of_kind(
    number: usize,
    (before, old): (&Scene<'_>, OfKind<'_, '_>),
    (after, new): (&Scene<'_>, OfKind<'_, '_>),
    pairs: &mut Vec<Pair>,
) {
    let mut left: HashMap<u128, (PathId, LadderId)> = HashMap::new();
    if let Some((old, _, id)) = old {
        for (path, ladder) in old.part.resolution.contexts(id) {
            left.insert(old.path(path), (path, ladder));
        }
    }
    let side = |of: OfKind<'_, '_>, path, ladder| {
        let side = |(_, part, kind)| Side { part: Some(part), kind, path: Some(path), ladder };
        of.map_or(Side::NOTHING, side)
    };
    let mut marks = (HashMap::new(), HashMap::new());
    if let Some((hashed, _, id)) = new {
        for (path, ladder) in hashed.part.resolution.contexts(id) {
            let now = side(new, path, ladder);
            let then = left.remove(&hashed.path(path));
            let then = then.map_or(Side::NOTHING, |(path, ladder)| side(old, path, ladder));
            let same = mark(before, &then, &mut marks.0) == mark(after, &now, &mut marks.1);
            if !same || then.fails(before) != now.fails(after) {
                pairs.push(Pair { number, before: then, after: now });
            }
        }
    }
    let Some((hashed, _, id)) = old else { return };
    for (path, ladder) in hashed.part.resolution.contexts(id) {
        let then = side(old, path, ladder);
        let was_in_force = ladder != LadderId::EMPTY || then.fails(before);
        if was_in_force && left.contains_key(&hashed.path(path)) {
            pairs.push(Pair { number, before: then, after: Side::NOTHING });
        }
    }
}

/// A hash of what is in force on a ladder and who set it; zero for the empty one.
fn mark(scene: &Scene<'_>, side: &Side, known: &mut HashMap<LadderId, u128>) -> u128 {
    if side.ladder == LadderId::EMPTY {
        return 0;
    }
    *known.entry(side.ladder).or_insert_with(|| {
        let Some(part) = side.part(scene) else { return 0 };
        let Some(found) = part.resolution.effective(side.ladder) else { return 0 };
        let Result { spec, origins, broken } = result(scene, part, Some(found));
        if spec.is_none() && origins.is_empty() && !broken {
            return 0;
        }
        let names: Vec<(&String, Vec<&String>)> = origins
            .iter()
            .map(|(at, list)| (at, list.iter().map(|o| &o.policy).collect()))
            .collect();
        let beside: Vec<String> = found
            .beside()
            .iter()
            .filter_map(|s| part.resolution.ladders.get_step(*s))
            .map(|step| json_line(&written(scene, step)))
            .collect();
        hash(&(json_line(&spec), names, beside, broken))
    })
}

/// Two hashes of 64 bits each: with a million paths, two that differ still do not meet.
fn hash(value: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        value.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// Family, group, kind.
type KindName = (&'static str, String, String);

/// A part with the hashes of its paths.
struct Hashed<'a> {
    scene: &'a Scene<'a>,
    part: &'a ScenePart<'a>,
    paths: Vec<u128>,
}

impl<'a> Hashed<'a> {
    fn all(scene: &'a Scene<'a>) -> Vec<Self> {
        scene.parts.iter().map(|part| Self::new(scene, part)).collect()
    }

    fn new(scene: &'a Scene<'a>, part: &'a ScenePart<'a>) -> Self {
        let text = |sym| scene.snapshot.text(sym);
        let mut nodes: HashMap<u32, u128> = HashMap::new();
        let mut paths: Vec<u128> = Vec::with_capacity(part.resolution.paths.len());
        for path in part.resolution.paths.ids() {
            let above = part.resolution.paths.parent(path);
            let above = above.and_then(|p| paths.get(p.0 as usize)).copied().unwrap_or(0);
            let node = part.resolution.paths.node(path).map_or(0, |id| {
                *nodes.entry(id.0).or_insert_with(|| {
                    part.topology.get(id).map_or(0, |n| {
                        hash(&(text(n.kind), text(n.namespace), text(n.name), text(n.section)))
                    })
                })
            });
            paths.push(hash(&(above, node)));
        }
        Self { scene, part, paths }
    }

    fn path(&self, path: PathId) -> u128 {
        self.paths.get(path.0 as usize).copied().unwrap_or(0)
    }

    fn kinds(&self) -> impl Iterator<Item = KindName> + '_ {
        let text = |sym| self.scene.snapshot.text(sym).to_owned();
        let kinds = self.part.resolution.kinds();
        kinds.map(move |(_, k)| (self.part.family, text(k.group), text(k.kind)))
    }

    fn kind(&self, (family, group, kind): &KindName) -> Option<KindId> {
        let text = |sym| self.scene.snapshot.text(sym);
        let same = |k: &overrule_engine::KindResult| text(k.group) == group && text(k.kind) == kind;
        let found = self.part.resolution.kinds().find(|(_, k)| same(k))?;
        (self.part.family == *family).then_some(found.0)
    }
}
