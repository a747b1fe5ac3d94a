// SPDX-License-Identifier: Apache-2.0
//! What answers say beside effective policies: policies that nobody resolves, the routes of a Service, and that a rule
//! answers 500. Not here: routes bound to Services as such (`crates/gateway/tests/topology_mesh.rs`).

use overrule::source::Input;
use overrule::{Analysis, Options};
use overrule_ask::{Effective, Everything, Explain, Get, Graph};
use serde_json::Value;

use crate::tenancy::ask;
use crate::worlds::Tenant;

const WORLD: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec: {gatewayClassName: c, listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
  rules:
  - {name: one, matches: [{path: {value: /one}}], backendRefs: [{name: cart, port: 80, weight: 3}, {name: gone, port: 80}]}
  - {name: two, matches: [{path: {value: /two}}], backendRefs: [{name: gone, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: mesh, namespace: blog}
spec:
  parentRefs: [{group: '', kind: Service, name: cart, namespace: shop}]
  rules: [{name: all, backendRefs: [{name: cart, namespace: shop, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lonely, namespace: shop}
spec: {rules: [{backendRefs: [{name: cart, port: 80}]}]}
---
apiVersion: overrule/v1
kind: PolicyKind
metadata: {name: timeoutpolicy.example.com}
spec: {group: example.com, kind: TimeoutPolicy, class: Inherited, effectiveAt: Rule, targets: [{kind: HTTPRoute}, {group: '', kind: Service}], strategy: {default: PatchDefaults}}
---
apiVersion: example.com/v1
kind: TimeoutPolicy
metadata: {name: on-route, namespace: shop}
spec: {targetRefs: [{kind: HTTPRoute, name: cart}], a: 1}
---
apiVersion: example.com/v1
kind: TimeoutPolicy
metadata: {name: on-service, namespace: shop}
spec: {targetRefs: [{group: '', kind: Service, name: cart}], a: 2}
---
apiVersion: example.com/v1
kind: TimeoutPolicy
metadata: {name: on-lonely, namespace: shop}
spec: {targetRefs: [{kind: HTTPRoute, name: lonely}], a: 3}
---
apiVersion: gateway.nginx.org/v1alpha1
kind: ClientSettingsPolicy
metadata: {name: everywhere, namespace: infra, labels: {secret: x}}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}]}
---
apiVersion: gateway.nginx.org/v1alpha1
kind: ProxySettingsPolicy
metadata: {name: by-label, namespace: shop}
spec: {targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {team: none}}]}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: callers, namespace: shop}
spec: {targetRefs: [{group: '', kind: Service, name: cart}]}
---
apiVersion: unheard.example.com/v1
kind: MoodPolicy
metadata: {name: happy, namespace: shop}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart, sectionName: two}}
";

fn world() -> Analysis {
    Analysis::new(vec![Input::new("world.yaml", WORLD)], &Options::default())
}

/// The first JSON document of an answer.
fn json(said: &str) -> Value {
    let start = said.find('{').unwrap();
    let mut values = serde_json::Deserializer::from_str(&said[start..]).into_iter::<Value>();
    values.next().unwrap().unwrap()
}

