// SPDX-License-Identifier: Apache-2.0
//! Hostnames: the table of the Gateway API, row by row, and laws that hold for all of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "topology/support.rs"]
mod support;

use overrule_gateway::topology::hostname::{
    Flaw, check, intersect, is_subset, matches_host, specificity,
};
use proptest::prelude::*;
use support::{CLASS, gateway, route, world};

/// Listener, hostnames of the route, what is left of them at the listener (`-` = not attached, `any` = all hosts).
const TABLE: &[(&str, &str, &str)] = &[
    ("", "", "any"),
    ("a.example.com", "", "a.example.com"),
    ("*.example.com", "", "*.example.com"),
    ("", "a.example.com", "a.example.com"),
    ("", "*.example.com, b.org", "*.example.com b.org"),
    ("a.example.com", "a.example.com", "a.example.com"),
    ("a.example.com", "b.example.com", "-"),
    ("*.example.com", "a.example.com", "a.example.com"),
    ("*.example.com", "a.b.example.com", "a.b.example.com"),
    ("*.example.com", "example.com", "-"),
    ("*.example.com", "badexample.com", "-"),
    ("a.example.com", "*.example.com", "a.example.com"),
    ("a.b.example.com", "*.example.com", "a.b.example.com"),
    ("example.com", "*.example.com", "-"),
    ("*.a.example.com", "*.example.com", "*.a.example.com"),
    ("*.example.com", "*.a.example.com", "*.a.example.com"),
    ("*.example.com", "*.example.com", "*.example.com"),
    ("*.a.example.com", "*.b.example.com", "-"),
    // Hostnames that do not fit are dropped, the others stay.
    ("*.example.com", "a.example.com, b.org, c.example.com", "a.example.com c.example.com"),
    // Two of them narrowed to the same.
    ("a.example.com", "*.example.com, '*.com'", "a.example.com"),
];

#[test]
fn the_table_of_the_gateway_api() {
    for kind in ["HTTPRoute", "GRPCRoute", "TLSRoute"] {
        let protocol = if kind == "TLSRoute" { "TLS, tls: {mode: Passthrough}" } else { "HTTP" };
        for (listener, hostnames, expected) in TABLE {
            let quoted: Vec<String> = hostnames
                .split(", ")
                .filter(|h| !h.is_empty())
                .map(|h| format!("'{}'", h.trim_matches('\'')))
                .collect();
            let hostname = match *listener {
                "" => String::new(),
                listener => format!(", hostname: '{listener}'"),
            };
            let text = format!(
                "{CLASS}{}{}",
                gateway("gw", &[&format!("name: l, port: 80, protocol: {protocol}{hostname}")]),
                route(
                    kind,
                    "infra/r",
                    &format!("parentRefs: [{{name: gw}}]\n  hostnames: [{}]", quoted.join(", "))
                ),
            );
            let world = world(&text);
            let route = world.route("infra/r");
            let found: Vec<String> = world
                .topology
                .links_of_route(route)
                .map(|(link, _)| {
                    let hostnames = world.topology.hostnames_at(&world.snapshot, link, false);
                    let texts: Vec<&str> = hostnames
                        .iter()
                        .map(|h| if h.is_empty() { "any" } else { world.snapshot.text(*h) })
                        .collect();
                    texts.join(" ")
                })
                .collect();
            let found = if found.is_empty() { "-".to_owned() } else { found.join("; ") };
            assert_eq!(found, *expected, "{kind}: listener `{listener}`, route `{hostnames}`");
            let codes: &[&str] = match (kind, hostnames.is_empty()) {
                _ if found == "-" => &["OV1205"],
                // The schema demands one.
                ("TLSRoute", true) => &["OV1031"],
                _ => &[],
            };
            let codes: Vec<&str> = codes.to_vec();
            let expected: Vec<&str> =
                world.codes().into_iter().filter(|c| *c != "OV1207").collect();
            assert_eq!(expected, codes, "{kind}: listener `{listener}`, route `{hostnames}`");
        }
    }
}

#[test]
fn subset_is_covered_by() {
    for (inner, outer, expected) in [
        ("a.com", "", true),
        ("", "", true),
        ("", "a.com", false),
        ("", "*.com", false),
        ("a.com", "a.com", true),
        ("a.com", "b.com", false),
        ("a.b.com", "*.b.com", true),
        ("b.com", "*.b.com", false),
        ("*.b.com", "*.b.com", true),
        ("*.a.b.com", "*.b.com", true),
        ("*.b.com", "*.a.b.com", false),
        ("*.b.com", "a.b.com", false),
        ("xb.com", "*.b.com", false),
    ] {
        assert_eq!(is_subset(inner, outer), expected, "`{inner}` in `{outer}`");
    }
}

