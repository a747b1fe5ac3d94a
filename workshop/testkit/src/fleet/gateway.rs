// SPDX-License-Identifier: Apache-2.0
//! In: numbers. Out: the resources of a gateway fleet, one by one. Not here: files, policies of a family.

use serde_json::{Value, json};

use super::{Spec, kgateway, kuadrant, names, policies};
use crate::rng::Rng;

/// How big a fleet is, and what it is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSpec {
    /// Same seed, same fleet.
    pub seed: u64,
    /// Gateways.
    pub gateways: u32,
    /// Listeners of each gateway.
    pub listeners: u32,
    /// Routes.
    pub routes: u32,
    /// Rules of each route.
    pub rules: u32,
    /// Whether a route attaches to all listeners of its gateway, or to one or two of them.
    pub all_listeners: bool,
    /// Namespaces of routes.
    pub namespaces: u32,
    /// Whose policies it has.
    pub family: FleetFamily,
    /// Policy kinds: the first so many of the family.
    pub kinds: u32,
    /// Policies, all kinds together, by level.
    pub policies: PerLevel,
    /// Percent of policies that have the target of the one before.
    pub conflicts: u8,
    /// Percent of policies with a creation time.
    pub created: u8,
    /// Percent of route policies that target by label.
    pub selectors: u8,
    /// Percent of overrides with a condition on the policy below them; only Kuadrant has such.
    pub conditions: u8,
    /// Percent of policies on routes and rules that remove a rule of the policies above; only Kuadrant has such.
    pub removals: u8,
    /// How many routes stand between a gateway and a route with backends; only kgateway delegates.
    pub delegation: u32,
    /// Whether the Services that routes send to are part of it.
    pub services: bool,
    /// Documents in a file.
    pub per_file: u32,
}

/// Whose policies a fleet has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetFamily {
    /// Example kinds, with their descriptors.
    Gateway,
    /// AuthPolicy, RateLimitPolicy, TokenRateLimitPolicy.
    Kuadrant,
    /// TrafficPolicy.
    Kgateway,
}

impl FleetFamily {
    /// How many kinds there are to choose from.
    pub fn kinds(self) -> u32 {
        match self {
            Self::Gateway => policies::KINDS,
            Self::Kuadrant => kuadrant::KINDS,
            Self::Kgateway => 1,
        }
    }

    fn class(self) -> (&'static str, &'static str) {
        match self {
            Self::Gateway => ("edge", "gateway.example.com/edge"),
            Self::Kuadrant => ("kuadrant", "gateway.example.com/kuadrant"),
            Self::Kgateway => ("kgateway", "kgateway.dev/kgateway"),
        }
    }
}

/// A number per level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerLevel {
    /// On gateways.
    pub gateway: u32,
    /// On listeners.
    pub listener: u32,
    /// On routes.
    pub route: u32,
    /// On rules.
    pub rule: u32,
}

impl PerLevel {
    /// All of them.
    pub fn sum(self) -> u32 {
        self.gateway + self.listener + self.route + self.rule
    }
}

impl FleetSpec {
    /// A few of everything: five kinds, Services, conflicts; for demonstrations and fuzz seeds.
    pub fn small() -> Self {
        Self {
            seed: 1,
            gateways: 2,
            listeners: 3,
            routes: 12,
            rules: 2,
            all_listeners: false,
            namespaces: 4,
            family: FleetFamily::Gateway,
            kinds: policies::KINDS,
            policies: PerLevel { gateway: 8, listener: 8, route: 18, rule: 12 },
            conflicts: 20,
            created: 70,
            selectors: 20,
            conditions: 0,
            removals: 0,
            delegation: 0,
            services: true,
            per_file: 20,
        }
    }

    /// A platform of medium size: 500 routes of 50 teams.
    pub fn medium() -> Self {
        let policies = PerLevel { gateway: 20, listener: 40, route: 200, rule: 60 };
        Self {
            gateways: 10,
            listeners: 4,
            routes: 500,
            namespaces: 50,
            policies,
            per_file: 50,
            ..Self::small()
        }
    }

    /// The whole-fleet bar: 100,000 routes, 10,000 policies of three kinds on four levels, 100 gateways.
    pub fn bar1() -> Self {
        Self {
            seed: 1,
            gateways: 100,
            listeners: 4,
            routes: 100_000,
            rules: 2,
            all_listeners: false,
            namespaces: 500,
            family: FleetFamily::Gateway,
            kinds: 3,
            policies: PerLevel { gateway: 300, listener: 700, route: 6_000, rule: 3_000 },
            conflicts: 5,
            created: 80,
            selectors: 3,
            conditions: 0,
            removals: 0,
            delegation: 0,
            services: false,
            per_file: 100,
        }
    }

