// SPDX-License-Identifier: Apache-2.0
//! In: a proxy and the destinations of its mesh. Out: what it listens on and where it sends: `_layout`.
//! Not here: policies.

use std::collections::BTreeMap;

use bytes::Bytes;
use overrule_source::View;
use serde_json::{Value, json};

use super::answer::InspectAnswer;
use super::shape::bytes;
use super::{Flavour, Scope};
use crate::dataplane::Dataplane;
use crate::kri::Kri;
use crate::targetref::TargetRef;
use crate::targets::Destination;

/// Ports by identity: number and protocol.
type Ports = BTreeMap<Kri, (i64, String)>;

impl Scope<'_> {
    pub(super) fn layout(&self, place: usize) -> InspectAnswer {
        let Some(proxy) = self.proxy(place) else { return InspectAnswer::ok(&Value::Null) };
        let networking = self.networking(place);
        // Listeners of a zone proxy stand after its inbounds.
        let listeners = networking.and_then(|n| n.get("listeners"));
        let count = listeners.map_or(0, |l| l.items().count());
        let (inbounds, rest) = proxy.inbounds.split_at(proxy.inbounds.len().saturating_sub(count));
        let kri = proxy.meta.kri();
        let section = |section: &str| kri.with_section(section).to_string();
        let inbounds: Vec<Value> = inbounds
            .iter()
            .map(|inbound| {
                json!({
                    "kri": section(&inbound.section),
                    "port": inbound.listener.port,
                    "protocol": self.protocol(inbound),
                    "proxyResourceName": format!("self_inbound_dp_{}", inbound.section),
                })
            })
            .collect();
        let kinds = listeners.into_iter().flat_map(View::items).map(|l| text(l, "type").to_owned());
        let rest: Vec<Value> = rest
            .iter()
            .zip(kinds)
            .map(|(listener, kind)| {
                let word = kind.to_ascii_lowercase();
                json!({
                    "kri": section(&listener.section),
                    "port": listener.listener.port,
                    "type": kind,
                    "proxyResourceName": format!("self_{word}_dp_{}", listener.section),
                })
            })
            .collect();
        let mut head =
            format!("{{\"kri\":{},\"labels\":{}", json!(kri.to_string()), json!(proxy.meta.labels));
        head.push_str(&format!(",\"inbounds\":{}", Value::Array(inbounds)));
        if !rest.is_empty() && self.flavour == Flavour::Native {
            head.push_str(&format!(",\"listeners\":{}", Value::Array(rest)));
        }
        head.push_str(",\"outbounds\":");
        InspectAnswer::ok([
            head.into(),
            self.outbounds(proxy, networking),
            Bytes::from_static(b"}"),
        ])
    }

    /// The release knows the protocol by its tag only.
    fn protocol<'i>(&self, inbound: &'i crate::dataplane::Inbound) -> &'i str {
        match self.flavour {
            Flavour::Compat => inbound.tags.get("kuma.io/protocol").map_or("", |p| p),
            Flavour::Native => &inbound.protocol,
        }
    }

    fn networking(&self, place: usize) -> Option<View<'_>> {
        let object = self.mesh.dataplanes.get(place)?.object?;
        self.spec(object)?.get("networking")
    }

    /// Where a proxy sends: what it names; if it names nothing that is there, what it says it reaches; if it does not
    /// say, everything.
    fn outbounds(&self, proxy: &Dataplane, networking: Option<View<'_>>) -> Bytes {
        let named = networking.and_then(|n| n.get("outbound")).into_iter().flat_map(View::items);
        let named = named.filter_map(|outbound| outbound.get("backendRef"));
        let named = self.ports_of(proxy, named);
        if !named.is_empty() {
            return shown(&named);
        }
        let transparent = networking.and_then(|n| n.get("transparentProxying"));
        let reachable = transparent.and_then(|t| t.get("reachableBackends"));
        match reachable.filter(|r| !r.is_null()) {
            Some(reachable) => {
                let refs = reachable.get("refs").into_iter().flat_map(View::items);
                shown(&self.ports_of(proxy, refs))
            }
            // The same for all proxies of the mesh.
            None => self.index.everything.get_or_init(|| shown(&self.all_ports())).clone(),
        }
    }

    fn all_ports(&self) -> Ports {
        let services = (0..self.mesh.destinations.len())
            .filter(|place| self.mesh.destinations.get(*place).is_some_and(is_service));
        services.flat_map(|place| self.ports(place, &Value::Null)).collect()
    }

    fn ports_of<'v>(&self, proxy: &Dataplane, refs: impl Iterator<Item = View<'v>>) -> Ports {
        let mut found = Ports::new();
        for reference in refs {
            let target = TargetRef::from_view(reference);
            let port = reference.get("port").map_or(Value::Null, View::to_json);
            for place in self.referenced(proxy, &target) {
                found.extend(self.ports(place, &port));
            }
        }
        found
    }

    /// The destinations that a reference of a proxy means, by place: by labels, and if nothing has them by name.
    fn referenced(&self, proxy: &Dataplane, target: &TargetRef) -> Vec<usize> {
        let all = || self.mesh.destinations.iter().enumerate().filter(|(_, d)| is_service(d));
        if let Some(labels) = target.labels.as_ref().filter(|labels| !labels.is_empty()) {
            let has = |d: &Destination| d.meta.kind == target.kind && d.meta.has_labels(labels);
            let with: Vec<usize> = all().filter(|(_, d)| has(d)).map(|(place, _)| place).collect();
            if !with.is_empty() {
                return with;
            }
        }
        let own = proxy.meta.namespace();
        let kri = Kri {
            kind: target.kind.clone(),
            mesh: proxy.meta.mesh.clone(),
            zone: proxy.meta.zone().to_owned(),
            namespace: target.namespace.as_deref().unwrap_or(own).to_owned(),
            name: target.name().to_owned(),
            section: String::new(),
        };
        let index = self
            .index
            .services
            .get_or_init(|| all().map(|(place, d)| (d.meta.kri(), place)).collect());
        index.get(&kri).copied().into_iter().collect()
    }

    /// The ports of a destination: the one that has this name or number, otherwise all.
    fn ports(&self, place: usize, wanted: &Value) -> Vec<(Kri, (i64, String))> {
        let Some(destination) = self.mesh.destinations.get(place) else { return Vec::new() };
        let wanted = match wanted {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let kri = destination.meta.kri();
        let protocols = self.protocols(place);
        let all = destination.ports.iter().zip(protocols);
        let all = all.map(|(port, protocol)| {
            let is_it = port.section == wanted || port.number.to_string() == wanted;
            (is_it, (kri.with_section(port.section.clone()), (port.number, protocol)))
        });
        let all: Vec<_> = all.collect();
        let one = all.iter().find(|(is_it, _)| *is_it).map(|(_, port)| port.clone());
        match one {
            Some(port) => vec![port],
            None => all.into_iter().map(|(_, port)| port).collect(),
        }
    }

    /// The protocols of the ports of a destination.
    fn protocols(&self, place: usize) -> Vec<String> {
        let object = self.mesh.destination_objects.get(place).copied().flatten();
        let root = object.and_then(|object| self.live.resources.roots.get(&object));
        let spec = root.and_then(|root| self.live.documents.view(*root).get("spec"));
        let or_tcp = |text: &str| if text.is_empty() { "tcp".to_owned() } else { text.to_owned() };
        match spec.and_then(|s| s.get("match")) {
            Some(external) => vec![or_tcp(text(external, "protocol"))],
            None => {
                let ports = spec.and_then(|s| s.get("ports")).into_iter().flat_map(View::items);
                ports.map(|port| or_tcp(text(port, "appProtocol"))).collect()
            }
        }
    }
}

/// What else entries may mean is none to send to.
fn is_service(destination: &Destination) -> bool {
    destination.meta.kind.known().is_some_and(|kind| kind.is_destination)
}

fn text<'v>(of: View<'v>, key: &str) -> &'v str {
    of.get(key).and_then(|v| v.scalar_text()).unwrap_or("")
}

/// Ports in the order of their identities.
fn shown(ports: &Ports) -> Bytes {
    let one = |(kri, (port, protocol)): (&Kri, &(i64, String))| {
        let kri = kri.to_string();
        json!({"kri": kri, "port": port, "protocol": protocol, "proxyResourceName": kri})
    };
    bytes(&ports.iter().map(one).collect())
}
