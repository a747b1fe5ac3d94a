// SPDX-License-Identifier: Apache-2.0
//! In: a seed. Out: a small world of Gateways, ListenerSets, routes of five kinds and Envoy Gateway's policies in which
//! everything collides. Not here: listeners that conflict; anything that needs certificates.
//!
//! Names, labels and sections come from tiny sets, so that several policies meet on most rows. Most values bear the
//! number of their policy: one from the wrong policy shows.

use serde_json::{Value, json};

use super::{EG, GATEWAY_API};
use crate::rng::Rng;

/// The first more often than the last.
const NAMESPACES: [&str; 4] = ["default", "default", "default", "infra"];
const LABELS: [&str; 2] = ["xx", "yy"];
const ROUTES: [&str; 7] =
    ["HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"];

/// A world; the same seed is the same world.
pub fn objects(seed: u64) -> Vec<Value> {
    let mut rng = Rng::new(seed, "envoygateway", 0);
    let rng = &mut rng;
    let mut objects = vec![class(rng)];
    if objects[0]["spec"].get("parametersRef").is_some() {
        objects.push(json!({
            "apiVersion": format!("{EG}/v1alpha1"), "kind": "EnvoyProxy",
            "metadata": {"name": "cp", "namespace": "infra"},
            "spec": {"mergeGateways": rng.percent(50)},
        }));
    }
    let gateways: Vec<Value> = (0..=rng.below(2)).map(|n| gateway(rng, n)).collect();
    let sets: Vec<Value> = (0..rng.below(3)).map(|n| set(rng, n, &gateways)).collect();
    let parents: Vec<Value> = gateways.iter().chain(&sets).cloned().collect();
    let routes: Vec<Value> = (0..2 + rng.below(4)).map(|n| route(rng, n, &parents)).collect();
    objects.extend(grants(rng));
    let targets: Vec<Value> = parents.iter().chain(&routes).cloned().collect();
    for n in 0..4 + rng.below(14) {
        objects.push(policy(rng, n, &targets));
    }
    objects.extend(targets);
    for name in ["default", "infra"] {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "service-1", "namespace": name},
            "spec": {"ports": [{"port": 8080, "protocol": "TCP"}]},
        }));
    }
    objects
}

fn meta(rng: &mut Rng, name: &str) -> Value {
    json!({"name": name, "namespace": rng.pick(&NAMESPACES), "labels": {"t": rng.pick(&LABELS)}})
}

fn class(rng: &mut Rng) -> Value {
    let mut spec = json!({"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"});
    if rng.percent(25) {
        spec["parametersRef"] =
            json!({"group": EG, "kind": "EnvoyProxy", "name": "cp", "namespace": "infra"});
    }
    json!({
        "apiVersion": format!("{GATEWAY_API}/v1"), "kind": "GatewayClass",
        "metadata": {"name": "eg"}, "spec": spec,
    })
}

fn gateway(rng: &mut Rng, n: u64) -> Value {
    let count = 1 + rng.below(3);
    let listeners: Vec<Value> = (0..count).map(|l| listener(rng, l, 80 + l)).collect();
    let mut spec = json!({"gatewayClassName": "eg", "listeners": shared(rng, listeners)});
    if rng.percent(80) {
        spec["allowedListeners"] = json!({"namespaces": {"from": rng.pick(&["All", "Same"])}});
    }
    json!({
        "apiVersion": format!("{GATEWAY_API}/v1"), "kind": "Gateway",
        "metadata": meta(rng, &format!("gw{n}")), "spec": spec,
    })
}

/// Now and then all HTTP listeners share a port, told apart by hostname.
fn shared(rng: &mut Rng, mut listeners: Vec<Value>) -> Vec<Value> {
    if rng.percent(30) {
        for (n, listener) in listeners.iter_mut().enumerate() {
            if listener["protocol"] == "HTTP" {
                listener["port"] = json!(8888);
                listener["hostname"] = json!(format!("h{n}.example.com"));
            }
        }
    }
    listeners
}

fn listener(rng: &mut Rng, n: u64, port: u64) -> Value {
    let protocol = *rng.pick(&["HTTP", "HTTP", "HTTP", "HTTP", "TCP", "TLS", "UDP"]);
    let mut listener = json!({
        "name": format!("l{n}"), "protocol": protocol, "port": port,
        "allowedRoutes": {"namespaces": {"from": rng.pick(&["All", "All", "Same"])}},
    });
    if protocol == "TLS" {
        listener["tls"] = json!({"mode": "Passthrough"});
    }
    listener
}

fn set(rng: &mut Rng, n: u64, gateways: &[Value]) -> Value {
    let parent = &rng.pick(gateways)["metadata"];
    let listeners: Vec<Value> = (0..=rng.below(2))
        .map(|l| {
            let mut listener = listener(rng, l, 9000 + 10 * n + l);
            if listener["protocol"] != "TLS" {
                listener["protocol"] = json!("HTTP");
            }
            listener
        })
        .collect();
    json!({
        "apiVersion": format!("{GATEWAY_API}/v1"), "kind": "ListenerSet",
        "metadata": meta(rng, &format!("ls{n}")),
        "spec": {
            "parentRef": {"group": GATEWAY_API, "kind": "Gateway", "name": parent["name"], "namespace": parent["namespace"]},
            "listeners": listeners,
        },
    })
}

