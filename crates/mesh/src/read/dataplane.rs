// SPDX-License-Identifier: Apache-2.0
//! In: Dataplanes and MeshGateways. Out: what policies select them by: inbounds with their tags, listeners, the gateway.
//! Not here: selecting.

use std::collections::BTreeMap;

use overrule_source::{Documents, View};

use crate::labels::ResourceOrigin;
use crate::resource::{Meta, PlacedResource};

/// Tags of an inbound or a gateway.
pub type Tags = BTreeMap<Box<str>, Box<str>>;

/// Address and port an inbound listens on. Inbounds with the same collapse.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboundListener {
    /// Address.
    pub address: Box<str>,
    /// Port.
    pub port: u32,
}

impl std::fmt::Display for InboundListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.address, self.port)
    }
}

/// An inbound, or a listener of a zone proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// Where it listens.
    pub listener: InboundListener,
    /// Its name, or its port as text.
    pub section: Box<str>,
    /// Its tags.
    pub tags: Tags,
    /// What it speaks, as written: `http`, `grpc`, `tcp`; empty if nobody says.
    pub protocol: Box<str>,
}

impl Inbound {
    /// Whether its proxy looks at single requests.
    pub fn is_http(&self) -> bool {
        matches!(&*self.protocol, "http" | "http2" | "grpc")
    }
}

/// The gateway of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyGateway {
    /// Whether the control plane configures its listeners from a MeshGateway; otherwise it only sends.
    pub built_in: bool,
    /// Its tags.
    pub tags: Tags,
}

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataplane {
    /// Who it is.
    pub meta: Meta,
    /// `networking.address`.
    pub address: Box<str>,
    /// Its inbounds, and listeners of a zone proxy.
    pub inbounds: Vec<Inbound>,
    /// Its gateway.
    pub gateway: Option<ProxyGateway>,
    /// Services it sends to by the tag that names them, as outbounds had it before services were resources; each once.
    pub services: Vec<Box<str>>,
}

pub(crate) fn tags(of: Option<View<'_>>) -> Tags {
    let entries = of.into_iter().flat_map(View::entries);
    entries.map(|(k, v)| (k.key_text().into(), v.scalar_text().unwrap_or("").into())).collect()
}

fn text(of: View<'_>, key: &str) -> Box<str> {
    of.get(key).and_then(|v| v.scalar_text()).unwrap_or("").into()
}

/// The protocol of an inbound: its own field, or the tag that said so before.
fn protocol(of: View<'_>) -> Box<str> {
    let own = text(of, "protocol");
    let tag = of.get("tags").and_then(|t| t.get("kuma.io/protocol"));
    let tag = tag.and_then(|t| t.scalar_text()).unwrap_or("");
    if own.is_empty() { tag.into() } else { own }
}

fn port(of: View<'_>) -> u32 {
    let port = of.get("port").and_then(View::as_i64);
    port.and_then(|p| u32::try_from(p).ok()).unwrap_or(0)
}

impl Dataplane {
    /// Reads a Dataplane.
    pub fn read(documents: &Documents, resource: &PlacedResource) -> Self {
        let networking = resource.spec(documents).get("networking");
        let address = networking.map_or("".into(), |n| text(n, "address"));
        let list = |key| networking.and_then(|n| n.get(key)).into_iter().flat_map(View::items);
        let inbound = |item: View<'_>| {
            let own = text(item, "address");
            let port = port(item);
            let name = text(item, "name");
            Inbound {
                listener: InboundListener {
                    address: if own.is_empty() { address.clone() } else { own },
                    port,
                },
                section: if name.is_empty() { port.to_string().into() } else { name },
                protocol: protocol(item),
                tags: tags(item.get("tags")),
            }
        };
        let inbounds = list("inbound").chain(list("listeners")).map(inbound).collect();
        let gateway = networking.and_then(|n| n.get("gateway")).filter(|g| !g.is_null());
        let gateway = gateway.map(|g| ProxyGateway {
            built_in: &*text(g, "type") == "BUILTIN",
            tags: tags(g.get("tags")),
        });
        let mut services: Vec<Box<str>> = Vec::new();
        for outbound in list("outbound") {
            let service = outbound.get("tags").and_then(|t| t.get("kuma.io/service"));
            let service = service.and_then(|s| s.scalar_text()).unwrap_or("");
            if !service.is_empty() && !services.iter().any(|known| &**known == service) {
                services.push(service.into());
            }
        }
        Self { meta: resource.meta.clone(), address, inbounds, gateway, services }
    }

    /// An ExternalService, as a proxy with the inbound that a zone egress has for it.
    pub fn of_external(documents: &Documents, resource: &PlacedResource) -> Self {
        let spec = resource.spec(documents);
        let own = tags(spec.get("tags"));
        let address = spec.get("networking").map_or("".into(), |n| text(n, "address"));
        let (host, port) = address.rsplit_once(':').unwrap_or((&address, ""));
        let port: u32 = port.parse().unwrap_or(0);
        let inbound = Inbound {
            listener: InboundListener { address: host.into(), port },
            section: port.to_string().into(),
            protocol: own.get("kuma.io/protocol").cloned().unwrap_or_default(),
            tags: own,
        };
        Self {
            meta: resource.meta.clone(),
            address: host.into(),
            inbounds: vec![inbound],
            gateway: None,
            services: Vec::new(),
        }
    }

    /// Whether it only sends: a gateway nobody configures.
    pub fn is_delegated(&self) -> bool {
        self.gateway.as_ref().is_some_and(|g| !g.built_in)
    }

    /// Whether its listeners come from a MeshGateway.
    pub fn is_built_in(&self) -> bool {
        self.gateway.as_ref().is_some_and(|g| g.built_in)
    }
}

