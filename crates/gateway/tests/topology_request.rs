// SPDX-License-Identifier: Apache-2.0
//! Requests: how they are read, which listener and rule takes them, and that each key of the precedence decides once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "topology/support.rs"]
mod support;

use overrule_gateway::topology::{HttpRequest, Missed, Scheme, route_request};
use support::{CLASS, World, gateway, world};

fn request(text: &str) -> HttpRequest {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn requests_are_read() {
    let r = request("post http://Shop.Example.com./a//b?x=1&y&z=a%2Fb%zz&x=2#end");
    assert_eq!(
        (r.method.as_str(), r.scheme, r.host.as_str()),
        ("POST", Scheme::Http, "shop.example.com")
    );
    assert_eq!((r.port, r.port(), r.path.as_str()), (None, 80, "/a//b"));
    let query: Vec<(&str, &str)> = r.query.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(query, [("x", "1"), ("y", ""), ("z", "a/b%zz"), ("x", "2")]);
    let r = request("https://[::1]:8443");
    assert_eq!(
        (r.method.as_str(), r.host.as_str(), r.port, r.path.as_str()),
        ("GET", "[::1]", Some(8443), "/")
    );
    let r = request("grpc://calls.example.com/pkg.Service/Method");
    assert_eq!((r.method.as_str(), r.is_grpc(), r.port()), ("POST", true, 80));
    assert_eq!(request("https://a.com?x=1").query, [("x".to_owned(), "1".to_owned())]);
}

#[test]
fn what_is_no_request_says_why() {
    for (text, expected) in [
        ("", "is not a request; write it like"),
        ("GET a b", "is not a request; write it like"),
        ("GET shop.example.com/cart", "has no scheme; write `https://shop.example.com/cart`"),
        ("GET ftp://a.com", "scheme `ftp` is not one of"),
        ("G=T http://a.com", "`G=T` is not a method"),
        ("http://a.com:0/", "port `0` is not a number"),
        ("http://a.com:99999/", "port `99999` is not a number"),
        ("http://a.com:x/", "port `x` is not a number"),
        ("http://me@a.com/", "has a user name"),
        ("http:///x", "is not a host name"),
        ("http://*.a.com/", "has a wildcard"),
        ("http://a b/", "has no scheme"),
    ] {
        let error = text.parse::<HttpRequest>().unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// A route `infra/NAME`; each rule answers by a redirect, named as given.
fn http(name: &str, more: &str, rules: &[(&str, &str)]) -> String {
    routes("HTTPRoute", name, more, rules)
}

fn routes(kind: &str, name: &str, more: &str, rules: &[(&str, &str)]) -> String {
    let (created, hostnames) = more.split_once(';').unwrap_or(("", more));
    let created = if created.is_empty() {
        String::new()
    } else {
        format!(", creationTimestamp: '{created}'")
    };
    let (namespace, name) = name.split_once('/').unwrap_or(("infra", name));
    let rules: String = rules
        .iter()
        .map(|(name, matches)| {
            let matches = match (kind, *matches) {
                ("HTTPRoute" | "GRPCRoute", "") => String::new(),
                ("HTTPRoute" | "GRPCRoute", matches) => format!(", matches: [{matches}]"),
                _ => String::new(),
            };
            format!("  - {{name: {name}{matches}, backendRefs: [{{group: g.example, kind: K, name: x}}]}}\n")
        })
        .collect();
    format!("---\napiVersion: gateway.networking.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}{created}}}\nspec:\n  parentRefs: [{{name: gw, namespace: infra}}]\n  hostnames: [{hostnames}]\n  rules:\n{rules}")
        .replace("  hostnames: []\n", "")
}

fn plain(routes: &str) -> World {
    let listener = "name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}";
    world(&format!("{CLASS}{}{routes}", gateway("gw", &[listener])))
}

/// `listener route#rule[match]` of who takes a request; otherwise why nobody does.
fn taken(world: &World, request: &HttpRequest) -> String {
    let routed = route_request(&world.documents, &world.snapshot, &world.topology, request);
    let text = |sym| world.snapshot.text(sym);
    let taken = routed.taken.iter().map(|t| {
        let link = world.topology.link(t.link).unwrap();
        let listener = world.topology.listener(link.listener).unwrap();
        let node = world.topology.nodes.get(world.topology.rule(t.rule).unwrap().node).unwrap();
        let index = t.match_index.map_or(String::new(), |i| format!("[{i}]"));
        let other = if t.other_port { " (other port)" } else { "" };
        format!("{} {}#{}{index}{other}", text(listener.name), text(node.name), text(node.section))
    });
    let missed = routed.missed.iter().map(|m| match m {
        Missed::NoListener(_) => "no listener".to_owned(),
        Missed::NoHost(_) => "no host".to_owned(),
        Missed::NoRoute(..) => "no route".to_owned(),
        Missed::NoRule(..) => "no rule".to_owned(),
    });
    taken.chain(missed).collect::<Vec<_>>().join("; ")
}

fn ask(world: &World, text: &str) -> String {
    taken(world, &request(text))
}

#[test]
fn prefixes_end_at_segments() {
    let world = plain(&http(
        "r",
        "",
        &[("foo", "{path: {type: PathPrefix, value: /foo}}"), ("slash", "{path: {value: /bar/}}")],
    ));
    for (path, rule) in [
        ("/foo", "foo[0]"),
        ("/foo/", "foo[0]"),
        ("/foo/x", "foo[0]"),
        ("/foobar", ""),
        ("/Foo", ""),
        ("/", ""),
        ("/bar", "slash[0]"),
        ("/bar/", "slash[0]"),
        ("/bar/x", "slash[0]"),
        ("/barx", ""),
    ] {
        let expected = if rule.is_empty() { "no rule".to_owned() } else { format!("web r#{rule}") };
        assert_eq!(ask(&world, &format!("http://a.com{path}")), expected, "{path}");
    }
}

/// Two rules that both fit; the key that decides; the winner is written last, so that order alone would be wrong.
#[test]
fn each_key_decides_once() {
    let rules: &[(&str, &str, &str)] = &[
        (
            "exact before prefix",
            "{path: {type: PathPrefix, value: /a/b}}",
            "{path: {type: Exact, value: /a/b}}",
        ),
        (
            "exact before regex",
            "{path: {type: RegularExpression, value: '/a/.*'}}",
            "{path: {type: Exact, value: /a/b}}",
        ),
        (
            "regex before prefix",
            "{path: {type: PathPrefix, value: /a/b}}",
            "{path: {type: RegularExpression, value: '/a/.'}}",
        ),
        ("longer prefix", "{path: {value: /a}}", "{path: {value: /a/b}}"),
        ("a prefix before a method", "{method: GET}", "{path: {value: /a}}"),
        ("method", "{path: {value: /a}}", "{path: {value: /a}, method: GET}"),
        (
            "method before headers",
            "{headers: [{name: h1, value: x}, {name: h2, value: zz}]}",
            "{method: GET}",
        ),
        (
            "more headers",
            "{headers: [{name: h1, value: x}]}",
            "{headers: [{name: h1, value: x}, {name: h2, value: zz}]}",
        ),
        (
            "headers before parameters",
            "{queryParams: [{name: q1, value: v}, {name: q2, value: w}]}",
            "{headers: [{name: h1, value: x}]}",
        ),
        (
            "more parameters",
            "{queryParams: [{name: q1, value: v}]}",
            "{queryParams: [{name: q1, value: v}, {name: q2, value: w}]}",
        ),
        ("anything before nothing", "", "{method: GET}"),
        (
            "the path `/` is no more than nothing",
            "{path: {value: /}, method: POST}",
            "{path: {value: /}}",
        ),
    ];
    let mut get = request("http://a.com/a/b?q1=v&q2=w");
    get.headers = vec![("H1".into(), "x".into()), ("h2".into(), "zz".into())];
    for (name, loser, winner) in rules {
        let world = plain(&http("r", "", &[("loser", loser), ("winner", winner)]));
        assert_eq!(taken(&world, &get), "web r#winner[0]", "{name}");
    }
}

#[test]
fn ties_between_routes() {
    let rule: &[(&str, &str)] = &[("main", "")];
    for (name, one, two, winner) in [
        (
            "exact hostname",
            http("a", "'*.example.com'", rule),
            http("z", "www.example.com", rule),
            "z",
        ),
        ("longer wildcard", http("a", "'*.com'", rule), http("z", "'*.example.com'", rule), "z"),
        ("any hostname before none", http("a", "", rule), http("z", "'*.com'", rule), "z"),
        (
            "hostname before path",
            http("a", "'*.example.com'", &[("main", "{path: {type: Exact, value: /x}}")]),
            http("z", "www.example.com", rule),
            "z",
        ),
        (
            "older",
            http("a", "2024-01-02T00:00:00Z;", rule),
            http("z", "2024-01-01T00:00:00Z;", rule),
            "z",
        ),
        (
            "known before unknown age",
            http("a", "", rule),
            http("z", "2024-01-01T00:00:00Z;", rule),
            "z",
        ),
        ("namespace", http("infra/a", "", rule), http("b/z", "", rule), "z"),
        ("name", http("z", "", rule), http("a", "", rule), "a"),
        (
            "match before age",
            http("a", "2024-01-01T00:00:00Z;", rule),
            http("z", "2024-01-02T00:00:00Z;", &[("main", "{path: {value: /x}}")]),
            "z",
        ),
    ] {
        let world = plain(&format!("{one}{two}"));
        let found = ask(&world, "http://www.example.com/x");
        assert!(found.starts_with(&format!("web {winner}#main")), "{name}: {found}");
    }
    let world = plain(&http("r", "", &[("first", ""), ("second", "")]));
    assert_eq!(ask(&world, "http://a.com/"), "web r#first", "order of rules");
    let world =
        plain(&http("r", "", &[("only", "{path: {value: /}}, {method: GET}, {method: GET}")]));
    assert_eq!(
        ask(&world, "http://a.com/"),
        "web r#only[1]",
        "the best match of a rule, the first of equals"
    );
}

#[test]
fn single_conditions() {
    let header = |value: &str| {
        let mut r = request("GET http://a.com/?k=v&k=w");
        r.headers = value
            .split('|')
            .filter(|v| !v.is_empty())
            .map(|v| ("X-Env".to_owned(), v.to_owned()))
            .collect();
        r
    };
    for (matches, env, expected) in [
        ("{headers: [{name: x-env, value: prod}]}", "prod", true),
        ("{headers: [{name: x-env, value: prod}]}", "Prod", false),
        ("{headers: [{name: x-env, value: prod}]}", "", false),
        ("{headers: [{name: x-env, value: 'a,b'}]}", "a|b", true),
        ("{headers: [{name: x-env, type: RegularExpression, value: 'pr.*'}]}", "prod", true),
        ("{headers: [{name: x-env, type: RegularExpression, value: 'ro'}]}", "prod", false),
        ("{headers: [{name: x-env, type: RegularExpression, value: 'a)|(prod'}]}", "prod", false),
        ("{headers: [{name: x-env, type: Prefix, value: pr}]}", "prod", false),
        // Of several entries for one name the first counts.
        ("{headers: [{name: x-env, value: prod}, {name: X-Env, value: dev}]}", "prod", true),
        ("{headers: [{name: x-env}]}", "prod", false),
        ("{method: GET}", "", true),
        ("{method: POST}", "", false),
        ("{method: POST, methods: [POST, GET]}", "", true),
        ("{queryParams: [{name: k, value: v}]}", "", true),
        ("{queryParams: [{name: k, value: w}]}", "", false),
        ("{queryParams: [{name: K, value: v}]}", "", false),
        ("{queryParams: [{name: k, type: RegularExpression, value: '[a-z]'}]}", "", true),
        ("{path: {type: RegularExpression, value: '['}}", "", false),
        ("{path: {type: Prefix, value: /}}", "", false),
        ("{path: {}}", "", true),
        ("{method: GET, headers: [{name: x-env, value: dev}]}", "prod", false),
    ] {
        let world = plain(&http("r", "", &[("main", matches)]));
        let found = taken(&world, &header(env)) == "web r#main[0]";
        assert_eq!(found, expected, "{matches} with `{env}`");
    }
}

#[test]
fn the_listener_comes_first() {
    let listeners = [
        "name: all, port: 80, protocol: HTTP",
        "name: wild, port: 80, protocol: HTTP, hostname: '*.example.com'",
        "name: deep, port: 80, protocol: HTTP, hostname: '*.b.example.com'",
        "name: one, port: 80, protocol: HTTP, hostname: a.example.com",
        "name: safe, port: 443, protocol: HTTPS, hostname: '*.example.com'",
        "name: alt, port: 8080, protocol: HTTP, hostname: '*.example.com'",
        "name: twin1, port: 9000, protocol: HTTP",
        "name: twin2, port: 9000, protocol: HTTP",
    ];
    let world =
        world(&format!("{CLASS}{}{}", gateway("gw", &listeners), http("r", "", &[("main", "")])));
    for (text, expected) in [
        ("http://a.example.com", "one r#main"),
        ("http://b.example.com", "wild r#main"),
        ("http://x.b.example.com", "deep r#main"),
        ("http://b.org", "all r#main"),
        ("https://a.example.com", "safe r#main"),
        ("https://b.org", "no host"),
        ("http://a.example.com:8080", "alt r#main"),
        ("http://b.org:8080", "no host"),
        ("http://a.example.com:443", "no listener"),
        ("https://a.example.com:80", "no listener"),
        ("http://a.example.com:81", "no listener"),
        ("http://a.example.com:9000", "no listener"),
    ] {
        assert_eq!(ask(&world, text), expected, "{text}");
    }
}

/// Isolation: a host that a more specific listener owns is not served by routes of another one.
#[test]
fn isolation() {
    let listeners = [
        "name: wild, port: 80, protocol: HTTP, hostname: '*.example.com'",
        "name: one, port: 80, protocol: HTTP, hostname: a.example.com",
    ];
    let route = http("r", "", &[("main", "")])
        .replace("{name: gw, namespace: infra}", "{name: gw, sectionName: wild}");
    let world = world(&format!("{CLASS}{}{route}", gateway("gw", &listeners)));
    assert_eq!(ask(&world, "http://b.example.com"), "wild r#main");
    assert_eq!(ask(&world, "http://a.example.com"), "no route");
}

#[test]
fn without_a_port_the_protocol_is_enough() {
    let listeners =
        ["name: web, port: 8080, protocol: HTTP", "name: safe, port: 8443, protocol: HTTPS"];
    let world =
        world(&format!("{CLASS}{}{}", gateway("gw", &listeners), http("r", "", &[("main", "")])));
    assert_eq!(ask(&world, "http://a.com"), "web r#main (other port)");
    assert_eq!(ask(&world, "https://a.com"), "safe r#main (other port)");
    assert_eq!(ask(&world, "http://a.com:80"), "no listener");
}

#[test]
fn why_nobody_takes_it() {
    let world = plain(&http("r", "a.com", &[("main", "{path: {value: /x}}")]));
    assert_eq!(ask(&world, "http://a.com/x"), "web r#main[0]");
    assert_eq!(ask(&world, "http://a.com/y"), "no rule");
    assert_eq!(ask(&world, "http://b.com/x"), "no route");
    assert_eq!(ask(&world, "https://a.com/x"), "no listener");
}

#[test]
fn grpc_calls() {
    let rules: &[(&str, &str)] = &[
        ("any", ""),
        ("service", "{method: {service: shop.Cart}}"),
        ("both", "{method: {service: shop.Cart, method: Add}}"),
        ("method", "{method: {method: Add}}"),
        ("regex", "{method: {type: RegularExpression, service: 'blog\\..*'}}"),
        (
            "header",
            "{method: {service: shop.Cart, method: Add}, headers: [{name: env, value: dev}]}",
        ),
    ];
    let world = plain(&format!(
        "{}{}",
        routes("GRPCRoute", "calls", "", rules),
        http("web", "", &[("main", "")])
    ));
    for (path, expected) in [
        ("/x.Y/Z", "web calls#any"),
        ("/shop.Cart/Remove", "web calls#service[0]"),
        ("/shop.Cart/Add", "web calls#both[0]"),
        ("/x.Y/Add", "web calls#method[0]"),
        ("/blog.Posts/Get", "web calls#regex[0]"),
    ] {
        assert_eq!(ask(&world, &format!("grpc://a.com{path}")), expected, "{path}");
    }
    let mut call = request("grpc://a.com/shop.Cart/Add");
    call.headers = vec![("Env".into(), "dev".into())];
    assert_eq!(taken(&world, &call), "web calls#header[0]");
    // Plain HTTP goes by the HTTPRoutes.
    assert_eq!(ask(&world, "POST http://a.com/shop.Cart/Add"), "web web#main");
    let mut call = request("POST http://a.com/shop.Cart/Add");
    call.headers = vec![("content-type".into(), "application/grpc+proto".into())];
    assert_eq!(taken(&world, &call), "web calls#both[0]");
}

/// Whole connections: TLSRoutes by name, TCPRoutes always, both with their first rule.
#[test]
fn connections() {
    let listeners = [
        "name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}",
        "name: raw, port: 5432, protocol: TCP",
    ];
    let rules: &[(&str, &str)] = &[("first", ""), ("second", "")];
    let tcp = routes("TCPRoute", "db", "", rules);
    let world = world(&format!(
        "{CLASS}{}{}{tcp}",
        gateway("gw", &listeners),
        routes("TLSRoute", "sni", "a.com", rules)
    ));
    assert_eq!(ask(&world, "https://a.com/any/path"), "tls sni#first");
    assert_eq!(ask(&world, "https://b.com"), "no route");
    assert_eq!(ask(&world, "http://whatever:5432"), "raw db#first");
    assert_eq!(ask(&world, "http://a.com"), "no listener");
}

/// A route without rules takes everything with its default rule.
#[test]
fn the_default_rule_takes_everything() {
    let world = plain(
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, namespace: infra}\nspec: {parentRefs: [{name: gw}]}\n",
    );
    assert_eq!(ask(&world, "http://a.com/x"), "web r#rule-1");
}

/// By weight, how many requests lead nowhere.
#[test]
fn requests_that_lead_nowhere_are_counted() {
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: svc, namespace: infra}\nspec: {ports: [{port: 80}]}\n";
    let route = |backends: &str| {
        format!(
            "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r, namespace: infra}}\nspec: {{parentRefs: [{{name: gw}}], rules: [{{backendRefs: [{backends}]}}]}}\n"
        )
    };
    let (good, bad, elsewhere) = (
        "{name: svc, port: 80, weight: 9}",
        "{name: none, port: 80}",
        "{name: svc, namespace: shop, port: 80}",
    );
    for (backends, expected) in [
        (good.to_owned(), None),
        (bad.to_owned(), Some((1, 1))),
        (format!("{good}, {bad}"), Some((1, 10))),
        (format!("{good}, {bad}, {elsewhere}"), Some((2, 11))),
        ("{name: none, port: 80, weight: 0}".to_owned(), Some((0, 0))),
        (format!("{good}, {{name: none, port: 80, weight: 0}}"), None),
        ("{group: g.example, kind: K, name: x}".to_owned(), None),
        (String::new(), None),
    ] {
        let world = world(&format!("{CLASS}{service}{}", route(&backends)));
        let rule = world.topology.all_rules().next().unwrap().0;
        let share = world.topology.broken_share(rule);
        assert_eq!(share.map(|s| (s.weight, s.total)), expected, "{backends}");
        assert_eq!(share.is_some_and(|s| s.is_all()), expected.is_some_and(|(n, of)| n == of));
    }
}
