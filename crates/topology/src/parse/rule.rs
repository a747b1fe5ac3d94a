// SPDX-License-Identifier: Apache-2.0
//! In: the rules of a route. Out: their names and what they send to. Not here: what a match means (`matching`), what a
//! filter does; both are only checked for misspelt fields, and filters for whether they answer by themselves.

use std::ops::Range;

use overrule_model::{At, Sym};
use overrule_source::{Diagnostic, View};

use super::super::graph::RouteKind;
use super::super::resources::{BackendSpec, Place, RuleSpec, count};
use super::fields::{self, RouteFields};
use super::members::Member;
use super::{Head, Reader};
use crate::codes;

impl<'a> Reader<'a> {
    pub(super) fn rules(
        &mut self,
        member: Member<'a>,
        spec: View<'a>,
        at: &At<'_>,
        (head, kind): (Head, RouteKind),
        known: RouteFields,
    ) -> Range<u32> {
        let start = count(&self.out.rules);
        let list = self.list(member, at, "rules");
        let at = at.key("rules");
        match list.filter(|list| !list.is_empty()) {
            Some(list) => {
                self.seen.clear();
                for (index, item) in list.items().enumerate() {
                    self.rule(item, &at.index(index), index, head, known);
                }
                self.collisions(start, &at);
            }
            None if kind == RouteKind::Http && (member.is_none() || list.is_some()) => {
                self.default_rule(spec, &at);
            }
            None if member.is_none() => self.fields.missing(&at, spec),
            None => {}
        }
        start..count(&self.out.rules)
    }

    fn new_rule(&mut self, of: View<'a>, index: usize) -> RuleSpec {
        let backends = count(&self.out.backends);
        RuleSpec {
            section: self.rule_name(index),
            named: false,
            hidden: false,
            repeats: Sym::EMPTY,
            at: of.span(),
            tree: of.id(),
            backends: backends..backends,
        }
    }

    /// The API server fills in one rule that takes every request. It is read from the spec, which has no `matches`.
    fn default_rule(&mut self, spec: View<'a>, at: &At<'_>) {
        let rule = self.new_rule(spec, 0);
        self.without_backend(&rule, at, false);
        self.out.rules.push(rule);
    }

    fn rule(&mut self, of: View<'a>, at: &At<'_>, index: usize, head: Head, known: RouteFields) {
        let mut rule = self.new_rule(of, index);
        if let Some([name, backends, matches, filters]) = self.members(of, at, known.rule) {
            self.name_rule(name, at, index, &mut rule);
            self.matches(matches, at, known);
            let forwards = self.backends(backends, at, head, known);
            let answers = self.filters(filters, at, head, known);
            if !forwards && !answers {
                self.without_backend(&rule, at, known.matches.is_empty());
            }
        }
        rule.backends.end = count(&self.out.backends);
        self.out.rules.push(rule);
    }

    fn name_rule(&mut self, member: Member<'a>, at: &At<'_>, index: usize, rule: &mut RuleSpec) {
        let text = self.text(member, at, "name").filter(|text| !text.is_empty());
        let (Some(text), Some(view)) = (text, member) else { return };
        let name = self.intern(text);
        let here = view.span();
        match self.seen.get(&name) {
            Some(&(first, _)) => {
                rule.repeats = name;
                self.duplicate_rule(name, here, first, at, rule.section);
            }
            None => {
                self.seen.insert(name, (here, index));
                (rule.section, rule.named, rule.at) = (name, true, here);
            }
        }
    }

    /// An explicit name that an unnamed rule has by its position: the explicit one keeps it.
    fn collisions(&mut self, start: u32, at: &At<'_>) {
        let Some(rules) = self.out.rules.get_mut(start as usize..) else { return };
        for (index, rule) in rules.iter_mut().enumerate().filter(|(_, rule)| !rule.named) {
            let Some(&(explicit, position)) = self.seen.get(&rule.section) else { continue };
            rule.hidden = true;
            let name = self.snapshot.text(rule.section);
            let message = format!(
                "`{name}` is also the generated name of rule {}, which has no name; it refers to the named rule",
                index + 1
            );
            let d = Diagnostic::new(&codes::RULE_NAME_COLLIDES, message)
                .at(explicit)
                .see(rule.at, "policies cannot name this rule")
                .field(at.index(position).key("name").to_string())
                .help("choose another name, or name the other rule too");
            self.fields.diagnostics.push(d);
        }
    }

    fn without_backend(&mut self, rule: &RuleSpec, at: &At<'_>, streams: bool) {
        let effect =
            if streams { "its connections are refused" } else { "its requests fail with 500" };
        let section = self.snapshot.text(rule.section);
        let d = Diagnostic::new(
            &codes::RULE_WITHOUT_BACKEND,
            format!("rule `{section}` has no backend and no filter that answers: {effect}"),
        )
        .at(rule.at)
        .field(at.key("backendRefs").to_string())
        .help(match streams {
            true => "add `backendRefs`",
            false => "add `backendRefs`, or a filter that answers by itself, such as a redirect",
        });
        self.fields.diagnostics.push(d);
    }

