// SPDX-License-Identifier: Apache-2.0
//! In: the same family under another profile. Out: where its answer is about the same kind and path.
//! Not here: what differs (`compare.rs`).

use std::sync::Mutex;

use hashbrown::HashSet;
use overrule_engine::{KindId, LadderId, PathId};

use crate::{Scene, ScenePart};

/// A resolution to compare with. Its paths are other paths: profiles do not agree on which walks are legal.
#[derive(Debug)]
pub struct Other<'a> {
    /// The resolution.
    pub part: ScenePart<'a>,
    /// Ladders of the answer shown and of this one that were found to say the same.
    same: Mutex<HashSet<(LadderId, LadderId)>>,
}

impl<'a> Other<'a> {
    /// A resolution to compare with.
    pub fn new(part: ScenePart<'a>) -> Self {
        Self { part, same: Mutex::default() }
    }

    /// Whether two ladders, of the answer shown and of this one, are known to say the same.
    pub(crate) fn is_known_same(&self, pair: (LadderId, LadderId)) -> bool {
        self.same.lock().is_ok_and(|same| same.contains(&pair))
    }

    /// Remembers that they do.
    pub(crate) fn note_same(&self, pair: (LadderId, LadderId)) {
        if let Ok(mut same) = self.same.lock() {
            same.insert(pair);
        }
    }

    /// The path that visits the same nodes as a path of `part`; both must walk the same topology.
    pub fn path_like(&self, part: &ScenePart<'_>, path: PathId) -> Option<PathId> {
        let (paths, ours) = (&self.part.resolution.paths, &part.resolution.paths);
        ours.nodes(path)
            .into_iter()
            .try_fold(None, |at, node| Some(Some(paths.child(at, node)?)))?
    }

    /// The kind that is the same kind of policies as one of `part`.
    pub fn kind_like(&self, part: &ScenePart<'_>, kind: KindId) -> Option<KindId> {
        let wanted = part.resolution.kind(kind)?;
        let same =
            |k: &overrule_engine::KindResult| (k.group, k.kind) == (wanted.group, wanted.kind);
        self.part.resolution.kinds().find(|(_, k)| same(k)).map(|(id, _)| id)
    }

    /// Kind, path and ladder there for a kind and path of `part`; none if the kind has no target at such a path.
    pub fn like(
        &self,
        part: &ScenePart<'_>,
        kind: KindId,
        path: PathId,
    ) -> Option<(KindId, PathId, LadderId)> {
        let (kind, path) = (self.kind_like(part, kind)?, self.path_like(part, path)?);
        let ladder = self.part.resolution.ladder(kind, path);
        (ladder != LadderId::NONE).then_some((kind, path, ladder))
    }
}

impl<'a> Scene<'a> {
    /// The other profiles of the family of a part.
    pub fn others_of(&self, part: &ScenePart<'_>) -> impl Iterator<Item = &'a Other<'a>> + use<'a> {
        let (family, profile) = (part.family, part.profile);
        let same = move |o: &&Other<'_>| o.part.family == family && o.part.profile != profile;
        self.others.iter().filter(same)
    }
}
