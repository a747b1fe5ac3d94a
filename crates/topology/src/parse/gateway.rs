// SPDX-License-Identifier: Apache-2.0
//! In: GatewayClass, Gateway and ListenerSet objects. Out: their specs and listeners.
//! Not here: conflicts between listeners (`connect`), `allowedRoutes` (`allowed`).

use std::ops::Range;

use overrule_model::{At, GroupKind, Sym};
use overrule_source::{Diagnostic, Span, View};

use super::super::resources::{
    CertificateSpec, ClassSpec, GatewaySpec, ListenerSpec, NamespacesFrom, Protocol, SetSpec, count,
};
use super::members::{Member, is_unreadable};
use super::{Head, Reader, fields};
use crate::codes;
use crate::graph::RouteKinds;
use crate::hostname::HostIx;

/// Most listeners of one object, as the API server has it. It also bounds how many links a parentRef can make.
const MOST_LISTENERS: usize = 64;

/// Protocols without a domain prefix that some controllers have: tunnels between the proxies of a mesh.
const VENDOR_PROTOCOLS: &[&str] = &["HBONE"];

impl<'a> Reader<'a> {
    pub(super) fn class(&mut self, head: Head) {
        let known = !self.is_assumed(head);
        let controller = known.then(|| self.controller(head)).flatten().unwrap_or_default();
        self.out.classes.push(ClassSpec { object: head.id, controller });
    }

    fn controller(&mut self, head: Head) -> Option<Sym> {
        let spec = self.spec(head)?;
        let at = At::ROOT.key("spec");
        let [controller] = self.members(spec, &at, fields::CLASS)?;
        let (name, _) = self.needed(controller, spec, &at, "controllerName")?;
        Some(self.intern(name))
    }

    pub(super) fn gateway(&mut self, head: Head) {
        let start = count(&self.out.listeners);
        let mut gateway = GatewaySpec {
            object: head.id,
            class: Sym::EMPTY,
            class_at: head.at,
            listeners: start..start,
            allowed_sets: NamespacesFrom::None,
            allowed_at: None,
            assumed: self.is_assumed(head),
        };
        match gateway.assumed {
            true => self.assumed_gateway(head, &mut gateway),
            false => self.gateway_spec(head, &mut gateway).unwrap_or_default(),
        }
        self.out.gateways.push(gateway);
    }

    fn gateway_spec(&mut self, head: Head, gateway: &mut GatewaySpec) -> Option<()> {
        let spec = self.spec(head)?;
        let at = At::ROOT.key("spec");
        let [class, listeners, allowed] = self.members(spec, &at, fields::GATEWAY)?;
        if let Some((name, view)) = self.needed(class, spec, &at, "gatewayClassName") {
            gateway.class = self.intern(name);
            gateway.class_at = view.span();
        }
        if let Some(allowed) = allowed {
            let at = at.key("allowedListeners");
            gateway.allowed_at = Some(allowed.span());
            if let Some([namespaces]) = self.members(allowed, &at, fields::ALLOWED_LISTENERS) {
                gateway.allowed_sets = self.namespaces(namespaces, &at, NamespacesFrom::None);
            }
        }
        gateway.listeners = self.listeners(listeners, spec, head);
        Some(())
    }

    pub(super) fn listener_set(&mut self, head: Head) {
        let start = count(&self.out.listeners);
        let mut set =
            SetSpec { object: head.id, listeners: start..start, parent: None, parent_at: head.at };
        self.set_spec(head, &mut set);
        self.out.sets.push(set);
    }

    fn set_spec(&mut self, head: Head, set: &mut SetSpec) -> Option<()> {
        let spec = self.spec(head)?;
        let at = At::ROOT.key("spec");
        let [parent, listeners] = self.members(spec, &at, fields::SET)?;
        match parent {
            Some(parent) => {
                set.parent_at = parent.span();
                self.set_parent(parent, &at.key("parentRef"), head, set);
            }
            None => self.fields.missing(&at.key("parentRef"), spec),
        }
        set.listeners = self.listeners(listeners, spec, head);
        Some(())
    }

