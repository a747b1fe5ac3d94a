// SPDX-License-Identifier: Apache-2.0
//! In: stored resources. Out: the same as the API returns them, by identity and in either form.

use serde_json::json;

use super::super::{Times, kubernetes, list, stored};
use super::{CART, MESH, WEB, compat, native};
use crate::kinds::ResourceKind;

#[test]
fn a_resource_is_found_by_its_identity_whatever_its_section() {
    let world = compat(&[MESH, WEB]);
    // The release computes a name from the identity; in its own zone that is the plain one.
    let (status, body) = world.ask("/_kri/kri_dp_m_default__web_http");
    assert_eq!(
        (status, body["name"].as_str(), body["kri"].as_str()),
        (200, Some("web"), Some("kri_dp_m___web_"))
    );
    assert_eq!(body["networking"]["inbound"][1]["port"], 90);
    assert_eq!((body.get("spec"), body.get("type")), (None, Some(&json!("Dataplane"))));
    assert_eq!(
        world.ask("/_kri/kri_dp_m___web_").0,
        404,
        "of another zone, so under a hashed name"
    );
    assert_eq!(world.ask("/_kri/kri_m__default__m_").0, 200);
    for (kri, why) in [
        ("x", "invalid identifier string: \"x\""),
        ("a_dp_m___web_", "identifier must start with 'kri': \"a_dp_m___web_\""),
        ("kri_zzz_m___web_", "unknown short name of resource type: \"zzz\""),
    ] {
        let (status, body) = world.ask(&format!("/_kri/{kri}"));
        assert_eq!((status, &body["detail"]), (400, &json!(format!("bad request: {why}"))));
    }
    let world = native(&[MESH, WEB]);
    assert_eq!(world.ask("/_kri/kri_dp_m_default__web_").1["kri"], "kri_dp_m_default__web_");
}

#[test]
fn kubernetes_objects_are_found_by_the_labels_they_get() {
    let policy = "{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: a, namespace: shop, labels: {kuma.io/mesh: m}}, spec: {to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 60s}}]}}";
    let world = native(&[MESH, policy]);
    let (status, body) = world.ask("/_kri/kri_mt_m_default_shop_a_?format=k8s");
    assert_eq!(status, 200);
    assert_eq!(body["metadata"]["name"], "a");
    assert_eq!(body["metadata"]["namespace"], "shop");
    assert_eq!(body["spec"]["to"][0]["default"]["idleTimeout"], "1m0s");
    let (_, universal) = world.ask("/_kri/kri_mt_m_default_shop_a_?format=universal");
    assert_eq!((&universal["name"], &universal["mesh"]), (&json!("a.shop"), &json!("m")));
    assert_eq!(world.ask("/_kri/kri_mt_m_default_shop_a_?format=xml").0, 400);
}

#[test]
fn both_forms_and_lists() {
    let world = compat(&[MESH, WEB, CART]);
    let live = world.live();
    let inspector = world.inspector();
    let shown = |kind: &str, name: &str| {
        let object = inspector.find(live, ResourceKind::by_type(kind).unwrap(), "m", name).unwrap();
        let (meta, root) = (&live.resources.metas[&object], live.resources.roots[&object]);
        let times = Times { created: "c".into(), modified: "m".into() };
        let k8s = kubernetes(live.documents, meta, root, &times, &live.resources.settings);
        (stored(live.documents, meta, root, &times), k8s)
    };
    let (universal, k8s) = shown("Mesh", "m");
    assert_eq!(
        universal,
        json!({"type": "Mesh", "name": "m", "creationTime": "c", "modificationTime": "m", "kri": "kri_m____m_"})
    );
    assert_eq!(k8s["metadata"], json!({"name": "m", "creationTimestamp": "c"}));
    assert_eq!((k8s.get("mesh"), &k8s["spec"]), (None, &json!({})));
    let (universal, k8s) = shown("MeshService", "cart");
    assert_eq!(universal["spec"]["ports"][1]["appProtocol"], "tcp", "the schema adds it");
    assert_eq!(universal["spec"], k8s["spec"]);
    assert_eq!(k8s["metadata"]["labels"]["kuma.io/mesh"], "m");
    assert_eq!(k8s["metadata"]["namespace"], "kuma-system");
    let (universal, k8s) = shown("Dataplane", "web");
    assert_eq!(k8s["mesh"], "m");
    assert_eq!(k8s["spec"]["networking"], universal["networking"]);
    assert!(
        inspector.find(live, ResourceKind::by_type("Dataplane").unwrap(), "n", "web").is_none()
    );
    let page = list(vec![universal], 3, Some("http://here/next"));
    assert_eq!((&page["total"], &page["next"]), (&json!(3), &json!("http://here/next")));
    assert_eq!(list(Vec::new(), 0, None), json!({"total": 0, "items": [], "next": null}));
}

#[test]
fn the_catalogues_are_there() {
    let world = compat(&[MESH]);
    assert!(world.ask("/_resources").1["resources"].as_array().unwrap().len() > 40);
    assert!(world.ask("/policies").1["policies"].as_array().unwrap().len() > 20);
}
