// SPDX-License-Identifier: Apache-2.0
//! In: the OpenAPI document of a server and the names of tenants. Out: requests for every endpoint in it, with plausible
//! parameters. Not here: what may be answered. A parameter that this does not know fails the test, so that none is forgotten.

use serde_json::Value;

use crate::ask::Ask;

/// A request that reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// Path and query.
    pub path: String,
}

/// Values of a parameter for a tenant.
fn values(name: &str, tenant: &str) -> Vec<String> {
    let of = |all: &[&str]| all.iter().map(|v| v.replace('@', tenant)).collect();
    match name {
        "target" => of(&[
            "gateway/ns-lion/edge",
            "httproute/ns-@/@-route",
            "dataplane/mesh-@/@-proxy",
            "dataplane/mesh-@/@-proxy%23http",
            "meshtimeout/mesh-@/@-slow",
            "ratelimitpolicy/ns-@/@-limit",
            "meshservice/mesh-@/@-web",
            "mesh/mesh-@",
        ]),
        "policy" => of(&[
            "meshtimeout/mesh-@/@-slow",
            "ratelimitpolicy/ns-@/@-limit",
            "ratelimitpolicy/ns-lion/of-gateway",
            "meshtrafficpermission/mesh-@/@-callers",
        ]),
        "from" => of(&["nobody", "dataplane/mesh-@/@-proxy"]),
        "to" => of(&["dataplane/mesh-@/@-proxy", "meshservice/mesh-@/@-web"]),
        "kind" => of(&[
            "policies",
            "all",
            "httproute",
            "meshtimeout",
            "ratelimitpolicy",
            "mesh",
            "gateway",
        ]),
        "without" => of(&["ratelimitpolicy", "meshtimeout"]),
        "namespace" => of(&["ns-@", "mesh-@"]),
        "mesh" => of(&["mesh-@"]),
        "selector" => of(&["team", "app=@-web", "!team"]),
        "author" => of(&["admin", "reader"]),
        "request" => of(&["GET%20http://@.example/", "GET%20http://anything.example/x"]),
        "header" => of(&["x:%20y"]),
        "field" => of(&["limits", "connectionTimeout"]),
        "rule" => of(&["to[0]"]),
        "name" => of(&["@", "@-web"]),
        "since" | "as-of" => of(&["1", "2", "3"]),
        "at-least" => of(&["1"]),
        "before" => of(&["2", "1000"]),
        "size" => of(&["1", "1000"]),
        "offset" => of(&["1"]),
        "width" | "columns" => of(&["60"]),
        "method" => of(&["GET"]),
        "path" => of(&["/"]),
        "sni" => of(&["a.example"]),
        "envoy-version" => of(&["1.34"]),
        "certs" => of(&["/certs"]),
        "output" => of(&[
            "best",
            "table",
            "wide",
            "yaml",
            "json",
            "name",
            "csv",
            "tree",
            "dot",
            "mermaid",
            "svg",
            "jsonpath=%7B.items%5B*%5D%7D",
            "jsonpath=%7B..policy%7D",
        ]),
        "format" => of(&["universal", "k8s"]),
        "shadow" => of(&["true"]),
        "include" => of(&["diff"]),
        other => panic!("the document has a parameter `{other}` that this test does not know"),
    }
}

/// Paths of a template for a tenant.
fn paths(template: &str, tenant: &str) -> Vec<String> {
    let collections =
        ["dataplanes", "meshtimeouts", "meshtrafficpermissions", "meshservices", "meshes", "zones"];
    let names = |collection: &str| match collection {
        "dataplanes" => "@-proxy",
        "meshtimeouts" => "@-slow",
        "meshtrafficpermissions" => "@-callers",
        "meshservices" => "@-web",
        "zones" => "zone-1",
        _ => "mesh-@",
    };
    let kris = [
        "kri_dp_mesh-@___@-proxy_",
        "kri_dp_mesh-@___@-proxy_http",
        "kri_dp_mesh-@___@-proxy_8080",
        "kri_mt_mesh-@___@-slow_",
        "kri_msvc_mesh-@___@-web_",
        "kri_msvc_mesh-@___@-web_http",
        "kri_m____mesh-@_",
    ];
    let own = [
        "httproute/ns-@/@-route",
        "meshtimeout/mesh-@/@-slow",
        "mesh/mesh-@",
        "gatewayclass/edge",
        "gateway/ns-lion/edge",
        "ratelimitpolicy/ns-@/@-limit",
        "zone/zone-1",
    ];
    let mut found: Vec<String> = Vec::new();
    if template.starts_with("/v1/resources/") {
        let placed = template.contains("{place}");
        let fits = own.iter().filter(|name| (name.split('/').count() == 3) == placed);
        found.extend(fits.map(|name| format!("/v1/resources/{name}")));
    } else if template.contains("{collection}") {
        let fill = |c: &&str| template.replace("{collection}", c).replace("{name}", names(c));
        found.extend(collections.iter().map(fill));
    } else {
        found.push(template.replace("{name}", "@-proxy"));
    }
    if template.contains("{kri}") {
        found = found.iter().flat_map(|p| kris.map(|kri| p.replace("{kri}", kri))).collect();
    }
    let fill = |path: String| {
        let path = path.replace("{mesh}", "mesh-@").replace("{route}", "kri_mhttpr_mesh-@___@-r_");
        path.replace("{id}", "none").replace('@', tenant)
    };
    let found: Vec<String> = found.into_iter().map(fill).collect();
    let open = found.iter().find(|path| path.contains('{'));
    assert!(open.is_none(), "a part of {open:?} is not known to this test");
    found
}

