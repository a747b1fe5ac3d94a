// SPDX-License-Identifier: Apache-2.0
//! In: ClientTrafficPolicies. Out: which one each listener has, and their statuses. Not here: rows.
//!
//! A policy claims a listener before anybody looks whether the listener can have settings of its own.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use overrule_engine::{NodeId, PolicyId};
use overrule_gateway::topology::{GatewayIx, ListenerIx, SetIx};

use super::lookup::Found;
use super::routes::joined;
use super::{ClientAt, Phase, Plan};
use crate::fabric::Wire;
use crate::kinds::{FieldSet, KindRole};
use crate::policy::Policy;
use crate::status::{Place, kind};
use crate::translate::Translation;

/// How much a policy covers, which decides whom it may share a port with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cover {
    Listener,
    Set(SetIx),
    Gateway(GatewayIx),
}

/// What is claimed so far.
#[derive(Default)]
struct Claims {
    /// Listeners by Gateway; a name of a listener and its place.
    listeners: HashMap<GatewayIx, BTreeSet<(String, ListenerIx)>>,
    taken: HashSet<ListenerIx>,
}

impl Claims {
    fn claim(&mut self, gateway: GatewayIx, name: &str, listener: ListenerIx) {
        self.taken.insert(listener);
        self.listeners.entry(gateway).or_default().insert((name.to_owned(), listener));
    }
}

/// What a policy did to the listeners it covers.
#[derive(Default)]
struct Applied {
    errors: Vec<String>,
    /// Listeners that lose HTTP/3.
    without_http3: Vec<String>,
}

