// SPDX-License-Identifier: Apache-2.0
//! In: entries of policies. Out: their confs as read, and the hashes of matches. Not here: merging.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation shall stop the test"
)]

mod support;

use overrule_engine::{StepId, Traced};
use overrule_mesh::conf::http_route::text_of_matches;
use overrule_mesh::conf::schema::{SchemaAction, rows};
use overrule_mesh::conf::{EntryPosition, conf_of, entry_of, hash_of_matches, spec_of};
use overrule_mesh::kinds::ResourceKind;
use overrule_source::Documents;
use serde_json::{Value, json};
use support::{at, documents, find, origins, roots};

const STEP: StepId = StepId(7);

fn conf(kind: &str, position: EntryPosition, text: &str) -> (Documents, Traced) {
    let documents = documents(text);
    let conf = conf_of(&documents, support::kind(kind), STEP, roots(&documents)[0], position);
    (documents, conf)
}

fn check(kind: &str, position: EntryPosition, text: &str, expected: &Value) {
    let (documents, conf) = conf(kind, position, text);
    assert_eq!(support::json(&documents, &conf), *expected, "{kind} {text}");
    conf.each_step(&mut |step| assert_eq!(step, STEP));
}

#[test]
fn a_conf_is_the_default_of_its_entry() {
    let entry = "{targetRef: {kind: Mesh}, default: {idleTimeout: 5s}}";
    for position in [EntryPosition::To, EntryPosition::From, EntryPosition::Rules] {
        check("MeshTimeout", position, entry, &json!({"idleTimeout": "5s"}));
    }
    check("MeshTimeout", EntryPosition::To, "{targetRef: {kind: Mesh}}", &json!({}));
    check("MeshTimeout", EntryPosition::To, "{default: null}", &json!({}));
    check("MeshTimeout", EntryPosition::To, "{default: {idleTimeout: null}}", &json!({}));
    check("MeshTrace", EntryPosition::Single, "{targetRef: {kind: Mesh}}", &json!({}));
}

#[test]
fn what_nothing_is_done_to_is_a_pointer() {
    let (_, same) = conf(
        "MeshTimeout",
        EntryPosition::To,
        "{default: {idleTimeout: 5s, http: {requestTimeout: 1m0s}}}",
    );
    assert!(matches!(same, Traced::Whole { step: STEP, .. }), "{same:?}");
    let (documents, changed) = conf(
        "MeshTimeout",
        EntryPosition::To,
        "{default: {idleTimeout: 60s, http: {requestTimeout: 1s}}}",
    );
    let parts = origins(&documents, &changed);
    assert_eq!(parts, at([("/idleTimeout", 7), ("/http", 7)]));
    let idle = changed.get(&documents, "idleTimeout").expect("idleTimeout");
    let written = find(&documents, roots(&documents)[0], &["default", "idleTimeout"]);
    let expected = Traced::Implied { step: STEP, json: "\"1m0s\"".into(), from: written.into() };
    assert_eq!(idle, expected, "the written duration is where it comes from");
}

#[test]
fn durations_that_are_none_stay_as_they_are() {
    let text = "{default: {idleTimeout: soon, connectionTimeout: 5, http: {requestTimeout: [1h]}}}";
    let expected =
        json!({"idleTimeout": "soon", "connectionTimeout": 5, "http": {"requestTimeout": ["1h"]}});
    check("MeshTimeout", EntryPosition::To, text, &expected);
    // The same name somewhere else is no duration.
    let text = "{default: {http: {idleTimeout: 60s}, requestTimeout: 60s}}";
    check(
        "MeshTimeout",
        EntryPosition::To,
        text,
        &json!({"http": {"idleTimeout": "60s"}, "requestTimeout": "60s"}),
    );
}

