// SPDX-License-Identifier: Apache-2.0
//! In: cases that Kuma's own data files hold. Out: what differs. Not here: restated cases (`restated`).

use std::collections::BTreeMap;

use overrule_mesh::Profile;
use overrule_mesh::conf::EntryPosition;
use overrule_mesh::dataplane::{Dataplane, MeshGateway};
use overrule_mesh::entries::{Item, inbound_entries, sorted_to_entries, subset_of};
use overrule_mesh::kinds::{self, KindName};
use overrule_mesh::matched::{Matched, in_order};
use overrule_mesh::policy::Policy;
use overrule_mesh::resource::PlacedResource;
use overrule_mesh::rules::{
    SubsetRule, resource_rules, subset_rules_from, subset_rules_of, subset_rules_to, whole_rule,
};
use overrule_mesh::select::SelectContext;
use overrule_mesh::subset::Subset;
use overrule_mesh::targetref::TargetRef;
use overrule_mesh::targets::Destination;
use overrule_source::Documents;
use serde_json::{Map, Value, json};

use super::files::Files;
use super::shapes::{self, Lower, Metas, Upper};
use super::variants::{dataplane_variant, resource_variant};

const RELEASE: Profile = Profile::Release;

/// Names of the policies that count, in areas where no matching takes place.
const MATCHED: &str = "matched-for-rules-";

/// What a case answers, in the shape of its golden file; none if the area is not known.
pub(super) fn answer(area: &str, case: &str, files: &Named<'_>) -> Option<Result<Value, String>> {
    Some(match area {
        "rules/from" => rules_from(files),
        "rules/to" => rules_to(files),
        "rules/single" => rules_single(files),
        "inboundrules" => inbound(files),
        "tosort" => to_sort(files),
        "resourcerules" => resources(files, case),
        "matchedpolicies/dataplane-kind" => dataplane_kind(files, case),
        _ if area.starts_with("matchedpolicies/") => matched(files, area),
        _ if area.starts_with("egressmatchedpolicies") => egress(files),
        _ => return None,
    })
}

/// Files of a case by what stands before `.yaml` in their names: `input`, `policies`, `golden`.
pub(super) struct Named<'t> {
    pub(super) files: Vec<(&'t str, &'t str)>,
}

impl Named<'_> {
    pub(super) fn text(&self, part: &str) -> Option<&str> {
        let ends = format!(".{part}.yaml");
        self.files.iter().find(|(name, _)| name.ends_with(&ends)).map(|(_, text)| *text)
    }

    /// Reads these files; absent ones have no documents.
    fn read(&self, parts: &[&str]) -> Files {
        let texts: Vec<&str> = parts.iter().map(|p| self.text(p).unwrap_or("")).collect();
        Files::read(&texts)
    }
}

fn policies(documents: &Documents, resources: &[PlacedResource]) -> Vec<Policy> {
    resources.iter().filter_map(|r| Policy::read(documents, r)).collect()
}

/// The type that policies of a file are matched by: the only one, or the one that is no route.
fn is_matched(policies: &[Policy]) -> KindName {
    let other = policies.iter().find(|p| p.meta.kind != kinds::HTTP_ROUTE).or(policies.first());
    other.map(|p| p.meta.kind.clone()).unwrap_or_default()
}

fn from_rules(documents: &Documents, policies: &[&Policy], kind: &KindName, by: &str) -> Value {
    let has_from = kind.known().and_then(|k| k.policy).is_some_and(|p| p.from || p.rules);
    if !has_from {
        return json!({"Rules": null, "InboundRules": null});
    }
    let rules = shapes::subset_rules(documents, &subset_rules_from(documents, policies));
    let inbound: Vec<Value> = inbound_entries(&RELEASE, policies)
        .iter()
        .map(|entry| shapes::inbound_rule(documents, entry))
        .collect();
    json!({"Rules": {by: rules}, "InboundRules": {by: inbound}})
}

