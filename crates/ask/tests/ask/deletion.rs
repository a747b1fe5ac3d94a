// SPDX-License-Identifier: Apache-2.0
//! In: a small world in which things are being deleted. Out: how that is shown. Not here: that nothing of it takes part
//! (`crates/overrule/tests/deletion.rs`).

use overrule::source::Input;
use overrule::{Analysis, Options};
use overrule_ask::{Check, Effective, Everything, Get, Reach};
use serde_json::Value;

use crate::tenancy::ask;
use crate::worlds::Tenant;

const GONE: &str = "deletionTimestamp: \"2026-11-19T00:00:00Z\"";

fn world() -> Analysis {
    let route = |name: &str, more: &str| {
        format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: {name}, namespace: shop{more}}}\n\
             spec: {{parentRefs: [{{name: edge, namespace: infra}}], rules: [{{backendRefs: [{{name: b, port: 80}}]}}]}}\n---\n"
        )
    };
    let policy = |name: &str, more: &str| {
        format!(
            "apiVersion: kuadrant.io/v1\nkind: RateLimitPolicy\nmetadata: {{name: {name}, namespace: shop{more}}}\n\
             spec: {{targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: live}}, limits: {{a: {{rates: []}}}}}}\n---\n"
        )
    };
    let gone = format!(", {GONE}");
    let secret = format!(", {GONE}, labels: {{secret: x}}");
    let text = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: infra}\n\
         spec: {gatewayClassName: c, listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}\n---\n"
        .to_owned()
        + &route("live", "")
        + &route("gone", &gone)
        + &policy("kept", "")
        + &policy("old", &gone)
        + &policy("unseen", &secret);
    Analysis::new(vec![Input::new("world.yaml", text)], &Options::default())
}

/// The items of a list, as JSON.
fn items(said: &str) -> Vec<Value> {
    let json = said.get(said.find('{').unwrap()..).unwrap();
    let list = serde_json::Deserializer::from_str(json).into_iter::<Value>().next();
    list.unwrap().unwrap()["items"].as_array().unwrap().clone()
}

#[test]
fn lists_and_counts_show_it() {
    let world = world();
    let all = ask::<Get>(&world, &Everything, "kind=all");
    let line = |name: &str| all.lines().find(|l| l.contains(name)).unwrap().to_owned();
    assert!(line(" gone ").ends_with("(being deleted)"), "{all}");
    assert!(!line(" live ").contains("deleted"), "{all}");
    let wide = ask::<Get>(&world, &Everything, "kind=httproute&output=wide");
    assert!(wide.lines().any(|l| l.contains(" gone ") && l.ends_with("being deleted")), "{wide}");

    let since = |item: &Value| (item["name"].as_str().unwrap().to_owned(), item["deleted"].clone());
    let routes = items(&ask::<Get>(&world, &Everything, "kind=httproute&output=json"));
    let time = Value::from("2026-11-19T00:00:00Z");
    let wanted = [("live".to_owned(), Value::Null), ("gone".to_owned(), time.clone())];
    assert_eq!(routes.iter().map(since).collect::<Vec<_>>(), wanted);

    let policies = items(&ask::<Get>(&world, &Everything, "output=json"));
    let outcome = |item: &Value| {
        let text = |key: &str| item[key].as_str().unwrap().to_owned();
        (text("name"), text("family"), text("outcome"))
    };
    let row =
        |name: &str, outcome: &str| (name.to_owned(), "kuadrant".to_owned(), outcome.to_owned());
    let wanted =
        [row("kept", "in force"), row("old", "being deleted"), row("unseen", "being deleted")];
    assert_eq!(policies.iter().map(outcome).collect::<Vec<_>>(), wanted);
    assert_eq!(policies[1]["deleted"], time);

    let check = ask::<Check>(&world, &Everything, "");
    assert!(
        check.contains("3 resources and 3 being deleted in 1 file, 1 policy of 1 kind"),
        "{check}"
    );
    assert!(check.contains("OV1111") && check.contains("httproute/shop/gone"), "{check}");
}

#[test]
fn a_question_about_it_says_so() {
    let world = world();
    let said = ask::<Effective>(&world, &Everything, "target=httproute/shop/gone");
    assert!(
        said.contains("`httproute/shop/gone` is being deleted since 2026-11-19T00:00:00Z"),
        "{said}"
    );
    let said = ask::<Reach>(&world, &Everything, "policy=ratelimitpolicy/shop/old");
    assert!(said.contains("`ratelimitpolicy/shop/old` is being deleted since"), "{said}");
}

#[test]
fn who_may_not_read_it_learns_nothing() {
    let world = world();
    let questions = [
        ask::<Get>(&world, &Tenant, "kind=all&output=json"),
        ask::<Get>(&world, &Tenant, "output=json"),
        ask::<Check>(&world, &Tenant, ""),
        ask::<Check>(&world, &Tenant, "output=json"),
    ];
    for said in questions {
        assert!(!said.contains("unseen"), "{said}");
    }
    let said = ask::<Reach>(&world, &Tenant, "policy=ratelimitpolicy/shop/unseen");
    let nobody = ask::<Reach>(&world, &Tenant, "policy=ratelimitpolicy/shop/nobody");
    assert_eq!(said.replace("unseen", "nobody"), nobody);
    assert!(ask::<Check>(&world, &Tenant, "").contains("and 2 being deleted"));
}
