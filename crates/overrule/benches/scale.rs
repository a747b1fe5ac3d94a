// SPDX-License-Identifier: Apache-2.0
//! In: worlds that grow in one direction: meshes, namespaces, gateways, kinds of policies. Out: how the whole analysis
//! grows in each; and that a question about one route, and a change of one policy of a mesh, do not grow with the rest.
//! Not here: whether the answers are right (`tests/live.rs`).
//!
//! `cargo bench -p overrule --bench scale`; `-- --quick` a tenth, to see that it runs. Times are processor time, and every
//! bar is a ratio of two of them in one run.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench prints, and stops at the first surprise"
)]

mod report;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use overrule::live::{Edit, KeyedText, Workspace};
use overrule::source::Input;
use overrule::{Analysis, Manifests, Options, Touched};
use report::{Report, best};

fn main() -> ExitCode {
    if let Some(ended) = report::in_warm_process() {
        return ended;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let share = if quick { 10 } else { 1 };
    let mut report = Report::default();
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    one.install(|| {
        directions(10_000 / share, &mut report);
        questions(5_000 / share, &mut report);
        writes(1_000 / share, &mut report);
    });
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn input(name: &str, text: &str) -> Input {
    Input::new(name, text.as_bytes())
}

/// Manifests of a world of a size.
type World = fn(usize) -> String;

/// The whole analysis, findings included, of a tenth and of all.
fn directions(size: usize, report: &mut Report) {
    let all: [(&str, World); 4] =
        [("meshes", meshes), ("namespaces", namespaces), ("gateways", gateways), ("kinds", kinds)];
    for (name, world) in all {
        let mut time = |size: usize| {
            let text = world(size);
            let make = || Analysis::new(vec![input("a.yaml", &text)], &Options::default());
            let (time, _) = best(3, make);
            report.row(&format!("{size} {name}"), time, Some(text.len()));
            time.as_secs_f64()
        };
        let (small, large) = (time(size / 10), time(size));
        report.at_most(format!("{name}: power of size"), (large / small).log10(), 1.1);
    }
}

/// A question about one route, in a fleet and in one that is twenty times as large.
fn questions(size: usize, report: &mut Report) {
    let times = [size, size * 20].map(|resources| {
        // Five resources for each of them.
        let text = gateways(resources / 5);
        let options = Options { compare: true, ..Options::default() };
        let texts = vec![KeyedText { key: "a".into(), input: input("a", &text), created: None }];
        let workspace = Workspace::new(texts, options.clone());
        let known = Manifests::of(workspace.analysis().clone(), options);
        let target = "httproute/n7/r";
        let (effective, found) = best(200, || known.effective(target).unwrap());
        assert!(!found.is_empty());
        let (explain, found) = best(200, || known.explain(target).unwrap());
        assert!(!found.is_empty());
        for (name, time) in [("effective", effective), ("explain", explain)] {
            report.row(&format!("{name} of a route among {resources} resources"), time, None);
        }
        [effective, explain].map(|time| time.as_secs_f64())
    });
    for (at, name) in ["effective", "explain"].into_iter().enumerate() {
        report.at_most(
            format!("{name} of one route, 20 times the fleet"),
            times[1][at] / times[0][at],
            1.3,
        );
    }
}

/// Changes of one policy of a mesh.
fn writes(proxies: usize, report: &mut Report) {
    let nobody = |n: usize| policy("nobody", "app: nobody", n);
    let one = |n: usize| policy("one", "app: a3", n);
    let mut large = mesh(proxies);
    large.push(("nobody".to_owned(), nobody(0)));
    large.push(("one".to_owned(), one(0)));
    let empty = vec![
        ("mesh".to_owned(), "type: Mesh\nname: default\n".to_owned()),
        ("nobody".to_owned(), nobody(0)),
    ];
    let [mut large, mut empty] = [large, empty].map(workspace);
    let in_empty = change(&mut empty, "nobody", &nobody);
    let (to_nobody, to_one) =
        (change(&mut large, "nobody", &nobody), change(&mut large, "one", &one));
    let (whole, _) = best(3, || large.resolve());
    let what = format!("{proxies} proxies and {} policies", proxies * 2);
    for (name, time) in [
        ("a policy that selects nobody, empty mesh".to_owned(), in_empty),
        (format!("a policy that selects nobody, {what}"), to_nobody),
        ("a policy that selects one proxy there".to_owned(), to_one),
        ("all of it".to_owned(), whole),
    ] {
        report.row(&name, time, None);
    }
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    report.at_most("selects nobody, large mesh / empty mesh", ratio(to_nobody, in_empty), 2.0);
    report.at_most(
        "selects one proxy, in hundredths of all of it",
        100.0 * ratio(to_one, whole),
        1.0,
    );
}

fn workspace(texts: Vec<(String, String)>) -> Workspace {
    let given = texts.iter().map(|(name, text)| KeyedText {
        key: name.as_str().into(),
        input: input(name, text),
        created: None,
    });
    Workspace::new(given.collect(), Options { compare: true, ..Options::default() })
}

/// The best time of a change of a text.
fn change(workspace: &mut Workspace, name: &str, text: &dyn Fn(usize) -> String) -> Duration {
    let mut number = 0;
    let (time, _) = best(200, || {
        number += 1;
        let input = input(name, &text(number % 9));
        let now =
            workspace.change(vec![Edit::Put(KeyedText { key: name.into(), input, created: None })]);
        assert_ne!(now.touched, Touched::Everything, "{name}");
    });
    time
}

fn policy(name: &str, label: &str, number: usize) -> String {
    format!(
        "type: MeshTimeout\nmesh: default\nname: {name}\nspec:\n  targetRef: {{kind: Dataplane, labels: {{{label}}}}}\n  \
         rules: [{{default: {{connectionTimeout: {}s}}}}]\n",
        number + 1
    )
}

/// A mesh with so many proxies, and twice as many policies, each about one of them.
fn mesh(proxies: usize) -> Vec<(String, String)> {
    let mut texts = vec![("mesh".to_owned(), "type: Mesh\nname: default\n".to_owned())];
    for n in 0..proxies {
        let proxy = format!(
            "type: Dataplane\nmesh: default\nname: dp-{n}\nlabels: {{app: a{n}}}\nnetworking: {{address: 10.0.0.1, \
             inbound: [{{port: 80, name: web, tags: {{kuma.io/service: s{n}}}}}]}}\n"
        );
        texts.push((format!("dp-{n}"), proxy));
        for twice in ["a", "b"] {
            let name = format!("p{twice}-{n}");
            texts.push((name.clone(), policy(&name, &format!("app: a{n}"), n % 50)));
        }
    }
    texts
}

/// Meshes without mTLS, each with policies that need it, some of which select nobody.
fn meshes(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        let name = format!("m{n}");
        write!(
            text,
            "type: Mesh\nname: {name}\n---\ntype: Dataplane\nmesh: {name}\nname: dp\nlabels: {{app: a}}\nnetworking: \
             {{address: 10.0.0.1, inbound: [{{port: 80, name: web, tags: {{kuma.io/service: web}}}}]}}\n---\n\
             type: MeshTrafficPermission\nmesh: {name}\nname: p\nspec: {{targetRef: {{kind: Mesh}}, rules: [{{default: \
             {{allow: [{{spiffeID: {{type: Exact, value: \"spiffe://m/a\"}}}}]}}}}]}}\n---\n\
             type: MeshTimeout\nmesh: {name}\nname: lost\nspec: {{targetRef: {{kind: Dataplane, labels: {{app: b{n}}}}}, \
             rules: [{{default: {{connectionTimeout: 5s}}}}]}}\n---\n"
        )
        .unwrap();
    }
    text
}

/// Namespaces of one mesh and of one Gateway, each with policies of its own.
fn namespaces(count: usize) -> String {
    let mut text = String::from(
        "apiVersion: kuma.io/v1alpha1\nkind: Mesh\nmetadata: {name: default}\n---\n\
         apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g, namespace: infra}\nspec: \
         {gatewayClassName: c, listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}\n---\n",
    );
    for n in 0..count {
        let space = format!("n{n}");
        route(&mut text, &space, "infra");
        write!(
            text,
            "apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmetadata: {{name: dp, namespace: {space}, labels: {{app: a, \
             kuma.io/mesh: default}}}}\nmesh: default\nspec: {{networking: {{address: 10.0.0.1, inbound: [{{port: 80, \
             name: web, tags: {{kuma.io/service: web}}}}]}}}}\n---\n\
             apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmetadata: {{name: t, namespace: {space}, labels: \
             {{kuma.io/mesh: default}}}}\nspec: {{targetRef: {{kind: Dataplane, labels: {{app: a}}}}, rules: [{{default: \
             {{connectionTimeout: 5s}}}}]}}\n---\n"
        )
        .unwrap();
    }
    text
}

/// Gateways, each in a namespace of its own, with a route and a policy of each family: five resources.
fn gateways(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        let space = format!("n{n}");
        write!(
            text,
            "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: g, namespace: {space}}}\nspec: \
             {{gatewayClassName: c, listeners: [{{name: web, port: 80, protocol: HTTP}}]}}\n---\n\
             apiVersion: kuadrant.io/v1\nkind: RateLimitPolicy\nmetadata: {{name: all, namespace: {space}}}\nspec: \
             {{targetRef: {{group: gateway.networking.k8s.io, kind: Gateway, name: g}}, defaults: {{limits: {{b: {{rates: \
             [{{limit: 5, window: 10s}}]}}}}}}}}\n---\n"
        )
        .unwrap();
        route(&mut text, &space, &space);
    }
    text
}

