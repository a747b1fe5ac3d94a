// SPDX-License-Identifier: Apache-2.0
//! In: parentRefs that name Services. Out: the frontends of these Services, the routes bound to their ports, and findings
//! about those that are not (GEP-1426). Not here: routes at listeners (`attach`).
//!
//! A route without `port` and `sectionName` is bound to every port. Of several kinds of routes at one port, for the same
//! clients, one kind counts: GRPCRoute before HTTPRoute before TLSRoute before TCPRoute.

use overrule_engine::Node;
use overrule_model::{ObjectId, ObjectKey, Scope, Sym};
use overrule_source::Diagnostic;

use super::super::graph::{FrontendIx, FrontendPortIx, RouteIx, RouteKind};
use super::super::level;
use super::super::mesh::{Frontend, FrontendPort, MeshLink};
use super::super::resources::{ParentSpec, PortSpec, RouteSpec, count, part};
use super::super::status::ParentStatus;
use super::Connector;
use crate::codes;

/// Most ports a message lists.
const MOST: usize = 16;

impl<'s> Connector<'s> {
    /// Adds the frontends of Services that some route is bound to.
    pub(super) fn frontends(&mut self) {
        let specs = self.specs;
        let service = specs.words.service_kind();
        let mut named: Vec<&ParentSpec> =
            specs.parents.iter().filter(|p| p.kind == service && self.is_bound(p)).collect();
        let text = |sym| self.snapshot.text(sym);
        named.sort_by_key(|p| (text(p.namespace), text(p.name)));
        named.dedup_by_key(|p| (p.namespace, p.name));
        for parent in named {
            self.frontend(parent);
        }
    }

    fn frontend(&mut self, parent: &ParentSpec) {
        let object = self.service(parent);
        let at = object.and_then(|id| self.snapshot.get(id)).map_or(parent.at, |o| o.at);
        let node = self.out.nodes.add(Node {
            kind: self.specs.words.service,
            namespace: parent.namespace,
            name: parent.name,
            section: Sym::EMPTY,
            object,
            level: level::SERVICE,
            at: Some(at),
        });
        let start = count(&self.out.mesh.ports);
        let kind = self.specs.words.service_port;
        for port in self.service_ports(object) {
            let node =
                self.out.nodes.add_section(node, kind, port.name, level::SERVICE_PORT, port.at);
            self.out.mesh.ports.push(FrontendPort { node, number: port.number });
        }
        let ix = FrontendIx::from(self.out.mesh.frontends.len());
        self.out.index.frontends.insert((parent.namespace, parent.name), ix);
        self.out.mesh.frontends.push(Frontend {
            node,
            object,
            namespace: parent.namespace,
            ports: start..count(&self.out.mesh.ports),
            links: 0..0,
        });
    }

    /// The Service a parentRef names, if the input has it.
    fn service(&self, parent: &ParentSpec) -> Option<ObjectId> {
        self.snapshot.find(service_key(parent)).map(|o| o.id)
    }

