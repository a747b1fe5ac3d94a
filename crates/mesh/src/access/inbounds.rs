// SPDX-License-Identifier: Apache-2.0
//! In: resources and what was resolved from them. Out: the inbounds that a name means, and each with everything that
//! decides about its clients. Not here: which permissions select an inbound (`resolve`), what they decide (`gate`).

use std::sync::Arc;

use overrule_access::{Caller, Certificate, Enforcement, Request, Ruling};
use overrule_engine::{KindResult, LadderId, Resolution};
use overrule_family::InboundId;
use overrule_model::{ObjectId, Snapshot};
use overrule_source::{Documents, View};
use serde_json::Value;

use crate::dataplane::{Dataplane, Inbound};
use crate::gate::{Asking, By, Gate, Gates, PermissionList};
use crate::identity::{enforcement, enforcement_at_egress, tags_of, uses_egress};
use crate::inspect;
use crate::kinds;
use crate::profile::Profile;
use crate::resolve::{FAMILY, ProxyRules};
use crate::resources::{MeshResources, ReadObject, Resources};
use crate::topology::MeshTopology;

/// The inbounds of a dataplane, or those behind a service; of the section, if one is named. An external service has one
/// where a mesh sends through zone egresses.
pub fn inbounds(
    documents: &Documents,
    resources: &Resources,
    object: ObjectId,
    section: Option<&str>,
) -> Vec<InboundId> {
    let spec = resources.roots.get(&object).and_then(|root| documents.view(*root).get("spec"));
    let mut found = Vec::new();
    for (m, mesh) in resources.meshes.iter().enumerate() {
        let external = mesh.external.iter().position(|read| read.object == Some(object));
        if let Some(e) = external.filter(|_| uses_egress(documents, resources, mesh)) {
            let own = mesh.external.get(e).and_then(|read| read.it.inbounds.first());
            if own.is_some_and(|i| section.is_none_or(|s| *i.section == *s)) {
                let proxy = mesh.dataplanes.len() + e;
                found.push(InboundId { family: FAMILY, mesh: m, proxy, inbound: 0 });
            }
        }
        let service = mesh.destination_objects.iter().position(|o| *o == Some(object));
        let service = service.and_then(|s| mesh.destinations.get(s));
        let is_service = service.is_some_and(|s| s.meta.kind == kinds::SERVICE);
        for (p, read) in mesh.dataplanes.iter().enumerate() {
            let ports = match is_service {
                true => match spec.and_then(|spec| ports_behind(spec, section, &read.it)) {
                    Some(ports) => Some(ports),
                    None => continue,
                },
                false if read.object == Some(object) => None,
                false => continue,
            };
            for (i, inbound) in read.it.inbounds.iter().enumerate() {
                let number = inbound.listener.port.to_string();
                let named = |text: &str| *inbound.section == *text || number == text;
                let wanted = match &ports {
                    Some(ports) => ports.iter().any(|port| named(port)),
                    None => section.is_none_or(named),
                };
                if wanted {
                    found.push(InboundId { family: FAMILY, mesh: m, proxy: p, inbound: i });
                }
            }
        }
    }
    found
}

/// Target ports of a service that a proxy is behind; none if it is not.
fn ports_behind(spec: View<'_>, section: Option<&str>, proxy: &Dataplane) -> Option<Vec<String>> {
    let selector = spec.get("selector")?;
    let text = |v: View<'_>| v.scalar_text().unwrap_or("").to_owned();
    let has_tags = |tags: View<'_>| {
        proxy.inbounds.iter().any(|inbound| {
            let has = |(k, v): (View<'_>, View<'_>)| {
                inbound.tags.get(k.key_text()).is_some_and(|t| **t == *text(v))
            };
            tags.entries().all(has)
        })
    };
    let has_labels = |labels: View<'_>| {
        let has = |(k, v): (View<'_>, View<'_>)| {
            proxy.meta.labels.get(k.key_text()).is_some_and(|l| *l == text(v))
        };
        labels.get("matchLabels").unwrap_or(labels).entries().all(has)
    };
    let named = |r: View<'_>| r.get("name").is_some_and(|n| text(n) == proxy.meta.display_name());
    let fits = match (selector.get("dataplaneTags"), selector.get("dataplaneLabels")) {
        (Some(tags), _) => has_tags(tags),
        (None, Some(labels)) => has_labels(labels),
        (None, None) => selector.get("dataplaneRef").is_some_and(named),
    };
    if !fits {
        return None;
    }
    let ports = spec.get("ports").into_iter().flat_map(View::items);
    let port_name = |p: &View<'_>| {
        let name = p.get("name").map(text).filter(|n| !n.is_empty());
        name.or_else(|| p.get("port").map(text)).unwrap_or_default()
    };
    let wanted = ports.filter(|p| section.is_none_or(|s| port_name(p) == s));
    let target = |p: View<'_>| p.get("targetPort").or_else(|| p.get("port")).map(text);
    Some(wanted.filter_map(target).collect())
}

