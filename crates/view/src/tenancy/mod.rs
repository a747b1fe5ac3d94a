// SPDX-License-Identifier: Apache-2.0
//! In: a scene and what a reader may read. Out: answers that hold nothing of what it may not read. Not here: who the
//! reader is; whoever asks implements [`Sees`].
//!
//! The rules, which every answer keeps:
//!
//! 1. A reader sees the values in force at the targets it may read, and the names of the policies that set them.
//! 2. Of everything else it may not read it sees nothing: no losers, places, elements of paths, counts, rungs, steps,
//!    reasons, results under other profiles, findings, suggestions. Results that are alike without these are one.
//! 3. What it may not read answers as what does not exist.
//! 4. Of its own policies it sees what of them is in force, and by whose values they are replaced. Why is not told: the
//!    reason may lie in a policy that lost too, and nothing a reader is told depends on hidden policies that lost.
//! 5. Where everything that could ever act on a target may be read ([`Sees::closed`]), answers about it are whole.
//!
//! Restricted answers are built from what is allowed, not stripped of what is not: a field that is added to the model
//! later is absent from them until somebody decides otherwise.

mod access;
mod effective;
mod explain;
mod findings;
mod graph;
mod reach;

pub use access::{callers, decision};

use std::collections::BTreeSet;

use overrule_engine::{KindId, LadderId, NodeId, PathId, PolicyId, StepId, Traced};
use overrule_model::{Object, ObjectId, Snapshot};

use crate::{Scene, ScenePart, assumed, json_line, v1};

/// What a reader may read.
pub trait Sees {
    /// Whether it may read an object.
    fn object(&self, snapshot: &Snapshot, object: &Object) -> bool;

    /// Whether it may read all of them, and everything about them.
    fn everything(&self) -> bool;

    /// Whether it may read everything that could ever act on an object it may read, whatever is written elsewhere: all of
    /// its mesh, say. Answers about such an object are whole. Say no where that is not certain.
    fn closed(&self, _snapshot: &Snapshot, _object: &Object) -> bool {
        self.everything()
    }
}

/// A reader of everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Everything;

impl Sees for Everything {
    fn object(&self, _: &Snapshot, _: &Object) -> bool {
        true
    }

    fn everything(&self) -> bool {
        true
    }
}

/// Answers to one reader who may not read everything.
pub struct Reader<'a> {
    scene: &'a Scene<'a>,
    sees: &'a dyn Sees,
}

impl<'a> Reader<'a> {
    /// Answers from a scene.
    pub fn new(scene: &'a Scene<'a>, sees: &'a dyn Sees) -> Self {
        Self { scene, sees }
    }

    /// Whether the reader may read an object.
    pub fn object(&self, id: ObjectId) -> bool {
        self.scene.snapshot.get(id).is_some_and(|o| self.sees.object(self.scene.snapshot, o))
    }

    /// What an answer rests on, as far as it may be known.
    fn assumptions(&self, mut objects: BTreeSet<ObjectId>) -> Vec<v1::Assumption> {
        objects.retain(|object| self.object(*object));
        assumed::told(self.scene, &objects)
    }

    fn closed(&self, id: ObjectId) -> bool {
        let object = self.scene.snapshot.get(id);
        object.is_some_and(|o| self.sees.closed(self.scene.snapshot, o)) && self.object(id)
    }

    fn policy(&self, part: &ScenePart<'_>, policy: PolicyId) -> bool {
        part.resolution.policy(policy).is_some_and(|p| self.object(p.object))
    }

    fn step(&self, part: &ScenePart<'_>, step: StepId) -> bool {
        part.policy_of(step).is_some_and(|p| self.policy(part, p))
    }