#[test]
fn requests_meet_hostnames_in_any_case() {
    assert!(matches_host("*.example.com", "A.Example.COM"));
    assert!(matches_host("a.example.com", "a.example.com."));
    assert!(matches_host("", "anything"));
    assert!(!matches_host("*.example.com", "example.com"));
    assert!(!matches_host("*.example.com", "*.example.com"), "a request goes to one host");
}

#[test]
fn exact_is_more_specific_than_long_than_short() {
    let mut list = ["", "*.com", "a.b.example.com", "*.b.example.com", "*.example.com"];
    list.sort_by_key(|h| std::cmp::Reverse(specificity(h)));
    assert_eq!(list, ["a.b.example.com", "*.b.example.com", "*.example.com", "*.com", ""]);
}

#[test]
fn bad_hostnames() {
    let long = format!("{}.com", "a".repeat(260));
    for (hostname, flaw) in [
        ("", Flaw::Empty),
        ("1.2.3.4", Flaw::Address),
        ("::1", Flaw::Address),
        ("[::1]", Flaw::Address),
        ("a.com:80", Flaw::NotOnlyHost),
        ("https://a.com", Flaw::NotOnlyHost),
        ("*", Flaw::Wildcard),
        ("*a.com", Flaw::Wildcard),
        ("a.*.com", Flaw::Wildcard),
        ("*.*.com", Flaw::Wildcard),
        ("A.com", Flaw::Capitals),
        ("*.A.com", Flaw::Capitals),
        (&long, Flaw::TooLong),
        ("a..com", Flaw::Characters),
        ("a.com.", Flaw::Characters),
        ("-a.com", Flaw::Characters),
        ("a_b.com", Flaw::Characters),
        ("ä.com", Flaw::Characters),
    ] {
        assert_eq!(check(hostname), Err(flaw), "`{hostname}`");
    }
    for hostname in ["a", "a.b", "*.com", "1a.2b", "a--b.c"] {
        assert_eq!(check(hostname), Ok(()), "`{hostname}`");
    }
}

/// Few labels, so that hostnames meet often.
fn hostname() -> impl Strategy<Value = String> {
    let name =
        proptest::collection::vec(prop_oneof!["a", "b", "ab"], 1..4).prop_map(|l| l.join("."));
    (any::<bool>(), name).prop_map(|(wild, name)| if wild { format!("*.{name}") } else { name })
}

fn host() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof!["a", "b", "ab"], 1..5).prop_map(|l| l.join("."))
}

proptest! {
    /// Common hosts are those both hostnames have.
    #[test]
    fn intersection_is_what_both_match(a in hostname(), b in hostname(), host in host()) {
        let both = matches_host(&a, &host) && matches_host(&b, &host);
        let common = intersect(&a, &b);
        prop_assert_eq!(both, common.is_some_and(|c| matches_host(c, &host)));
    }

    #[test]
    fn intersection_is_symmetric(a in hostname(), b in hostname()) {
        prop_assert_eq!(intersect(&a, &b), intersect(&b, &a));
        prop_assert_eq!(intersect(&a, &a), Some(a.as_str()));
        prop_assert_eq!(intersect(&a, ""), Some(a.as_str()));
    }

    #[test]
    fn subset_means_intersection_changes_nothing(a in hostname(), b in hostname(), host in host()) {
        prop_assert_eq!(is_subset(&a, &b), intersect(&a, &b) == Some(a.as_str()));
        if is_subset(&a, &b) && matches_host(&a, &host) {
            prop_assert!(matches_host(&b, &host));
        }
    }

    /// The index for many listeners finds exactly what comparing all of them finds.
    #[test]
    fn many_listeners_as_few(
        listeners in proptest::collection::btree_set(hostname(), 9..16),
        hostnames in proptest::collection::vec(hostname(), 1..4),
    ) {
        let written: Vec<String> = listeners
            .iter()
            .enumerate()
            .map(|(i, h)| format!("name: l{i}, port: 80, protocol: HTTP, hostname: '{h}'"))
            .collect();
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        let list: Vec<String> = hostnames.iter().map(|h| format!("'{h}'")).collect();
        let spec = format!("parentRefs: [{{name: gw}}]\n  hostnames: [{}]", list.join(", "));
        let world = world(&format!("{CLASS}{}{}", gateway("gw", &written), route("HTTPRoute", "infra/r", &spec)));
        let expected: Vec<String> = listeners
            .iter()
            .enumerate()
            .filter(|(_, l)| hostnames.iter().any(|h| intersect(l, h).is_some()))
            .map(|(i, _)| format!("gw#l{i}"))
            .collect();
        prop_assert_eq!(world.accepted("infra/r"), expected);
    }
}
