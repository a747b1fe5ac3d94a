// SPDX-License-Identifier: Apache-2.0
//! In: proxies with policies. Out: `_rules`, `_policies` and `_routes` show them as they must.

use serde_json::{Value, json};

use super::{CART, EXCLUSIVE, MESH, Resolving, WEB, compat, design, native};

const RULES: &str = "/meshes/m/dataplanes/web/_rules";

fn kinds(world: &Resolving, target: &str) -> Vec<Value> {
    let (status, body) = world.ask(target);
    assert_eq!(status, 200, "{body}");
    body["rules"].as_array().unwrap().clone()
}

fn title(world: &Resolving, target: &str) -> (u16, String) {
    let (status, body) = world.ask(target);
    (status, format!("{}: {}", body["title"].as_str().unwrap(), body["detail"].as_str().unwrap()))
}

fn timeout(name: &str, spec: &str) -> String {
    format!("{{type: MeshTimeout, mesh: m, name: {name}, spec: {{{spec}}}}}")
}

#[test]
fn what_is_not_there_is_told_step_by_step() {
    let world = compat(&[MESH, WEB]);
    let missing = (404, "Failed to retrieve Mesh: Not found".to_owned());
    assert_eq!(title(&world, "/meshes/n/dataplanes/web/_rules"), missing);
    assert_eq!(title(&world, "/meshes/n/meshgateways/web/_rules"), missing);
    let missing = (404, "Could not retrieve Dataplane: Not found".to_owned());
    assert_eq!(title(&world, "/meshes/m/dataplanes/x/_rules"), missing);
    assert_eq!(title(&world, "/meshes/m/dataplanes/x/_policies"), missing);
    let missing = (404, "Could not retrieve MeshGateway: Not found".to_owned());
    assert_eq!(title(&world, "/meshes/m/meshgateways/x/_rules"), missing);
    // Without its Mesh a proxy is not there for the release; files may leave it out.
    assert_eq!(compat(&[WEB]).ask(RULES).0, 404);
    assert_eq!(native(&[WEB]).ask(RULES).0, 200);
}

#[test]
fn the_mode_of_the_mesh_is_looked_at_after_the_proxy_and_before_identities() {
    let world = compat(&[MESH, WEB]);
    let refused = |what: &str| {
        (
            400,
            format!(
                "Bad Request: bad request: can't use {what} endpoint without meshService enabled"
            ),
        )
    };
    for target in ["_policies", "_inbounds/x/_policies", "_outbounds/x/_routes"] {
        let target = format!("/meshes/m/dataplanes/web/{target}");
        assert_eq!(title(&world, &target), refused("_policies"));
    }
    assert_eq!(title(&world, "/meshes/m/dataplanes/web/_layout"), refused("_layout"));
    let world = compat(&[EXCLUSIVE, WEB]);
    let target = "/meshes/m/dataplanes/web/_inbounds/x/_policies";
    let refused = (400, "Bad Request: bad request: invalid identifier string: \"x\"".to_owned());
    assert_eq!(title(&world, target), refused);
}

#[test]
fn to_rules_are_by_tag_and_by_resource_and_lose_their_tags_in_exclusive_meshes() {
    let one = timeout(
        "a",
        "to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 61s}}, {targetRef: {kind: MeshService, name: cart, sectionName: http}, default: {idleTimeout: 1s}}]",
    );
    let rules = kinds(&compat(&[MESH, WEB, CART, &one]), RULES);
    assert_eq!(rules.len(), 1);
    let rule = &rules[0];
    assert_eq!((&rule["type"], &rule["warnings"]), (&json!("MeshTimeout"), &json!([])));
    let to = rule["toRules"].as_array().unwrap();
    let confs: Vec<&Value> = to.iter().map(|t| &t["conf"]["idleTimeout"]).collect();
    assert_eq!(confs, ["1s", "1m1s"]);
    assert_eq!(
        to[0]["matchers"],
        json!([{"key": "kuma.io/service", "value": "cart", "not": false}])
    );
    let by_resource = rule["toResourceRules"].as_array().unwrap();
    let shown: Vec<String> = by_resource
        .iter()
        .map(|r| {
            format!("{} {} {}", r["resourceMeta"]["name"], r["resourceSectionName"], r["conf"])
        })
        .collect();
    assert_eq!(
        shown,
        ["\"cart\" \"http\" [{\"idleTimeout\":\"1s\"}]", "\"m\" \"\" [{\"idleTimeout\":\"1m1s\"}]",]
    );
    let origin = json!([
        {"resourceMeta": {"type": "MeshTimeout", "mesh": "m", "name": "a", "labels": {}}, "ruleIndex": 0},
        {"resourceMeta": {"type": "MeshTimeout", "mesh": "m", "name": "a", "labels": {}}, "ruleIndex": 1},
    ]);
    assert_eq!(by_resource[0]["origin"], origin);
    let rules = kinds(&compat(&[EXCLUSIVE, WEB, CART, &one]), RULES);
    assert_eq!(
        (&rules[0]["toRules"], rules[0]["toResourceRules"].as_array().unwrap().len()),
        (&json!([]), 2)
    );
}

