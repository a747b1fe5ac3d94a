// SPDX-License-Identifier: Apache-2.0
//! In: kinds whose controllers follow rules of their own. Out: a refusal by name instead of a wrong answer, and what their
//! objects target. Not here: families that exist; they say which kinds are theirs.

use overrule_engine::{Unresolved, UnresolvedTarget};
use overrule_family::OwnKind;
use overrule_model::{At, GroupKind, Object, ObjectId, ObjectKey, Scope, Snapshot};
use overrule_source::{Diagnostic, Documents, View};
use overrule_topology::GatewayTopology;
use smallvec::SmallVec;

use super::Kinds;
use crate::codes_policy as codes;

/// Kinds with controllers of their own, one line for each: API group, kind or `*` and how it ends, and who.
static TABLE: &str = include_str!("../../kinds/foreign.txt");

/// Kinds that other families resolve.
#[derive(Debug, Clone, Copy)]
pub struct Others<'a> {
    pub own_kinds: &'a [OwnKind],
}

impl Others<'_> {
    /// Whether one of them resolves a kind.
    pub fn resolve(self, group: &str, kind: &str) -> bool {
        self.own_kinds.iter().any(|own| own.group == group && own.kind == kind)
    }
}

/// Who resolves a kind by rules that GEP-713's defaults do not describe.
pub fn owner(group: &str, kind: &str) -> Option<&'static str> {
    let is_kind = |pattern: &str| match pattern.strip_prefix('*') {
        Some(ending) => kind.ends_with(ending),
        None => kind == pattern,
    };
    TABLE.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let (of, rest) = line.split_once(' ')?;
        let (pattern, owner) = rest.split_once(' ')?;
        (of == group && is_kind(pattern)).then_some(owner)
    })
}

/// Says once per kind which objects are not answered: foreign ones, and those that look like policies of a kind
/// nobody described.
pub fn report(
    documents: &Documents,
    snapshot: &Snapshot,
    others: Others<'_>,
    kinds: &Kinds,
    out: &mut Vec<Diagnostic>,
) {
    for (kind, objects) in snapshot.kinds() {
        let Some(first) = objects.first() else { continue };
        let (group_name, kind_name) = (snapshot.text(kind.group), snapshot.text(kind.kind));
        if kinds.find(snapshot.names(), kind).is_some() || others.resolve(group_name, kind_name) {
            continue;
        }
        let count = objects.len();
        if let Some(owner) = owner(group_name, kind_name) {
            let message = format!(
                "`{kind_name}` has merge rules of its own ({owner}) and is not resolved; {count} found"
            );
            let d = Diagnostic::new(&codes::FOREIGN_KIND, message).at(first.at);
            out.push(d.field("kind").help("answers leave it out; describe the kind with --kinds only if GEP-713's rules fit it"));
            continue;
        }
        let looks_like_policy =
            objects.iter().find_map(|o| target_field(documents.view(o.root)).map(|at| (o, at)));
        if let Some((_, field)) = looks_like_policy {
            let message = format!(
                "`{kind_name}` looks like a policy, but its kind is unknown, so it is left out; {count} found"
            );
            let d = Diagnostic::new(&codes::UNKNOWN_KIND, message).at(field.span());
            let path = At::ROOT;
            let path = path.key("spec");
            out.push(d.field(path.to_string()).help("add its CustomResourceDefinition to the input, or describe it with --kinds (overrule rule OV1313)"));
        }
    }
}

/// Every object that looks like a policy and that nobody resolves, with what it targets, by kind, namespace and name.
pub fn unresolved(
    documents: &Documents,
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    own_kinds: &[OwnKind],
    kinds: &Kinds,
) -> Vec<Unresolved> {
    let others = Others { own_kinds };
    let mut found = Vec::new();
    for (kind, objects) in snapshot.kinds() {
        let (group_name, kind_name) = (snapshot.text(kind.group), snapshot.text(kind.kind));
        if kinds.find(snapshot.names(), kind).is_some() || others.resolve(group_name, kind_name) {
            continue;
        }
        let owner = owner(group_name, kind_name);
        for object in objects {
            let root = documents.view(object.root);
            if owner.is_some() || target_field(root).is_some() {
                let targets = targets(snapshot, topology, object, root);
                found.push(Unresolved { object: object.id, owner, targets });
            }
        }
    }
    found
}

