// SPDX-License-Identifier: Apache-2.0
//! In: links that did not come about. Out: their reason, and one finding that names both ends and the remedy.
//! Not here: deciding whether a link comes about (`attach`, `backends`).
//!
//! What was reported for another reason is not reported again: routes of a conflicting listener or of a ListenerSet
//! that is not accepted stay silent.

use overrule_model::{GroupKind, ObjectId, ObjectKey, Snapshot, Sym, nearest};
use overrule_source::{Diagnostic, Span};

use super::super::graph::ListenerIx;
use super::super::resources::{
    BackendSpec, GatewaySpec, ListenerSpec, NamespacesFrom, ParentSpec, Place, PortSpec, RouteSpec,
    SetSpec, part,
};
use super::super::status::{ParentStatus, ParentTarget};
use super::Connector;
use super::attach::names;
use super::backends::From;
use crate::codes;

/// Most items a message lists.
const MOST: usize = 4;

const FITTING_PROTOCOL: &str =
    "attach it to a listener of a fitting protocol, or extend `allowedRoutes.kinds`";

/// The kinds a listener takes, in words.
fn kinds_in_words(listener: &ListenerSpec, route: &RouteSpec) -> String {
    let kinds: Vec<&str> = listener.kinds.iter().map(|kind| kind.name()).collect();
    let kinds = if kinds.is_empty() { "no routes".to_owned() } else { kinds.join(" and ") };
    format!("{kinds}, not {}", route.kind.name())
}

/// Finds near names, as long as its budget of comparisons lasts: help must not make a broken fleet slow.
pub(super) struct Suggestions {
    budget: usize,
}

impl Default for Suggestions {
    fn default() -> Self {
        Self { budget: 50_000 }
    }
}

impl Suggestions {
    /// The nearest of some names.
    fn nearest<'n>(&mut self, word: &str, names: &[&'n str]) -> Option<&'n str> {
        self.budget = self.budget.checked_sub(names.len())?;
        nearest(word, names.iter().copied(), 1).first().copied()
    }

    /// The nearest existing objects of a kind: same namespace and similar name, or same name elsewhere.
    fn near(&mut self, snapshot: &Snapshot, key: ObjectKey) -> Vec<String> {
        let objects = snapshot.of_kind(snapshot.text(key.kind.group), snapshot.text(key.kind.kind));
        if objects.len() > self.budget {
            return Vec::new();
        }
        self.budget -= objects.len();
        let written = objects.iter().filter(|o| snapshot.assumed(o.id).is_none());
        let (near, far): (Vec<_>, Vec<_>) = written.partition(|o| o.scope == key.scope);
        let names = near.iter().map(|o| snapshot.text(o.name));
        let namespace = snapshot.text(key.scope.name());
        let mut found: Vec<String> = nearest(snapshot.text(key.name), names, MOST)
            .into_iter()
            .map(|name| format!("{namespace}/{name}"))
            .collect();
        let elsewhere = far.iter().filter(|o| o.name == key.name);
        found.extend(
            elsewhere
                .map(|o| format!("{}/{}", snapshot.text(o.scope.name()), snapshot.text(o.name))),
        );
        found.truncate(MOST);
        found
    }
}