/// A route with a policy of Kuadrant's and one of kgateway's.
fn route(text: &mut String, space: &str, gateway: &str) {
    let target = "group: gateway.networking.k8s.io, kind: HTTPRoute, name: r";
    write!(
        text,
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r, namespace: {space}}}\nspec: \
         {{hostnames: [{space}.example.com], parentRefs: [{{name: g, namespace: {gateway}}}], rules: [{{name: a}}]}}\n---\n\
         apiVersion: kuadrant.io/v1\nkind: RateLimitPolicy\nmetadata: {{name: own, namespace: {space}}}\nspec: {{targetRef: \
         {{{target}}}, limits: {{a: {{rates: [{{limit: 5, window: 10s}}]}}}}}}\n---\n\
         apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {{name: own, namespace: {space}}}\nspec: \
         {{targetRefs: [{{{target}}}], timeouts: {{request: 5s}}}}\n---\n"
    )
    .unwrap();
}

/// Kinds of policies, each with one policy on the same Gateway.
fn kinds(count: usize) -> String {
    let mut text = gateways(1);
    for n in 0..count {
        write!(
            text,
            "apiVersion: overrule/v1\nkind: PolicyKind\nmetadata: {{name: k{n}}}\nspec: {{group: b.io, kind: K{n}Policy, \
             class: Inherited}}\n---\napiVersion: b.io/v1\nkind: K{n}Policy\nmetadata: {{name: p, namespace: n0}}\nspec: \
             {{targetRefs: [{{group: gateway.networking.k8s.io, kind: Gateway, name: g}}], defaults: {{limit: {n}}}}}\n---\n"
        )
        .unwrap();
    }
    text
}
