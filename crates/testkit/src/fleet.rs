// SPDX-License-Identifier: Apache-2.0
//! In: a seed and sizes. Out: the manifests of a fleet, file by file, the same on every machine.
//! Not here: small nasty worlds (`generate`).
//!
//! Every resource is computed from its number alone, so a fleet of a million resources is never in memory, and one
//! resource stays the same when the fleet grows beside it. Gateways, routes and policies carry names a platform team
//! would give them; each policy stands in the namespace of its target.

mod names;
mod policies;

use std::io::{self, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::rng::Rng;
use crate::yaml;

pub use policies::GROUP;

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
    /// Policy kinds: the first so many of the examples, at most [`policies::KINDS`].
    pub kinds: u32,
    /// Policies, all kinds together, by level.
    pub policies: PerLevel,
    /// Percent of policies that have the target of the one before.
    pub conflicts: u8,
    /// Percent of policies with a creation time.
    pub created: u8,
    /// Percent of route policies that target by label.
    pub selectors: u8,
    /// Whether the Services that routes send to are part of it.
    pub services: bool,
    /// Documents in a file.
    pub per_file: u32,
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

/// How manifests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Block YAML, documents separated by `---`.
    Yaml,
    /// Compact JSON, a `List` per file.
    Json,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Files.
    pub files: u64,
    /// Resources.
    pub resources: u64,
    /// Bytes.
    pub bytes: u64,
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
            kinds: policies::KINDS,
            policies: PerLevel { gateway: 8, listener: 8, route: 18, rule: 12 },
            conflicts: 20,
            created: 70,
            selectors: 20,
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
            kinds: 3,
            policies: PerLevel { gateway: 300, listener: 700, route: 6_000, rule: 3_000 },
            conflicts: 5,
            created: 80,
            selectors: 3,
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

    /// How many resources it has.
    pub fn resources(&self) -> u64 {
        Section::ALL.iter().map(|s| u64::from(s.count(self))).sum()
    }

    /// Every resource, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = Value> {
        Section::ALL
            .into_iter()
            .flat_map(move |s| (0..s.count(self)).map(move |i| s.resource(self, i)))
    }
}

/// The manifests of a fleet: name and text of each file.
pub fn manifests(spec: &FleetSpec, format: Format) -> impl Iterator<Item = (String, String)> {
    let mut resources = spec.iter().peekable();
    let mut number = 0;
    std::iter::from_fn(move || {
        resources.peek()?;
        number += 1;
        let part: Vec<Value> = resources.by_ref().take(spec.per_file.max(1) as usize).collect();
        let (ending, text) = match format {
            Format::Yaml => ("yaml", yaml::documents(&part)),
            Format::Json => {
                ("json", json!({"apiVersion": "v1", "kind": "List", "items": part}).to_string())
            }
        };
        Some((format!("{number:06}.{ending}"), text))
    })
}

/// Writes a fleet as YAML files into a folder, which is created.
pub fn write(spec: &FleetSpec, dir: &Path) -> io::Result<Stats> {
    std::fs::create_dir_all(dir)?;
    let mut stats = Stats { resources: spec.resources(), ..Stats::default() };
    for (name, text) in manifests(spec, Format::Yaml) {
        let mut file = io::BufWriter::new(std::fs::File::create(dir.join(name))?);
        file.write_all(text.as_bytes())?;
        file.flush()?;
        stats.files += 1;
        stats.bytes += text.len() as u64;
    }
    Ok(stats)
}

/// Runs of resources of one sort.
#[derive(Debug, Clone, Copy)]
enum Section {
    Class,
    Kinds,
    Gateways,
    Routes,
    Services,
    Policies,
}

impl Section {
    const ALL: [Self; 6] =
        [Self::Class, Self::Kinds, Self::Gateways, Self::Routes, Self::Services, Self::Policies];

    fn count(self, spec: &FleetSpec) -> u32 {
        match self {
            Self::Class => 1,
            Self::Kinds => spec.kinds,
            Self::Gateways => spec.gateways,
            Self::Routes => spec.routes,
            Self::Services => {
                if spec.services {
                    spec.routes
                } else {
                    0
                }
            }
            Self::Policies => spec.policies.sum(),
        }
    }

