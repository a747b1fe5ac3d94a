// SPDX-License-Identifier: Apache-2.0
//! Tokens: what they allow, and when they end.

use crate::client::{Client, guarded};

const ROUTE: &str = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: cart\n  namespace: shop\nspec:\n  parentRefs:\n    - name: edge\n      namespace: infra\n";

fn make(admin: &Client, name: &str, grants: &[&str]) -> (String, String) {
    let body = serde_json::json!({"name": name, "grants": grants}).to_string();
    let made = admin.send("POST", "/v1/tokens", &[("content-type", "application/json")], &body);
    let made = made.expect(201).json();
    let text = |pointer: &str| made.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    (text("/token"), text("/item/id"))
}

#[test]
fn nobody_gets_in_without_a_token_and_health_needs_none() {
    let (_running, admin) = guarded(&[]);
    let nobody = Client { token: None, ..admin.clone() };
    let denied = nobody.get("/v1/effective").expect(401);
    assert_eq!(denied.header("content-type"), "application/problem+json");
    assert!(denied.header("www-authenticate").starts_with("Bearer"));
    nobody.get("/metrics").expect(401);
    nobody.get("/meshes").expect(401);
    nobody.get("/healthz").expect(200);
    nobody.get("/readyz").expect(200);
    admin.get("/metrics").expect(200);
}

#[test]
fn a_reader_reads_and_writes_nothing() {
    let (_running, admin) = guarded(&["examples/shop"]);
    let (token, _) = make(&admin, "reader", &["read"]);
    let reader = admin.with(&token);
    reader.get("/v1/effective").expect(200);
    let before = admin.get("/v1/resources").text;
    reader.put("/v1/resources/httproute/shop/cart", ROUTE).expect(403);
    reader.post("/v1/apply", ROUTE).expect(403);
    reader.post("/v1/apply?dry-run=true", ROUTE).expect(403);
    reader.delete("/v1/resources/httproute/shop/cart").expect(403);
    reader.post("/v1/delete", ROUTE).expect(403);
    reader.put("/meshes/default", "type: Mesh\nname: default\n").expect(403);
    reader.get("/v1/tokens").expect(403);
    reader.get("/v1/audit").expect(403);
    reader.get("/v1/backup").expect(403);
    reader.post("/v1/redact?target=httproute/shop/cart", "").expect(403);
    assert_eq!(admin.get("/v1/resources").text, before);
}

#[test]
fn what_one_may_not_read_looks_as_if_it_were_not_there() {
    let (_running, admin) = guarded(&["examples/shop"]);
    let (token, _) = make(&admin, "shop", &["write:namespace/shop"]);
    let shop = admin.with(&token);
    shop.get("/v1/resources/httproute/shop/cart").expect(200);
    shop.get("/v1/resources/gateway/infra/edge").expect(404);
    shop.get("/v1/resources/gatewayclass/edge").expect(404);
    shop.get("/v1/effective?target=gateway/infra/edge").expect(404);
    shop.get("/metrics").expect(403);
    let list = shop.get("/v1/resources").expect(200);
    assert!(!list.text.contains("infra"), "{}", list.text);
    let history = shop.get("/v1/history").expect(200);
    assert!(!history.text.contains("namespace: infra\n  name: edge"), "{}", history.text);
    // Refused by its path: the body is not looked at.
    shop.put("/v1/resources/gateway/infra/edge", &ROUTE.replace("shop", "infra")).expect(403);
    shop.put("/v1/resources/gateway/nowhere/edge", "{").expect(403);
    shop.put(
        "/v1/resources/httproute/infra/cart",
        &ROUTE.replace("namespace: shop", "namespace: infra"),
    )
    .expect(403);
    shop.put("/v1/resources/httproute/shop/cart", ROUTE).expect(200);
    // The values in force there, and the names of the policies that set them.
    let seen = shop.get("/v1/effective?target=httproute/shop/cart").expect(200);
    assert!(seen.text.contains("infra/gw-timeouts"), "{}", seen.text);
    assert!(
        !seen.text.contains("\"at\":{\"file\":\"timeoutpolicy.policies.example.com/infra"),
        "{}",
        seen.text
    );
}

#[test]
fn tokens_rotate_expire_and_are_revoked() {
    let (_running, admin) = guarded(&[]);
    let (token, id) = make(&admin, "one", &["read"]);
    let one = admin.with(&token);
    one.get("/v1/get").expect(200);
    let rotated = admin.post(&format!("/v1/tokens/{id}/rotate"), "").expect(201).json();
    one.get("/v1/get").expect(401);
    let two = admin.with(rotated["token"].as_str().unwrap());
    two.get("/v1/get").expect(200);
    let second = rotated["item"]["id"].as_str().unwrap();
    admin.delete(&format!("/v1/tokens/{second}")).expect(204);
    two.get("/v1/get").expect(401);
    admin.delete(&format!("/v1/tokens/{second}")).expect(404);
    let listed = admin.get("/v1/tokens").expect(200);
    assert!(!listed.text.contains(&token), "secrets are shown once");
    let past = r#"{"name": "x", "grants": ["read"], "expires": "2020-01-01T00:00:00Z"}"#;
    let json = [("content-type", "application/json")];
    admin.send("POST", "/v1/tokens", &json, past).expect(400);
    admin.send("POST", "/v1/tokens", &json, r#"{"name": "x", "grants": ["rule"]}"#).expect(400);
    let audit = admin.get("/v1/audit").expect(200);
    assert!(audit.text.contains("revoke token"), "{}", audit.text);
    assert!(!audit.text.contains(&token));
}
