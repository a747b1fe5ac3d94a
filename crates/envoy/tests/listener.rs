// SPDX-License-Identifier: Apache-2.0
//! In: listeners. Out: the filters are in the chains they are for, once and first.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation shall stop the test"
)]

use overrule_access::{AccessRule, Effect, Match, PathMatch, RuleSource};
use overrule_envoy::{Chains, FilterInput, FilterOptions, Protocol, apply, filters};
use serde_json::{Value, json};

const RBAC: &str = "envoy.filters.network.rbac";

fn listener() -> Value {
    let tls = json!({"name": "envoy.transport_sockets.tls"});
    let manager = "envoy.filters.network.http_connection_manager";
    json!({"filterChains": [
        {"filters": [{"name": RBAC, "old": true}, {"name": "tcp"}], "transportSocket": tls},
        {"filters": [{"name": manager, "typedConfig": {"httpFilters": [{"name": "router"}]}}],
         "transportSocket": tls},
        {"filters": [{"name": "tcp"}]},
        {"name": "web_mesh-1", "filters": [{"name": "tcp"}]},
    ]})
}

fn applied(chains: Chains<'_>, times: usize) -> (Value, usize) {
    let matches = Match {
        sni: Some("a.io".into()),
        path: Some(PathMatch::Prefix("/a".into())),
        ..Match::default()
    };
    let rules = [AccessRule { effect: Effect::Deny, matches, source: RuleSource(0), policy: 0 }];
    let names = ["kri".to_owned()];
    let [http, tcp] = [Protocol::Http, Protocol::Tcp].map(|protocol| {
        let input = FilterInput { rules: &rules, names: &names, protocol, stat_prefix: "in" };
        filters(&input, &FilterOptions::default())
    });
    let mut listener = listener();
    let changed =
        (0..times).map(|_| apply(&mut listener, chains, &http, &tcp).unwrap()).sum::<usize>();
    (listener, changed)
}

fn names(filters: &Value) -> Vec<&str> {
    filters.as_array().unwrap().iter().map(|filter| filter["name"].as_str().unwrap()).collect()
}

#[test]
fn an_inbound_gets_them_where_there_is_tls() {
    let (listener, changed) = applied(Chains::Tls, 1);
    assert_eq!(changed, 2);
    let chains = &listener["filterChains"];
    assert_eq!(names(&chains[0]["filters"]), [RBAC, "tcp"]);
    assert!(chains[0]["filters"][0].get("old").is_none());
    let manager = &chains[1]["filters"][0]["typedConfig"];
    assert_eq!(names(&manager["httpFilters"]), ["envoy.filters.http.rbac", "router"]);
    assert_eq!(manager["normalizePath"], true);
    assert_eq!(manager["mergeSlashes"], true);
    assert_eq!(manager["pathWithEscapedSlashesAction"], "REJECT_REQUEST");
    assert_eq!(names(&chains[2]["filters"]), ["tcp"]);
    assert_eq!(names(&listener["listenerFilters"]), ["envoy.filters.listener.tls_inspector"]);
}

#[test]
fn what_a_listener_needs_is_there_once() {
    let (listener, _) = applied(Chains::Tls, 2);
    assert_eq!(listener["listenerFilters"].as_array().unwrap().len(), 1);
    assert_eq!(names(&listener["filterChains"][0]["filters"]), [RBAC, "tcp"]);
}

#[test]
fn a_zone_egress_gets_them_by_the_name_of_the_chain() {
    let (listener, changed) = applied(Chains::Named("web_mesh-1"), 1);
    assert_eq!(changed, 1);
    assert_eq!(names(&listener["filterChains"][3]["filters"]), [RBAC, "tcp"]);
    assert_eq!(names(&listener["filterChains"][2]["filters"]), ["tcp"]);
}

#[test]
fn a_listener_without_such_chains_stays_as_it_is() {
    let (changed, count) = applied(Chains::Named("other"), 1);
    assert_eq!((changed, count), (listener(), 0));
}
