// SPDX-License-Identifier: Apache-2.0
//! In: what a document is about to cost. Out: the refusal of one that would cost too much. Not here: the bounds themselves
//! (`limits`).

use super::{Builder, Refusal};

impl Builder<'_> {
    pub(crate) fn check_length(&self, length: usize, at: (u32, u32)) -> Result<(), Refusal> {
        if length <= self.limits.scalar_bytes {
            return Ok(());
        }
        let bound = format!("{} bytes", self.limits.scalar_bytes);
        Err(self.limit((at.0, at.0), "this scalar", &bound))
    }

    /// Accounts for nodes that aliases add, before they are made.
    pub(super) fn spend(&mut self, nodes: u32, at: (u32, u32)) -> Result<(), Refusal> {
        self.expanded = self.expanded.saturating_add(nodes as usize);
        if self.expanded > self.limits.alias_nodes {
            let bound = format!("{} values", self.limits.alias_nodes);
            return Err(self.limit(at, "the expanded aliases of this document", &bound));
        }
        self.check_nodes(nodes as usize, at)
    }

    pub(super) fn check_nodes(&self, more: usize, at: (u32, u32)) -> Result<(), Refusal> {
        if self.arena.nodes.len().saturating_add(more) <= self.limits.nodes {
            return Ok(());
        }
        let bound = format!("{} values", self.limits.nodes);
        Err(self.limit(at, "this document", &bound))
    }

    pub(super) fn check_depth(&self, more: usize, at: (u32, u32)) -> Result<(), Refusal> {
        if self.frames.len() + more <= self.limits.depth {
            return Ok(());
        }
        Err(self.too_deep(at))
    }
}
