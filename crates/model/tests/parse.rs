// SPDX-License-Identifier: Apache-2.0
//! Documents become resources: identity, scope, lists, duplicates, and what is refused, each as a row.

#![allow(clippy::unwrap_used, reason = "a helper of tests that fails is a failing test")]

use overrule_model::{Created, Parsed, TargetName, parse, parse_for};
use overrule_source::{ConcernedKinds, Concerns, Documents, Input, ReadOptions, read};

fn load(files: &[(&str, &str)]) -> (Documents, Parsed) {
    let inputs = files.iter().map(|(name, text)| Input::new(*name, *text)).collect();
    let read = read(inputs, &ReadOptions::default());
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let parsed = parse(&read.documents);
    (read.documents, parsed)
}

fn names(parsed: &Parsed) -> Vec<String> {
    parsed.snapshot.objects().map(|o| parsed.snapshot.display(o.id).to_string()).collect()
}

fn found(documents: &Documents, parsed: &Parsed) -> Vec<String> {
    let place = |d: &overrule_source::Diagnostic| {
        documents.sources.position(d.primary.as_ref().unwrap().span)
    };
    parsed.diagnostics.iter().map(|d| format!("{} {} {}", d.code.id, place(d), d.field)).collect()
}

#[test]
fn every_form_of_a_resource_is_read() {
    let rows: &[(&str, &str, &[&str])] = &[
        (
            "namespaced",
            "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: b}}",
            &["service/b/a"],
        ),
        (
            "no namespace",
            "{apiVersion: v1, kind: Service, metadata: {name: a}}",
            &["service/default/a"],
        ),
        (
            "cluster-scoped",
            "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: a}}",
            &["gatewayclass/a"],
        ),
        (
            "list",
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Service, metadata: {name: a}}, {apiVersion: v1, kind: Service, metadata: {name: b}}]}",
            &["service/default/a", "service/default/b"],
        ),
        (
            "typed list",
            "{apiVersion: v1, kind: ServiceList, metadata: {}, items: [{apiVersion: v1, kind: Service, metadata: {name: a}}]}",
            &["service/default/a"],
        ),
        (
            "bare list",
            "- {apiVersion: v1, kind: Service, metadata: {name: a}}",
            &["service/default/a"],
        ),
        (
            "kumactl list",
            "{total: 1, items: [{type: MeshTimeout, mesh: m, name: a}]}",
            &["meshtimeout/m/a"],
        ),
        ("universal", "{type: MeshTimeout, name: a, spec: {}}", &["meshtimeout/default/a"]),
        ("universal mesh", "{type: Mesh, name: a}", &["mesh/a"]),
        (
            "scope from a definition",
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: g.io, scope: Cluster, names: {kind: Foo}}}\n---\n{apiVersion: g.io/v1, kind: Foo, metadata: {name: a}}",
            &["customresourcedefinition/x", "foo/a"],
        ),
        (
            "two groups",
            "{apiVersion: a.io/v1, kind: Foo, metadata: {name: x}}\n---\n{apiVersion: b.io/v1, kind: Foo, metadata: {name: x}}",
            &["foo.a.io/default/x", "foo.b.io/default/x"],
        ),
    ];
    for (what, text, expected) in rows {
        let (_, parsed) = load(&[("a.yaml", text)]);
        assert_eq!(names(&parsed), *expected, "{what}");
        assert!(parsed.diagnostics.is_empty(), "{what}: {:?}", parsed.diagnostics);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("no resource", "a: b\n---\nc: d\n", &["OV1101 a.yaml:1:1 "]),
        ("kind alone", "kind: Gateway\n", &["OV1101 a.yaml:1:1 "]),
        (
            "kustomization",
            "resources: [a.yaml]\nnamePrefix: eu-\n---\n{apiVersion: v1, kind: Service, metadata: {name: a}}\n",
            &["OV1108 a.yaml:1:1 "],
        ),
        ("kustomization that changes nothing", "resources: [a.yaml]\n", &[]),
        (
            "name to be made",
            "apiVersion: v1\nkind: Service\nmetadata: {generateName: a-}\n",
            &["OV1113 a.yaml:3:26 metadata.generateName"],
        ),
        ("no metadata", "apiVersion: v1\nkind: Service\n", &["OV1106 a.yaml:1:1 metadata"]),
        (
            "no name",
            "apiVersion: v1\nkind: Service\nmetadata: {namespace: b}\n",
            &["OV1106 a.yaml:3:11 metadata.name"],
        ),
        (
            "number as name",
            "apiVersion: v1\nkind: Service\nmetadata: {name: 5}\n",
            &["OV1105 a.yaml:3:18 metadata.name"],
        ),
        (
            "bad name",
            "apiVersion: v1\nkind: Service\nmetadata: {name: A_b}\n",
            &["OV1103 a.yaml:3:18 metadata.name"],
        ),
        (
            "label is a boolean",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {x: true}}\n",
            &["OV1105 a.yaml:3:33 metadata.labels.x"],
        ),
        (
            "bad time",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a, creationTimestamp: yesterday}\n",
            &["OV1104 a.yaml:3:40 metadata.creationTimestamp"],
        ),
        (
            "namespace on a class",
            "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: a, namespace: b}\n",
            &["OV1110 a.yaml:3:18 metadata.namespace"],
        ),
    ];
    for (what, text, expected) in rows {
        let (documents, parsed) = load(&[("a.yaml", text)]);
        assert_eq!(found(&documents, &parsed), *expected, "{what}");
        assert!(
            parsed.diagnostics.iter().all(|d| d.help.is_some()),
            "{what}: every finding has a remedy"
        );
    }
}

