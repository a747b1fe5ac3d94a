// SPDX-License-Identifier: Apache-2.0
//! In: a kind and a number. Out: a conf of few fields that bears the number. Not here: fields with a default in the
//! schema; durations that could be written otherwise.

use serde_json::{Map, Value, json};

use crate::rng::Rng;

/// Some of the fields of the kind, at least one. Numbers above 58 repeat: they are also seconds.
pub(super) fn conf(rng: &mut Rng, kind: &str, number: usize) -> Value {
    let number = 1 + number % 59;
    let seconds = format!("{number}s");
    let choices: Vec<(&str, Value)> = match kind {
        "MeshTimeout" => vec![
            ("connectionTimeout", json!(seconds)),
            ("idleTimeout", json!(seconds)),
            ("http.requestTimeout", json!(seconds)),
            ("http.streamIdleTimeout", json!(seconds)),
        ],
        "MeshRetry" => vec![
            ("tcp.maxConnectAttempt", json!(number)),
            ("http.numRetries", json!(number)),
            ("http.retryOn", json!(["5xx", format!("{}", 400 + number)])),
            ("grpc.numRetries", json!(number)),
            ("grpc.backOff.baseInterval", json!(seconds)),
        ],
        "MeshCircuitBreaker" => vec![
            ("connectionLimits.maxConnections", json!(number)),
            ("connectionLimits.maxRetries", json!(number)),
            ("outlierDetection.maxEjectionPercent", json!(number)),
            ("outlierDetection.detectors.totalFailures.consecutive", json!(number)),
            ("outlierDetection.detectors.gatewayFailures.consecutive", json!(number)),
        ],
        "MeshTrace" => vec![
            ("sampling.overall", json!(number)),
            ("sampling.random", json!(number)),
            ("tags", json!([{"name": format!("tag-{number}"), "literal": "on"}])),
            ("backends", json!([telemetry(&format!("otel-{number}:4317"))])),
        ],
        "MeshMetric" => vec![
            ("sidecar.includeUnused", json!(number.is_multiple_of(2))),
            ("sidecar.profiles.appendProfiles", profiles(rng, number)),
            ("sidecar.profiles.include", json!([matcher(number)])),
            ("applications", json!([{"path": format!("/metrics-{number}"), "port": 9000}])),
        ],
        "MeshTrafficPermission" => {
            let action = rng.pick(&["Allow", "Deny", "AllowWithShadowDeny"]);
            return json!({"action": action});
        }
        other => panic!("no confs for {other}"),
    };
    let mut conf = Value::Object(Map::new());
    let first = rng.below(choices.len() as u64);
    for (index, (path, value)) in (0..).zip(choices) {
        if index == first || rng.percent(30) {
            set(&mut conf, path, value);
        }
    }
    conf
}

fn telemetry(endpoint: &str) -> Value {
    json!({"type": "OpenTelemetry", "openTelemetry": {"endpoint": endpoint}})
}

fn matcher(number: usize) -> Value {
    json!({"type": "Prefix", "match": format!("stat_{number}")})
}

fn profiles(rng: &mut Rng, number: usize) -> Value {
    let one = json!({"name": rng.pick(&["Basic", "All", "None"])});
    if number.is_multiple_of(3) { json!([one, {"name": "Basic"}]) } else { json!([one]) }
}

fn set(conf: &mut Value, path: &str, value: Value) {
    let mut at = conf;
    for name in path.split('.') {
        at = &mut at[name];
    }
    *at = value;
}
