// SPDX-License-Identifier: Apache-2.0
//! In: placeholders. Out: specs that are open wherever a reference says nothing. Not here: what is assumed (`assume`).

use overrule_model::Sym;

use super::super::assume::AssumedSection;
use super::super::graph::{RouteKind, RouteKinds};
use super::super::hostname::HostIx;
use super::super::resources::{
    GatewaySpec, ListenerSpec, NamespacesFrom, PortSpec, Protocol, count,
};
use super::{Head, Reader};

impl Reader<'_> {
    /// Whether nobody wrote an object.
    pub(super) fn is_assumed(&self, head: Head) -> bool {
        self.snapshot.assumed(head.id).is_some()
    }

    fn assumed_sections(&self, head: Head) -> &[AssumedSection] {
        let sections = self.assumed.and_then(|assumed| assumed.sections.get(&head.id));
        sections.map_or(&[], Vec::as_slice)
    }

    /// A Gateway with the listeners that references name. Whatever they do not say fits.
    pub(super) fn assumed_gateway(&mut self, head: Head, gateway: &mut GatewaySpec) {
        gateway.allowed_sets = NamespacesFrom::All;
        let certificates = count(&self.out.certificates);
        let listener = |(index, section): (u32, &AssumedSection)| ListenerSpec {
            name: section.name,
            index,
            at: section.at,
            port: section.port,
            protocol: Sym::EMPTY,
            family: Protocol::Other,
            terminates: false,
            hostname: HostIx::ALL,
            hostname_at: None,
            broken: false,
            namespaces: NamespacesFrom::All,
            kinds: RouteKinds::of(&RouteKind::ALL),
            allowed_at: None,
            assumed: true,
            certificates: certificates..certificates,
        };
        let listeners: Vec<ListenerSpec> =
            (0..).zip(self.assumed_sections(head)).map(listener).collect();
        self.out.listeners.extend(listeners);
        gateway.listeners.end = count(&self.out.listeners);
    }

    /// The ports that policies name of a Service nobody wrote. Their numbers are unknown.
    pub(super) fn assumed_ports(&mut self, head: Head) {
        let port = |section: &AssumedSection| PortSpec {
            name: section.name,
            number: section.port,
            at: section.at,
        };
        let ports: Vec<PortSpec> = self.assumed_sections(head).iter().map(port).collect();
        self.out.ports.extend(ports);
    }
}
