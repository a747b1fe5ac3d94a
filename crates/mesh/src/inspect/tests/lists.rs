// SPDX-License-Identifier: Apache-2.0
//! In: policies, services, proxies. Out: who is selected, in pages; what a proxy listens on and sends to; hostnames.

use serde_json::{Value, json};

use super::{CART, EXCLUSIVE, MESH, Resolving, WEB, compat, native};

fn names(world: &Resolving, target: &str) -> (Vec<String>, u64) {
    let (status, body) = world.ask(target);
    assert_eq!(status, 200, "{body}");
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    let items = body["items"].as_array().unwrap().iter().map(name).collect();
    (items, body["total"].as_u64().unwrap())
}

fn proxy(name: &str, labels: &str, tags: &str) -> String {
    format!(
        "{{type: Dataplane, mesh: m, name: {name}, labels: {{{labels}}}, networking: {{address: 1.1.1.1, inbound: [{{port: 80, tags: {{{tags}}}}}]}}}}"
    )
}

#[test]
fn proxies_of_a_policy_come_in_pages_by_name() {
    let mut parts: Vec<String> = vec![MESH.into()];
    parts.extend((0..250).map(|n| proxy(&format!("p{n:03}"), "", "kuma.io/service: s")));
    parts.push("{type: MeshTimeout, mesh: m, name: t, spec: {targetRef: {kind: Mesh}}}".into());
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let world = compat(&parts);
    let at = "/meshes/m/meshtimeouts/t/_resources/dataplanes";
    let (items, total) = names(&world, at);
    assert_eq!((items.len(), total, items[0].as_str()), (100, 250, "p000"));
    let next = format!("http://here:1{at}?size=7&offset=14");
    assert_eq!(world.ask(&format!("{at}?size=7&offset=7")).1["next"], next);
    let (items, total) = names(&world, &format!("{at}?size=7&offset=245"));
    assert_eq!((items.len(), total), (5, 250));
    assert_eq!(world.ask(&format!("{at}?size=250")).1.get("next"), None);
    let (items, total) = names(&world, &format!("{at}?name=p01&size=3"));
    assert_eq!((items, total), (vec!["p010".into(), "p011".into(), "p012".into()], 10));
    assert_eq!(names(&world, &format!("{at}?offset=999")).0, [""; 0]);
    assert_eq!(world.ask(&format!("{at}?size=1001")).0, 400);
}

#[test]
fn old_policies_select_by_tags_of_one_inbound_or_of_the_gateway() {
    let gateway = "{type: Dataplane, mesh: m, name: gw, networking: {address: 1.1.1.1, gateway: {tags: {kuma.io/service: gw, v: '1'}}}}";
    let policy = |lists: &str| format!("{{type: TrafficLog, mesh: m, name: l, {lists}}}");
    let ask = |lists: &str| {
        let world = compat(&[MESH, WEB, gateway, &policy(lists)]);
        names(&world, "/meshes/m/traffic-logs/l/_resources/dataplanes").0
    };
    assert_eq!(ask("selectors: [{match: {kuma.io/service: '*'}}]"), ["gw", "web"]);
    assert_eq!(
        ask("sources: [{match: {v: '1'}}], destinations: [{match: {kuma.io/service: admin}}]"),
        ["gw", "web"]
    );
    let across = "selectors: [{match: {kuma.io/service: admin, kuma.io/protocol: http}}]";
    assert_eq!(ask(across), [""; 0], "never over two inbounds");
}

#[test]
fn only_proxies_that_leave_their_listeners_to_a_gateway_have_one_here() {
    let gateway = "{type: MeshGateway, mesh: m, name: g, selectors: [{match: {kuma.io/service: web}}], conf: {listeners: [{port: 1}]}}";
    let policy =
        "{type: MeshTimeout, mesh: m, name: t, spec: {targetRef: {kind: MeshGateway, name: g}}}";
    let built_in = "{type: Dataplane, mesh: m, name: b, networking: {address: 1.1.1.1, gateway: {type: BUILTIN, tags: {kuma.io/service: web}}}}";
    let world = compat(&[MESH, WEB, built_in, gateway, policy]);
    assert_eq!(names(&world, "/meshes/m/meshtimeouts/t/_resources/dataplanes").0, ["b"]);
}

#[test]
fn proxies_behind_a_service() {
    let parts = |selector: &str| {
        let service =
            format!("{{type: MeshService, mesh: m, name: s, spec: {{selector: {{{selector}}}}}}}");
        let world =
            compat(&[MESH, WEB, &proxy("cart", "team: a", "kuma.io/service: cart"), &service]);
        names(&world, "/meshes/m/meshservices/s/_dataplanes").0
    };
    assert_eq!(parts("dataplaneTags: {kuma.io/service: cart}"), ["cart"]);
    assert_eq!(parts("dataplaneLabels: {matchLabels: {team: a}}"), ["cart"]);
    assert_eq!(parts("dataplaneRef: {name: web}"), ["web"]);
    assert_eq!(parts(""), [""; 0]);
    let world = compat(&[MESH, WEB]);
    for (target, title) in [
        ("/meshes/n/meshservices/s/_dataplanes", "Could not retrieve policy"),
        ("/meshes/m/meshtimeouts/s/_resources/dataplanes", "Could not retrieve policy"),
        ("/meshes/n/meshtimeouts/s/_resources/dataplanes", "Failed to retrieve Mesh"),
    ] {
        let (status, body) = world.ask(target);
        assert_eq!((status, body["title"].as_str()), (404, Some(title)), "{target}");
    }
}

