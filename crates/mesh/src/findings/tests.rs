// SPDX-License-Identifier: Apache-2.0
//! In: small worlds with one mistake. Out: the mistake is told where it is made, with what was meant; and good worlds
//! are silent.

mod together;

use std::fmt::Write as _;

use overrule_engine::Topology;
use overrule_source::{Diagnostic, Input, ReadOptions, read};

use crate::names::Mode;
use crate::{Profile, ProxyOptions, Settings, World, resolve, topology};

const RELEASE: Profile = Profile::Release;

fn design() -> Profile {
    Profile::Design { system: "kuma-system".into() }
}

fn with_settings(text: &str, profile: &Profile, settings: &Settings) -> Vec<Diagnostic> {
    let input = vec![Input::new("a.yaml", text)];
    let documents = read(input, &ReadOptions::default()).documents;
    let mut snapshot = overrule_model::parse(&documents).snapshot;
    let (resources, mut all) = crate::parse(&documents, &snapshot, settings);
    let topology = topology::build(&documents, &mut snapshot, &resources, &mut Topology::default());
    let world = World {
        documents: &documents,
        snapshot: &snapshot,
        resources: &resources,
        topology: &topology,
        profile,
    };
    let resolved = resolve(world, &ProxyOptions::default());
    all.extend(crate::report(world, &resolved));
    all
}

fn run(text: &str, profile: &Profile) -> Vec<Diagnostic> {
    with_settings(text, profile, &Settings::default())
}

/// What is told under a code: `field: message (help)`.
fn told(text: &str, code: &str) -> Vec<String> {
    let of = |profile: &Profile| -> Vec<String> {
        let all = run(text, profile);
        assert!(all.iter().all(|d| d.primary.is_some() && d.help.is_some()), "{all:?}");
        assert!(all.iter().all(|d| !d.message.ends_with('.')), "{all:?}");
        let mine = all.iter().filter(|d| d.code.id == code);
        mine.map(|d| format!("{}: {} ({})", d.field, d.message, d.help.as_deref().unwrap()))
            .collect()
    };
    let (new, old) = (of(&design()), of(&RELEASE));
    assert_eq!(new, old, "the rule sets differ");
    new
}

/// The one finding of a code has these words.
fn says(text: &str, code: &str, words: &[&str]) {
    let told = told(text, code);
    assert_eq!(told.len(), 1, "{told:#?}");
    for word in words {
        assert!(told[0].contains(word), "{word:?} is not in {:?}", told[0]);
    }
}

const MESH: &str =
    "{type: Mesh, name: m, skipCreatingInitialPolicies: ['*'], mtls: {enabledBackend: ca}}";
const WEB: &str = "{type: Dataplane, mesh: m, name: web-1, labels: {app: web, tier: front}, networking: {address: 10.0.0.1, \
    inbound: [{port: 8080, name: http, tags: {kuma.io/service: web_shop_svc_80, v: '1'}}, {port: 9090, tags: {kuma.io/service: admin, v: '2'}}]}}";
const SERVICE: &str = "{type: MeshService, mesh: m, name: cart, labels: {kuma.io/display-name: cart}, \
    spec: {ports: [{port: 80, name: http}, {port: 81}]}}";

fn world(more: &[&str]) -> String {
    [&[MESH, WEB, SERVICE], more].concat().join("\n---\n")
}

fn policy(spec: &str) -> String {
    format!("{{type: MeshTimeout, mesh: m, name: p, spec: {spec}}}")
}

fn to_mesh(target: &str) -> String {
    policy(&format!("{{targetRef: {target}, to: [{{targetRef: {{kind: Mesh}}}}]}}"))
}

fn about(target: &str) -> String {
    policy(&format!("{{to: [{{targetRef: {{kind: Mesh}}}}, {{targetRef: {target}}}]}}"))
}

#[test]
fn a_good_world_is_silent() {
    for good in [
        to_mesh("{kind: Mesh}"),
        to_mesh("{kind: Dataplane, labels: {app: web}}"),
        to_mesh("{kind: Dataplane, name: web-1}"),
        to_mesh("{kind: MeshSubset, tags: {v: '2'}}"),
        to_mesh("{kind: MeshService, name: admin}"),
        about("{kind: MeshService, name: cart}"),
        about("{kind: MeshService, name: cart, sectionName: '81'}"),
        about("{kind: MeshService, labels: {kuma.io/display-name: cart}, sectionName: http}"),
        policy("{targetRef: {kind: Dataplane, sectionName: http}, rules: [{default: {}}]}"),
    ] {
        for profile in [design(), RELEASE] {
            let all = run(&world(&[&good]), &profile);
            assert!(all.is_empty(), "{good}: {all:#?}");
        }
    }
}