fn to_rules(
    documents: &Documents,
    policies: &[&Policy],
    routes: &[Policy],
    resources: &[Destination],
    metas: &dyn Metas,
) -> Value {
    let rules = shapes::subset_rules(documents, &subset_rules_to(documents, policies, routes));
    let by_resource = resource_rules(documents, &RELEASE, policies, resources);
    let by_resource = by_resource
        .iter()
        .map(|(kri, rule)| (kri.to_string(), shapes::resource_rule(documents, metas, rule)));
    json!({"Rules": rules, "ResourceRules": by_resource.collect::<Map<_, _>>()})
}

fn rules_from(files: &Named<'_>) -> Result<Value, String> {
    let read = files.read(&["input"]);
    let all = policies(&read.documents, &read.resources(0));
    let matched: Vec<&Policy> = all.iter().collect();
    Ok(from_rules(&read.documents, &matched, &is_matched(&all), "127.0.0.1:80"))
}

fn rules_to(files: &Named<'_>) -> Result<Value, String> {
    let read = files.read(&["input"]);
    let all = policies(&read.documents, &read.resources(0));
    let kind = is_matched(&all);
    let matched: Vec<&Policy> = all.iter().filter(|p| p.meta.kind == kind).collect();
    let routes: Vec<Policy> =
        all.iter().filter(|p| p.meta.kind == kinds::HTTP_ROUTE).cloned().collect();
    Ok(to_rules(&read.documents, &matched, &routes, &[], &Lower))
}

fn rules_single(files: &Named<'_>) -> Result<Value, String> {
    let read = files.read(&["input"]);
    let all = policies(&read.documents, &read.resources(0));
    Ok(json!({"Rules": single(&read.documents, &all.iter().collect::<Vec<_>>())}))
}

/// One rule about everybody, of policies that have one conf.
fn single(documents: &Documents, policies: &[&Policy]) -> Value {
    let merged = whole_rule(documents, policies);
    shapes::subset_rules(documents, &[SubsetRule { subset: Subset::default(), merged }])
}

/// The policies of the kind of the first document whose names say that they count.
fn by_name(all: &[Policy]) -> Vec<&Policy> {
    let kind = all.first().map(|p| p.kind);
    all.iter().filter(|p| Some(p.kind) == kind && p.meta.name.starts_with(MATCHED)).collect()
}

fn inbound(files: &Named<'_>) -> Result<Value, String> {
    let read = files.read(&["input"]);
    let all = policies(&read.documents, &read.resources(0));
    let matched = by_name(&all);
    let rules = inbound_entries(&RELEASE, &matched);
    let rules: Vec<Value> =
        rules.iter().map(|entry| shapes::inbound_rule(&read.documents, entry)).collect();
    Ok(json!({"rules": rules}))
}

fn to_sort(files: &Named<'_>) -> Result<Value, String> {
    let read = files.read(&["input"]);
    let all = policies(&read.documents, &read.resources(0));
    let matched = by_name(&all);
    let shown = |item: &Item<'_>| {
        let entry = overrule_mesh::conf::entry_of(
            &read.documents,
            item.policy.kind,
            overrule_engine::StepId(0),
            item.entry.node,
        );
        json!({
            "Entry": entry.to_json(&read.documents),
            "Meta": shapes::lower(&item.policy.meta),
            "RuleIndex": item.entry.index,
            "TopLevel": shapes::target(&read.documents, item.policy),
        })
    };
    Ok(sorted_to_entries(&RELEASE, &matched).iter().map(shown).collect())
}

fn resources(files: &Named<'_>, case: &str) -> Result<Value, String> {
    let read = files.read(&["input"]);
    let variant = case.rsplit('/').next().unwrap_or("");
    let mut extensions = BTreeMap::new();
    let mut all = read.resources(0);
    for resource in all.iter_mut().filter(|r| r.meta.kind != kinds::MESH) {
        let rewritten = resource_variant(variant, &resource.meta);
        if let Some(extension) = rewritten.extension {
            extensions.insert(rewritten.meta.name.clone(), extension);
        }
        resource.meta = rewritten.meta;
    }
    let documents = &read.documents;
    let policies = policies(documents, &all);
    let matched: Vec<&Policy> =
        policies.iter().filter(|p| p.meta.name.starts_with(MATCHED)).collect();
    let destinations: Vec<Destination> =
        all.iter().filter_map(|r| Destination::read(documents, r)).collect();
    let rules = resource_rules(documents, &RELEASE, &matched, &destinations);
    let metas = Upper { extensions };
    let shown = rules
        .iter()
        .map(|(kri, rule)| (kri.to_string(), shapes::resource_rule(documents, &metas, rule)));
    Ok(Value::Object(shown.collect()))
}

