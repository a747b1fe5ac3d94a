// SPDX-License-Identifier: Apache-2.0
//! In: subset rules and clients. Out: what Envoy would do with the principals agrees with reading the rules in order.

use proptest::prelude::*;

use super::*;
use crate::proto::rbac::Rbac;

/// The SANs of a client.
fn sans(mesh: &str, tags: &[(&str, &str)]) -> Vec<String> {
    tags.iter()
        .map(|(key, value)| match *key {
            SERVICE => format!("spiffe://{mesh}/{value}"),
            key => format!("kuma://{key}/{value}"),
        })
        .collect()
}

/// What Envoy does with a principal: any SAN may be the one.
fn holds(principal: &Principal, sans: &[String]) -> bool {
    match principal {
        Principal::AndIds(set) => set.ids.iter().all(|id| holds(id, sans)),
        Principal::OrIds(set) => set.ids.iter().any(|id| holds(id, sans)),
        Principal::Any(yes) => *yes,
        Principal::NotId(id) => !holds(id, sans),
        Principal::Authenticated(Authenticated { principal_name: PrincipalName::Exact(name) }) => {
            sans.contains(name)
        }
    }
}

fn matches(rules: Option<&Rules>, sans: &[String]) -> bool {
    let policies = rules.into_iter().flat_map(|rules| rules.policies.values());
    policies.flat_map(|policy| &policy.principals).any(|principal| holds(principal, sans))
}

/// Whether it passes, and whether it is counted as one that would not.
fn decide(projection: &Projection<'_>, sans: &[String]) -> (bool, bool) {
    let [filter] = projection.filters.as_slice() else { panic!("{projection:?}") };
    let Rbac::Network(rbac) = &filter.typed_config else { panic!("{filter:?}") };
    (matches(rbac.rules.as_ref(), sans), matches(rbac.shadow_rules.as_ref(), sans))
}

fn first(rules: &[LegacySubset], client: &[(&str, &str)]) -> Option<SubsetAction> {
    let has = |tag: &LegacyTag| client.contains(&(tag.key.as_str(), tag.value.as_str())) != tag.not;
    rules.iter().find(|rule| rule.tags.iter().all(has)).map(|rule| rule.action)
}

fn project(rules: &[LegacySubset], form: FilterForm) -> Projection<'static> {
    let input = LegacyInput { rules, mesh: "m", protocol: Protocol::Tcp, stat_prefix: "in" };
    legacy(&input, &FilterOptions { form, ..FilterOptions::default() })
}

fn rule(tags: &[(&str, &str, bool)], action: SubsetAction) -> LegacySubset {
    let tag = |(key, value, not): &(&str, &str, bool)| LegacyTag {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        not: *not,
    };
    LegacySubset { tags: tags.iter().map(tag).collect(), action }
}

#[test]
fn allow_all_but_two_denies_both() {
    // As subset rules of "allow all, deny a, deny b" come out.
    let rules = [
        rule(&[(SERVICE, "a", false)], SubsetAction::Deny),
        rule(&[(SERVICE, "b", false)], SubsetAction::Deny),
        rule(&[(SERVICE, "a", true)], SubsetAction::Allow),
        rule(&[(SERVICE, "b", true)], SubsetAction::Allow),
    ];
    let kuma = project(&rules, FilterForm::Kuma(crate::Release::V2_13));
    let ours = project(&rules, FilterForm::List);
    for (service, allowed) in [("a", false), ("b", false), ("c", true)] {
        let sans = sans("m", &[(SERVICE, service)]);
        assert!(decide(&kuma, &sans).0, "the release lets {service} in");
        assert_eq!(decide(&ours, &sans).0, allowed, "{service}");
    }
}

