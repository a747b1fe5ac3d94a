// SPDX-License-Identifier: Apache-2.0
//! In: backendRefs, Services. Out: backend and port nodes, what each rule sends to, and findings about the rest.
//! Not here: delegation to routes; that is a vendor's and only noted.

use std::num::NonZero;

use hashbrown::HashMap;
use overrule_engine::Node;
use overrule_model::{GroupKind, ObjectId, ObjectKey, Scope, Sym};
use overrule_source::Diagnostic;

use super::super::grants::{Referent, Referrer};
use super::super::graph::{
    Backend, BackendFacts, BackendIx, BackendUse, Delegation, RouteIx, TopologyPort,
};
use super::super::level;
use super::super::lookup::NOWHERE;
use super::super::resources::{BackendSpec, Place, PortSpec, RouteSpec, RuleSpec, count, part};
use super::Connector;
use crate::codes;

/// What a backendRef leads to, before backends have their final order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Object(ObjectId),
    /// The n-th distinct backend that is not in the input.
    Absent(u32),
    /// Not a backend: delegation, or a filter.
    Nothing,
}

#[derive(Default)]
struct Backends {
    /// One per reference, in the order of the specs.
    found: Vec<(Found, BackendFacts)>,
    /// Objects that are backends, other than Services.
    others: Vec<ObjectId>,
    absent: Vec<BackendSpec>,
    by_key: HashMap<(GroupKind, Sym, Sym), u32>,
    /// The last reference that was looked up: the rules of a route mostly send to the same.
    last: Option<(ObjectKey, Option<ObjectId>)>,
    /// Kinds of which the input has nothing, with the number of references and the first of them.
    unknown: Vec<(GroupKind, u32, BackendSpec)>,
}

/// Where a reference stands, for findings.
#[derive(Clone, Copy)]
pub(super) struct From<'s> {
    pub(super) route: &'s RouteSpec,
    pub(super) rule: &'s RuleSpec,
    /// Position of the rule, from 0.
    pub(super) position: usize,
}