#[test]
fn labels_that_nobody_has() {
    let case = |target: &str, words: &[&str]| says(&world(&[&to_mesh(target)]), "OV1604", words);
    case(
        "{kind: Dataplane, labels: {app: wbe}}",
        &["spec.targetRef.labels: ", "no proxy has the label `app: wbe`", "`app: web`"],
    );
    case("{kind: Dataplane, labels: {ap: web}}", &["no proxy has the label `ap`", "`app`"]);
    let other = WEB.replace("web-1", "web-2").replace("front", "back");
    let text =
        world(&[&other, &to_mesh("{kind: Dataplane, labels: {tier: back, app: web, v: x}}")]);
    says(&text, "OV1604", &["no proxy has the label `v`"]);
    let other = other.replace("app: web", "app: shop");
    let text = world(&[&other, &to_mesh("{kind: Dataplane, labels: {tier: back, app: web}}")]);
    says(&text, "OV1604", &["no single proxy has all of these labels"]);
}

#[test]
fn tags_that_no_inbound_has() {
    let case = |target: &str, words: &[&str]| says(&world(&[&to_mesh(target)]), "OV1604", words);
    case("{kind: MeshSubset, tags: {v: '3'}}", &["no inbound has the tag `v: 3`"]);
    case("{kind: MeshSubset, tags: {vv: '1'}}", &["no inbound has the tag `vv`"]);
    case(
        "{kind: MeshSubset, tags: {kuma.io/service: admin, v: '1'}}",
        &["no single inbound has all of these tags", "do not count for another"],
    );
    case("{kind: MeshService, name: web}", &["spec.targetRef.name", "`web_shop_svc_80`?"]);
    case("{kind: MeshService, name: admn}", &["did you mean `admin`?"]);
    case("{kind: MeshServiceSubset, name: admin, tags: {v: '1'}}", &["no single inbound"]);
    case("{kind: Mesh, proxyTypes: [Gateway]}", &["no proxy of type Gateway"]);
}

#[test]
fn names_of_proxies() {
    let case = |target: &str, words: &[&str]| says(&world(&[&to_mesh(target)]), "OV1604", words);
    case(
        "{kind: Dataplane, name: web-2}",
        &["Dataplane `web-2` not found in the input", "`web-1`?"],
    );
    case("{kind: Dataplane, name: web-1, namespace: x}", &["is in namespace ``, not in `x`"]);
    let far = WEB.replace("labels: {", "labels: {kuma.io/origin: zone, kuma.io/zone: west, ");
    let text = [MESH, &far, &to_mesh("{kind: Dataplane, name: web-1}")].join("\n---\n");
    says(&text, "OV1604", &["in zone `west` and the policy in `default`", "by its labels"]);
}

#[test]
fn gateways() {
    let gateway = "{type: MeshGateway, mesh: m, name: edge, selectors: [{match: {kuma.io/service: edge}}], \
                   conf: {listeners: [{port: 80, tags: {port: http}}]}}";
    let proxy = "{type: Dataplane, mesh: m, name: edge-1, labels: {app: edge}, networking: {address: 10.0.0.2, \
                 gateway: {type: BUILTIN, tags: {kuma.io/service: edge}}}}";
    let text = |more: &[&str], target: &str| {
        let policy = to_mesh(target);
        world(&[&[gateway, &policy], more].concat())
    };
    says(
        &text(&[proxy], "{kind: MeshGateway, name: edgy}"),
        "OV1604",
        &["MeshGateway `edgy` not found in the input", "`edge`?"],
    );
    says(
        &text(&[], "{kind: MeshGateway, name: edge}"),
        "OV1604",
        &["no built-in gateway has tags"],
    );
    says(
        &text(&[proxy], "{kind: MeshGateway, name: edge, tags: {port: https}}"),
        "OV1604",
        &["spec.targetRef.tags", "has a listener with these tags"],
    );
    says(
        &text(&[proxy], "{kind: Dataplane, labels: {app: edge}}"),
        "OV1604",
        &["`edge-1` has these labels, but is a built-in gateway"],
    );
    assert!(told(&text(&[proxy], "{kind: MeshGateway, name: edge}"), "OV1604").is_empty());
}