#[test]
fn a_kind_with_resource_rules_only_is_left_out_by_the_release_unless_an_inbound_is_selected() {
    let external = "{type: MeshExternalService, mesh: m, name: x, labels: {kuma.io/display-name: x}, spec: {match: {port: 443}}}";
    let retry = "{type: MeshRetry, mesh: m, name: a, spec: {to: [{targetRef: {kind: MeshExternalService, name: x}, default: {http: {numRetries: 1}}}]}}";
    let same = timeout(
        "a",
        "to: [{targetRef: {kind: MeshExternalService, name: x}, default: {idleTimeout: 1s}}]",
    );
    let named = |world: &Resolving| -> Vec<String> {
        kinds(world, RULES).iter().map(|k| k["type"].as_str().unwrap().to_owned()).collect()
    };
    let parts = [MESH, WEB, external, retry, &same];
    assert_eq!(named(&compat(&parts)), ["MeshTimeout"]);
    assert_eq!(named(&native(&parts)), ["MeshTimeout", "MeshRetry"]);
}

#[test]
fn what_comes_in_is_shown_by_port_with_name_and_tags() {
    let all = timeout("all", "from: [{targetRef: {kind: Mesh}, default: {idleTimeout: 2s}}]");
    let one = timeout(
        "one",
        "targetRef: {kind: Dataplane, labels: {app: web}, sectionName: http}, rules: [{default: {idleTimeout: 1s}}]",
    );
    let rules = kinds(&compat(&[MESH, WEB, &all, &one]), RULES);
    let inbound = rules[0]["inboundRules"].as_array().unwrap();
    assert_eq!(
        inbound[0]["inbound"],
        json!({"port": 80, "name": "http", "tags": {"kuma.io/service": "web", "kuma.io/protocol": "http"}})
    );
    assert_eq!(inbound[1]["inbound"], json!({"port": 90, "tags": {"kuma.io/service": "admin"}}));
    let confs = |place: usize| -> Vec<&Value> {
        inbound[place]["rules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| &r["conf"][0]["idleTimeout"])
            .collect()
    };
    assert_eq!((confs(0), confs(1)), (vec![&json!("2s"), &json!("1s")], vec![&json!("2s")]));
    let from = rules[0]["fromRules"].as_array().unwrap();
    assert_eq!(from.len(), 2);
    assert_eq!(from[0]["rules"][0]["conf"], json!({"idleTimeout": "2s"}));
    let bare = "{type: Dataplane, mesh: m, name: web, networking: {address: 1.1.1.1, inbound: [{port: 80}]}}";
    let rules = kinds(&compat(&[MESH, bare, &all]), RULES);
    assert_eq!(rules[0]["fromRules"][0]["inbound"], json!({"port": 80, "tags": null}));
}

#[test]
fn a_target_that_is_not_there_is_a_warning_where_there_is_anything_to_warn_at() {
    let lost = timeout(
        "lost",
        "targetRef: {kind: MeshHTTPRoute, name: r}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 1s}}}]",
    );
    assert_eq!(kinds(&compat(&[MESH, WEB, &lost]), RULES).len(), 0);
    let other = timeout("other", "to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1s}}]");
    let rules = kinds(&compat(&[MESH, WEB, &lost, &other]), RULES);
    let want = "unable to resolve TargetRef on policy: mesh:m name:lost error:\"couldn't resolve MeshHTTPRoute targetRef with name 'r'\"";
    assert_eq!(rules[0]["warnings"], json!([want]));
}

#[test]
fn permissions_without_mtls_are_told_to_have_no_effect() {
    let allow = "{type: MeshTrafficPermission, mesh: m, name: a, spec: {from: [{targetRef: {kind: Mesh}, default: {action: Allow}}]}}";
    let warnings = |world: &Resolving| kinds(world, RULES)[0]["warnings"].as_array().unwrap().len();
    let secure =
        "{type: Mesh, name: m, mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}}";
    assert_eq!(warnings(&native(&[MESH, WEB, allow])), 1);
    assert_eq!(warnings(&native(&[secure, WEB, allow])), 0);
    assert_eq!(warnings(&compat(&[MESH, WEB, allow])), 0);
}

#[test]
fn a_gateway_has_the_rules_of_the_proxy_it_would_configure() {
    let gateway = "{type: MeshGateway, mesh: m, name: edge, selectors: [{match: {kuma.io/service: edge}}], conf: {listeners: [{port: 8080}]}}";
    let proxy = "{type: Dataplane, mesh: m, name: edge-1, networking: {address: 1.1.1.1, gateway: {type: BUILTIN, tags: {kuma.io/service: edge}}}}";
    let log = "{type: MeshAccessLog, mesh: m, name: a, spec: {targetRef: {kind: MeshGateway, name: edge}, from: [{targetRef: {kind: Mesh}, default: {backends: []}}], to: [{targetRef: {kind: Mesh}, default: {backends: []}}]}}";
    let world = compat(&[MESH, gateway, proxy, log]);
    let (_, of_gateway) = world.ask("/meshes/m/meshgateways/edge/_rules");
    let (_, of_proxy) = world.ask("/meshes/m/dataplanes/edge-1/_rules");
    assert_eq!(of_gateway["resource"]["type"], "MeshGateway");
    assert_eq!(of_gateway["rules"], of_proxy["rules"]);
    let inbound = &of_gateway["rules"][0]["fromRules"][0]["inbound"];
    assert_eq!(inbound, &json!({"port": 8080, "tags": {"kuma.io/service": "edge"}}));
}

#[test]
fn ties_keep_the_order_of_names_in_the_release() {
    let twin = |name: &str, zone: &str, value: &str| {
        format!(
            "{{type: MeshTimeout, mesh: m, name: {name}, labels: {{kuma.io/display-name: t, kuma.io/origin: zone, kuma.io/zone: {zone}}}, spec: {{to: [{{targetRef: {{kind: Mesh}}, default: {{idleTimeout: {value}}}}}]}}}}"
        )
    };
    let world = compat(&[MESH, WEB, &twin("b", "west", "2s"), &twin("a", "east", "1s")]);
    let rule = &kinds(&world, RULES)[0]["toRules"][0];
    assert_eq!(
        (&rule["conf"]["idleTimeout"], &rule["origin"][0]["name"]),
        (&json!("2s"), &json!("a"))
    );
}

#[test]
fn the_design_has_one_conf_and_plain_origins() {
    let one = timeout(
        "a",
        "to: [{targetRef: {kind: MeshService, labels: {kuma.io/display-name: cart}}, default: {idleTimeout: 1s}}]",
    );
    let permission = "{type: MeshTrafficPermission, mesh: m, name: p, spec: {rules: [{default: {allow: [{spiffeId: {type: Exact, value: 'spiffe://td/a'}}]}}]}}";
    let world = design(&[MESH, WEB, CART, &one, permission]);
    let rule = &kinds(&world, RULES)[0]["toResourceRules"][0];
    let keys: Vec<&String> = rule.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["conf", "origin", "resourceMeta"]);
    assert_eq!(
        (&rule["conf"], &rule["origin"][0]["name"]),
        (&json!({"idleTimeout": "1s"}), &json!("a"))
    );
    let target = "/meshes/m/dataplanes/web/_inbounds/kri_dp_m___web_http/_policies";
    let (_, body) = world.ask(target);
    let rule = &body["policies"][0]["rules"][0];
    assert_eq!(rule["origin"], "kri_mtp_m_default__p_");
    assert_eq!(rule.get("kri"), None);
}

