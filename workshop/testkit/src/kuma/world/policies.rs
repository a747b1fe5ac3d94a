// SPDX-License-Identifier: Apache-2.0
//! In: a draft with proxies and destinations. Out: policies that want the same. Not here: what they come to.

use serde_json::{Value, json};

use super::super::confs::conf;
use super::{APPS, CUSTOM, Draft, PORT_NAMES, Place, SERVICES, SYSTEM, VERSIONS, ZONES};

/// Of names that begin alike, which comes first depends on what follows them.
const NAMES: [&str; 5] = ["p", "p-a", "p.b", "q", "o"];
/// Kinds of policies, those with most to decide more often.
const POOL: [&str; 12] = [
    "MeshTimeout",
    "MeshTimeout",
    "MeshTimeout",
    "MeshTimeout",
    "MeshCircuitBreaker",
    "MeshCircuitBreaker",
    "MeshCircuitBreaker",
    "MeshRetry",
    "MeshRetry",
    "MeshTrace",
    "MeshMetric",
    "MeshTrafficPermission",
];

/// The most entries in one list: with the most policies, numbers of entries stay below sixty.
const ENTRIES: usize = 3;

/// Ten to nineteen, of two kinds: policies of different kinds have nothing to do with each other.
pub(super) fn all(draft: &mut Draft) {
    let named = draft.percent(60);
    let kinds = [draft.pick(&POOL), draft.pick(&POOL)];
    for number in 0..10 + draft.below(10) {
        let kind = draft.pick(&kinds);
        policy(draft, kind, number, named);
    }
}

/// What a policy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    To,
    Rules,
    From,
    /// Only operators may write both in one policy.
    ToAndFrom,
    Single,
}

impl Holds {
    fn of(draft: &mut Draft, kind: &str, custom: bool) -> Self {
        let dice = draft.below(100);
        match kind {
            "MeshRetry" => Self::To,
            "MeshTrace" | "MeshMetric" => Self::Single,
            "MeshTrafficPermission" => Self::From,
            _ if dice < 25 && !custom => Self::ToAndFrom,
            _ if dice < 60 => Self::To,
            _ if dice < 85 => Self::Rules,
            _ => Self::From,
        }
    }

    fn has_to(self) -> bool {
        matches!(self, Self::To | Self::ToAndFrom)
    }

    fn has_from(self) -> bool {
        matches!(self, Self::From | Self::ToAndFrom)
    }

    fn has_rules(self) -> bool {
        self == Self::Rules
    }
}

fn place(draft: &mut Draft) -> Place {
    let zone = Some(draft.pick(&ZONES));
    match draft.below(100) {
        0..30 => draft.on_global(),
        30..40 => Place { zone, namespace: None },
        40..55 => Place { zone, namespace: Some(SYSTEM) },
        55..85 => Place { zone, namespace: Some(CUSTOM[0]) },
        _ => Place { zone, namespace: Some(CUSTOM[1]) },
    }
}

fn policy(draft: &mut Draft, kind: &'static str, number: usize, named: bool) {
    let (mesh, place, display) = (draft.mesh(), place(draft), draft.pick(&NAMES));
    let custom = place.namespace.is_some_and(|namespace| namespace != SYSTEM);
    let holds = Holds::of(draft, kind, custom);
    let Some(mut policy) = draft.head(kind, mesh, display, place) else { return };
    let mut spec = json!({});
    if draft.percent(95) {
        spec["targetRef"] = target(draft, holds, named, place);
    }
    // A policy in a custom namespace speaks for its own services or for its own proxies, never for both.
    let producer = custom && draft.percent(40);
    let numbered = |entry: usize| number * ENTRIES + entry;
    if holds.has_to() {
        spec["to"] = (0..1 + draft.below(ENTRIES as u64))
            .map(|e| to_entry(draft, kind, numbered(e), place, producer))
            .collect();
    }
    if holds.has_from() {
        spec["from"] = (0..1 + draft.below(ENTRIES as u64))
            .map(|e| from_entry(draft, kind, numbered(e)))
            .collect();
    }
    if holds.has_rules() {
        spec["rules"] =
            (0..1 + draft.below(ENTRIES as u64)).map(|e| rule(draft, kind, numbered(e))).collect();
    }
    if holds == Holds::Single {
        spec["default"] = conf(&mut draft.rng, kind, numbered(0));
    }
    let role = match (holds.has_to(), producer) {
        _ if !custom => "system",
        (false, _) => "workload-owner",
        (true, true) => "producer",
        (true, false) => "consumer",
    };
    // On Universal nobody writes a role.
    if place.namespace.is_some() {
        policy["labels"]["kuma.io/policy-role"] = role.into();
    }
    if draft.percent(4) {
        policy["labels"]["kuma.io/effect"] = "shadow".into();
    }
    policy["spec"] = spec;
    draft.objects.push(policy);
}

