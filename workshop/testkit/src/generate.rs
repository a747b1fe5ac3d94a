// SPDX-License-Identifier: Apache-2.0
//! In: proptest's choices. Out: small, nasty worlds: few names, so that everything meets everything.
//! Not here: realistic fleets (`fleet`), what the worlds mean (`oracle`).
//!
//! Worlds stay inside what the oracle knows, and avoid what the texts leave open: a selector with a section name that
//! some selected object lacks, a strategy named twice, two rules of one name.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

use crate::yaml;

/// A small set of resources. Its debug form is YAML, so that a failing one can be read and tried.
#[derive(Clone)]
pub struct SmallWorld {
    /// As JSON; no two have one identity.
    pub resources: Vec<Value>,
}

impl std::fmt::Debug for SmallWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.text())
    }
}

impl SmallWorld {
    /// All resources as one YAML text.
    pub fn text(&self) -> String {
        yaml::documents(&self.resources)
    }

    /// Resources that are policies: of one of the example kinds.
    pub fn policies(&self) -> impl Iterator<Item = (usize, &Value)> {
        let is_policy = |v: &Value| v["apiVersion"] == format!("{GROUP}/v1").as_str();
        self.resources.iter().enumerate().filter(move |(_, v)| is_policy(v))
    }
}

/// Group of the example kinds.
pub const GROUP: &str = "policies.example.com";
const GATEWAY_API: &str = "gateway.networking.k8s.io";
/// `a-b/x` sorts before `a/y` as one text, and after it as a pair.
const NAMESPACES: [&str; 3] = ["a", "a-b", "b"];
const HOSTS: [&str; 8] =
    ["", "", "", "", "x.example.com", "*.example.com", "*.x.example.com", "other.test"];
const TIMES: [&str; 3] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:01Z"];

/// The example kinds: every strategy as default, two levels, words of their own, one direct.
pub fn kinds() -> Vec<Value> {
    let kind = |name: &str, spec: Value| {
        let mut all = json!({"group": GROUP, "kind": name, "class": "Inherited"});
        all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let name = format!("{}.{GROUP}", name.to_lowercase());
        json!({"apiVersion": "overrule/v1", "kind": "PolicyKind", "metadata": {"name": name}, "spec": all})
    };
    let words = json!({"keep": "AtomicOverrides", "mix": "PatchDefaults"});
    vec![
        kind("PatchPolicy", json!({"strategy": {"default": "PatchDefaults", "words": words}})),
        kind("ForcePolicy", json!({"strategy": {"default": "PatchOverrides"}})),
        kind("PlainPolicy", json!({})),
        kind(
            "FirmPolicy",
            json!({"strategy": {"default": "AtomicOverrides"}, "effectiveAt": "Route"}),
        ),
        kind("LonePolicy", json!({"strategy": {"default": "None"}})),
        kind(
            "ListenerPolicy",
            json!({"strategy": {"default": "PatchDefaults"}, "effectiveAt": "Listener"}),
        ),
        kind("DirectPolicy", json!({"class": "Direct"})),
    ]
}

/// Random worlds.
pub fn world() -> impl Strategy<Value = SmallWorld> {
    world_with(|| body().boxed(), false)
}

/// Random worlds in which routes are bound to Services too, and policies target these.
pub fn mesh_world() -> impl Strategy<Value = SmallWorld> {
    world_with(|| body().boxed(), true)
}

/// Worlds whose policies agree on the shape of everything and hold no null: fields only ever compete with fields.
pub fn tame_world() -> impl Strategy<Value = SmallWorld> {
    world_with(|| tame_body().boxed(), false)
}