/// A listener of a MeshGateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayListener {
    /// Port.
    pub port: u32,
    /// Hostname; `*` if none is written.
    pub hostname: Box<str>,
    /// Tags.
    pub tags: Tags,
}

/// A MeshGateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshGateway {
    /// Who it is.
    pub meta: Meta,
    /// Which gateways it configures: one of these must match their tags.
    pub selectors: Vec<Tags>,
    /// Its tags.
    pub tags: Tags,
    /// Its listeners.
    pub listeners: Vec<GatewayListener>,
}

impl MeshGateway {
    /// Reads a MeshGateway.
    pub fn read(documents: &Documents, resource: &PlacedResource) -> Self {
        let spec = resource.spec(documents);
        let selectors = spec.get("selectors").into_iter().flat_map(View::items);
        let listeners = spec.get("conf").and_then(|c| c.get("listeners"));
        let listener = |item: View<'_>| {
            let hostname = text(item, "hostname");
            GatewayListener {
                port: port(item),
                hostname: if hostname.is_empty() { "*".into() } else { hostname },
                tags: tags(item.get("tags")),
            }
        };
        Self {
            meta: resource.meta.clone(),
            selectors: selectors.map(|s| tags(s.get("match"))).collect(),
            tags: tags(spec.get("tags")),
            listeners: listeners.into_iter().flat_map(View::items).map(listener).collect(),
        }
    }

    /// How well it fits a gateway: tags matched, those by value; none if it does not.
    fn fit(&self, tags: &Tags) -> Option<(usize, usize)> {
        let fits = self.selectors.iter().filter(|s| matches(s, tags));
        fits.map(|s| (s.len(), s.values().filter(|v| &***v != "*").count())).max()
    }
}

/// Whether tags have all the wanted ones; `*` is any value.
pub fn matches(wanted: &Tags, tags: &Tags) -> bool {
    wanted
        .iter()
        .all(|(key, value)| tags.get(key).is_some_and(|found| &**value == "*" || found == value))
}

/// The MeshGateway that configures a proxy: the one whose selector matches best; of several the one with the smaller name.
/// Gateways of another zone do not count; one that does not say its zone is of every zone.
pub fn gateway_of<'g>(
    dataplane: &Dataplane,
    gateways: impl IntoIterator<Item = &'g MeshGateway>,
) -> Option<&'g MeshGateway> {
    let zone = dataplane.meta.zone();
    let near = |g: &&MeshGateway| {
        let elsewhere = ![zone, ""].contains(&g.meta.zone()) && !zone.is_empty();
        let here = !elsewhere || g.meta.origin() != ResourceOrigin::Zone;
        here && g.meta.mesh == dataplane.meta.mesh
    };
    let tag_sets: Vec<&Tags> = match &dataplane.gateway {
        Some(gateway) => vec![&gateway.tags],
        None => dataplane.inbounds.iter().map(|i| &i.tags).collect(),
    };
    let fit = |g: &MeshGateway| tag_sets.iter().filter_map(|t| g.fit(t)).max();
    let fitting = gateways.into_iter().filter(near).filter_map(|g| Some((fit(g)?, g)));
    fitting
        .max_by(|(a, x), (b, y)| a.cmp(b).then_with(|| y.meta.name.cmp(&x.meta.name)))
        .map(|(_, g)| g)
}
