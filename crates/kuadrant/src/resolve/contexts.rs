// SPDX-License-Identifier: Apache-2.0
//! In: a profile and the ladders of nodes. Out: which paths count, and what a kind has on them. Not here: walking.

use overrule_engine::{LadderId, Level, NodeId, ResolutionBuilder};
use overrule_gateway::topology::{Link, RouteKind, level};
use overrule_gateway::walk::Contexts;

use super::Active;
use super::local::Locals;
use crate::Profile;

/// What a profile sees.
pub(crate) struct Paths<'a> {
    pub(crate) profile: Profile,
    pub(crate) kinds: &'a [Active],
    pub(crate) locals: &'a Locals<'a>,
}

impl Contexts for Paths<'_> {
    fn kinds(&self) -> usize {
        self.kinds.len()
    }

    fn serves(&self, link: &Link) -> bool {
        self.profile.serves(link)
    }

    fn sees_sets(&self) -> bool {
        self.profile.sees_sets()
    }

    fn stands_at(&self, kind: usize) -> Option<Level> {
        let kind = self.kinds.get(kind)?;
        Some(if kind.info.is_direct() { level::LISTENER } else { level::RULE })
    }

    fn takes(&self, kind: usize, route: RouteKind) -> bool {
        self.kinds.get(kind).is_some_and(|k| k.info.takes(route))
    }

    fn local(&self, kind: usize, node: NodeId) -> LadderId {
        self.locals.ladders.at(kind, node)
    }

    fn is_unused(&self, kind: usize) -> bool {
        self.locals.ladders.is_empty(kind)
    }

    /// A listener with a direct policy of its own is out of reach of the one on its Gateway.
    fn join(
        &self,
        builder: &mut ResolutionBuilder,
        kind: usize,
        above: LadderId,
        own: LadderId,
    ) -> LadderId {
        let direct = self.kinds.get(kind).is_some_and(|k| k.info.is_direct());
        match (direct, own) {
            (true, LadderId::EMPTY) => above,
            (true, own) => own,
            // A policy has one target, so no two nodes have the same ladder of their own, and a walk meets a pair once.
            (false, own) => builder.ladders.extend_new(above, own),
        }
    }
}