fn world_with(
    body: fn() -> BoxedStrategy<Map<String, Value>>,
    mesh: bool,
) -> impl Strategy<Value = SmallWorld> {
    let services = vec(service(), usize::from(mesh)..=2 * usize::from(mesh));
    let kinds = subsequence(kinds(), 1..=3);
    let parts = (
        vec(gateway(), 1..=3),
        option::weighted(0.4, listener_set()),
        vec(route(mesh), 1..=4),
        kinds,
        option::weighted(0.7, grant()),
    );
    let namespaces = vec(option::of(select(vec!["gold", "iron"])), NAMESPACES.len());
    let classes = any::<bool>();
    (parts, namespaces, classes, services).prop_flat_map(move |(parts, namespaces, classes, services)| {
        let (gateways, set, routes, kinds, grant) = parts;
        let mut resources: Vec<Value> = Vec::new();
        for (name, tier) in NAMESPACES.iter().zip(namespaces) {
            let labels = tier.map_or(json!({}), |t| json!({"tier": t}));
            resources.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}));
        }
        if classes {
            resources.push(object("GatewayClass", None, "c", json!({"controllerName": "example.com/c"})));
        }
        let named = |prefix: &str, (i, mut v): (usize, Value)| {
            v["metadata"]["name"] = format!("{prefix}{i}").into();
            v
        };
        resources.extend(gateways.into_iter().enumerate().map(|v| named("g", v)));
        resources.extend(set);
        resources.extend(services.into_iter().enumerate().map(|v| named("v", v)));
        let routes: Vec<Value> = routes.into_iter().map(|route| at_home(route, &resources)).collect();
        resources.extend(routes.into_iter().enumerate().map(|v| named("r", v)));
        let names: Vec<String> = kinds.iter().map(|k| k["spec"]["kind"].as_str().unwrap().to_owned()).collect();
        resources.extend(grant.map(|grant| granted(&names, grant)));
        resources.extend(kinds);
        let policies: Vec<_> = names.into_iter().map(|kind| policies(kind, &resources, body())).collect();
        policies.prop_map(move |policies| {
            let mut resources = resources.clone();
            resources.extend(policies.into_iter().flatten());
            SmallWorld { resources }
        })
    })
}

fn object(kind: &str, namespace: Option<&str>, name: &str, spec: Value) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    json!({"apiVersion": format!("{GATEWAY_API}/v1"), "kind": kind, "metadata": metadata, "spec": spec})
}

/// Gives each parentRef without a namespace that of the parent it names, if there is one.
fn at_home(mut route: Value, resources: &[Value]) -> Value {
    for parent in route["spec"]["parentRefs"].as_array_mut().unwrap() {
        let named =
            |r: &&Value| r["kind"] == parent["kind"] && r["metadata"]["name"] == parent["name"];
        let home = resources.iter().find(named).map(|r| r["metadata"]["namespace"].clone());
        if let (None, Some(home)) = (parent.get("namespace"), home) {
            parent["namespace"] = home;
        }
    }
    route
}

/// A mapping without the members that are not there.
fn some(pairs: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    Value::Object(pairs.into_iter().filter_map(|(k, v)| v.map(|v| (k.to_owned(), v))).collect())
}

fn namespace() -> impl Strategy<Value = &'static str> {
    select(NAMESPACES.to_vec())
}

fn from() -> impl Strategy<Value = Value> {
    prop_oneof![
        9 => Just(json!({"from": "All"})),
        1 => Just(json!({"from": "Same"})),
        1 => Just(json!({"from": "Selector", "selector": {"matchLabels": {"tier": "gold"}}})),
        1 => Just(json!({"from": "Selector", "selector": {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}]}})),
    ]
}

fn listeners() -> impl Strategy<Value = Value> {
    let kinds = select(vec![None, None, None, None, Some("HTTPRoute"), Some("GRPCRoute")]);
    let listener = (
        select(vec![80, 8080, 81, 82, 83]),
        select(HOSTS.to_vec()),
        option::weighted(0.9, from()),
        kinds,
    );
    vec(listener, 1..=3).prop_map(|list| {
        let listeners = list.into_iter().enumerate().map(|(i, (port, host, from, kind))| {
            let kinds = kind.map(|k| json!([{"kind": k}]));
            let allowed = some([("namespaces", from), ("kinds", kinds)]);
            let hostname = (!host.is_empty()).then(|| host.into());
            let name = format!("l{}", i + 1);
            some([
                ("name", Some(name.into())),
                ("port", Some(port.into())),
                ("protocol", Some("HTTP".into())),
                ("hostname", hostname),
                ("allowedRoutes", Some(allowed)),
            ])
        });
        listeners.collect()
    })
}