    /// The scale bar: 100,000 routes, 20,000 policies of three kinds on four levels, 100 gateways.
    pub fn bar8() -> Self {
        let policies = PerLevel { gateway: 300, listener: 1_200, route: 12_500, rule: 6_000 };
        Self { policies, ..Self::bar1() }
    }

    /// The scale bar on one gateway: as many routes and policies. It has 64 listeners, the most that the Gateway API
    /// allows, and one policy of each kind per place above the routes, so the rest are on routes.
    pub fn bar8_one_gateway() -> Self {
        let policies = PerLevel { gateway: 3, listener: 192, route: 13_805, rule: 6_000 };
        Self { gateways: 1, listeners: 64, policies, ..Self::bar8() }
    }

    /// The big-gateway bar: one gateway, 64 listeners, every route on all of them, 16 rules each.
    pub fn bar2(routes: u32) -> Self {
        let part = |share: u32| (routes * share / 1000).max(1);
        Self {
            gateways: 1,
            listeners: 64,
            routes,
            rules: 16,
            all_listeners: true,
            namespaces: (routes / 20).max(1),
            policies: PerLevel { gateway: 3, listener: 32, route: part(300), rule: part(300) },
            selectors: 0,
            ..Self::bar1()
        }
    }

    /// A million resources, for the patient.
    pub fn million() -> Self {
        let policies = PerLevel { gateway: 1_000, listener: 4_000, route: 60_000, rule: 33_000 };
        Self {
            gateways: 1_000,
            routes: 900_000,
            namespaces: 5_000,
            policies,
            per_file: 500,
            ..Self::bar1()
        }
    }

    /// A preset by its name.
    pub fn preset(name: &str) -> Option<Self> {
        Some(match name {
            "small" => Self::small(),
            "medium" => Self::medium(),
            "bar1" => Self::bar1(),
            "bar2" => Self::bar2(1_000),
            "bar8" => Self::bar8(),
            "bar8-one-gateway" => Self::bar8_one_gateway(),
            "million" => Self::million(),
            _ => return None,
        })
    }

    /// The same gateways and routes with Kuadrant's policies; some overrides have conditions, some routes remove rules.
    #[must_use]
    pub fn kuadrant(self) -> Self {
        let kinds = self.kinds.min(kuadrant::KINDS);
        Self {
            family: FleetFamily::Kuadrant,
            kinds,
            selectors: 0,
            conditions: 20,
            removals: 5,
            ..self
        }
    }

    /// The same gateways and routes with kgateway's policies, each route behind so many that delegate to it.
    #[must_use]
    pub fn kgateway(self, delegation: u32) -> Self {
        Self { family: FleetFamily::Kgateway, kinds: 1, delegation, ..self }
    }

    /// The same fleet at a fraction of its size; gateways and kinds stay.
    #[must_use]
    pub fn divided_by(self, n: u32) -> Self {
        let part = |count: u32| count.div_ceil(n);
        let PerLevel { gateway, listener, route, rule } = self.policies;
        let policies = PerLevel {
            gateway: part(gateway),
            listener: part(listener),
            route: part(route),
            rule: part(rule),
        };
        let (routes, namespaces) = (part(self.routes), part(self.namespaces));
        Self { routes, namespaces, gateways: part(self.gateways), policies, ..self }
    }

    /// Routes that only delegate: a chain for each namespace.
    pub(super) fn delegates(&self) -> u32 {
        match self.family {
            FleetFamily::Kgateway => self.namespaces.max(1) * self.delegation,
            FleetFamily::Gateway | FleetFamily::Kuadrant => 0,
        }
    }
}

impl Spec for FleetSpec {
    fn resources(&self) -> u64 {
        Section::ALL.iter().map(|s| u64::from(s.count(self))).sum()
    }

    fn iter(&self) -> impl Iterator<Item = Value> {
        Section::ALL
            .into_iter()
            .flat_map(move |s| (0..s.count(self)).map(move |i| s.resource(self, i)))
    }

    fn per_file(&self) -> u32 {
        self.per_file
    }
}

/// Runs of resources of one sort.
#[derive(Debug, Clone, Copy)]
enum Section {
    Class,
    Kinds,
    Gateways,
    Delegates,
    Routes,
    Services,
    Policies,
}

impl Section {
    const ALL: [Self; 7] = [
        Self::Class,
        Self::Kinds,
        Self::Gateways,
        Self::Delegates,
        Self::Routes,
        Self::Services,
        Self::Policies,
    ];