/// The name of an inbound.
pub fn name(snapshot: &Snapshot, resources: &Resources, at: InboundId) -> String {
    let mesh = resources.meshes.get(at.mesh);
    let Some(proxy) = mesh.and_then(|m| m.proxy(at.proxy)) else { return String::new() };
    let name = proxy.object.map(|o| snapshot.display(o).to_string()).unwrap_or_default();
    let section = proxy.it.inbounds.get(at.inbound).map_or("", |i| &i.section);
    format!("{name}#{section}")
}

/// What was resolved under a profile, to look up inbounds.
pub struct Lookup<'a> {
    /// Texts and trees.
    pub documents: &'a Documents,
    /// Resources as read.
    pub snapshot: &'a Snapshot,
    /// Kuma's resources.
    pub resources: &'a Resources,
    /// Their nodes.
    pub topology: &'a MeshTopology,
    /// The answer.
    pub resolution: &'a Resolution,
    /// What each proxy gets, by mesh and place.
    pub proxies: &'a [Vec<Arc<ProxyRules>>],
    /// The gates of inbounds.
    pub gates: &'a Gates,
    /// The rule set.
    pub profile: Profile,
}

/// An inbound, and what decides about its clients under a profile.
pub struct GuardedInbound<'a> {
    /// Its mesh.
    pub mesh: &'a MeshResources,
    /// Its proxy.
    pub proxy: &'a ReadObject<Dataplane>,
    /// The inbound.
    pub inbound: &'a Inbound,
    /// Its permissions.
    pub gate: &'a Gate,
    /// Whether the proxy knows its clients.
    pub enforcement: Enforcement,
}

impl<'a> Lookup<'a> {
    /// An inbound.
    pub fn inbound(&self, at: InboundId) -> Option<GuardedInbound<'a>> {
        let (mesh, proxy, permissions) = self.find(at)?;
        let inbound = proxy.it.inbounds.get(at.inbound)?;
        let gate = self.gates.get(permissions, self.documents, mesh, &self.profile)?;
        let enforcement = self.enforcement(at, mesh, &proxy.it);
        Some(GuardedInbound { mesh, proxy, inbound, gate, enforcement })
    }

    /// The permissions of an inbound in the shape of the design's Inspect API.
    pub fn inspect_permissions(&self, at: InboundId) -> Option<Value> {
        let (mesh, _, permissions) = self.find(at)?;
        Some(inspect::permissions(self.documents, mesh, &self.profile, permissions.list()))
    }

    fn find(
        &self,
        at: InboundId,
    ) -> Option<(&'a MeshResources, &'a ReadObject<Dataplane>, &'a PermissionList)> {
        let mesh = self.resources.meshes.get(at.mesh)?;
        let permissions = self.proxies.get(at.mesh)?.get(at.proxy)?.permissions(at.inbound)?;
        Some((mesh, mesh.proxy(at.proxy)?, permissions))
    }

    /// Whether a proxy knows its clients: as its mesh says, unless MeshTLS says otherwise for the inbound.
    fn enforcement(&self, at: InboundId, mesh: &MeshResources, proxy: &Dataplane) -> Enforcement {
        if at.proxy >= mesh.dataplanes.len() {
            return enforcement_at_egress(self.documents, self.resources, mesh);
        }
        let asked = enforcement(self.documents, self.resources, mesh, proxy);
        match (asked, self.tls_mode(at)) {
            (Enforcement::Off, _) => Enforcement::Off,
            (_, Some("Permissive")) => Enforcement::Permissive,
            (_, Some("Strict")) => Enforcement::Strict,
            (asked, _) => asked,
        }
    }

    /// What MeshTLS says about an inbound.
    fn tls_mode(&self, at: InboundId) -> Option<&'a str> {
        let resolution = self.resolution;
        let is_tls = |k: &KindResult| self.snapshot.text(k.kind) == kinds::TLS.name;
        let (kind, _) = resolution.kinds().find(|(_, k)| is_tls(k))?;
        let nodes = self.topology.meshes.get(at.mesh)?;
        let node = *nodes.dataplanes.get(at.proxy)?.1.get(at.inbound)?;
        let paths = resolution.paths.ending_at(node).iter();
        let mut ladders = paths.map(|path| resolution.ladder(kind, *path));
        let ladder = ladders.find(|ladder| *ladder != LadderId::NONE)?;
        let value = resolution.effective(ladder).filter(|_| ladder != LadderId::EMPTY)?;
        let mode = value.value.as_ref()?.get(self.documents, "mode")?;
        self.documents.view(mode.node()?).scalar_text()
    }
}

impl GuardedInbound<'_> {
    /// Decides about a client and its request, whose identity is the client's. Where no HTTP is spoken there is neither method
    /// nor path.
    pub fn decide(&self, caller: &Caller, request: Request<'_>) -> Ruling<By> {
        let is_http = self.inbound.is_http();
        let one = caller.certificate == Certificate::One;
        let request = Request {
            identity: caller.identity.as_deref().filter(|_| one),
            sni: request.sni,
            method: request.method.filter(|_| is_http),
            path: request.path.filter(|_| is_http),
            http: request.http,
        };
        let (enforcement, certificate) = (self.enforcement, caller.certificate);
        let tags = &tags_of(caller, self.mesh);
        self.gate.decide(Asking { enforcement, certificate, request, tags })
    }
}
