// SPDX-License-Identifier: Apache-2.0
//! In: a server with two tenants, asked everything that its own document lists. Out: that one learns nothing of the other.
//! Not here: tokens themselves (`tokens`), which requests there are (`asks`).

use std::time::Duration;

use crate::ask::Ask;
use crate::asks::{Case, reads, writes};
use crate::lock::Locked;
use crate::server::Server;

/// In every name of the other tenant.
const NAMES: &str = "zebra";
/// In every label and value of the other tenant; no request has it.
const VALUES: &str = "okapi";
/// A tenant that does not exist.
const NOBODY: &str = "quagga";

/// A tenant's world: a mesh with a proxy and policies, a namespace with a route and policies. The gateway is of the first
/// tenant, routes of others may use it.
fn world(name: &str, mark: &str, number: u64) -> String {
    format!(
        "type: Mesh
name: mesh-{name}
creationTime: '2026-01-01T00:00:00Z'
labels: {{team: {mark}}}
---
type: Dataplane
mesh: mesh-{name}
name: {name}-proxy
creationTime: '2026-01-01T00:00:00Z'
labels: {{app: {name}-web, team: {mark}}}
networking:
  address: 10.9.0.{number}
  inbound:
  - {{name: http, port: 8080, tags: {{kuma.io/service: {name}-web, team: {mark}}}}}
---
type: MeshService
mesh: mesh-{name}
name: {name}-web
creationTime: '2026-01-01T00:00:00Z'
labels: {{team: {mark}}}
spec:
  selector: {{dataplaneTags: {{kuma.io/service: {name}-web}}}}
  ports:
  - {{name: http, port: 80, targetPort: 8080, appProtocol: http}}
---
type: MeshTimeout
mesh: mesh-{name}
name: {name}-slow
creationTime: '2026-01-01T00:00:00Z'
labels: {{team: {mark}}}
spec:
  targetRef: {{kind: Mesh}}
  to:
  - targetRef: {{kind: Mesh}}
    default: {{connectionTimeout: {number}s}}
---
type: MeshTrafficPermission
mesh: mesh-{name}
name: {name}-callers
creationTime: '2026-01-01T00:00:00Z'
labels: {{team: {mark}}}
spec:
  targetRef: {{kind: Mesh}}
  rules:
  - default:
      allow:
      - spiffeID: {{type: Exact, value: 'spiffe://mesh-{name}/ns/{mark}/sa/client'}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}-route, namespace: ns-{name}, creationTimestamp: '2026-01-01T00:00:00Z', labels: {{team: {mark}}}}}
spec:
  parentRefs: [{{name: edge, namespace: ns-lion}}]
  hostnames: [{name}.{mark}.example]
  rules:
  - name: {mark}
    backendRefs: [{{name: {mark}, port: 80}}]
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {{name: {name}-limit, namespace: ns-{name}, creationTimestamp: '2026-01-01T00:00:00Z', labels: {{team: {mark}}}}}
spec:
  targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: {name}-route}}
  limits:
    {mark}: {{rates: [{{limit: {number}, window: 10s}}]}}
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {{name: {name}-adrift, namespace: ns-{name}, creationTimestamp: '2026-01-01T00:00:00Z'}}
spec:
  targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: {mark}-is-not-there}}
  limits:
    {mark}: {{rates: [{{limit: {number}, window: 10s}}]}}
"
    )
}

/// What belongs to no tenant, and the gateway of the first one.
const SHARED: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: edge}
spec: {controllerName: example.com/controller}
---
type: Zone
name: zone-1
enabled: true
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: ns-lion, creationTimestamp: '2026-01-01T00:00:00Z'}
spec:
  gatewayClassName: edge
  listeners:
  - {name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: of-gateway, namespace: ns-lion, creationTimestamp: '2026-01-01T00:00:00Z'}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  defaults:
    limits:
      everybody: {rates: [{limit: 100, window: 10s}]}
";

struct Tenants {
    locked: Locked,
    reader: String,
    writer: String,
}

