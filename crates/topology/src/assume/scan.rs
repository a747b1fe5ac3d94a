// SPDX-License-Identifier: Apache-2.0
//! In: the trees of routes, ListenerSets and policies. Out: what they refer to that is not in the input. Not here: what
//! becomes of it.
//!
//! What cannot be read refers to nothing; the stage that reads the object says what is wrong with it.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use overrule_model::{GroupKind, Names, Object, ObjectKey, Scope, Snapshot};
use overrule_source::{Documents, Span, View};

use super::Missing;
use crate::graph::RouteKind;
use crate::{GROUP, X_GROUP};

/// The label that every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Group, kind, namespace (empty for what is cluster-scoped) and name of something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity<T>(pub(super) [T; 4]);

impl Identity<&str> {
    /// Its key, if anything has these names.
    fn known_key(&self, snapshot: &Snapshot) -> Option<ObjectKey> {
        self.key(|text| snapshot.names().lookup(text))
    }

    fn owned(self) -> Identity<String> {
        Identity(self.0.map(str::to_owned))
    }

    fn key(&self, mut sym: impl FnMut(&str) -> Option<overrule_model::Sym>) -> Option<ObjectKey> {
        let Identity([group, kind, namespace, name]) = self;
        let kind = GroupKind { group: sym(group)?, kind: sym(kind)? };
        let scope = match namespace.is_empty() {
            true => Scope::Cluster,
            false => Scope::Namespace(sym(namespace)?),
        };
        Some(ObjectKey { kind, scope, name: sym(name)? })
    }
}

impl Identity<String> {
    /// Its key, with names that are new.
    pub(super) fn new_key(&self, names: &mut Names) -> Option<ObjectKey> {
        let Identity(texts) = self;
        let [group, kind, namespace, name] = texts.each_ref().map(String::as_str);
        Identity([group, kind, namespace, name]).key(|text| Some(names.intern(text)))
    }
}

/// The field of a reference.
#[derive(Debug, Clone, Copy)]
pub(super) enum RefField {
    Class,
    SetParent,
    /// Of the list of a route.
    RouteParent(usize),
    Target,
    /// Of the list of a policy.
    OneTarget(usize),
    /// None: the namespace of the object.
    Namespace,
}

impl RefField {
    pub(super) fn in_words(self) -> String {
        match self {
            Self::Class => "spec.gatewayClassName".to_owned(),
            Self::SetParent => "spec.parentRef.name".to_owned(),
            Self::RouteParent(index) => format!("spec.parentRefs[{index}].name"),
            Self::Target => "spec.targetRef.name".to_owned(),
            Self::OneTarget(index) => format!("spec.targetRefs[{index}].name"),
            Self::Namespace => "metadata.namespace".to_owned(),
        }
    }
}

/// A reference to something that is not in the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) at: Span,
    pub(super) field: RefField,
    /// The section it needs: name, port, and where it is written. None if it needs the object alone.
    pub(super) section: Option<(&'a str, u16, Span)>,
    /// Whether whoever follows the reference says that it leads nowhere.
    pub(super) told: bool,
}