#[test]
fn sections_of_inbounds() {
    let rule = timeout(
        "a",
        "targetRef: {kind: Dataplane, labels: {app: web}, sectionName: http}, rules: [{default: {idleTimeout: 1s}}, {default: {idleTimeout: 2s}}]",
    );
    let target = |section: &str| {
        format!("/meshes/m/dataplanes/web/_inbounds/kri_dp_other_zone_x_y_{section}/_policies")
    };
    let world = compat(&[EXCLUSIVE, WEB, &rule]);
    let (status, body) = world.ask(&target("http"));
    let origins = json!([{"kri": "kri_mt_m___a_"}, {"kri": "kri_mt_m___a_"}]);
    assert_eq!((status, &body["policies"][0]["origins"]), (200, &origins));
    assert_eq!(
        body["policies"][0]["rules"][1],
        json!({"conf": {"idleTimeout": "2s"}, "kri": "kri_mt_m___a_"})
    );
    // No section means the first; a named one has no number; an unnamed one has.
    assert_eq!(world.ask(&target("")).1, body);
    assert_eq!(world.ask(&target("90")), (200, json!({"policies": []})));
    let failed = (500, "Failed building response: Internal Server Error".to_owned());
    assert_eq!(title(&world, &target("80")), failed);
    let world = native(&[MESH, WEB, &rule]);
    assert_eq!(title(&world, &target("80")).0, 404);
    let (_, body) = world.ask(&target("http"));
    assert_eq!(body["policies"][0]["origins"].as_array().unwrap().len(), 1, "each policy once");
}

