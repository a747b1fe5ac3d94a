// SPDX-License-Identifier: Apache-2.0
//! In: numbers. Out: the resources of a mesh, one by one, as its global control plane has them. Not here: files, what
//! policies say (`policies`).
//!
//! ```text
//!  shape        app, version, namespace, zone and tier: what policies can tell apart
//!  dataplane    a replica of a shape; few shapes have most replicas, as few apps have
//!  service      of an app, in one zone
//!  policy       a fifth for the whole mesh, half by labels or tags, the rest in a namespace of a team
//! ```

mod policies;

use serde_json::{Map, Value, json};

use super::{Spec, names};
use crate::kuma::SYSTEM;
use crate::rng::Rng;

/// How big a mesh is, and what it is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshSpec {
    /// Same seed, same mesh.
    pub seed: u64,
    /// Zones.
    pub zones: u32,
    /// Namespaces of teams.
    pub namespaces: u32,
    /// Dataplanes.
    pub dataplanes: u32,
    /// How many of them differ in more than name and address.
    pub shapes: u32,
    /// MeshServices.
    pub services: u32,
    /// Policies by kind.
    pub policies: MeshPolicies,
    /// Access rules of each MeshTrafficPermission.
    pub access_rules: u32,
    /// Documents in a file.
    pub per_file: u32,
}

/// A number per kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshPolicies {
    /// MeshTimeout.
    pub timeouts: u32,
    /// MeshRetry.
    pub retries: u32,
    /// MeshCircuitBreaker.
    pub circuit_breakers: u32,
    /// MeshTrafficPermission.
    pub permissions: u32,
    /// MeshTrace.
    pub traces: u32,
    /// MeshMetric.
    pub metrics: u32,
}

impl MeshPolicies {
    /// Kinds, with how many there are of each.
    fn by_kind(self) -> [(&'static str, u32); 6] {
        [
            ("MeshTimeout", self.timeouts),
            ("MeshRetry", self.retries),
            ("MeshCircuitBreaker", self.circuit_breakers),
            ("MeshTrafficPermission", self.permissions),
            ("MeshTrace", self.traces),
            ("MeshMetric", self.metrics),
        ]
    }

    /// So many of all kinds together, shared out as kinds are found in meshes: most are about traffic that is sent.
    pub fn shared_out(sum: u32) -> Self {
        let part = |percent: u32| sum * percent / 100;
        let (retries, circuit_breakers, permissions) = (part(25), part(20), part(10));
        let (traces, metrics) = (part(5), part(5));
        let timeouts = sum - retries - circuit_breakers - permissions - traces - metrics;
        Self { timeouts, retries, circuit_breakers, permissions, traces, metrics }
    }

    /// All of them.
    pub fn sum(self) -> u32 {
        self.by_kind().iter().map(|(_, count)| count).sum()
    }
}

impl MeshSpec {
    /// A few of everything, for demonstrations.
    pub fn small() -> Self {
        Self {
            seed: 1,
            zones: 2,
            namespaces: 4,
            dataplanes: 24,
            shapes: 8,
            services: 12,
            policies: MeshPolicies::shared_out(40),
            access_rules: 3,
            per_file: 20,
        }
    }

    /// A mesh of medium size: 500 dataplanes of 20 teams.
    pub fn medium() -> Self {
        Self {
            zones: 3,
            namespaces: 20,
            dataplanes: 500,
            shapes: 50,
            services: 100,
            policies: MeshPolicies::shared_out(150),
            per_file: 50,
            ..Self::small()
        }
    }

    /// The mesh bar: 10,000 dataplanes of 50 shapes, 1,000 services, 500 policies.
    pub fn bar8() -> Self {
        Self {
            zones: 4,
            namespaces: 100,
            dataplanes: 10_000,
            shapes: 50,
            services: 1_000,
            policies: MeshPolicies::shared_out(500),
            per_file: 100,
            ..Self::small()
        }
    }

    /// A million resources, for the patient.
    pub fn million() -> Self {
        Self {
            zones: 12,
            namespaces: 2_000,
            dataplanes: 980_000,
            shapes: 500,
            services: 18_000,
            policies: MeshPolicies::shared_out(2_000),
            per_file: 500,
            ..Self::small()
        }
    }

    /// A preset by its name.
    pub fn preset(name: &str) -> Option<Self> {
        Some(match name {
            "small" => Self::small(),
            "medium" => Self::medium(),
            "bar8" => Self::bar8(),
            "million" => Self::million(),
            _ => return None,
        })
    }

