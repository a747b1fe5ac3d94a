// SPDX-License-Identifier: Apache-2.0
//! In: routes of any kind. Out: their parentRefs, hostnames and rules. Not here: what is inside a rule (`rule`).

use std::ops::Range;

use overrule_model::{At, GroupKind, Sym};
use overrule_source::{Diagnostic, Span, View};

use super::super::graph::RouteKind;
use super::super::resources::{ParentSpec, RouteSpec, count, part};
use super::members::{Member, is_unreadable};
use super::{Head, Reader, fields};
use crate::codes;

impl<'a> Reader<'a> {
    pub(super) fn route(&mut self, head: Head, kind: RouteKind) {
        let mut route = RouteSpec {
            object: head.id,
            kind,
            namespace: head.namespace,
            hostnames: count(&self.out.hostnames)..count(&self.out.hostnames),
            hostnames_at: None,
            broken: false,
            parents: count(&self.out.parents)..count(&self.out.parents),
            rules: count(&self.out.rules)..count(&self.out.rules),
        };
        self.route_spec(head, &mut route);
        self.out.routes.push(route);
    }

    fn route_spec(&mut self, head: Head, route: &mut RouteSpec) -> Option<()> {
        let spec = self.spec(head)?;
        let at = At::ROOT.key("spec");
        let known = fields::of_route(route.kind);
        let [parents, rules, _, hostnames] = self.members(spec, &at, known.spec)?;
        route.parents = self.parents(parents, &at, head);
        self.hostnames(hostnames, &at, route);
        route.rules = self.rules(rules, spec, &at, (head, route.kind), known);
        Some(())
    }

    fn parents(&mut self, member: Member<'a>, at: &At<'_>, head: Head) -> Range<u32> {
        let start = count(&self.out.parents);
        let list = self.list(member, at, "parentRefs");
        let at = at.key("parentRefs");
        for (index, item) in list.into_iter().flat_map(View::items).enumerate() {
            let at = at.index(index);
            if let Some(mut parent) = self.parent(item, &at, head) {
                parent.index = u16::try_from(index).unwrap_or(u16::MAX);
                self.check_parent(parent, start, &at);
                self.out.parents.push(parent);
            }
        }
        start..count(&self.out.parents)
    }

    fn parent(&mut self, of: View<'a>, at: &At<'_>, head: Head) -> Option<ParentSpec> {
        let [group, kind, namespace, name, section, port] = self.members(of, at, fields::PARENT)?;
        let words = self.out.words;
        let gateway = GroupKind { group: words.group, kind: words.gateway };
        let kind = self.group_kind((group, kind), at, gateway);
        let namespace = self.namespace_or(namespace, at, head.namespace);
        let (name, view) = self.needed(name, of, at, "name")?;
        let section_at = section.or(port).unwrap_or(view).span();
        // A section or port that cannot be read must not become "any listener".
        let unreadable = is_unreadable(section);
        let section = self.symbol(section, at, "sectionName");
        let number = self.port(port, of, at);
        if unreadable || (number == 0 && port.is_some()) {
            return None;
        }
        let name = self.intern(name);
        let at = view.span();
        Some(ParentSpec { index: 0, kind, namespace, name, section, port: number, at, section_at })
    }

    /// References to one object must all carry distinct sections, or distinct ports.
    fn check_parent(&mut self, parent: ParentSpec, start: u32, at: &At<'_>) {
        let end = count(&self.out.parents);
        let others = part(&self.out.parents, &(start..end));
        let object = |p: &ParentSpec| (p.kind, p.namespace, p.name);
        let shape = |p: &ParentSpec| (p.section.is_empty(), p.port == 0);
        // The API allows 32; whoever writes more gets the comparison with the first ones only.
        let mut others = others.iter().take(64).filter(|p| object(p) == object(&parent));
        let found = others.find(|p| {
            (p.section, p.port) == (parent.section, parent.port) || shape(p) != shape(&parent)
        });
        let Some(first) = found else { return };
        let same = (first.section, first.port) == (parent.section, parent.port);
        let name = self.snapshot.text(parent.name);
        let is_service = parent.kind == self.out.words.service_kind();
        let what = if is_service { "ports" } else { "listeners" };
        let message = match same {
            true => format!("two parentRefs name the same {what} of `{name}`"),
            false => format!(
                "of two parentRefs to `{name}` only one has a sectionName or port, so they overlap"
            ),
        };
        let d = Diagnostic::new(&codes::DUPLICATE_PARENT, message)
            .at(parent.at)
            .see(first.at, "the other one")
            .field(at.to_string())
            .help("remove one of the two, or give each its own `sectionName`");
        self.fields.diagnostics.push(d);
    }

    fn hostnames(&mut self, member: Member<'a>, at: &At<'_>, route: &mut RouteSpec) {
        let Some(list) = self.list(member, at, "hostnames") else {
            // Something that is not a list of hostnames must not become "any host".
            route.broken = member.is_some();
            return;
        };
        if list.is_empty() {
            return;
        }
        route.hostnames_at = list.items().next().map(View::span);
        let start = route.hostnames.start;
        let at = at.key("hostnames");
        for (index, item) in list.items().enumerate() {
            let at = at.index(index);
            let Some(text) = item.as_str() else {
                self.fields.wrong_type(&at, item, "a string");
                continue;
            };
            if let Some(host) = self.hostname(text, item, &at) {
                // The API allows 16; a repetition is harmless, so only the likely ones are looked for.
                let known = part(&self.out.hostnames, &(start..count(&self.out.hostnames)));
                if !known.iter().take(64).any(|h| *h == host) {
                    self.out.hostnames.push(host);
                }
            }
        }
        route.hostnames.end = count(&self.out.hostnames);
        route.broken = route.hostnames.is_empty();
    }

    /// The generated name of the rule at this position: `rule-1` is the first.
    pub(super) fn rule_name(&mut self, index: usize) -> Sym {
        while self.rule_names.len() <= index {
            let name = format!("rule-{}", self.rule_names.len() + 1);
            let name = self.intern(&name);
            self.rule_names.push(name);
        }
        self.rule_names.get(index).copied().unwrap_or_default()
    }

    pub(super) fn duplicate_rule(
        &mut self,
        name: Sym,
        here: Span,
        first: Span,
        at: &At<'_>,
        instead: Sym,
    ) {
        let (name, instead) = (self.snapshot.text(name), self.snapshot.text(instead));
        let d = Diagnostic::new(
            &codes::DUPLICATE_RULE,
            format!("two rules are called `{name}`; the second one is called `{instead}` here"),
        )
        .at(here)
        .see(first, "the first one keeps the name")
        .field(at.key("name").to_string())
        .help("give every rule of a route a name of its own");
        self.fields.diagnostics.push(d);
    }
}
