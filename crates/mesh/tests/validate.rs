// SPDX-License-Identifier: Apache-2.0
//! In: policies as people write them. Out: what a control plane refuses is told with its field and place, and nothing
//! else is.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation shall stop the test"
)]

#[path = "validate/confs.rs"]
mod confs;

use overrule_mesh::policy::Policy;
use overrule_mesh::resource::PlacedResource;
use overrule_mesh::validate::{AdmissionProblem, policy};
use overrule_source::{Documents, Input, NodeRef, ReadOptions, read};

fn problems(text: &str) -> (Documents, Vec<AdmissionProblem>) {
    let documents = read(vec![Input::new("a.yaml", text)], &ReadOptions::default()).documents;
    let doc = documents.ids().next().unwrap();
    let root = NodeRef { doc, node: documents.root(doc).id() };
    let resource = PlacedResource::read(&documents, root).unwrap();
    let read = Policy::read(&documents, &resource).unwrap();
    let found = policy(&documents, &read);
    (documents, found)
}

/// `field: message` of every problem.
fn said(text: &str) -> Vec<String> {
    problems(text).1.iter().map(|p| format!("{}: {}", p.field, p.message)).collect()
}

fn universal(kind: &str, spec: &str) -> String {
    format!("{{type: {kind}, mesh: m, name: a, spec: {spec}}}")
}

/// The same in a namespace, with a role.
fn in_role(kind: &str, role: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: kuma.io/v1alpha1, kind: {kind}, metadata: {{name: a, namespace: shop, \
         labels: {{kuma.io/policy-role: {role}}}}}, spec: {spec}}}"
    )
}

fn minimal(kind: &str) -> &'static str {
    match kind {
        "MeshTLS" | "MeshTrafficPermission" => "rules: [{}]",
        "MeshPassthrough" | "MeshTrace" | "MeshMetric" | "MeshProxyPatch" => "default: {}",
        "MeshHTTPRoute" | "MeshTCPRoute" | "MeshFaultInjection" | "MeshRateLimit" => "to: []",
        "MeshHealthCheck" => "to: [{targetRef: {kind: Mesh}, default: {tcp: {}}}]",
        _ => "to: [{targetRef: {kind: Mesh}}]",
    }
}

fn kinds() -> impl Iterator<Item = &'static str> {
    overrule_mesh::kinds::policies().map(|(kind, _)| kind.name)
}

#[test]
fn kinds_at_the_top() {
    let subset = ["Mesh", "Dataplane", "MeshSubset"];
    let services = ["MeshService", "MeshServiceSubset"];
    for kind in &kinds().collect::<Vec<_>>() {
        for target in
            [&subset[..], &services, &["MeshGateway", "MeshHTTPRoute", "MeshExternalService"]]
                .concat()
        {
            let name = if target.ends_with("Subset") && target != "MeshServiceSubset"
                || ["Mesh", "Dataplane"].contains(&target)
            {
                ""
            } else {
                ", name: x"
            };
            let spec = format!("{{targetRef: {{kind: {target}{name}}}, {}}}", minimal(kind));
            for role in ["system", "consumer", "workload-owner"] {
                let only_system = [
                    "MeshTimeout",
                    "MeshRetry",
                    "MeshRateLimit",
                    "MeshHTTPRoute",
                    "MeshTCPRoute",
                    "MeshFaultInjection",
                    "MeshMetric",
                    "MeshProxyPatch",
                    "MeshTrace",
                ];
                let general = !["MeshTLS", "MeshPassthrough"].contains(kind);
                let system = role == "system" || !only_system.contains(kind);
                let good = match target {
                    "Mesh" | "Dataplane" | "MeshSubset" => true,
                    "MeshService" | "MeshServiceSubset" => general,
                    "MeshGateway" => general && *kind != "MeshTrafficPermission" && system,
                    "MeshHTTPRoute" => {
                        ["MeshTimeout", "MeshRetry", "MeshRateLimit"].contains(kind) && system
                    }
                    _ => false,
                };
                let want = match good {
                    true => vec![],
                    false => {
                        vec![format!("spec.targetRef.kind: value '{target}' is not supported")]
                    }
                };
                // Below a gateway some kinds take no other entries; that is another test.
                let got = said(&in_role(kind, role, &spec));
                assert_eq!(got, want, "{kind} {target} {role}");
            }
        }
    }
}