    /// The nodes of a path that may be read. What is only referred to belongs to what refers to it: the next object above
    /// it or, at the top, below it. Where paths have owners, it is what policies describe, and may be told where all of them
    /// may be read.
    fn nodes(&self, part: &ScenePart<'_>, path: PathId) -> Vec<NodeId> {
        let nodes = part.resolution.paths.nodes(path);
        let object = |n: &NodeId| part.topology.get(*n).and_then(|n| n.object);
        let objects: Vec<Option<ObjectId>> = nodes.iter().map(object).collect();
        let readable = |(i, own): (usize, &Option<ObjectId>)| match own {
            Some(object) => self.object(*object),
            None => {
                let above = objects.iter().take(i).rev().flatten().next();
                let below = || objects.iter().skip(i).flatten().next();
                let near = above.or_else(below).copied();
                match part.words.path_owners() {
                    [] => near.is_some_and(|o| self.object(o)),
                    _ => near.is_some_and(|o| self.closed(o)),
                }
            }
        };
        let kept: Vec<bool> = objects.iter().enumerate().map(readable).collect();
        nodes.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(node, _)| node).collect()
    }

    /// Whether the target of a path may be read, and all that own the path.
    pub fn shows(&self, part: &ScenePart<'_>, path: PathId) -> bool {
        // Most targets of others are told apart by this alone.
        let target = part.resolution.paths.node(path).and_then(|n| part.topology.get(n)?.object);
        if target.is_some_and(|object| !self.object(object)) {
            return false;
        }
        let kept = self.nodes(part, path);
        let owners = part.words.path_owners();
        let is_owner = |n: &&NodeId| {
            let kind = part.topology.get(**n).map(|n| self.scene.snapshot.text(n.kind));
            kind.is_some_and(|kind| owners.contains(&kind))
        };
        let all = part.resolution.paths.nodes(path);
        kept.last() == all.last() && all.iter().filter(is_owner).all(|n| kept.contains(n))
    }

    fn path(&self, part: &ScenePart<'_>, path: PathId) -> Vec<v1::PathElement> {
        let nodes = self.nodes(part, path).into_iter();
        nodes.filter_map(|n| part.element(self.scene, n)).collect()
    }

    /// Whether all there is to tell about a kind at a path may be told.
    fn tells_all(&self, part: &ScenePart<'_>, kind: KindId, path: PathId) -> bool {
        let nodes = part.resolution.paths.nodes(path);
        let mut objects = nodes.iter().filter_map(|n| part.topology.get(*n)?.object);
        let target = part.resolution.paths.node(path).and_then(|n| part.topology.get(n)?.object);
        let closed = match target {
            Some(target) => self.closed(target),
            None => {
                nodes.iter().filter_map(|n| part.topology.get(*n)?.object).all(|o| self.closed(o))
            }
        };
        let ladder = |part: &ScenePart<'_>, ladder: LadderId| {
            part.resolution.outcomes(ladder).iter().all(|(p, _)| self.policy(part, *p))
        };
        closed
            && objects.all(|o| self.object(o))
            && ladder(part, part.resolution.ladder(kind, path))
            && self.scene.others_of(part).all(|other| {
                other.like(part, kind, path).is_none_or(|(_, _, l)| ladder(&other.part, l))
            })
    }

    /// Whether a path is there for the reader: it leads from one object to another, or something is to be known of it. A
    /// target that stands alone has a path only because some policy, which may be hidden, means it.
    fn stands(&self, part: &ScenePart<'_>, path: PathId) -> bool {
        let nodes = part.resolution.paths.nodes(path);
        let object = |n: Option<&NodeId>| n.and_then(|n| part.topology.get(*n)).map(|n| n.object);
        let leads = object(nodes.first()) != object(nodes.last());
        let mut kinds = part.resolution.kinds().map(|(id, _)| id);
        leads || kinds.any(|kind| self.effective(part, kind, path).is_some())
    }

    /// Whether a kind of policies is known to the reader: it may read one of them, or one is in force where it reads.
    pub fn kind(&self, part: &ScenePart<'_>, kind: KindId) -> bool {
        let mut declared = part.resolution.policies().filter(|(_, p)| p.kind == kind);
        declared.any(|(_, p)| self.object(p.object))
            || part
                .resolution
                .contexts(kind)
                .any(|(path, ladder)| !in_force(part, ladder).is_empty() && self.shows(part, path))
    }
}

/// The steps in force on a ladder: in the value, beside it, or by making the target fail.
fn in_force(part: &ScenePart<'_>, ladder: LadderId) -> BTreeSet<StepId> {
    let Some(found) = part.resolution.effective(ladder) else { return BTreeSet::new() };
    let value = found.value.as_ref().map(Traced::steps).unwrap_or_default();
    let broken = found.poison().iter().map(|(step, _)| *step);
    value.into_iter().chain(found.beside().iter().copied()).chain(broken).collect()
}

/// Keeps the first of all that are alike.
fn alike_once<T: serde::Serialize>(items: &mut Vec<T>) {
    let mut seen = BTreeSet::new();
    items.retain(|item| seen.insert(json_line(item)));
}