fn sections(object: &Value) -> Vec<String> {
    let of = if object["spec"].get("listeners").is_some() { "listeners" } else { "rules" };
    let list = object["spec"][of].as_array().unwrap();
    list.iter().filter_map(|s| s["name"].as_str()).map(str::to_owned).collect()
}

fn route(rng: &mut Rng, n: u64, parents: &[Value]) -> Value {
    let kind = *rng.pick(&ROUTES);
    let refs: Vec<Value> = (0..=rng.below(2))
        .map(|_| {
            let parent = rng.pick(parents).clone();
            let mut of = json!({"name": parent["metadata"]["name"], "namespace": parent["metadata"]["namespace"]});
            if parent["kind"] == "ListenerSet" {
                of["kind"] = json!("ListenerSet");
                of["group"] = json!(GATEWAY_API);
            }
            if rng.percent(40) {
                of["sectionName"] = json!(rng.pick(&sections(&parent)));
            }
            of
        })
        .collect();
    // Parents that mean the same are refused by an API server.
    let mut distinct: Vec<Value> = Vec::new();
    for of in refs {
        if !distinct.iter().any(|d| d["name"] == of["name"]) {
            distinct.push(of);
        }
    }
    let rules: Vec<Value> = (0..=rng.below(2))
        .map(|r| {
            let mut rule = json!({"backendRefs": [{"name": "service-1", "port": 8080}]});
            if rng.percent(70) {
                rule["name"] = json!(format!("r{r}"));
            }
            rule
        })
        .collect();
    let mut spec = json!({"parentRefs": distinct, "rules": rules});
    if !matches!(kind, "TCPRoute" | "UDPRoute") && rng.percent(30) {
        spec["hostnames"] = json!([format!("h{}.example.com", rng.below(3))]);
    }
    json!({
        "apiVersion": format!("{GATEWAY_API}/v1"), "kind": kind,
        "metadata": meta(rng, &format!("rt{n}")), "spec": spec,
    })
}

fn grants(rng: &mut Rng) -> Vec<Value> {
    (0..rng.below(3))
        .map(|n| {
            let kind =
                *rng.pick(&["BackendTrafficPolicy", "SecurityPolicy", "EnvoyExtensionPolicy"]);
            let to = match rng.below(3) {
                0 => json!({"group": "", "kind": "Service"}),
                1 => json!({"group": GATEWAY_API, "kind": "HTTPRoute"}),
                _ => json!({"group": GATEWAY_API, "kind": "Gateway"}),
            };
            json!({
                "apiVersion": format!("{GATEWAY_API}/v1beta1"), "kind": "ReferenceGrant",
                "metadata": {"name": format!("g{n}"), "namespace": rng.pick(&NAMESPACES)},
                "spec": {
                    "from": [{"group": EG, "kind": kind, "namespace": rng.pick(&NAMESPACES)}],
                    "to": [to],
                },
            })
        })
        .collect()
}

fn policy(rng: &mut Rng, n: u64, targets: &[Value]) -> Value {
    let kind = *rng.pick(&[
        "BackendTrafficPolicy",
        "BackendTrafficPolicy",
        "SecurityPolicy",
        "SecurityPolicy",
        "EnvoyExtensionPolicy",
        "ClientTrafficPolicy",
    ]);
    let mut spec = match kind {
        "BackendTrafficPolicy" => traffic(rng, n),
        "SecurityPolicy" => security(rng, n),
        "EnvoyExtensionPolicy" => extension(rng, n),
        _ => client(rng, n),
    };
    let namespace = *rng.pick(&NAMESPACES);
    let fits = |target: &&Value| {
        let of = target["kind"].as_str().unwrap();
        (kind != "ClientTrafficPolicy" || !of.ends_with("Route"))
            && (kind != "SecurityPolicy" || !matches!(of, "TLSRoute" | "UDPRoute"))
    };
    let all: Vec<&Value> = targets.iter().filter(fits).collect();
    let near: Vec<&Value> =
        all.iter().filter(|t| t["metadata"]["namespace"] == namespace).copied().collect();
    if near.is_empty() || rng.percent(20) {
        let of = *rng.pick(&all);
        let mut selector = json!({"group": GATEWAY_API, "kind": of["kind"], "matchLabels": {"t": rng.pick(&LABELS)}});
        if rng.percent(60) {
            selector["namespaces"] = json!({"from": "All"});
        }
        spec["targetSelectors"] = json!([selector]);
    } else {
        let refs: Vec<Value> = (0..=rng.below(2))
            .map(|_| {
                // Gateways and routes, so that policies meet.
                let of = match rng.percent(30) {
                    true => near.iter().find(|t| t["kind"] == "Gateway").copied(),
                    false => None,
                };
                let of = of.unwrap_or_else(|| *rng.pick(&near));
                let mut target = json!({"group": GATEWAY_API, "kind": of["kind"], "name": of["metadata"]["name"]});
                let names = sections(of);
                if rng.percent(35) && !names.is_empty() {
                    target["sectionName"] = json!(rng.pick(&names));
                } else if rng.percent(4) {
                    target["sectionName"] = json!("zz");
                }
                target
            })
            .collect();
        spec["targetRefs"] = json!(refs);
    }
    if kind != "ClientTrafficPolicy" && rng.percent(60) {
        spec["mergeType"] = json!(rng.pick(&["StrategicMerge", "JSONMerge"]));
    }
    let mut metadata = json!({"name": format!("p{n}"), "namespace": namespace});
    if rng.percent(30) {
        metadata["creationTimestamp"] = json!(format!("2026-01-0{}T00:00:00Z", 1 + rng.below(3)));
    }
    json!({"apiVersion": format!("{EG}/v1alpha1"), "kind": kind, "metadata": metadata, "spec": spec})
}