fn outbounds(parts: &[&str]) -> Vec<String> {
    let (status, body) = compat(parts).ask("/meshes/m/dataplanes/web/_layout");
    assert_eq!(status, 200, "{body}");
    let all = body["outbounds"].as_array().unwrap().iter();
    all.map(|o| {
        format!("{} {} {}", o["kri"].as_str().unwrap(), o["port"], o["protocol"].as_str().unwrap())
    })
    .collect()
}

#[test]
fn a_proxy_sends_where_it_says_or_everywhere() {
    let external = "{type: MeshExternalService, mesh: m, name: x, spec: {match: {port: 443, protocol: http2}}}";
    let all = [
        "kri_extsvc_m___x_443 443 http2",
        "kri_msvc_m___cart_81 81 tcp",
        "kri_msvc_m___cart_http 80 http",
    ];
    assert_eq!(outbounds(&[EXCLUSIVE, WEB, CART, external]), all);
    let with = |more: &str| WEB.replace("networking: {", &format!("networking: {{{more}, "));
    let out = |more: &str| outbounds(&[EXCLUSIVE, &with(more), CART, external]);
    let outbound =
        |what: &str| format!("outbound: [{{port: 1, backendRef: {{kind: MeshService, {what}}}}}]");
    assert_eq!(out(&outbound("name: cart, port: 80")), [all[2]]);
    assert_eq!(out(&outbound("labels: {kuma.io/display-name: cart}, port: http")), [all[2]]);
    assert_eq!(
        out(&outbound("labels: {a: b}, name: cart")),
        [all[1], all[2]],
        "no label fits, so the name counts"
    );
    assert_eq!(out(&outbound("name: cart, port: 99")), [all[1], all[2]], "no such port, so all");
    assert_eq!(out(&outbound("name: none")), all, "nothing is named, so everything");
    let reachable = |refs: &str| format!("transparentProxying: {{reachableBackends: {{{refs}}}}}");
    assert_eq!(out(&reachable("refs: [{kind: MeshExternalService, name: x}]")), [all[0]]);
    assert_eq!(out(&reachable("")), [""; 0]);
}

#[test]
fn a_layout_names_what_the_proxy_listens_on() {
    let (_, body) = compat(&[EXCLUSIVE, WEB]).ask("/meshes/m/dataplanes/web/_layout");
    assert_eq!(
        body,
        json!({
            "kri": "kri_dp_m___web_", "labels": {"app": "web"}, "outbounds": [],
            "inbounds": [
                {"kri": "kri_dp_m___web_http", "port": 80, "protocol": "http", "proxyResourceName": "self_inbound_dp_http"},
                {"kri": "kri_dp_m___web_90", "port": 90, "protocol": "", "proxyResourceName": "self_inbound_dp_90"},
            ],
        })
    );
    let zone = "{type: Dataplane, mesh: m, name: web, networking: {address: 1.1.1.1, inbound: [{port: 80}], listeners: [{type: ZoneIngress, port: 10001}]}}";
    let (_, body) = native(&[MESH, zone]).ask("/meshes/m/dataplanes/web/_layout");
    assert_eq!(
        (body["inbounds"].as_array().unwrap().len(), &body["listeners"][0]["type"]),
        (1, &json!("ZoneIngress"))
    );
}

#[test]
fn hostnames_are_those_of_generators_that_see_the_service_so() {
    let service = "{type: MeshService, mesh: m, name: web-h, labels: {kuma.io/display-name: web, kuma.io/origin: zone, kuma.io/zone: east, team: a}, spec: {}}";
    let generator = |name: &str, labels: &str, wants: &str, template: &str| {
        format!(
            "{{type: HostnameGenerator, name: {name}, labels: {{{labels}}}, spec: {{selector: {{meshService: {{matchLabels: {{{wants}}}}}}}, template: '{template}'}}}}"
        )
    };
    let near = generator(
        "near",
        "kuma.io/origin: zone, kuma.io/zone: east",
        "kuma.io/origin: zone",
        "{{ .DisplayName }}.near",
    );
    let far = generator(
        "far",
        "kuma.io/origin: zone, kuma.io/zone: west",
        "kuma.io/origin: global",
        "{{ .DisplayName }}.{{ .Zone }}.far",
    );
    let same = generator("same", "kuma.io/origin: global", "team: a", "web.near");
    let broken = generator("broken", "", "", "{{ label \"none\" }}");
    let other = "{type: HostnameGenerator, name: other, spec: {selector: {meshExternalService: {}}, template: x}}";
    let parts = [MESH, service, &near, &far, &same, &broken, other];
    let at = "/meshes/m/meshservices/web-h/_hostnames";
    assert_eq!(
        compat(&parts).ask(at).1,
        json!({"total": 2, "items": [
            {"hostname": "web.east.far", "zones": [{"name": "east"}]},
            {"hostname": "web.near", "zones": [{"name": "east"}]},
        ]})
    );
    let (_, body) = native(&parts).ask(at);
    assert_eq!(body["items"][0]["zones"], json!([{"name": "west"}]), "where the generator is");
    let none = compat(&[MESH, service]).ask(at);
    assert_eq!(none, (200, json!({"items": null, "total": 0})));
    let (status, body) = compat(&[MESH]).ask(at);
    assert_eq!((status, body["title"].as_str()), (404, Some("could not retrieve service")));
    let (status, body) = compat(&[MESH]).ask("/meshes/m/dataplanes/web/_hostnames");
    assert_eq!((status, body["detail"].as_str()), (400, Some("Resource is not valid")));
}