fn from_of_inbounds(documents: &Documents, matched: &Matched<'_>, kind: &KindName) -> Value {
    let mut rules = Map::new();
    let mut inbound = Map::new();
    for (listener, policies) in matched.inbounds() {
        let key = listener.to_string();
        let found = from_rules(documents, &policies, kind, &key);
        let part = |name: &str| found.get(name).and_then(|p| p.get(&key)).cloned();
        match (part("Rules"), part("InboundRules")) {
            (Some(a), Some(b)) => {
                rules.insert(key.clone(), a);
                inbound.insert(key, b);
            }
            _ => return found,
        }
    }
    json!({"Rules": rules, "InboundRules": inbound})
}

fn matched(files: &Named<'_>, area: &str) -> Result<Value, String> {
    let read = files.read(&["policies", "dataplane", "mes"]);
    let documents = &read.documents;
    let resources = read.resources(0);
    let all = policies(documents, &resources);
    let kind = match area {
        "matchedpolicies/fromrules" => KindName::Known(&kinds::TRAFFIC_PERMISSION),
        "matchedpolicies/meshgateways" => KindName::Known(&kinds::ACCESS_LOG),
        _ => is_matched(&all),
    };
    let dataplane = read.resources(1);
    let dataplane = dataplane.first().ok_or("there is no dataplane")?;
    let dataplane = Dataplane::read(documents, dataplane);
    let gateways: Vec<MeshGateway> = resources
        .iter()
        .filter(|r| r.meta.kind == kinds::GATEWAY)
        .map(|r| MeshGateway::read(documents, r))
        .collect();
    let routes: Vec<Policy> =
        all.iter().filter(|p| p.meta.kind == kinds::HTTP_ROUTE).cloned().collect();
    let context = SelectContext { routes: &routes, gateways: &gateways, profile: &RELEASE };
    let of_kind: Vec<&Policy> = all.iter().filter(|p| p.meta.kind == kind).collect();
    let matched = Matched::new(context, &of_kind, &dataplane);
    let destinations: Vec<Destination> = resources
        .iter()
        .chain(&read.resources(2))
        .filter(|r| r.meta.kind != kinds::MESH)
        .filter_map(|r| Destination::read(documents, r))
        .collect();
    Ok(match area {
        "matchedpolicies/dataplanepolicies" => items(documents, &resources, &matched.all()),
        "matchedpolicies/fromrules" => from_of_inbounds(documents, &matched, &kind),
        "matchedpolicies/meshgateways" => {
            gateway_rules(documents, &matched, &routes, &destinations, &kind)
        }
        _ => to_rules(documents, &matched.all(), &routes, &destinations, &Lower),
    })
}

fn gateway_rules(
    documents: &Documents,
    matched: &Matched<'_>,
    routes: &[Policy],
    destinations: &[Destination],
    kind: &KindName,
) -> Value {
    let (mut to, mut from, mut inbound) = (Map::new(), Map::new(), Map::new());
    for (listener, sorted) in matched.by_listener() {
        let key = listener.to_string();
        to.insert(key.clone(), to_rules(documents, &sorted, routes, destinations, &Lower));
        let rules = from_rules(documents, &sorted, kind, &key);
        let part = |name: &str| rules.get(name).and_then(|p| p.get(&key)).cloned();
        from.extend(part("Rules").map(|r| (key.clone(), r)));
        inbound.extend(part("InboundRules").map(|r| (key.clone(), r)));
    }
    let by_host = matched.by_hostname();
    let hosts = by_host.iter().map(|(at, policies)| {
        let key = format!("{}:{}", at.listener, at.hostname);
        (key, to_rules(documents, policies, routes, destinations, &Lower))
    });
    json!({
        "ToRules": {"ByListener": to, "ByListenerAndHostname": hosts.collect::<Map<_, _>>()},
        "FromRules": from,
        "InboundRules": inbound,
    })
}

