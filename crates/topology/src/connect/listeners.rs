// SPDX-License-Identifier: Apache-2.0
//! In: specs of classes, Gateways and ListenerSets. Out: their nodes, and which Gateway serves which listener.
//! Not here: conflicts (`conflicts`), routes (`attach`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use overrule_engine::{Node, NodeId};
use overrule_model::{GroupKind, ObjectId, ObjectKey, Scope, Sym};
use overrule_source::Diagnostic;

use super::super::grants::{Referent, Referrer};
use super::super::graph::{
    ClassIx, Gateway, GatewayClass, GatewayIx, Listener, ListenerSet, SetIx,
};
use super::super::resources::{CertificateSpec, ListenerSpec, SetSpec, part};
use super::super::{RouteIx, level};
use super::Connector;
use crate::codes;

impl Connector<'_> {
    /// Classes, Gateways and ListenerSets with their listeners.
    pub(super) fn listeners(&mut self) {
        let classes = self.classes();
        let specs = self.specs;
        self.out.listeners.reserve(specs.listeners.len());
        for (index, spec) in specs.gateways.iter().enumerate() {
            let node = self.object_node(spec.object, level::GATEWAY);
            self.own_listeners(node, &spec.listeners, Some(GatewayIx::from(index)), None);
            self.out.gateways.push(Gateway {
                node,
                object: spec.object,
                class: classes
                    .get(self.snapshot.text(spec.class))
                    .copied()
                    .unwrap_or(ClassIx(u32::MAX)),
                listeners: spec.listeners.clone(),
                sets: Vec::new(),
                assumed: spec.assumed,
            });
        }
        for (index, spec) in specs.sets.iter().enumerate() {
            let node = self.object_node(spec.object, level::LISTENER_SET);
            let set = SetIx::from(index);
            let parent = self.parent_of_set(spec);
            let accepted = parent.filter(|gateway| self.accepts_set(*gateway, spec));
            self.own_listeners(node, &spec.listeners, accepted, Some(set));
            self.out.sets.push(ListenerSet {
                node,
                object: spec.object,
                parent,
                accepted: accepted.is_some(),
                listeners: spec.listeners.clone(),
                created: self
                    .snapshot
                    .get(spec.object)
                    .map_or(overrule_model::Created::Absent, |o| o.created),
            });
            if let Some(gateway) = accepted.and_then(|g| self.out.gateways.get_mut(g.at())) {
                gateway.sets.push(set);
            }
        }
        self.sort_sets();
    }

    /// Every class there is or that a Gateway names, by name.
    fn classes(&mut self) -> BTreeMap<String, ClassIx> {
        let specs = self.specs;
        let mut by_name: BTreeMap<&str, (Option<ObjectId>, Sym, Sym)> = BTreeMap::new();
        for spec in &specs.classes {
            if let Some(object) = self.snapshot.get(spec.object) {
                let text = self.snapshot.text(object.name);
                by_name.insert(text, (Some(spec.object), object.name, spec.controller));
            }
        }
        let mut missing = BTreeSet::new();
        for gateway in specs.gateways.iter().filter(|g| !g.class.is_empty()) {
            let text = self.snapshot.text(gateway.class);
            let known = by_name.get(text).map(|(object, ..)| *object);
            let written = |id: &ObjectId| self.snapshot.assumed(*id).is_none();
            if !missing.insert(text) || known.flatten().is_some_and(|id| written(&id)) {
                continue;
            }
            by_name.entry(text).or_insert((None, gateway.class, Sym::EMPTY));
            let d = Diagnostic::new(
                &codes::CLASS_NOT_FOUND,
                format!(
                    "`gatewayclass/{text}` of `{}` is not in the input",
                    self.snapshot.display(gateway.object)
                ),
            );
            let d = d.at(gateway.class_at).field("spec.gatewayClassName").help(
                "nothing to do if the cluster has it; add it to the input if policies target it",
            );
            let words = &self.specs.words;
            let kind = GroupKind { group: words.group, kind: words.class };
            let key = ObjectKey { kind, scope: Scope::Cluster, name: gateway.class };
            self.diagnostics.push(self.snapshot.with_deletion(d, key));
        }
        let mut found = BTreeMap::new();
        for (index, (text, (object, name, controller))) in by_name.into_iter().enumerate() {
            let node = match object {
                Some(object) => self.object_node(object, level::CLASS),
                None => self.absent_class(name),
            };
            self.out.classes.push(GatewayClass { node, controller });
            found.insert(text.to_owned(), ClassIx::from(index));
        }
        found
    }

    fn absent_class(&mut self, name: Sym) -> NodeId {
        let first = self.specs.gateways.iter().find(|g| g.class == name);
        let node = Node {
            kind: self.specs.words.class,
            namespace: Sym::EMPTY,
            name,
            section: Sym::EMPTY,
            object: None,
            level: level::CLASS,
            at: first.map(|g| g.class_at),
        };
        self.out.nodes.add(node)
    }

    fn own_listeners(
        &mut self,
        owner: NodeId,
        range: &Range<u32>,
        gateway: Option<GatewayIx>,
        set: Option<SetIx>,
    ) {
        let kind = self.specs.words.listener;
        let specs = self.specs;
        for spec in part(&specs.listeners, range) {
            let node = self.out.nodes.add_section(owner, kind, spec.name, level::LISTENER, spec.at);
            self.out.listeners.push(Listener {
                node,
                gateway,
                set,
                name: spec.name,
                port: spec.port,
                protocol: spec.protocol,
                hostname: specs.hosts.name(spec.hostname),
                terminates: spec.terminates,
                conflicted: false,
                broken: spec.broken,
                kinds: spec.kinds,
                links: 0..0,
            });
        }
    }

    /// The Gateway a ListenerSet names.
    fn parent_of_set(&mut self, spec: &SetSpec) -> Option<GatewayIx> {
        let (namespace, name) = spec.parent?;
        let words = &self.specs.words;
        let kind = GroupKind { group: words.group, kind: words.gateway };
        let key = ObjectKey { kind, scope: Scope::Namespace(namespace), name };
        let found = self.snapshot.find(key).map(|o| o.id);
        let assumed = found.is_some_and(|id| self.snapshot.assumed(id).is_some());
        if found.is_none() || (assumed && self.snapshot.was_read(kind)) {
            let d = self.parent_not_found(spec.object, key, spec.parent_at);
            self.diagnostics.push(d.field("spec.parentRef.name"));
        }
        self.out.gateway_of(self.out.object_node(found?)?)
    }

    fn accepts_set(&mut self, gateway: GatewayIx, spec: &SetSpec) -> bool {
        let Some(parent) = self.specs.gateways.get(gateway.at()) else { return false };
        let (host, guest) = (self.namespace_of(parent.object), self.namespace_of(spec.object));
        if self.namespaces.allows(parent.allowed_sets, host, guest) {
            return true;
        }
        let d = self.set_not_allowed(parent, spec);
        self.diagnostics.push(d);
        false
    }

    /// The order of precedence: older first, then namespace and name.
    fn sort_sets(&mut self) {
        let (snapshot, sets) = (self.snapshot, &self.out.sets);
        for gateway in &mut self.out.gateways {
            gateway.sets.sort_by_cached_key(|set| {
                let object = sets.get(set.at()).and_then(|s| snapshot.get(s.object));
                object.map(|o| {
                    let text = |sym| snapshot.text(sym).to_owned();
                    (o.created.key(), text(o.scope.name()), text(o.name))
                })
            });
        }
    }

    pub(super) fn namespace_of(&self, object: ObjectId) -> Sym {
        self.snapshot.get(object).map_or(Sym::EMPTY, |o| o.scope.name())
    }

    /// Certificates in other namespaces need a grant.
    pub(super) fn certificates(&mut self) {
        let specs = self.specs;
        let gateways = specs.gateways.iter().map(|g| (g.object, &g.listeners));
        let sets = specs.sets.iter().map(|s| (s.object, &s.listeners));
        for (owner, listeners) in gateways.chain(sets) {
            let Some(object) = self.snapshot.get(owner) else { continue };
            let (kind, namespace) = (object.kind, object.scope.name());
            let from = Referrer { group: kind.group, kind: kind.kind, namespace };
            for listener in part(&specs.listeners, listeners) {
                for (index, spec) in
                    part(&specs.certificates, &listener.certificates).iter().enumerate()
                {
                    let to = Referent {
                        group: spec.kind.group,
                        kind: spec.kind.kind,
                        namespace: spec.namespace,
                        name: spec.name,
                    };
                    if !specs.grants.allows(from, to) {
                        self.certificate_not_permitted(owner, listener, index, spec);
                    }
                }
            }
        }
    }

    fn certificate_not_permitted(
        &mut self,
        owner: ObjectId,
        listener: &ListenerSpec,
        index: usize,
        spec: &CertificateSpec,
    ) {
        let text = |sym| self.snapshot.text(sym);
        let kind = text(spec.kind.kind);
        let message = format!(
            "listener `{}#{}` uses `{}/{}/{}`, which is in another namespace without a ReferenceGrant",
            self.snapshot.display(owner),
            text(listener.name),
            kind.to_lowercase(),
            text(spec.namespace),
            text(spec.name),
        );
        let help = self.grant_help(owner, spec.kind, spec.namespace);
        let field = format!("spec.listeners[{}].tls.certificateRefs[{index}]", listener.index);
        let d = Diagnostic::new(&codes::CERTIFICATE_NOT_PERMITTED, message);
        self.diagnostics.push(d.at(spec.at).field(field).help(help));
    }

    /// The route index as the next one to be added.
    pub(super) fn next_route(&self) -> RouteIx {
        RouteIx::from(self.out.routes.len())
    }
}
