// SPDX-License-Identifier: Apache-2.0
//! In: one text as it was read. Out: who its resources are, and whom they mention, as written. Not here: whether what
//! is mentioned exists: an index of mentions finds a thing that appears as well as one that changes.
//!
//! Nothing here knows a vendor. Whatever a kind means, it can concern another resource only by naming it (a mapping with
//! a name, perhaps a kind and a namespace) or by selecting its labels. Taking a mention for more than it is costs a
//! little work; missing one would cost a wrong answer.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use overrule_family::{Mentions, Settings};
use overrule_gateway::topology::{GROUP, RouteKind, X_GROUP};
use overrule_model::{Object, Snapshot, cluster_scoped};
use overrule_source::{Documents, Kind, View};
use smallvec::SmallVec;

/// A hashed name. Two names with one hash make an answer dearer, not wrong.
pub(super) type Key = u64;

/// What a resource can do to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A route: answers are kept for it.
    Route,
    /// A proxy of a mesh: answers are kept for it too, and it acts on no other.
    Proxy,
    /// What Gateways stand on.
    Class,
    /// What routes stand on: Gateways and ListenerSets.
    Ground,
    /// Anything that acts on what it names or selects, and on whoever names it.
    Other,
    /// Namespaces and grants: they act on everything in a namespace.
    Place,
    /// Descriptions of kinds, requirements: they act on everything.
    Global,
    /// Any other resource of a mesh: it may act on all proxies, never on routes.
    Mesh,
}

impl Role {
    /// Whether answers are kept for it.
    pub(super) fn is_answered(self) -> bool {
        matches!(self, Self::Route | Self::Proxy)
    }
}

/// One resource.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) role: Role,
    /// Group and kind.
    pub(super) kind: Key,
    /// The keys by which others may mention it.
    pub(super) own: SmallVec<[Key; 4]>,
    /// The keys by which others may select it.
    pub(super) labels: SmallVec<[Key; 4]>,
    /// What it mentions.
    pub(super) mentions: SmallVec<[Key; 8]>,
    /// Listeners that a route names, and Gateways of which it names none; listeners of a Gateway.
    pub(super) sections: SmallVec<[Key; 2]>,
    /// The class it is of. Apart, because a class with ten thousand Gateways is still one small thing.
    pub(super) class: Option<Key>,
    /// What it selects.
    pub(super) selects: SmallVec<[Key; 1]>,
    /// Namespaces it stands in or mentions, as keys of what acts on them.
    pub(super) places: SmallVec<[Key; 4]>,
    /// Whether it hands over to all routes of a namespace or label.
    pub(super) delegates_widely: bool,
}

impl Facts {
    /// Whether another state of the resource acts on the same ones.
    pub(super) fn acts_like(&self, other: &Self) -> bool {
        self.role == other.role
            && self.own == other.own
            && self.mentions == other.mentions
            && self.selects == other.selects
    }
}

/// Turns names into keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    hasher: DefaultHashBuilder,
    /// What families have of their own.
    mentions: Vec<Mentions>,
}

/// Every name, namespace or value.
const ANY: &str = "*";

impl Keys {
    pub(super) fn new(settings: &Settings) -> Self {
        let mentions = crate::families().iter().map(|family| family.mentions(settings)).collect();
        Self { hasher: DefaultHashBuilder::default(), mentions }
    }

    /// Targets that families have of their own: group and kind.
    pub(super) fn targets(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.mentions.iter().filter_map(|m| m.targets)
    }

    /// A resource by name.
    pub(super) fn named(&self, kind: &str, namespace: &str, name: &str) -> Key {
        self.hasher.hash_one((kind, namespace, name))
    }

    /// A listener of what has a key.
    fn section(&self, of: Key, name: &str) -> Key {
        self.hasher.hash_one((of, name))
    }

