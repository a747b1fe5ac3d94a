// SPDX-License-Identifier: Apache-2.0
//! In: attachments. Out: for each kind and node, its own policies as a ladder in rank order. Not here: paths.

use overrule_engine::{
    Attachment, Group, LadderId, NodeId, Rank, ResolutionBuilder, Rung, Step, StepId,
};
use overrule_model::{ObjectId, Snapshot, Sym};

use super::Active;
use crate::policy::Policy;
use overrule_topology::GatewayTopology;

/// Ladders of the policies attached to each node itself.
pub(crate) struct Locals {
    /// By kind, then node. Kinds are as active; nodes past the end have none.
    ladders: Vec<Vec<LadderId>>,
}

impl Locals {
    /// The ladder of a kind at a node.
    pub(crate) fn at(&self, kind: usize, node: NodeId) -> LadderId {
        let ladders = self.ladders.get(kind);
        ladders.and_then(|l| l.get(node.0 as usize)).copied().unwrap_or(LadderId::EMPTY)
    }

    /// Whether no policy of a kind is attached anywhere.
    pub(crate) fn is_empty(&self, kind: usize) -> bool {
        self.ladders.get(kind).is_none_or(Vec::is_empty)
    }
}

/// Ranks and groups.
pub(crate) fn build(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    builder: &mut ResolutionBuilder,
    kinds: &[Option<Active<'_>>],
    policies: &[Policy],
    attachments: &[Attachment],
) -> Locals {
    let objects: Vec<ObjectId> = policies.iter().map(|p| p.object).collect();
    let ordinals = name_order(snapshot, &objects);
    let active = kinds.iter().flatten().count();
    let mut by_place: Vec<(u16, NodeId, StepId)> = Vec::with_capacity(attachments.len());
    for attachment in attachments {
        let Some(policy) = policies.get(attachment.policy.0 as usize) else { continue };
        let Some(Some(kind)) = kinds.get(policy.kind) else { continue };
        let (Some(content), Some(node)) = (policy.content, topology.nodes.get(attachment.node))
        else {
            continue;
        };
        let created = snapshot.get(policy.object).map_or(i64::MAX, |o| o.created.key());
        let name = ordinals.get(attachment.policy.0 as usize).copied().unwrap_or(0);
        let level = i64::from(node.level.0);
        let rank = match (kind.is_direct(), kind.is_none()) {
            // The section stands above the object it is part of.
            (true, _) => Rank::new([-level, created, name]),
            (false, true) => Rank::new([created, name]),
            (false, false) => Rank::new([level, created, name]),
        };
        let step = Step {
            policy: attachment.policy,
            entry: None,
            block: content.block,
            level: node.level.0,
            value: content.value,
            mode: content.strategy.code(),
            extra: 0,
        };
        by_place.push((kind.id.0, attachment.node, builder.step(step, rank)));
    }
    by_place.sort_by(|a, b| {
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| builder.rank(a.2).cmp(&builder.rank(b.2)))
    });
    let mut locals = Locals { ladders: vec![Vec::new(); active] };
    for place in by_place.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let Some(&(kind, node, _)) = place.first() else { continue };
        let rungs = place.iter().map(|(_, _, step)| Rung::Step(*step)).collect();
        let ladder = builder.ladders.group(Group { spec: kind, extra: 0, rungs });
        if let Some(list) = locals.ladders.get_mut(kind as usize) {
            if list.is_empty() {
                list.resize(topology.nodes.len(), LadderId::EMPTY);
            }
            if let Some(slot) = list.get_mut(node.0 as usize) {
                *slot = ladder;
            }
        }
    }
    locals
}

/// Position of each object in the order of `namespace/name` as one text, which is what GEP-713 compares.
pub fn name_order(snapshot: &Snapshot, objects: &[ObjectId]) -> Vec<i64> {
    name_order_with(snapshot, objects, "")
}

/// The same where something is written behind each name, so that a name that begins another may come after it.
pub fn name_order_with(snapshot: &Snapshot, objects: &[ObjectId], behind: &str) -> Vec<i64> {
    let names = |i: &u32| {
        let object = objects.get(*i as usize).and_then(|o| snapshot.get(*o));
        object.map(|o| (o.scope.name(), o.name)).unwrap_or_default()
    };
    let full_name = |(namespace, name): (Sym, Sym)| {
        let (namespace, name) = (snapshot.text(namespace), snapshot.text(name));
        namespace.bytes().chain(*b"/").chain(name.bytes()).chain(behind.bytes())
    };
    let mut order: Vec<u32> = (0..u32::try_from(objects.len()).unwrap_or(u32::MAX)).collect();
    order.sort_by(|a, b| {
        let (a_names, b_names) = (names(a), names(b));
        let by_name = match a_names.0 == b_names.0 && behind.is_empty() {
            // The usual case, in which what is before the names needs no look.
            true => snapshot.text(a_names.1).cmp(snapshot.text(b_names.1)),
            false => full_name(a_names).cmp(full_name(b_names)),
        };
        by_name.then(a.cmp(b))
    });
    let mut positions = vec![0; objects.len()];
    for (position, index) in (0_i64..).zip(order) {
        if let Some(slot) = positions.get_mut(index as usize) {
            *slot = position;
        }
    }
    positions
}
