// SPDX-License-Identifier: Apache-2.0
//! Grants: text there and back, and no scope that reaches further than it says.

use overrule_guard::{Grant, GrantError, GrantScope, Grants, Protected, Role};
use proptest::prelude::*;

fn grants(text: &str) -> Grants {
    text.parse().unwrap()
}

/// Few names, so that they meet.
fn names() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "shop", "default"]).prop_map(str::to_owned)
}

fn one_grant() -> impl Strategy<Value = Grant> {
    let scope = prop_oneof![
        Just(GrantScope::All),
        names().prop_map(GrantScope::Mesh),
        names().prop_map(GrantScope::Namespace),
    ];
    let role = prop::sample::select(vec![Role::Read, Role::Write, Role::Admin]);
    (role, scope)
        .prop_filter_map("admin has no scope", |(role, scope)| Grant::new(role, scope).ok())
}

#[derive(Debug, Clone)]
enum Owned {
    Cluster,
    Namespace(String),
    Mesh(String),
    Both(String, String),
}

impl Owned {
    fn target(&self) -> Protected<'_> {
        match self {
            Self::Cluster => Protected::Cluster,
            Self::Namespace(namespace) => Protected::Namespace(namespace),
            Self::Mesh(mesh) => Protected::Mesh(mesh),
            Self::Both(mesh, namespace) => Protected::Both { mesh, namespace },
        }
    }
}

fn target() -> impl Strategy<Value = Owned> {
    prop_oneof![
        Just(Owned::Cluster),
        names().prop_map(Owned::Namespace),
        names().prop_map(Owned::Mesh),
        (names(), names()).prop_map(|(mesh, namespace)| Owned::Both(mesh, namespace)),
    ]
}

proptest! {
    #[test]
    fn text_there_and_back(list in prop::collection::vec(one_grant(), 0..6)) {
        for grant in &list {
            prop_assert_eq!(&grant.to_string().parse::<Grant>().unwrap(), grant);
        }
        let all = Grants::new(list);
        prop_assert_eq!(&all.to_string().parse::<Grants>().unwrap(), &all);
        let json = serde_json::to_string(&all).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Grants>(&json).unwrap(), &all);
    }

    #[test]
    fn any_text_parses_to_itself_or_not_at_all(text in "(read|write|admin|[a-z]{0,3})(:(mesh|namespace|x)?/?[a-zA-Z0-9./ é-]{0,6})?") {
        if let Ok(grant) = text.parse::<Grant>() {
            prop_assert_eq!(grant.to_string(), text);
        }
    }

    /// The rule written once more, as a table of what one grant reaches.
    #[test]
    fn a_scope_reaches_what_it_says(list in prop::collection::vec(one_grant(), 0..4), target in target()) {
        let reaches = |role: Role, want: &dyn Fn(&GrantScope) -> bool| {
            list.iter().any(|grant| grant.role() >= role && (grant.scope() == &GrantScope::All || want(grant.scope())))
        };
        let mesh = |role, name: &String| reaches(role, &|scope| matches!(scope, GrantScope::Mesh(mesh) if mesh == name));
        let space = |role, name: &String| reaches(role, &|scope| matches!(scope, GrantScope::Namespace(space) if space == name));
        let none = |role| reaches(role, &|_| false);
        let (read, write) = match &target {
            Owned::Cluster => (none(Role::Read), none(Role::Write)),
            Owned::Namespace(name) => (space(Role::Read, name), space(Role::Write, name)),
            Owned::Mesh(name) => (mesh(Role::Read, name), mesh(Role::Write, name)),
            Owned::Both(m, n) => (
                mesh(Role::Read, m) || space(Role::Read, n),
                mesh(Role::Write, m) && space(Role::Write, n),
            ),
        };
        let all = Grants::new(list.clone());
        prop_assert_eq!(all.may_read(&target.target()), read);
        prop_assert_eq!(all.may_write(&target.target()), write);
        prop_assert!(read || !write, "who writes reads");
        prop_assert!(!all.is_admin() || (read && write));
    }

    #[test]
    fn more_grants_allow_no_less(list in prop::collection::vec(one_grant(), 0..4), more in one_grant(), target in target()) {
        let fewer = Grants::new(list.clone());
        let all: Grants = list.into_iter().chain([more]).collect();
        prop_assert!(!fewer.may_read(&target.target()) || all.may_read(&target.target()));
        prop_assert!(!fewer.may_write(&target.target()) || all.may_write(&target.target()));
    }
}

#[test]
fn scopes_never_widen() {
    let shop = grants("write:namespace/shop");
    assert!(shop.may_write(&Protected::Namespace("shop")));
    for target in [
        Protected::Cluster,
        Protected::Namespace("shop2"),
        Protected::Namespace("sho"),
        Protected::Mesh("shop"),
        Protected::Both { mesh: "shop", namespace: "other" },
    ] {
        assert!(!shop.may_read(&target), "{target:?}");
        assert!(!shop.may_write(&target), "{target:?}");
    }
    let inside = Protected::Both { mesh: "default", namespace: "shop" };
    assert!(shop.may_read(&inside));
    assert!(!shop.may_write(&inside), "naming a mesh does not open it");
    assert!(grants("write:namespace/shop,write:mesh/default").may_write(&inside));
    assert!(!grants("write:namespace/shop,read:mesh/default").may_write(&inside));
    let reader = grants("read");
    assert!(reader.may_read(&Protected::Cluster) && !reader.may_write(&Protected::Cluster));
    assert!(reader.reads_all() && !reader.writes_all() && !reader.is_admin());
    assert!(!grants("").may_read(&Protected::Cluster));
    assert!(!grants("write").is_admin());
    assert!(grants("admin").writes_all());
}

#[test]
fn wrong_texts_say_why() {
    let error = |text: &str| text.parse::<Grant>().unwrap_err();
    assert!(matches!(error("owner"), GrantError::Role(_)));
    assert!(matches!(error("read:shop"), GrantError::Scope(_)));
    assert!(matches!(error("read:zone/a"), GrantError::Scope(_)));
    assert!(matches!(error("read:mesh/"), GrantError::Name(_)));
    assert!(matches!(error("read:mesh/a/b"), GrantError::Name(_)));
    assert!(matches!(error("read:mesh/*"), GrantError::Name(_)));
    assert!(matches!(error("admin:mesh/a"), GrantError::ScopedAdmin));
    assert!(error(&"x".repeat(100_000)).to_string().len() < 200, "errors are short");
    assert!(serde_json::from_str::<Grants>(r#"["read:mesh/a","all"]"#).is_err());
}
