// SPDX-License-Identifier: Apache-2.0
//! In: BackendTLSPolicies. Out: the backends they are about. Not here: what follows from it.

use std::collections::BTreeSet;

use overrule_engine::NodeId;
use overrule_gateway::topology::GROUP;
use overrule_source::View;

use crate::World;

/// Backends that a BackendTLSPolicy targets.
pub(crate) struct SecuredBackends<'a> {
    world: World<'a>,
    /// Namespace, kind and name.
    targets: BTreeSet<(&'a str, &'a str, &'a str)>,
}

impl<'a> SecuredBackends<'a> {
    pub(crate) fn read(world: World<'a>) -> Self {
        let mut targets = BTreeSet::new();
        for object in world.snapshot.of_kind(GROUP, "BackendTLSPolicy") {
            let spec = world.documents.view(object.root).get("spec");
            let refs = spec.and_then(|s| s.get("targetRefs")).into_iter().flat_map(View::items);
            for reference in refs {
                let member = |key| reference.get(key).and_then(View::as_str).unwrap_or("");
                let namespace = world.snapshot.text(object.scope.name());
                targets.insert((namespace, member("kind"), member("name")));
            }
        }
        Self { world, targets }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Whether a node is one of them.
    pub(crate) fn has(&self, node: NodeId) -> bool {
        let text = |sym| self.world.snapshot.text(sym);
        let node = self.world.topology.nodes.get(node);
        node.is_some_and(|n| {
            self.targets.contains(&(text(n.namespace), text(n.kind), text(n.name)))
        })
    }
}
