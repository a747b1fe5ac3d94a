// SPDX-License-Identifier: Apache-2.0
//! In: attachments. Out: for each kind and node, its own policies as a ladder in rank order. Not here: paths.

use overrule_engine::{Attachment, Landed, LocalLadders, Rank, ResolutionBuilder, Step};
use overrule_model::{ObjectId, Snapshot, Sym};

use super::Active;
use crate::policy::Policy;
use overrule_topology::GatewayTopology;

/// Ranks and groups.
pub(crate) fn build(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    builder: &mut ResolutionBuilder,
    kinds: &[Option<Active<'_>>],
    policies: &[Policy],
    attachments: &[Attachment],
) -> LocalLadders {
    let objects: Vec<ObjectId> = policies.iter().map(|p| p.object).collect();
    let ordinals = name_order(snapshot, &objects);
    let active = kinds.iter().flatten().count();
    let mut landed = Vec::with_capacity(attachments.len());
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
        let (kind, node, step) = (kind.id.0, attachment.node, builder.step(step, rank));
        landed.push(Landed { kind, node, step });
    }
    builder.local_ladders((active, topology.nodes.len()), landed, |kind, _| kind)
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
