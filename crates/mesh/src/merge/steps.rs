// SPDX-License-Identifier: Apache-2.0
//! In: entries of policies. Out: each as a step of ladders, once, with its conf as it is read. Not here: which entries
//! meet (`entries`), and what their ladders come to (`conf`).

use hashbrown::HashMap;
use overrule_engine::{StepId, Traced};
use overrule_source::{Documents, NodeRef};

use super::entries::Item;
use crate::conf::{Confs, EntryPosition, conf_of};
use crate::kinds::{Conf, ResourceKind};

/// Steps, and whose they are.
pub(crate) struct Steps<'a> {
    pub(crate) confs: Confs<'a>,
    items: Vec<Item<'a>>,
    /// By document of the policy, list, and place in it.
    known: HashMap<(NodeRef, EntryPosition, u32), StepId>,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(documents: &'a Documents) -> Self {
        Self { confs: Confs::new(documents), items: Vec::new(), known: HashMap::new() }
    }

    /// The step of an entry. `intern` makes a new one, from what the entry contributes.
    pub(crate) fn step(
        &mut self,
        item: Item<'a>,
        position: EntryPosition,
        intern: impl FnOnce(NodeRef) -> StepId,
    ) -> StepId {
        let key = (item.policy.root, position, item.entry.index);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let step = intern(self.value(item, position));
        if step.0 as usize == self.items.len() {
            let conf =
                conf_of(self.confs.documents, item.policy.kind, step, item.entry.node, position);
            self.confs.values.push(conf);
            self.items.push(item);
        }
        self.known.insert(key, step);
        step
    }

    /// Whose a step is.
    pub(crate) fn item(&self, step: StepId) -> Option<Item<'a>> {
        self.items.get(step.0 as usize).copied()
    }

    /// The confs of a kind.
    pub(crate) fn confs_of(&self, kind: &ResourceKind) -> impl Iterator<Item = &Traced> {
        let all = self.items.iter().zip(&self.confs.values);
        all.filter(|(item, _)| item.policy.kind.name == kind.name).map(|(_, conf)| conf)
    }

    /// The node whose content is contributed.
    fn value(&self, item: Item<'a>, position: EntryPosition) -> NodeRef {
        let Item { policy, entry } = item;
        let view = self.confs.documents.view(entry.node);
        let conf = policy.kind.policy.map(|p| p.conf).filter(|_| position == EntryPosition::To);
        let inner = match conf {
            _ if position == EntryPosition::Single => return policy.single.unwrap_or(policy.root),
            Some(Conf::Rules) => None,
            Some(Conf::FirstRule) => view.get("rules").and_then(|r| r.items().next()),
            _ => view.get("default"),
        };
        inner.map_or(entry.node, |v| NodeRef { doc: entry.node.doc, node: v.id() })
    }
}