#[test]
fn of_several_definitions_the_first_by_file_and_line_is_used_whatever_the_order_of_files() {
    let service = |port: u16| {
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec: {{port: {port}}}\n")
    };
    let (one, two) = (service(1), service(2));
    let same = "# The same in other words.\n{spec: {port: 1}, kind: Service, apiVersion: v1, metadata: {name: a}}";
    let both = format!("{one}---\n{two}");
    type Files<'a> = &'a [(&'a str, &'a str)];
    let rows: [(&str, Files<'_>, &[&str]); 6] = [
        ("in one folder", &[("a.yaml", &one), ("b.yaml", &two)], &["OV1115 a.yaml:3:18 "]),
        ("in one file", &[("a.yaml", &both)], &["OV1102 a.yaml:8:18 metadata.name"]),
        (
            "in two folders",
            &[("dev/a.yaml", &one), ("prod/a.yaml", &two)],
            &["OV1116 dev/a.yaml:3:18 "],
        ),
        ("the same", &[("a.yaml", &one), ("b.yaml", same)], &[]),
        ("the same, elsewhere", &[("a/a.yaml", &one), ("b/b.yaml", &one)], &[]),
        (
            "the same, and another one",
            &[("a/a.yaml", &one), ("b/b.yaml", same), ("c/c.yaml", &two)],
            &["OV1116 a/a.yaml:3:18 "],
        ),
    ];
    for (what, files, expected) in rows {
        let mut files = files.to_vec();
        for _ in 0..2 {
            let (documents, parsed) = load(&files);
            assert_eq!(found(&documents, &parsed), *expected, "{what}");
            assert!(parsed.diagnostics.iter().all(|d| d.help.is_some()), "{what}");
            let kept = parsed.snapshot.objects().next().unwrap();
            let port = documents.view(kept.root).get("spec").unwrap().get("port").unwrap();
            assert_eq!(port.as_i64(), Some(1), "{what}");
            assert_eq!(parsed.variants.len(), expected.len(), "{what}");
            files.reverse();
        }
    }
}

#[test]
fn a_folder_is_told_once_however_many_of_its_resources_have_variants() {
    let services = |port: u16| {
        let one = |name| {
            format!(
                "{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}, spec: {{port: {port}}}}}\n"
            )
        };
        ["a", "b", "c", "d", "e"].map(one).join("---\n")
    };
    let (documents, parsed) = load(&[
        ("dev/a.yaml", &services(1)),
        ("prod/a.yaml", &services(2)),
        ("stage/a.yaml", &services(3)),
    ]);
    assert_eq!(found(&documents, &parsed), ["OV1116 dev/a.yaml:1:50 "]);
    let message = &*parsed.diagnostics[0].message;
    assert_eq!(
        message,
        "Service `a`, Service `b`, Service `c` and 2 more are defined differently in `prod`, `stage`; those in `dev` are used"
    );
}

#[test]
fn nothing_is_wrong_with_what_is_none_of_ours() {
    let mine = ConcernedKinds {
        groups: ["gateway.networking.k8s.io", "overrule"].into(),
        kinds: [("", "Service")].into(),
        types: ["MeshTimeout"].into(),
        ..ConcernedKinds::default()
    };
    let concerns = Concerns::only(mine);
    let described = "apiVersion: overrule/v1\nkind: PolicyKind\nmetadata: {name: a}\nspec: {group: acme.io, kind: Policy}\n";
    let bad = |group: &str, kind: &str| {
        format!(
            "apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: 'A:b', labels: {{x: 1}}}}\n"
        )
    };
    let (role, policy) = (bad("rbac.authorization.k8s.io", "Role"), bad("acme.io", "Policy"));
    let rows: [(&str, &[&str]); 10] = [
        (&role, &[]),
        ("{apiVersion: v1, kind: Pod, metadata: {generateName: a}}", &[]),
        ("{apiVersion: v2, name: chart}", &[]),
        ("{type: module, name: package}", &[]),
        ("title: Cart", &[]),
        ("{apiVersion: kubeadm.k8s.io/v1, kind: ClusterConfiguration}", &[]),
        (&policy, &[]),
        ("{kind: MeshTimeout, name: a}", &["OV1101"]),
        ("{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway}", &["OV1106"]),
        ("{apiVersion: v1, kind: Service, metadata: {name: 'A:b'}}", &["OV1103"]),
    ];
    for (text, expected) in rows {
        let read = read(vec![Input::new("a.yaml", text)], &ReadOptions::default());
        let parsed = parse_for(&read.documents, &concerns, "default");
        let codes: Vec<&str> = parsed.diagnostics.iter().map(|d| d.code.id).collect();
        assert_eq!(codes, *expected, "{text}");
    }
    // What somebody describes as a policy is one.
    let text = format!("{described}---\n{policy}");
    let read = read(vec![Input::new("a.yaml", text)], &ReadOptions::default());
    let parsed = parse_for(&read.documents, &concerns, "default");
    let codes: Vec<&str> = parsed.diagnostics.iter().map(|d| d.code.id).collect();
    assert_eq!(codes, ["OV1103", "OV1105"]);
}

#[test]
fn targets_are_found_by_kind_plural_short_name_and_group() {
    let text = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}}\n---\n{apiVersion: a.io/v1, kind: TimeoutPolicy, metadata: {name: t, namespace: shop}}";
    let (_, parsed) = load(&[("a.yaml", text)]);
    for name in [
        "httproute/shop/cart",
        "HTTPRoutes/shop/cart",
        "hr/shop/cart",
        "httproute.gateway.networking.k8s.io/shop/cart",
        "timeoutpolicies/shop/t",
    ] {
        let target: TargetName = name.parse().unwrap();
        assert_eq!(parsed.snapshot.resolve(&target).len(), 1, "{name}");
        assert_eq!(target.to_string(), name, "text form round-trips");
    }
    for name in ["", "x", "a//b", "a/b/c/d", "a/b#", ".g/b", "/b"] {
        assert!(name.parse::<TargetName>().is_err(), "{name:?}");
    }
}