#[test]
fn kinds_of_to() {
    let all = [
        "Mesh",
        "MeshService",
        "MeshExternalService",
        "MeshMultiZoneService",
        "MeshHTTPRoute",
        "MeshSubset",
        "MeshServiceSubset",
        "Dataplane",
    ];
    for (kind, top, good) in [
        ("MeshTimeout", "Mesh", &all[..5]),
        ("MeshRetry", "Mesh", &all[..5]),
        ("MeshAccessLog", "Mesh", &all[..5]),
        (
            "MeshLoadBalancingStrategy",
            "Mesh",
            &["Mesh", "MeshService", "MeshMultiZoneService", "MeshHTTPRoute"],
        ),
        ("MeshCircuitBreaker", "Mesh", &["Mesh", "MeshService", "MeshMultiZoneService"]),
        ("MeshHealthCheck", "Mesh", &["Mesh", "MeshService", "MeshMultiZoneService"]),
        ("MeshHTTPRoute", "Mesh", &all[1..4]),
        ("MeshTCPRoute", "Mesh", &all[1..4]),
        ("MeshFaultInjection", "Mesh", &all[..1]),
        ("MeshRateLimit", "Mesh", &all[..1]),
        ("MeshTimeout", "MeshGateway, name: g", &["Mesh", "MeshExternalService"]),
        ("MeshTimeout", "MeshHTTPRoute, name: r", &["Mesh", "MeshExternalService"]),
        ("MeshRetry", "MeshHTTPRoute, name: r", &["Mesh", "MeshExternalService"]),
        ("MeshAccessLog", "MeshGateway, name: g", &["Mesh"]),
        ("MeshHTTPRoute", "MeshGateway, name: g", &["Mesh"]),
        ("MeshTCPRoute", "MeshGateway, name: g", &["Mesh"]),
        (
            "MeshLoadBalancingStrategy",
            "MeshGateway, name: g",
            &["Mesh", "MeshService", "MeshMultiZoneService"],
        ),
    ] {
        for to in all {
            let name =
                if ["Mesh", "MeshSubset", "Dataplane"].contains(&to) { "" } else { ", name: x" };
            let conf = if kind == "MeshHealthCheck" { ", default: {tcp: {}}" } else { "" };
            let spec = format!(
                "{{targetRef: {{kind: {top}}}, to: [{{targetRef: {{kind: {to}{name}}}{conf}}}]}}"
            );
            let want = match good.contains(&to) {
                true => vec![],
                false => {
                    vec![format!("spec.to[0].targetRef.kind: value '{to}' is not supported")]
                }
            };
            // What all clients share is told once more; that is another test.
            let mut got = said(&universal(kind, &spec));
            got.retain(|said| !said.contains("Zone Egress"));
            assert_eq!(got, want, "{kind} {top} {to}");
        }
    }
    let spec = "{targetRef: {kind: MeshGateway, name: g}, \
                to: [{targetRef: {kind: MeshService, name: x}, default: {loadBalancer: {type: Random}}}]}";
    assert_eq!(
        said(&universal("MeshLoadBalancingStrategy", spec)),
        [
            "spec.to[0].targetRef.kind: value 'MeshGateway' is not supported, only Mesh is allowed if loadBalancer is set"
        ]
    );
}

