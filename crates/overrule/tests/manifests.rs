// SPDX-License-Identifier: Apache-2.0
//! In: folders and names. Out: typed answers, typed errors, and nothing lost on the way. Not here: whether answers are
//! right (each family), how the command line words them (`cli`).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use overrule::live::{Edit, KeyedText, Workspace};
use overrule::source::Input;
use overrule::{LookupError, Manifests, MeshCall, Options};

fn example(name: &str) -> Manifests {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    Manifests::open(format!("{root}{name}")).unwrap()
}

#[test]
fn what_is_in_force_is_told_with_its_origin() {
    let shop = example("shop");
    let found = shop.effective("httproute/shop/cart#checkout").unwrap();
    let listeners: Vec<&str> = found.iter().map(|p| p.path[2].name.as_str()).collect();
    assert_eq!(listeners, ["web", "secure"], "one for each way to the rule");
    for policy in &found {
        assert_eq!(policy.policy_kind, "TimeoutPolicy");
        let timeout = policy.at(["timeouts", "request"]).unwrap();
        assert_eq!(timeout.as_str(), Some("30s"));
        assert_eq!(policy.origins["/timeouts/request"][0].policy, "shop/checkout-timeouts");
        assert_eq!(policy.origins["/timeouts/idle"][0].policy, "infra/gw-timeouts");
    }
    assert_eq!(shop.explain("httproute/shop/cart#checkout").unwrap().len(), found.len());
}

#[test]
fn a_policy_is_told_where_it_counts() {
    let shop = example("shop");
    let reach = shop.reach("timeoutpolicy/infra/gw-timeouts").unwrap();
    assert!(overrule::view::json_line(&reach).contains("httproute/shop/cart#checkout"));
    let error = shop.reach("httproute/shop/cart").unwrap_err();
    assert!(matches!(error, LookupError::NotAPolicy { .. }), "{error:?}");
}

#[test]
fn a_name_that_means_nothing_is_an_error_with_suggestions() {
    let shop = example("shop");
    let error = shop.effective("crat").unwrap_err();
    assert!(matches!(error, LookupError::Malformed { .. }), "{error:?}");
    let LookupError::NotFound { suggestions, .. } =
        shop.effective("httproute/shop/crat").unwrap_err()
    else {
        panic!("a route that is not there")
    };
    assert_eq!(suggestions.near, ["httproute/shop/cart"]);
    let error = shop.effective("httproute/shop/cart#pay").unwrap_err();
    assert!(matches!(error, LookupError::NoSection { .. }), "{error:?}");
    let error = shop.effective("timeoutpolicy/infra/gw-timeouts").unwrap_err();
    assert!(matches!(error, LookupError::IsPolicy { .. }), "{error:?}");
}

#[test]
fn who_may_call_is_decided_for_each_inbound() {
    let mesh = example("access/mesh");
    let to = "dataplane/default/ledger-1";
    let decisions = mesh.can(MeshCall { from: "nobody", to, ..MeshCall::default() }).unwrap();
    assert!(!decisions.is_empty());
    let error = mesh.can(MeshCall { from: "spiffe://", to, ..MeshCall::default() }).unwrap_err();
    assert!(matches!(error, LookupError::Malformed { .. }), "{error:?}");
}

#[test]
fn what_cannot_be_read_is_told_beside_what_can() {
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("good.yaml");
    std::fs::write(&good, overrule::doc_example()).unwrap();
    let paths = [good, dir.path().join("missing.yaml")];
    let unread = Manifests::open_with(&paths, Options::default()).unwrap_err();
    assert!(unread.to_string().contains("missing.yaml"), "{unread}");
    assert_eq!(unread.rest.effective("httproute/shop/cart").unwrap().len(), 1);
}

#[test]
fn a_broken_document_is_a_finding_and_hides_no_other() {
    let text = format!("{}---\n{{a: [}}\n", overrule::doc_example());
    let manifests = Manifests::from_inputs(vec![Input::new("a.yaml", text)], Options::default());
    let findings = manifests.check().items;
    let broken = findings.iter().any(|f| f.at.as_ref().is_some_and(|at| at.line > 30));
    assert!(broken, "{findings:?}");
    assert_eq!(manifests.effective("httproute/shop/cart").unwrap().len(), 1);
}

#[test]
fn a_changed_workspace_has_every_answer_and_finding() {
    let text = |content: String| KeyedText {
        key: "all".into(),
        input: Input::new("all.yaml", content),
        created: None,
    };
    let before = overrule::doc_example().to_owned();
    let after = before.replace("5s", "30s");
    let mut workspace = Workspace::new(vec![text(before)], Options::default());
    let changed = workspace.change(vec![Edit::Put(text(after.clone()))]);
    let live = Manifests::of(changed, Options::default());
    let scratch = Manifests::from_inputs(vec![Input::new("all.yaml", after)], Options::default());
    let json = |m: &Manifests| {
        let effective = m.effective("httproute/shop/cart").unwrap();
        overrule::view::json_line(&(effective, m.check()))
    };
    assert_eq!(json(&live), json(&scratch));
}