/// Looks for references that lead nowhere.
pub(super) struct Scan<'a> {
    documents: &'a Documents,
    snapshot: &'a Snapshot,
    /// Parents that ask namespaces for labels, by kind, namespace and name.
    choosy: HashSet<[&'a str; 3]>,
    missing: BTreeMap<Identity<&'a str>, Missing>,
    /// The last identity that was found in the input: neighbours mostly refer to the same.
    last: Option<Identity<&'a str>>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(documents: &'a Documents, snapshot: &'a Snapshot) -> Self {
        let (choosy, missing, last) = (HashSet::new(), BTreeMap::new(), None);
        Self { documents, snapshot, choosy, missing, last }
    }

    /// Everything that is referred to and missing, by identity.
    pub(super) fn all(mut self) -> Vec<(Identity<String>, Missing)> {
        let snapshot = self.snapshot;
        let sets = [(GROUP, "ListenerSet"), (X_GROUP, "XListenerSet")];
        for (group, kind) in [(GROUP, "Gateway")].into_iter().chain(sets) {
            for object in snapshot.of_kind(group, kind) {
                self.note_choosy(kind, object);
            }
        }
        snapshot.of_kind(GROUP, "Gateway").iter().for_each(|object| self.class(object));
        for (group, kind) in sets {
            snapshot.of_kind(group, kind).iter().for_each(|object| self.set(object));
        }
        for (kind, objects) in snapshot.kinds() {
            let (group, kind) = (snapshot.text(kind.group), snapshot.text(kind.kind));
            if group == GROUP && RouteKind::from_name(kind).is_some() {
                objects.iter().for_each(|object| self.route(object));
            } else if group.contains('.') {
                // What has no domain in its group is of Kubernetes itself, and no policy.
                objects.iter().for_each(|object| self.policy(object));
            }
        }
        self.missing.into_iter().map(|(identity, missing)| (identity.owned(), missing)).collect()
    }

    /// Whether a policy refers to something that is missing, or assumed.
    pub(super) fn leads_nowhere(mut self, object: &'a Object) -> bool {
        self.policy(object);
        !self.missing.is_empty()
    }

    fn spec(&self, object: &Object) -> Option<View<'a>> {
        self.documents.view(object.root).get("spec")
    }

    fn namespace_of(&self, object: &Object) -> &'a str {
        self.snapshot.text(object.scope.name())
    }

    /// Notes a parent of routes or ListenerSets whose answer depends on labels of their namespaces.
    fn note_choosy(&mut self, kind: &'a str, object: &'a Object) {
        let Some(spec) = self.spec(object) else { return };
        let listeners = spec.get("listeners").into_iter().flat_map(View::items);
        let allowed = listeners.filter_map(|l| l.get("allowedRoutes"));
        let mut allowed = allowed.chain(spec.get("allowedListeners"));
        let asks = |allowed: View<'a>| {
            let selector = allowed.get("namespaces").and_then(|n| n.get("selector"));
            selector.is_some_and(asks_labels)
        };
        if allowed.any(asks) {
            let place = [kind, self.namespace_of(object), self.snapshot.text(object.name)];
            self.choosy.insert(place);
        }
    }

    fn class(&mut self, object: &'a Object) {
        let Some(class) = self.spec(object).and_then(|s| s.get("gatewayClassName")) else { return };
        let want = Wanted { at: class.span(), field: RefField::Class, section: None, told: true };
        if let Some(name) = class.as_str() {
            self.want(Identity([GROUP, "GatewayClass", "", name]), want);
        }
    }

    fn set(&mut self, object: &'a Object) {
        let Some(parent) = self.spec(object).and_then(|s| s.get("parentRef")) else { return };
        self.parent(parent, object, RefField::SetParent);
    }

    fn route(&mut self, object: &'a Object) {
        let list = self.spec(object).and_then(|s| s.get("parentRefs"));
        for (index, parent) in list.into_iter().flat_map(View::items).enumerate() {
            self.parent(parent, object, RefField::RouteParent(index));
        }
    }

    /// A reference to a Gateway, which has to have the listener it names.
    fn parent(&mut self, of: View<'a>, from: &'a Object, field: RefField) -> Option<()> {
        let own = self.namespace_of(from);
        let group = text_or(of, "group", GROUP)?;
        let kind = text_or(of, "kind", "Gateway")?;
        let namespace = text_or(of, "namespace", own)?;
        let namespace = if namespace.is_empty() { own } else { namespace };
        let (name, at) = of.get("name").and_then(|n| Some((n.as_str()?, n.span())))?;
        if self.choosy.contains(&[kind, namespace, name]) {
            let field = RefField::Namespace;
            let want = Wanted { at: from.at, field, section: None, told: false };
            self.want(Identity(["", "Namespace", "", own]), want);
        }
        if (group, kind) != (GROUP, "Gateway") {
            return None;
        }
        let section = text_or(of, "sectionName", "")?;
        let place = |key: &str| of.get(key).filter(|v| !v.is_null());
        let port = match place("port") {
            Some(port) => port.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0)?,
            None => 0,
        };
        let section_at = place("sectionName").or(place("port")).map_or(at, View::span);
        // A ListenerSet brings its own listeners.
        let needs_listener = matches!(field, RefField::RouteParent(_));
        let section = needs_listener.then_some((section, port, section_at));
        let want = Wanted { at, field, section, told: false };
        self.want(Identity([GROUP, "Gateway", namespace, name]), want);
        Some(())
    }

    fn policy(&mut self, object: &'a Object) {
        let Some(spec) = self.spec(object) else { return };
        if let Some(target) = spec.get("targetRef") {
            self.target(target, object, RefField::Target);
        }
        let many = spec.get("targetRefs").into_iter().flat_map(View::items);
        for (index, target) in many.enumerate() {
            self.target(target, object, RefField::OneTarget(index));
        }
    }

    fn target(&mut self, of: View<'a>, from: &'a Object, field: RefField) -> Option<()> {
        let kind = of.get("kind").and_then(View::as_str)?;
        let group = text_or(of, "group", if kind == "Service" { "" } else { GROUP })?;
        let own = self.namespace_of(from);
        let namespace = match (group, kind) {
            (GROUP, "Gateway") | ("", "Service") => text_or(of, "namespace", own)?,
            (GROUP, "GatewayClass") => "",
            _ => return None,
        };
        let (name, at) = of.get("name").and_then(|n| Some((n.as_str()?, n.span())))?;
        let section = text_or(of, "sectionName", "")?;
        let section_at = of.get("sectionName").map_or(at, View::span);
        let section = Some((section, 0, section_at)).filter(|(section, ..)| !section.is_empty());
        let want = Wanted { at, field, section, told: false };
        self.want(Identity([group, kind, namespace, name]), want);
        Some(())
    }

    /// Notes a reference, unless what it names is there.
    fn want(&mut self, identity: Identity<&'a str>, want: Wanted<'a>) {
        let is_name = |text: &&str| !text.is_empty() && !text.contains(['/', '#']);
        if self.last.as_ref() == Some(&identity) || !identity.0.last().is_some_and(is_name) {
            return;
        }
        let key = identity.known_key(self.snapshot);
        let live = key.and_then(|key| self.snapshot.find(key));
        let live = live.is_some_and(|object| self.snapshot.assumed(object.id).is_none());
        if live || key.is_some_and(|key| self.snapshot.find_deleted(key).is_some()) {
            self.last = Some(identity);
            return;
        }
        self.missing.entry(identity).or_insert_with(|| Missing::new(want)).note(want);
    }
}

/// The text of a member, or what it is if it is not written. None if it is no text: such a reference means nothing.
fn text_or<'a>(of: View<'a>, key: &str, default: &'a str) -> Option<&'a str> {
    match of.get(key).filter(|v| !v.is_null()) {
        Some(view) => view.as_str(),
        None => Some(default),
    }
}

/// Whether a selector asks for more than the name of a namespace, which is known without it.
fn asks_labels(selector: View<'_>) -> bool {
    let labels = selector.get("matchLabels").into_iter().flat_map(View::entries);
    let mut labels = labels.map(|(key, _)| key.key_text());
    let expressions = selector.get("matchExpressions").into_iter().flat_map(View::items);
    let mut keys = expressions.filter_map(|e| e.get("key")?.as_str());
    labels.any(|key| key != NAME_LABEL) || keys.any(|key| key != NAME_LABEL)
}