    /// The ports of a Service, as far as the input says them.
    fn service_ports(&self, object: Option<ObjectId>) -> &'s [PortSpec] {
        let services = &self.specs.services;
        let found = object.and_then(|id| services.binary_search_by_key(&id, |s| s.object).ok());
        let found = found.and_then(|at| services.get(at));
        found.map_or(&[], |s| part(&self.specs.ports, &s.ports))
    }

    /// Whether a parentRef names a Service there may be, and a port of it.
    fn is_bound(&self, parent: &ParentSpec) -> bool {
        let object = self.service(parent);
        let ports = self.service_ports(object);
        (object.is_some() || self.may_be_elsewhere(parent))
            && (ports.is_empty() || ports.iter().any(|port| means(parent, port)))
    }

    /// Whether nobody can tell that the Service is not there: the input has none, and none of that name is being deleted.
    fn may_be_elsewhere(&self, parent: &ParentSpec) -> bool {
        self.is_kind_absent(parent.kind)
            && self.snapshot.find_deleted(service_key(parent)).is_none()
    }

    /// Whether a route is bound to Services only.
    pub(super) fn is_mesh_route(&self, route: &RouteSpec) -> bool {
        let service = self.specs.words.service_kind();
        let parents = part(&self.specs.parents, &route.parents);
        !parents.is_empty() && parents.iter().all(|parent| parent.kind == service)
    }

    /// Links a route to the ports a parentRef means.
    pub(super) fn bind(
        &mut self,
        ix: FrontendIx,
        route: RouteIx,
        parent: &ParentSpec,
        spec: &RouteSpec,
        bound: &mut Vec<MeshLink>,
    ) {
        let Some(frontend) = self.out.mesh.frontend(ix) else { return };
        let clients = (frontend.namespace != spec.namespace).then_some(spec.namespace);
        let link = |port| MeshLink { frontend: ix, port, route, parent_ref: parent.index, clients };
        if frontend.ports.is_empty() {
            bound.push(link(None));
            return;
        }
        let ports = self.service_ports(frontend.object);
        let meant = frontend.ports.clone().zip(ports).filter(|(_, port)| means(parent, port));
        bound.extend(meant.map(|(place, _)| link(Some(FrontendPortIx(place)))));
    }

    /// Keeps the links that count, by frontend, port and route.
    pub(super) fn store_bound(&mut self, mut bound: Vec<MeshLink>) {
        bound.sort_unstable_by_key(|l| (l.frontend, l.port, l.route, l.parent_ref));
        bound.dedup_by_key(|l| (l.frontend, l.port, l.route));
        let mut kept: Vec<MeshLink> = Vec::with_capacity(bound.len());
        for port in bound.chunk_by(|a, b| (a.frontend, a.port) == (b.frontend, b.port)) {
            for link in port {
                match self.rival(link, port) {
                    Some(rival) => self.outdone(link, rival),
                    None => kept.push(*link),
                }
            }
        }
        for (place, link) in (0_u32..).zip(&kept) {
            let Some(frontend) = self.out.mesh.frontends.get_mut(link.frontend.at()) else {
                continue;
            };
            if frontend.links.is_empty() {
                frontend.links = place..place;
            }
            frontend.links.end = place + 1;
        }
        self.consumers(&kept);
        self.out.mesh.links = kept;
    }

    /// A route at the same port, for the same clients, whose kind goes first.
    fn rival<'l>(&self, link: &MeshLink, port: &'l [MeshLink]) -> Option<&'l MeshLink> {
        let kind = |link: &MeshLink| self.out.route(link.route).map(|r| r.kind);
        let own = precedence(kind(link)?)?;
        port.iter().filter(|other| other.clients == link.clients).find(|other| {
            kind(other).and_then(precedence).is_some_and(|precedence| precedence < own)
        })
    }

    /// Reports a route that does not count at a port, once for each parentRef.
    fn outdone(&mut self, link: &MeshLink, rival: &MeshLink) {
        let Some((first, object)) = self.out.route(link.route).map(|r| (r.parents, r.object))
        else {
            return;
        };
        let rows = self.out.parents.get_mut(first as usize..).unwrap_or(&mut []);
        let Some(row) = rows.iter_mut().find(|row| row.index == link.parent_ref) else { return };
        if row.status == ParentStatus::Conflicted {
            return;
        }
        row.status = ParentStatus::Conflicted;
        let specs = self.specs;
        let spec = specs.routes.get(link.route.at());
        let parent = spec.and_then(|spec| {
            part(&specs.parents, &spec.parents).iter().find(|p| p.index == link.parent_ref)
        });
        let other = self.out.route(rival.route).and_then(|r| self.snapshot.get(r.object));
        let (Some(parent), Some(other)) = (parent, other) else { return };
        let message = format!(
            "`{}` does not act on `{}`: `{}` is bound to the same port, and its kind goes first",
            self.snapshot.display(object),
            self.name_of(parent.kind, parent.namespace, parent.name),
            self.snapshot.display(other.id),
        );
        let d = Diagnostic::new(&codes::MESH_ROUTE_CONFLICT, message)
            .at(parent.at)
            .see(other.at, "this one acts")
            .field(format!("spec.parentRefs[{}]", parent.index))
            .help("bind them to different ports, or write all rules as one kind of route");
        self.diagnostics.push(d);
    }

    /// Says once for each parentRef which routes act on clients of their own namespace only.
    fn consumers(&mut self, links: &[MeshLink]) {
        let mut told = None;
        let specs = self.specs;
        let mut consumers: Vec<&MeshLink> = links.iter().filter(|l| l.clients.is_some()).collect();
        consumers.sort_by_key(|l| (l.route, l.parent_ref));
        for link in consumers {
            if told.replace((link.route, link.parent_ref)) == Some((link.route, link.parent_ref)) {
                continue;
            }
            let Some(spec) = specs.routes.get(link.route.at()) else { continue };
            let mut parents = part(&specs.parents, &spec.parents).iter();
            let Some(parent) = parents.find(|p| p.index == link.parent_ref) else { continue };
            let text = |sym| self.snapshot.text(sym);
            let (own, theirs) = (text(spec.namespace), text(parent.namespace));
            let message = format!(
                "`{}` acts on `{}` for clients in namespace `{own}` only, instead of the routes of namespace `{theirs}`",
                self.snapshot.display(spec.object),
                self.name_of(parent.kind, parent.namespace, parent.name),
            );
            let d = Diagnostic::new(&codes::CONSUMER_ROUTE, message)
                .at(parent.at)
                .field(format!("spec.parentRefs[{}].namespace", parent.index))
                .help(format!(
                    "nothing to do if that is meant; a route in namespace `{theirs}` acts on all clients"
                ));
            self.diagnostics.push(d);
        }
    }

    /// Why a parentRef that names a Service led nowhere, and the finding about it.
    pub(super) fn no_frontend(&mut self, route: &RouteSpec, parent: &ParentSpec) -> ParentStatus {
        let field = format!("spec.parentRefs[{}]", parent.index);
        let Some(object) = self.service(parent) else {
            let d = self.parent_not_found(route.object, service_key(parent), parent.at);
            self.diagnostics.push(d.field(field + ".name"));
            return ParentStatus::ParentNotFound;
        };
        let text = |sym| self.snapshot.text(sym);
        let wanted = match (parent.section.is_empty(), parent.port) {
            (false, 0) => format!("port `{}`", text(parent.section)),
            (true, port) => format!("port {port}"),
            (false, port) => format!("port `{}` with number {port}", text(parent.section)),
        };
        let ports = self.service_ports(Some(object)).iter().take(MOST);
        let ports: Vec<String> =
            ports.map(|port| format!("{} ({})", text(port.name), port.number)).collect();
        let service = self.snapshot.display(object);
        let message = format!(
            "`{}` is bound to {wanted} of `{service}`, which has no such port",
            self.snapshot.display(route.object),
        );
        let key = if parent.section.is_empty() { "port" } else { "sectionName" };
        let mut d = Diagnostic::new(&codes::NO_MATCHING_PORT, message)
            .at(parent.section_at)
            .field(format!("{field}.{key}"))
            .help(format!("its ports: {}", ports.join(", ")));
        if let Some(service) = self.snapshot.get(object) {
            d = d.see(service.at, "the Service");
        }
        self.diagnostics.push(d);
        ParentStatus::NoMatchingParent
    }
}

fn service_key(parent: &ParentSpec) -> ObjectKey {
    ObjectKey { kind: parent.kind, scope: Scope::Namespace(parent.namespace), name: parent.name }
}

/// Whether a parentRef means a port: by name and number, as far as it says them.
fn means(parent: &ParentSpec, port: &PortSpec) -> bool {
    (parent.section.is_empty() || parent.section == port.name)
        && (parent.port == 0 || parent.port == port.number)
}

/// Which kind counts where several are bound; UDP has ports of its own.
fn precedence(kind: RouteKind) -> Option<u8> {
    match kind {
        RouteKind::Grpc => Some(0),
        RouteKind::Http => Some(1),
        RouteKind::Tls => Some(2),
        RouteKind::Tcp => Some(3),
        RouteKind::Udp => None,
    }
}