    /// The Gateway a ListenerSet belongs to.
    fn set_parent(
        &mut self,
        of: View<'a>,
        at: &At<'_>,
        head: Head,
        set: &mut SetSpec,
    ) -> Option<()> {
        let [group, kind, namespace, name] = self.members(of, at, fields::REFERENCE)?;
        let words = self.out.words;
        let gateway = GroupKind { group: words.group, kind: words.gateway };
        let found = self.group_kind((group, kind), at, gateway);
        let namespace = self.namespace_or(namespace, at, head.namespace);
        let (name, view) = self.needed(name, of, at, "name")?;
        set.parent_at = view.span();
        if found == gateway {
            set.parent = Some((namespace, self.intern(name)));
        } else {
            let got = self.snapshot.text(found.kind).to_owned();
            let (at, view) = (at.key("kind"), kind.or(group).unwrap_or(of));
            self.fields.beyond_schema(|f| f.bad_value(&at, view, &got, &["Gateway"]));
        }
        Some(())
    }

    fn listeners(&mut self, member: Member<'a>, spec: View<'a>, head: Head) -> Range<u32> {
        let start = count(&self.out.listeners);
        let above = At::ROOT.key("spec");
        let at = above.key("listeners");
        if member.is_none() {
            self.fields.missing(&at, spec);
        }
        self.seen.clear();
        let list = self.list(member, &above, "listeners");
        if let Some(list) = list.filter(|list| list.len() > MOST_LISTENERS) {
            let message = format!(
                "`{at}` has {} elements, at most {MOST_LISTENERS} are allowed; the rest is ignored",
                list.len()
            );
            let code = &overrule_model::codes::BAD_VALUE;
            self.fields.flaw(code, &at, list, message, "move some of them to ListenerSets");
        }
        let items = list.into_iter().flat_map(View::items).take(MOST_LISTENERS);
        for (index, item) in items.enumerate() {
            self.listener(item, &at.index(index), index, head);
        }
        start..count(&self.out.listeners)
    }

    fn listener(&mut self, of: View<'a>, at: &At<'_>, index: usize, head: Head) -> Option<()> {
        let [name, protocol, port, hostname, tls, allowed] =
            self.members(of, at, fields::LISTENER)?;
        let (name, view) = self.needed(name, of, at, "name")?;
        let name = self.intern(name);
        if self.is_duplicate(name, view.span(), at) {
            return None;
        }
        let (protocol, family) = self.protocol(protocol, of, at);
        // An XListenerSet may leave its ports to the implementation.
        if port.is_none() && head.kind.group != self.out.words.x_group {
            self.fields.missing(&at.key("port"), of);
        }
        let certificates = count(&self.out.certificates);
        let mut listener = ListenerSpec {
            name,
            index: u32::try_from(index).unwrap_or(u32::MAX),
            at: view.span(),
            port: self.port(port, of, at),
            protocol,
            family,
            terminates: protocol == self.out.words.https,
            hostname: HostIx::ALL,
            hostname_at: None,
            broken: false,
            namespaces: NamespacesFrom::Same,
            kinds: RouteKinds::default(),
            allowed_at: None,
            assumed: false,
            certificates: certificates..certificates,
        };
        self.listener_hostname(hostname, at, &mut listener);
        if let Some(tls) = tls {
            self.listener_tls(tls, &at.key("tls"), &mut listener, head);
        }
        self.allowed_routes(allowed, at, &mut listener);
        self.out.listeners.push(listener);
        Some(())
    }

