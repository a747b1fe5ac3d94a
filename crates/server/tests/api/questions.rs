// SPDX-License-Identifier: Apache-2.0
//! The questions of the command line.

use crate::client::{config, open};

#[test]
fn answers_what_the_command_line_answers() {
    let (_running, client) = open(config(), &["examples/shop"]);
    let all = client.get("/v1/effective").expect(200);
    assert_eq!(all.json()["kind"], "EffectivePolicyList");
    assert_eq!(all.header("overrule-version"), "1");
    let one = client.get("/v1/effective?target=httproute/shop/cart").expect(200);
    assert!(!one.json()["items"].as_array().unwrap().is_empty(), "{}", one.text);
    let text = client.get("/v1/explain?target=httproute/shop/cart&output=table").expect(200);
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    let missing = client.get("/v1/effective?target=httproute/shop/card").expect(404);
    assert_eq!(missing.header("content-type"), "application/problem+json");
    assert!(missing.text.contains("cart"), "the nearest name is offered: {}", missing.text);
    client.get("/v1/effective?tarket=x").expect(400);
    // A kind without a policy covers nothing, which is an answer.
    let open = client.get("/v1/get?without=AuthPolicy").expect(200).json();
    assert_eq!(open["kind"], "UncoveredList");
    assert!(!open["items"].as_array().unwrap().is_empty());
    client.get("/v1/get?without=NoSuchKind").expect(404);
    client.get("/v1/graph?output=svg").expect(200);
    client.get("/v1/check").expect(200);
    client.get("/v1/get").expect(200);
    client.get("/metrics").expect(200);
    client.get("/openapi.json").expect(200);
    client.get("/readyz").expect(200);
    client.get("/nothing/here/at/all").expect(404);
}
