// SPDX-License-Identifier: Apache-2.0
//! In: the built command. Out: that it behaves as people and scripts expect. Not here: which answers are right.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod cache;
#[path = "../common/mod.rs"]
mod common;
mod diff;
mod exit;
mod files;
mod generated;
mod json;
mod outputs;
mod parameters;
mod policy_tests;
mod profiles;
mod safety;
mod streams;

/// A gateway, a route, a policy and its kind; nothing is wrong with them.
pub const GOOD: &str = "\
apiVersion: overrule/v1
kind: PolicyKind
metadata: {name: timeoutpolicies.policies.example.com}
spec: {group: policies.example.com, kind: TimeoutPolicy, class: Inherited}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: edge}
spec: {controllerName: example.com/controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: edge
  listeners:
  - {name: web, port: 80, protocol: HTTP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop, labels: {app: cart}}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: cart, port: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 8080}]}
---
apiVersion: policies.example.com/v1
kind: TimeoutPolicy
metadata: {name: timeouts, namespace: shop, creationTimestamp: \"2026-01-01T00:00:00Z\"}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}]
  timeouts: {request: 5s}
";

/// A syntax error in line 3.
pub const BROKEN: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: broken\nspec: {}\n";

/// Many routes on one gateway, so that an answer does not fit the buffer of a pipe.
pub fn many(routes: usize) -> String {
    let mut text = GOOD.to_owned();
    for i in 0..routes {
        text.push_str(&format!(
            "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r{i}, namespace: shop}}\n\
             spec:\n  parentRefs: [{{name: edge}}]\n  hostnames: [r{i}.example.com]\n  \
             rules: [{{backendRefs: [{{name: cart, port: 8080}}]}}]\n"
        ));
    }
    text
}