    /// Checks matches for misspelt fields only; a request reads them when one is asked about.
    fn matches(&mut self, member: Member<'a>, at: &At<'_>, known: RouteFields) {
        let list = self.list(member, at, "matches");
        let at = at.key("matches");
        for (index, item) in list.into_iter().flat_map(View::items).enumerate() {
            let at = at.index(index);
            let Some([method, headers, path, query]) = self.members(item, &at, known.matches)
            else {
                continue;
            };
            if let Some(path) = path {
                self.members::<0>(path, &at.key("path"), fields::PATH_MATCH);
            }
            // The method of an HTTPRoute is a string, that of a GRPCRoute a mapping.
            if let Some(method) = method.filter(|m| m.as_str().is_none()) {
                self.members::<0>(method, &at.key("method"), fields::METHOD_MATCH);
            }
            for (key, list) in [("headers", headers), ("queryParams", query)] {
                let Some(list) = self.list(list, &at, key) else { continue };
                let at = at.key(key);
                for (index, item) in list.items().enumerate() {
                    self.members::<0>(item, &at.index(index), fields::NAMED_MATCH);
                }
            }
        }
    }

    /// The backendRefs; whether there is any.
    fn backends(
        &mut self,
        member: Member<'a>,
        at: &At<'_>,
        head: Head,
        known: RouteFields,
    ) -> bool {
        let list = self.list(member, at, "backendRefs");
        let at = at.key("backendRefs");
        let mut index = 0;
        for item in list.into_iter().flat_map(View::items) {
            let at = at.index(index as usize);
            if let Some(members) = self.members::<7>(item, &at, known.backend) {
                let [.., filters] = members;
                self.backend(item, members, &at, head, Place::Backend(index));
                self.each_filter(filters, &at, head, known, |i, key| {
                    Place::BackendFilter(index, i, key)
                });
            }
            index += 1;
        }
        index > 0
    }

    fn backend(
        &mut self,
        of: View<'a>,
        members: [Member<'a>; 7],
        at: &At<'_>,
        head: Head,
        place: Place,
    ) {
        let [group, kind, namespace, name, port, weight, _] = members;
        let words = self.out.words;
        let kind = self.group_kind((group, kind), at, words.service_kind());
        let delegates = kind.group == words.delegation_group
            || (kind.group == words.group && kind.kind == words.http_route);
        let namespace = self.namespace_or(namespace, at, head.namespace);
        let number = self.port(port, of, at);
        let weight = self.number(weight, of, at, "weight", (0, 1_000_000));
        let (name, view) = match name {
            // Only delegation may leave the name out: all routes of the namespace.
            None if delegates => (Sym::EMPTY, of),
            _ => match self.needed(name, of, at, "name") {
                Some((text, view)) => (self.intern(text), view),
                None => return,
            },
        };
        self.out.backends.push(BackendSpec {
            kind,
            namespace,
            name,
            port: number,
            port_unreadable: number == 0 && port.is_some(),
            weight: weight.and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
            place: if delegates { Place::Delegation } else { place },
            at: view.span(),
        });
    }

    /// The filters of a rule; whether one of them answers requests by itself, or might.
    fn filters(&mut self, member: Member<'a>, at: &At<'_>, head: Head, known: RouteFields) -> bool {
        let answers = member.into_iter().flat_map(View::items).any(|filter| {
            let kind = filter.get("type").and_then(View::as_str);
            kind.is_none_or(|k| matches!(k, "RequestRedirect" | "DirectResponse" | "ExtensionRef"))
        });
        self.each_filter(member, at, head, known, Place::Filter);
        answers
    }

    /// Checks filters. Mirrors and external authorization refer to backends too.
    fn each_filter(
        &mut self,
        member: Member<'a>,
        at: &At<'_>,
        head: Head,
        known: RouteFields,
        place: impl Fn(u32, &'static str) -> Place,
    ) {
        let list = self.list(member, at, "filters");
        let at = at.key("filters");
        for (index, item) in (0..).zip(list.into_iter().flat_map(View::items)) {
            let at = at.index(index as usize);
            let Some(members) = self.members::<6>(item, &at, known.filter) else { continue };
            let [kind, mirror, _, _, _, auth] = members;
            self.needed(kind, item, &at, "type");
            for (key, filter) in [("requestMirror", mirror), ("externalAuth", auth)] {
                let at = at.key(key);
                let backend = filter.and_then(|f| f.get("backendRef"));
                let Some(backend) = backend.filter(|b| !b.is_null()) else { continue };
                let at = at.key("backendRef");
                if let Some(members) = self.members(backend, &at, known.backend) {
                    self.backend(backend, members, &at, head, place(index, key));
                }
            }
        }
    }
}
