// SPDX-License-Identifier: Apache-2.0
//! In: `allowedRoutes` and `allowedListeners`. Out: namespaces and kinds that may attach. Not here: whether one does.

use overrule_model::{At, Selector, SelectorClause, Sym};
use overrule_source::{NodeKind, View};
use smallvec::SmallVec;

use super::super::graph::{RouteKind, RouteKinds};
use super::super::resources::{ListenerSpec, NamespacesFrom, count};
use super::members::Member;
use super::{Reader, fields};
use crate::GROUP;
use crate::codes;

impl<'a> Reader<'a> {
    pub(super) fn allowed_routes(
        &mut self,
        member: Member<'a>,
        at: &At<'_>,
        listener: &mut ListenerSpec,
    ) -> Option<()> {
        listener.kinds = self.kinds_of_protocol(listener);
        let allowed = member?;
        let at = at.key("allowedRoutes");
        listener.allowed_at = Some(allowed.span());
        let [namespaces, kinds] = self.members(allowed, &at, fields::ALLOWED_ROUTES)?;
        listener.namespaces = self.namespaces(namespaces, &at, NamespacesFrom::Same);
        let list = self.list(kinds, &at, "kinds").filter(|list| !list.is_empty())?;
        listener.kinds = self.kinds(list, &at.key("kinds"), listener);
        Some(())
    }

    /// What a protocol can carry. A protocol nobody here knows may carry anything.
    fn kinds_of_protocol(&self, listener: &ListenerSpec) -> RouteKinds {
        let words = &self.out.words;
        let kinds: &[RouteKind] = match listener.protocol {
            p if p == words.http || p == words.https => &[RouteKind::Http, RouteKind::Grpc],
            p if p == words.tls && listener.terminates => &[RouteKind::Tls, RouteKind::Tcp],
            p if p == words.tls => &[RouteKind::Tls],
            p if p == words.tcp => &[RouteKind::Tcp],
            p if p == words.udp => &[RouteKind::Udp],
            _ => &RouteKind::ALL,
        };
        RouteKinds::of(kinds)
    }

    /// The kinds of `allowedRoutes.kinds` that the protocol can carry; the others are findings.
    fn kinds(&mut self, list: View<'a>, at: &At<'_>, listener: &ListenerSpec) -> RouteKinds {
        let possible = listener.kinds;
        let mut kinds = RouteKinds::default();
        for (index, item) in list.items().enumerate() {
            let at = at.index(index);
            let Some([group, kind]) = self.members(item, &at, fields::ROUTE_KIND) else { continue };
            let Some((text, view)) = self.needed(kind, item, &at, "kind") else { continue };
            let group = self.text(group, &at, "group").unwrap_or(GROUP);
            match RouteKind::from_name(text).filter(|_| group == GROUP) {
                Some(kind) if possible.contains(kind) => kinds.insert(kind),
                // Kinds of other groups are for controllers that know them.
                None if group != GROUP => {}
                _ => {
                    let protocol = self.snapshot.text(listener.protocol);
                    let names: Vec<&str> = possible.iter().map(RouteKind::name).collect();
                    let message = format!("`{protocol}` listeners do not carry `{text}`");
                    let help = format!("possible here: {}", names.join(", "));
                    let at = at.key("kind");
                    self.fields.report(&codes::INVALID_ROUTE_KIND, &at, view, message, &help);
                }
            }
        }
        kinds
    }

    /// `namespaces.from` and its selector. What cannot be read lets nobody in.
    pub(super) fn namespaces(
        &mut self,
        member: Member<'a>,
        at: &At<'_>,
        default: NamespacesFrom,
    ) -> NamespacesFrom {
        let Some(of) = member else { return default };
        let at = at.key("namespaces");
        let Some([from, selector]) = self.members(of, &at, fields::NAMESPACES) else {
            return NamespacesFrom::None;
        };
        let Some(view) = from else { return default };
        match self.text(from, &at, "from") {
            Some("Same") => NamespacesFrom::Same,
            Some("All") => NamespacesFrom::All,
            Some("None") => NamespacesFrom::None,
            Some("Selector") => match selector {
                Some(selector) => self.selector(selector, &at.key("selector")),
                None => {
                    self.fields.beyond_schema(|f| f.missing(&at.key("selector"), of));
                    NamespacesFrom::None
                }
            },
            Some(other) => {
                let allowed: &[&str] = match default {
                    NamespacesFrom::None => &["None", "Same", "All", "Selector"],
                    _ => &["Same", "All", "Selector"],
                };
                self.fields.bad_value(&at.key("from"), view, other, allowed);
                NamespacesFrom::None
            }
            None => NamespacesFrom::None,
        }
    }

    fn selector(&mut self, of: View<'a>, at: &At<'_>) -> NamespacesFrom {
        let before = self.fields.flaws;
        let [labels, expressions] = self.members(of, at, fields::SELECTOR).unwrap_or([None; 2]);
        let mut requirements = Vec::new();
        if let Some(labels) = labels {
            let at = at.key("matchLabels");
            if labels.kind() != NodeKind::Map {
                self.fields.wrong_type(&at, labels, "a mapping");
            }
            for (key, value) in labels.entries() {
                if let Some(text) = self.text(Some(value), &at, key.key_text()) {
                    let key = self.intern(key.key_text());
                    requirements.push(SelectorClause::Equals(key, self.intern(text)));
                }
            }
        }
        if let Some(list) = self.list(expressions, at, "matchExpressions") {
            let at = at.key("matchExpressions");
            for (index, item) in list.items().enumerate() {
                requirements.extend(self.expression(item, &at.index(index)));
            }
        }
        if self.fields.flaws > before {
            return NamespacesFrom::None;
        }
        let index = count(&self.out.selectors);
        self.out.selectors.push(Selector { requirements });
        NamespacesFrom::Selector(index)
    }

    fn expression(&mut self, of: View<'a>, at: &At<'_>) -> Option<SelectorClause> {
        let [key, operator, list] = self.members(of, at, fields::EXPRESSION)?;
        let (key, _) = self.needed(key, of, at, "key")?;
        let (operator, view) = self.needed(operator, of, at, "operator")?;
        let key = self.intern(key);
        let mut values: SmallVec<[Sym; 2]> = SmallVec::new();
        for (index, value) in
            self.list(list, at, "values").into_iter().flat_map(View::items).enumerate()
        {
            match value.as_str() {
                Some(text) => values.push(self.intern(text)),
                None => self.fields.wrong_type(&at.key("values").index(index), value, "a string"),
            }
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                self.fields.beyond_schema(|f| f.missing(&at.key("values"), of));
                None
            }
            "In" => Some(SelectorClause::In(key, values)),
            "NotIn" => Some(SelectorClause::NotIn(key, values)),
            "Exists" => Some(SelectorClause::Exists(key)),
            "DoesNotExist" => Some(SelectorClause::Absent(key)),
            _ => {
                let allowed = ["In", "NotIn", "Exists", "DoesNotExist"];
                let at = at.key("operator");
                self.fields.beyond_schema(|f| f.bad_value(&at, view, operator, &allowed));
                None
            }
        }
    }
}