    /// Namespace of an app or service.
    fn namespace(&self, n: u32) -> String {
        names::namespace_at(n.wrapping_mul(2_654_435_761) % self.namespaces.max(1))
    }

    fn zone(&self, n: u32) -> String {
        names::zone(n % self.zones.max(1))
    }
}

impl Spec for MeshSpec {
    fn resources(&self) -> u64 {
        let counts = [1, self.services, self.policies.sum(), self.dataplanes];
        counts.into_iter().map(u64::from).sum()
    }

    fn iter(&self) -> impl Iterator<Item = Value> {
        let mesh = json!({
            "type": "Mesh", "name": "default", "skipCreatingInitialPolicies": ["*"],
            "labels": {"kuma.io/display-name": "default", "kuma.io/origin": "global"},
        });
        let services = (0..self.services).map(|n| service(self, n));
        let policies = (0..self.policies.sum()).map(|n| policies::policy(self, n));
        let dataplanes = (0..self.dataplanes).map(|n| dataplane(self, n));
        std::iter::once(mesh).chain(services).chain(policies).chain(dataplanes)
    }

    fn per_file(&self) -> u32 {
        self.per_file
    }
}

/// Type, mesh, name and labels; without a zone it was made on the global control plane.
fn head(kind: &str, name: &str, zone: Option<String>, namespace: &str) -> Value {
    let origin = if zone.is_some() { "zone" } else { "global" };
    let mut labels = Map::from_iter([
        ("kuma.io/origin".to_owned(), Value::from(origin)),
        ("kuma.io/display-name".to_owned(), name.into()),
        ("kuma.io/mesh".to_owned(), "default".into()),
        ("k8s.kuma.io/namespace".to_owned(), namespace.into()),
    ]);
    if let Some(zone) = zone {
        labels.insert("kuma.io/zone".to_owned(), zone.into());
    }
    json!({"type": kind, "mesh": "default", "name": format!("{name}.{namespace}"), "labels": labels})
}

/// Of how many shapes the first replicas are.
fn shape_of(spec: &MeshSpec, dataplane: u32) -> u32 {
    let shapes = spec.shapes.max(1);
    if dataplane < shapes {
        return dataplane;
    }
    // The less of two throws: the first shapes have about twice the replicas of the middle ones.
    let mut rng = Rng::new(spec.seed, "replica", u64::from(dataplane));
    let throws = [rng.below(u64::from(shapes)), rng.below(u64::from(shapes))];
    u32::try_from(throws[0].min(throws[1])).expect("below a u32")
}

fn version(shape: u32) -> String {
    format!("v{}", 1 + shape % 3)
}

fn dataplane(spec: &MeshSpec, n: u32) -> Value {
    let shape = shape_of(spec, n);
    let app = names::service(shape);
    let (namespace, zone) = (spec.namespace(shape), spec.zone(shape));
    // The ending of a pod of a Deployment: generation and number.
    let name = format!("{app}-{:08x}-{n:05}", shape.wrapping_mul(2_654_435_761));
    let mut proxy = head("Dataplane", &name, Some(zone.clone()), &namespace);
    let labels = [
        ("app", app.clone()),
        ("version", version(shape)),
        ("tier", names::tier(shape).to_owned()),
        ("team", names::team_of(&namespace).to_owned()),
    ];
    for (key, value) in labels {
        proxy["labels"][key] = value.into();
    }
    let tags = json!({
        "kuma.io/service": format!("{app}_{namespace}_svc_8080"), "version": version(shape), "kuma.io/zone": zone,
        "k8s.kuma.io/namespace": namespace,
    });
    let address = format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255);
    let admin = json!({"kuma.io/service": format!("{app}_admin")});
    proxy["networking"] = json!({
        "address": address,
        "inbound": [
            {"port": 8080, "name": "http", "protocol": "http", "tags": tags},
            {"port": 9000, "name": "admin", "tags": admin},
        ],
    });
    proxy
}

fn service(spec: &MeshSpec, n: u32) -> Value {
    let app = names::service(n);
    let mut service = head("MeshService", &app, Some(spec.zone(n)), &spec.namespace(n));
    service["labels"]["tier"] = names::tier(n).into();
    let mut ports =
        vec![json!({"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"})];
    if n.is_multiple_of(4) {
        ports.push(json!({"name": "grpc", "port": 81, "targetPort": 8081, "appProtocol": "grpc"}));
    }
    service["spec"] = json!({"ports": ports, "selector": {"dataplaneTags": {"app": app}}});
    service
}
