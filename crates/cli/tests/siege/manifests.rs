// SPDX-License-Identifier: Apache-2.0
//! In: a name and a number. Out: the text of a resource that carries the number. Not here: who writes it when.
//!
//! All of it says when it was created, so that answers do not depend on when it was stored.

/// What is there from the beginning and never changes: a mesh with proxies, a gateway with routes.
pub fn ground() -> String {
    let mut all = vec![
        "type: Mesh\nname: default\ncreationTime: '2026-01-01T00:00:00Z'\nskipCreatingInitialPolicies: ['*']\n".to_owned(),
        "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: edge, creationTimestamp: \
         '2026-01-01T00:00:00Z'}\nspec:          {controllerName: example.com/controller}\n"
            .to_owned(),
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: shop, \
         creationTimestamp: '2026-01-01T00:00:00Z'}\nspec:\n  \
         gatewayClassName: edge\n  listeners:\n  - {name: web, port: 80, protocol: HTTP}\n"
            .to_owned(),
    ];
    for n in 0..PROXIES {
        all.push(format!(
            "type: Dataplane\nmesh: default\nname: proxy-{n}\ncreationTime: '2026-01-01T00:00:00Z'\nlabels: {{app: app-{n}}}\nnetworking:\n  address: \
             10.0.0.{}\n  inbound:\n  - {{name: http, port: 8080, tags: {{kuma.io/service: app-{n}}}}}\n",
            n + 1
        ));
    }
    for n in 0..LIMITS {
        all.push(format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: route-{n}, namespace: \
             shop, creationTimestamp: '2026-01-01T00:00:00Z'}}\nspec:\n  parentRefs: [{{name: edge}}]\n  hostnames: [r{n}.example.com]\n  rules:\n  - \
             backendRefs: [{{name: app, port: 80}}]\n"
        ));
    }
    all.join("---\n")
}

const PROXIES: u64 = 4;
const TIMEOUTS: u64 = 12;
const RETRIES: u64 = 10;
const LIMITS: u64 = 8;

/// A resource that is written again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A MeshTimeout, in YAML, by Kuma's path.
    Timeout(u64),
    /// A MeshRetry, in JSON.
    Retry(u64),
    /// A RateLimitPolicy, in YAML.
    Limit(u64),
}

impl Key {
    /// Every one there is.
    pub fn all() -> Vec<Self> {
        let timeouts = (0..TIMEOUTS).map(Self::Timeout);
        timeouts.chain((0..RETRIES).map(Self::Retry)).chain((0..LIMITS).map(Self::Limit)).collect()
    }

    /// Its target name.
    pub fn target(self) -> String {
        match self {
            Self::Timeout(n) => format!("meshtimeout/default/timeout-{n}"),
            Self::Retry(n) => format!("meshretry/default/retry-{n}"),
            Self::Limit(n) => format!("ratelimitpolicy.kuadrant.io/shop/limit-{n}"),
        }
    }

    /// Its path.
    pub fn path(self) -> String {
        match self {
            Self::Timeout(n) => format!("/meshes/default/meshtimeouts/timeout-{n}"),
            _ => self.own_path(),
        }
    }

    /// Its path under `/v1`.
    pub fn own_path(self) -> String {
        format!("/v1/resources/{}", self.target())
    }

    /// Its text with a number.
    pub fn text(self, value: u64) -> String {
        match self {
            Self::Timeout(n) => format!(
                "type: MeshTimeout\nmesh: default\nname: timeout-{n}\ncreationTime: '2026-01-01T00:00:00Z'\nspec:\n  targetRef: {{kind: Dataplane, labels: \
                 {{app: app-{}}}}}\n  to:\n  - targetRef: {{kind: Mesh}}\n    default: {{connectionTimeout: {value}s}}\n",
                n % PROXIES
            ),
            Self::Retry(n) => serde_json::json!({
                "type": "MeshRetry", "mesh": "default", "name": format!("retry-{n}"),
                "creationTime": "2026-01-01T00:00:00Z",
                "spec": {
                    "targetRef": {"kind": "Mesh"},
                    "to": [{"targetRef": {"kind": "Mesh"}, "default": {"http": {"numRetries": value}}}],
                },
            })
            .to_string(),
            Self::Limit(n) => format!(
                "apiVersion: kuadrant.io/v1\nkind: RateLimitPolicy\nmetadata: {{name: limit-{n}, namespace: shop, \
                 creationTimestamp: '2026-01-01T00:00:00Z'}}\n\
                 spec:\n  targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: route-{n}}}\n  limits:\n    \
                 all: {{rates: [{{limit: {value}, window: 10s}}]}}\n"
            ),
        }
    }
}
