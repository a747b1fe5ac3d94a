// SPDX-License-Identifier: Apache-2.0
//! In: small lists of rules. Out: whether both forms decide as documented. Not here: random ones.
#![allow(clippy::panic, reason = "a test stops at the first surprise")]

use overrule_access::{
    AccessRule, Compiled, Decision, Effect, Http, Identity, Match, PathMatch, Request, RuleSource,
    Verdict, naive,
};

fn exact(text: &str) -> Match {
    Match { identity: Some(Identity::Exact(text.into())), ..Match::default() }
}

fn prefix(text: &str) -> Match {
    Match { identity: Some(Identity::Prefix(text.into())), ..Match::default() }
}

fn at(path: PathMatch) -> Match {
    Match { path: Some(path), ..Match::default() }
}

fn below(path: &str) -> PathMatch {
    PathMatch::Prefix(path.into())
}

/// In the order given, each with its place as source.
fn rules(list: Vec<(Effect, Match)>) -> Vec<AccessRule> {
    let rule =
        |(n, (effect, matches))| AccessRule { effect, matches, source: RuleSource(n), policy: n };
    (0..).zip(list).map(rule).collect()
}

/// By both forms.
fn decide(rules: &[AccessRule], request: &Request<'_>) -> Decision {
    let decision = naive::decide(rules, request);
    assert_eq!(Compiled::new(rules).decide_fully(request), decision, "{request:?}");
    decision
}

fn from(identity: &str) -> Request<'_> {
    Request { identity: Some(identity), ..Request::default() }
}

fn get<'a>(identity: &'a str, path: &'a str) -> Request<'a> {
    Request { method: Some("GET"), path: Some(path), ..from(identity) }
}

fn allowed(decision: &Decision) -> bool {
    decision.verdict == Verdict::Allowed
}

use Effect::{Allow, AllowWithShadowDeny, Deny};

#[test]
fn nothing_is_denied() {
    let decision = decide(&[], &from("spiffe://td/a"));
    assert_eq!((decision.verdict, decision.by), (Verdict::Denied, None));
    assert!(Compiled::new(&[]).is_empty());
}

#[test]
fn a_deny_wins_wherever_it_stands() {
    let rules = rules(vec![(Allow, prefix("spiffe://td/")), (Deny, exact("spiffe://td/bad"))]);
    let bad = decide(&rules, &from("spiffe://td/bad"));
    assert_eq!((bad.verdict, bad.by), (Verdict::Denied, Some(RuleSource(1))));
    assert_eq!(bad.matched, [RuleSource(1), RuleSource(0)], "denies first");
    assert!(allowed(&decide(&rules, &from("spiffe://td/good"))));
    assert!(!allowed(&decide(&rules, &from("spiffe://td.evil/good"))));
}

#[test]
fn list_and_tree_name_different_rules() {
    let rules = rules(vec![
        (Allow, prefix("s://td/")),
        (Allow, prefix("s://td/ns/obs")),
        (AllowWithShadowDeny, exact("s://td/ns/obs/a")),
        (Allow, Match { method: Some("GET".into()), ..Match::default() }),
    ]);
    let by = |request: &Request<'_>| {
        let decision = decide(&rules, request);
        (decision.by, decision.by_tree, decision.shadow)
    };
    let (s0, s1, s2, s3) = (RuleSource(0), RuleSource(1), RuleSource(2), RuleSource(3));
    assert_eq!(by(&from("s://td/ns/obs/a")), (Some(s0), Some(s2), Some(s2)));
    assert_eq!(by(&from("s://td/ns/obs-evil")), (Some(s0), Some(s1), None), "text, not segments");
    assert_eq!(
        by(&get("s://td/ns/obs/a", "/")),
        (Some(s0), Some(s3), Some(s2)),
        "no identity first"
    );
}

#[test]
fn a_nested_miss_falls_to_the_next_shorter_prefix() {
    let narrow = Match { method: Some("PUT".into()), ..prefix("s://td/ns/") };
    let rules = rules(vec![(Allow, narrow), (Allow, prefix("s://td/"))]);
    assert_eq!(decide(&rules, &get("s://td/ns/a", "/")).by_tree, Some(RuleSource(1)));
}

