// SPDX-License-Identifier: Apache-2.0
//! In: steps that landed on nodes. Out: for each kind and node, the ladder of its own steps in rank order. Not here: paths.

use crate::{Group, LadderId, NodeId, ResolutionBuilder, Rung, StepId};

/// A step that landed on a node.
#[derive(Debug, Clone, Copy)]
pub struct Landed {
    /// The number of its kind.
    pub kind: u16,
    /// The node.
    pub node: NodeId,
    /// The step.
    pub step: StepId,
}

/// Ladders of what landed on each node itself.
#[derive(Debug, Clone, Default)]
pub struct LocalLadders {
    /// By kind, then node; nodes past the end have none.
    ladders: Vec<Vec<LadderId>>,
}

impl LocalLadders {
    /// The ladder of a kind at a node.
    pub fn at(&self, kind: usize, node: NodeId) -> LadderId {
        let ladders = self.ladders.get(kind);
        ladders.and_then(|l| l.get(node.0 as usize)).copied().unwrap_or(LadderId::EMPTY)
    }

    /// Whether nothing of a kind landed anywhere.
    pub fn is_empty(&self, kind: usize) -> bool {
        self.ladders.get(kind).is_none_or(Vec::is_empty)
    }
}

impl ResolutionBuilder {
    /// Groups steps by kind and node, in rank order. `spec` is that of each group. There are so many kinds and nodes.
    pub fn local_ladders(
        &mut self,
        (kinds, nodes): (usize, usize),
        mut landed: Vec<Landed>,
        mut spec: impl FnMut(u16, NodeId) -> u16,
    ) -> LocalLadders {
        landed.sort_by(|a, b| {
            let place = (a.kind, a.node).cmp(&(b.kind, b.node));
            place.then_with(|| self.rank(a.step).cmp(&self.rank(b.step)))
        });
        let mut ladders = vec![Vec::new(); kinds];
        for place in landed.chunk_by(|a, b| (a.kind, a.node) == (b.kind, b.node)) {
            let Some(&Landed { kind, node, .. }) = place.first() else { continue };
            let rungs = place.iter().map(|landed| Rung::Step(landed.step)).collect();
            let ladder = self.ladders.group(Group { spec: spec(kind, node), extra: 0, rungs });
            let Some(list) = ladders.get_mut(usize::from(kind)) else { continue };
            if list.is_empty() {
                list.resize(nodes, LadderId::EMPTY);
            }
            if let Some(slot) = list.get_mut(node.0 as usize) {
                *slot = ladder;
            }
        }
        LocalLadders { ladders }
    }
}
