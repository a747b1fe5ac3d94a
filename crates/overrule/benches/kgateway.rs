// SPDX-License-Identifier: Apache-2.0
//! In: routes that delegate to thousands of others by wildcard and by label, and leaves that share a few stacks of
//! policies. Out: times as ratios, counts of folds, and whether the bars hold. Not here: memory, other families.
//!
//! `cargo bench -p overrule --bench kgateway`, `-- --quick` for a small one.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

mod report;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use overrule::gateway::topology;
use overrule::kgateway::{self, Policies, Profile, ResolveOptions, Resolved, Settings, World};
use overrule::model::Snapshot;
use overrule::source::{Documents, Input, ReadOptions, read};
use report::{Report, best};

fn main() -> ExitCode {
    if let Some(ended) = report::in_warm_process() {
        return ended;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let small = if quick { 50 } else { 1_000 };
    let mut report = Report::default();
    for by in [By::Wildcard, By::Label] {
        delegation(by, small, if quick { 1 } else { 5 }, &mut report);
    }
    stacks(small * 10, &mut report);
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How a parent means its children.
#[derive(Clone, Copy)]
enum By {
    Wildcard,
    Label,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Wildcard => "wildcard",
            Self::Label => "label",
        }
    }

    fn reference(self, namespace: &str, label: &str) -> String {
        match self {
            Self::Wildcard => format!(
                "{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: '*', namespace: {namespace}}}"
            ),
            Self::Label => format!(
                "{{group: delegation.kgateway.dev, kind: label, name: {label}, namespace: {namespace}}}"
            ),
        }
    }
}

const HEAD: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kgateway}
spec: {controllerName: kgateway.dev/kgateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: kgateway
  listeners:
  - {name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}
";

/// A route with one rule.
struct Route<'a> {
    namespace: &'a str,
    name: &'a str,
    labels: &'a str,
    parent: &'a str,
    path: &'a str,
    backend: &'a str,
}

fn route(out: &mut String, route: &Route<'_>) {
    let Route { namespace, name, labels, parent, path, backend } = route;
    write!(
        out,
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}\n\
         spec:\n{parent}  rules:\n  - matches:\n    - path: {{type: PathPrefix, value: {path}}}\n    backendRefs:\n    - {backend}\n"
    )
    .expect("text");
}

fn policy(out: &mut String, namespace: &str, name: &str, target: &str, value: &str) {
    write!(
        out,
        "---\napiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {{name: {name}, namespace: {namespace}, creationTimestamp: '2024-01-01T00:00:00Z'}}\n\
         spec:\n{target}  cors: {{allowOrigins: ['https://{value}.example']}}\n"
    )
    .expect("text");
}

const ROOT: &str = "  parentRefs: [{name: edge, namespace: infra}]\n";
const SERVICE: &str = "{name: svc, port: 80}";

/// One parent with a policy, so many children in one namespace; `own`: each with a policy of its own.
fn children(by: By, count: usize, own: bool) -> String {
    let mut out = HEAD.to_owned();
    let backend = by.reference("team", "kid");
    route(
        &mut out,
        &Route {
            namespace: "infra",
            name: "root",
            labels: "",
            parent: ROOT,
            path: "/a",
            backend: &backend,
        },
    );
    let target =
        "  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: root}]\n";
    policy(&mut out, "infra", "root", target, "root");
    for n in 0..count {
        let (name, path) = (format!("r{n}"), format!("/a/{n}"));
        let labels = "delegation.kgateway.dev/label: kid";
        route(
            &mut out,
            &Route {
                namespace: "team",
                name: &name,
                labels,
                parent: "",
                path: &path,
                backend: SERVICE,
            },
        );
        if own {
            let target = format!(
                "  targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: {name}}}]\n"
            );
            policy(&mut out, "team", &name, &target, &name);
        }
    }
    out
}

/// Ten stacks of policies on four levels, shared by so many leaves: policies select their routes by label.
fn shared(leaves: usize) -> String {
    const STACKS: usize = 10;
    const LEVELS: [&str; 3] = ["root", "mid", "low"];
    let mut out = HEAD.to_owned();
    let select = |stack: usize, level: &str| {
        format!(
            "  targetSelectors: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {{stack: s{stack}, level: {level}}}}}]\n"
        )
    };
    for stack in 0..STACKS {
        let path = format!("/s{stack}");
        for (n, level) in LEVELS.iter().enumerate() {
            let next = LEVELS.get(n + 1).copied().unwrap_or("leaf");
            let backend = By::Label.reference("team", &format!("{next}-{stack}"));
            let labels = format!(
                "stack: s{stack}, level: {level}, delegation.kgateway.dev/label: {level}-{stack}"
            );
            let (name, parent) = (format!("{level}-{stack}"), if n == 0 { ROOT } else { "" });
            route(
                &mut out,
                &Route {
                    namespace: "team",
                    name: &name,
                    labels: &labels,
                    parent,
                    path: &path,
                    backend: &backend,
                },
            );
        }
        for level in LEVELS.into_iter().chain(["leaf"]) {
            let name = format!("{level}-{stack}");
            policy(&mut out, "team", &name, &select(stack, level), &name);
        }
    }
    for n in 0..leaves {
        let stack = n % STACKS;
        let (name, path) = (format!("leaf{n}"), format!("/s{stack}/{n}"));
        let labels =
            format!("stack: s{stack}, level: leaf, delegation.kgateway.dev/label: leaf-{stack}");
        route(
            &mut out,
            &Route {
                namespace: "team",
                name: &name,
                labels: &labels,
                parent: "",
                path: &path,
                backend: SERVICE,
            },
        );
    }
    out
}