fn tenants() -> Tenants {
    tenants_with(&[])
}

fn tenants_with(arguments: &[&str]) -> Tenants {
    let locked = Locked::new(arguments);
    let apply = |text: &str| {
        locked
            .server
            .ask(&Ask::new("POST", "/v1/apply").token(&locked.admin).body(text))
            .expect(201);
    };
    apply(SHARED);
    apply(&world("lion", "savanna", 11));
    apply(&world(NAMES, VALUES, 12));
    let scopes = |role: &str| format!(r#""{role}:mesh/mesh-lion", "{role}:namespace/ns-lion""#);
    let reader = locked.make("reader", &scopes("read"));
    let writer = locked.make("writer", &scopes("write"));
    Tenants { locked, reader, writer }
}

impl Tenants {
    fn server(&self) -> &Server {
        &self.locked.server
    }

    fn cases(&self) -> Vec<Case> {
        let document = self.server().get("/openapi.json").json();
        reads(&document, &["lion", NAMES])
    }

    fn read(&self, case: &Case, token: &str) -> (u16, String) {
        let answer = self.server().ask(&Ask::new("GET", &case.path).token(token));
        assert!(answer.status < 500 || answer.status == 501, "{}: {answer:?}", case.path);
        let headers: String = answer.headers.iter().map(|(n, v)| format!("{n}: {v}\n")).collect();
        for (name, text) in [("headers", &headers), ("body", &answer.body)] {
            let leak = token != self.locked.admin && text.contains(VALUES);
            assert!(!leak, "{} tells values of the other tenant in its {name}: {text}", case.path);
        }
        (answer.status, answer.body)
    }
}

/// One tenant gets nothing of the other, whatever it asks; and where it names what is the other's, the answer is the one
/// for what does not exist.
#[test]
fn no_answer_tells_of_another_tenant() {
    nothing_is_told(&tenants());
}

/// That holds for the other behaviour too.
#[test]
fn no_answer_of_the_release_tells_of_another_tenant() {
    nothing_is_told(&tenants_with(&["--kuma-compat"]));
}

fn nothing_is_told(tenants: &Tenants) {
    let (mut told, mut leaks) = (0, Vec::new());
    let cases = tenants.cases();
    for case in &cases {
        let (status, body) = tenants.read(case, &tenants.reader);
        let (_, all) = tenants.read(case, &tenants.locked.admin);
        told += usize::from(all.contains(VALUES));
        if case.path.contains(NAMES) {
            let nobody = Case { path: case.path.replace(NAMES, NOBODY) };
            let (other, missing) = tenants.read(&nobody, &tenants.reader);
            if (status, body.replace(NAMES, NOBODY)) != (other, missing.clone()) {
                leaks.push(format!("{}: {status} {body} but {other} {missing}", case.path));
            }
        } else if body.contains(NAMES) {
            leaks.push(format!("{}: {status} {body}", case.path));
        }
    }
    eprintln!("{} requests, {told} of which tell an admin of the other tenant", cases.len());
    assert!(leaks.is_empty(), "{} leaks: {leaks:#?}", leaks.len());
    assert!(told > 50, "nothing was there to be told");
}

/// Who may read a namespace does not read the mesh of the same owner, nor the other way round.
#[test]
fn a_namespace_is_not_a_mesh() {
    let tenants = tenants();
    let cases = tenants.cases();
    for (grant, other) in
        [("read:namespace/ns-lion", "mesh-lion"), ("read:mesh/mesh-lion", "ns-lion")]
    {
        let token = tenants.locked.make("half", &format!("\"{grant}\""));
        for case in cases.iter().filter(|case| !case.path.contains(other)) {
            let (_, body) = tenants.read(case, &token);
            assert!(!body.contains(other), "{grant} reads {} by {}: {body}", other, case.path);
        }
    }
}

/// A list without the version of the whole, which is told on purpose: reads can be made consistent by it.
fn without_version(body: &str) -> String {
    let mark = "\"kind\":\"StoredList\",\"version\":";
    match body.split_once(mark) {
        None => body.to_owned(),
        Some((before, after)) => {
            format!("{before}{mark}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
    }
}

/// Whatever another tenant does changes no answer.
#[test]
fn nothing_another_tenant_does_is_noticed() {
    let tenants = tenants();
    let cases = tenants.cases();
    let all = |t: &Tenants| -> Vec<(u16, String)> {
        let read = |case: &Case| {
            let (status, body) = t.read(case, &t.reader);
            (status, without_version(&body))
        };
        cases.iter().map(read).collect()
    };
    let before = all(&tenants);
    let text = world("zebra-2", "okapi-2", 13).replace("mesh-zebra-2", "mesh-zebra");
    let changed = world("zebra", "okapi-3", 14);
    for text in [text.replace("ns-zebra-2", "ns-zebra"), changed] {
        let ask = Ask::new("POST", "/v1/apply").token(&tenants.locked.admin).body(&text);
        assert!(tenants.server().ask(&ask).status < 300);
    }
    let route = "/v1/resources/httproute/ns-zebra/zebra-route";
    tenants.server().ask(&Ask::new("DELETE", route).token(&tenants.locked.admin)).expect(200);
    let after = all(&tenants);
    let pairs = cases.iter().zip(before.iter().zip(&after));
    let noticed: Vec<String> = pairs
        .filter(|(_, (before, after))| before != after)
        .map(|(case, (before, after))| format!("{}: {before:?} became {after:?}", case.path))
        .collect();
    assert!(noticed.is_empty(), "{} answers changed: {noticed:#?}", noticed.len());
}

/// A dry run of a change that reaches the other tenant tells what it does here.
#[test]
fn dry_runs_tell_nothing_of_another_tenant() {
    let tenants = tenants();
    let policy = SHARED.rsplit_once("---\n").unwrap().1.replace("limit: 100", "limit: 7");
    let asks = [
        Ask::new("POST", "/v1/apply?dry-run=true").body(&policy),
        Ask::new("POST", "/v1/apply?dry-run=true&output=table").body(&policy),
        Ask::new("POST", "/v1/delete?dry-run=true").body(&policy),
        Ask::new("PUT", "/v1/resources/ratelimitpolicy/ns-lion/of-gateway?dry-run=true")
            .body(&policy),
        Ask::new("DELETE", "/v1/resources/ratelimitpolicy/ns-lion/of-gateway?dry-run=true"),
        Ask::new("DELETE", "/v1/resources/gateway/ns-lion/edge?dry-run=true"),
        Ask::new("DELETE", "/v1/resources/gateway/ns-lion/edge"),
    ];
    let version = tenants.server().ask(&Ask::new("GET", "/v1/history").token(&tenants.reader)).body;
    for (n, ask) in asks.iter().enumerate() {
        let answer = tenants.server().ask(&ask.clone().token(&tenants.writer)).expect(200);
        assert!(!answer.body.contains(VALUES) && !answer.body.contains(NAMES), "{answer:?}");
        let history = Ask::new("GET", "/v1/history").token(&tenants.reader);
        let same = tenants.server().ask(&history).body == version;
        assert_eq!(same, n + 1 < asks.len(), "a dry run changes nothing: {ask:?}");
    }
    let foreign = world(NAMES, "nothing", 1);
    for path in ["/v1/apply", "/v1/apply?dry-run=true", "/v1/delete", "/v1/delete?dry-run=true"] {
        let ask = Ask::new("POST", path).body(&foreign).token(&tenants.writer);
        let answer = tenants.server().ask(&ask).expect(403);
        assert!(!answer.body.contains(VALUES), "{answer:?}");
    }
}

/// A stream tells of one's own, and of nothing else.
#[test]
fn watching_tells_nothing_of_another_tenant() {
    let tenants = tenants();
    let watch = |path: &str, token: &str| {
        let ask = Ask::new("GET", path).token(token);
        let stream = ask.open(tenants.server().address, Duration::from_secs(3)).unwrap();
        assert_eq!(stream.status, 200, "{path}");
        stream
    };
    let mut own = watch("/v1/watch", &tenants.reader);
    let mut since = watch("/v1/watch?since=1", &tenants.reader);
    let mut all = watch("/v1/watch", &tenants.locked.admin);
    for (name, mark, number) in [(NAMES, "okapi-9", 22), ("lion", "savanna", 21)] {
        let ask = Ask::new("POST", "/v1/apply").body(&world(name, mark, number));
        assert!(tenants.server().ask(&ask.token(&tenants.locked.admin)).status < 300);
    }
    let mut seen = [&mut own, &mut since, &mut all].map(|stream| {
        let mut text = String::new();
        while let Ok(Some(piece)) = stream.piece() {
            text.push_str(&piece);
        }
        text
    });
    let everything = std::mem::take(&mut seen[2]);
    assert!(
        everything.contains(NAMES) && everything.contains("lion"),
        "admins see all: {everything}"
    );
    for text in &seen[..2] {
        assert!(
            text.contains("lion-proxy") || text.contains("lion-route"),
            "nothing is told: {text}"
        );
        assert!(!text.contains(NAMES) && !text.contains(VALUES), "{text}");
    }
}

/// Who may only read writes nothing, by no endpoint.
#[test]
fn who_may_read_does_not_write() {
    let tenants = tenants();
    let all = tenants.locked.make("reads-all", r#""read""#);
    let document = tenants.server().get("/openapi.json").json();
    let state = || {
        ["/v1/resources", "/v1/history", "/v1/tokens"].map(|path| {
            tenants.server().ask(&Ask::new("GET", path).token(&tenants.locked.admin)).body
        })
    };
    let before = state();
    let texts = world("lion", "savanna", 99);
    let texts: Vec<&str> = SHARED.split("---\n").chain(texts.split("---\n")).collect();
    let mut wrong = Vec::new();
    for token in [&tenants.reader, &all] {
        for ask in writes(&document, &texts) {
            let answer = tenants.server().ask(&ask.clone().token(token));
            // What cannot be seen cannot be refused either: it does not exist for them.
            let hidden = || {
                let there = tenants.server().ask(&ask.as_get().token(token));
                matches!(there.status, 404 | 405)
            };
            if answer.status != 403 && !(answer.status == 404 && hidden()) {
                wrong.push(format!("{ask:?}: {} {}", answer.status, answer.body));
            }
        }
    }
    assert_eq!(state(), before, "something was written");
    assert!(wrong.is_empty(), "{} are not refused as such: {wrong:#?}", wrong.len());
}

/// A writer of one tenant writes nothing of the other, nor what belongs to nobody.
#[test]
fn who_may_write_here_does_not_write_there() {
    let tenants = tenants();
    let zebra = world(NAMES, VALUES, 50);
    for text in zebra.split("---\n").chain(SHARED.split("---\n").take(2)) {
        let ask = Ask::new("POST", "/v1/apply").body(text).token(&tenants.writer);
        tenants.server().ask(&ask).expect(403);
    }
    // One document that may not be written keeps out all of them.
    let lion = world("lion", "savanna", 51);
    let ask = Ask::new("POST", "/v1/apply").body(&format!("{lion}---\n{zebra}"));
    tenants.server().ask(&ask.token(&tenants.writer)).expect(403);
    let ask = Ask::new("POST", "/v1/apply").body(&lion).token(&tenants.writer);
    tenants.server().ask(&ask).expect(200);
    // An object of a mesh that is kept in a namespace changes both.
    let both = "apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmetadata: {name: t, namespace: ns-lion, labels: \
                {kuma.io/mesh: mesh-zebra}}\nspec:\n  to:\n  - targetRef: {kind: Mesh}\n    default: \
                {connectionTimeout: 1s}\n";
    let ask = Ask::new("POST", "/v1/apply").body(both).token(&tenants.writer);
    tenants.server().ask(&ask).expect(403);
}
