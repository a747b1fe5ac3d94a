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