#[test]
fn an_unknown_creation_time_is_a_case_of_its_own() {
    let known = Created::parse("2026-01-31T09:00:00Z").unwrap();
    assert!(
        known.key() < Created::Assumed(0).key()
            && Created::Assumed(7).key() < Created::Absent.key()
    );
    let text = "{apiVersion: v1, kind: Service, metadata: {name: b}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: a, creationTimestamp: null}}";
    let (documents, mut parsed) = load(&[("a.yaml", text)]);
    assert!(parsed.snapshot.objects().all(|o| o.created == Created::Absent));
    parsed.snapshot.assume_file_order(&documents.sources);
    let created: Vec<Created> = parsed.snapshot.objects().map(|o| o.created).collect();
    assert_eq!(created, [Created::Assumed(1), Created::Assumed(0)], "b is written first");
}

/// An object in another namespace, with these fields of `metadata`.
fn dying(kind: &str, name: &str, more: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: a{more}}}\n---\n")
}

const DELETED: &str = ", deletionTimestamp: \"2026-11-19T00:00:00Z\"";

#[test]
fn what_is_being_deleted_takes_no_part() {
    let live = dying("Service", "b", "") + &dying("Service", "c", ", deletionTimestamp: null");
    let text = dying("Service", "a", DELETED) + &live + &dying("Pod", "p", DELETED);
    let (documents, parsed) = load(&[("a.yaml", &text)]);
    let snapshot = &parsed.snapshot;
    assert_eq!(names(&parsed), ["service/a/b", "service/a/c"]);
    assert_eq!(snapshot.len(), 2);
    let kinds: Vec<&str> = snapshot.kinds().map(|(kind, _)| snapshot.text(kind.kind)).collect();
    assert_eq!(kinds, ["Service"]);
    // Nothing but what asks for it finds it, and then it has a name like any other.
    let target: TargetName = "service/a/a".parse().unwrap();
    assert!(snapshot.resolve(&target).is_empty());
    let [service] = snapshot.resolve_deleted(&target)[..] else { panic!("one") };
    assert_eq!(snapshot.display(service.id).to_string(), "service/a/a");
    let deleted: Vec<String> =
        snapshot.deleted().iter().map(|o| snapshot.display(o.id).to_string()).collect();
    assert_eq!(deleted, ["pod/a/p", "service/a/a"]);
    assert!(!snapshot.kinds_called("pod", None).is_empty(), "it was read");
    // One of Kubernetes' own is not worth a finding.
    assert_eq!(found(&documents, &parsed), ["OV1111 a.yaml:3:18 metadata.deletionTimestamp"]);
}

