// SPDX-License-Identifier: Apache-2.0
//! In: the groups of nodes. Out: the ladders of listeners, chains, rules and backends. Not here: which paths there are.

use overrule_engine::{Group, LadderId, NodeId, Rung};
use overrule_gateway::topology::{Gateway, Listener, ListenerSet, Route};
use smallvec::{SmallVec, smallvec};

use super::super::plans::{Role, spec, strategy_of};
use super::{Above, Walk};
use crate::InheritedPriority;
use crate::kinds::KindShape;

/// What stands above routes.
pub(super) struct Tiers {
    /// For each kind, its tiers, most specific first.
    pub(super) groups: Vec<SmallVec<[LadderId; 3]>>,
}

impl Walk<'_, '_> {
    /// The tiers of a listener: the listener (of a ListenerSet: and all of the set), then the Gateway. In the design the
    /// annotation of a Gateway is about both of its tiers at once; the controller makes one merge of them for HTTPS.
    pub(super) fn tiers(
        &mut self,
        gateway: &Gateway,
        set: Option<&ListenerSet>,
        listener: &Listener,
    ) -> Tiers {
        let https = self.world.snapshot.text(listener.protocol) == "HTTPS";
        let one_level = self.world.profile.merges_tiers(https);
        let one_side = self.world.profile.reads_annotation_above_routes();
        let mut groups = Vec::with_capacity(self.kinds.len());
        for (kind, active) in self.kinds.iter().enumerate() {
            let of = |node| self.locals.ladders.at(kind, node);
            let (section, whole) = (of(listener.node), of(gateway.node));
            let of_set = set.map_or(LadderId::EMPTY, |s| of(s.node));
            let ladders = &mut self.builder.ladders;
            let flat = active.info.shape != KindShape::Path;
            let tiers: SmallVec<[LadderId; 3]> = match set {
                // One merge: listener, set, Gateway.
                _ if one_level || flat => {
                    let below = ladders.extend(of_set, whole);
                    smallvec![ladders.extend(section, below)]
                }
                // A set is a level of its own, above it the Gateway.
                Some(_) => smallvec![ladders.extend(section, of_set), whole],
                None if one_side && section != LadderId::EMPTY && whole != LadderId::EMPTY => {
                    let Group { spec: below, .. } = *ladders.get(whole);
                    let spec = spec(kind, Role::Side, strategy_of(below));
                    let rungs = smallvec![Rung::Group(section), Rung::Group(whole)];
                    smallvec![ladders.group(Group { spec, extra: 0, rungs })]
                }
                None => smallvec![section, whole],
            };
            let tiers: SmallVec<[LadderId; 3]> =
                tiers.into_iter().filter(|t| *t != LadderId::EMPTY).collect();
            if !flat {
                // A listener without routes is merged too, and its policies have a status.
                let ancestor = set.map_or(gateway.node, |s| s.node);
                tiers.iter().for_each(|tier| self.builder.keep(ancestor, *tier));
            }
            groups.push(tiers);
        }
        Tiers { groups }
    }

    /// The ladder of each kind on a rule; without a rule, that of rules that have nothing of their own.
    pub(super) fn ladders(
        &mut self,
        above: &Above,
        tiers: &Tiers,
        route: &Route,
        rule: Option<NodeId>,
        mask: u32,
    ) -> SmallVec<[LadderId; 4]> {
        let kinds = self.kinds;
        let mut found = SmallVec::new();
        for (kind, active) in kinds.iter().enumerate() {
            let ladder = if active.info.is_on_rules() && active.info.takes(route.kind) {
                let higher = above.chains.get(kind).copied().unwrap_or(LadderId::EMPTY);
                let chain = self.chain(kind, higher, route, rule);
                match active.info.shape {
                    KindShape::Path => self.path(kind, chain, tiers, mask),
                    _ => chain,
                }
            } else {
                LadderId::NONE
            };
            found.push(ladder);
        }
        found
    }

    /// The chain that a level is put before: for kinds with levels a group of groups, for others one list.
    pub(super) fn chain(
        &mut self,
        kind: usize,
        higher: LadderId,
        route: &Route,
        rule: Option<NodeId>,
    ) -> LadderId {
        let of = |node| self.locals.ladders.at(kind, node);
        let own = rule.map_or(LadderId::EMPTY, of);
        let ladders = &mut self.builder.ladders;
        let level = ladders.extend(own, of(route.node));
        let is_path = self.kinds.get(kind).is_some_and(|k| k.info.shape == KindShape::Path);
        if !is_path {
            return ladders.extend(level, higher);
        }
        if level == LadderId::EMPTY {
            return higher;
        }
        let mut rungs: SmallVec<[Rung; 4]> = smallvec![Rung::Group(level)];
        if higher != LadderId::EMPTY {
            rungs.extend_from_slice(&ladders.get(higher).rungs);
        }
        ladders.group(Group {
            spec: spec(kind, Role::Chain, InheritedPriority::default()),
            extra: 0,
            rungs,
        })
    }

    /// A path: the chain, then the tiers.
    fn path(&mut self, kind: usize, chain: LadderId, tiers: &Tiers, mask: u32) -> LadderId {
        let tiers = tiers.groups.get(kind).map_or(&[][..], |t| t);
        let chain = Some(chain).filter(|c| *c != LadderId::EMPTY);
        let rungs: SmallVec<[Rung; 4]> =
            chain.into_iter().chain(tiers.iter().copied()).map(Rung::Group).collect();
        if rungs.is_empty() {
            return LadderId::EMPTY;
        }
        let spec = spec(kind, Role::Path, InheritedPriority::default());
        self.builder.ladders.group(Group { spec, extra: mask, rungs })
    }

    /// The ladder of a rule with the policies of one of its backends.
    pub(super) fn with_backend(
        &mut self,
        kind: usize,
        own: LadderId,
        of_rule: LadderId,
        tiers: &Tiers,
        several: bool,
    ) -> LadderId {
        if own == LadderId::EMPTY {
            return of_rule;
        }
        let Group { spec: known, extra, rungs } = self.builder.ladders.get(of_rule).clone();
        let spec = if of_rule == LadderId::EMPTY {
            spec(kind, Role::Path, InheritedPriority::default())
        } else {
            known
        };
        let above = tiers.groups.get(kind).map_or(0, SmallVec::len);
        let place = if several { 0 } else { rungs.len().saturating_sub(above) };
        let mut all = rungs;
        all.insert(place, Rung::Group(own));
        self.builder.ladders.group(Group { spec, extra, rungs: all })
    }
}
