// SPDX-License-Identifier: Apache-2.0
//! In: manifests as text. Out: a built topology and short ways to ask it. Not here: expectations.
#![allow(dead_code, reason = "every test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use overrule_gateway::topology::{BuiltTopology, GatewayTopology, RouteIx, build};
use overrule_model::{Snapshot, TargetName};
use overrule_source::{Diagnostic, Documents, Input, ReadOptions, read};

pub struct World {
    pub documents: Documents,
    pub snapshot: Snapshot,
    pub topology: GatewayTopology,
    pub diagnostics: Vec<Diagnostic>,
}

/// Builds from files; every text may hold several documents.
pub fn world_of(files: &[(&str, String)]) -> World {
    let inputs = files.iter().map(|(name, text)| Input::new(*name, text.as_bytes())).collect();
    let read = read(inputs, &ReadOptions::default());
    assert_eq!(read.diagnostics, [], "the test's own YAML is wrong");
    let parsed = overrule_model::parse(&read.documents);
    assert_eq!(parsed.diagnostics, [], "the test's own manifests are wrong");
    let mut snapshot = parsed.snapshot;
    let BuiltTopology { topology, diagnostics } = build(&read.documents, &mut snapshot);
    World { documents: read.documents, snapshot, topology, diagnostics }
}

pub fn world(text: &str) -> World {
    world_of(&[("a.yaml", text.to_owned())])
}

impl World {
    /// The route `namespace/name` of any kind.
    pub fn route(&self, name: &str) -> RouteIx {
        let found = (0..self.topology.routes.len()).map(RouteIx::from).find(|ix| {
            let node = self.topology.nodes.get(self.topology.route(*ix).unwrap().node).unwrap();
            let text = |sym| self.snapshot.text(sym);
            format!("{}/{}", text(node.namespace), text(node.name)) == name
        });
        found.unwrap_or_else(|| panic!("no route {name}"))
    }

    /// `kind/namespace/name#section` of a node.
    pub fn name(&self, node: overrule_engine::NodeId) -> String {
        let node = self.topology.nodes.get(node).unwrap();
        let text = |sym| self.snapshot.text(sym);
        let mut name = text(node.kind).to_owned();
        if !node.namespace.is_empty() {
            name += &format!("/{}", text(node.namespace));
        }
        name += &format!("/{}", text(node.name));
        if !node.section.is_empty() {
            name += &format!("#{}", text(node.section));
        }
        name
    }

    /// Names of all nodes, in order.
    pub fn nodes(&self) -> Vec<String> {
        self.topology.nodes.iter().map(|(id, _)| self.name(id)).collect()
    }

    /// The listeners that accept a route, `gateway#listener`.
    pub fn accepted(&self, route: &str) -> Vec<String> {
        let links = self.topology.links_of_route(self.route(route));
        links
            .filter(|(_, link)| link.accepted())
            .map(|(_, link)| {
                let node = self.topology.listener(link.listener).unwrap().node;
                let node = self.topology.nodes.get(node).unwrap();
                let text = |sym| self.snapshot.text(sym);
                format!("{}#{}", text(node.name), text(node.section))
            })
            .collect()
    }

    /// Reasons of the parentRefs of a route.
    pub fn reasons(&self, route: &str) -> Vec<String> {
        let parents = self.topology.parents_of(self.route(route));
        parents.map(|p| format!("{:?}", p.status)).collect()
    }

    /// `code line:column field` of every finding.
    pub fn findings(&self) -> Vec<String> {
        self.diagnostics.iter().map(|d| self.finding(d)).collect()
    }

    pub fn finding(&self, d: &Diagnostic) -> String {
        let place = d.primary.as_ref().map(|label| {
            let at = self.documents.sources.position(label.span);
            format!("{}:{}", at.line, at.column)
        });
        format!("{} {} {}", d.code.id, place.unwrap_or_else(|| "-".to_owned()), d.field)
    }

    /// The codes of all findings.
    pub fn codes(&self) -> Vec<&'static str> {
        self.diagnostics.iter().map(|d| d.code.id).collect()
    }

    /// The node of a target such as `gateway/infra/edge#web`.
    pub fn target(&self, target: &str) -> Option<overrule_engine::NodeId> {
        let target: TargetName = target.parse().unwrap();
        let object = self.snapshot.resolve(&target).first()?.id;
        match &target.section {
            None => self.topology.object_node(object),
            Some(section) => {
                let section = self.snapshot.names().lookup(section)?;
                self.topology.section_node(object, section)
            }
        }
    }
}

/// A class every Gateway of the tests uses.
pub const CLASS: &str = "
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: example.com/c}
";

/// A Gateway `infra/NAME` with listeners in flow style, one per line.
pub fn gateway(name: &str, listeners: &[&str]) -> String {
    let list: String = listeners.iter().map(|l| format!("  - {{{l}}}\n")).collect();
    format!(
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: {name}, namespace: infra}}\nspec:\n  gatewayClassName: c\n  listeners:\n{list}"
    )
}

/// A route in flow style that redirects, so that it needs no backend.
pub fn route(kind: &str, name: &str, spec: &str) -> String {
    let (namespace, name) = name.split_once('/').unwrap();
    let rules = match kind {
        "HTTPRoute" => "- filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]",
        "GRPCRoute" => {
            "- filters: [{type: ExtensionRef, extensionRef: {group: g, kind: K, name: ext}}]"
        }
        _ => "- backendRefs: [{group: g.example, kind: Tcp, name: x}]",
    };
    format!(
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  {spec}\n  rules:\n  {rules}\n"
    )
}