#[test]
fn a_deletion_that_cannot_be_read_marks_nothing() {
    for (value, code) in [("soon", "OV1112"), ("{}", "OV1105"), ("17", "OV1105")] {
        let text = dying("Service", "a", &format!(", deletionTimestamp: {value}"));
        let (documents, parsed) = load(&[("a.yaml", &text)]);
        assert_eq!(names(&parsed), ["service/a/a"], "{value}");
        let found = found(&documents, &parsed);
        assert!(found[0].starts_with(code) && found.len() == 1, "{value}: {found:?}");
    }
}

#[test]
fn of_two_documents_the_first_counts_also_if_it_is_being_deleted() {
    let (one, other) = (dying("Service", "a", DELETED), dying("Service", "a", ""));
    for (files, live) in [([&one, &other], 0), ([&other, &one], 1)] {
        let (_, parsed) = load(&[("a.yaml", files[0]), ("b.yaml", files[1])]);
        assert_eq!(parsed.snapshot.len(), live);
        assert!(parsed.diagnostics.iter().any(|d| d.code.id == "OV1115"));
    }
}

#[test]
fn to_come_or_go_is_more_than_a_change() {
    let read = |text: &str| read(vec![Input::new("a.yaml", text)], &ReadOptions::default());
    let (live, gone) = (dying("Service", "a", ""), dying("Service", "a", DELETED));
    for (before, after, same) in
        [(&live, &gone, false), (&gone, &live, false), (&gone, &gone, false), (&live, &live, true)]
    {
        let before = parse(&read(before).documents).snapshot;
        let after = read(after).documents;
        let docs: Vec<_> = after.ids().collect();
        assert_eq!(overrule_model::again(&before, &after, &docs[..1], "default").is_some(), same);
    }
}

/// The object around a place is found by lookup, in texts of several documents and in lists, deleted ones too.
#[test]
fn the_object_that_is_written_around_a_place_is_found() {
    let service =
        |name: &str| format!("{{apiVersion: v1, kind: Service, metadata: {{name: s{name}}}}}");
    let list = format!("apiVersion: v1\nkind: List\nitems: [{}, {}]\n", service("z"), service("b"));
    let gone = "{apiVersion: v1, kind: Service, metadata: {name: x, deletionTimestamp: '2026-01-01T00:00:00Z'}}";
    let files = [
        ("0", String::new()),
        ("a", format!("{}\n---\n{list}---\n{gone}\n", service("y"))),
        ("b", service("a")),
        ("c", format!("---\n{}\n---\n{}", service("d"), service("c"))),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let (documents, parsed) = load(&files);
    let snapshot = &parsed.snapshot;
    assert_eq!(snapshot.all_read().count(), 7);
    for object in snapshot.all_read() {
        let span = documents.view(object.root).span();
        for start in span.start..span.end {
            let place = overrule_source::Span { start, ..span };
            assert_eq!(snapshot.written_at(&documents, place), Some(object.id), "{place:?}");
        }
        let behind = overrule_source::Span { start: span.end, end: span.end + 1, ..span };
        assert_ne!(snapshot.written_at(&documents, behind), Some(object.id));
        let over = overrule_source::Span { end: span.end + 1, ..span };
        assert_eq!(snapshot.written_at(&documents, over), None);
    }
}