/// A policy and a proxy on Kubernetes.
fn in_namespaces(policy: &str, proxy: &str) -> String {
    let mesh = "labels: {kuma.io/mesh: m}";
    format!(
        "{MESH}\n---\n\
         {{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {{name: web-1, namespace: {proxy}, \
         labels: {{kuma.io/mesh: m, app: web}}}}, spec: {{networking: {{address: 10.0.0.1, inbound: [{{port: 80}}]}}}}}}\n---\n\
         {{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {{name: p, namespace: {policy}, {mesh}}}, \
         spec: {{targetRef: {{kind: Dataplane, labels: {{app: web}}}}, to: [{{targetRef: {{kind: Mesh}}}}]}}}}"
    )
}

#[test]
fn namespaces_and_zones_keep_policies_out() {
    let text = in_namespaces("bank", "shop");
    says(
        &text,
        "OV1604",
        &[
            "`web-1` would match, but is in namespace `shop`, and a policy in namespace `bank`",
            "`kuma-system`",
        ],
    );
    for good in [in_namespaces("shop", "shop"), in_namespaces("kuma-system", "shop")] {
        assert!(told(&good, "OV1604").is_empty());
    }
    let far = WEB.replace("labels: {", "labels: {kuma.io/origin: zone, kuma.io/zone: west, ");
    let text = [MESH, &far, &to_mesh("{kind: Mesh}")].join("\n---\n");
    says(
        &text,
        "OV1604",
        &["is in zone `west`, and a policy of zone `default`", "global control plane"],
    );
}

#[test]
fn sections_of_proxies() {
    let rules = |section: &str| {
        policy(&format!(
            "{{targetRef: {{kind: Dataplane, labels: {{app: web}}, sectionName: {section}}}, rules: [{{default: {{}}}}]}}"
        ))
    };
    let case = |section: &str, words: &[&str]| {
        let text = world(&[&rules(section)]);
        says(&text, "OV1605", words);
        assert!(told(&text, "OV1604").is_empty());
    };
    case("'8080'", &["spec.targetRef.sectionName", "the inbound with port 8080 is called `http`"]);
    case("htpp", &["no inbound of `web-1` is called `htpp`", "did you mean `http`?", "9090, http"]);
    assert!(told(&world(&[&rules("'9090'")]), "OV1605").is_empty());
    // If not even the labels fit, those are the mistake.
    let text = world(&[&rules("x").replace("app: web", "app: wbe")]);
    says(&text, "OV1604", &["`app: web`"]);
    assert!(told(&text, "OV1605").is_empty());
}

#[test]
fn targets_that_lead_nowhere() {
    let route = "{type: MeshHTTPRoute, mesh: m, name: cart-route, spec: {to: [{targetRef: {kind: MeshService, name: cart}}]}}";
    let text = world(&[route, &to_mesh("{kind: MeshHTTPRoute, name: cart-rout}")]);
    says(
        &text,
        "OV1603",
        &[
            "spec.targetRef.name",
            "unable to resolve TargetRef on policy: mesh:m name:p error:\"couldn't resolve MeshHTTPRoute targetRef with name 'cart-rout'\"",
            "did you mean `cart-route`?",
        ],
    );
    assert!(told(&text, "OV1604").is_empty());
}

#[test]
fn a_mesh_without_proxies_says_so_once() {
    let other = to_mesh("{kind: Dataplane, labels: {app: x}}").replace("name: p", "name: q");
    let text = [MESH, &to_mesh("{kind: Mesh}"), &other].join("\n---\n");
    says(
        &text,
        "OV1606",
        &["the policies of mesh `m` select: no Dataplanes", "kumactl get dataplanes --mesh m"],
    );
    assert!(told(&text, "OV1604").is_empty());
    assert!(told(&[MESH, SERVICE].join("\n---\n"), "OV1606").is_empty());
}

