// SPDX-License-Identifier: Apache-2.0
//! In: bootstraps written here. Out: that the harness sees what Envoy does, and notices what is wrong. Not here: what we
//! emit.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "test code: a broken expectation shall stop the test"
)]

mod common;

use std::collections::BTreeMap;

use overrule_proof::{
    Authority, Expected, Holder, InboundCase, Lab, LabProtocol, ProxyAnswer, ProxyRequest,
    RuleLayout, Setup, Wire, install_into, run, validate,
};
use serde_json::{Value, json};

const FRONTEND: &str = "spiffe://trust-domain.mesh/ns/default/sa/frontend";

fn holders() -> BTreeMap<String, Holder> {
    let expired = Holder { expired: true, ..Holder::of(&[FRONTEND]) };
    let dns = Holder { dns: vec!["frontend.test".to_owned()], ..Holder::of(&[]) };
    let all = [
        ("frontend", Holder::of(&[FRONTEND])),
        ("malicious", Holder::of(&["spiffe://trust-domain.mesh/ns/default/sa/malicious"])),
        ("legacy", Holder::of(&["spiffe://trust-domain.mesh/ns/legacy/sa/a"])),
        ("other", Holder::of(&["spiffe://other.mesh/ns/default/sa/a"]).by(Authority::Other)),
        ("several", Holder::of(&["spiffe://trust-domain.mesh/a", FRONTEND])),
        ("nameless", Holder::of(&[])),
        ("dns", dns),
        ("expired", expired),
        ("rogue", Holder::of(&[FRONTEND]).by(Authority::Rogue)),
    ];
    all.into_iter().map(|(name, holder)| (name.to_owned(), holder)).collect()
}

fn action(name: &str, action: &str) -> Value {
    json!({"action": {"name": "a", "typedConfig": {
        "@type": "type.googleapis.com/envoy.config.rbac.v3.Action", "name": name, "action": action}}})
}

fn matcher(rules: &[(&str, Value, &str)], otherwise: &str) -> Value {
    let input = json!({"name": "i", "typedConfig": {
        "@type": "type.googleapis.com/envoy.extensions.matching.common_inputs.ssl.v3.UriSanInput"}});
    let matchers: Vec<Value> = rules
        .iter()
        .map(|(name, value, effect)| {
            json!({"predicate": {"singlePredicate": {"input": input, "valueMatch": value}},
                   "onMatch": action(name, effect)})
        })
        .collect();
    json!({"matcherList": {"matchers": matchers}, "onNoMatch": action("default", otherwise)})
}

/// Denies `malicious`, allows the trust domain, and warns of `legacy`.
fn bootstrap((): &(), setup: &Setup<'_>) -> Result<String, overrule_proof::HarnessFailure> {
    let rules = [
        ("several", json!({"contains": ","}), "DENY"),
        ("kri_a_", json!({"exact": "spiffe://trust-domain.mesh/ns/default/sa/malicious"}), "DENY"),
        ("kri_b_", json!({"prefix": "spiffe://trust-domain.mesh/"}), "ALLOW"),
    ];
    let shadow = [("kri_b_", json!({"prefix": "spiffe://trust-domain.mesh/ns/legacy"}), "DENY")];
    let (enforced, shadow) = (matcher(&rules, "DENY"), matcher(&shadow, "ALLOW"));
    let filters = match setup.protocol {
        LabProtocol::Http => json!([{"name": "hcm", "typedConfig": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "statPrefix": "inbound", "normalizePath": true, "mergeSlashes": true,
            "pathWithEscapedSlashesAction": "REJECT_REQUEST",
            "routeConfig": {"virtualHosts": [{"name": "v", "domains": ["*"], "routes": [
                {"match": {"prefix": "/"}, "directResponse": {"status": 200, "body": {"inlineString": "ok"}}}]}]},
            "httpFilters": [
                {"name": "rbac", "typedConfig": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
                    "trackPerRuleStats": true, "matcher": enforced, "shadowMatcher": shadow}},
                {"name": "router", "typedConfig": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}]),
        LabProtocol::Tcp => json!([
            {"name": "rbac", "typedConfig": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC",
                "statPrefix": "inbound.", "matcher": enforced, "shadowMatcher": shadow}},
            {"name": "tcp", "typedConfig": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
                "statPrefix": "tcp", "cluster": "up"}}]),
    };
    let address =
        |ip: &str, port: u16| json!({"socketAddress": {"address": ip, "portValue": port}});
    let upstream = address(&setup.upstream.ip().to_string(), setup.upstream.port());
    let file = |path: &std::path::Path| json!({ "filename": path });
    let tls = json!({"name": "tls", "typedConfig": {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "requireClientCertificate": true,
        "commonTlsContext": {
            "tlsCertificates": [{"certificateChain": file(&setup.files.certificate),
                                 "privateKey": file(&setup.files.key)}],
            "validationContext": {"trustedCa": file(&setup.files.authorities)}}}});
    Ok(json!({
        "admin": {"address": address("127.0.0.1", 9901)},
        "staticResources": {
            "listeners": [{"name": "inbound", "address": address("127.0.0.1", 10000),
                "filterChains": [{"transportSocket": tls, "filters": filters}]}],
            "clusters": [{"name": "up", "type": "STATIC", "loadAssignment": {"clusterName": "up",
                "endpoints": [{"lbEndpoints": [{"endpoint": {"address": upstream}}]}]}}]}
    })
    .to_string())
}

