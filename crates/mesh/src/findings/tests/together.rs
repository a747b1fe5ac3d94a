// SPDX-License-Identifier: Apache-2.0
//! In: worlds with policies that meet, and with names, labels and meshes. Out: what is told.

use super::*;

#[test]
fn mtls() {
    let bare = MESH.replace(", mtls: {enabledBackend: ca}", "");
    let mtp = "{type: MeshTrafficPermission, mesh: m, name: allow, spec: {rules: [{default: {}}]}}";
    let text = |mesh: &str, more: &[&str]| [&[mesh, WEB], more].concat().join("\n---\n");
    says(
        &text(&bare, &[mtp]),
        "OV1610",
        &["mtls.enabledBackend", "`meshtrafficpermission/m/allow` does not"],
    );
    let k8s = "{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: m}, spec: {mtls: {enabledBackend: ''}}}";
    says(&text(k8s, &[mtp]), "OV1610", &["spec.mtls.enabledBackend"]);
    let by_identity = "{type: MeshAccessLog, mesh: m, name: log, spec: {rules: [{matches: [{spiffeID: {type: Exact, value: 'spiffe://a/b'}}], default: {}}]}}";
    says(&text(&bare, &[by_identity]), "OV1610", &["`meshaccesslog/m/log`"]);
    let identity = "{type: MeshIdentity, mesh: m, name: id, spec: {}}";
    let on = k8s.replace("''", "ca");
    let timeout = to_mesh("{kind: Mesh}");
    for good in [
        text(MESH, &[mtp]),
        text(&on, &[mtp]),
        text(&bare, &[mtp, identity]),
        text(&bare, &[&timeout]),
        [WEB, mtp].join("\n---\n"),
    ] {
        assert!(told(&good, "OV1610").is_empty(), "{good}");
    }
    let elsewhere = identity.replace("mesh: m", "mesh: other");
    assert_eq!(told(&text(&bare, &[mtp, &elsewhere]), "OV1610").len(), 1);
}

#[test]
fn ties() {
    let of = |name: &str| {
        to_mesh("{kind: Mesh}")
            .replace("name: p,", &format!("name: {name}, labels: {{kuma.io/display-name: same}},"))
    };
    let three = world(&[&of("a"), &of("b"), &of("c")]);
    says(&three, "OV1611", &["`meshtimeout/m/b`, `meshtimeout/m/c`", "different names"]);
    let other = of("b").replace("display-name: same", "display-name: other");
    assert!(told(&world(&[&of("a"), &other]), "OV1611").is_empty());
}

#[test]
fn rules_displace_from() {
    let mtp = |name: &str, spec: &str| {
        format!("{{type: MeshTrafficPermission, mesh: m, name: {name}, spec: {{{spec}}}}}")
    };
    let old = mtp("old", "from: [{targetRef: {kind: Mesh}, default: {action: Deny}}]");
    let new = mtp(
        "new",
        "rules: [{default: {allow: [{spiffeID: {type: Exact, value: 'spiffe://a/b'}}]}}]",
    );
    says(
        &world(&[&old, &new]),
        "OV1613",
        &["spec.from", "`meshtrafficpermission/m/new` has `rules`"],
    );
    assert!(told(&world(&[&old]), "OV1613").is_empty());
    // Beside rules that admit nobody, a deny changes nothing and an allow would.
    let denies = new.replace("allow:", "deny:");
    assert!(told(&world(&[&old, &denies]), "OV1613").is_empty());
    assert_eq!(told(&world(&[&old.replace("Deny", "Allow"), &denies]), "OV1613").len(), 1);
}

#[test]
fn too_many_sets() {
    let mut entries = String::new();
    for n in 0..25 {
        write!(
            entries,
            "{{targetRef: {{kind: MeshSubset, tags: {{k{n}: v}}}}, default: {{action: Deny}}}}, "
        )
        .unwrap();
    }
    let text = world(&[&format!(
        "{{type: MeshTrafficPermission, mesh: m, name: many, spec: {{from: [{entries}]}}}}"
    )]);
    let all = run(&text, &RELEASE);
    let told: Vec<&Diagnostic> = all.iter().filter(|d| d.code.id == "OV1612").collect();
    assert_eq!(told.len(), 1, "{all:#?}");
    assert!(told[0].message.contains("`meshtrafficpermission/m/many`"));
    // The design never lists them.
    assert!(run(&text, &design()).iter().all(|d| d.code.id != "OV1612"));
}

#[test]
fn names_that_do_not_survive() {
    let named = |name: &str| {
        SERVICE
            .replace("name: cart, labels: {kuma.io/display-name: cart}", &format!("name: {name}"))
    };
    let text = |names: &[String]| {
        let services: Vec<String> = names.iter().map(|n| named(n)).collect();
        [vec![MESH.to_owned(), WEB.to_owned()], services].concat().join("\n---\n")
    };
    says(
        &text(&["a_b".into(), "c_d".into()]),
        "OV1614",
        &["MeshService `a_b` has an underscore", "1 other of its kind has the same problem"],
    );
    says(&text(&["Cart".into()]), "OV1614", &["is not a DNS subdomain"]);
    for bad in ["-a", "a-", "a..b", "a.-b"] {
        assert_eq!(told(&text(&[format!("'{bad}'")]), "OV1614").len(), 1, "{bad}");
    }
    says(&text(&["a".repeat(237)]), "OV1614", &["longer than 236", "…"]);
    assert!(told(&text(&["a".repeat(236), "a.b-c9".into()]), "OV1614").is_empty());
    says("{type: Mesh, name: my_mesh}", "OV1614", &["Mesh `my_mesh`"]);
}

