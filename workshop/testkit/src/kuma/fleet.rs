// SPDX-License-Identifier: Apache-2.0
//! In: sizes. Out: proxies that are replicas of a few shapes, services of ten teams in four zones, and policies for
//! all, some or one team of them. Not here: small nasty worlds (`world`).
//!
//! ```text
//!  proxies    replicas of shape s: app-s of team s mod 10 in zone s mod 4, version and tier from s; two inbounds
//!  services   svc-i of team i mod 10 in zone i mod 4; one or two ports
//!  policies   20 % for the whole mesh, 50 % by labels or tags, 30 % in the namespace of a team
//! ```

use serde_json::{Map, Value, json};

use super::confs::conf;
use super::read::SYSTEM;
use crate::rng::Rng;
use crate::yaml;

/// How many of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fleet {
    /// Dataplanes.
    pub proxies: usize,
    /// How many of them differ in more than name and address.
    pub shapes: usize,
    /// MeshServices.
    pub services: usize,
    /// Policies of all kinds.
    pub policies: usize,
}

const TEAMS: usize = 10;
const ZONES: usize = 4;
/// As kinds are found in meshes: most policies are about traffic that is sent.
const POOL: [&str; 20] = [
    "MeshTimeout",
    "MeshTimeout",
    "MeshTimeout",
    "MeshTimeout",
    "MeshTimeout",
    "MeshTimeout",
    "MeshTimeout",
    "MeshRetry",
    "MeshRetry",
    "MeshRetry",
    "MeshRetry",
    "MeshRetry",
    "MeshCircuitBreaker",
    "MeshCircuitBreaker",
    "MeshCircuitBreaker",
    "MeshCircuitBreaker",
    "MeshTrafficPermission",
    "MeshTrafficPermission",
    "MeshTrace",
    "MeshMetric",
];

/// A fleet as YAML. The same sizes are the same fleet.
pub fn fleet(size: Fleet) -> String {
    yaml::documents(&fleet_documents(size))
}

/// [`fleet`] as JSON.
pub fn fleet_documents(size: Fleet) -> Vec<Value> {
    let mut all = vec![json!({
        "type": "Mesh", "name": "default", "labels": {"kuma.io/display-name": "default", "kuma.io/origin": "global"},
    })];
    all.extend((0..size.services).map(service));
    all.extend((0..size.policies).map(|number| policy(size, number)));
    all.extend((0..size.proxies).map(|number| proxy(size, number)));
    all
}

fn team(number: usize) -> String {
    format!("team-{}", number % TEAMS)
}

fn zone(number: usize) -> String {
    format!("zone-{}", number % ZONES)
}

fn tier(number: usize) -> String {
    format!("tier-{}", number % 5)
}

fn version(number: usize) -> String {
    format!("v{}", number % 3)
}

/// Type, mesh, name and labels; without a zone it was made on the global control plane.
fn head(kind: &str, name: &str, zone: Option<String>, namespace: &str) -> Value {
    let mut labels = Map::new();
    let origin = if zone.is_some() { "zone" } else { "global" };
    labels.insert("kuma.io/origin".to_owned(), origin.into());
    labels.insert("kuma.io/display-name".to_owned(), name.into());
    labels.insert("kuma.io/mesh".to_owned(), "default".into());
    labels.insert("k8s.kuma.io/namespace".to_owned(), namespace.into());
    if let Some(zone) = zone {
        labels.insert("kuma.io/zone".to_owned(), zone.into());
    }
    json!({
        "type": kind, "mesh": "default", "name": format!("{name}.{namespace}"), "labels": labels, "spec": {},
    })
}

fn proxy(size: Fleet, number: usize) -> Value {
    let shape = number % size.shapes.max(1);
    let app = format!("app-{shape}");
    let mut proxy = head("Dataplane", &format!("{app}-{number}"), Some(zone(shape)), &team(shape));
    proxy.as_object_mut().expect("an object").remove("spec");
    let labels = [("app", app.clone()), ("version", version(shape)), ("tier", tier(shape / 7))];
    for (key, value) in labels {
        proxy["labels"][key] = value.into();
    }
    let tags = json!({
        "kuma.io/service": format!("{app}_{}_svc_80", team(shape)), "version": version(shape), "kuma.io/zone": zone(shape),
        "k8s.kuma.io/namespace": team(shape),
    });
    let address = format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
    proxy["networking"] = json!({
        "address": address,
        "inbound": [
            {"port": 80, "name": "http", "protocol": "http", "tags": tags},
            {"port": 9000, "name": "admin", "tags": {"kuma.io/service": format!("{app}_admin")}},
        ],
    });
    proxy
}

fn service(number: usize) -> Value {
    let mut service =
        head("MeshService", &format!("svc-{number}"), Some(zone(number)), &team(number));
    service["labels"]["tier"] = tier(number).into();
    let mut ports =
        vec![json!({"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"})];
    if number.is_multiple_of(2) {
        let port = json!({"name": "grpc", "port": 81, "targetPort": 8081, "appProtocol": "grpc"});
        ports.push(port);
    }
    let selector = json!({"dataplaneTags": {"app": format!("app-{number}")}});
    service["spec"] = json!({"ports": ports, "selector": selector});
    service
}