fn foretell((): &(), setup: &Setup<'_>, ask: &ProxyRequest, holder: &Holder) -> Expected {
    let denied = |policy: &str| ProxyAnswer::Denied { policy: policy.to_owned() };
    let allowed = |shadow: Option<&str>| ProxyAnswer::Allowed {
        policy: "kri_b_".to_owned(),
        shadow: shadow.map(str::to_owned),
    };
    let answer = if !holder.is_accepted() {
        ProxyAnswer::Refused
    } else if setup.protocol == LabProtocol::Http && ask.path.contains("%2f") {
        ProxyAnswer::Rejected { status: 400 }
    } else {
        match ask.client.as_str() {
            "frontend" => allowed(None),
            "legacy" => allowed(Some("kri_b_")),
            "malicious" => denied("kri_a_"),
            "several" => denied("several"),
            _ => denied("default"),
        }
    };
    let counted = (ask.client == "legacy").then(|| "kri_b_".to_owned());
    Expected { answer, counted, path: Some("/b".to_owned()) }
}

fn asks() -> Vec<ProxyRequest> {
    let mut asks = Vec::new();
    for client in holders().into_keys() {
        for (method, path) in
            [("GET", "/a/../b?q"), ("HEAD", "//b"), ("POST", "/%62"), ("GET", "/a%2fb")]
        {
            for (wire, sni) in [(Wire::Http1, None), (Wire::Http2, Some("a.test".to_owned()))] {
                let (method, path) = (method.to_owned(), path.to_owned());
                asks.push(ProxyRequest { wire, client: client.clone(), sni, method, path });
            }
        }
    }
    asks
}

fn case(protocol: LabProtocol) -> InboundCase<()> {
    InboundCase {
        name: "harness".to_owned(),
        rules: (),
        protocol,
        form: RuleLayout::List,
        asks: asks(),
    }
}

#[test]
fn the_harness_sees_what_envoy_does() {
    let Some(envoy) = common::envoy() else { return };
    let mut lab = Lab::new(envoy, holders()).unwrap();
    for protocol in [LabProtocol::Http, LabProtocol::Tcp] {
        let tally = run(&mut lab, [case(protocol)], bootstrap, foretell).unwrap();
        eprintln!("{tally}");
        assert_eq!(tally.mismatches, 0, "{:#?}", tally.words);
        assert_eq!(tally.requests + tally.connections, 72);
        assert!(tally.answers.iter().take(2).all(|&n| n > 0) && tally.shadows > 0, "{tally}");
    }
}

/// Every part of an answer that is foretold wrongly is noticed: a check that cannot fail is none.
#[test]
fn the_harness_notices_what_is_wrong() {
    let Some(envoy) = common::envoy() else { return };
    let mut lab = Lab::new(envoy, holders()).unwrap();
    type Lie = fn(&mut Expected, &ProxyRequest);
    let lies: [(&str, Lie); 6] = [
        ("path", |e, _| e.path = Some("/a".to_owned())),
        ("verdict", |e, a| {
            if a.client == "malicious" {
                e.answer = ProxyAnswer::Allowed { policy: "kri_a_".to_owned(), shadow: None };
            }
        }),
        ("policy", |e, _| {
            if let ProxyAnswer::Allowed { policy, .. } = &mut e.answer {
                *policy = "kri_a_".to_owned();
            }
        }),
        ("shadow", |e, _| {
            if let ProxyAnswer::Allowed { shadow, .. } = &mut e.answer {
                *shadow = None;
            }
        }),
        ("counter", |e, _| e.counted = None),
        ("handshake", |e, a| {
            if a.client == "expired" {
                e.answer = ProxyAnswer::Denied { policy: "default".to_owned() };
            }
        }),
    ];
    for protocol in [LabProtocol::Http, LabProtocol::Tcp] {
        for (what, lie) in &lies {
            // A connection has no path.
            if protocol == LabProtocol::Tcp && *what == "path" {
                continue;
            }
            let tally = run(&mut lab, [case(protocol)], bootstrap, |rules, setup, ask, holder| {
                let mut expected = foretell(rules, setup, ask, holder);
                lie(&mut expected, ask);
                expected
            })
            .unwrap();
            assert!(tally.mismatches > 0, "{what} over {protocol:?}");
        }
    }
}

#[test]
fn envoy_says_why_it_refuses_a_bootstrap() {
    let Some(envoy) = common::envoy() else { return };
    let bad = json!({"staticResources": {"listeners": [{"name": "a", "nonsense": 1}]}});
    let why = validate(&envoy, &bad.to_string()).unwrap_err().to_string();
    assert!(why.contains("nonsense"), "{why}");
    assert!(overrule_proof::Proxy::start(&envoy, &bad.to_string()).is_err());
}

#[test]
fn without_an_index_the_message_says_what_to_do() {
    // A cache that cannot be made stands for all that can be in the way; nothing is fetched.
    let why = install_into(std::path::Path::new("/dev/null/cache")).unwrap_err().to_string();
    assert!(why.contains("/dev/null/cache"), "{why}");
}
