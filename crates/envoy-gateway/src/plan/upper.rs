// SPDX-License-Identifier: Apache-2.0
//! In: a policy on a Gateway, a ListenerSet or a listener. Out: its claim and its status. Not here: routes.

use hashbrown::HashMap;
use overrule_engine::{NodeId, PolicyId};
use overrule_gateway::topology::{ListenerIx, level};
use serde_json::Value;

use super::lookup::Found;
use super::routes::joined;
use super::{Phase, Plan};
use crate::fabric::Wire;
use crate::kinds::KindRole;
use crate::policy::Policy;
use crate::status::{Place, ScopeKey, kind, listed};

impl Plan<'_> {
    /// A place as a status names it: the object of a node, and a section.
    pub(super) fn place(&self, kind: &'static str, node: NodeId, section: &str) -> Place {
        let node = self.fabric.world.topology.nodes.get(node);
        let (namespace, name) =
            node.map_or(("", ""), |n| (self.text(n.namespace), self.text(n.name)));
        Place {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            section: section.to_owned(),
        }
    }

    /// Who overrides whom is told by scopes.
    pub(super) fn scope_of(&self, node: NodeId) -> ScopeKey {
        let name = self.fabric.full_name(node);
        let topology = self.fabric.world.topology;
        let listener = topology.listener_of(node).and_then(|ix| topology.listener(ix));
        match listener {
            Some(listener) if listener.set.is_some() => {
                ScopeKey::SetListener(name, self.text(listener.name).to_owned())
            }
            Some(listener) => ScopeKey::GatewayListener(name, self.text(listener.name).to_owned()),
            None if topology.nodes.level_of(node) == Some(level::LISTENER_SET) => {
                ScopeKey::Set(name)
            }
            None => ScopeKey::Gateway(name),
        }
    }

    /// Whom the first policies in order name above routes, for merging: the claims as they will be.
    pub(super) fn find_firsts(&mut self, role: KindRole) {
        let kind = crate::kinds::number(role);
        let mut firsts = HashMap::new();
        for phase in [Phase::SetListeners, Phase::Sets, Phase::Listeners, Phase::Gateways] {
            for (id, policy) in self.in_order(role) {
                for found in self.targets(id, policy, phase) {
                    if let Some(node) = self.upper_node(&found, phase).ok().flatten() {
                        firsts.entry(node).or_insert(id);
                    }
                }
            }
        }
        self.firsts.insert(kind, firsts);
    }

    /// The node a target means; none if the controller does not know the object; an error if the section is not there.
    fn upper_node(&self, found: &Found, phase: Phase) -> Result<Option<NodeId>, ()> {
        let topology = self.fabric.world.topology;
        let listeners = match phase {
            Phase::SetListeners | Phase::Sets => {
                let set = topology.set_of(found.node);
                if set.and_then(|set| self.fabric.known_set(set)).is_none() {
                    return Ok(None);
                }
                set.and_then(|set| topology.set(set)).map(|set| set.listeners.clone())
            }
            _ => {
                let gateway = topology.gateway_of(found.node);
                if !gateway.is_some_and(|gateway| self.fabric.serves(gateway)) {
                    return Ok(None);
                }
                gateway.and_then(|g| topology.gateway(g)).map(|g| g.listeners.clone())
            }
        };
        let Some(section) = found.section else { return Ok(Some(found.node)) };
        let mut own = listeners.unwrap_or(0..0).filter_map(|ix| topology.listener(ListenerIx(ix)));
        own.find(|listener| listener.name == section).map(|l| Some(l.node)).ok_or(())
    }

    /// Processes a policy on a Gateway, a ListenerSet or a listener of one.
    pub(super) fn on_upper(&mut self, id: PolicyId, policy: &Policy, found: &Found, phase: Phase) {
        let is_set = matches!(phase, Phase::SetListeners | Phase::Sets);
        let word = if is_set { "ListenerSet" } else { "Gateway" };
        let section = found.section.map_or("", |section| self.text(section)).to_owned();
        let place = self.place(word, found.node, &section);
        let full = self.fabric.full_name(found.node);
        let node = match self.upper_node(found, phase) {
            Ok(Some(node)) => node,
            Ok(None) => return,
            Err(()) => {
                self.miss(id, found.reference, &overrule_gateway::reasons::SECTION_NOT_FOUND);
                let message = format!("No section name {section} found for {word} {full}");
                self.set(id, &place, kind::ACCEPTED, (false, "TargetNotFound"), message);
                return;
            }
        };
        if let Err(winner) = self.claim(id, policy, node) {
            self.conflict(id, found.reference, node, winner);
            let name = self.fabric.name(found.node);
            let what = match (phase, policy.info.role) {
                (Phase::Gateways, _) => format!("Gateway {name}"),
                (Phase::Sets, _) => format!("ListenerSet {name}"),
                (Phase::Listeners, KindRole::Traffic) => format!("Listener {full}/{section}"),
                _ => format!("Listener {name}/{section}"),
            };
            let of = policy.info.kind;
            let message =
                format!("Unable to target {what}, another {of} has already attached to it");
            self.set(id, &place, kind::ACCEPTED, (false, "Conflicted"), message);
            return;
        }
        self.land(id, policy, found.reference, node);
        if !self.tells {
            return;
        }
        self.note_upper(node, phase, &full, &section);
        let text = self.upper_errors(id, policy, node);
        let scope = self.scope_of(node);
        let merged = self.merges.children(&scope);
        let overridden = self.overrides.below(&scope).difference(&merged).cloned().collect();
        let (merged, overridden) = (listed(&merged), listed(&overridden));
        let warning = deprecated(policy.info.role, self.spec(id));
        let plural = policy.info.plural;
        let Some(status) = self.status(id) else { return };
        if let Some(text) = text {
            status.invalid(&place, &text);
        }
        status.accept(&place);
        if let Some(warning) = warning {
            status.warn(&place, "DeprecatedField", &warning);
        }
        if let Some(routes) = merged {
            let message = format!("This policy is being merged by other {plural} for {routes}");
            status.set(&place, kind::MERGED, (true, "Merged"), message);
        }
        if let Some(list) = overridden {
            let message = format!("This policy is being overridden by other {plural} for {list}");
            status.set(&place, kind::OVERRIDDEN, (true, "Overridden"), message);
        }
    }

    /// Notes that a policy stands below another place.
    fn note_upper(&mut self, node: NodeId, phase: Phase, full: &str, section: &str) {
        let topology = self.fabric.world.topology;
        let (full, section) = (full.to_owned(), section.to_owned());
        match phase {
            Phase::Listeners => self
                .overrides
                .add(ScopeKey::Gateway(full.clone()), ScopeKey::GatewayListener(full, section)),
            Phase::Sets | Phase::SetListeners => {
                let set = match phase {
                    Phase::Sets => topology.set_of(node),
                    _ => topology.listener_of(node).and_then(|ix| topology.listener(ix)?.set),
                };
                let gateway = set.and_then(|set| self.fabric.known_set(set));
                let gateway = gateway.and_then(|gateway| topology.gateway(gateway));
                let gateway = gateway.map_or_else(String::new, |g| self.fabric.full_name(g.node));
                if phase == Phase::Sets {
                    self.overrides.add(ScopeKey::Gateway(gateway), ScopeKey::Set(full));
                } else {
                    self.overrides.register(full.clone(), gateway);
                    let child = ScopeKey::SetListener(full.clone(), section);
                    self.overrides.add(ScopeKey::Set(full), child);
                }
            }
            _ => {}
        }
    }

    /// The listeners in force that a policy at a node covers.
    pub(crate) fn covered(&self, node: NodeId) -> Vec<ListenerIx> {
        let topology = self.fabric.world.topology;
        let all: Vec<ListenerIx> = if let Some(listener) = topology.listener_of(node) {
            vec![listener]
        } else if let Some(set) = topology.set_of(node).and_then(|set| topology.set(set)) {
            set.listeners.clone().map(ListenerIx).collect()
        } else if let Some(gateway) = topology.gateway_of(node) {
            topology.listeners_of(gateway).map(|(ix, _)| ix).collect()
        } else {
            Vec::new()
        };
        all.into_iter().filter(|ix| self.fabric.is_ready(*ix)).collect()
    }

    /// What the controller says of a policy above routes.
    fn upper_errors(&self, id: PolicyId, policy: &Policy, node: NodeId) -> Option<String> {
        let translation = self.translation(id);
        let order: &[&str] = match policy.info.role {
            KindRole::Security => {
                &["jwt", "oidc", "basicAuth", "apiKeyAuth", "authorization", "extAuth"]
            }
            KindRole::Extension => &["extProc", "wasm", "lua", "dynamicModule"],
            _ => {
                return joined(translation.faults.iter().map(|fault| fault.text.clone()).collect());
            }
        };
        let fields = order.iter().filter_map(|field| policy.info.field(field));
        let faults = fields.flat_map(|n| translation.faults.iter().filter(move |f| f.field == n));
        // Above routes, the controller forgets its name for this field.
        let bare = |text: &str| text.strip_prefix("Authorization: ").unwrap_or(text).to_owned();
        let mut found: Vec<String> = faults.map(|fault| bare(&fault.text)).collect();
        if policy.info.role == KindRole::Security {
            let topology = self.fabric.world.topology;
            let http = self.covered(node).into_iter().filter(|ix| {
                topology.listener(*ix).is_some_and(|l| self.fabric.wire(l) == Wire::Http)
            });
            let problems = http.filter_map(|ix| self.location_problem(self.spec(id), ix));
            found.extend(problems.map(|text| format!("Authorization: {text}")));
        }
        joined(found)
    }
}

