// SPDX-License-Identifier: Apache-2.0
//! One wrong manifest per finding, with its place. Not here: running them (`topology_findings.rs`).

/// Class, a Gateway `infra/gw` with one listener `web`, Services `infra/svc` and `shop/svc`: 26 lines.
pub const BASE: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: example.com/c}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: infra}
spec:
  gatewayClassName: c
  listeners:
  - {name: web, port: 80, protocol: HTTP, hostname: '*.example.com'}
---
apiVersion: v1
kind: Service
metadata: {name: svc, namespace: infra}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: svc, namespace: shop}
spec: {ports: [{port: 80}]}
---
";

pub struct Case {
    pub name: &'static str,
    /// What follows the base.
    pub text: &'static str,
    /// `code line:column field`, lines counted in the text.
    pub expected: &'static [&'static str],
}

pub const CASES: &[Case] = &[
    Case {
        name: "nothing is wrong",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw, sectionName: web, port: 80}]
  hostnames: [a.example.com]
  rules:
  - name: main
    matches: [{path: {type: PathPrefix, value: /}, headers: [{name: a, value: b}], method: GET}]
    backendRefs: [{name: svc, port: 80, weight: 1}]
",
        expected: &[],
    },
    Case {
        name: "class not found, once",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g1, namespace: infra}
spec: {gatewayClassName: none, listeners: [{name: a, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g2, namespace: infra}
spec: {gatewayClassName: none, listeners: [{name: a, port: 80, protocol: HTTP}]}
",
        expected: &["OV1201 5:26 spec.gatewayClassName"],
    },
    Case {
        name: "parent not found",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gww}]
  hostnames: [b.org]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
",
        expected: &["OV1202 6:23 spec.parentRefs[0].name"],
    },
    Case {
        name: "parent of a set not found",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: s, namespace: infra}
spec:
  parentRef: {name: none}
  listeners: [{name: a, port: 81, protocol: HTTP}]
",
        expected: &["OV1202 6:21 spec.parentRef.name"],
    },
    Case {
        name: "parent of a kind that takes no routes",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{kind: Gatway, name: gw}, {kind: Service, name: svc}, {group: v.example, kind: Any, name: x}]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
",
        expected: &["OV1202 6:37 spec.parentRefs[0].kind", "OV1202 6:64 spec.parentRefs[1].kind"],
    },
    Case {
        name: "no such listener, no such port",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw, sectionName: wen}]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: s, namespace: infra}
spec:
  parentRefs: [{name: gw, port: 8080}]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
",
        expected: &[
            "OV1203 6:40 spec.parentRefs[0].sectionName",
            "OV1203 13:33 spec.parentRefs[0].port",
        ],
    },
    Case {
        name: "not allowed, by namespace and by kind",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  parentRefs: [{name: gw, namespace: infra}]
  hostnames: [b.org]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw}]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
",
        expected: &["OV1204 6:23 spec.parentRefs[0]", "OV1204 14:23 spec.parentRefs[0]"],
    },
    Case {
        name: "hostnames do not intersect",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw}]
  hostnames: [b.org, example.com]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
",
        expected: &["OV1205 7:15 spec.hostnames"],
    },
    Case {
        name: "backends: missing, wrong port, no port, other namespace, mirrors",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw}]
  rules:
  - backendRefs:
    - {name: svx, port: 80}
    - {name: svc, port: 81}
    - {name: svc}
    - {name: svc, namespace: shop, port: 80}
    - {name: nothing, namespace: shop, port: 80}
    filters:
    - {type: RequestMirror, requestMirror: {backendRef: {name: svc, namespace: shop, port: 80}}}
",
        expected: &[
            "OV1033 11:14 spec.rules[0].backendRefs[2].name",
            "OV1206 9:14 spec.rules[0].backendRefs[0].name",
            "OV1208 10:14 spec.rules[0].backendRefs[1].port",
            "OV1209 12:14 spec.rules[0].backendRefs[3]",
            "OV1209 13:14 spec.rules[0].backendRefs[4]",
            "OV1209 15:64 spec.rules[0].filters[0].requestMirror.backendRef",
        ],
    },
    Case {
        name: "one note for a kind the input does not have",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw}]
  rules:
  - backendRefs:
    - {group: multicluster.x-k8s.io, kind: ServiceImport, name: a, port: 80}
    - {group: multicluster.x-k8s.io, kind: ServiceImport, name: b, port: 80}
    - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: child}
",
        expected: &["OV1207 9:65 "],
    },
    Case {
        name: "route kind that does not fit the protocol",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: infra}
spec:
  gatewayClassName: c
  listeners:
  - {name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: TCPRoute}, {kind: HTTPRout}]}}
",
        expected: &[
            "OV1210 8:72 spec.listeners[0].allowedRoutes.kinds[0].kind",
            "OV1210 8:90 spec.listeners[0].allowedRoutes.kinds[1].kind",
        ],
    },
    Case {
        name: "duplicate listener, conflicting listeners",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: infra}
spec:
  gatewayClassName: c
  listeners:
  - {name: a, port: 80, protocol: HTTP}
  - {name: a, port: 81, protocol: HTTP}
  - {name: b, port: 80, protocol: HTTP}
",
        expected: &["OV1211 9:12 spec.listeners[1].name", "OV1212 10:12 spec.listeners[2]"],
    },
    Case {
        name: "listener set not allowed",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: s, namespace: shop}
spec:
  parentRef: {name: gw, namespace: infra}
  listeners: [{name: a, port: 81, protocol: HTTP}]
