// SPDX-License-Identifier: Apache-2.0
//! In: workloads of Kubernetes. Out: the proxies that are derived from them, and those that are not. Not here: what
//! policies do to proxies (`kuma_oracle.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use overrule::live::{Edit, KeyedText, Workspace};
use overrule::source::Input;
use overrule::{Analysis, Options};
use serde_json::{Value, json};

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {kuma.io/sidecar-injection: enabled, kuma.io/mesh: prod}}
";

fn workload(kind: &str, name: &str, labels: &Value) -> String {
    let group = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    json!({
        "apiVersion": group, "kind": kind, "metadata": {"name": name, "namespace": "shop"},
        "spec": {"template": {
            "metadata": {"labels": labels},
            "spec": {
                "serviceAccountName": "runner",
                "containers": [{"name": "c", "ports": [{"name": "web", "containerPort": 8080}]}],
            },
        }},
    })
    .to_string()
}

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: front, namespace: shop}
spec:
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: web, appProtocol: http}
  - {name: other, port: 81, targetPort: 9000}
  - {name: dns, port: 53, protocol: UDP}
  - {name: nowhere, port: 82, targetPort: nameless}
";

fn analyse(texts: &[&str], assume_missing: bool) -> Analysis {
    let options = Options { assume_missing, ..Options::default() };
    Analysis::new(vec![Input::new("a.yaml", texts.join("\n---\n"))], &options)
}

/// Name and labels of each derived object, and what it is derived from.
fn derived(analysis: &Analysis) -> Vec<(String, Option<String>)> {
    let all = analysis.snapshot.all_assumed().map(|(object, _)| object.id);
    let told = overrule::view::assumptions(
        &analysis.documents,
        &analysis.snapshot,
        &all.collect::<Vec<_>>(),
    );
    told.into_iter().map(|a| (a.target, a.derived_from)).collect()
}

/// The manifest of a derived object.
fn manifest(analysis: &Analysis, target: &str) -> Value {
    let target = target.parse().unwrap();
    let object = *analysis.snapshot.resolve(&target).first().expect("it is derived");
    analysis.documents.view(object.root).to_json()
}

#[test]
fn a_workload_is_named_and_tagged_as_the_injector_does() {
    let web = workload("Deployment", "web", &json!({"app": "web", "kuma.io/x": "y", "v": "1"}));
    let analysis = analyse(&[NAMESPACE, &web, SERVICE], true);
    let from = Some("deployment/shop/web".to_owned());
    assert_eq!(derived(&analysis), [("dataplane/prod/web.shop".to_owned(), from)]);
    let made = manifest(&analysis, "dataplane/prod/web.shop");
    let tags = |port: u16, protocol: &str| {
        json!({
            "app": "web", "v": "1",
            "kuma.io/service": format!("front_shop_svc_{port}"), "kuma.io/protocol": protocol,
            "k8s.kuma.io/namespace": "shop", "k8s.kuma.io/service-name": "front",
            "k8s.kuma.io/service-port": port.to_string(),
        })
    };
    let inbounds = json!([
        {"name": "http", "port": 8080, "tags": tags(80, "http")},
        {"name": "other", "port": 9000, "tags": tags(81, "tcp")},
    ]);
    assert_eq!(made["spec"]["networking"]["inbound"], inbounds);
    assert_eq!(made["metadata"]["labels"]["k8s.kuma.io/service-account"], "runner");
    // It points at what it is made of, and no finding is about what nobody wrote.
    let object = analysis.snapshot.all_assumed().next().unwrap().0;
    assert_eq!(analysis.documents.sources.position(object.at).file, "a.yaml");
    let position = |d: &overrule::source::Diagnostic| {
        d.primary.as_ref().map(|l| analysis.documents.sources.position(l.span).file)
    };
    assert!(analysis.diagnostics.iter().all(|d| position(d).is_none_or(|f| f == "a.yaml")));
    assert_eq!(analysis.texts_read(), 1);
}

#[test]
fn without_a_service_nobody_can_call() {
    let job = workload("Job", "migrate", &json!({"app": "migrate"}));
    let analysis = analyse(&[NAMESPACE, &job, SERVICE], true);
    let made = manifest(&analysis, "dataplane/prod/migrate.shop");
    let inbounds = made["spec"]["networking"]["inbound"].as_array().unwrap();
    assert_eq!(inbounds.len(), 1);
    assert_eq!(inbounds[0]["tags"]["kuma.io/service"], "migrate_shop_svc");
}