#[test]
fn durations_of_other_kinds() {
    let table = [
        (
            "MeshRetry",
            "http: {perTryTimeout: 90s, backOff: {baseInterval: 1000ms, maxInterval: 0.5m}}",
            json!({"http": {"perTryTimeout": "1m30s", "backOff": {"baseInterval": "1s", "maxInterval": "30s"}}}),
        ),
        (
            "MeshRateLimit",
            "local: {http: {requestRate: {num: 5, interval: 60s}}}",
            json!({"local": {"http": {"requestRate": {"num": 5, "interval": "1m0s"}}}}),
        ),
        (
            "MeshFaultInjection",
            "http: [{delay: {value: 60s}}, {abort: {httpStatus: 500}}]",
            json!({"http": [{"delay": {"value": "1m0s"}}, {"abort": {"httpStatus": 500}}]}),
        ),
        (
            "MeshLoadBalancingStrategy",
            "loadBalancer: {ringHash: {hashPolicies: [{cookie: {ttl: 60s}}]}}",
            json!({"loadBalancer": {"ringHash": {"hashPolicies": [{"cookie": {"ttl": "1m0s"}}]}}}),
        ),
    ];
    for (kind, text, expected) in table {
        check(kind, EntryPosition::To, &format!("default: {{{text}}}"), &expected);
    }
}

#[test]
fn defaults_need_the_mapping_around_them() {
    let table = [
        (
            "MeshTrace",
            "backends: [{type: Zipkin, zipkin: {url: u, traceId128bit: true}}, {datadog: {url: d}}, {openTelemetry: {endpoint: e}}]",
            json!({"backends": [
            {"type": "Zipkin", "zipkin": {"url": "u", "traceId128bit": true, "apiVersion": "httpJson", "sharedSpanContext": true}},
            {"datadog": {"url": "d", "splitService": false}},
            {"openTelemetry": {"endpoint": "e"}}]}),
        ),
        (
            "MeshAccessLog",
            "backends: [{file: {path: p}}, {tcp: {address: a, format: {plain: x}}}, {file: {format: {}}}]",
            json!({"backends": [{"file": {"path": "p"}}, {"tcp": {"address": "a", "format": {"plain": "x", "omitEmptyValues": false}}},
            {"file": {"format": {"omitEmptyValues": false}}}]}),
        ),
        (
            "MeshMetric",
            "applications: [{port: 1}], backends: [{type: Prometheus, prometheus: {}}, {prometheus: {port: 1, path: /m, tls: {}}}]",
            json!({"applications": [{"port": 1, "path": "/metrics"}], "backends": [
            {"type": "Prometheus", "prometheus": {"path": "/metrics", "port": 5670}},
            {"prometheus": {"port": 1, "path": "/m", "tls": {"mode": "Disabled"}}}]}),
        ),
        (
            "MeshPassthrough",
            "appendMatch: [{type: Domain, value: a}, {protocol: tls}], passthroughMode: Matched",
            json!({"appendMatch": [{"type": "Domain", "value": "a", "protocol": "tcp"}, {"protocol": "tls"}], "passthroughMode": "Matched"}),
        ),
        (
            "MeshTLS",
            "tlsVersion: {min: TLS12}",
            json!({"tlsVersion": {"min": "TLS12", "max": "TLSAuto"}}),
        ),
        ("MeshTLS", "mode: Strict", json!({"mode": "Strict"})),
        (
            "MeshRetry",
            "http: {hostSelection: [{predicate: OmitPreviousPriorities}], retriableRequestHeaders: [{name: a}], retriableResponseHeaders: [{name: b, type: Prefix}]}",
            json!({"http": {"hostSelection": [{"predicate": "OmitPreviousPriorities", "updateFrequency": 2}],
            "retriableRequestHeaders": [{"name": "a", "type": "Exact"}], "retriableResponseHeaders": [{"name": "b", "type": "Prefix"}]}}),
        ),
    ];
    for (kind, text, expected) in table {
        check(kind, EntryPosition::Single, &format!("default: {{{text}}}"), &expected);
    }
}