/// What an object targets, each once.
fn targets(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    object: &Object,
    root: View<'_>,
) -> Vec<UnresolvedTarget> {
    let Some(spec) = root.get("spec") else { return Vec::new() };
    let mut found: Vec<UnresolvedTarget> = Vec::new();
    for key in ["targetRef", "targetRefs", "targetSelectors"] {
        let Some(field) = spec.get(key) else { continue };
        let several = field.items().next().is_some();
        let items: Vec<View<'_>> = if several { field.items().collect() } else { vec![field] };
        for item in items {
            for target in meant(snapshot, topology, object, item) {
                if !found.contains(&target) {
                    found.push(target);
                }
            }
        }
    }
    found
}

/// What one reference or selector means.
fn meant(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    object: &Object,
    item: View<'_>,
) -> Vec<UnresolvedTarget> {
    let text = |key: &str| item.get(key).and_then(View::as_str);
    let Some(kind) = text("kind") else { return Vec::new() };
    let own = snapshot.text(object.scope.name());
    let (group, namespace) = (text("group").unwrap_or(""), text("namespace").unwrap_or(own));
    let section = text("sectionName");
    let lookup = |text: &str| snapshot.names().lookup(text);
    let group_kind = lookup(group).zip(lookup(kind)).map(|(group, kind)| GroupKind { group, kind });
    let named = |id: ObjectId| {
        let of_section = |section: &str| topology.section_node(id, lookup(section)?);
        let node = match section {
            Some(section) => of_section(section),
            None => topology.object_node(id),
        };
        let frontend = node.and_then(|node| topology.frontend_node(node));
        let section = section.map(|section| format!("#{section}")).unwrap_or_default();
        let nodes = node.into_iter().chain(frontend).collect();
        UnresolvedTarget { name: format!("{}{section}", snapshot.display(id)), nodes }
    };
    if let Some(name) = text("name") {
        let object = group_kind.and_then(|kind| {
            let name = lookup(name)?;
            let scoped = Scope::Namespace(lookup(namespace)?);
            let find = |scope| snapshot.find(ObjectKey { kind, scope, name });
            find(scoped).or_else(|| find(Scope::Cluster))
        });
        return vec![object.map_or_else(
            || {
                let name = format!("{}/{namespace}/{name}", kind.to_lowercase());
                UnresolvedTarget { name, nodes: SmallVec::new() }
            },
            |object| named(object.id),
        )];
    }
    let Some(labels) = item.get("matchLabels") else { return Vec::new() };
    let fits = |object: &&Object| {
        snapshot.text(object.scope.name()) == namespace
            && labels.entries().all(|(key, value)| {
                let known = lookup(key.key_text()).and_then(|key| object.labels.get(key));
                known.is_some() && known.map(|known| snapshot.text(known)) == value.as_str()
            })
    };
    let objects = snapshot.of_kind(group, kind);
    objects.iter().filter(fits).map(|object| named(object.id)).collect()
}

/// The field by which an object targets others, if it has one.
fn target_field(root: View<'_>) -> Option<View<'_>> {
    let spec = root.get("spec")?;
    ["targetRef", "targetRefs", "targetSelectors"].iter().find_map(|key| {
        let (name, value) = spec.get_entry(key)?;
        let first = value.items().next().unwrap_or(value);
        // HorizontalPodAutoscaler and its like say `scaleTargetRef`; a policy reference always names a kind.
        first.get("kind").map(|_| name)
    })
}