/// Whom a policy is for.
fn target(draft: &mut Draft, holds: Holds, named: bool, place: Place) -> Value {
    match draft.below(100) {
        0..30 => json!({"kind": "Mesh"}),
        30..38 => {
            let types = [json!(["Sidecar"]), json!(["Gateway"]), json!(["Sidecar", "Gateway"])];
            json!({"kind": "Mesh", "proxyTypes": draft.rng.pick(&types)})
        }
        38..73 => dataplane(draft, holds, named, place),
        73..90 => json!({"kind": "MeshSubset", "tags": tags(draft)}),
        _ => json!({"kind": "MeshService", "name": draft.pick(&SERVICES)}),
    }
}

/// By name, by labels, or all of them; with a section only if there is something to say about inbounds.
fn dataplane(draft: &mut Draft, holds: Holds, named: bool, place: Place) -> Value {
    let mut reference = json!({"kind": "Dataplane"});
    if draft.percent(50) {
        reference["labels"] = labels(draft);
    } else if named {
        name_proxy(draft, &mut reference, place);
    }
    if (holds.has_from() || holds.has_rules()) && draft.percent(40) {
        let sections = [PORT_NAMES[0], PORT_NAMES[1], "8080", "8081", "8082"];
        reference["sectionName"] = draft.pick(&sections).into();
    }
    reference
}

/// A proxy of the policy's zone if there is one, in the policy's namespace or with its own; now and then any name.
fn name_proxy(draft: &mut Draft, reference: &mut Value, place: Place) {
    let near =
        |o: &&Value| o["type"] == "Dataplane" && o["labels"]["kuma.io/zone"].as_str() == place.zone;
    let near: Vec<Value> = draft.objects.iter().filter(near).cloned().collect();
    if near.is_empty() || draft.percent(15) {
        reference["name"] = draft.pick(&SERVICES).into();
        if draft.percent(40) {
            reference["namespace"] = draft.pick(&CUSTOM).into();
        }
        return;
    }
    let labels = &draft.rng.pick(&near)["labels"];
    reference["name"] = labels["kuma.io/display-name"].clone();
    let namespace = labels["k8s.kuma.io/namespace"].as_str();
    if let Some(namespace) = namespace
        && (place.namespace != Some(namespace) || draft.percent(30))
    {
        reference["namespace"] = namespace.into();
    }
}

/// One or two labels that some proxies and destinations have.
fn labels(draft: &mut Draft) -> Value {
    let mut labels = json!({});
    match draft.below(4) {
        0 => labels["kuma.io/display-name"] = draft.pick(&SERVICES).into(),
        1 => labels["k8s.kuma.io/namespace"] = draft.pick(&CUSTOM).into(),
        _ => labels["app"] = draft.pick(&APPS).into(),
    }
    if draft.percent(25) {
        labels["kuma.io/zone"] = draft.pick(&ZONES).into();
    }
    labels
}

/// One or two tags that some inbounds have.
fn tags(draft: &mut Draft) -> Value {
    let mut tags = json!({});
    match draft.below(4) {
        0 => tags["kuma.io/service"] = draft.pick(&SERVICES).into(),
        1 => tags["k8s.kuma.io/namespace"] = draft.pick(&CUSTOM).into(),
        _ => tags["version"] = draft.pick(&VERSIONS).into(),
    }
    if draft.percent(30) {
        tags["kuma.io/service"] = draft.pick(&SERVICES).into();
    }
    tags
}