#[test]
fn only_where_injection_is_on_and_no_dataplane_is_there() {
    let web = workload("Deployment", "web", &json!({"app": "web"}));
    let off = workload(
        "Deployment",
        "web",
        &json!({"app": "web", "kuma.io/sidecar-injection": "disabled"}),
    );
    let on = workload(
        "Deployment",
        "web",
        &json!({"app": "web", "kuma.io/sidecar-injection": "enabled"}),
    );
    let real = "apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: prod\n\
                metadata: {name: web-6d5f-x, namespace: shop}\n\
                spec: {networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: s}}]}}\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web-1, namespace: shop, \
               ownerReferences: [{kind: ReplicaSet, name: web}]}\nspec: {}\n";
    let none: [&[&str]; 5] =
        [&[&web], &[NAMESPACE, &off], &[NAMESPACE, &web, real], &[NAMESPACE, pod], &[NAMESPACE]];
    for texts in none {
        assert_eq!(derived(&analyse(texts, true)), [], "{texts:?}");
    }
    assert_eq!(derived(&analyse(&[NAMESPACE, &web], false)), [], "strict");
    let own = derived(&analyse(&[&on], true));
    assert_eq!(own[0].0, "dataplane/default/web.shop");
}

#[test]
fn services_of_a_mesh_that_has_them() {
    let web = workload("StatefulSet", "web", &json!({"app": "web"}));
    let mesh = |mode: &str| {
        format!(
            "apiVersion: kuma.io/v1alpha1\nkind: Mesh\nmetadata: {{name: prod}}\n\
             spec: {{meshServices: {{mode: {mode}}}}}\n"
        )
    };
    let with = |mode: &str| derived(&analyse(&[NAMESPACE, &web, SERVICE, &mesh(mode)], true)).len();
    assert_eq!((with("Disabled"), with("Exclusive")), (1, 2));
    let analysis = analyse(&[NAMESPACE, &web, SERVICE, &mesh("Everywhere")], true);
    let made = manifest(&analysis, "meshservice/prod/front.shop");
    let tags = json!({"app": "web", "k8s.kuma.io/namespace": "shop"});
    assert_eq!(made["spec"]["selector"]["dataplaneTags"], tags);
}

#[test]
fn changes_are_followed() {
    let text = |key: &str, text: &str| KeyedText {
        key: key.into(),
        input: Input::new(key, text.as_bytes()),
        created: None,
    };
    let permission = |action: &str| {
        format!(
            "apiVersion: kuma.io/v1alpha1\nkind: MeshTrafficPermission\n\
             metadata: {{name: p, namespace: kuma-system, labels: {{kuma.io/mesh: prod}}}}\n\
             spec: {{targetRef: {{kind: Mesh}}, from: [{{targetRef: {{kind: Mesh}}, default: {{action: {action}}}}}]}}\n"
        )
    };
    let web = workload("Deployment", "web", &json!({"app": "web"}));
    let texts = [("a", NAMESPACE), ("b", &*web), ("c", SERVICE)];
    let options = Options { assume_missing: true, ..Options::default() };
    let mut given: Vec<KeyedText> = texts.iter().map(|(key, t)| text(key, t)).collect();
    given.push(text("d", &permission("Deny")));
    let mut workspace = Workspace::new(given, options.clone());
    for action in ["Allow", "Deny"] {
        let now = workspace.change(vec![Edit::Put(text("d", &permission(action)))]);
        let mut inputs: Vec<Input> =
            texts.iter().map(|(key, t)| Input::new(*key, t.as_bytes())).collect();
        inputs.push(Input::new("d", permission(action)));
        let scratch = Analysis::new(inputs, &options);
        let said = |analysis: &Analysis| {
            let stage = analysis.stage();
            let scene = stage.scene();
            let mut said: Vec<String> = Vec::new();
            for part in scene.parts {
                for (kind, _) in part.resolution.kinds() {
                    let contexts = part.resolution.contexts(kind);
                    let told = contexts.map(|(path, _)| {
                        overrule::view::json_line(&overrule::view::effective(
                            &scene, part, kind, path,
                        ))
                    });
                    said.extend(told);
                }
            }
            said
        };
        assert!(said(&now).iter().any(|line| line.contains("assumptions")));
        assert_eq!(said(&now), said(&scratch));
    }
    let gone = workspace.change(vec![Edit::Remove("b".into())]);
    assert_eq!(derived(&gone), []);
}