    fn resource(self, spec: &FleetSpec, i: u32) -> Value {
        match self {
            Self::Class => gateway_api(
                "GatewayClass",
                json!({"name": "edge"}),
                json!({"controllerName": "gateway.example.com/edge"}),
            ),
            Self::Kinds => policies::kind(i),
            Self::Gateways => gateway(spec, i),
            Self::Routes => route(spec, i),
            Self::Services => service(spec, i),
            Self::Policies => policies::policy(spec, i),
        }
    }
}

fn gateway_api(kind: &str, metadata: Value, spec: Value) -> Value {
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
    gateway_api("Gateway", metadata, json!({"gatewayClassName": "edge", "listeners": listeners}))
}

fn route(spec: &FleetSpec, i: u32) -> Value {
    let mut rng = Rng::new(spec.seed, "route", u64::from(i));
    let gateway = i % spec.gateways.max(1);
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
    let service = names::service(i);
    let rules: Vec<Value> = (0..spec.rules.max(1))
        .map(|r| {
            let mut rule = json!({"backendRefs": [{"name": service, "port": 8080}]});
            let path = if r == 0 { "/".to_owned() } else { format!("/{}", names::path(i, r)) };
            rule["matches"] = json!([{"path": {"type": "PathPrefix", "value": path}}]);
            if names::rule_is_named(i, r) {
                rule["name"] = names::rule(i, r).into();
            }
            rule
        })
        .collect();
    body["rules"] = rules.into();
    let metadata = json!({
        "name": service,
        "namespace": names::namespace(spec, i),
        "labels": {"app.kubernetes.io/name": service, "team": names::team(spec, i), "tier": names::tier(i)},
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run;
    use overrule_source::Input;

    fn inputs(spec: &FleetSpec, format: Format) -> Vec<Input> {
        manifests(spec, format).map(|(name, text)| Input::new(name, text)).collect()
    }

    #[test]
    fn a_fleet_is_clean_and_resolves() {
        for spec in [
            FleetSpec::small(),
            FleetSpec::medium(),
            FleetSpec::bar1().divided_by(100),
            FleetSpec::bar2(20),
            FleetSpec::bar8().divided_by(100),
            FleetSpec::bar8_one_gateway().divided_by(100),
        ] {
            let run = run(inputs(&spec, Format::Yaml));
            assert_eq!(run.snapshot.len() as u64, spec.resources());
            let errors: Vec<_> = run
                .diagnostics
                .iter()
                .filter(|d| {
                    d.severity() == overrule_source::Severity::Error && d.code.id != "OV1307"
                })
                .collect();
            assert!(errors.is_empty(), "{errors:?}");
            assert!(run.resolution.rejections.is_empty(), "{:?}", run.resolution.rejections);
            assert_eq!(run.resolution.policies().count() as u64, u64::from(spec.policies.sum()));
            let answers = run.answers();
            assert!(
                answers.values().flatten().count() * 3 > answers.len(),
                "most paths have policies"
            );
        }
    }

    #[test]
    fn the_scale_bar_has_its_sizes() {
        for (spec, gateways) in [(FleetSpec::bar8(), 100), (FleetSpec::bar8_one_gateway(), 1)] {
            assert_eq!((spec.gateways, spec.routes, spec.kinds), (gateways, 100_000, 3));
            assert_eq!(spec.policies.sum(), 20_000);
        }
    }

    #[test]
    fn yaml_and_json_say_the_same() {
        let spec = FleetSpec::small();
        let (yaml, json) = (run(inputs(&spec, Format::Yaml)), run(inputs(&spec, Format::Json)));
        assert_eq!(yaml.answers(), json.answers());
    }

    #[test]
    fn a_fleet_is_its_seed() {
        let all = |seed| FleetSpec { seed, ..FleetSpec::small() }.iter().collect::<Vec<_>>();
        assert_eq!(all(7), all(7));
        assert_ne!(all(7), all(8));
    }

    #[test]
    fn the_big_gateway_has_all_its_paths() {
        let spec = FleetSpec::bar2(20);
        let run = run(inputs(&spec, Format::Yaml));
        let kind = run.resolution.kinds().next().unwrap().0;
        assert_eq!(run.resolution.contexts(kind).count(), 64 * 20 * 16);
    }
}