fn gateway() -> impl Strategy<Value = Value> {
    let sets = option::of(select(vec!["All", "Same", "None"]));
    (namespace(), listeners(), sets).prop_map(|(ns, listeners, sets)| {
        let allowed = sets.map(|from| json!({"namespaces": {"from": from}}));
        let spec = [
            ("gatewayClassName", Some("c".into())),
            ("listeners", Some(listeners)),
            ("allowedListeners", allowed),
        ];
        object("Gateway", Some(ns), "", some(spec))
    })
}

fn listener_set() -> impl Strategy<Value = Value> {
    (namespace(), namespace(), listeners()).prop_map(|(ns, parent, listeners)| {
        let parent = json!({"name": "g0", "namespace": parent});
        object("ListenerSet", Some(ns), "s", json!({"parentRef": parent, "listeners": listeners}))
    })
}

/// A Service with one or two ports.
fn service() -> impl Strategy<Value = Value> {
    (namespace(), subsequence(vec![("web", 80), ("l1", 8080), ("admin", 81)], 1..=2)).prop_map(
        |(ns, ports)| {
            let ports: Value =
                ports.iter().map(|(name, port)| json!({"name": name, "port": port})).collect();
            let metadata = json!({"name": "", "namespace": ns});
            json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}})
        },
    )
}

fn parent(mesh: bool) -> BoxedStrategy<Value> {
    match mesh {
        true => prop_oneof![1 => at_gateway(), 3 => at_service()].boxed(),
        false => at_gateway().boxed(),
    }
}

fn at_service() -> impl Strategy<Value = Value> {
    let section = option::weighted(0.2, select(vec!["web", "l1", "nowhere"]));
    let port = option::weighted(0.3, select(vec![80, 8080]));
    let name = prop_oneof![6 => Just("v0"), 2 => Just("v1")];
    (name, option::weighted(0.1, namespace()), section, port).prop_map(
        |(name, ns, section, port)| {
            some([
                ("group", Some("".into())),
                ("kind", Some("Service".into())),
                ("name", Some(name.into())),
                ("namespace", ns.map(Value::from)),
                ("sectionName", section.map(Value::from)),
                ("port", port.map(Value::from)),
            ])
        },
    )
}

fn at_gateway() -> impl Strategy<Value = Value> {
    let target = prop_oneof![9 => Just(("Gateway", "g0")), 3 => Just(("Gateway", "g1")), 1 => Just(("Gateway", "g2")), 1 => Just(("ListenerSet", "s"))];
    let section = option::weighted(0.25, select(vec!["l1", "l1", "l2", "nowhere"]));
    let port = option::weighted(0.1, select(vec![80, 8080]));
    // Without a namespace yet: `at_home` puts in the right one.
    (target, option::weighted(0.1, namespace()), section, port).prop_map(
        |((kind, name), ns, section, port)| {
            some([
                ("kind", Some(kind.into())),
                ("name", Some(name.into())),
                ("namespace", ns.map(Value::from)),
                ("sectionName", section.map(Value::from)),
                ("port", port.map(Value::from)),
            ])
        },
    )
}