impl Connector<'_> {
    pub(super) fn backends(&mut self) {
        let mut backends = self.resolve();
        self.report_unknown(&backends);
        backends.others.sort_unstable();
        backends.others.dedup();
        let by_object = self.present(&backends.others);
        let absent = self.out.backends.len();
        self.absent(&backends.absent);
        let index_of = |found: Found| match found {
            Found::Object(id) => by_object.get(id.0 as usize).copied().filter(|ix| *ix != NOWHERE),
            Found::Absent(n) => u32::try_from(absent).ok().map(|first| first + n),
            Found::Nothing => None,
        };
        self.uses(&backends.found, |found| index_of(found).map(BackendIx));
    }

    /// Looks up every reference and reports the bad ones.
    fn resolve(&mut self) -> Backends {
        let specs = self.specs;
        let mut backends = Backends::default();
        backends.found.reserve_exact(specs.backends.len());
        for (index, route) in specs.routes.iter().enumerate() {
            let mut worst = BackendFacts::Resolved;
            for (position, rule) in part(&specs.rules, &route.rules).iter().enumerate() {
                let from = From { route, rule, position };
                for spec in part(&specs.backends, &rule.backends) {
                    let (found, facts) = self.resolve_one(spec, from, &mut backends);
                    worst = worst.max(facts);
                    backends.found.push((found, facts));
                }
            }
            if let Some(route) = self.out.routes.get_mut(index) {
                route.refs = worst;
            }
        }
        backends
    }

    fn resolve_one(
        &mut self,
        spec: &BackendSpec,
        from: From<'_>,
        backends: &mut Backends,
    ) -> (Found, BackendFacts) {
        if spec.place == Place::Delegation {
            return (Found::Nothing, BackendFacts::Resolved);
        }
        let scope = Scope::Namespace(spec.namespace);
        let key = ObjectKey { kind: spec.kind, scope, name: spec.name };
        let object = match backends.last {
            Some((known, object)) if known == key => object,
            _ => self.snapshot.find(key).map(|o| o.id),
        };
        backends.last = Some((key, object));
        // What only a policy names is there for the policy, and no more known to routes than before.
        let written = object.filter(|id| self.snapshot.assumed(*id).is_none());
        let facts = match written {
            _ if !self.is_granted(spec, from.route) => {
                self.backend_not_permitted(spec, from);
                BackendFacts::NotPermitted
            }
            Some(id) => {
                self.check_port(spec, from, id);
                BackendFacts::Resolved
            }
            // What was read and is being deleted is known not to be there.
            None if self.is_kind_absent(spec.kind) && self.snapshot.find_deleted(key).is_none() => {
                backends.note_unknown(spec);
                BackendFacts::Unknown
            }
            None => {
                self.backend_not_found(spec, from);
                BackendFacts::NotFound
            }
        };
        if !matches!(spec.place, Place::Backend(_)) {
            return (Found::Nothing, facts);
        }
        let found = match object {
            Some(id) => {
                if spec.kind != self.specs.words.service_kind() {
                    backends.others.push(id);
                }
                Found::Object(id)
            }
            None => Found::Absent(backends.note_absent(spec)),
        };
        (found, facts)
    }

    fn is_granted(&self, spec: &BackendSpec, route: &RouteSpec) -> bool {
        // In a mesh everybody may call the Service itself, so routes need no permission to send there.
        if spec.namespace == route.namespace || self.is_mesh_route(route) {
            return true;
        }
        let kind = self.snapshot.get(route.object).map(|o| o.kind);
        kind.is_some_and(|kind| {
            let from = Referrer { group: kind.group, kind: kind.kind, namespace: route.namespace };
            let GroupKind { group, kind } = spec.kind;
            let to = Referent { group, kind, namespace: spec.namespace, name: spec.name };
            self.specs.grants.allows(from, to)
        })
    }

    pub(super) fn is_kind_absent(&self, kind: GroupKind) -> bool {
        !self.snapshot.was_read(kind)
    }

    /// The Service has the port, as far as the input says its ports.
    fn check_port(&mut self, spec: &BackendSpec, from: From<'_>, id: ObjectId) {
        if spec.port_unreadable || spec.kind != self.specs.words.service_kind() {
            return;
        }
        let services = &self.specs.services;
        let Ok(at) = services.binary_search_by_key(&id, |s| s.object) else { return };
        let ports = services.get(at).map_or(&[][..], |s| part(&self.specs.ports, &s.ports));
        if ports.is_empty() || ports.iter().any(|p| p.number == spec.port) {
            return;
        }
        self.no_such_port(spec, from, id, ports);
    }

    /// One note per kind of which nothing is there.
    fn report_unknown(&mut self, backends: &Backends) {
        for (kind, uses, first) in &backends.unknown {
            let kind = self.snapshot.text(kind.kind);
            let message = format!(
                "the input has no `{kind}`, so {uses} reference(s) to this kind are not checked"
            );
            self.diagnostics.push(
                Diagnostic::new(&codes::BACKEND_KIND_ABSENT, message)
                    .at_with(first.at, "the first of them")
                    .help("nothing to do if the cluster has them; add them to the input to check the references"),
            );
        }
    }

    /// Backends of the input: every Service, and what else is referred to, by identity. Returns them by object.
    fn present(&mut self, others: &[ObjectId]) -> Vec<u32> {
        let specs = self.specs;
        let mut by_object = vec![NOWHERE; self.snapshot.len()];
        let services = specs.services.iter().map(|s| (s.object, part(&specs.ports, &s.ports)));
        let others = others.iter().map(|id| (*id, &[][..]));
        let mut all: Vec<(ObjectId, &[PortSpec])> = services.chain(others).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        for (id, ports) in all {
            let index = self.out.backends.len();
            if let Some(slot) = by_object.get_mut(id.0 as usize) {
                *slot = u32::try_from(index).unwrap_or(NOWHERE);
            }
            let node = self.object_node(id, level::BACKEND);
            let start = count(&self.out.ports);
            for port in ports {
                let kind = self.specs.words.service_port;
                let node = self.out.nodes.add_section(node, kind, port.name, level::PORT, port.at);
                let backend = BackendIx::from(index);
                self.out.ports.push(TopologyPort { node, backend, number: port.number });
            }
            let group = self.snapshot.get(id).map_or(Sym::EMPTY, |o| o.kind.group);
            self.out.backends.push(Backend { node, group, ports: start..count(&self.out.ports) });
        }
        by_object
    }

    /// Backends that are only named, in the order of their first use.
    fn absent(&mut self, absent: &[BackendSpec]) {
        self.out.nodes.reserve(absent.len());
        self.out.backends.reserve_exact(absent.len());
        for spec in absent {
            let node = Node {
                kind: spec.kind.kind,
                namespace: spec.namespace,
                name: spec.name,
                section: Sym::EMPTY,
                object: None,
                level: level::BACKEND,
                at: Some(spec.at),
            };
            let node = self.out.nodes.add(node);
            let ports = count(&self.out.ports)..count(&self.out.ports);
            self.out.backends.push(Backend { node, group: spec.kind.group, ports });
        }
    }

    /// What each rule sends or delegates to.
    fn uses(
        &mut self,
        found: &[(Found, BackendFacts)],
        index_of: impl Fn(Found) -> Option<BackendIx>,
    ) {
        let specs = self.specs;
        self.out.uses.reserve_exact(specs.backends.len());
        for (rule, spec) in self.out.rules.iter_mut().zip(&specs.rules) {
            (rule.uses, rule.delegations) = (count(&self.out.uses), count(&self.out.delegations));
            let all = part(&specs.backends, &spec.backends).iter().zip(part(found, &spec.backends));
            for (spec, (found, facts)) in all {
                if spec.place == Place::Delegation {
                    self.out.delegations.push(Delegation {
                        group: spec.kind.group,
                        kind: spec.kind.kind,
                        namespace: spec.namespace,
                        name: spec.name,
                        at: spec.at,
                    });
                } else if let Some(backend) = index_of(*found) {
                    self.out.uses.push(BackendUse {
                        backend,
                        port: NonZero::new(spec.port),
                        weight: spec.weight,
                        facts: *facts,
                        start: spec.at.start,
                        end: spec.at.end,
                    });
                }
            }
        }
        debug_assert_eq!(self.out.rules.len(), specs.rules.len(), "rules follow their specs");
        debug_assert!(self.out.route(RouteIx(0)).is_none_or(|r| r.rules.start == 0));
    }
}

impl Backends {
    fn note_absent(&mut self, spec: &BackendSpec) -> u32 {
        let next = u32::try_from(self.absent.len()).unwrap_or(u32::MAX);
        let key = |s: &BackendSpec| (s.kind, s.namespace, s.name);
        if self.absent.last().is_some_and(|last| key(last) == key(spec)) {
            return next - 1;
        }
        let index = *self.by_key.entry(key(spec)).or_insert(next);
        if index == next {
            self.absent.push(*spec);
        }
        index
    }

    fn note_unknown(&mut self, spec: &BackendSpec) {
        match self.unknown.iter_mut().find(|(kind, _, _)| *kind == spec.kind) {
            Some((_, uses, _)) => *uses += 1,
            None => self.unknown.push((spec.kind, 1, *spec)),
        }
    }
}