fn to_entry(draft: &mut Draft, kind: &str, number: usize, place: Place, producer: bool) -> Value {
    let target = match producer {
        true => own_service(draft, place),
        false => any_destination(draft, kind, place),
    };
    json!({"targetRef": target, "default": conf(&mut draft.rng, kind, number)})
}

/// A service of the policy's own namespace, by name: only such entries make a producer.
fn own_service(draft: &mut Draft, place: Place) -> Value {
    let mut target = json!({"kind": "MeshService", "name": draft.pick(&SERVICES)});
    if draft.percent(30) {
        target["namespace"] = place.namespace.expect("a namespace").into();
    }
    section(draft, &mut target);
    target
}

/// Anything that does not make a producer of a policy in a custom namespace.
fn any_destination(draft: &mut Draft, policy: &str, place: Place) -> Value {
    let kind = match draft.below(100) {
        0..25 => return json!({"kind": "Mesh"}),
        25..60 => "MeshService",
        60..85 => "MeshMultiZoneService",
        // The release refuses it about external services.
        _ if policy == "MeshCircuitBreaker" => "MeshMultiZoneService",
        _ => "MeshExternalService",
    };
    let mut target = json!({"kind": kind});
    let custom = place.namespace.filter(|namespace| *namespace != SYSTEM);
    match draft.below(2) {
        _ if kind == "MeshMultiZoneService" && draft.percent(70) => {
            target["labels"] = json!({"app": draft.pick(&APPS)});
        }
        0 => {
            target["name"] = draft.pick(&SERVICES).into();
            match (kind, custom) {
                ("MeshService", Some(own)) => {
                    let other = if own == CUSTOM[0] { CUSTOM[1] } else { CUSTOM[0] };
                    target["namespace"] = other.into();
                }
                ("MeshService", None) if draft.percent(60) => {
                    target["namespace"] = draft.pick(&CUSTOM).into();
                }
                (_, Some(_)) if draft.percent(60) => target["namespace"] = SYSTEM.into(),
                _ => {}
            }
        }
        _ => target["labels"] = labels(draft),
    }
    if kind != "MeshExternalService" {
        section(draft, &mut target);
    }
    target
}

/// Now and then a port; sometimes one nobody has, or one that has a name and cannot be meant by number.
fn section(draft: &mut Draft, target: &mut Value) {
    if draft.percent(40) {
        let sections = [PORT_NAMES[0], PORT_NAMES[0], PORT_NAMES[1], "80", "81"];
        target["sectionName"] = draft.pick(&sections).into();
    }
}

/// About clients if the kind can tell them apart, about all of them otherwise.
fn from_entry(draft: &mut Draft, kind: &str, number: usize) -> Value {
    let target = match draft.below(4) {
        0 if kind == "MeshTrafficPermission" => {
            json!({"kind": "MeshService", "name": draft.pick(&SERVICES)})
        }
        1 if kind == "MeshTrafficPermission" => {
            let tags = json!({"version": draft.pick(&VERSIONS)});
            json!({"kind": "MeshServiceSubset", "name": draft.pick(&SERVICES), "tags": tags})
        }
        2 if kind == "MeshTrafficPermission" => {
            json!({"kind": "MeshSubset", "tags": {"version": draft.pick(&VERSIONS)}})
        }
        _ => json!({"kind": "Mesh"}),
    };
    json!({"targetRef": target, "default": conf(&mut draft.rng, kind, number)})
}

fn rule(draft: &mut Draft, kind: &str, number: usize) -> Value {
    let mut rule = json!({"default": conf(&mut draft.rng, kind, number)});
    if kind == "MeshTimeout" && draft.percent(8) {
        let id = json!({"type": "Exact", "value": "spiffe://default/web"});
        rule["matches"] = json!([{"spiffeID": id}]);
    }
    rule
}