#[test]
fn no_identity_meets_no_identity() {
    let get_only = Match { method: Some("GET".into()), ..Match::default() };
    let rules = rules(vec![(Deny, prefix("")), (Allow, get_only)]);
    let anonymous = Request { method: Some("GET"), path: Some("/"), ..Request::default() };
    assert!(allowed(&decide(&rules, &anonymous)));
    assert!(!allowed(&decide(&rules, &get("", "/"))), "an empty one is one");
}

#[test]
fn what_is_not_known_counts_against_the_client() {
    let put = Match { method: Some("PUT".into()), path: Some(below("/x")), ..prefix("s://") };
    let list = |effect| rules(vec![(effect, put.clone()), (Allow, prefix("s://td/open"))]);
    let tcp = from("s://td/open");
    assert!(!allowed(&decide(&list(Deny), &tcp)), "a deny that needs HTTP holds");
    assert!(!allowed(&decide(&list(Allow), &from("s://td/a"))), "such an allow does not");
    let method = |method| Request { method: Some(method), ..tcp };
    assert!(!allowed(&decide(&list(Deny), &method("PUT"))), "the path is not known");
    assert!(allowed(&decide(&list(Deny), &method("GET"))), "the method is, and differs");
    let path = Request { path: Some("/y"), ..tcp };
    assert!(allowed(&decide(&list(Deny), &path)), "the path is known, and differs");
}

#[test]
fn a_match_that_gives_nothing_is_never_everyone_s_pass() {
    assert!(!allowed(&decide(&rules(vec![(Allow, Match::default())]), &from("a"))));
    let deny = rules(vec![(Deny, Match::default()), (Allow, prefix(""))]);
    assert_eq!(decide(&deny, &from("a")).by, Some(RuleSource(0)));
}

#[test]
fn paths_end_at_slashes() {
    let list = |path| rules(vec![(Allow, at(path))]);
    let ok = |path: PathMatch, raw: &str| allowed(&decide(&list(path), &get("a", raw)));
    for raw in ["/a", "/a/", "/a/b", "/a?x", "//a", "/b/../a", "/%61", "/a/./b", "http://h/a"] {
        assert!(ok(below("/a"), raw), "{raw}");
    }
    for raw in ["/ab", "/", "/a/../b", "/a;x", "/A", "/a%2fb", "/a#"] {
        assert!(!ok(below("/a"), raw), "{raw}");
    }
    assert!(ok(below("/a/"), "/a/") && ok(below("/a/"), "/a/b") && !ok(below("/a/"), "/a"));
    assert!(ok(below("/"), "/") && ok(below("/"), "/a"));
    let exact = || PathMatch::Exact("/a".into());
    assert!(ok(exact(), "/a?x=1") && !ok(exact(), "/a/") && !ok(exact(), "/a/b"));
}

#[test]
fn a_refused_path_is_denied_by_none_where_paths_are_compared() {
    let mut list = vec![(Allow, prefix(""))];
    assert!(allowed(&decide(&rules(list.clone()), &get("a", "/a%2fb"))), "nobody looks at it");
    list.push((Deny, at(below("/x"))));
    let refused = decide(&rules(list), &get("a", "/a%2fb"));
    assert_eq!((refused.verdict, refused.by, refused.matched), (Verdict::Denied, None, vec![]));
}

#[test]
fn server_names_are_compared_in_lower_case() {
    let named = Match { sni: Some("a.example".into()), ..Match::default() };
    let rules = rules(vec![(Allow, named)]);
    for (sni, expected) in [(Some("A.Example"), true), (Some("b.example"), false), (None, false)] {
        assert_eq!(allowed(&decide(&rules, &Request { sni, ..from("a") })), expected, "{sni:?}");
    }
}

#[test]
fn list_order_is_that_of_the_filter() {
    let rule = |effect, n, policy| AccessRule {
        effect,
        matches: exact("a"),
        source: RuleSource(n),
        policy,
    };
    let given = vec![
        rule(AllowWithShadowDeny, 0, 7),
        rule(Allow, 1, 7),
        rule(Deny, 2, 7),
        rule(Allow, 3, 2),
        rule(Deny, 4, 2),
        rule(Allow, 5, 7),
    ];
    let order: Vec<u32> = naive::in_list_order(given).iter().map(|rule| rule.source.0).collect();
    assert_eq!(order, [2, 4, 1, 5, 0, 3]);
}

