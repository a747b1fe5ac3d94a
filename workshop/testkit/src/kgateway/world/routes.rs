// SPDX-License-Identifier: Apache-2.0
//! In: random numbers, gateways. Out: routes in layers that delegate downwards, and sometimes up. Not here: policies.

use serde_json::{Value, json};

use super::{APPS, GATEWAY_API, KGATEWAY, NAMESPACES, count, early, metadata, up_to};
use crate::rng::Rng;

const LABEL: &str = "delegation.kgateway.dev/label";

/// A route before it is written: its layer, name and namespace.
#[derive(Debug, Clone)]
struct Draft {
    layer: usize,
    name: &'static str,
    namespace: &'static str,
}

/// One or two roots, one or two routes in the middle, one to three leaves, and now and then a GRPCRoute.
pub(super) fn all(rng: &mut Rng, parents: &[Value]) -> Vec<Value> {
    let layers: [&[&'static str]; 3] =
        [&["root", "top"], &["mid", "mid-2"], &["leaf", "tip", "end"]];
    let mut drafts = Vec::new();
    for (layer, names) in layers.into_iter().enumerate() {
        let number = match layer {
            0 => up_to(rng, 2),
            _ => 1 + count(rng.below(names.len() as u64)),
        };
        for name in names.iter().take(number) {
            let namespace = *early(rng, &NAMESPACES);
            drafts.push(Draft { layer, name, namespace });
        }
    }
    let mut routes: Vec<Value> =
        drafts.iter().map(|draft| route(rng, draft, &drafts, parents)).collect();
    if rng.percent(30) {
        routes.push(grpc(rng, parents));
    }
    routes
}

fn route(rng: &mut Rng, draft: &Draft, drafts: &[Draft], parents: &[Value]) -> Value {
    let mut metadata = metadata(rng, draft.name, draft.namespace, 60);
    if rng.percent(60) {
        metadata["labels"][LABEL] = json!("kid");
    }
    if draft.layer > 0 && rng.percent(20) {
        let word = *rng.pick(&["true", "Yes", "enabled", "false"]);
        metadata["annotations"]["delegation.kgateway.dev/inherit-parent-matcher"] = json!(word);
    }
    let rules = 1 + count(rng.below(3));
    let rules: Vec<Value> = (0..rules).map(|i| rule(rng, draft, drafts, i)).collect();
    let mut spec = json!({"rules": rules});
    if draft.layer == 0 {
        spec["parentRefs"] = attached(rng, parents, drafts);
        if rng.percent(20) {
            spec["hostnames"] = json!([rng.pick(&["www.example.com", "example.com", "x.test"])]);
        }
    } else {
        restrict(rng, &mut spec, drafts, parents);
    }
    json!({"apiVersion": format!("{GATEWAY_API}/v1"), "kind": "HTTPRoute", "metadata": metadata, "spec": spec})
}

/// References to gateways and sets, and rarely to a route that may delegate back.
fn attached(rng: &mut Rng, parents: &[Value], drafts: &[Draft]) -> Value {
    let mut references: Vec<Value> = Vec::new();
    for _ in 0..up_to(rng, 3) {
        let parent = early(rng, parents);
        let metadata = &parent["metadata"];
        let mut reference = json!({
            "kind": parent["kind"], "name": metadata["name"], "namespace": metadata["namespace"],
        });
        if references.iter().any(|r| r["kind"] == parent["kind"] && r["name"] == metadata["name"]) {
            continue;
        }
        if rng.percent(20) {
            let listeners = parent["spec"]["listeners"].as_array().expect("listeners");
            reference["sectionName"] = rng.pick(listeners)["name"].clone();
        }
        references.push(reference);
    }
    if rng.percent(8) {
        let above = early(rng, drafts);
        references.push(json!({
            "group": GATEWAY_API, "kind": "HTTPRoute", "name": above.name, "namespace": above.namespace,
        }));
    }
    json!(references)
}

/// Some children say whose they are, and some of these are wrong.
fn restrict(rng: &mut Rng, spec: &mut Value, drafts: &[Draft], parents: &[Value]) {
    let above = early(rng, drafts);
    let gateway = &parents[0]["metadata"];
    match rng.below(100) {
        0..8 => {
            spec["parentRefs"] = json!([{
                "group": GATEWAY_API, "kind": "HTTPRoute", "name": above.name, "namespace": above.namespace,
            }]);
        }
        8..11 => {
            spec["parentRefs"] =
                json!([{"name": gateway["name"], "namespace": gateway["namespace"]}]);
        }
        11..14 => spec["hostnames"] = json!(["www.example.com"]),
        _ => {}
    }
}

fn rule(rng: &mut Rng, draft: &Draft, drafts: &[Draft], index: usize) -> Value {
    let mut rule = json!({});
    if rng.percent(60) {
        rule["name"] = json!(["r0", "r1", "r2"][index]);
    }
    if rng.percent(97) {
        let matches: Vec<Value> = (0..up_to(rng, 2)).map(|_| one_match(rng, draft.layer)).collect();
        rule["matches"] = json!(matches);
    }
    let mut backends = Vec::new();
    if rng.percent([80, 75, 8][draft.layer]) {
        backends.extend((0..up_to(rng, 2)).map(|_| delegation(rng, draft, drafts)));
    }
    let delegates = !backends.is_empty();
    if !delegates || rng.percent(10) {
        backends.push(json!({"name": "svc", "port": 80}));
    }
    let mut filters = filters(rng, index, delegates);
    for _ in 0..if rng.percent(30) { up_to(rng, 2) } else { 0 } {
        let name = if rng.percent(4) { "gone" } else { *rng.pick(&["ext", "ext-2"]) };
        let reference = json!({"group": KGATEWAY, "kind": "TrafficPolicy", "name": name});
        filters.push(json!({"type": "ExtensionRef", "extensionRef": reference}));
    }
    // A redirect has no backends.
    if filters.iter().any(|filter| filter["type"] == "RequestRedirect") {
        backends.clear();
    }
    rule["backendRefs"] = json!(backends);
    if !filters.is_empty() {
        rule["filters"] = json!(filters);
    }
    fields(rng, &mut rule);
    rule
}

fn one_match(rng: &mut Rng, layer: usize) -> Value {
    let paths: &[&str] = match layer {
        0 => &["/a", "/a", "/a", "/a", "/a", "/a", "/b", "/"],
        1 => &["/a/m", "/a/m", "/a/m", "/a/m", "/a", "/a", "/b/m", "/"],
        _ => &["/a/m/l", "/a/m/l", "/a/m/l", "/a/m/l", "/a/m", "/a/l", "/b/m/l", "/l"],
    };
    let kind = if rng.percent(95) { "PathPrefix" } else { "Exact" };
    let mut one = json!({"path": {"type": kind, "value": rng.pick(paths)}});
    let share = [4, 10, 20][layer];
    if rng.percent(share) {
        one["headers"] = json!([{"name": "h", "value": rng.pick(&["1", "1", "2"])}]);
    }
    if rng.percent(share) {
        one["queryParams"] = json!([{"name": "q", "value": "1"}]);
    }
    if rng.percent(share) {
        one["method"] = json!(rng.pick(&["GET", "GET", "PUT"]));
    }
    one
}

/// A reference to children: mostly to routes further down the list, so that most rules do not go in circles.
fn delegation(rng: &mut Rng, draft: &Draft, drafts: &[Draft]) -> Value {
    let later = drafts.iter().skip_while(|d| d.name != draft.name).skip(1);
    let lower: Vec<&Draft> = later.filter(|d| d.layer > 0).collect();
    let child = match rng.percent(92) && !lower.is_empty() {
        true => *early(rng, &lower),
        false => rng.pick(drafts),
    };
    let mut reference = match rng.below(100) {
        0..7 => json!({"group": GATEWAY_API, "kind": "HTTPRoute", "name": "*"}),
        7..18 => json!({"group": "delegation.kgateway.dev", "kind": "label", "name": "kid"}),
        18..20 => json!({"group": GATEWAY_API, "kind": "HTTPRoute", "name": "nobody"}),
        _ => json!({"group": GATEWAY_API, "kind": "HTTPRoute", "name": child.name}),
    };
    let by_label = reference["kind"] == "label";
    if by_label && rng.percent(40) {
        reference["namespace"] = json!("all");
    } else if child.namespace != draft.namespace || rng.percent(30) {
        reference["namespace"] = json!(child.namespace);
    }
    reference
}

/// Filters of the Gateway API itself. A redirect does not go with delegation or with a rewrite.
fn filters(rng: &mut Rng, index: usize, delegates: bool) -> Vec<Value> {
    let mut filters = Vec::new();
    let tag = rng.below(1000);
    if rng.percent(20) {
        let value = json!({"set": [{"name": "x", "value": format!("v{tag}")}]});
        filters.push(json!({"type": "RequestHeaderModifier", "requestHeaderModifier": value}));
    }
    if rng.percent(10) {
        let value = json!({"add": [{"name": "x", "value": format!("v{tag}")}]});
        filters.push(json!({"type": "ResponseHeaderModifier", "responseHeaderModifier": value}));
    }
    if rng.percent(10) {
        let value = json!({"backendRef": {"name": format!("mirror-{index}"), "port": 80}});
        filters.push(json!({"type": "RequestMirror", "requestMirror": value}));
    }
    if rng.percent(10) {
        let value = json!({"allowOrigins": [format!("https://f{tag}.example")]});
        filters.push(json!({"type": "CORS", "cors": value}));
    }
    match rng.below(100) {
        0..8 => {
            let value = json!({"hostname": format!("h{tag}.example")});
            filters.push(json!({"type": "URLRewrite", "urlRewrite": value}));
        }
        8..18 => {
            let path = json!({"type": "ReplaceFullPath", "replaceFullPath": format!("/f{tag}")});
            let mut value = json!({"path": path});
            if rng.percent(30) {
                value["hostname"] = json!(format!("h{tag}.example"));
            }
            filters.push(json!({"type": "URLRewrite", "urlRewrite": value}));
        }
        18..22 if !delegates => {
            let value = json!({"hostname": format!("to{tag}.example")});
            filters.push(json!({"type": "RequestRedirect", "requestRedirect": value}));
        }
        _ => {}
    }
    filters
}

/// Fields of the rule that are built-ins as well.
fn fields(rng: &mut Rng, rule: &mut Value) {
    if rng.percent(22) {
        let request = json!(format!("{}s", 10 + rng.below(90)));
        rule["timeouts"] = match rng.below(10) {
            0..6 => json!({"request": request}),
            6..8 => json!({"request": request, "backendRequest": "5s"}),
            // The limit of a single try, if the rule has retries.
            _ => json!({"backendRequest": "5s"}),
        };
    }
    if rng.percent(15) {
        rule["retry"] = json!({"attempts": 1 + rng.below(9)});
    }
    if rng.percent(6) {
        rule["sessionPersistence"] = json!({"sessionName": format!("s{}", rng.below(100))});
    }
}

fn grpc(rng: &mut Rng, parents: &[Value]) -> Value {
    let parent = &parents[0]["metadata"];
    let mut rules = Vec::new();
    for index in 0..up_to(rng, 2) {
        let mut rule = json!({
            "matches": [{"method": {"service": format!("s{index}")}}],
            "backendRefs": [{"name": "svc", "port": 80}],
        });
        if rng.percent(70) {
            rule["name"] = json!(["r0", "r1"][index]);
        }
        rules.push(rule);
    }
    let number = count(rng.below(2));
    json!({
        "apiVersion": format!("{GATEWAY_API}/v1"), "kind": "GRPCRoute",
        "metadata": {"name": "grpc", "namespace": "infra", "creationTimestamp": "2024-01-01T00:00:00Z",
            "labels": {"app": APPS[number]}},
        "spec": {"parentRefs": [{"name": parent["name"], "namespace": parent["namespace"]}], "rules": rules},
    })
}
