// SPDX-License-Identifier: Apache-2.0
//! In: a proxy and a kind. Out: every rule that kind's policies come to. Not here: who selects whom, order.

use std::collections::BTreeMap;

use serde_json::Value;

use super::read::{Destination, Entry, Meta, OracleMeshes, Pairs, Policy, Proxy, Ref};
use super::select::{Selected, selects, service};
use super::{FROM, INBOUND, OracleConf, Profile, SINGLE, TO, merge, order};

/// An entry about clients: what they must be tagged with, and what holds for them.
#[derive(Debug, Clone, PartialEq)]
pub struct OracleFrom {
    /// All of these; none means everyone.
    pub tags: BTreeMap<String, String>,
    /// What the entry says.
    pub conf: Value,
}

impl OracleFrom {
    fn contains(&self, client: &BTreeMap<String, String>) -> bool {
        self.tags.iter().all(|(key, value)| client.get(key) == Some(value))
    }
}

/// What holds for a client: all entries that contain it, the last over those before. None if nobody speaks of it.
pub fn decide(entries: &[OracleFrom], client: &BTreeMap<String, String>) -> Option<Value> {
    let about: Vec<&Value> =
        entries.iter().filter(|entry| entry.contains(client)).map(|entry| &entry.conf).collect();
    (!about.is_empty()).then(|| merge::all(about))
}

/// What a proxy gets of a kind.
pub(super) fn answer(
    world: &OracleMeshes,
    proxy: &Proxy,
    kind: &str,
    profile: Profile,
) -> OracleConf {
    let of_kind = world.policies.iter().filter(|policy| policy.meta.kind == kind);
    let mut matched: Vec<(&Policy, Selected)> =
        of_kind.filter_map(|p| Some((p, selects(p, proxy, profile)?))).collect();
    matched.sort_by(|a, b| order::policies(a.0, b.0, profile));
    let policies: Vec<&Policy> = matched.iter().map(|(policy, _)| *policy).collect();
    let mut answer = OracleConf::default();
    if TO.contains(&kind) {
        answer.to = to(world, &policies, profile);
    }
    if SINGLE.contains(&kind) {
        let confs: Vec<&Value> = policies.iter().filter_map(|p| p.single.as_ref()).collect();
        answer.single = (!confs.is_empty()).then(|| merge::all(confs));
    }
    for (number, inbound) in proxy.inbounds.iter().enumerate() {
        let selecting = matched.iter().filter(|(_, s)| s.inbounds.contains(&number));
        let policies: Vec<&Policy> = selecting.map(|(policy, _)| *policy).collect();
        if INBOUND.contains(&kind)
            && let Some(conf) = inbound_conf(&policies)
        {
            answer.inbounds.insert(inbound.section.clone(), conf);
        }
        if FROM.contains(&kind) {
            let entries = policies.iter().flat_map(|policy| &policy.from);
            let entries: Vec<OracleFrom> = entries.filter_map(about_clients).collect();
            if !entries.is_empty() {
                answer.from.insert(inbound.section.clone(), entries);
            }
        }
    }
    answer
}

/// All entries without matches; `from` where a policy has no `rules`. Their order is that of policies.
fn inbound_conf(policies: &[&Policy]) -> Option<Value> {
    let entries = policies.iter().flat_map(|p| if p.rules.is_empty() { &p.from } else { &p.rules });
    let confs: Vec<&Value> = entries.filter(|e| !e.matches).map(|e| &e.conf).collect();
    (!confs.is_empty()).then(|| merge::all(confs))
}

fn about_clients(entry: &Entry) -> Option<OracleFrom> {
    let target = &entry.target;
    let mut tags = match target.kind.as_str() {
        "Mesh" | "MeshService" => Pairs::new(),
        "MeshSubset" | "MeshServiceSubset" => target.tags.clone(),
        _ => return None,
    };
    if target.kind.starts_with("MeshService") {
        tags.extend(service(&target.name));
    }
    Some(OracleFrom { tags, conf: entry.conf.clone() })
}

/// Something an entry is about, or a key of the rules.
struct Item<'w> {
    resource: &'w Meta,
    section: String,
    conf: &'w Value,
}

/// One rule for each destination or section that some entry names.
pub(super) fn to(
    world: &OracleMeshes,
    policies: &[&Policy],
    profile: Profile,
) -> BTreeMap<String, Value> {
    let of_policy = policies.iter().flat_map(|p| p.to.iter().map(move |entry| (*p, entry)));
    let mut entries: Vec<(&Policy, &Entry)> = of_policy.collect();
    entries.sort_by(|a, b| order::entries(*a, *b, profile));
    let mut items = Vec::new();
    for (policy, entry) in entries {
        for (resource, section) in meant(world, &entry.target, &policy.meta) {
            items.push(Item { resource, section, conf: &entry.conf });
        }
    }
    let mut rules = BTreeMap::new();
    for target in &items {
        let key = target.resource.kri(&target.section);
        rules.entry(key).or_insert_with(|| {
            merge::all(items.iter().filter(|item| contributes(item, target)).map(|i| i.conf))
        });
    }
    rules
}

/// Resources a reference means, each with the section it means.
fn meant<'w>(world: &'w OracleMeshes, target: &Ref, policy: &Meta) -> Vec<(&'w Meta, String)> {
    if target.kind == "Mesh" {
        let mesh = world.meshes.iter().filter(|mesh| mesh.display == policy.mesh);
        return mesh.map(|mesh| (mesh, String::new())).collect();
    }
    let candidates = world.destinations.iter().filter(|d| {
        d.meta.kind == target.kind
            && d.meta.mesh == policy.mesh
            && (by_labels(target, d) || by_name(target, policy, d))
    });
    let kept =
        candidates.filter(|d| target.section.is_empty() || d.sections.contains(&target.section));
    kept.map(|d| (&d.meta, target.section.clone())).collect()
}

fn by_labels(target: &Ref, destination: &Destination) -> bool {
    let found = &destination.meta.labels;
    target.labels.as_ref().is_some_and(|wanted| {
        !wanted.is_empty() && wanted.iter().all(|(key, value)| found.get(key) == Some(value))
    })
}

/// By name a policy means its own zone, and its own namespace unless it names another.
fn by_name(target: &Ref, policy: &Meta, destination: &Destination) -> bool {
    let namespace = if target.namespace.is_empty() { &policy.namespace } else { &target.namespace };
    let found = &destination.meta;
    !target.name.is_empty()
        && found.display == target.name
        && found.zone == policy.zone
        && found.namespace == *namespace
}

/// Whether what is said of the item holds for the target: the mesh for all in it, a service for its ports.
fn contributes(item: &Item<'_>, target: &Item<'_>) -> bool {
    let (r, t) = (item.resource, target.resource);
    match r.kind.as_str() {
        "Mesh" if t.kind == "Mesh" => t.display == r.display,
        "Mesh" => t.mesh == r.display,
        "MeshExternalService" => r.is(t),
        _ => r.is(t) && (item.section == target.section || item.section.is_empty()),
    }
}