#[test]
fn a_client_of_a_denied_and_an_allowed_service_is_denied() {
    let deny = rule(&[(SERVICE, "a", false)], SubsetAction::Deny);
    let allow = rule(&[(SERVICE, "b", false)], SubsetAction::Allow);
    let both = sans("m", &[(SERVICE, "a"), (SERVICE, "b")]);
    for rules in [[deny.clone(), allow.clone()], [allow, deny]] {
        assert!(!decide(&project(&rules, FilterForm::List), &both).0, "{rules:?}");
    }
}

#[test]
fn without_denies_the_principals_are_those_of_the_release() {
    let rules = [
        rule(&[(SERVICE, "a", false), ("version", "1", false)], SubsetAction::Allow),
        rule(&[(SERVICE, "b", true)], SubsetAction::AllowWithShadowDeny),
    ];
    let enforced = |projection: Projection<'static>| match &projection.filters[0].typed_config {
        Rbac::Network(rbac) => rbac.rules.clone(),
        Rbac::Http(_) => panic!("not asked for"),
    };
    let kuma = project(&rules, FilterForm::Kuma(crate::Release::V2_13));
    assert_eq!(enforced(project(&rules, FilterForm::List)), enforced(kuma));
}

#[test]
fn many_services_stay_linear() {
    let rules: Vec<_> = (0..1000)
        .map(|n| {
            let action = if n % 2 == 0 { SubsetAction::Deny } else { SubsetAction::Allow };
            rule(&[(SERVICE, &format!("s{n}"), false)], action)
        })
        .collect();
    let size = crate::json(&project(&rules, FilterForm::List).filters).unwrap().len();
    assert!(size < 100_000, "{size}");
}

fn any_action() -> impl Strategy<Value = SubsetAction> {
    prop_oneof![
        Just(SubsetAction::Allow),
        Just(SubsetAction::AllowWithShadowDeny),
        Just(SubsetAction::Deny)
    ]
}

fn any_tag() -> impl Strategy<Value = LegacyTag> {
    let key = prop_oneof![Just(SERVICE), Just("zone"), Just("env")];
    (key, prop_oneof![Just("a"), Just("b")], prop::bool::ANY).prop_map(|(key, value, not)| {
        LegacyTag { key: key.to_owned(), value: value.to_owned(), not }
    })
}

fn any_rule() -> impl Strategy<Value = LegacySubset> {
    (prop::collection::vec(any_tag(), 0..3), any_action())
        .prop_map(|(tags, action)| LegacySubset { tags, action })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_first_subset_decides(rules in prop::collection::vec(any_rule(), 0..7)) {
        let ours = project(&rules, FilterForm::List);
        let values = [None, Some("a"), Some("b"), Some("c")];
        for service in values {
            for (zone, env) in values.iter().flat_map(|z| values.iter().map(move |e| (z, e))) {
                let tags = [(SERVICE, service), ("zone", *zone), ("env", *env)];
                let client: Vec<_> =
                    tags.iter().filter_map(|(key, value)| Some((*key, (*value)?))).collect();
                let action = first(&rules, &client);
                let passes = action.is_some_and(|action| action != SubsetAction::Deny);
                let counted = action == Some(SubsetAction::AllowWithShadowDeny);
                let decided = decide(&ours, &sans("m", &client));
                prop_assert_eq!(decided, (passes, counted), "{:?}", client);
            }
        }
    }

    /// With several values for a tag, what is let pass is never what the first subset denies.
    #[test]
    fn no_deny_is_lost_with_several_values(
        rules in prop::collection::vec(any_rule(), 0..7),
        client in prop::collection::btree_set(
            (prop_oneof![Just(SERVICE), Just("zone"), Just("env")], prop_oneof![Just("a"), Just("b")]),
            0..6,
        ),
    ) {
        let client: Vec<_> = client.into_iter().collect();
        if first(&rules, &client).is_none_or(|action| action == SubsetAction::Deny) {
            prop_assert!(!decide(&project(&rules, FilterForm::List), &sans("m", &client)).0);
        }
    }
}