fn items(documents: &Documents, resources: &[PlacedResource], policies: &[&Policy]) -> Value {
    let shown = policies.iter().map(|policy| {
        let found = resources.iter().find(|r| r.root == policy.root);
        found.map_or(Value::Null, |r| {
            shapes::resource(documents, &PlacedResource { meta: policy.meta.clone(), root: r.root })
        })
    });
    json!({"items": shown.collect::<Vec<_>>(), "next": null, "total": 0})
}

fn dataplane_kind(files: &Named<'_>, case: &str) -> Result<Value, String> {
    let read = files.read(&["policies", "dataplane"]);
    let documents = &read.documents;
    let variant = case.rsplit('/').next().unwrap_or("");
    let (of_dataplane, of_policies) =
        dataplane_variant(variant).ok_or_else(|| format!("no such variant: {variant}"))?;
    let mut resources = read.resources(0);
    let kind = is_matched(&policies(documents, &resources));
    for resource in resources.iter_mut().filter(|r| r.meta.kind == kind) {
        resource.meta = of_policies.apply(&resource.meta);
    }
    let all = policies(documents, &resources);
    let routes: Vec<Policy> =
        all.iter().filter(|p| p.meta.kind == kinds::HTTP_ROUTE).cloned().collect();
    let mut dataplane = read.resources(1).into_iter().next().ok_or("there is no dataplane")?;
    dataplane.meta = of_dataplane.apply(&dataplane.meta);
    let dataplane = Dataplane::read(documents, &dataplane);
    let gateways: Vec<MeshGateway> = resources
        .iter()
        .filter(|r| r.meta.kind == kinds::GATEWAY)
        .map(|r| MeshGateway::read(documents, r))
        .collect();
    let context = SelectContext { routes: &routes, gateways: &gateways, profile: &RELEASE };
    let of_kind: Vec<&Policy> = all.iter().filter(|p| p.meta.kind == kind).collect();
    let matched = Matched::new(context, &of_kind, &dataplane);
    Ok(items(documents, &resources, &matched.all()))
}

/// Rules of a zone egress for an external service: whoever targets its tags.
fn egress(files: &Named<'_>) -> Result<Value, String> {
    let read = files.read(&["policies", "es"]);
    let documents = &read.documents;
    let all = policies(documents, &read.resources(0));
    let service = read.value(1);
    let tags = service.get("tags").and_then(Value::as_object).cloned().unwrap_or_default();
    let selects = |target: &TargetRef| {
        subset_of(target).is_some_and(|s| {
            s.tags().iter().all(|t| {
                tags.get(&*t.key)
                    .and_then(Value::as_str)
                    .is_some_and(|v| &*t.value == "*" || v == &*t.value)
            })
        })
    };
    let kind = is_matched(&all);
    let has_from = kind.known().and_then(|k| k.policy).is_some_and(|p| p.from);
    let sorted = in_order(&RELEASE, &all.iter().collect::<Vec<_>>());
    if has_from {
        let selected: Vec<&Policy> = sorted.into_iter().filter(|p| selects(&p.target)).collect();
        return Ok(from_rules(documents, &selected, &kind, ":0"));
    }
    let entries = sorted.iter().flat_map(|p| p.to.iter().map(move |e| (*p, e)));
    let items: Vec<(Item<'_>, Subset)> = entries
        .filter(|(_, e)| selects(&e.target))
        .filter_map(|(policy, entry)| Some((Item { policy, entry }, subset_of(&policy.target)?)))
        .collect();
    let rules = subset_rules_of(documents, items, false, EntryPosition::To);
    Ok(json!({"Rules": {":0": shapes::subset_rules(documents, &rules)}, "InboundRules": null}))
}