fn traffic(rng: &mut Rng, n: u64) -> Value {
    let mut spec = json!({});
    if rng.percent(50) {
        let most = if rng.percent(10) { json!(-1) } else { json!(n) };
        spec["circuitBreaker"] = json!({"maxConnections": most});
    }
    if rng.percent(40) {
        spec["timeout"] = json!({"tcp": {"connectTimeout": format!("{n}s")}});
        if rng.percent(50) {
            spec["timeout"]["http"] = json!({"requestTimeout": format!("{n}s")});
        }
    }
    if rng.percent(30) {
        spec["retry"] = json!({"numRetries": n, "retryOn": {"httpStatusCodes": [500 + n]}});
    }
    if rng.percent(20) {
        spec["connection"] = json!({"bufferLimit": format!("{n}Ki")});
    }
    if rng.percent(20) {
        spec["loadBalancer"] = json!({"type": "Random"});
    }
    if rng.percent(15) {
        spec["dns"] = json!({"dnsRefreshRate": format!("{n}s")});
    }
    if rng.percent(25) {
        let types: Vec<Value> = ["websocket", "spdy/3.1", "foo"]
            .iter()
            .filter(|_| rng.percent(60))
            .map(|t| json!({"type": t}))
            .collect();
        spec["httpUpgrade"] = json!(types);
    }
    if rng.percent(25) {
        let mut rules = vec![
            json!({"clientSelectors": [{"headers": [{"name": "x", "value": format!("v{n}")}]}], "limit": {"requests": n, "unit": "Hour"}}),
        ];
        if rng.percent(50) {
            rules.push(json!({"limit": {"requests": 100 + n, "unit": "Second"}}));
        }
        spec["rateLimit"] = json!({"local": {"rules": rules}});
    }
    if rng.percent(15) {
        spec["faultInjection"] = json!(null);
    }
    spec
}

fn security(rng: &mut Rng, n: u64) -> Value {
    let mut spec = json!({});
    if rng.percent(50) {
        spec["cors"] = json!({"allowOrigins": [format!("https://o{n}.example")]});
    }
    if rng.percent(40) {
        spec["authorization"] = json!({"defaultAction": "Deny", "rules": [{"name": format!("n{n}"), "action": "Allow", "principal": {"clientCIDRs": [format!("10.{n}.0.0/16")]}}]});
    }
    if rng.percent(30) {
        let name = rng.pick(&["service-1", "service-1", "nope"]);
        spec["extAuth"] = json!({"failOpen": rng.percent(50), "http": {"backendRefs": [{"name": name, "namespace": rng.pick(&NAMESPACES), "port": 8080}]}});
    }
    if rng.percent(10) {
        spec["apiKeyAuth"] =
            json!({"credentialRefs": [], "extractFrom": [{"headers": ["a"], "params": ["b"]}]});
    }
    spec
}

fn extension(rng: &mut Rng, n: u64) -> Value {
    let mut spec = json!({});
    if rng.percent(50) {
        spec["lua"] = json!([{"type": "Inline", "inline": format!("-- {n}")}]);
    }
    if rng.percent(50) {
        let list: Vec<Value> = (0..=rng.below(2))
            .map(|_| {
                let name = rng.pick(&["service-1", "service-1", "nope"]);
                json!({"failOpen": rng.percent(60), "backendRefs": [{"name": name, "namespace": rng.pick(&NAMESPACES), "port": 8080}]})
            })
            .collect();
        spec["extProc"] = json!(list);
    }
    spec
}

fn client(rng: &mut Rng, n: u64) -> Value {
    let mut spec = json!({});
    if rng.percent(60) {
        spec["timeout"] = json!({"http": {"requestReceivedTimeout": format!("{n}s")}});
    }
    if rng.percent(40) {
        let limit = if rng.percent(15) { "100G".to_owned() } else { format!("{n}Ki") };
        spec["connection"] = json!({"bufferLimit": limit});
    }
    if rng.percent(30) {
        spec["headers"] = json!({"enableEnvoyHeaders": true});
    }
    spec
}
