// SPDX-License-Identifier: Apache-2.0
//! What the schema of a kind says about values that are not written, or written in another form, as
//! data. Not here: applying it (`defaults`).
//!
//! A path starts at an entry (`to[i]`, `from[i]`, `rules[i]`), or at the spec of a kind without entries. `[]` stands for
//! every element of a list, `*` for every member of a mapping.

/// What happens at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaAction {
    /// A member that is not there has this value, as JSON, if the mapping around it is there.
    Default(&'static str),
    /// A duration: it is kept as Go prints it.
    Duration,
    /// Free-form: nothing below is looked at, nulls are values.
    Free,
}

use crate::kinds::{self, ResourceKind};
use SchemaAction::{Default, Duration, Free};

/// One line of a schema.
pub type Row = (&'static str, SchemaAction);

/// The lines of a kind.
pub fn rows(kind: &ResourceKind) -> &'static [Row] {
    TABLE.iter().find(|(of, _)| of == kind).map_or(&[], |(_, rows)| rows)
}

const EXACT: SchemaAction = Default(r#""Exact""#);
const TCP: SchemaAction = Default(r#""tcp""#);

static TABLE: &[(ResourceKind, &[Row])] = &[
    (
        kinds::HTTP_ROUTE,
        &[
            ("rules[].default.backendRefs[].weight", Default("1")),
            ("rules[].default.filters[].requestMirror.backendRef.weight", Default("1")),
            ("rules[].default.filters[].requestRedirect.statusCode", Default("302")),
            ("rules[].matches[].headers[].type", EXACT),
        ],
    ),
    (kinds::TCP_ROUTE, &[("rules[].default.backendRefs[].weight", Default("1"))]),
    (
        kinds::RETRY,
        &[
            ("default.http.retriableRequestHeaders[].type", EXACT),
            ("default.http.retriableResponseHeaders[].type", EXACT),
            ("default.http.hostSelection[].updateFrequency", Default("2")),
            ("default.http.perTryTimeout", Duration),
            ("default.http.backOff.baseInterval", Duration),
            ("default.http.backOff.maxInterval", Duration),
            ("default.http.rateLimitedBackOff.maxInterval", Duration),
            ("default.grpc.perTryTimeout", Duration),
            ("default.grpc.backOff.baseInterval", Duration),
            ("default.grpc.backOff.maxInterval", Duration),
            ("default.grpc.rateLimitedBackOff.maxInterval", Duration),
        ],
    ),
    (
        kinds::TRACE,
        &[
            ("default.backends[].zipkin.apiVersion", Default(r#""httpJson""#)),
            ("default.backends[].zipkin.sharedSpanContext", Default("true")),
            ("default.backends[].zipkin.traceId128bit", Default("false")),
            ("default.backends[].datadog.splitService", Default("false")),
        ],
    ),
    (
        kinds::ACCESS_LOG,
        &[
            ("default.backends[].file.format.omitEmptyValues", Default("false")),
            ("default.backends[].tcp.format.omitEmptyValues", Default("false")),
            ("default.backends[].openTelemetry.body", Free),
        ],
    ),
    (kinds::PASSTHROUGH, &[("default.appendMatch[].protocol", TCP)]),
    (
        kinds::METRIC,
        &[
            ("default.applications[].path", Default(r#""/metrics""#)),
            ("default.backends[].prometheus.path", Default(r#""/metrics""#)),
            ("default.backends[].prometheus.port", Default("5670")),
            ("default.backends[].prometheus.tls.mode", Default(r#""Disabled""#)),
            ("default.backends[].openTelemetry.refreshInterval", Duration),
        ],
    ),
    (
        kinds::TLS,
        &[
            ("default.tlsVersion.min", Default(r#""TLSAuto""#)),
            ("default.tlsVersion.max", Default(r#""TLSAuto""#)),
        ],
    ),
    (
        kinds::TIMEOUT,
        &[
            ("default.connectionTimeout", Duration),
            ("default.idleTimeout", Duration),
            ("default.http.requestTimeout", Duration),
            ("default.http.streamIdleTimeout", Duration),
            ("default.http.maxStreamDuration", Duration),
            ("default.http.maxConnectionDuration", Duration),
            ("default.http.requestHeadersTimeout", Duration),
        ],
    ),
    (
        kinds::RATE_LIMIT,
        &[
            ("default.local.http.requestRate.interval", Duration),
            ("default.local.tcp.connectionRate.interval", Duration),
        ],
    ),
    (
        kinds::CIRCUIT_BREAKER,
        &[
            ("default.outlierDetection.interval", Duration),
            ("default.outlierDetection.baseEjectionTime", Duration),
        ],
    ),
    (
        kinds::HEALTH_CHECK,
        &[
            ("default.interval", Duration),
            ("default.timeout", Duration),
            ("default.initialJitter", Duration),
            ("default.intervalJitter", Duration),
            ("default.noTrafficInterval", Duration),
        ],
    ),
    (kinds::FAULT_INJECTION, &[("default.http[].delay.value", Duration)]),
    (
        kinds::LOAD_BALANCING_STRATEGY,
        &[
            ("default.hashPolicies[].cookie.ttl", Duration),
            ("default.loadBalancer.*.hashPolicies[].cookie.ttl", Duration),
        ],
    ),
    (kinds::PROXY_PATCH, &[("default.appendModifications[].*.jsonPatches[].value", Free)]),
    (kinds::SERVICE, &[("ports[].appProtocol", TCP), ("state", Default(r#""Unavailable""#))]),
    (kinds::MULTI_ZONE_SERVICE, &[("ports[].appProtocol", TCP)]),
    (
        kinds::EXTERNAL_SERVICE,
        &[("match.protocol", TCP), ("match.type", Default(r#""HostnameGenerator""#))],
    ),
];