#[test]
fn destinations_fall_back_from_port_to_service_to_mesh_and_the_first_hit_counts_whole() {
    let entry = |target: &str, field: &str| {
        format!("{{targetRef: {{{target}}}, default: {{{field}: 1s}}}}")
    };
    let to = |parts: &[String]| timeout("a", &format!("to: [{}]", parts.join(", ")));
    let mesh = entry("kind: Mesh", "connectionTimeout");
    let service = entry("kind: MeshService, labels: {kuma.io/display-name: cart}", "idleTimeout");
    let port = entry(
        "kind: MeshService, labels: {kuma.io/display-name: cart}, sectionName: http",
        "connectionTimeout",
    );
    let conf = |world: &Resolving, kri: &str| -> Value {
        let (status, body) =
            world.ask(&format!("/meshes/m/dataplanes/web/_outbounds/{kri}/_policies"));
        assert_eq!(status, 200);
        body["policies"][0]["conf"].clone()
    };
    let world =
        compat(&[EXCLUSIVE, WEB, CART, &to(&[mesh.clone(), service.clone(), port.clone()])]);
    let both = json!([{"connectionTimeout": "1s", "idleTimeout": "1s"}]);
    assert_eq!(conf(&world, "kri_msvc_m___cart_http"), both);
    assert_eq!(conf(&world, "kri_msvc_m___cart_81"), both, "the service");
    assert_eq!(
        conf(&world, "kri_msvc_m___none_http"),
        json!([{"connectionTimeout": "1s"}]),
        "the Mesh"
    );
    let world = compat(&[EXCLUSIVE, WEB, CART, &to(&[service, port])]);
    assert_eq!(conf(&world, "kri_msvc_m___none_"), Value::Null, "nothing");
}

