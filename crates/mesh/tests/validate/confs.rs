// SPDX-License-Identifier: Apache-2.0
//! In: confs as people write them. Out: what a control plane says about those that it refuses.

use super::{said, universal};

#[test]
fn confs_must_and_must_not_say_things() {
    let route = "targetRef: {kind: MeshHTTPRoute, name: r}, ";
    let gateway = "targetRef: {kind: MeshGateway, name: g}, ";
    let mesh = "to: [{targetRef: {kind: Mesh}, default: ";
    let under = "can't be specified when top-level TargetRef is referencing MeshHTTPRoute";
    let section = "at least one timeout in this section should be configured";
    let whole =
        |field: &str| format!("{field} can only be defined with top level targetRef kind: Mesh");
    let hash =
        "field is not allowed when targetRef.kind is MeshHTTPRoute, only hashPolicies is supported";
    let one = "must have at least one defined: http, tcp, grpc";
    let shared = "kind MeshExternalService is only allowed with targetRef.kind: Mesh as it is configured on the Zone Egress and shared by all clients in the mesh";
    let unsupported = "value 'MeshExternalService' is not supported";
    let at = |field: &str, message: &str| format!("spec.{field}: {message}");
    let all = "{connectionTimeout: 1s, idleTimeout: 1s, http: {maxStreamDuration: 1s, maxConnectionDuration: 1s, requestTimeout: 1s}}}]";
    for (kind, spec, want) in [
        ("MeshTimeout", format!("{mesh}{all}"), vec![]),
        ("MeshTimeout", format!("{gateway}{mesh}{all}"), vec![]),
        (
            "MeshTimeout",
            format!("{route}{mesh}{all}"),
            ["connectionTimeout", "idleTimeout", "http.maxStreamDuration", "http.maxConnectionDuration"]
                .map(|f| at(&format!("to[0].default.{f}"), under))
                .to_vec(),
        ),
        (
            "MeshTimeout",
            format!("{route}rules: [{{default: {{idleTimeout: 1s}}}}]"),
            vec![at("rules[0].default.idleTimeout", under)],
        ),
        (
            "MeshTimeout",
            format!("{mesh}{{http: {{requestHeadersTimeout: 1s}}}}}}]"),
            vec![at("to[0].default.http", section)],
        ),
        ("MeshHealthCheck", format!("{mesh}{{interval: 1s}}}}]"), vec![at("to[0].default", one)]),
        ("MeshHealthCheck", format!("{mesh}{{tcp: {{}}}}}}]"), vec![]),
        (
            "MeshHealthCheck",
            "targetRef: {kind: Dataplane}, to: [{targetRef: {kind: MeshExternalService, name: x}, default: {tcp: {}}}]".into(),
            vec![at("to[0].targetRef.kind", unsupported), at("to[0].targetRef.kind", shared)],
        ),
        (
            "MeshLoadBalancingStrategy",
            "to: [{targetRef: {kind: MeshHTTPRoute, name: r}, default: {hashPolicies: [], loadBalancer: {type: Random}, localityAwareness: {disabled: true}}}]".into(),
            vec![at("to[0].default.loadBalancer", hash), at("to[0].default.localityAwareness", hash)],
        ),
        ("MeshTLS", "rules: [{default: {tlsCiphers: [A], tlsVersion: {min: TLS12}}}]".into(), vec![]),
        (
            "MeshTLS",
            "targetRef: {kind: Dataplane}, rules: [{default: {tlsCiphers: [A], tlsVersion: {min: TLS12}}}]".into(),
            vec![
                at("rules[0].default.tlsVersion", &whole("tlsVersion")),
                at("rules[0].default.tlsCiphers", &whole("tlsCiphers")),
            ],
        ),
        (
            "MeshHTTPRoute",
            "to: [{targetRef: {kind: MeshService, name: x}, hostnames: [a.b], rules: [{default: {}}]}]".into(),
            vec![at("to[0].hostnames", "must not be defined")],
        ),
        (
            "MeshHTTPRoute",
            "to: [{targetRef: {kind: MeshService, name: x}, hostnames: [], rules: [{default: {}}]}]".into(),
            vec![],
        ),
        (
            "MeshHTTPRoute",
            format!(
                "{gateway}to: [{{targetRef: {{kind: Mesh}}, hostnames: [a.b], rules: [{{default: {{}}}}, \
                 {{default: {{filters: [{{type: RequestRedirect}}]}}}}, {{default: {{backendRefs: [{{kind: MeshService}}]}}}}]}}]"
            ),
            vec![at("to[0].rules[0].default.backendRefs", "must not be empty")],
        ),
    ] {
        assert_eq!(said(&universal(kind, &format!("{{{spec}}}"))), want, "{kind} {spec}");
    }
}
