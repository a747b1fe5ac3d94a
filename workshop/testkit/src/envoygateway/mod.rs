// SPDX-License-Identifier: Apache-2.0
//! In: the objects of a world. Out: what each row has of each of Envoy Gateway's kinds, computed the naive way: like the
//! controller, rows are filled policy by policy, phase by phase, and nothing is shared or indexed. Written from the
//! specification, not from the family's code. Not here: statuses; under `shipped` only.

mod merge;
mod rows;
pub mod world;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use rows::{Row, Wire, World};

/// The family's API group.
pub const EG: &str = "gateway.envoyproxy.io";
/// The Gateway API's.
pub const GATEWAY_API: &str = "gateway.networking.k8s.io";

const TRAFFIC: &str = "BackendTrafficPolicy";
const SECURITY: &str = "SecurityPolicy";
const EXTENSION: &str = "EnvoyExtensionPolicy";
const CLIENT: &str = "ClientTrafficPolicy";

/// What a row, or a listener, has of a kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OnRow {
    /// Whether a policy has taken the row.
    pub taken: bool,
    /// The fields in force.
    pub fields: Map<String, Value>,
    /// The policies that gave a field, by field.
    pub writers: BTreeMap<String, BTreeSet<String>>,
    /// Whether the row answers 500 because of the kind.
    pub fails: bool,
}