    /// Listener names are unique in their object; the first one stays.
    fn is_duplicate(&mut self, name: Sym, here: Span, at: &At<'_>) -> bool {
        let Some(&(first, _)) = self.seen.get(&name) else {
            self.seen.insert(name, (here, 0));
            return false;
        };
        let text = self.snapshot.text(name);
        let d = Diagnostic::new(
            &codes::DUPLICATE_LISTENER,
            format!("two listeners are called `{text}`; the first one is used"),
        )
        .at_with(here, "this one is ignored")
        .see(first, "this one is used")
        .field(at.key("name").to_string())
        .help("give every listener of an object a name of its own");
        self.fields.diagnostics.push(d);
        true
    }

    fn protocol(&mut self, member: Member<'a>, of: View<'a>, at: &At<'_>) -> (Sym, Protocol) {
        let Some((text, view)) = self.needed(member, of, at, "protocol") else {
            return (Sym::EMPTY, Protocol::Other);
        };
        let family = match text {
            "HTTP" | "HTTPS" | "TLS" => Protocol::Hosted,
            "TCP" => Protocol::Tcp,
            "UDP" => Protocol::Udp,
            _ => Protocol::Other,
        };
        // Vendors name their own protocols with a domain prefix, or else are known; those are not our business.
        if family == Protocol::Other && !text.contains('/') && !VENDOR_PROTOCOLS.contains(&text) {
            let at = at.key("protocol");
            let message = format!("`{at}` is `{text}`, which is not a protocol of the Gateway API");
            let known = ["HTTP", "HTTPS", "TLS", "TCP", "UDP"];
            let help = match overrule_model::nearest(text, known, 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known protocols: {}", known.join(", ")),
            };
            self.fields.report(&codes::UNKNOWN_PROTOCOL, &at, view, message, &help);
        }
        (self.intern(text), family)
    }

    fn listener_hostname(&mut self, member: Member<'a>, at: &At<'_>, listener: &mut ListenerSpec) {
        listener.broken = is_unreadable(member);
        let Some(text) = self.text(member, at, "hostname") else { return };
        // An empty hostname means all hosts; protocols without hostnames ignore theirs.
        let ignored = matches!(listener.family, Protocol::Tcp | Protocol::Udp);
        let Some(view) = member.filter(|_| !text.is_empty() && !ignored) else { return };
        listener.hostname_at = Some(view.span());
        match self.hostname(text, view, &at.key("hostname")) {
            Some(host) => listener.hostname = host,
            None => listener.broken = true,
        }
    }

    fn listener_tls(
        &mut self,
        of: View<'a>,
        at: &At<'_>,
        listener: &mut ListenerSpec,
        head: Head,
    ) -> Option<()> {
        let [mode, certificates] = self.members(of, at, fields::LISTENER_TLS)?;
        let text = self.text(mode, at, "mode");
        if let (Some(text), Some(view)) = (text, mode)
            && !matches!(text, "" | "Terminate" | "Passthrough")
        {
            self.fields.bad_value(&at.key("mode"), view, text, &["Terminate", "Passthrough"]);
        }
        if listener.protocol == self.out.words.tls {
            listener.terminates = text != Some("Passthrough");
        }
        let list = self.list(certificates, at, "certificateRefs")?;
        let at = at.key("certificateRefs");
        for (index, item) in list.items().enumerate() {
            let certificate = self.certificate(item, &at.index(index), head);
            self.out.certificates.extend(certificate);
        }
        listener.certificates.end = count(&self.out.certificates);
        Some(())
    }

    fn certificate(&mut self, of: View<'a>, at: &At<'_>, head: Head) -> Option<CertificateSpec> {
        let [group, kind, namespace, name] = self.members(of, at, fields::REFERENCE)?;
        let secret = GroupKind { group: Sym::EMPTY, kind: self.out.words.secret };
        let kind = self.group_kind((group, kind), at, secret);
        let namespace = self.namespace_or(namespace, at, head.namespace);
        let (name, view) = self.needed(name, of, at, "name")?;
        Some(CertificateSpec { kind, namespace, name: self.intern(name), at: view.span() })
    }
}