    fn count(self, spec: &FleetSpec) -> u32 {
        match self {
            Self::Class => 1,
            // What a family's kinds mean is known.
            Self::Kinds if spec.family == FleetFamily::Gateway => spec.kinds,
            Self::Gateways => spec.gateways,
            Self::Delegates => spec.delegates(),
            Self::Routes => spec.routes,
            Self::Services if spec.services => spec.routes,
            Self::Kinds | Self::Services => 0,
            Self::Policies => spec.policies.sum(),
        }
    }

    fn resource(self, spec: &FleetSpec, i: u32) -> Value {
        match self {
            Self::Class => {
                let (name, controller) = spec.family.class();
                let body = json!({"controllerName": controller});
                gateway_api("GatewayClass", json!({"name": name}), body)
            }
            Self::Kinds => policies::kind(i),
            Self::Gateways => gateway(spec, i),
            Self::Delegates => kgateway::delegate(spec, i),
            Self::Routes => route(spec, i),
            Self::Services => service(spec, i),
            Self::Policies => match spec.family {
                FleetFamily::Gateway => policies::policy(spec, i),
                FleetFamily::Kuadrant => kuadrant::policy(spec, i),
                FleetFamily::Kgateway => kgateway::policy(spec, i),
            },
        }
    }
}

pub(super) fn gateway_api(kind: &str, metadata: Value, spec: Value) -> Value {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec})
}

fn gateway(spec: &FleetSpec, i: u32) -> Value {
    let name = names::gateway(i);
    let listeners: Vec<Value> = (0..spec.listeners)
        .map(|l| {
            let mut listener = json!({
                "name": names::listener(l),
                "port": if l == 0 { 80 } else { 443 },
                "protocol": if l == 0 { "HTTP" } else { "HTTPS" },
                "allowedRoutes": {"namespaces": {"from": "All"}},
            });
            if l > 0 {
                listener["hostname"] = names::listener_host(spec, i, l).into();
                listener["tls"] = json!({"certificateRefs": [{"name": format!("{name}-{}", names::listener(l))}]});
            }
            // Every route of a fleet that uses all listeners has no hostname, so ports keep them apart.
            if spec.all_listeners {
                listener["port"] = (8000 + l).into();
            }
            listener
        })
        .collect();
    let metadata = json!({
        "name": name,
        "namespace": names::gateway_namespace(i),
        "labels": {"region": names::region(i), "managed-by": "platform"},
    });
    gateway_api(
        "Gateway",
        metadata,
        json!({"gatewayClassName": spec.family.class().0, "listeners": listeners}),
    )
}

fn route(spec: &FleetSpec, i: u32) -> Value {
    let mut rng = Rng::new(spec.seed, "route", u64::from(i));
    let gateway = i % spec.gateways.max(1);
    let delegated = spec.delegates() > 0;
    let mut parent =
        json!({"name": names::gateway(gateway), "namespace": names::gateway_namespace(gateway)});
    let mut body = json!({});
    if !spec.all_listeners {
        // Half of the routes name their listener; the others go wherever their hostname fits, port 80 included.
        let listener = 1 + u32::try_from(rng.below(u64::from(spec.listeners.max(2) - 1))).unwrap();
        if rng.percent(50) {
            parent["sectionName"] = names::listener(listener).into();
        }
        body["hostnames"] = json!([names::host(spec, gateway, listener, i)]);
    }
    body["parentRefs"] = json!([parent]);
    if delegated {
        // It goes wherever the last route of its namespace's chain says, under the hostname of the first one.
        body = json!({});
    }
    let service = names::service(i);
    let rules: Vec<Value> = (0..spec.rules.max(1))
        .map(|r| {
            let mut rule = json!({"backendRefs": [{"name": service, "port": 8080}]});
            let mut path = if r == 0 { "/".to_owned() } else { format!("/{}", names::path(i, r)) };
            if delegated {
                path = format!("/{}/{service}{path}", names::namespace(spec, i));
            }
            rule["matches"] = json!([{"path": {"type": "PathPrefix", "value": path}}]);
            if names::rule_is_named(spec, i, r) {
                rule["name"] = names::rule(spec, i, r).into();
            }
            rule
        })
        .collect();
    body["rules"] = rules.into();
    let mut metadata = json!({
        "name": service,
        "namespace": names::namespace(spec, i),
        "labels": {"app.kubernetes.io/name": service, "team": names::team(spec, i), "tier": names::tier(i)},
    });
    if delegated {
        metadata["labels"][kgateway::LABEL] = names::namespace(spec, i).into();
    }
    gateway_api("HTTPRoute", metadata, body)
}

fn service(spec: &FleetSpec, i: u32) -> Value {
    let name = names::service(i);
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": names::namespace(spec, i), "labels": {"app.kubernetes.io/name": name}},
        "spec": {"selector": {"app.kubernetes.io/name": name}, "ports": [{"name": "http", "port": 8080}]},
    })
}
