// SPDX-License-Identifier: Apache-2.0
//! In: a mesh whose permissions are secret. Out: that a client who is refused is told the same, whichever of them there are.

use overrule::source::Input;
use overrule::{Analysis, Options};
use overrule_ask::{Can, Envoy, Everything, Sees};

use crate::tenancy::ask;
use crate::worlds::Tenant;

const MESH: &str = r"
type: Mesh
name: default
mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}
---
type: Dataplane
mesh: default
name: web
networking: {address: 10.0.0.1, inbound: [{port: 80, name: http, tags: {kuma.io/service: web}}]}
---
type: Dataplane
mesh: default
name: backend
networking: {address: 10.0.0.2, inbound: [{port: 80, name: http, tags: {kuma.io/service: backend}}]}
";

/// A secret permission with this body, beside the mesh.
fn with_secret(spec: &str) -> Analysis {
    let text = format!(
        "{MESH}\n---\ntype: MeshTrafficPermission\nmesh: default\nname: hidden\nlabels: {{secret: yes-it-is}}\nspec: {spec}\n"
    );
    analysed(&text)
}

fn analysed(text: &str) -> Analysis {
    let options = Options { compare: true, ..Options::default() };
    Analysis::new(vec![Input::new("a.yaml", text)], &options)
}

/// What a reader is told about calls of the backend, in every form.
fn told(analysis: &Analysis, sees: &dyn Sees) -> Vec<String> {
    let mut all = Vec::new();
    let clients = ["dataplane/default/web", "spiffe://default/web", "nobody"];
    for (from, form) in
        clients.iter().flat_map(|c| ["table", "wide", "json", "csv"].map(|f| (c, f)))
    {
        let query = format!("from={from}&to=dataplane/default/backend&output={form}");
        all.push(ask::<Can>(analysis, sees, &query));
    }
    for form in ["table", "json"] {
        all.push(ask::<Can>(
            analysis,
            sees,
            &format!("to=dataplane/default/backend&output={form}"),
        ));
    }
    all
}

/// A proxy without a MeshIdentity has several identities, and an inbound with rules refuses it for that. That there are rules
/// is as secret as the rules.
#[test]
fn who_is_refused_does_not_learn_whether_there_are_permissions() {
    let bare = analysed(MESH);
    let nothing = told(&bare, &Tenant);
    let secrets = [
        r#"{targetRef: {}, rules: [{default: {allow: [{spiffeId: {type: Exact, value: "spiffe://other/x"}}]}}]}"#,
        "{targetRef: {}, from: [{targetRef: {kind: MeshSubset, tags: {kuma.io/service: other}}, default: {action: Allow}}]}",
    ];
    for secret in secrets {
        let analysis = with_secret(secret);
        assert_ne!(
            told(&analysis, &Everything),
            told(&bare, &Everything),
            "{secret} selects nothing"
        );
        for (said, expected) in told(&analysis, &Tenant).iter().zip(&nothing) {
            assert_eq!(said, expected, "{secret}");
        }
    }
}

/// Permissions by tags beside others by identity both decide, and no filter says so: what is denied would get in.
#[test]
fn a_filter_that_would_lose_permissions_is_not_written() {
    let from = "from: [{targetRef: {kind: MeshService, name: guest}, default: {action: Deny}}]";
    let rules =
        r#"rules: [{default: {allow: [{spiffeID: {type: Prefix, value: "spiffe://default/"}}]}}]"#;
    let one = |name: &str, spec: &str| {
        format!(
            "\n---\ntype: MeshTrafficPermission\nmesh: default\nname: {name}\nspec: {{{spec}}}\n"
        )
    };
    let target = "target=dataplane/default/backend";
    let both = analysed(&format!("{MESH}{}{}", one("old", from), one("new", rules)));
    let said = ask::<Envoy>(&both, &Everything, target);
    assert!(said.contains("Ok(Findings)"), "{said}");
    assert!(said.contains("error: ") && !said.contains("rbac"), "{said}");
    // The release has the filter all the same; it passes over `from`.
    let exact = ask::<Envoy>(&both, &Everything, &format!("{target}&form=kuma"));
    assert!(exact.contains("note: ") && exact.contains("rbac"), "{exact}");
    for alone in [one("old", from), one("new", rules)] {
        let said = ask::<Envoy>(&analysed(&format!("{MESH}{alone}")), &Everything, target);
        assert!(said.contains("Ok(Fine)") && said.contains("rbac"), "{said}");
    }
}
