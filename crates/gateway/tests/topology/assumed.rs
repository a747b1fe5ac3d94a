// SPDX-License-Identifier: Apache-2.0
//! In: nothing. Out: manifests in which something is missing, and what is told when it is assumed. Each stands alone.
//! Not here: running them (`topology_assumed.rs`).

use super::findings::Case;

pub const ASSUMED: &[Case] = &[
    Case {
        name: "a gateway, where none was read",
        text: "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra, sectionName: web}, {name: edge, namespace: infra, port: 8443}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: t, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
",
        expected: &["OV1221 5:23 spec.parentRefs[0].name"],
    },
    Case {
        name: "a gateway among others",
        text: "\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: c
  listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  parentRefs: [{name: egde, namespace: infra}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: s, namespace: shop}
spec:
  parentRef: {name: eedge, namespace: infra}
  listeners: [{name: own, port: 81, protocol: HTTP}]
",
        expected: &[
            "OV1201 5:21 spec.gatewayClassName",
            "OV1202 18:21 spec.parentRef.name",
            "OV1202 12:23 spec.parentRefs[0].name",
        ],
    },
    Case {
        name: "a namespace, where others were read",
        text: "\
apiVersion: v1
kind: Namespace
metadata: {name: infra}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: example.com/c}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: c
  listeners:
  - {name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {a: b}}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
",
        expected: &["OV1222 20:18 metadata.namespace"],
    },
    Case {
        name: "a namespace whose name is all that is asked for",
        text: "\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: example.com/c}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: c
  listeners:
  - name: web
    port: 80
    protocol: HTTP
    allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: other}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
",
        expected: &["OV1204 21:23 spec.parentRefs[0]"],
    },
    Case {
        name: "a class and a service that policies target",
        text: "\
apiVersion: policies.example.com/v1
kind: AnyPolicy
metadata: {name: p, namespace: shop}
spec:
  targetRefs:
  - {group: gateway.networking.k8s.io, kind: GatewayClass, name: c}
  - {group: '', kind: Service, name: cart, sectionName: http}
",
        expected: &["OV1221 7:38 spec.targetRefs[1].name", "OV1221 6:66 spec.targetRefs[0].name"],
    },
    Case {
        name: "nothing that is being deleted is assumed",
        text: "\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, deletionTimestamp: '2026-01-01T00:00:00Z'}
spec:
  gatewayClassName: c
  listeners: [{name: web, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  parentRefs: [{name: edge}]
",
        expected: &["OV1202 12:23 spec.parentRefs[0].name"],
    },
    Case {
        name: "a reference that cannot be read refers to nothing",
        text: "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  parentRefs: [{name: edge, sectionName: 7}]
",
        expected: &[],
    },
];