fn route(mesh: bool) -> impl Strategy<Value = Value> {
    let kind = prop_oneof![4 => Just("HTTPRoute"), 1 => Just("GRPCRoute")];
    let rules = vec(any::<bool>(), 1..=3);
    let hosts = vec(select(HOSTS[4..].to_vec()), 0..=2);
    (
        kind,
        namespace(),
        vec(parent(mesh), 1..=3),
        hosts,
        rules,
        option::of(select(vec!["gold", "iron"])),
    )
        .prop_map(|(kind, ns, parents, hosts, rules, tier)| {
            let rules: Value = rules
                .into_iter()
                .enumerate()
                .map(
                    |(i, named)| {
                        if named { json!({"name": format!("n{}", i + 1)}) } else { json!({}) }
                    },
                )
                .collect();
            let mut route = object(
                kind,
                Some(ns),
                "",
                json!({"parentRefs": parents, "hostnames": hosts, "rules": rules}),
            );
            if let Some(tier) = tier {
                route["metadata"]["labels"] = json!({"tier": tier});
            }
            route
        })
}

/// Lets policies of some namespaces target gateways (and maybe routes) of another.
fn grant() -> impl Strategy<Value = (&'static str, Vec<&'static str>, Option<&'static str>, bool)> {
    let named = option::weighted(0.3, Just("g0"));
    (namespace(), subsequence(NAMESPACES.to_vec(), 1..=3), named, any::<bool>())
}

fn granted(
    kinds: &[String],
    (ns, from, named, routes): (&str, Vec<&str>, Option<&str>, bool),
) -> Value {
    let from: Value = from
        .iter()
        .flat_map(|n| kinds.iter().map(move |k| json!({"group": GROUP, "kind": k, "namespace": n})))
        .collect();
    let mut to = vec![json!({"group": GATEWAY_API, "kind": "Gateway"})];
    if let Some(name) = named {
        to[0]["name"] = name.into();
    }
    if routes {
        to.push(json!({"group": GATEWAY_API, "kind": "HTTPRoute"}));
    }
    object("ReferenceGrant", Some(ns), "grant", json!({"from": from, "to": to}))
}

/// Up to eight policies of one kind, many of them on one target.
fn policies(
    kind: String,
    resources: &[Value],
    body: BoxedStrategy<Map<String, Value>>,
) -> impl Strategy<Value = Vec<Value>> + use<> {
    let mut targets: Vec<Value> = Vec::new();
    for r in resources.iter().filter(|r| {
        let kinds = ["Gateway", "HTTPRoute", "GRPCRoute", "ListenerSet", "Service"];
        kinds.contains(&r["kind"].as_str().unwrap())
    }) {
        let group = if r["kind"] == "Service" { "" } else { GATEWAY_API };
        let whole = json!({"group": group, "kind": r["kind"], "name": r["metadata"]["name"], "namespace": r["metadata"]["namespace"]});
        let sections = r["spec"]["listeners"]
            .as_array()
            .or(r["spec"]["rules"].as_array())
            .or(r["spec"]["ports"].as_array())
            .cloned()
            .unwrap_or_default();
        targets.push(whole.clone());
        for (i, section) in sections.iter().enumerate() {
            let name =
                section["name"].as_str().map_or_else(|| format!("rule-{}", i + 1), str::to_owned);
            let mut target = whole.clone();
            target["sectionName"] = name.into();
            targets.push(target);
        }
    }
    let favourite = targets[0].clone();
    let class = json!({"group": GATEWAY_API, "kind": "GatewayClass", "name": "c"});
    let wrong = json!({"kind": "Gateway", "name": "nobody"});
    let section = json!({"kind": "Gateway", "name": "g0", "sectionName": "nowhere"});
    let target = prop_oneof![
        3 => Just(favourite),
        8 => select(targets),
        1 => Just(class),
        1 => select(vec![wrong, section]),
    ];
    // Without its namespace a reference means the namespace of the policy.
    let home = prop_oneof![6 => Just(None), 1 => namespace().prop_map(Some)];
    let policy = (
        vec(target, 1..=2),
        home,
        option::weighted(0.75, select(TIMES.to_vec())),
        style(),
        body,
        any::<bool>(),
    );
    vec(policy, 0..=8).prop_map(move |list| {
        let all = list.into_iter().enumerate().map(|(i, (targets, home, created, style, body, single))| {
            let own = home.or(targets[0]["namespace"].as_str()).unwrap_or("a").to_owned();
            let mut metadata = json!({"name": format!("p{i}"), "namespace": own});
            if let Some(created) = created {
                metadata["creationTimestamp"] = created.into();
            }
            let mut spec = dressed(&style, body);
            match style.selector.clone() {
                Some(selector) => drop(spec.insert("targetSelectors".to_owned(), json!([selector]))),
                None if single => drop(spec.insert("targetRef".to_owned(), targets[0].clone())),
                None => drop(spec.insert("targetRefs".to_owned(), targets.into())),
            }
            json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind.as_str(), "metadata": metadata, "spec": spec})
        });
        all.collect()
    })
}

