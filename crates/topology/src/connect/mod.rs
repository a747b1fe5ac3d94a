// SPDX-License-Identifier: Apache-2.0
//! In: typed specs. Out: nodes, links with their facts, and a finding for every link that is wrong.
//! Not here: trees; everything a finding needs was kept by `parse`.

mod attach;
mod backends;
mod conflicts;
mod frontends;
mod listeners;
mod namespaces;
mod report;

use overrule_engine::{Level, Node, NodeId, Topology};
use overrule_model::{ObjectId, Snapshot, Sym};
use overrule_source::Diagnostic;

use super::graph::GatewayTopology;
use super::lookup::{CROWD, NOWHERE};
use super::resources::GatewayResources;
use super::{BuiltTopology, LEVELS};
use namespaces::Namespaces;
use report::Suggestions;

impl GatewayResources {
    /// Connects the specs to a graph. Reads no tree.
    pub fn connect(&self, snapshot: &Snapshot) -> BuiltTopology {
        let mut connector = Connector {
            specs: self,
            snapshot,
            out: GatewayTopology {
                nodes: Topology::new(LEVELS),
                grants: self.grants.clone(),
                ..GatewayTopology::default()
            },
            diagnostics: Vec::new(),
            namespaces: Namespaces::new(self),
            suggestions: Suggestions::default(),
        };
        connector.out.index.object_nodes = vec![NOWHERE; snapshot.len()];
        connector.listeners();
        connector.conflicts();
        connector.certificates();
        connector.frontends();
        connector.routes();
        connector.backends();
        connector.index_sections();
        connector.out.nodes.shrink();
        BuiltTopology { topology: connector.out, diagnostics: connector.diagnostics }
    }
}

struct Connector<'a> {
    specs: &'a GatewayResources,
    snapshot: &'a Snapshot,
    out: GatewayTopology,
    diagnostics: Vec<Diagnostic>,
    namespaces: Namespaces<'a>,
    suggestions: Suggestions,
}

impl Connector<'_> {
    /// Adds the node of an object.
    fn object_node(&mut self, id: ObjectId, level: Level) -> NodeId {
        let object = self.snapshot.get(id);
        let node = self.out.nodes.add(Node {
            kind: object.map_or(Sym::EMPTY, |o| o.kind.kind),
            namespace: object.map_or(Sym::EMPTY, |o| o.scope.name()),
            name: object.map_or(Sym::EMPTY, |o| o.name),
            section: Sym::EMPTY,
            object: Some(id),
            level,
            at: object.map(|o| o.at),
        });
        if let Some(slot) = self.out.index.object_nodes.get_mut(id.0 as usize) {
            *slot = node.0;
        }
        node
    }

    /// Puts the sections of objects that have many into a table.
    fn index_sections(&mut self) {
        let mut run = 0;
        let mut last = None;
        let mut crowded = Vec::new();
        for (object, section) in self.out.nodes.sections() {
            run = if object == last && !section.is_empty() { run + 1 } else { 0 };
            last = object;
            if run == CROWD + 1 {
                crowded.extend(object);
            }
        }
        for object in crowded {
            let sections: Vec<(Sym, NodeId)> = self.out.sections_of(object).collect();
            for (section, node) in sections {
                self.out.index.crowded.entry((object, section)).or_insert(node);
            }
        }
    }
}