    fn labelled(&self, kind: &str, namespace: &str, label: (&str, &str)) -> Key {
        self.hasher.hash_one((kind, namespace, label))
    }

    /// What all resources of a text are and mention.
    pub(super) fn facts(&self, documents: &Documents, snapshot: &Snapshot) -> Box<[Facts]> {
        // Nearly always one: without room for more.
        let mut all = Vec::with_capacity(snapshot.len());
        all.extend(snapshot.objects().map(|object| self.of(documents, snapshot, object)));
        all.into()
    }

    fn of(&self, documents: &Documents, snapshot: &Snapshot, object: &Object) -> Facts {
        let text = |sym| snapshot.text(sym);
        let (group, kind) = (text(object.kind.group), text(object.kind.kind));
        let (namespace, name) = (text(object.scope.name()), text(object.name));
        let mut facts = Facts {
            role: self.role(group, kind),
            kind: self.hasher.hash_one((group, kind)),
            own: SmallVec::from_slice(&[
                self.named(kind, namespace, name),
                self.named("", namespace, name),
                self.named(kind, namespace, ANY),
            ]),
            labels: SmallVec::new(),
            mentions: SmallVec::new(),
            sections: SmallVec::new(),
            class: None,
            selects: SmallVec::new(),
            places: SmallVec::from_slice(&self.places(namespace)),
            delegates_widely: false,
        };
        let mut pairs: SmallVec<[(&str, &str); 4]> = SmallVec::new();
        pairs.extend(object.labels.iter().map(|(key, value)| (text(key), text(value))));
        pairs.push((ANY, ANY));
        for pair in &pairs {
            facts.labels.push(self.labelled(kind, namespace, *pair));
            facts.labels.push(self.labelled(kind, ANY, *pair));
        }
        for mentions in self.mentions.iter().filter(|m| m.naming_label.is_some()) {
            let named = pairs.iter().filter(|(key, _)| Some(*key) == mentions.naming_label);
            for (_, value) in named {
                facts.own.push(self.named("label", namespace, value));
                let everywhere = mentions.names_everywhere.iter();
                facts.own.extend(everywhere.map(|all| self.named("label", all, value)));
            }
        }
        if matches!(facts.role, Role::Mesh | Role::Proxy | Role::Global) {
            return facts;
        }
        let root = documents.view(object.root);
        let spec = root.get("spec").unwrap_or(root);
        if facts.role == Role::Ground {
            let listeners = spec.get("listeners").into_iter().flat_map(View::items);
            let names = listeners.filter_map(|l| l.get("name").and_then(View::as_str));
            let gateway = self.named(kind, namespace, name);
            facts.sections.extend(names.map(|name| self.section(gateway, name)));
        }
        Scan { keys: self, facts: &mut facts, namespace }.any("", spec);
        if let Some(annotations) = root.get("metadata").and_then(|m| m.get("annotations")) {
            Scan { keys: self, facts: &mut facts, namespace }.any("", annotations);
        }
        facts
    }

    fn role(&self, group: &str, kind: &str) -> Role {
        match (group, kind) {
            (GROUP, kind) if RouteKind::from_name(kind).is_some() => Role::Route,
            (GROUP, "GatewayClass") => Role::Class,
            (GROUP | X_GROUP, "Gateway" | "ListenerSet" | "XListenerSet") => Role::Ground,
            ("", "Namespace") | (GROUP, "ReferenceGrant") => Role::Place,
            ("overrule" | "apiextensions.k8s.io", _) => Role::Global,
            _ => match self.targets().find(|(own, _)| *own == group) {
                Some((_, target)) if target == kind => Role::Proxy,
                Some(_) => Role::Mesh,
                None => Role::Other,
            },
        }
    }

    /// What acts on everything in a namespace.
    fn places(&self, namespace: &str) -> [Key; 2] {
        [self.named("Namespace", "", namespace), self.named("ReferenceGrant", namespace, ANY)]
    }
}