/// The operations of a document: method, path and parameters of the query.
fn operations(document: &Value) -> Vec<(String, String, Vec<Value>)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let query = parameters.into_iter().filter(|p| p["in"] == "query").collect();
            found.push((method.to_uppercase(), path.clone(), query));
        }
    }
    assert!(found.len() > 40, "the document has only {} operations", found.len());
    found
}

fn choices(parameter: &Value, tenant: &str) -> Vec<String> {
    let name = parameter["name"].as_str().unwrap();
    let schema = &parameter["schema"];
    let texts = match (schema["enum"].as_array(), schema["type"].as_str()) {
        (Some(words), _) => words.iter().map(|w| w.as_str().unwrap().to_owned()).collect(),
        (None, Some("boolean")) => vec!["true".to_owned()],
        _ => values(name, tenant),
    };
    texts.iter().map(|text| format!("{name}={text}")).collect()
}

/// Every read of a document: each with what it needs, and with each of its parameters beside that.
pub fn reads(document: &Value, tenants: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (method, template, query) in operations(document) {
        // Streams have tests of their own: they do not end.
        if method != "GET" || template == "/v1/watch" {
            continue;
        }
        for tenant in tenants {
            let (needed, others): (Vec<&Value>, Vec<&Value>) =
                query.iter().partition(|p| p["required"] == true);
            let mut bases = vec![String::new()];
            for parameter in needed {
                let choices = choices(parameter, tenant);
                bases = bases
                    .iter()
                    .flat_map(|b| choices.iter().map(move |c| format!("{b}&{c}")))
                    .collect();
            }
            let more = others.iter().flat_map(|p| choices(p, tenant));
            let more: Vec<String> = std::iter::once(String::new()).chain(more).collect();
            for path in paths(&template, tenant) {
                for base in &bases {
                    cases.extend(more.iter().map(|more| case(&path, base, more)));
                }
            }
        }
    }
    cases.sort();
    cases.dedup();
    cases
}

fn case(path: &str, base: &str, more: &str) -> Case {
    let query = [base.trim_start_matches('&'), more].join("&");
    let query = query.trim_matches('&');
    let mark = if query.is_empty() { "" } else { "?" };
    Case { path: format!("{path}{mark}{query}") }
}

/// Every write of a document, on resources that are there, each with a text that would be taken.
pub fn writes(document: &Value, texts: &[&str]) -> Vec<Ask> {
    let mut asks = Vec::new();
    for (method, template, query) in operations(document) {
        if method == "GET" {
            continue;
        }
        let needed: Vec<String> = query
            .iter()
            .filter(|p| p["required"] == true)
            .map(|p| choices(p, "lion")[0].clone())
            .collect();
        for path in paths(&template, "lion") {
            let Some(body) = body(&path, texts) else { continue };
            let path = case(&path, &needed.join("&"), "").path;
            let json = template.starts_with("/v1/tokens");
            let media = if json { "application/json" } else { "application/yaml" };
            let ask = Ask::new(&method, &path).header("content-type", media);
            asks.push(if method == "DELETE" { ask } else { ask.body(&body) });
        }
    }
    assert!(asks.len() > 10, "only {} writes", asks.len());
    asks
}

/// The text that a path takes; none if there is no resource of that name.
fn body(path: &str, texts: &[&str]) -> Option<String> {
    if path == "/v1/tokens" {
        return Some(r#"{"name": "mine", "grants": ["admin"]}"#.to_owned());
    }
    if ["/v1/apply", "/v1/delete"].contains(&path) {
        return Some(texts.join("---\n"));
    }
    if ["/v1/redact", "/v1/tokens/none", "/v1/tokens/none/rotate"].contains(&path) {
        return Some(String::new());
    }
    let mut parts = path.split('/').rev();
    let (name, before) = (parts.next()?, path.to_lowercase());
    let fits = |text: &&&str| {
        let kind = text.lines().find_map(|l| l.strip_prefix("type: ").or(l.strip_prefix("kind: ")));
        let kind = kind.unwrap_or_default().to_lowercase();
        let word = |w: &str| before.split('/').any(|part| part == w);
        let own = format!("name: {name}");
        let called = text.lines().any(|l| {
            l == own || l.contains(&format!("{{{own},")) || l.contains(&format!("{{{own}}}"))
        });
        called && (word(&kind) || word(&format!("{kind}s")) || word(&format!("{kind}es")))
    };
    texts.iter().find(fits).map(|text| (*text).to_owned())
}
