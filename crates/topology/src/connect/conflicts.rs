// SPDX-License-Identifier: Apache-2.0
//! In: the listeners of each Gateway, those of its ListenerSets included. Out: which of them cannot be told apart, and
//! which listener owns a hostname of a port. Not here: routes.
//!
//! HTTP, HTTPS and TLS listeners share a port by hostname; TCP and UDP listeners have theirs alone, and a TCP listener
//! bars the others from its port. Inside one object all listeners of a conflict are out of force. Between objects the
//! earlier one keeps the place: the Gateway, then its ListenerSets by age, namespace and name.

use overrule_source::Diagnostic;

use super::super::graph::{GatewayIx, ListenerIx};
use super::super::hostname::HostIx;
use super::super::resources::{ListenerSpec, Protocol};
use super::Connector;
use crate::codes;

/// One listener that claims a port. Sorts by what it claims, then by precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
    port: u16,
    family: Protocol,
    host: HostIx,
    /// 0 for the Gateway itself, then its sets in order.
    unit: usize,
    listener: ListenerIx,
}

impl Connector<'_> {
    pub(super) fn conflicts(&mut self) {
        for index in 0..self.out.gateways.len() {
            let gateway = GatewayIx::from(index);
            let mut claims = self.claims(gateway);
            claims.sort_unstable();
            for same in
                claims.chunk_by(|a, b| (a.port, a.family, a.host) == (b.port, b.family, b.host))
            {
                self.indistinct(same);
            }
            for port in claims.chunk_by(|a, b| a.port == b.port) {
                self.barred_by_tcp(port);
            }
            self.own_hostnames(gateway, &claims);
        }
    }

    fn claims(&self, gateway: GatewayIx) -> Vec<Claim> {
        let mut claims = Vec::new();
        let (mut unit, mut last) = (0, None);
        for (listener, own) in self.out.listeners_of(gateway) {
            if own.set != last {
                (unit, last) = (unit + 1, own.set);
            }
            let Some(spec) = self.specs.listeners.get(listener.at()) else { continue };
            // Without a port there is nothing to claim; protocols of vendors follow rules of theirs.
            if spec.port == 0 || spec.broken || spec.family == Protocol::Other {
                continue;
            }
            let (port, family, host) = (spec.port, spec.family, spec.hostname);
            claims.push(Claim { port, family, host, unit, listener });
        }
        claims
    }

    /// Listeners that claim the very same thing, by precedence.
    fn indistinct(&mut self, same: &[Claim]) {
        let Some(first) = same.first() else { return };
        let equals = same.iter().take_while(|c| c.unit == first.unit).count();
        if equals > 1 {
            let group = same.get(..equals).unwrap_or(&[]);
            self.conflict(group, "nothing distinguishes them, so none of them is in force");
        }
        for later in same.iter().skip(equals) {
            self.conflict(&[*first, *later], "the earlier one is in force");
        }
    }

    /// A TCP listener and others on one port.
    fn barred_by_tcp(&mut self, port: &[Claim]) {
        let of = |family| port.iter().filter(move |c| c.family == family);
        let first = |family| of(family).min_by_key(|c| (c.unit, c.listener)).copied();
        let (Some(tcp), Some(hosted)) = (first(Protocol::Tcp), first(Protocol::Hosted)) else {
            return;
        };
        if tcp.unit == hosted.unit {
            let hosted = of(Protocol::Hosted).filter(|c| c.unit == tcp.unit).copied();
            let group: Vec<Claim> = std::iter::once(tcp).chain(hosted).collect();
            self.conflict(
                &group,
                "a TCP listener cannot share its port, so none of them is in force",
            );
        }
        for family in [Protocol::Tcp, Protocol::Hosted] {
            let rival = if family == Protocol::Tcp { hosted } else { tcp };
            let later: Vec<Claim> = of(family)
                .filter(|c| c.unit > rival.unit && !self.is_conflicted(c.listener))
                .copied()
                .collect();
            for claim in later {
                self.conflict(
                    &[rival, claim],
                    "a TCP listener cannot share its port, so the earlier one is in force",
                );
            }
        }
    }

    fn is_conflicted(&self, listener: ListenerIx) -> bool {
        self.out.listener(listener).is_some_and(|l| l.conflicted)
    }

    /// Marks and reports a conflict. Of one object all listeners lose; of several, all but the first.
    fn conflict(&mut self, group: &[Claim], why: &str) {
        let Some((first, rest)) = group.split_first() else { return };
        let Some(second) = rest.first() else { return };
        let all = first.unit == second.unit;
        for claim in group.iter().skip(usize::from(!all)) {
            if let Some(listener) = self.out.listeners.get_mut(claim.listener.at()) {
                listener.conflicted = true;
            }
        }
        let names: Vec<String> =
            group.iter().map(|c| format!("`{}`", self.listener_name(c.listener))).collect();
        let (Some(one), Some(two)) = (self.spec_of(first), self.spec_of(second)) else { return };
        let message =
            format!("listeners {} conflict on port {}: {why}", names.join(", "), second.port);
        let mut d = Diagnostic::new(&codes::CONFLICTING_LISTENERS, message)
            .at(two.at)
            .see(one.at, "conflicts with this one")
            .field(format!("spec.listeners[{}]", two.index))
            .help(
                "give one of them another port, or another hostname if both are HTTP, HTTPS or TLS",
            );
        for other in rest.iter().skip(1).filter_map(|c| self.spec_of(c)) {
            d = d.see(other.at, "and with this one");
        }
        self.diagnostics.push(d);
    }

    fn spec_of(&self, claim: &Claim) -> Option<&ListenerSpec> {
        self.specs.listeners.get(claim.listener.at())
    }

    fn own_hostnames(&mut self, gateway: GatewayIx, claims: &[Claim]) {
        for claim in claims.iter().filter(|c| c.family == Protocol::Hosted) {
            if self.is_conflicted(claim.listener) {
                continue;
            }
            let host = self.specs.hosts.name(claim.host);
            self.out.index.owners.insert((gateway, claim.port, host), claim.listener);
        }
    }
}