#[test]
fn null_is_absent_and_takes_the_default() {
    check(
        "MeshTLS",
        EntryPosition::From,
        "default: {tlsVersion: {min: null}, mode: null}",
        &json!({"tlsVersion": {"min": "TLSAuto", "max": "TLSAuto"}}),
    );
    // An explicit empty list is a value; null elements and free-form values are not looked into.
    check(
        "MeshRetry",
        EntryPosition::To,
        "default: {http: {retryOn: [], x: [null]}}",
        &json!({"http": {"retryOn": [], "x": [null]}}),
    );
    check(
        "MeshAccessLog",
        EntryPosition::To,
        "default: {backends: [{openTelemetry: {body: {a: null}, attributes: null}}]}",
        &json!({"backends": [{"openTelemetry": {"body": {"a": null}}}]}),
    );
    check(
        "MeshProxyPatch",
        EntryPosition::Single,
        "default: {appendModifications: [{cluster: {jsonPatches: [{op: add, value: {a: null}}], value: null}}]}",
        &json!({"appendModifications": [{"cluster": {"jsonPatches": [{"op": "add", "value": {"a": null}}]}}]}),
    );
}

#[test]
fn routes_have_confs_of_their_own() {
    let text = "
targetRef: {kind: MeshService, name: b}
hostnames: [a.com, b.com]
rules:
- matches: [{headers: [{name: h, value: v}]}]
  default:
    backendRefs: [{kind: MeshService, name: x}, {kind: MeshService, name: y, weight: 0}]
    filters:
    - {type: RequestRedirect, requestRedirect: {hostname: z}}
    - {type: RequestMirror, requestMirror: {backendRef: {kind: MeshService, name: m}}}
";
    let expected = json!({"hostnames": ["a.com", "b.com"], "rules": [{
        "matches": [{"headers": [{"name": "h", "value": "v", "type": "Exact"}]}],
        "default": {
            "backendRefs": [{"kind": "MeshService", "name": "x", "weight": 1}, {"kind": "MeshService", "name": "y", "weight": 0}],
            "filters": [
                {"type": "RequestRedirect", "requestRedirect": {"hostname": "z", "statusCode": 302}},
                {"type": "RequestMirror", "requestMirror": {"backendRef": {"kind": "MeshService", "name": "m", "weight": 1}}}]}}]});
    check("MeshHTTPRoute", EntryPosition::To, text, &expected);
    check(
        "MeshHTTPRoute",
        EntryPosition::To,
        "{targetRef: {}, hostnames: [], rules: []}",
        &json!({"rules": []}),
    );
    check("MeshHTTPRoute", EntryPosition::To, "{targetRef: {kind: Mesh}}", &json!({}));
    let text = "{targetRef: {}, rules: [{default: {backendRefs: [{name: a}]}}, {default: {}}]}";
    check(
        "MeshTCPRoute",
        EntryPosition::To,
        text,
        &json!({"default": {"backendRefs": [{"name": "a", "weight": 1}]}}),
    );
    let expected = json!({"default": {"backendRefs": [{"kind": "MeshService", "labels": {"a": "b"}, "weight": 1}]}});
    for rules in ["", ", rules: []", ", rules: null"] {
        let text = format!("{{targetRef: {{kind: MeshService, labels: {{a: b}}}}{rules}}}");
        check("MeshTCPRoute", EntryPosition::To, &text, &expected);
    }
}

