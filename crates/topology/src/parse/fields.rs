// SPDX-License-Identifier: Apache-2.0
//! The fields every mapping of the Gateway API may have, both channels, up to v1.7.
//! Not here: their meaning. A list that is too short makes false alarms, so these are complete rather than strict.
//!
//! The order is that in which readers take the values apart, so that a mapping is walked once. Where kinds of routes
//! differ, the shorter list is the beginning of the longer one.

use super::RouteKind;

/// Names of fields.
pub(super) type Known = &'static [&'static str];

pub(super) const OBJECT: Known = &["spec", "apiVersion", "kind", "metadata", "status"];
pub(super) const CLASS: Known = &["controllerName", "parametersRef", "description"];
pub(super) const GATEWAY: Known = &[
    "gatewayClassName",
    "listeners",
    "allowedListeners",
    "addresses",
    "infrastructure",
    "tls",
    "backendTLS",
    "defaultScope",
];
pub(super) const SET: Known = &["parentRef", "listeners"];
pub(super) const LISTENER: Known =
    &["name", "protocol", "port", "hostname", "tls", "allowedRoutes", "filters"];
pub(super) const LISTENER_TLS: Known =
    &["mode", "certificateRefs", "options", "frontendValidation"];
/// Certificates and parents of ListenerSets.
pub(super) const REFERENCE: Known = &["group", "kind", "namespace", "name"];
pub(super) const ALLOWED_LISTENERS: Known = &["namespaces"];
pub(super) const ALLOWED_ROUTES: Known = &["namespaces", "kinds"];
pub(super) const NAMESPACES: Known = &["from", "selector"];
pub(super) const SELECTOR: Known = &["matchLabels", "matchExpressions"];
pub(super) const EXPRESSION: Known = &["key", "operator", "values"];
pub(super) const ROUTE_KIND: Known = &["group", "kind"];
pub(super) const PARENT: Known = &["group", "kind", "namespace", "name", "sectionName", "port"];
pub(super) const PATH_MATCH: Known = &["type", "value"];
pub(super) const METHOD_MATCH: Known = &["type", "service", "method"];
pub(super) const NAMED_MATCH: Known = &["type", "name", "value"];
pub(super) const GRANT: Known = &["from", "to"];
pub(super) const GRANT_FROM: Known = &["group", "kind", "namespace"];
pub(super) const GRANT_TO: Known = &["group", "kind", "name"];

const ROUTE: Known = &["parentRefs", "rules", "useDefaultGateways", "hostnames"];
const RULE: Known =
    &["name", "backendRefs", "matches", "filters", "sessionPersistence", "timeouts", "retry"];
const MATCH: Known = &["method", "headers", "path", "queryParams", "methods"];
const FILTER: Known = &[
    "type",
    "requestMirror",
    "extensionRef",
    "requestHeaderModifier",
    "responseHeaderModifier",
    "externalAuth",
    "requestRedirect",
    "urlRewrite",
    "cors",
    "directResponse",
];
const BACKEND: Known = &["group", "kind", "namespace", "name", "port", "weight", "filters"];

/// The fields that differ between the kinds of routes.
#[derive(Clone, Copy)]
pub(super) struct RouteFields {
    pub(super) spec: Known,
    pub(super) rule: Known,
    pub(super) matches: Known,
    pub(super) filter: Known,
    pub(super) backend: Known,
}

/// The fields of a kind of route.
pub(super) fn of_route(kind: RouteKind) -> RouteFields {
    let first = |list: Known, n: usize| list.get(..n).unwrap_or(list);
    let all =
        RouteFields { spec: ROUTE, rule: RULE, matches: MATCH, filter: FILTER, backend: BACKEND };
    let stream = RouteFields {
        spec: ROUTE,
        rule: first(RULE, 2),
        matches: &[],
        filter: &[],
        backend: first(BACKEND, 6),
    };
    match kind {
        RouteKind::Http => all,
        RouteKind::Grpc => RouteFields {
            rule: first(RULE, 5),
            matches: first(MATCH, 2),
            filter: first(FILTER, 5),
            ..all
        },
        RouteKind::Tls => stream,
        RouteKind::Tcp | RouteKind::Udp => RouteFields { spec: first(ROUTE, 3), ..stream },
    }
}
