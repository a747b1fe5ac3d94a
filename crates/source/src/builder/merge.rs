// SPDX-License-Identifier: Apache-2.0
//! In: the mappings that `<<` names in a map. Out: their entries at the end of that map.
//! Not here: aliases that are values (`builder`).
//!
//! The map's own keys win, then the mapping named first. go-yaml v2, with which Kubernetes reads, instead lets a
//! merged value replace an own one written *before* the `<<`; that is against the merge specification and gets a
//! warning. The `<<` entry itself stays in the arena, hidden, so that anchors inside it keep their places.

use super::{Builder, Frame, Refusal, Slot};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::tree::{Node, NodeKind};

/// A mapping, or list of mappings, to merge into the map around it when that is complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Merge {
    node: u32,
    height: usize,
    /// Where the value of `<<` is written.
    at: (u32, u32),
    /// The hidden key `<<`; own keys before it have smaller ids.
    key: u32,
}

impl Builder<'_> {
    /// Notes the value of `<<`, a complete node.
    pub(super) fn add_merge(
        &mut self,
        node: u32,
        height: usize,
        at: (u32, u32),
    ) -> Result<(), Refusal> {
        let whole = self.arena.node(node);
        let fits = match whole.kind() {
            NodeKind::Map => true,
            NodeKind::List => self.children(node).all(|(_, item)| item.kind() == NodeKind::Map),
            _ => false,
        };
        if !fits {
            return Err(self.bad_merge(at));
        }
        let key = self.frames.last().map_or(0, |frame| frame.merge_key);
        self.merges.push(Merge { node, height, at, key });
        Ok(())
    }

    /// Appends the entries of everything that `<<` names in this map, which is taken off the stack.
    pub(super) fn apply_merges(&mut self, frame: &mut Frame) -> Result<(), Refusal> {
        let merges = self.merges.split_off(frame.first_merge);
        // The map is off the stack, so that its own level counts as one more.
        for merge in merges {
            self.check_depth(merge.height.max(1), merge.at)?;
            let maps: Vec<u32> = match self.arena.node(merge.node).kind() {
                NodeKind::Map => vec![merge.node],
                _ => self.children(merge.node).map(|(id, _)| id).collect(),
            };
            for map in maps {
                self.merge_map(frame, map, merge)?;
            }
        }
        Ok(())
    }

    fn merge_map(&mut self, frame: &mut Frame, map: u32, merge: Merge) -> Result<(), Refusal> {
        let end = map.saturating_add(self.arena.node(map).size());
        let mut at = map.saturating_add(1);
        while at < end {
            let key = self.arena.node(at);
            let value = at.saturating_add(1);
            let size = self.arena.node(value).size();
            let entry = at;
            at = value.saturating_add(size);
            if key.is_hidden() {
                continue;
            }
            if let Some(own) = self.keys.find(&frame.keys, self.arena.text_of(key), &self.arena) {
                if own < merge.key {
                    self.warn_order(own, merge);
                }
                continue;
            }
            self.spend(size.saturating_add(1), merge.at)?;
            let id = self.arena.next_id();
            self.arena.copy(entry, size + 1);
            self.keys.add(&mut frame.keys, id, &self.arena);
            frame.count += 1;
            frame.height = frame.height.max(merge.height.saturating_sub(1));
        }
        Ok(())
    }

    fn warn_order(&mut self, own: u32, merge: Merge) {
        let node = self.arena.node(own);
        let at = self.span(node.start, node.end);
        let (place, name) = (self.span(merge.at.0, merge.at.1), self.arena.text_of(node));
        let name = super::shorten(name);
        self.findings.add(&codes::MERGE_ORDER, at, || {
            Diagnostic::new(
                &codes::MERGE_ORDER,
                format!("the key `{name}` comes before a merge key that also sets it"),
            )
            .at_with(at, "this value is kept")
            .see(place, "this one sets the key too")
            .help("put `<<` first: Kubernetes would use the merged value here")
        });
    }

    /// The direct children of a complete map or list, with their ids.
    fn children(&self, node: u32) -> impl Iterator<Item = (u32, Node)> {
        let end = node.saturating_add(self.arena.node(node).size());
        let mut at = node.saturating_add(1);
        std::iter::from_fn(move || {
            let here = (at < end).then(|| (at, self.arena.node(at)))?;
            at = at.saturating_add(here.1.size());
            Some(here)
        })
    }

    /// Adds the key `<<` written plain; its value follows.
    pub(crate) fn merge_key(&mut self, start: u32, end: u32) -> Result<(), Refusal> {
        debug_assert_eq!(self.slot(), Slot::Key);
        let id = self.arena.next_id();
        self.push(Node::verbatim(NodeKind::String, start, end).hidden())?;
        if let Some(frame) = self.frames.last_mut() {
            frame.next = Slot::Merge;
            frame.merge_key = id;
        }
        Ok(())
    }
}
