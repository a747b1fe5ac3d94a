// SPDX-License-Identifier: Apache-2.0
//! The design's own example: what its Inspect API shows for an inbound, and what the inbound decides.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

use overrule::kuma::inbounds::Lookup;
use overrule::kuma::{Kuma, Meshes, Profile};
use overrule::source::Input;
use overrule::{Analysis, Client, Options, Question};
use serde_json::json;

const MESH: &str = r#"
type: Mesh
name: default
mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}
---
type: Dataplane
mesh: default
name: backend
labels: {app: backend}
networking: {address: 10.0.0.1, inbound: [{port: 80, name: http-port, protocol: http}]}
---
type: MeshTrafficPermission
mesh: default
name: by-mesh-operator
spec:
  targetRef: {}
  rules:
  - default:
      deny: [{spiffeId: {type: Exact, value: "spiffe://trust-domain.mesh/ns/default/sa/frontend"}}]
---
type: MeshTrafficPermission
mesh: default
name: by-service-owner
spec:
  targetRef: {kind: Dataplane, labels: {app: backend}, sectionName: http-port}
  default:
    deny: [{spiffeId: {type: Exact, value: "spiffe://trust-domain.mesh/ns/default/sa/api-gateway"}}]
    allowWithShadowDeny: [{spiffeId: {type: Prefix, value: "spiffe://trust-domain.mesh/ns/legacy"}}]
    allow: [{spiffeId: {type: Prefix, value: "spiffe://trust-domain.mesh/"}}]
"#;

#[test]
fn the_example_of_the_design() {
    let analysis = Analysis::new(vec![Input::new("a.yaml", MESH)], &Options::default());
    let (object, _) = analysis.named("dataplane/default/backend").unwrap();
    let at = analysis.inbounds(object, Some("http-port"))[0];
    let answer = analysis.shown().find(|a| a.family.name() == "kuma").unwrap();
    let Meshes { resources, nodes, .. } = analysis.meshes();
    let proxies = answer.extra::<Kuma>().unwrap();
    let lookup = Lookup {
        documents: &analysis.documents,
        snapshot: &analysis.snapshot,
        resources,
        topology: nodes,
        resolution: &answer.resolution,
        proxies: &proxies.rules,
        gates: &proxies.gates,
        profile: Profile::from_name(answer.profile, &resources.settings),
    };
    let shown = lookup.inspect_permissions(at).unwrap();
    let kri = |name: &str| format!("kri_mtp_default_default__{name}_");
    let policy = &shown["policies"][0];
    assert_eq!(policy["kind"], "MeshTrafficPermission");
    assert_eq!(
        policy["origins"],
        json!([{"kri": kri("by-mesh-operator")}, {"kri": kri("by-service-owner")}])
    );
    assert_eq!(policy["rules"][0]["origin"], kri("by-mesh-operator"));
    assert_eq!(policy["rules"][1]["conf"].as_object().unwrap().len(), 3);
    let asked = |name: &str| {
        let id = format!("spiffe://trust-domain.mesh/ns/{name}");
        let question = Question { from: Client::Identity(&id), ..Question::default() };
        let said = analysis.can(question, &id, at).unwrap();
        (said.verdict, said.by.map(|by| by.kri), said.shadow.is_some())
    };
    assert_eq!(asked("default/sa/frontend"), ("denied", Some(kri("by-mesh-operator")), false));
    assert_eq!(asked("default/sa/api-gateway"), ("denied", Some(kri("by-service-owner")), false));
    assert_eq!(asked("legacy/sa/x"), ("allowed", Some(kri("by-service-owner")), true));
    assert_eq!(asked("other/sa/x"), ("allowed", Some(kri("by-service-owner")), false));
}