#[test]
fn routes_are_looked_up_before_their_destination_and_listed_apart() {
    let service = "{kind: MeshService, labels: {kuma.io/display-name: cart}}";
    let route = format!(
        "{{type: MeshHTTPRoute, mesh: m, name: r, spec: {{to: [{{targetRef: {service}, rules: [{{matches: [{{path: {{type: Exact, value: /a}}}}], default: {{filters: []}}}}]}}]}}}}"
    );
    let tcp = format!(
        "{{type: MeshTCPRoute, mesh: m, name: t, spec: {{to: [{{targetRef: {service}, rules: [{{default: {{backendRefs: [{{kind: MeshService, name: x}}]}}}}]}}]}}}}"
    );
    let of_route = timeout(
        "a",
        &format!(
            "to: [{{targetRef: {{kind: MeshHTTPRoute, name: r}}, default: {{idleTimeout: 1s}}}}, {{targetRef: {service}, default: {{idleTimeout: 2s}}}}]"
        ),
    );
    let world = compat(&[EXCLUSIVE, WEB, CART, &route, &tcp, &of_route]);
    let at = "/meshes/m/dataplanes/web/_outbounds/kri_msvc_m___cart_http";
    let (_, routes) = world.ask(&format!("{at}/_routes"));
    assert_eq!(
        routes["routes"][0],
        json!({
            "kind": "MeshHTTPRoute", "origins": [{"kri": "kri_mhttpr_m___r_"}],
            "rules": [{"conf": {"filters": []}, "kri": "kri_mhttpr_m___r_", "matches": [{"path": {"type": "Exact", "value": "/a"}}]}],
        })
    );
    assert_eq!(
        routes["routes"][1]["rules"][0],
        json!({
            "conf": {"backendRefs": [{"kind": "MeshService", "name": "x", "weight": 1}]}, "kri": "", "matches": null,
        })
    );
    let conf = |route: &str| world.ask(&format!("{at}/_routes/{route}/_policies")).1;
    let own = conf("kri_mhttpr_m___r_");
    assert_eq!(own["policies"].as_array().unwrap().len(), 1, "routes are not policies of a route");
    assert_eq!(own["policies"][0]["conf"], json!([{"idleTimeout": "1s"}]));
    assert_eq!(
        conf("kri_mhttpr_m___other_")["policies"][0]["conf"],
        json!([{"idleTimeout": "2s"}])
    );
    assert_eq!(conf("x")["status"], 400);
}

#[test]
fn matches_of_routes_are_told_by_their_hash() {
    let route = "{type: MeshHTTPRoute, mesh: m, name: r, spec: {to: [{targetRef: {kind: MeshService, name: cart}, rules: [{matches: [{path: {type: Exact, value: /}}], default: {}}]}]}}";
    let (_, body) = compat(&[MESH, WEB, route]).ask(RULES);
    assert_eq!(
        body["httpMatches"],
        json!([{
            "hash": "JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss=",
            "match": [{"path": {"type": "Exact", "value": "/"}}],
        }])
    );
}

#[test]
fn confs_of_the_whole_proxy_are_merged() {
    let trace = |name: &str, conf: &str| {
        format!("{{type: MeshTrace, mesh: m, name: {name}, spec: {{default: {{{conf}}}}}}}")
    };
    let world = compat(&[
        EXCLUSIVE,
        WEB,
        &trace("b", "tags: [{name: x, literal: v}]"),
        &trace("a", "sampling: {overall: 5}"),
    ]);
    let (_, body) = world.ask("/meshes/m/dataplanes/web/_policies");
    assert_eq!(
        body,
        json!({"policies": [{
            "kind": "MeshTrace",
            "conf": {"tags": [{"name": "x", "literal": "v"}], "sampling": {"overall": 5}},
            "origins": [{"kri": "kri_mtr_m___b_"}, {"kri": "kri_mtr_m___a_"}],
        }]})
    );
    let rules = kinds(&world, RULES);
    assert_eq!(rules[0]["proxyRule"]["conf"], body["policies"][0]["conf"]);
    assert_eq!(rules[0]["proxyRule"]["origin"][1]["name"], "a");
}

#[test]
fn generated_configuration_is_refused_honestly() {
    let world = compat(&[MESH, WEB]);
    let bad = title(&world, "/meshes/m/dataplanes/web/_config?shadow=2");
    assert_eq!(bad.0, 400);
    assert_eq!(title(&world, "/meshes/m/dataplanes/web/_config?shadow=true&include=diff").0, 404);
    assert_eq!(title(&world, "/meshes/m/dataplanes/none/_config").0, 404);
}

#[test]
fn what_is_refused_counts_nowhere_even_if_somebody_stored_it() {
    let of = |conf: &str| {
        timeout("a", &format!("to: [{{targetRef: {{kind: Mesh}}, default: {{{conf}}}}}], tpyo: 1"))
    };
    let good = of("http: {requestTimeout: 1s}");
    assert_eq!(
        kinds(&compat(&[MESH, WEB, &good]), RULES).len(),
        1,
        "unknown fields are passed over"
    );
    let refused = of("http: {requestHeadersTimeout: 1s}");
    assert_eq!(kinds(&compat(&[MESH, WEB, &refused]), RULES).len(), 0);
}