/// Rules and requests made to be slow: all on one identity, nested as deep as they get, very long.
#[test]
fn hostile_rules_are_bounded() {
    let nest = "s://td/".to_owned() + &"a/".repeat(1_000);
    let prefixes = (8..nest.len()).map(|end| Match {
        method: Some("GET".into()),
        ..prefix(nest.get(..end).unwrap_or_default())
    });
    let paths =
        (0..5_000).map(|n| Match { path: Some(below(&"/x".repeat(n + 1))), ..prefix("s://") });
    let methods =
        (0..50_000).map(|n| Match { method: Some(format!("M{n}").into()), ..exact(&nest) });
    let long = (0..1_000).map(|n| prefix(&format!("s://{}{n}", "b".repeat(10_000))));
    let all = prefixes.chain(paths).chain(methods).chain(long).map(|matches| (Allow, matches));
    let rules = rules(all.collect());
    let compiled = Compiled::new(&rules);
    let path = "/x".repeat(10_000);
    for request in [get(&nest, &path), from(&nest), get(&"b".repeat(1_000_000), &path)] {
        assert_eq!(compiled.decide(&request), naive::decide(&rules, &request).answer());
        for _ in 0..50 {
            std::hint::black_box(compiled.decide(&request));
        }
    }
}

fn sent<'a>(http: Http, method: &'a str, path: &'a str) -> Request<'a> {
    Request { identity: Some("a"), sni: None, method: Some(method), path: Some(path), http }
}

/// What the proxy takes with one version of HTTP and refuses with the other, with and without rules on paths.
#[test]
fn the_proxy_refuses_by_version_of_http() {
    let everybody = (Allow, prefix("a"));
    let nowhere = at(PathMatch::Exact("/nowhere".into()));
    let plain = rules(vec![everybody.clone()]);
    let paths = rules(vec![everybody, (Deny, nowhere)]);
    // Method, path; whether it is taken with HTTP/1.1 and with HTTP/2, without and with rules on paths.
    for (method, path, without, with) in [
        ("GET", "/a", [true, true], [true, true]),
        ("GET", "/caf\u{e9}", [false, true], [false, true]),
        ("GET", "/a?\u{e9}", [false, true], [false, true]),
        ("get", "/a", [false, true], [false, true]),
        ("FOO", "/a", [false, true], [false, true]),
        ("F(", "/a", [false, false], [false, false]),
        ("", "/a", [false, false], [false, false]),
        ("GET", "http://h/a", [true, false], [true, false]),
        ("GET", " /a\t", [true, false], [true, false]),
        ("GET", "/a b", [false, false], [false, false]),
        ("GET", "/a\u{1}", [false, false], [false, false]),
        ("GET", "/a#b", [false, false], [false, false]),
        ("GET", "/a?b#c", [false, false], [false, false]),
        ("OPTIONS", "*", [false, false], [false, false]),
        ("GET", "/a%00", [true, true], [false, false]),
        ("GET", "/a%2Fb", [true, true], [false, false]),
        ("GET", "/a/%2e%2e;/b", [true, true], [false, false]),
        ("CONNECT", "host:443", [true, true], [false, false]),
        ("CONNECT", "/a", [false, true], [false, false]),
    ] {
        for (rules, taken) in [(&plain, without), (&paths, with)] {
            for (http, taken) in Http::ALL.into_iter().zip(taken) {
                let decision = decide(rules, &sent(http, method, path));
                assert_eq!(decision.rejected.is_none(), taken, "{method} {path} {http:?}");
                assert_eq!(allowed(&decision), taken, "{method} {path} {http:?}");
            }
        }
    }
}

/// Over HTTP/2 bytes outside ASCII pass, and are compared encoded.
#[test]
fn bytes_outside_ascii_are_compared_encoded() {
    let cafe = at(PathMatch::Exact("/caf%c3%a9".into()));
    let rules = rules(vec![(Allow, prefix("a")), (Deny, cafe)]);
    assert!(!allowed(&decide(&rules, &sent(Http::Two, "GET", "/caf\u{e9}?\u{e9}"))));
    assert!(allowed(&decide(&rules, &sent(Http::Two, "GET", "/caf\u{ea}?\u{e9}"))));
}