#[test]
fn whole_specs_and_entries() {
    let documents = documents("{targetRef: {kind: Mesh, name: null}, to: [{default: {idleTimeout: 60s}}, {default: {idleTimeout: 1s, http: null}}]}
---
{ports: [{port: 80}, {port: 81, appProtocol: http}]}
---
{match: {port: 443}}
");
    let read = |kind, n: usize| {
        support::json(
            &documents,
            &spec_of(&documents, ResourceKind::by_type(kind), STEP, roots(&documents)[n]),
        )
    };
    let expected = json!({"targetRef": {"kind": "Mesh"}, "to": [{"default": {"idleTimeout": "1m0s"}}, {"default": {"idleTimeout": "1s"}}]});
    assert_eq!(read("MeshTimeout", 0), expected);
    let expected = json!({"ports": [{"port": 80, "appProtocol": "tcp"}, {"port": 81, "appProtocol": "http"}], "state": "Unavailable"});
    assert_eq!(read("MeshService", 1), expected);
    let expected = json!({"match": {"port": 443, "protocol": "tcp", "type": "HostnameGenerator"}});
    assert_eq!(read("MeshExternalService", 2), expected);
    let entry = find(&documents, roots(&documents)[0], &["to", "0"]).expect("entry");
    let entry = entry_of(&documents, support::kind("MeshTimeout"), STEP, entry);
    assert_eq!(support::json(&documents, &entry), json!({"default": {"idleTimeout": "1m0s"}}));
}

/// Every line of the schema acts: a document made from its path shows the default, or a canonical duration.
#[test]
fn every_line_of_the_schema_acts() {
    let kinds = [
        "MeshHTTPRoute",
        "MeshTCPRoute",
        "MeshRetry",
        "MeshTrace",
        "MeshAccessLog",
        "MeshPassthrough",
        "MeshMetric",
        "MeshTLS",
        "MeshTimeout",
        "MeshRateLimit",
        "MeshCircuitBreaker",
        "MeshHealthCheck",
        "MeshFaultInjection",
        "MeshLoadBalancingStrategy",
        "MeshProxyPatch",
        "MeshService",
        "MeshMultiZoneService",
        "MeshExternalService",
    ];
    let mut seen = 0;
    for kind in kinds {
        for (path, what) in rows(support::kind(kind)) {
            let (before, after): (Option<Value>, Value) = match what {
                SchemaAction::Default(default) => {
                    (None, serde_json::from_str(default).expect("JSON"))
                }
                SchemaAction::Duration => (Some(json!("61s")), json!("1m1s")),
                SchemaAction::Free => (Some(json!({"a": null})), json!({"a": null})),
            };
            let documents = documents(&around(path, before).to_string());
            let read = spec_of(&documents, ResourceKind::by_type(kind), STEP, roots(&documents)[0]);
            let pointer =
                format!("/{}", path.replace("[]", ".0").replace('*', "any").replace('.', "/"));
            let json = support::json(&documents, &read);
            assert_eq!(json.pointer(&pointer), Some(&after), "{kind} {path}: {json}");
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

/// A document that holds a value at a path, or only what is around it.
fn around(path: &str, value: Option<Value>) -> Value {
    let dotted = path.replace("[]", ".[]");
    let mut value = value;
    for segment in dotted.split('.').rev() {
        value = Some(match (segment, value) {
            ("[]", value) => json!([value]),
            (_, None) => json!({}),
            (key, Some(value)) => json!({key.replace('*', "any"): value}),
        });
    }
    value.expect("a path")
}

#[test]
fn hashes_of_matches() {
    let table = [
        (
            "[{path: {type: PathPrefix, value: /api}}]",
            r#"[{"path":{"value":"/api","type":"PathPrefix"}}]"#,
            Some("waFsoIISmZDTfFWYqxvY265/GASHYEWvHQTwMh/bpuU="),
        ),
        (
            "[{path: {type: Exact, value: /}}]",
            r#"[{"path":{"value":"/","type":"Exact"}}]"#,
            Some("JNNc6//C3P17nUsOJm5f4kqG+U3v8pXhS0od9C3+oss="),
        ),
        (
            "[{headers: [{value: '', name: n, type: Present}], queryParams: [{value: q, name: n, type: Exact}], method: GET}, {}]",
            r#"[{"method":"GET","queryParams":[{"type":"Exact","name":"n","value":"q"}],"headers":[{"type":"Present","name":"n"}]},{}]"#,
            None,
        ),
        (
            "[{path: {value: \"/<a>&\\\"\\\\\\u2028é\", type: Exact}}]",
            "[{\"path\":{\"value\":\"/\\u003ca\\u003e\\u0026\\\"\\\\\\u2028é\",\"type\":\"Exact\"}}]",
            None,
        ),
        ("[]", "[]", None),
    ];
    for (yaml, text, hash) in table {
        let documents = documents(&format!("matches: {yaml}"));
        let matches =
            support::whole(0, find(&documents, roots(&documents)[0], &["matches"]).unwrap()).1;
        assert_eq!(text_of_matches(&documents, Some(&matches)), text);
        if let Some(hash) = hash {
            assert_eq!(hash_of_matches(&documents, Some(&matches)), hash);
        }
    }
    assert_eq!(text_of_matches(&documents("{}"), None), "null");
}