fn policy(size: Fleet, number: usize) -> Value {
    let mut rng = Rng::new(1, "kuma fleet", number as u64);
    let rng = &mut rng;
    let kind = *rng.pick(&POOL);
    let name = format!("policy-{number}");
    let (place, target) = match rng.below(10) {
        0..2 => (None, json!({"kind": "Mesh"})),
        2..7 => (None, some(rng, size)),
        _ => (Some(some_number(rng, TEAMS * ZONES)), json!({"kind": "Mesh"})),
    };
    let namespace = place.map_or_else(|| SYSTEM.to_owned(), team);
    let mut policy = head(kind, &name, place.map(zone), &namespace);
    let count = 1 + some_number(rng, 3);
    let spec = &mut policy["spec"];
    spec["targetRef"] = target;
    let list = match kind {
        "MeshTrace" | "MeshMetric" => {
            spec["default"] = conf(rng, kind, number);
            "default"
        }
        "MeshTrafficPermission" => "from",
        "MeshTimeout" | "MeshCircuitBreaker" if rng.percent(25) => "rules",
        _ => "to",
    };
    if list != "default" {
        spec[list] = (0..count).map(|e| entry(rng, size, kind, list, number + e)).collect();
    }
    let role = match (place, list) {
        (None, _) => "system",
        (_, "to") => "consumer",
        _ => "workload-owner",
    };
    policy["labels"]["kuma.io/policy-role"] = role.into();
    policy
}

/// A reference that selects some of the shapes.
fn some(rng: &mut Rng, size: Fleet) -> Value {
    let number = some_number(rng, size.shapes);
    match rng.below(5) {
        0 => json!({"kind": "MeshSubset", "tags": {"version": version(number)}}),
        1 => {
            let tags = json!({"k8s.kuma.io/namespace": team(number), "kuma.io/zone": zone(number)});
            json!({"kind": "MeshSubset", "tags": tags})
        }
        2 => json!({"kind": "Dataplane", "labels": {"tier": tier(number)}}),
        3 => json!({"kind": "Dataplane", "labels": {"app": format!("app-{number}")}}),
        _ => {
            let labels = json!({"version": version(number), "k8s.kuma.io/namespace": team(number)});
            json!({"kind": "Dataplane", "labels": labels})
        }
    }
}

fn some_number(rng: &mut Rng, end: usize) -> usize {
    usize::try_from(rng.below(end as u64)).expect("a small number")
}

fn entry(rng: &mut Rng, size: Fleet, kind: &str, list: &str, number: usize) -> Value {
    let conf = conf(rng, kind, number);
    match list {
        "rules" => json!({"default": conf}),
        "from" => {
            let caller = format!("app-{}", some_number(rng, size.shapes));
            let target = if rng.percent(20) {
                json!({"kind": "Mesh"})
            } else {
                json!({"kind": "MeshSubset", "tags": {"kuma.io/service": caller}})
            };
            json!({"targetRef": target, "default": conf})
        }
        _ => json!({"targetRef": destination(rng, size), "default": conf}),
    }
}

/// The mesh, or a service by what it is called and where it is, or one of its ports.
fn destination(rng: &mut Rng, size: Fleet) -> Value {
    if rng.percent(25) {
        return json!({"kind": "Mesh"});
    }
    let number = some_number(rng, size.services);
    let labels = json!({
        "kuma.io/display-name": format!("svc-{number}"), "k8s.kuma.io/namespace": team(number),
        "kuma.io/zone": zone(number),
    });
    let mut target = json!({"kind": "MeshService", "labels": labels});
    if rng.percent(25) {
        target["sectionName"] = "http".into();
    }
    target
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Fleet, fleet, fleet_documents};
    use crate::kuma::{OracleConf, OracleMeshes, Profile};

    const SIZE: Fleet = Fleet { proxies: 240, shapes: 40, services: 100, policies: 200 };

    #[test]
    fn replicas_get_the_same_and_shapes_do_not() {
        let documents = fleet_documents(SIZE);
        assert_eq!(documents.len(), 1 + 240 + 100 + 200);
        let world = OracleMeshes::read(&documents);
        for profile in Profile::ALL {
            let answers: Vec<_> = (0..240).map(|proxy| world.answers(proxy, profile)).collect();
            for (number, answer) in answers.iter().enumerate() {
                assert_eq!(*answer, answers[number % 40], "{number}");
                assert!(answer.len() > 4, "most kinds say something: {:?}", answer.keys());
            }
            let distinct: BTreeSet<String> =
                answers.iter().map(|answer| format!("{answer:?}")).collect();
            assert_eq!(distinct.len(), 40);
            let to = |a: &OracleConf| a.to.len();
            let rules: usize = answers[0].values().map(to).sum();
            assert!(rules > 20, "{rules}");
        }
    }

    #[test]
    fn the_text_is_the_documents() {
        let size = Fleet { proxies: 12, shapes: 5, services: 10, policies: 30 };
        assert_eq!(crate::kgateway::documents(&fleet(size)), fleet_documents(size));
    }
}