/// Fields that the controller wants to be rid of, as its warning lists them.
pub(super) fn deprecated(role: KindRole, spec: &Value) -> Option<String> {
    let at = |path: &[&str]| {
        let mut value = spec;
        for key in path {
            value = value.get(key)?;
        }
        crate::translate::is_present(value).then_some(value)
    };
    let fields: &[(&[&str], &str)] = match role {
        KindRole::Traffic => &[(&["compression"], "compressor")],
        KindRole::Security => &[
            (&["extAuth", "grpc", "backendRef"], "extAuth.grpc.backendRefs"),
            (&["extAuth", "http", "backendRef"], "extAuth.http.backendRefs"),
        ],
        KindRole::Client => &[
            (&["enableProxyProtocol"], "proxyProtocol"),
            (&["headers", "preserveXRequestID"], "headers.requestID"),
            (&["tls", "clientValidation", "optional"], "tls.clientValidation.mode"),
        ],
        _ => &[],
    };
    let all = fields.iter().copied().chain([(&["targetRef"][..], "targetRefs")]);
    let used = all.filter(|(path, _)| {
        // A switch that is off asks for nothing.
        at(path)
            .is_some_and(|value| path.last() != Some(&"optional") || value.as_bool() == Some(true))
    });
    let mut texts: Vec<String> = used
        .map(|(path, instead)| {
            format!("spec.{} is deprecated, use spec.{instead} instead", path.join("."))
        })
        .collect();
    texts.sort();
    (!texts.is_empty()).then(|| texts.join("; "))
}