/// The policies of `unresolved`, with their owners and targets.
fn unresolved(answer: &Value) -> Vec<String> {
    let items = answer["unresolved"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let one = |item: &Value| {
        let targets: Vec<String> = item["targets"].as_array().unwrap().iter().map(text).collect();
        format!("{} {} {}", text(&item["policy"]), text(&item["owner"]), targets.join(","))
    };
    items.iter().map(one).collect()
}

const EVERYWHERE: &str = "infra/everywhere NGINX Gateway Fabric gateway/infra/edge";
const CALLERS: &str = "shop/callers Istio service/shop/cart";
const HAPPY: &str = "shop/happy - httproute/shop/cart#two";

#[test]
fn what_nobody_resolves_is_named_where_it_acts() {
    let world = world();
    let asked = |target: &str| {
        let query = format!("target={target}&output=json");
        let effective = unresolved(&json(&ask::<Effective>(&world, &Everything, &query)));
        let explain = unresolved(&json(&ask::<Explain>(&world, &Everything, &query)));
        assert_eq!(effective, explain, "{target}");
        effective
    };
    for (target, expected) in [
        ("httproute/shop/cart#one", vec![EVERYWHERE]),
        ("httproute/shop/cart#two", vec![EVERYWHERE, HAPPY]),
        ("httproute/shop/cart", vec![EVERYWHERE, HAPPY]),
        ("gateway/infra/edge", vec![EVERYWHERE, HAPPY]),
        ("httproute/blog/mesh", vec![CALLERS]),
        ("httproute/shop/lonely", vec![]),
    ] {
        let mut found = asked(target);
        found.sort_unstable();
        assert_eq!(found, expected, "{target}");
    }
    let text = ask::<Explain>(&world, &Everything, "target=httproute/shop/cart#two");
    assert!(
        text.contains(
            "MoodPolicy shop/happy (unknown kind) targets this; Overrule does not resolve it"
        ),
        "{text}"
    );
    let yaml = ask::<Effective>(&world, &Everything, "target=httproute/shop/cart#one");
    let line = "\n# ClientSettingsPolicy infra/everywhere (NGINX Gateway Fabric) targets gateway/infra/edge; Overrule does not resolve it\n";
    assert!(yaml.contains(line), "a comment, so that it stays YAML: {yaml}");
}

#[test]
fn what_nobody_resolves_says_so_when_it_is_asked_about() {
    let said = ask::<Explain>(&world(), &Everything, "target=authorizationpolicy/shop/callers");
    let sentence = "authorizationpolicy/shop/callers (Istio) targets service/shop/cart; Overrule does not resolve it";
    assert!(said.contains(sentence), "{said}");
}

#[test]
fn what_nobody_resolves_is_listed_and_drawn() {
    let world = world();
    let list = json(&ask::<Get>(&world, &Everything, "output=json"));
    let by_label = "shop/by-label NGINX Gateway Fabric ";
    let mut found = unresolved(&list);
    found.sort_unstable();
    assert_eq!(found, [EVERYWHERE, by_label, CALLERS, HAPPY]);
    let of_kind = ask::<Get>(&world, &Everything, "kind=clientsettingspolicy");
    assert!(of_kind.contains("not resolved (NGINX Gateway Fabric)"), "{of_kind}");
    let tree = ask::<Graph>(&world, &Everything, "output=tree");
    for line in [
        "◇ ClientSettingsPolicy infra/everywhere  not resolved (NGINX Gateway Fabric)",
        "◇ MoodPolicy shop/happy  not resolved (unknown kind)",
        "◇ ProxySettingsPolicy shop/by-label (NGINX Gateway Fabric) has no target that Overrule knows",
        // What is on no path keeps its policies.
        "└─ ◆ TimeoutPolicy shop/on-lonely  inert",
    ] {
        assert!(tree.contains(line), "{line} in {tree}");
    }
    for form in ["dot", "mermaid", "svg"] {
        let picture = ask::<Graph>(&world, &Everything, &format!("output={form}"));
        assert!(
            picture.contains("infra/everywhere") && picture.contains("shop/on-lonely"),
            "{picture}"
        );
    }
}

#[test]
fn a_service_is_explained_with_its_routes() {
    let world = world();
    let answer = json(&ask::<Explain>(&world, &Everything, "target=service/shop/cart&output=json"));
    let routes = &answer["routes"];
    let rule = |i: usize| routes["senders"][i]["rule"].as_str().unwrap().to_owned();
    let rules: Vec<String> = (0..3).map(rule).collect();
    let expected =
        ["httproute/blog/mesh#all", "httproute/shop/cart#one", "httproute/shop/lonely#rule-1"];
    assert_eq!(rules, expected);
    assert_eq!(routes["senders"][1]["weight"], 3);
    assert_eq!(routes["bound"][0]["route"], "httproute/blog/mesh");
    assert_eq!(routes["bound"][0]["clients"], "blog");
    let targets: Vec<&str> =
        answer["items"].as_array().unwrap().iter().map(|i| i["target"].as_str().unwrap()).collect();
    assert_eq!(targets, ["httproute/shop/cart#one", "httproute/blog/mesh#all"]);
    let text = ask::<Explain>(&world, &Everything, "target=service/shop/cart");
    assert!(text.contains("Rules that send to service shop/cart\n"), "{text}");
    assert!(text.contains("clients in namespace blog only"), "{text}");
    let one = ask::<Effective>(&world, &Everything, "target=service/shop/cart&output=table");
    assert!(one.contains("httproute/shop/cart#one") && !one.contains("cart#two"), "{one}");
    let picture = ask::<Graph>(&world, &Everything, "target=service/shop/cart");
    assert!(picture.contains("rule one") && !picture.contains("rule two"), "{picture}");
    assert!(!picture.contains("On no path"), "{picture}");
}

#[test]
fn a_rule_without_backends_answers_500() {
    let world = world();
    let ask = |path: &str| {
        ask::<Effective>(&world, &Everything, &format!("request=GET http://a.example.com{path}"))
    };
    let (some, all) = (ask("/one"), ask("/two"));
    let gone = "service/shop/gone is not in the input";
    assert!(some.contains(&format!(", which answers 500 to 1 of 4 requests: {gone}\n")), "{some}");
    assert!(all.contains(&format!(", which answers 500: {gone}\n")), "{all}");
}

#[test]
fn who_may_not_read_a_policy_is_not_told_of_it() {
    let world = world();
    let told = [
        ask::<Effective>(&world, &Tenant, "target=httproute/shop/cart&output=json"),
        ask::<Explain>(&world, &Tenant, "target=httproute/shop/cart"),
        ask::<Get>(&world, &Tenant, "output=json"),
        ask::<Graph>(&world, &Tenant, "output=json"),
        ask::<Explain>(&world, &Tenant, "target=service/shop/cart"),
        ask::<Graph>(&world, &Tenant, "target=service/shop/cart"),
    ];
    for said in &told {
        assert!(!said.contains("everywhere"), "{said}");
    }
    assert!(told[0].contains("happy") && told[1].contains("happy") && told[2].contains("callers"));
    assert!(told[4].contains("Rules that send to service shop/cart"), "{}", told[4]);
}