#[test]
fn entries_that_mean_nothing() {
    let case = |target: &str, words: &[&str]| says(&world(&[&about(target)]), "OV1607", words);
    case(
        "{kind: MeshService, name: crat}",
        &["spec.to[1].targetRef.name: ", "`crat` not found in the input", "`cart`?"],
    );
    case(
        "{kind: MeshService, name: cart, namespace: shop}",
        &["is in no namespace, not in `shop`"],
    );
    case("{kind: MeshExternalService, name: cart}", &["targetRef.kind", "`cart` is a MeshService"]);
    case("{kind: MeshMultiZoneService, name: other}", &["the mesh has no MeshMultiZoneService"]);
    case(
        "{kind: MeshService, name: cart, sectionName: '80'}",
        &["targetRef.sectionName", "no port of `cart` is called `80`", "port 80 is called `http`"],
    );
    case(
        "{kind: MeshService, name: cart, sectionName: htp}",
        &["did you mean `http`? known: http, 81"],
    );
    case(
        "{kind: MeshService, labels: {kuma.io/display-name: crat}}",
        &[
            "targetRef.labels",
            "no MeshService has the label `kuma.io/display-name: crat`",
            "cart`?",
        ],
    );
    case(
        "{kind: MeshService, labels: {kuma.io/display-name: cart}, sectionName: web}",
        &["no port of `cart` is called `web`", "known: http, 81"],
    );
}

#[test]
fn services_elsewhere() {
    let placed = |labels: &str| SERVICE.replace("labels: {", &format!("labels: {{{labels}, "));
    let west = placed("kuma.io/origin: zone, kuma.io/zone: west");
    let text = [MESH, WEB, &west, &about("{kind: MeshService, name: cart}")].join("\n---\n");
    says(
        &text,
        "OV1607",
        &["`cart` is in zone `west`", "own zone `default`", "kuma.io/display-name: cart"],
    );
    let global = Settings { mode: Mode::Global, ..Settings::default() };
    let all = with_settings(&text, &RELEASE, &global);
    let mine: Vec<&Diagnostic> = all.iter().filter(|d| d.code.id == "OV1607").collect();
    assert_eq!(mine.len(), 1);
    assert!(mine[0].message.contains("a policy of the global control plane cannot refer by name"));
    let shop = placed("k8s.kuma.io/namespace: shop");
    let text = [MESH, WEB, &shop, &about("{kind: MeshService, name: cart}")].join("\n---\n");
    says(&text, "OV1607", &["is in namespace `shop`", "write `namespace: shop`"]);
}

#[test]
fn a_label_that_only_a_control_plane_would_add() {
    let bare = SERVICE.replace("labels: {kuma.io/display-name: cart}, ", "");
    let entry = about("{kind: MeshService, labels: {kuma.io/display-name: cart}}");
    let text = [MESH, WEB, &bare, &entry].join("\n---\n");
    says(&text, "OV1607", &["`cart` does not have the label `kuma.io/display-name`", "by `name`"]);
}

#[test]
fn service_tags() {
    let text = world(&[&about("{kind: MeshService, name: admin}")]);
    says(&text, "OV1608", &["spec.to[1].targetRef.name", "`admin` is the tag of a service"]);
    assert!(told(&text, "OV1607").is_empty());
    let client = "{type: Dataplane, mesh: m, name: client, networking: {address: 10.0.0.3, \
                  inbound: [{port: 80}], outbound: [{port: 33, tags: {kuma.io/service: admin}}]}}";
    let text = world(&[client, &about("{kind: MeshService, name: admin}")]);
    assert!(told(&text, "OV1608").is_empty() && told(&text, "OV1607").is_empty());
}

#[test]
fn a_mesh_without_services_says_so_once() {
    let one = about("{kind: MeshService, name: x}");
    let text = [MESH, WEB, &one, &one.replace("name: p", "name: q")].join("\n---\n");
    says(&text, "OV1620", &["mesh `m` has no MeshService", "kumactl get meshservices --mesh m"]);
    assert!(told(&text, "OV1607").is_empty());
}

#[test]
fn shadows() {
    let shadow = to_mesh("{kind: Dataplane, labels: {app: x}}")
        .replace("name: p,", "name: p, labels: {kuma.io/effect: shadow},");
    let text = world(&[&shadow]);
    says(&text, "OV1609", &["only shadow inspection shows it"]);
    assert!(told(&text, "OV1604").is_empty());
}