/// What there is, by path and kind. Paths are those of policy tests.
pub type RowAnswers = BTreeMap<(Vec<String>, &'static str), OnRow>;

/// Computes all of it.
pub fn oracle(objects: &[Value]) -> RowAnswers {
    let world = World::new(objects);
    let mut answers = RowAnswers::new();
    let clients = clients(&world, &mut answers);
    for kind in [TRAFFIC, SECURITY, EXTENSION] {
        let mut has: Vec<OnRow> = vec![OnRow::default(); world.rows.len()];
        Filling { world: &world, kind, has: &mut has, claimed: BTreeSet::new() }.fill();
        for (row, has) in world.rows.iter().zip(has) {
            let dropped = row.wire != Wire::Http && clients.get(&row.listener) == Some(&true);
            if !dropped && (has.taken || has.fails || !has.fields.is_empty()) {
                answers.insert((row.path.clone(), kind), has);
            }
        }
    }
    answers
}

fn name(policy: &Value) -> String {
    let meta = &policy["metadata"];
    format!("{}/{}", meta["namespace"].as_str().unwrap(), meta["name"].as_str().unwrap())
}

/// ClientTrafficPolicies: which listeners have one, and whether it fails.
fn clients(world: &World, answers: &mut RowAnswers) -> BTreeMap<usize, bool> {
    let mut claimed: BTreeSet<String> = BTreeSet::new();
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut given: BTreeMap<usize, (Value, BTreeSet<usize>)> = BTreeMap::new();
    let policies = world.policies(CLIENT);
    for policy in &policies {
        for target in world.targets(policy, true) {
            let of = world.listeners_of(&target.id);
            let meant =
                of.iter().find(|l| Some(&world.listeners[**l].name) == target.section.as_ref());
            if let Some(listener) = meant.filter(|l| taken.insert(**l)) {
                given.insert(*listener, (policy.clone(), BTreeSet::from([*listener])));
            }
        }
    }
    for kind in ["ListenerSet", "Gateway"] {
        for policy in &policies {
            for target in world.targets(policy, false).into_iter().filter(|t| t.kind == kind) {
                let known = world.is_known(&target.id);
                if !known || !claimed.insert(target.id.clone()) {
                    continue;
                }
                let covered: BTreeSet<usize> = world.listeners_of(&target.id).into_iter().collect();
                for listener in
                    covered.iter().filter(|l| !taken.contains(l)).copied().collect::<Vec<_>>()
                {
                    if kind == "ListenerSet" {
                        taken.insert(listener);
                    }
                    given.entry(listener).or_insert((policy.clone(), covered.clone()));
                }
            }
        }
    }
    let mut fails = BTreeMap::new();
    for (at, (policy, covered)) in given {
        let listener = &world.listeners[at];
        let shares = |(n, other): (usize, &rows::Listener)| {
            n != at
                && other.proxy == listener.proxy
                && other.port == listener.port
                && other.protocol == "HTTP"
                && !covered.contains(&n)
        };
        let kept_off =
            listener.protocol == "HTTP" && world.listeners.iter().enumerate().any(shares);
        if kept_off || listener.protocol == "UDP" {
            continue;
        }
        let spec = &policy["spec"];
        let broken = spec["connection"]["bufferLimit"] == "100G";
        let fields = ["timeout", "connection", "headers"].iter().filter(|field| {
            !spec[**field].is_null()
                && (listener.protocol == "HTTP" || **field != "headers")
                && !(broken && **field == "connection")
        });
        let fields: Map<String, Value> =
            fields.map(|f| ((*f).to_owned(), spec[*f].clone())).collect();
        let writers = fields.keys().map(|f| (f.clone(), BTreeSet::from([name(&policy)]))).collect();
        fails.insert(at, broken);
        if broken || !fields.is_empty() {
            let has = OnRow { taken: true, fields, writers, fails: broken };
            answers.insert((listener.path.clone(), CLIENT), has);
        }
    }
    fails
}

/// Rows on the way to be filled with the policies of one kind.
struct Filling<'w, 'h> {
    world: &'w World,
    kind: &'static str,
    has: &'h mut Vec<OnRow>,
    /// Objects and sections that a policy has.
    claimed: BTreeSet<(String, Option<String>)>,
}

/// What the controller makes of a spec.
struct Made {
    fields: Map<String, Value>,
    /// Whether rows answer 500.
    fails: bool,
    /// Whether rows are taken.
    takes: bool,
}

impl Filling<'_, '_> {
    fn fill(&mut self) {
        let policies = self.world.policies(self.kind);
        let phases = [
            ("Route", true),
            ("Route", false),
            ("ListenerSet", true),
            ("ListenerSet", false),
            ("Gateway", true),
            ("Gateway", false),
        ];
        for (of, section) in phases {
            for policy in &policies {
                for target in self.world.targets(policy, section) {
                    if target.kind.ends_with(of) {
                        self.apply(policy, &target);
                    }
                }
            }
        }
    }

    fn apply(&mut self, policy: &Value, target: &rows::Target) {
        let is_route = target.kind.ends_with("Route");
        let known = match is_route {
            true => self.world.has_parent(&target.id),
            false => self.world.is_known(&target.id),
        };
        if !known || !self.world.has_section(target) {
            return;
        }
        if !self.claimed.insert((target.id.clone(), target.section.clone())) {
            return;
        }
        let tcp = target.kind == "TCPRoute";
        if is_route && self.kind == SECURITY && refuses(&policy["spec"], tcp) {
            return;
        }
        let world = self.world;
        for (n, row) in world.rows.iter().enumerate() {
            let meant = match target.kind.as_str() {
                "Gateway" => {
                    row.gateway == target.id
                        && (target.section.is_none()
                            || (row.set.is_none()
                                && Some(&row.listener_name) == target.section.as_ref()))
                }
                "ListenerSet" => {
                    row.set.as_ref() == Some(&target.id)
                        && target.section.as_ref().is_none_or(|s| *s == row.listener_name)
                }
                _ => {
                    row.route == target.id
                        && target.section.as_ref().is_none_or(|s| Some(s) == row.rule.as_ref())
                }
            };
            // Rows of TLSRoutes bear no name of a rule.
            let nameless = target.section.is_some() && target.kind == "TLSRoute";
            if meant && !nameless {
                self.put(policy, n, row, is_route);
            }
        }
    }

    /// The first policy in order that names the closest place above a row.
    fn parent(&self, row: &Row) -> Option<Value> {
        let set = row.set.clone();
        let own = set.clone().unwrap_or_else(|| row.gateway.clone());
        let places = [
            Some((own, Some(row.listener_name.clone()))),
            set.map(|set| (set, None)),
            Some((row.gateway.clone(), None)),
        ];
        let policies = self.world.policies(self.kind);
        places.into_iter().flatten().find_map(|(id, section)| {
            let names = |policy: &&Value| {
                let targets = self.world.targets(policy, section.is_some());
                targets.iter().any(|t| t.id == id && t.section == section)
            };
            policies.iter().find(names).cloned()
        })
    }

    fn put(&mut self, policy: &Value, n: usize, row: &Row, is_route: bool) {
        let spec = &policy["spec"];
        let merges = is_route && !spec["mergeType"].is_null();
        let parent = if merges { self.parent(row) } else { None };
        let (merged, writers) = match &parent {
            Some(parent) => merge::merge(self.kind, policy, parent),
            None => merge::alone(policy),
        };
        if parent.is_some()
            && self.kind == SECURITY
            && refuses(&Value::Object(merged.clone()), row.kind == "TCPRoute")
        {
            return;
        }
        let owner = |field: &str| match &parent {
            Some(parent) if spec[field].is_null() => parent["metadata"]["namespace"].clone(),
            _ => policy["metadata"]["namespace"].clone(),
        };
        let made = self.made(&merged, &|field| owner(field).as_str().unwrap().to_owned());
        let has = &mut self.has[n];
        if row.wire != Wire::Http {
            let lower = is_route;
            let fields: &[&str] = match (self.kind, row.wire) {
                (TRAFFIC, Wire::Udp) => &["loadBalancer", "dns"],
                (TRAFFIC, _) if lower => {
                    &["loadBalancer", "circuitBreaker", "timeout", "connection", "dns"]
                }
                (TRAFFIC, _) => &["loadBalancer", "circuitBreaker", "timeout", "dns"],
                (SECURITY, Wire::Tcp) if !(lower && row.kind == "TLSRoute") => &["authorization"],
                _ => &[],
            };
            for (field, value) in made.fields.iter().filter(|(f, _)| fields.contains(&f.as_str())) {
                if !has.fields.contains_key(field) {
                    has.fields.insert(field.clone(), value.clone());
                    has.writers.insert(field.clone(), writers[field].clone());
                }
            }
            return;
        }
        if has.taken {
            return;
        }
        has.fails |= made.fails;
        if made.takes {
            has.taken = true;
            has.writers =
                writers.into_iter().filter(|(f, _)| made.fields.contains_key(f)).collect();
            has.fields = made.fields;
        }
    }

    /// What the controller makes of a spec.
    fn made(&self, spec: &Map<String, Value>, owner: &dyn Fn(&str) -> String) -> Made {
        let mut fields = spec.clone();
        let (mut failed, mut closed) = (false, false);
        if spec
            .get("circuitBreaker")
            .is_some_and(|c| c["maxConnections"].as_i64().is_some_and(|n| n < 0))
        {
            fields.remove("circuitBreaker");
            failed = true;
        }
        let reaches = |of: &Value, field: &str| {
            let refs = of["backendRefs"].as_array().unwrap();
            refs.iter().all(|r| {
                r["name"] == "service-1"
                    && self.world.is_granted(
                        self.kind,
                        &owner(field),
                        r["namespace"].as_str().unwrap(),
                    )
            })
        };
        if let Some(external) = spec.get("extAuth")
            && !reaches(&external["http"], "extAuth")
        {
            fields.remove("extAuth");
            closed |= external["failOpen"] != true;
        }
        if let Some(list) = spec.get("extProc").and_then(Value::as_array) {
            let (good, bad): (Vec<&Value>, Vec<&Value>) =
                list.iter().partition(|item| reaches(item, "extProc"));
            closed |= bad.iter().any(|item| item["failOpen"] != true);
            match good.is_empty() {
                true => drop(fields.remove("extProc")),
                false => {
                    drop(fields.insert("extProc".to_owned(), good.into_iter().cloned().collect()))
                }
            }
        }
        match self.kind {
            TRAFFIC => Made { fields, fails: failed, takes: !failed },
            SECURITY => Made { fields, fails: closed, takes: true },
            _ => Made { fields, fails: closed, takes: !closed },
        }
    }
}

/// What the controller refuses on a route before it looks further.
fn refuses(spec: &Value, tcp: bool) -> bool {
    match tcp {
        true => ["cors", "extAuth", "apiKeyAuth"].iter().any(|field| !spec[*field].is_null()),
        false => !spec["apiKeyAuth"].is_null(),
    }
}