#[test]
fn kinds_of_from() {
    for (kind, top, good) in [
        ("MeshTrafficPermission", "Mesh", true),
        ("MeshFaultInjection", "Dataplane", true),
        ("MeshTimeout", "Mesh", false),
        ("MeshAccessLog", "Mesh", false),
        ("MeshCircuitBreaker", "Mesh", false),
        ("MeshTLS", "Mesh", false),
        ("MeshRateLimit", "Dataplane", false),
    ] {
        for from in ["Mesh", "MeshSubset", "MeshService", "MeshServiceSubset", "MeshGateway"] {
            let name = if ["Mesh", "MeshSubset"].contains(&from) { "" } else { ", name: x" };
            let spec = format!(
                "{{targetRef: {{kind: {top}}}, from: [{{targetRef: {{kind: {from}{name}}}, default: {{action: Deny}}}}]}}"
            );
            let allowed = from == "Mesh" || (good && from != "MeshGateway");
            let got = said(&universal(kind, &spec));
            let want = format!("spec.from[0].targetRef.kind: value '{from}' is not supported");
            assert_eq!(got, if allowed { vec![] } else { vec![want] }, "{kind} {from}");
        }
    }
}

#[test]
fn a_kind_must_be_written() {
    let entry = "to: [{targetRef: {kind: Mesh}}]";
    for (spec, want) in [
        (format!("{{targetRef: {{}}, {entry}}}"), "spec.targetRef.kind: must be defined"),
        ("{to: [{targetRef: {}}]}".into(), "spec.to[0].targetRef.kind: must be defined"),
        ("{to: [{default: {}}]}".into(), "spec.to[0].targetRef.kind: must be defined"),
    ] {
        assert_eq!(said(&universal("MeshTimeout", &spec)), [want], "{spec}");
    }
    for spec in [format!("{{{entry}}}"), format!("{{targetRef: null, {entry}}}")] {
        assert!(said(&universal("MeshTimeout", &spec)).is_empty(), "{spec}");
    }
    assert_eq!(said("{type: MeshTrace, name: a}"), ["spec: must be defined"]);
    assert_eq!(said("{type: MeshTrace, name: a, spec: []}"), ["spec: must be an object"]);
}

#[test]
fn fields_of_references_are_looked_at_everywhere() {
    let spec = "{targetRef: {kind: Dataplane, sectionName: http}, \
                to: [{targetRef: {kind: Mesh}}, {targetRef: {kind: MeshService}}]}";
    assert_eq!(
        said(&universal("MeshTimeout", spec)),
        [
            "spec.targetRef.sectionName: can only be used with inbound policies",
            "spec.to[1].targetRef.name: must be set with kind MeshService",
        ]
    );
    for inbound in ["rules: [{default: {}}]", "from: [{targetRef: {kind: Mesh}}]"] {
        let spec = format!("{{targetRef: {{kind: Dataplane, sectionName: http}}, {inbound}}}");
        assert!(said(&universal("MeshTimeout", &spec)).is_empty());
    }
    let tags = "{targetRef: {kind: MeshGateway, name: g, tags: {a: b}}, default: {}}";
    assert!(said(&universal("MeshMetric", tags)).is_empty());
    for kind in ["MeshTrace", "MeshProxyPatch"] {
        assert_eq!(
            said(&universal(kind, tags)),
            ["spec.targetRef.tags: must not be set with kind MeshGateway"]
        );
    }
}

#[test]
fn lists_that_must_or_must_not_be_there() {
    let to = "to: [{targetRef: {kind: Mesh}}]";
    let from = "from: [{targetRef: {kind: Mesh}, default: {action: Deny}}]";
    let rules = "rules: [{default: {}}]";
    let only_rules = "spec: fields 'to' and 'from' must be empty when 'rules' is defined";
    let either = "spec: field 'from' must be empty when 'rules' is defined";
    let one = "spec: at least one of 'from', 'to' or 'rules' has to be defined";
    let item = "spec.to: needs at least one item";
    for (kind, spec, want) in [
        ("MeshTimeout", format!("{to}, {rules}"), vec![only_rules]),
        ("MeshTimeout", format!("{from}, {rules}"), vec![only_rules]),
        ("MeshTimeout", format!("{from}, {to}"), vec![]),
        ("MeshTimeout", format!("to: [], {rules}"), vec![]),
        ("MeshAccessLog", format!("{to}, {rules}"), vec![only_rules]),
        ("MeshCircuitBreaker", format!("{to}, {rules}"), vec![only_rules]),
        ("MeshTLS", format!("{from}, {rules}"), vec![either]),
        ("MeshTrafficPermission", format!("{from}, {rules}"), vec![either]),
        (
            "MeshTrafficPermission",
            String::new(),
            vec!["spec: at least one of 'from' or 'rules' has to be defined"],
        ),
        ("MeshTimeout", String::new(), vec![one]),
        ("MeshTimeout", "to: [], from: null".into(), vec![one]),
        ("MeshAccessLog", String::new(), vec![one]),
        ("MeshCircuitBreaker", String::new(), vec![one]),
        ("MeshRetry", String::new(), vec![item]),
        ("MeshLoadBalancingStrategy", "to: []".into(), vec![item]),
        ("MeshHealthCheck", String::new(), vec![]),
        ("MeshTLS", String::new(), vec![]),
    ] {
        assert_eq!(said(&universal(kind, &format!("{{{spec}}}"))), want, "{kind} {spec}");
    }
}