impl Plan<'_> {
    pub(super) fn clients(&mut self) {
        let policies = self.in_order(KindRole::Client);
        let mut claims = Claims::default();
        for (id, policy) in &policies {
            for (reference, target) in (0_u32..).zip(&policy.targets) {
                if target.section().is_none() {
                    continue;
                }
                for phase in [Phase::Listeners, Phase::SetListeners] {
                    let of_phase = self.targets(*id, policy, phase);
                    for found in of_phase.iter().filter(|found| found.reference == reference) {
                        self.client_on_section(*id, policy, found, phase, &mut claims);
                    }
                }
            }
        }
        for phase in [Phase::Sets, Phase::Gateways] {
            for (id, policy) in &policies {
                for found in self.targets(*id, policy, phase) {
                    self.client_on_object(*id, policy, &found, phase, &mut claims);
                }
            }
        }
    }

    fn client_on_section(
        &mut self,
        id: PolicyId,
        policy: &Policy,
        found: &Found,
        phase: Phase,
        claims: &mut Claims,
    ) {
        let topology = self.fabric.world.topology;
        let Some(section) = found.section else { return };
        let (name, full) = (self.text(section).to_owned(), self.fabric.full_name(found.node));
        let of_set = phase == Phase::SetListeners;
        let set = topology.set_of(found.node).filter(|_| of_set);
        let gateway = match set {
            Some(set) => self.fabric.known_set(set),
            None => topology.gateway_of(found.node).filter(|gateway| self.fabric.serves(*gateway)),
        };
        let Some(gateway) = gateway else { return };
        let place = self.place(if of_set { "ListenerSet" } else { "Gateway" }, found.node, &name);
        // Of a Gateway, listeners of its ListenerSets have their names too.
        let listeners: Vec<ListenerIx> = match set.and_then(|ix| topology.set(ix)) {
            Some(set) => set.listeners.clone().map(ListenerIx).collect(),
            None => topology.listeners_of(gateway).map(|(ix, _)| ix).collect(),
        };
        let mut named = listeners
            .into_iter()
            .filter(|ix| topology.listener(*ix).is_some_and(|l| l.name == section));
        let Some(listener) = named.next() else {
            self.miss(id, found.reference, &overrule_gateway::reasons::SECTION_NOT_FOUND);
            let message = match of_set {
                true => format!("ListenerSet {full} does not have a listener named \"{name}\""),
                false => format!("No section name {name} found for Gateway {full}"),
            };
            return self.set(id, &place, kind::ACCEPTED, (false, "TargetNotFound"), message);
        };
        let Some(node) = topology.listener(listener).map(|l| l.node) else { return };
        if let Err(winner) = self.claim(id, policy, node) {
            self.conflict(id, found.reference, node, winner);
            let message = format!(
                "Unable to target section of {}, another ClientTrafficPolicy has already attached to it",
                self.fabric.name(found.node)
            );
            return self.set(id, &place, kind::ACCEPTED, (false, "Conflicted"), message);
        }
        self.land(id, policy, found.reference, node);
        claims.claim(gateway, &name, listener);
        let mut applied = Applied::default();
        self.apply_client((id, node), listener, Cover::Listener, &mut applied);
        self.client_status(id, &place, applied);
    }

    fn client_on_object(
        &mut self,
        id: PolicyId,
        policy: &Policy,
        found: &Found,
        phase: Phase,
        claims: &mut Claims,
    ) {
        let topology = self.fabric.world.topology;
        let set = topology.set_of(found.node).filter(|_| phase == Phase::Sets);
        let gateway = match set {
            Some(set) => self.fabric.known_set(set),
            None => topology.gateway_of(found.node).filter(|gateway| self.fabric.serves(*gateway)),
        };
        let Some(gateway) = gateway else { return };
        let word = if set.is_some() { "ListenerSet" } else { "Gateway" };
        let place = self.place(word, found.node, "");
        if let Err(winner) = self.claim(id, policy, found.node) {
            self.conflict(id, found.reference, found.node, winner);
            let message = format!(
                "Unable to target {word} {}, another ClientTrafficPolicy has already attached to it",
                self.fabric.name(found.node)
            );
            return self.set(id, &place, kind::ACCEPTED, (false, "Conflicted"), message);
        }
        self.land(id, policy, found.reference, found.node);
        let of_set = |ix: &ListenerIx| topology.listener(*ix).is_some_and(|l| l.set == set);
        let claimed = claims.listeners.get(&gateway).into_iter().flatten();
        let claimed = claimed.filter(|(_, ix)| set.is_none() || of_set(ix));
        let names: Vec<&str> = claimed.map(|(name, _)| name.as_str()).collect();
        if !names.is_empty() {
            let message = format!(
                "There are existing ClientTrafficPolicies that are overriding these sections [{}]",
                names.join(" ")
            );
            self.set(id, &place, kind::OVERRIDDEN, (true, "Overridden"), message);
        }
        let all = topology.listeners_of(gateway);
        let free =
            all.filter(|(ix, l)| (set.is_none() || l.set == set) && !claims.taken.contains(ix));
        let free: Vec<(ListenerIx, String)> =
            free.map(|(ix, l)| (ix, self.text(l.name).to_owned())).collect();
        let cover = set.map_or(Cover::Gateway(gateway), Cover::Set);
        let mut applied = Applied::default();
        for (listener, name) in free {
            if set.is_some() {
                claims.claim(gateway, &name, listener);
            }
            self.apply_client((id, found.node), listener, cover, &mut applied);
        }
        self.client_status(id, &place, applied);
    }

    fn client_status(&mut self, id: PolicyId, place: &Place, applied: Applied) {
        let warning = super::upper::deprecated(KindRole::Client, self.spec(id));
        let Applied { errors, without_http3 } = applied;
        let Some(status) = self.status(id) else { return };
        if let Some(text) = joined(errors) {
            status.invalid(place, &text);
        }
        status.accept(place);
        if !without_http3.is_empty() {
            let which = match without_http3.as_slice() {
                [one] => format!("listener \"{one}\""),
                all => format!("listeners [{}]", all.join(" ")),
            };
            let message = format!(
                "HTTP/3 was disabled for {which} because Envoy does not support downstream client TLS validation over QUIC"
            );
            status.warn(place, "UnsupportedHTTP3ClientValidation", &message);
        }
        if let Some(warning) = warning {
            status.warn(place, "DeprecatedField", &warning);
        }
    }

    /// Gives a listener its policy.
    fn apply_client(
        &mut self,
        (id, node): (PolicyId, NodeId),
        ix: ListenerIx,
        cover: Cover,
        applied: &mut Applied,
    ) {
        let Some(listener) = self.fabric.world.topology.listener(ix) else { return };
        let wire = self.fabric.wire(listener);
        if wire == Wire::Udp || !self.fabric.is_ready(ix) {
            return;
        }
        let others = self.sharing(ix, cover);
        if !others.is_empty() {
            self.shared_ports.push((id, ix));
            applied.errors.push(format!(
                "ClientTrafficPolicy is being applied to multiple http (non https) listeners ({}) on the same port, which is not allowed",
                others.join(", ")
            ));
            return;
        }
        let ends_tls = listener.terminates;
        let name = self.text(listener.name).to_owned();
        let translation = self.translation(id);
        let relevant = relevant(translation, wire, ends_tls, self.policy(id));
        let faults = translation.faults.iter().filter(|fault| relevant.has(fault.field));
        let faults: Vec<String> = faults.map(|fault| fault.text.clone()).collect();
        let mut fields = translation.effective().and(relevant);
        let http3 = self.policy(id).and_then(|policy| policy.info.field("http3"));
        let http3 = http3.filter(|field| fields.has(*field));
        let validates = self.spec(id).get("tls").and_then(|tls| tls.get("clientValidation"));
        if let Some(http3) = http3.filter(|_| validates.is_some_and(|v| !v.is_null())) {
            fields = fields.without([http3].into_iter().collect());
            applied.without_http3.push(name);
        }
        let fails = !faults.is_empty();
        applied.errors.extend(faults);
        self.clients.insert(ix, ClientAt { policy: id, node, fails, fields });
    }

    /// Other listeners that a policy on one would change too, by name.
    fn sharing(&self, ix: ListenerIx, cover: Cover) -> Vec<String> {
        let topology = self.fabric.world.topology;
        let Some(listener) = topology.listener(ix) else { return Vec::new() };
        let Some(own) = listener.gateway.and_then(|g| topology.gateway(g).map(|of| (g, of))) else {
            return Vec::new();
        };
        if self.fabric.wire(listener) != Wire::Http || listener.terminates {
            return Vec::new();
        }
        let gateways: Vec<GatewayIx> = match self.is_shared(own.0) {
            true => (0..topology.gateways.len())
                .map(GatewayIx::from)
                .filter(|g| {
                    self.fabric.serves(*g)
                        && topology.gateway(*g).is_some_and(|g| g.class == own.1.class)
                })
                .collect(),
            false => vec![own.0],
        };
        let mut names = Vec::new();
        for gateway in gateways {
            for (other, of) in topology.listeners_of(gateway) {
                let same = other != ix
                    && of.port == listener.port
                    && self.fabric.wire(of) == Wire::Http
                    && !of.terminates
                    && self.fabric.is_ready(other);
                let covered = match cover {
                    Cover::Listener => false,
                    Cover::Set(set) => of.set == Some(set),
                    Cover::Gateway(gateway) => of.gateway == Some(gateway),
                };
                if same && !covered {
                    names.push(self.long_name(other));
                }
            }
        }
        names
    }

    /// A listener as the controller calls it: `ns/gateway/listener`, with the ListenerSet in between.
    fn long_name(&self, ix: ListenerIx) -> String {
        let topology = self.fabric.world.topology;
        let Some(listener) = topology.listener(ix) else { return String::new() };
        let gateway = listener.gateway.and_then(|g| topology.gateway(g));
        let gateway = gateway.map_or_else(String::new, |g| self.fabric.full_name(g.node));
        let name = self.text(listener.name);
        match listener.set {
            Some(_) => format!("{gateway}/{}/{name}", self.fabric.full_name(listener.node)),
            None => format!("{gateway}/{name}"),
        }
    }
}

/// Fields that mean something on a listener.
fn relevant(
    translation: &Translation,
    wire: Wire,
    ends_tls: bool,
    policy: Option<&Policy>,
) -> FieldSet {
    let Some(info) = policy.map(|policy| policy.info) else { return FieldSet::NONE };
    let all = translation.present;
    let of_tls = match ends_tls {
        true => FieldSet::NONE,
        false => info.set(&["http3", "tls"]),
    };
    let common =
        ["tcpKeepalive", "connection", "timeout", "proxyProtocol", "enableProxyProtocol", "tls"];
    match wire {
        Wire::Http => all.without(of_tls),
        Wire::Tcp => all.and(info.set(&common)).without(of_tls),
        Wire::Udp => FieldSet::NONE,
    }
}
