// SPDX-License-Identifier: Apache-2.0
//! In: a Service of Kubernetes. Out: the inbounds behind it. Not here: services of a mesh (`inbounds`).
//!
//! The injector names an inbound by the Service it was made for: by the tags `k8s.kuma.io/service-name` and
//! `k8s.kuma.io/namespace`, or `kuma.io/service: NAME_NAMESPACE_svc_PORT`. A proxy without such tags is behind a Service
//! of its namespace that selects its labels.

use overrule_family::InboundId;
use overrule_model::{Object, ObjectId, Scope, Snapshot};
use overrule_source::{Documents, View};

use crate::dataplane::{Dataplane, Inbound};
use crate::entries::SERVICE;
use crate::resolve::FAMILY;
use crate::resources::Resources;

/// Tags and labels by which the injector says where an inbound comes from.
const NAME: &str = "k8s.kuma.io/service-name";
const NAMESPACE: &str = "k8s.kuma.io/namespace";

/// The inbounds behind a Service, or behind one port of it.
pub(super) fn behind(
    documents: &Documents,
    snapshot: &Snapshot,
    resources: &Resources,
    object: ObjectId,
    section: Option<&str>,
) -> Vec<InboundId> {
    let service = snapshot.get(object).and_then(|o| Service::read(documents, snapshot, o, section));
    let Some(service) = service else { return Vec::new() };
    let mut found = Vec::new();
    for (mesh, of_mesh) in resources.meshes.iter().enumerate() {
        for (proxy, read) in of_mesh.dataplanes.iter().enumerate() {
            for (inbound, it) in read.it.inbounds.iter().enumerate() {
                if service.has(&read.it, it) {
                    found.push(InboundId { family: FAMILY, mesh, proxy, inbound });
                }
            }
        }
    }
    found
}

struct Service<'a> {
    name: &'a str,
    namespace: &'a str,
    selector: Vec<(&'a str, &'a str)>,
    ports: Vec<Port>,
    /// Whether all ports are meant.
    whole: bool,
}

struct Port {
    number: String,
    target: String,
}

impl<'a> Service<'a> {
    fn read(
        documents: &'a Documents,
        snapshot: &'a Snapshot,
        object: &Object,
        section: Option<&str>,
    ) -> Option<Self> {
        let kind = (snapshot.text(object.kind.group), snapshot.text(object.kind.kind));
        let Scope::Namespace(namespace) = object.scope else { return None };
        if kind != ("", "Service") {
            return None;
        }
        let spec = documents.view(object.root).get("spec");
        let list = |key: &str| spec.and_then(|spec| spec.get(key));
        let selector = list("selector").into_iter().flat_map(View::entries);
        let ports = list("ports").into_iter().flat_map(View::items);
        let text = |port: View<'_>, key: &str| {
            port.get(key).and_then(|v| v.scalar_text().map(str::to_owned)).unwrap_or_default()
        };
        let wanted = |port: &View<'_>| {
            section.is_none_or(|s| text(*port, "name") == s || text(*port, "port") == s)
        };
        let port = |port: View<'_>| {
            let (number, target) = (text(port, "port"), text(port, "targetPort"));
            let target = if target.is_empty() { number.clone() } else { target };
            Port { number, target }
        };
        Some(Self {
            name: snapshot.text(object.name),
            namespace: snapshot.text(namespace),
            selector: selector
                .filter_map(|(key, value)| Some((key.key_text(), value.scalar_text()?)))
                .collect(),
            ports: ports.filter(wanted).map(port).collect(),
            whole: section.is_none(),
        })
    }

    fn has(&self, proxy: &Dataplane, inbound: &Inbound) -> bool {
        let tag = |key: &str| inbound.tags.get(key).map(|value| &**value);
        let at_port = || {
            let number = inbound.listener.port.to_string();
            let mut targets = self.ports.iter().map(|port| &port.target);
            targets.any(|target| *target == number || **target == *inbound.section)
        };
        if let (Some(name), Some(namespace)) = (tag(NAME), tag(NAMESPACE)) {
            return (name, namespace) == (self.name, self.namespace) && (self.whole || at_port());
        }
        let (name, namespace) = (self.name, self.namespace);
        let by_port = |port: &Port| format!("{name}_{namespace}_svc_{}", port.number);
        match tag(SERVICE).filter(|service| service.contains("_svc")) {
            Some(service) => {
                self.ports.iter().any(|port| by_port(port) == service)
                    || (self.whole && service == format!("{name}_{namespace}_svc"))
            }
            None => self.selects(proxy) && at_port(),
        }
    }

    fn selects(&self, proxy: &Dataplane) -> bool {
        let label = |key: &str| proxy.meta.labels.get(key).map(|value| &**value);
        let here = label(NAMESPACE) == Some(self.namespace);
        let has = |(key, value): &(&str, &str)| label(key) == Some(*value);
        here && !self.selector.is_empty() && self.selector.iter().all(has)
    }
}
