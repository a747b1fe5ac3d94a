// SPDX-License-Identifier: Apache-2.0
//! In: fleets of proxies of a few shapes. Out: sharing changes no answer, and only what differs is computed again.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation shall stop the test"
)]

use std::fmt::Write as _;

use overrule_mesh::Profile;
use overrule_mesh::dataplane::Dataplane;
use overrule_mesh::fleet::{Fleet, Ground, ProxyRules};
use overrule_mesh::policy::Policy;
use overrule_mesh::resource::Resource;
use overrule_mesh::targets::Destination;
use overrule_source::{Documents, Input, NodeRef, ReadOptions, read};

/// Resources of a text.
struct Read {
    documents: Documents,
    policies: Vec<Policy>,
    dataplanes: Vec<Dataplane>,
    destinations: Vec<Destination>,
}

fn resources(text: &str) -> Read {
    let documents = read(vec![Input::new("a.yaml", text)], &ReadOptions::default()).documents;
    let roots = documents.ids().map(|doc| NodeRef { doc, node: documents.root(doc).id() });
    let all: Vec<Resource> = roots.filter_map(|r| Resource::read(&documents, r)).collect();
    let is = |kind: &'static str| move |r: &&Resource| r.meta.kind == kind;
    let policies = all.iter().filter_map(|r| Policy::read(&documents, r)).collect();
    let dataplanes =
        all.iter().filter(is("Dataplane")).map(|r| Dataplane::read(&documents, r)).collect();
    let destinations = all.iter().filter_map(|r| Destination::read(&documents, r)).collect();
    Read { policies, dataplanes, destinations, documents }
}

impl Read {
    fn fleet(&self) -> Fleet<'_> {
        Fleet::new(Ground {
            documents: &self.documents,
            profile: Profile::Release,
            policies: &self.policies,
            routes: &[],
            gateways: &[],
            destinations: &self.destinations,
        })
    }
}

fn world(proxies: usize, shapes: usize) -> String {
    let mut text = "{type: Mesh, name: default}\n".to_owned();
    for n in 0..4 {
        write!(
            text,
            "---\n{{type: MeshService, mesh: default, name: svc-{n}, labels: {{kuma.io/display-name: svc-{n}}}, \
             spec: {{ports: [{{port: 80, name: http}}]}}}}\n"
        )
        .unwrap();
    }
    for n in 0..shapes {
        write!(
            text,
            "---\n{{type: MeshTimeout, mesh: default, name: t-{n}, spec: {{targetRef: {{kind: Dataplane, labels: {{app: a-{n}}}}}, \
             to: [{{targetRef: {{kind: Mesh}}, default: {{idleTimeout: {n}s}}}}, \
             {{targetRef: {{kind: MeshService, name: svc-{}}}, default: {{connectionTimeout: 1s}}}}]}}}}\n",
            n % 4
        )
        .unwrap();
        write!(
            text,
            "---\n{{type: MeshTrafficPermission, mesh: default, name: p-{n}, spec: {{targetRef: {{kind: MeshSubset, tags: {{v: v-{n}}}}}, \
             from: [{{targetRef: {{kind: Mesh}}, default: {{action: Deny}}}}]}}}}\n"
        )
        .unwrap();
    }
    for n in 0..proxies {
        let shape = n % shapes;
        write!(
            text,
            "---\n{{type: Dataplane, mesh: default, name: dp-{n}, labels: {{app: a-{shape}, unrelated: u-{n}}}, \
             networking: {{address: 10.0.0.{n}, inbound: [{{port: 80, tags: {{v: v-{shape}}}}}, {{port: 81, name: admin, tags: {{v: other}}}}]}}}}\n"
        )
        .unwrap();
    }
    text
}

/// Everything rules say, as text.
fn shown(rules: &ProxyRules<'_>) -> String {
    let mut text = String::new();
    for kind in rules.iter() {
        let names: Vec<&str> = kind.policies.iter().map(|p| p.meta.name.as_str()).collect();
        writeln!(text, "{} {names:?}", kind.kind.name).unwrap();
        for (kri, rule) in &kind.to.resources {
            writeln!(text, "  {kri} {:?} {:?}", rule.confs, rule.origins).unwrap();
        }
        for (place, rules) in &kind.inbounds {
            writeln!(text, "  inbound {place} {rules:?}").unwrap();
        }
    }
    text
}

#[test]
fn sharing_changes_no_answer() {
    let read = resources(&world(40, 5));
    let mut shared = read.fleet();
    for dataplane in &read.dataplanes {
        let alone = read.fleet().resolve(dataplane);
        assert_eq!(shown(&shared.resolve(dataplane)), shown(&alone), "{}", dataplane.meta.name);
    }
    assert_eq!(shared.shapes(), 5, "labels nobody asks for and addresses do not count");
    let first = shared.resolve(&read.dataplanes[0]);
    let timeouts = first.iter().find(|k| k.kind.name == "MeshTimeout").expect("a type");
    assert_eq!(timeouts.to.resources.len(), 2, "the Mesh and one service");
    let permissions = first.iter().find(|k| k.kind.name == "MeshTrafficPermission").expect("one");
    assert_eq!(
        permissions.inbounds.keys().collect::<Vec<_>>(),
        [&0],
        "the other inbound has another tag"
    );
}

#[test]
fn ten_times_the_proxies_are_no_more_shapes_and_no_more_lists() {
    let count = |proxies| {
        let read = resources(&world(proxies, 5));
        let mut fleet = read.fleet();
        read.dataplanes.iter().for_each(|d| drop(fleet.resolve(d)));
        (fleet.shapes(), fleet.lists())
    };
    assert_eq!(count(10), count(100));
}

#[test]
fn a_destination_is_looked_up_by_itself_then_whole_then_its_mesh() {
    let read = resources(&world(1, 1));
    let mut fleet = read.fleet();
    let rules = fleet.resolve(&read.dataplanes[0]);
    let timeouts = rules.iter().find(|k| k.kind.name == "MeshTimeout").expect("a type");
    let rule = |text: &str| timeouts.to.of(&text.parse().expect("an identity"));
    assert_eq!(rule("kri_msvc_default___svc-0_http").expect("a rule").resource.meta.name, "svc-0");
    assert_eq!(rule("kri_msvc_default___svc-3_http").expect("a rule").resource.meta.kind, "Mesh");
    assert!(rule("kri_msvc_other___svc-0_http").is_none());
}