#[test]
fn labels_written_by_hand() {
    let labelled = |label: &str| {
        in_namespaces("shop", "shop").replace(
            "namespace: shop, labels: {kuma.io/mesh: m}}",
            &format!("namespace: shop, labels: {{kuma.io/mesh: m, {label}}}}}"),
        )
    };
    says(
        &labelled("kuma.io/policy-role: system"),
        "OV1615",
        &["metadata.labels.kuma.io/policy-role", "by its entries the policy is `consumer`"],
    );
    assert!(told(&labelled("kuma.io/policy-role: consumer"), "OV1615").is_empty());
    says(
        &labelled("kuma.io/effect: Shadow"),
        "OV1615",
        &["`kuma.io/effect: Shadow`", "the policy applies"],
    );
    let origin = WEB.replace("labels: {", "labels: {kuma.io/origin: local, ");
    let text = [MESH, &origin, &origin.replace("web-1", "web-2")].join("\n---\n");
    says(
        &text,
        "OV1615",
        &["labels.kuma.io/origin", "of a Dataplane is neither", "here and 1 more time"],
    );
    let role = to_mesh("{kind: Mesh}")
        .replace("name: p,", "name: p, labels: {kuma.io/policy-role: owner},");
    says(&world(&[&role]), "OV1615", &["is not a role"]);
}

#[test]
fn meshes_that_are_not_there() {
    let other = SERVICE.replace("mesh: m,", "mesh: mm,");
    let text = [MESH.replace("name: m,", "name: mmm,"), other.clone()].join("\n---\n");
    says(&text, "OV1616", &["mesh: 1 resource belongs to mesh `mm`", "did you mean `mmm`?"]);
    let none = SERVICE.replace("mesh: m, ", "");
    let text = [MESH.to_owned(), none.clone(), none.replace("cart", "pay")].join("\n---\n");
    says(
        &text,
        "OV1616",
        &["2 resources belong to mesh `default`, because no mesh is named", "`m`"],
    );
    assert!(told(&text, "OV1617").is_empty());
    says(&none, "OV1617", &["Mesh `default` not found in the input", "kumactl get mesh default"]);
    assert!(told(&none, "OV1616").is_empty());
    let k8s = in_namespaces("shop", "shop").replace("kuma.io/mesh: m,", "kuma.io/mesh: north,");
    says(&k8s, "OV1616", &["metadata.labels", "mesh `north`"]);
}

#[test]
fn default_policies() {
    let bare = "{type: Mesh, name: m}";
    says(bare, "OV1618", &["mesh-timeout-all-m", "kumactl get meshtimeouts --mesh m"]);
    let some =
        "{type: Mesh, name: m, skipCreatingInitialPolicies: [MeshTimeout, MeshCircuitBreaker]}";
    says(some, "OV1618", &["not in the input: `mesh-retry-all-m`;"]);
    let all = "{type: Mesh, name: m, skipCreatingInitialPolicies: [MeshTimeout, MeshCircuitBreaker, MeshRetry]}";
    let k8s = "{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: m}, spec: {skipCreatingInitialPolicies: ['*']}}";
    let exported = to_mesh("{kind: Mesh}").replace("name: p,", "name: mesh-timeout-all-m,");
    for good in [all, k8s, MESH, &[bare, &exported].join("\n---\n")] {
        assert!(told(good, "OV1618").is_empty(), "{good}");
    }
}

#[test]
fn old_policies() {
    let old = "{type: TrafficPermission, mesh: m, name: a, sources: [], destinations: []}";
    let text = [MESH, old, &old.replace("name: a", "name: b")].join("\n---\n");
    says(&text, "OV1619", &["2 TrafficPermissions are not read", "use MeshTrafficPermission"]);
}

#[test]
fn what_is_refused_is_told_once() {
    let text = world(&[&to_mesh("{kind: Dataplane, labels: {app: x}, name: why}")]);
    assert_eq!(told(&text, "OV1601").len(), 1);
    assert!(told(&text, "OV1604").is_empty());
}

/// Found by fuzzing: this message of the control plane is a sentence with a full stop.
#[test]
fn a_refusal_ends_like_every_message() {
    let bad = "{type: MeshTimeout, mesh: m, name: a, spec: {to: [{targetRef: {kind: MeshService, name: A b}, \
               default: {idleTimeout: 1s}}]}}";
    says(&[MESH, bad].join("\n---\n"), "OV1601", &["'-', '.' and '_' ("]);
}

/// A fleet in which every policy is mistaken costs what is spent on it, and no more.
#[test]
fn help_is_bounded() {
    let mut text = MESH.to_owned();
    for n in 0..2_000 {
        write!(
            text,
            "\n---\n{{type: Dataplane, mesh: m, name: web-{n}, labels: {{app: a-{n}}}, networking: {{address: 10.0.0.1, inbound: [{{port: 80}}]}}}}"
        )
        .unwrap();
    }
    for n in 0..300 {
        let target = match n % 3 {
            0 => format!("{{kind: Dataplane, labels: {{app: b-{n}}}}}"),
            1 => "{kind: Mesh, proxyTypes: [Gateway]}".to_owned(),
            _ => format!("{{kind: Dataplane, name: bew-{n}}}"),
        };
        write!(text, "\n---\n{}", to_mesh(&target).replace("name: p,", &format!("name: p-{n},")))
            .unwrap();
    }
    let all = run(&text, &design());
    let told: Vec<&Diagnostic> = all.iter().filter(|d| d.code.id == "OV1604").collect();
    assert_eq!(told.len(), 300);
    // Each label has a near one, but at some point the looking ends.
    let labels = told.iter().filter(|d| d.field.ends_with("labels"));
    let near = labels.clone().filter(|d| d.help.as_deref().unwrap().starts_with("did you mean"));
    assert_eq!(labels.count(), 100);
    assert!((1..100).contains(&near.count()));
}