#[test]
fn lists_that_do_not_fit_the_reference() {
    let to = "to: [{targetRef: {kind: Mesh}}]";
    let from = "from: [{targetRef: {kind: Mesh}, default: {action: Deny}}]";
    let rules = "rules: [{default: {}}]";
    let sidecars = "targetRef: {kind: Mesh, proxyTypes: [Sidecar]}, ";
    let gateways = "targetRef: {kind: Mesh, proxyTypes: [Gateway]}, ";
    let not = |list: &str| vec![format!("spec.{list}: must not be defined")];
    let long = vec![
        "spec.from: must not be defined when the scope includes a Gateway, select only proxyType Sidecar \
         or select only gateways and use spec.to"
            .to_owned(),
    ];
    for (kind, spec, want) in [
        ("MeshRateLimit", format!("targetRef: {{kind: Dataplane}}, {to}"), not("to")),
        ("MeshRateLimit", format!("targetRef: {{kind: Dataplane}}, {rules}"), vec![]),
        ("MeshRateLimit", rules.to_owned(), not("rules")),
        ("MeshRateLimit", to.to_owned(), vec![]),
        ("MeshRateLimit", from.to_owned(), long.clone()),
        ("MeshRateLimit", format!("{sidecars}{from}"), vec![]),
        ("MeshRateLimit", format!("{sidecars}{to}"), not("to")),
        ("MeshFaultInjection", format!("targetRef: {{kind: Dataplane}}, {to}"), not("to")),
        ("MeshFaultInjection", from.to_owned(), long),
        ("MeshFaultInjection", format!("{sidecars}{from}"), vec![]),
        ("MeshFaultInjection", format!("{gateways}{to}"), vec![]),
        ("MeshTimeout", format!("targetRef: {{kind: MeshGateway, name: g}}, {from}"), not("from")),
        ("MeshTimeout", format!("{gateways}{from}"), vec![]),
        // A reference that is no good says nothing about lists.
        (
            "MeshRateLimit",
            format!("targetRef: {{kind: Meshh}}, {to}"),
            vec!["spec.targetRef.kind: value 'Meshh' is not supported".to_owned()],
        ),
    ] {
        assert_eq!(said(&universal(kind, &format!("{{{spec}}}"))), want, "{kind} {spec}");
    }
}

#[test]
fn unknown_members() {
    let entry = "to: [{targetRef: {kind: MeshService, name: x}}]";
    for (spec, want) in [
        (
            format!("{{targetRef: {{kind: Dataplane, label: {{a: b}}}}, {entry}}}"),
            "spec.targetRef.label: unknown field, did you mean `labels`?",
        ),
        (
            "{to: [{targetRef: {kind: MeshService, name: x, sectionname: http}}]}".into(),
            "spec.to[0].targetRef.sectionname: unknown field, did you mean `sectionName`?",
        ),
        (
            "{to: [{targetRef: {kind: Mesh}, defaults: {}}]}".into(),
            "spec.to[0].defaults: unknown field, did you mean `default`?",
        ),
        (
            format!("{{targetref: {{kind: Mesh}}, {entry}}}"),
            "spec.targetref: unknown field, did you mean `targetRef`?",
        ),
        (format!("{{{entry}, default: {{}}}}"), "spec.default: a MeshTimeout has no `default`"),
        (format!("{{{entry}, zzz: {{}}}}"), "spec.zzz: unknown field"),
        (
            "{rules: [{targetRef: {kind: Mesh}, default: {}}]}".into(),
            "spec.rules[0].targetRef: unknown field",
        ),
    ] {
        assert_eq!(said(&universal("MeshTimeout", &spec)), [want], "{spec}");
    }
    assert_eq!(
        said(&universal("MeshTLS", "{to: [{targetRef: {kind: Mesh}}]}")),
        ["spec.to: a MeshTLS has no `to`"]
    );
}