/// Everything the resolve step needs.
struct Ready {
    documents: Documents,
    snapshot: Snapshot,
    resources: topology::GatewayResources,
    policies: Policies,
    settings: Settings,
}

impl Ready {
    fn new(text: String) -> Self {
        let documents =
            read(vec![Input::new("fleet.yaml", text)], &ReadOptions::default()).documents;
        let mut snapshot = overrule::model::parse(&documents).snapshot;
        let (resources, _) = topology::parse(&documents, &mut snapshot);
        let settings = Settings::default();
        let (policies, _) = kgateway::parse(&documents, &mut snapshot, &settings);
        Self { documents, snapshot, resources, policies, settings }
    }

    /// Connect, follow delegations, attach, order, merge, findings.
    fn resolve(&self) -> Resolved<kgateway::Matches> {
        let topology = self.resources.connect(&self.snapshot).topology;
        let world = World {
            documents: &self.documents,
            snapshot: &self.snapshot,
            topology: &topology,
            policies: &self.policies,
            profile: Profile::Design,
            ground: &self.settings,
        };
        kgateway::resolve(world, &ResolveOptions::default())
    }
}

/// Ten times the children.
fn delegation(by: By, small: usize, rounds: usize, report: &mut Report) {
    let name = by.name();
    let ready = |count, own| Ready::new(children(by, count, own));
    let (few, many) = (ready(small, false), ready(small * 10, false));
    let reached = many.resolve().extra.delegated();
    assert_eq!(reached, small * 10, "every child is reached once");
    let (median, one, ten) = ratio(&few, &many, rounds);
    report.row(&format!("by {name}, {small} children"), one, None);
    report.row(&format!("by {name}, {} children", small * 10), ten, None);
    report.at_most(format!("delegation by {name}, ten times the children: time"), median, 12.0);
    let (few, many) = (ready(small, true), ready(small * 10, true));
    let (median, one, ten) = ratio(&few, &many, rounds);
    report.row(&format!("by {name}, {small} children, a policy on each"), one, None);
    report.row(&format!("by {name}, {} children, a policy on each", small * 10), ten, None);
    report.line(format!("  {median:.1} times the time for ten times children, policies and folds"));
}

/// Runs of the small case against one of the large: as much work on both sides, so that neither is a lucky moment.
const REPEAT: u32 = 10;

/// Measured in turns: the median of the ratios, and the best times.
fn ratio(few: &Ready, many: &Ready, rounds: usize) -> (f64, Duration, Duration) {
    let mut ratios = Vec::new();
    let mut times = Vec::new();
    for _ in 0..rounds {
        let sum: Duration = (0..REPEAT).map(|_| best(1, || few.resolve()).0).sum();
        let one = sum / REPEAT;
        let (ten, _) = best(1, || many.resolve());
        ratios.push(ten.as_secs_f64() / one.as_secs_f64());
        times.push((one, ten));
    }
    ratios.sort_by(f64::total_cmp);
    let least = |which: fn(&(Duration, Duration)) -> Duration| times.iter().map(which).min();
    let median = ratios.get(rounds / 2).copied().expect("at least one round");
    let (one, ten) = (least(|t| t.0), least(|t| t.1));
    (median, one.expect("a round"), ten.expect("a round"))
}

/// Ten stacks on four levels: one fold per stack and level, one per chain, one per path.
fn stacks(leaves: usize, report: &mut Report) {
    let ready = Ready::new(shared(leaves));
    let (time, resolved) = best(3, || ready.resolve());
    let resolution = &resolved.resolution;
    let groups: u64 = (0..256).map(|spec| resolution.folds_of(spec)).sum();
    report.row(&format!("{leaves} leaves under three levels, ten stacks"), time, None);
    report.line(format!(
        "  {} paths, {} folds of paths, {} folds of levels and chains",
        resolution.paths.len(),
        resolution.folds(),
        groups - resolution.folds()
    ));
    // Four levels of ten groups, ten chains for each number of levels above a leaf, ten paths.
    report.at_most("folds of paths for ten stacks", resolution.folds() as f64, 10.0);
    report.at_most(
        "folds of levels and chains for ten stacks on four levels",
        (groups - resolution.folds()) as f64,
        50.0,
    );
}
