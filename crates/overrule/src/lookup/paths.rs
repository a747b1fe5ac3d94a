// SPDX-License-Identifier: Apache-2.0
//! In: words for policy kinds, and nodes. Out: the kinds, and the paths that pass through the nodes. Not here: names of
//! objects.

use std::collections::BTreeSet;

use overrule_engine::{KindId, KindResult, LadderId, NodeId, PathId};
use overrule_view::{self as view, Other, Scene, ScenePart};

use super::{Finder, LookupError, suggest};

/// A policy kind of one family.
#[derive(Debug, Clone, Copy)]
pub struct FamilyPolicyKind<'a> {
    /// The answer of the family.
    pub part: &'a ScenePart<'a>,
    /// The kind in it.
    pub id: KindId,
}

/// A path at which a kind can have an effective policy.
#[derive(Debug, Clone, Copy)]
pub struct PolicyContext<'a> {
    /// The answer of the family.
    pub part: &'a ScenePart<'a>,
    /// The kind in it.
    pub kind: KindId,
    /// The path.
    pub path: PathId,
    /// The policies that reach the path, ranked.
    pub ladder: LadderId,
}

/// A path that only another profile has.
#[derive(Debug, Clone, Copy)]
pub struct Elsewhere<'a> {
    /// The answer shown, which does not have it.
    pub part: &'a ScenePart<'a>,
    /// The answer that has it.
    pub other: &'a Other<'a>,
    /// The kind in that answer.
    pub kind: KindId,
    /// The path in that answer.
    pub path: PathId,
}

impl PolicyContext<'_> {
    /// Whether a policy reaches the path, under this profile or another that is compared with.
    pub fn is_covered(&self, scene: &Scene<'_>) -> bool {
        let there = |o: &Other<'_>| {
            let like = o.like(self.part, self.kind, self.path);
            like.is_some_and(|(_, _, ladder)| ladder != LadderId::EMPTY)
        };
        self.ladder != LadderId::EMPTY || scene.others_of(self.part).any(there)
    }
}

/// The words a kind may be asked for by although nothing of it was read: as written and in the singular, without group.
pub fn kind_words(word: &str) -> Vec<String> {
    let kind = word.split('.').next().unwrap_or(word).to_lowercase();
    let mut words = vec![kind.clone()];
    words.extend(kind.strip_suffix("ies").map(|stem| format!("{stem}y")));
    words.extend(kind.strip_suffix('s').map(str::to_owned));
    words
}

impl Finder<'_> {
    /// The policy kinds that a word means; all if there is none.
    pub fn kinds<'s>(
        &self,
        scene: &Scene<'s>,
        word: Option<&str>,
    ) -> Result<Vec<FamilyPolicyKind<'s>>, LookupError> {
        let snapshot = &self.analysis.snapshot;
        let all = self.resolved_kinds(scene);
        let Some(word) = word else { return Ok(all.map(|(kind, _)| kind).collect()) };
        let group = word.split_once('.').map(|(_, group)| group);
        let called = self.kinds_called(word.split('.').next().unwrap_or(word), group);
        let words = kind_words(word);
        let means = |kind: &KindResult| {
            let (name, of) = (snapshot.text(kind.kind), snapshot.text(kind.group));
            called.iter().any(|c| c.kind == kind.kind && c.group == kind.group)
                || (words.iter().any(|w| w.eq_ignore_ascii_case(name))
                    && group.is_none_or(|g| g == of))
        };
        let found: Vec<FamilyPolicyKind<'s>> =
            all.filter(|(_, result)| means(result)).map(|(kind, _)| kind).collect();
        if found.is_empty() {
            return Err(self.no_policy_kind(scene, word));
        }
        Ok(found)
    }

    /// The kinds that were resolved, as far as they may be known.
    fn resolved_kinds<'s>(
        &self,
        scene: &Scene<'s>,
    ) -> impl Iterator<Item = (FamilyPolicyKind<'s>, &'s KindResult)> {
        let of = |part: &'s ScenePart<'s>| {
            part.resolution.kinds().map(move |(id, result)| (FamilyPolicyKind { part, id }, result))
        };
        scene.parts.iter().flat_map(of).filter(|(kind, _)| self.shows_kind(scene, kind))
    }

    /// Offers the kinds that were read, those that are described, and those that families know.
    fn no_policy_kind(&self, scene: &Scene<'_>, word: &str) -> LookupError {
        let resolved = self.resolved_kinds(scene);
        let resolved = resolved.map(|(_, k)| self.analysis.snapshot.text(k.kind));
        // Whoever may not read everything may not read every descriptor either.
        let described = self.analysis.kinds().iter().filter(|_| self.sees.everything());
        let described = described.map(|d| &*d.kind);
        let own = crate::families::own_kinds().iter().map(|k| k.kind);
        let names: BTreeSet<&str> = resolved.chain(described).chain(own).collect();
        let names = names.into_iter().filter(|n| !n.is_empty()).map(str::to_owned).collect();
        let kind = word.split('.').next().unwrap_or(word);
        let suggestions = suggest(kind, names, 2);
        LookupError::NoPolicyKind { kind: word.to_owned(), suggestions }
    }
}

/// Paths of the given kinds that pass through all of these nodes, in order. It costs these paths, not all there are.
pub fn contexts<'a>(
    kinds: &'a [FamilyPolicyKind<'a>],
    through: &'a [NodeId],
) -> impl Iterator<Item = PolicyContext<'a>> + 'a {
    kinds.iter().flat_map(move |FamilyPolicyKind { part, id }| {
        let (all, few) = match through {
            [] => (Some(part.resolution.contexts(*id)), Vec::new()),
            _ => (None, part.resolution.paths.through(through)),
        };
        let few = few.into_iter().map(move |path| (path, part.resolution.ladder(*id, path)));
        let few = few.filter(|(_, ladder)| *ladder != LadderId::NONE);
        let paths = all.into_iter().flatten().chain(few);
        paths.map(move |(path, ladder)| PolicyContext { part, kind: *id, path, ladder })
    })
}

/// Paths of the given kinds that only other profiles have, as far as the scene compares with some.
pub fn elsewhere<'a>(
    scene: &'a Scene<'a>,
    kinds: &[FamilyPolicyKind<'a>],
    through: &[NodeId],
) -> Vec<Elsewhere<'a>> {
    let mut found = Vec::new();
    for part in scene.parts {
        let among = |part: &ScenePart<'_>| part.resolution.paths.through(through);
        for (other, kind, path, _) in view::only_elsewhere(scene, part, &among) {
            let asked = kinds
                .iter()
                .any(|k| std::ptr::eq(k.part, part) && other.kind_like(part, k.id) == Some(kind));
            if asked {
                found.push(Elsewhere { part, other, kind, path });
            }
        }
    }
    found
}