#[test]
fn values_of_another_type() {
    for (spec, want) in [
        (
            "{targetRef: {kind: MeshSubset, tags: {port: 80}}, default: {}}",
            r#"spec.targetRef.tags["port"]: must be a string"#,
        ),
        ("{targetRef: Mesh, default: {}}", "spec.targetRef: must be an object"),
        (
            "{targetRef: {kind: Dataplane, labels: [a]}, default: {}}",
            "spec.targetRef.labels: must be an object",
        ),
        (
            "{targetRef: {kind: Dataplane, labels: {gold: true}}, default: {}}",
            r#"spec.targetRef.labels["gold"]: must be a string"#,
        ),
        (
            "{targetRef: {kind: Mesh, proxyTypes: Sidecar}, default: {}}",
            "spec.targetRef.proxyTypes: must be a list",
        ),
        (
            "{targetRef: {kind: Mesh, proxyTypes: [sidecar]}, default: {}}",
            "spec.targetRef.proxyTypes[0]: value 'sidecar' is not supported",
        ),
    ] {
        assert_eq!(said(&universal("MeshTrace", spec)), [want], "{spec}");
    }
    for (spec, want) in [
        ("{to: {targetRef: {kind: Mesh}}}", "spec.to: must be a list"),
        ("{to: [Mesh]}", "spec.to[0]: must be an object"),
        (
            "{to: [{targetRef: {kind: MeshService, name: x, sectionName: 8080}, default: {tcp: {}}}]}",
            "spec.to[0].targetRef.sectionName: must be a string",
        ),
    ] {
        assert_eq!(said(&universal("MeshHealthCheck", spec)), [want], "{spec}");
    }
    let (_, found) = problems(&universal(
        "MeshHealthCheck",
        "{to: [{targetRef: {kind: MeshService, name: x, sectionName: 8080}, default: {tcp: {}}}]}",
    ));
    assert!(found[0].help.as_deref().unwrap().contains("quotes"));
}

#[test]
fn problems_point_at_what_is_wrong() {
    let text = "type: MeshTimeout\nname: a\nspec:\n  targetRef:\n    kind: Dataplne\n  to:\n  - targetRef:\n      \
                kind: MeshService\n      nmae: x\n  - default: {}\n";
    let (documents, found) = problems(text);
    let at: Vec<(&str, &str)> =
        found.iter().map(|p| (p.field.as_str(), documents.view(p.node).written())).collect();
    assert_eq!(
        at,
        [
            ("spec.targetRef.kind", "Dataplne"),
            ("spec.to[0].targetRef.nmae", "nmae"),
            ("spec.to[0].targetRef.name", "kind: MeshService\n      nmae: x"),
            ("spec.to[1].targetRef.kind", "default: {}"),
        ]
    );
    assert!(found[0].help.as_deref().unwrap().starts_with("did you mean `Dataplane`?"));
}

#[test]
fn roles_are_not_looked_at_before_there_are_labels() {
    let spec = "{targetRef: {kind: MeshGateway, name: g}, default: {}}";
    let universal = format!(
        "{{type: MeshMetric, mesh: m, name: a, labels: {{kuma.io/policy-role: consumer}}, spec: {spec}}}"
    );
    assert!(said(&universal).is_empty());
    assert_eq!(said(&in_role("MeshMetric", "consumer", spec)).len(), 1);
}