",
        expected: &["OV1213 6:21 spec.parentRef"],
    },
    Case {
        name: "rule names: duplicate, and equal to a generated one",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw}]
  rules:
  - {name: rule-2, backendRefs: [{name: svc, port: 80}]}
  - {backendRefs: [{name: svc, port: 80}]}
  - {name: rule-2, backendRefs: [{name: svc, port: 80}]}
",
        expected: &["OV1214 10:12 spec.rules[2].name", "OV1215 8:12 spec.rules[0].name"],
    },
    Case {
        name: "duplicate and overlapping parents",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw}, {name: gw, namespace: infra}]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: s, namespace: infra}
spec:
  parentRefs: [{name: gw}, {name: gw, sectionName: web}]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
",
        expected: &[
            "OV1216 6:35 spec.parentRefs[1]",
            "OV1033 13:35 spec.parentRefs[1].name",
        ],
    },
    Case {
        name: "invalid hostnames, not reported again as not fitting",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw}]
  hostnames: [10.0.0.1, 'a.*.com', 'a.example.com:80']
  rules: [{backendRefs: [{name: svc, port: 80}]}]
",
        expected: &[
            "OV1217 7:15 spec.hostnames[0]",
            "OV1217 7:25 spec.hostnames[1]",
            "OV1217 7:36 spec.hostnames[2]",
        ],
    },
    Case {
        name: "unknown protocol, but not that of a vendor",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: infra}
spec:
  gatewayClassName: c
  listeners:
  - {name: a, port: 80, protocol: http}
  - {name: b, port: 81, protocol: vendor.example/quic}
",
        expected: &["OV1218 8:35 spec.listeners[0].protocol"],
    },
    Case {
        name: "certificate in another namespace",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: infra}
spec:
  gatewayClassName: c
  listeners:
  - {name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: own}, {name: theirs, namespace: shop}]}}
",
        expected: &["OV1219 8:87 spec.listeners[0].tls.certificateRefs[1]"],
    },
    Case {
        name: "rules that neither forward nor answer",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: gw}]
  rules:
  - filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]
  - filters: [{type: ExtensionRef, extensionRef: {group: g.example, kind: K, name: x}}]
  - filters: [{type: URLRewrite, urlRewrite: {hostname: x}}]
  - {name: bare}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: s, namespace: infra}
spec: {parentRefs: [{name: gw}]}
",
        expected: &[
            "OV1220 10:5 spec.rules[2].backendRefs",
            "OV1220 11:12 spec.rules[3].backendRefs",
            "OV1220 16:7 spec.rules.backendRefs",
        ],
    },
    Case {
        name: "routes bound to Services",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: g, namespace: infra}
spec:
  parentRefs: [{group: '', kind: Service, name: svc}]
  rules: [{backendRefs: [{name: svc, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs:
  - {group: '', kind: Service, name: svc, port: 80}
  - {group: '', kind: Service, name: svc, port: 81}
  - {group: '', kind: Service, name: svc, namespace: shop}
  - {group: '', kind: Service, name: none}
  rules: [{backendRefs: [{name: svc, port: 80}]}]
",
        expected: &[
            "OV1034 15:38 spec.parentRefs[1].name",
            "OV1240 15:49 spec.parentRefs[1].port",
            "OV1202 17:38 spec.parentRefs[3].name",
            "OV1241 14:38 spec.parentRefs[0]",
            "OV1242 16:38 spec.parentRefs[2].namespace",
        ],
    },
    Case {
        name: "misspelt fields",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
specs: {}
spec:
  parentRef: {name: gw}
  parentRefs: [{name: gw, section: web}]
  rules:
  - backendRef: {name: svc}
    backendRefs: [{name: svc, port: 80, wieght: 3}]
    matches: [{paths: /, path: {typ: Exact}, headers: [{nam: x}]}]
    filters: [{type: CORS, Cors: {}}]
",
        expected: &[
            "OV1109 5:1 specs",
            "OV1109 7:3 spec.parentRef",
            "OV1109 8:27 spec.parentRefs[0].section",
            "OV1109 10:5 spec.rules[0].backendRef",
            "OV1109 11:41 spec.rules[0].backendRefs[0].wieght",
            "OV1109 12:16 spec.rules[0].matches[0].paths",
            "OV1109 12:33 spec.rules[0].matches[0].path.typ",
            "OV1109 12:57 spec.rules[0].matches[0].headers[0].nam",
            "OV1106 12:56 spec.rules[0].matches[0].headers[0].name",
            "OV1106 12:56 spec.rules[0].matches[0].headers[0].value",
            "OV1109 13:28 spec.rules[0].filters[0].Cors",
            "OV1033 13:22 spec.rules[0].filters[0].type",
        ],
    },
    Case {
        name: "wrong types and missing fields",
        text: "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: infra}
spec: {listeners: {name: a}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [gw, {namespace: infra}]
  rules: [{backendRefs: [{port: http, name: svc}, svc]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: g, namespace: infra}
",
        expected: &[
            "OV1106 14:1 spec",
            "OV1105 5:19 spec.listeners",
            "OV1106 5:7 spec.gatewayClassName",
            "OV1105 11:16 spec.parentRefs[0]",
            "OV1106 11:20 spec.parentRefs[1].name",
            "OV1105 12:33 spec.rules[0].backendRefs[0].port",
            "OV1105 12:51 spec.rules[0].backendRefs[1]",
        ],
    },
];