impl Connector<'_> {
    fn text(&self, sym: Sym) -> &str {
        self.snapshot.text(sym)
    }

    /// `kind/namespace/name` of something that need not exist.
    pub(super) fn name_of(&self, kind: GroupKind, namespace: Sym, name: Sym) -> String {
        let kind = self.text(kind.kind).to_lowercase();
        format!("{kind}/{}/{}", self.text(namespace), self.text(name))
    }

    /// `gateway/namespace/name#listener`.
    pub(super) fn listener_name(&self, listener: ListenerIx) -> String {
        let node = self.out.listener(listener).and_then(|l| self.out.nodes.get(l.node));
        let owner = node.and_then(|n| n.object).map(|id| self.snapshot.display(id).to_string());
        let section = node.map_or("", |n| self.text(n.section));
        format!("{}#{section}", owner.unwrap_or_default())
    }

    /// A reference to a Gateway or ListenerSet that does not exist.
    pub(super) fn parent_not_found(
        &mut self,
        from: ObjectId,
        key: ObjectKey,
        at: Span,
    ) -> Diagnostic {
        let near = self.suggestions.near(self.snapshot, key);
        let wanted = self.name_of(key.kind, key.scope.name(), key.name);
        let kind = self.text(key.kind.kind);
        let help = match near.is_empty() {
            true => format!("add the {kind} to the input, or correct name and namespace"),
            false => format!("did you mean `{}`?", near.join("` or `")),
        };
        let from = self.snapshot.display(from);
        let d = Diagnostic::new(
            &codes::PARENT_NOT_FOUND,
            format!("`{from}`: parentRef `{wanted}` not found in the input"),
        );
        self.snapshot.with_deletion(d.at(at).help(help), key)
    }

    pub(super) fn set_not_allowed(&self, gateway: &GatewaySpec, set: &SetSpec) -> Diagnostic {
        let (parent, child) =
            (self.snapshot.display(gateway.object), self.snapshot.display(set.object));
        let namespace = self.text(self.namespace_of(set.object));
        let d = Diagnostic::new(
            &codes::LISTENER_SET_NOT_ALLOWED,
            format!(
                "`{parent}` does not accept `{child}`: it accepts {}",
                self.who(gateway.allowed_sets, gateway.object, "ListenerSets")
            ),
        )
        .at(set.parent_at)
        .field("spec.parentRef")
        .help(format!(
            "allow namespace `{namespace}` in `spec.allowedListeners.namespaces` of `{parent}`"
        ));
        match (gateway.allowed_at, self.snapshot.get(gateway.object)) {
            (Some(at), _) => d.see(at, "what it accepts"),
            (None, Some(object)) => d.see(object.at, "without `allowedListeners` it accepts none"),
            _ => d,
        }
    }

    /// Whom a `namespaces.from` lets in, in words.
    fn who(&self, from: NamespacesFrom, owner: ObjectId, what: &str) -> String {
        match from {
            NamespacesFrom::Same => {
                format!("only {what} of namespace `{}`", self.text(self.namespace_of(owner)))
            }
            NamespacesFrom::All => format!("{what} of all namespaces"),
            NamespacesFrom::None => format!("no {what}"),
            NamespacesFrom::Selector(_) => {
                format!("only {what} of namespaces that its selector matches")
            }
        }
    }

    /// Why a parentRef led nowhere, by the order of the Gateway API, and the finding about it.
    pub(super) fn refused(
        &mut self,
        route: &RouteSpec,
        parent: &ParentSpec,
        target: Option<ParentTarget>,
    ) -> ParentStatus {
        let target = match target {
            Some(ParentTarget::Service(_)) => return self.no_frontend(route, parent),
            Some(target) => target,
            None => return self.no_target(route, parent),
        };
        let all: Vec<ListenerIx> = self.listeners_of_target(target).map(ListenerIx).collect();
        let specs = self.specs;
        let named = |l: &ListenerIx| specs.listeners.get(l.at()).is_some_and(|s| names(parent, s));
        let in_force: Vec<ListenerIx> = all
            .iter()
            .copied()
            .filter(|l| self.out.listener(*l).is_some_and(|l| !l.conflicted && !l.broken))
            .collect();
        let allowed: Vec<ListenerIx> =
            in_force.iter().copied().filter(|l| self.allows(*l, route)).collect();
        let meant: Vec<ListenerIx> = in_force.iter().copied().filter(named).collect();
        let both: Vec<ListenerIx> = allowed.iter().copied().filter(named).collect();
        if !all.is_empty() && !all.iter().any(named) {
            self.no_matching_listener(route, parent, &all);
        } else if !meant.is_empty() && both.is_empty() {
            self.not_allowed(route, parent, &meant);
        } else if !both.is_empty() && !route.broken {
            self.no_matching_hostname(route, parent, &both);
        }
        match (in_force.is_empty(), allowed.is_empty(), both.is_empty()) {
            (true, _, _) => ParentStatus::NoMatchingParent,
            (_, true, _) => ParentStatus::NotAllowedByListeners,
            (_, _, true) => ParentStatus::NoMatchingParent,
            _ => ParentStatus::NoMatchingListenerHostname,
        }
    }

    /// A parent that nobody wrote, although others of its kind are there: the name is wrong, more likely than not.
    pub(super) fn mention_assumed(&mut self, from: ObjectId, parent: &ParentSpec) {
        if !self.snapshot.was_read(parent.kind) {
            return;
        }
        let scope = overrule_model::Scope::Namespace(parent.namespace);
        let key = ObjectKey { kind: parent.kind, scope, name: parent.name };
        let d = self.parent_not_found(from, key, parent.at);
        self.diagnostics.push(d.field(format!("spec.parentRefs[{}].name", parent.index)));
    }

    fn no_target(&mut self, route: &RouteSpec, parent: &ParentSpec) -> ParentStatus {
        let words = self.specs.words;
        let GroupKind { group, kind } = parent.kind;
        let known = (group == words.group && (kind == words.gateway || kind == words.listener_set))
            || (group == words.x_group && kind == words.x_listener_set);
        let field = format!("spec.parentRefs[{}]", parent.index);
        if known {
            let scope = overrule_model::Scope::Namespace(parent.namespace);
            let key = ObjectKey { kind: parent.kind, scope, name: parent.name };
            let d = self.parent_not_found(route.object, key, parent.at);
            self.diagnostics.push(d.field(field + ".name"));
            return ParentStatus::ParentNotFound;
        }
        if parent.kind == words.service_kind() {
            return self.no_frontend(route, parent);
        }
        let delegation = group == words.group && kind == words.http_route;
        let ours = group.is_empty() || group == words.group || group == words.x_group;
        if ours && !delegation {
            let (group, name) = (self.text(group), self.text(kind));
            let help = match kind == words.service {
                true => "a Service is in the core group: write `group: \"\"`".to_owned(),
                false => {
                    let kinds = ["Gateway", "ListenerSet", "Service"];
                    match nearest(name, kinds, 1).first() {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("use one of {}", kinds.join(", ")),
                    }
                }
            };
            let message = format!(
                "`{}`: parentRef is a `{name}` of group `{group}`, and routes cannot attach to that kind",
                self.snapshot.display(route.object)
            );
            let d = Diagnostic::new(&codes::PARENT_NOT_FOUND, message).at(parent.at);
            self.diagnostics.push(d.field(field + ".kind").help(help));
        }
        ParentStatus::Foreign
    }

    fn parent_name(&self, parent: &ParentSpec) -> String {
        self.name_of(parent.kind, parent.namespace, parent.name)
    }

    fn no_matching_listener(&mut self, route: &RouteSpec, parent: &ParentSpec, all: &[ListenerIx]) {
        let wanted = match (parent.section.is_empty(), parent.port) {
            (false, 0) => format!("listener `{}`", self.text(parent.section)),
            (true, port) => format!("listener on port {port}"),
            (false, port) => format!("listener `{}` on port {port}", self.text(parent.section)),
        };
        let (specs, snapshot) = (self.specs, self.snapshot);
        let listeners = all.iter().filter_map(|l| specs.listeners.get(l.at()));
        let names: Vec<&str> = listeners.clone().map(|l| snapshot.text(l.name)).collect();
        let near = self.suggestions.nearest(snapshot.text(parent.section), &names);
        let mut listed: Vec<String> = listeners
            .take(MOST * 4)
            .map(|l| format!("{} ({})", self.text(l.name), l.port))
            .collect();
        if all.len() > listed.len() {
            listed.push("...".to_owned());
        }
        let help = match near {
            Some(near) => format!("did you mean `{near}`? listeners: {}", listed.join(", ")),
            None => format!("its listeners: {}", listed.join(", ")),
        };
        let message = format!(
            "`{}`: {wanted} not found in `{}`",
            self.snapshot.display(route.object),
            self.parent_name(parent),
        );
        let key = if parent.section.is_empty() { "port" } else { "sectionName" };
        let field = format!("spec.parentRefs[{}].{key}", parent.index);
        let mut d = Diagnostic::new(&codes::NO_MATCHING_LISTENER, message)
            .at(parent.section_at)
            .field(field)
            .help(help);
        for listener in all.iter().take(MOST).filter_map(|l| self.specs.listeners.get(l.at())) {
            d = d.see(listener.at, "a listener it has");
        }
        self.diagnostics.push(d);
    }

    fn not_allowed(&mut self, route: &RouteSpec, parent: &ParentSpec, meant: &[ListenerIx]) {
        let specs = self.specs;
        let takes_kind = |l: &ListenerIx| {
            specs.listeners.get(l.at()).is_some_and(|s| s.kinds.contains(route.kind))
        };
        // A listener of the right kind is more likely meant than any other.
        let by_kind = meant.iter().copied().find(takes_kind);
        let Some(shown) = by_kind.or(meant.first().copied()) else { return };
        let Some(spec) = specs.listeners.get(shown.at()) else { return };
        let (reason, help) = match (by_kind, self.owner_of(shown)) {
            (Some(_), Some(owner)) => (
                self.who(spec.namespaces, owner, "routes"),
                format!(
                    "allow namespace `{}` in `allowedRoutes.namespaces` of the listener",
                    self.text(route.namespace)
                ),
            ),
            _ => (kinds_in_words(spec, route), FITTING_PROTOCOL.to_owned()),
        };
        let others = match meant.len() {
            1 => String::new(),
            n => format!(", and its {} other listeners do not either", n - 1),
        };
        let message = format!(
            "`{}` may not attach to `{}`: it accepts {reason}{others}",
            self.snapshot.display(route.object),
            self.listener_name(shown),
        );
        let mut d = Diagnostic::new(&codes::ROUTE_NOT_ALLOWED, message)
            .at(parent.at)
            .field(format!("spec.parentRefs[{}]", parent.index))
            .help(help);
        for listener in meant.iter().take(MOST).filter_map(|l| specs.listeners.get(l.at())) {
            d = match listener.allowed_at {
                Some(at) => d.see(at, "what the listener allows"),
                None if by_kind.is_none() => d.see(listener.at, "the listener"),
                None => d.see(listener.at, "without `allowedRoutes`, its own namespace only"),
            };
        }
        self.diagnostics.push(d);
    }

    fn owner_of(&self, listener: ListenerIx) -> Option<ObjectId> {
        let node = self.out.listener(listener).and_then(|l| self.out.nodes.get(l.node))?;
        node.object
    }

    fn no_matching_hostname(
        &mut self,
        route: &RouteSpec,
        parent: &ParentSpec,
        both: &[ListenerIx],
    ) {
        let host = |host| self.text(self.specs.hosts.name(host));
        let shown = |hosts: Vec<&str>| {
            let more = if hosts.len() > MOST { ", ..." } else { "" };
            let list: Vec<String> = hosts.iter().take(MOST).map(|h| format!("`{h}`")).collect();
            list.join(", ") + more
        };
        let ours = part(&self.specs.hostnames, &route.hostnames).iter().map(|h| host(*h)).collect();
        let listeners: Vec<&ListenerSpec> =
            both.iter().filter_map(|l| self.specs.listeners.get(l.at())).collect();
        let theirs = listeners.iter().map(|l| host(l.hostname)).collect();
        let at = match both {
            [one] => self.listener_name(*one),
            _ => self.parent_name(parent),
        };
        let message = format!(
            "no hostname of `{}` matches `{at}`: the route has {}, the listener{} {}",
            self.snapshot.display(route.object),
            shown(ours),
            if both.len() == 1 { " has" } else { "s have" },
            shown(theirs),
        );
        let mut d = Diagnostic::new(&codes::NO_MATCHING_HOSTNAME, message)
            .at(route.hostnames_at.unwrap_or(parent.at))
            .field("spec.hostnames")
            .help("use a hostname that the listener covers, or attach to another listener");
        for listener in listeners.iter().take(MOST) {
            d = d.see(listener.hostname_at.unwrap_or(listener.at), "the listener's hostname");
        }
        self.diagnostics.push(d);
    }

    /// The field a reference to a backend stands in.
    fn backend_field(from: From<'_>, place: Place) -> String {
        let rule = format!("spec.rules[{}]", from.position);
        match place {
            Place::Backend(i) => format!("{rule}.backendRefs[{i}]"),
            Place::Delegation => rule,
            Place::Filter(i, key) => format!("{rule}.filters[{i}].{key}.backendRef"),
            Place::BackendFilter(b, i, key) => {
                format!("{rule}.backendRefs[{b}].filters[{i}].{key}.backendRef")
            }
        }
    }

    fn rule_name(&self, from: From<'_>) -> String {
        format!("{}#{}", self.snapshot.display(from.route.object), self.text(from.rule.section))
    }

    pub(super) fn backend_not_found(&mut self, spec: &BackendSpec, from: From<'_>) {
        let scope = overrule_model::Scope::Namespace(spec.namespace);
        let key = ObjectKey { kind: spec.kind, scope, name: spec.name };
        let near = self.suggestions.near(self.snapshot, key);
        let help = match near.is_empty() {
            true => "correct name and namespace, or add it to the input".to_owned(),
            false => format!("did you mean `{}`?", near.join("` or `")),
        };
        let wanted = self.name_of(spec.kind, spec.namespace, spec.name);
        let message =
            format!("`{}` sends to `{wanted}`, which is not in the input", self.rule_name(from));
        let field = Self::backend_field(from, spec.place) + ".name";
        let d = Diagnostic::new(&codes::BACKEND_NOT_FOUND, message);
        let d = d.at(spec.at).field(field).help(help);
        self.diagnostics.push(self.snapshot.with_deletion(d, key));
    }

    pub(super) fn no_such_port(
        &mut self,
        spec: &BackendSpec,
        from: From<'_>,
        id: ObjectId,
        ports: &[PortSpec],
    ) {
        // The schema demands a port.
        if spec.port == 0 {
            return;
        }
        let listed: Vec<String> =
            ports.iter().take(MOST * 4).map(|p| p.number.to_string()).collect();
        let service = self.snapshot.display(id);
        let message = format!(
            "`{}` sends to port {} of `{service}`, which has no such port",
            self.rule_name(from),
            spec.port
        );
        let mut d = Diagnostic::new(&codes::BACKEND_PORT, message)
            .at(spec.at)
            .field(Self::backend_field(from, spec.place) + ".port")
            .help(format!("its ports: {}", listed.join(", ")));
        if let Some(object) = self.snapshot.get(id) {
            d = d.see(object.at, "the Service");
        }
        self.diagnostics.push(d);
    }

    pub(super) fn backend_not_permitted(&mut self, spec: &BackendSpec, from: From<'_>) {
        let wanted = self.name_of(spec.kind, spec.namespace, spec.name);
        let message = format!(
            "`{}` sends to `{wanted}`, which is in another namespace without a ReferenceGrant",
            self.rule_name(from)
        );
        let help = self.grant_help(from.route.object, spec.kind, spec.namespace);
        let field = Self::backend_field(from, spec.place);
        let d = Diagnostic::new(&codes::BACKEND_NOT_PERMITTED, message);
        self.diagnostics.push(d.at(spec.at).field(field).help(help));
    }

    /// The ReferenceGrant that would help.
    pub(super) fn grant_help(&self, from: ObjectId, to: GroupKind, namespace: Sym) -> String {
        let Some(object) = self.snapshot.get(from) else { return String::new() };
        format!(
            "add a ReferenceGrant to namespace `{}` from `{}` of namespace `{}` to `{}`",
            self.text(namespace),
            self.text(object.kind.kind),
            self.text(object.scope.name()),
            self.text(to.kind),
        )
    }
}