/// How a policy names its strategy, and whether it targets by label.
#[derive(Debug, Clone)]
struct Style {
    block: Option<(&'static str, Option<&'static str>)>,
    strategy: Option<&'static str>,
    selector: Option<Value>,
}

fn style() -> impl Strategy<Value = Style> {
    let block = (
        select(vec!["defaults", "overrides"]),
        select(vec![None, Some("atomic"), Some("merge"), Some("merge"), Some("sometimes")]),
    );
    let words = vec![
        "AtomicDefaults",
        "AtomicOverrides",
        "PatchDefaults",
        "PatchOverrides",
        "None",
        "keep",
        "mix",
    ];
    let named = prop_oneof![
        3 => Just((None, None)),
        3 => block.prop_map(|b| (Some(b), None)),
        2 => select(words).prop_map(|w| (None, Some(w))),
    ];
    let selector = prop_oneof![
        Just(json!({"kind": "HTTPRoute", "matchLabels": {"tier": "gold"}})),
        Just(
            json!({"kind": "HTTPRoute", "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["iron"]}]})
        ),
        Just(json!({"kind": "Gateway"})),
    ];
    (named, option::weighted(0.15, selector)).prop_map(|((block, strategy), selector)| Style {
        block,
        strategy,
        selector,
    })
}

fn dressed(style: &Style, body: Map<String, Value>) -> Map<String, Value> {
    let mut spec = match style.block {
        None => body,
        Some((name, how)) => {
            let mut block = body;
            if let Some(how) = how {
                block.insert("strategy".to_owned(), how.into());
            }
            Map::from_iter([(name.to_owned(), Value::Object(block))])
        }
    };
    if let Some(strategy) = style.strategy {
        spec.insert("strategy".to_owned(), strategy.into());
    }
    spec
}

/// The content of a policy: few keys, nested mappings, lists, nulls, nothing.
pub fn body() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        4 => (0..5_i64).prop_map(Value::from),
        2 => select(vec!["on", "x", "0x1F", "a: b"]).prop_map(Value::from),
        2 => Just(Value::Null),
        1 => Just(json!({})),
        1 => Just(json!([])),
        1 => Just(json!([1, {"k": null}])),
        1 => any::<bool>().prop_map(Value::from),
    ];
    let value =
        leaf.prop_recursive(2, 12, 3, |inner| members(inner, 1..=3).prop_map(Value::Object));
    members(value, 0..=4)
}

fn tame_body() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = || (0..5_i64).prop_map(Value::from);
    let leaves = vec((select(vec!["ka", "kb", "kc"]), leaf()), 1..=3);
    let map = vec((select(vec!["kx", "ky"]), leaf()), 1..=2)
        .prop_map(|l| l.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Map<_, _>>());
    (leaves, option::of(map)).prop_map(|(leaves, map)| {
        let leaves = leaves.into_iter().map(|(k, v)| (k.to_owned(), v));
        leaves.chain(map.map(|m| ("km".to_owned(), Value::Object(m)))).collect()
    })
}

fn members(
    value: impl Strategy<Value = Value>,
    size: std::ops::RangeInclusive<usize>,
) -> impl Strategy<Value = Map<String, Value>> {
    vec((select(vec!["ka", "kb", "kc", "k/d"]), value), size)
        .prop_map(|list| list.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
}