/// Looks for mentions.
struct Scan<'k, 'f> {
    keys: &'k Keys,
    facts: &'f mut Facts,
    namespace: &'k str,
}

impl Scan<'_, '_> {
    /// A value under a key. Depth is bounded by the reader.
    fn any(&mut self, under: &str, value: View<'_>) {
        match value.kind() {
            Kind::List => value.items().for_each(|item| self.any(under, item)),
            Kind::Map => {
                let (mut kind, mut name) = (None, None);
                for (key, member) in value.entries() {
                    let key = key.key_text();
                    match key {
                        "kind" => kind = member.as_str(),
                        "name" => name = member.as_str(),
                        "gatewayClassName" => {
                            let class = member.as_str();
                            let class = class.map(|c| self.keys.named("GatewayClass", "", c));
                            self.facts.class = class.or(self.facts.class);
                        }
                        _ => {}
                    }
                    self.any(key, member);
                }
                if kind.is_some() || name.is_some() {
                    self.mention(under, value, kind, name);
                }
            }
            _ => {}
        }
    }

    /// A mapping with a kind or a name.
    fn mention(&mut self, under: &str, map: View<'_>, kind: Option<&str>, name: Option<&str>) {
        let text = |key: &str| map.get(key).and_then(View::as_str);
        // What is not written means this where Gateway API says so.
        let kind = kind.unwrap_or(match under {
            "parentRefs" => "Gateway",
            "backendRefs" | "backendRef" => "Service",
            _ => "",
        });
        let namespace = text("namespace").unwrap_or(self.namespace);
        if namespace != self.namespace {
            self.facts.places.extend(self.keys.places(namespace));
        }
        if self.selector(kind, namespace, map) && name.is_none() {
            return;
        }
        let name = name.filter(|name| !name.is_empty()).unwrap_or(ANY);
        self.facts.delegates_widely |=
            self.facts.role == Role::Route && (kind == "label" || name == ANY);
        let mentioned = self.keys.named(kind, namespace, name);
        let section = text("sectionName").filter(|_| matches!(kind, "Gateway" | "ListenerSet"));
        match (self.facts.role, section) {
            // A route mentions a Gateway whatever listener it names; what acts on a listener acts on that one alone.
            (Role::Route, Some(section)) => {
                self.facts.mentions.push(mentioned);
                self.facts.sections.push(self.keys.section(mentioned, section));
            }
            (Role::Route, None) => {
                self.facts.mentions.push(mentioned);
                self.facts.sections.push(mentioned);
            }
            (_, Some(section)) => {
                self.facts.mentions.push(self.keys.section(mentioned, section));
            }
            (_, None) => self.facts.mentions.push(mentioned),
        }
        let scoped = cluster_scoped(text("group").unwrap_or(""), kind);
        if scoped != Some(false) {
            self.facts.mentions.push(self.keys.named(kind, "", name));
        }
    }

    /// What a mention selects by label, if it does: any one pair of those it asks for leads to it.
    fn selector(&mut self, kind: &str, namespace: &str, map: View<'_>) -> bool {
        let inner = map.entries().map(|(_, value)| value);
        let selector = std::iter::once(map)
            .chain(inner)
            .find(|m| m.get("matchLabels").is_some() || m.get("matchExpressions").is_some());
        let Some(selector) = selector else { return false };
        let labels = selector.get("matchLabels");
        let pair = labels
            .into_iter()
            .flat_map(View::entries)
            .find_map(|(key, value)| value.as_str().map(|value| (key.key_text(), value)));
        let mut mentions = self.keys.mentions.iter();
        let everywhere = mentions.any(|m| m.selects_everywhere.as_deref() == Some(namespace));
        let namespace = if everywhere { ANY } else { namespace };
        let pair = pair.unwrap_or((ANY, ANY));
        self.facts.selects.push(self.keys.labelled(kind, namespace, pair));
        true
    }
}
