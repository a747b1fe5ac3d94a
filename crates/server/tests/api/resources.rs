// SPDX-License-Identifier: Apache-2.0
//! Writing and reading resources.

use crate::client::{config, open};

const MESH: &str = "type: Mesh\nname: default\n";
const TIMEOUT: &str = "type: MeshTimeout\nmesh: default\nname: t\nspec:\n  targetRef:\n    kind: Mesh\n  to:\n    - targetRef:\n        kind: Mesh\n      default:\n        idleTimeout: 10s\n";

#[test]
fn kuma_paths_store_list_and_delete() {
    let (_running, client) = open(config(), &[]);
    client.put("/meshes/default", MESH).expect(201);
    client.put("/meshes/default/meshtimeouts/t", TIMEOUT).expect(201);
    client.put("/meshes/default/meshtimeouts/t", TIMEOUT).expect(200);
    let read = client.get("/meshes/default/meshtimeouts/t").expect(200).json();
    assert_eq!(read["type"], "MeshTimeout");
    let list = client.get("/meshes/default/meshtimeouts").expect(200).json();
    assert_eq!(list["total"], 1);
    client.put("/meshes/default/meshtimeouts/u", TIMEOUT).expect(400);
    client
        .put("/meshes/other/meshtimeouts/t", &TIMEOUT.replace("mesh: default", "mesh: other"))
        .expect(400);
    client.delete("/meshes/default/meshtimeouts/t").expect(200);
    client.get("/meshes/default/meshtimeouts/t").expect(404);
}

#[test]
fn versions_guard_against_others() {
    let (_running, client) = open(config(), &[]);
    let path = "/v1/resources/meshtimeout/default/t";
    let first = client.send("PUT", path, &[("if-none-match", "*")], TIMEOUT).expect(201).json();
    let version = first["items"][0]["version"].to_string();
    client.send("PUT", path, &[("if-none-match", "*")], TIMEOUT).expect(409);
    let changed = TIMEOUT.replace("10s", "11s");
    client.send("PUT", path, &[("if-match", &format!("\"{version}\""))], &changed).expect(200);
    client.send("PUT", path, &[("if-match", &format!("\"{version}\""))], TIMEOUT).expect(409);
    let now = client.get(path).expect(200);
    assert!(now.text.contains("11s"));
    let before = client.get(&format!("{path}?as-of={version}")).expect(200);
    assert!(before.text.contains("10s"));
    let history = client.get("/v1/history").expect(200).json();
    assert_eq!(history["items"].as_array().unwrap().len(), 2);
}

#[test]
fn numbers_in_a_list_are_stored_as_they_are_written() {
    let (_running, client) = open(config(), &[]);
    let numbers = "[18446744073709551615, 9223372036854775808, -9223372036854775808, 9007199254740993, 80.0, 0.1, 1e300]";
    let widget = format!(
        "{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: w, namespace: shop}}, spec: {numbers}}}"
    );
    let timeout = format!(
        "{{type: MeshTimeout, mesh: default, name: t, spec: {{targetRef: {{kind: Mesh}}, to: [{{targetRef: {{kind: Mesh}}, default: {{numbers: {numbers}}}}}]}}}}"
    );
    let list =
        format!("apiVersion: v1\nkind: List\nitems:\n- {widget}\n---\n{timeout}\n---\n{MESH}");
    client.post("/v1/apply", &list).expect(201);
    let expected = serde_json::json!([
        u64::MAX,
        1_u64 << 63,
        i64::MIN,
        9_007_199_254_740_993_u64,
        80,
        0.1,
        1e300
    ]);
    let stored = client.get("/v1/resources/widget/shop/w").expect(200).json();
    assert_eq!(stored["manifest"]["spec"], expected, "{stored}");
    let read = client.get("/meshes/default/meshtimeouts/t").expect(200).json();
    assert_eq!(read["spec"]["to"][0]["default"]["numbers"], expected, "{read}");
}

/// It is stored, read, listed and deleted like any other; only answers are not about it.
#[test]
fn what_is_being_deleted_is_a_resource_like_any_other() {
    let (_running, client) = open(config(), &[]);
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: cart, namespace: shop}\nspec: {ports: [{port: 80}]}\n";
    let deleted = service.replace("shop}", "shop, deletionTimestamp: \"2026-11-19T00:00:00Z\"}");
    let path = "/v1/resources/service/shop/cart";
    client.put(path, service).expect(201);
    client.put(path, &deleted).expect(200);
    assert!(client.get(path).expect(200).text.contains("deletionTimestamp"));
    assert_eq!(client.get("/v1/resources").expect(200).json()["items"][0]["name"], "cart");
    let list = client.get("/v1/get?kind=service").expect(200).json();
    assert_eq!(list["items"][0]["deleted"], "2026-11-19T00:00:00Z", "{list}");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {{{}}}\n",
        "apiVersion: v1, kind: Service, metadata: {name: b, namespace: shop, deletionTimestamp: \"2026-11-19T00:00:00Z\"}, spec: {}"
    );
    client.post("/v1/apply", &list).expect(201);
    client.get("/v1/resources/service/shop/b").expect(200);
    let history = client.get("/v1/history?target=service/shop/cart").expect(200).json();
    assert_eq!(history["items"].as_array().unwrap().len(), 2, "{history}");
    client.delete(path).expect(200);
    client.get(path).expect(404);
}
