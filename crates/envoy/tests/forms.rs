// SPDX-License-Identifier: Apache-2.0
//! In: random rules and requests. Out: list and tree decide as the rules say, and name whom they should. The matchers
//! are evaluated as Envoy was seen to do; the real one is asked in the `proof` crate.
#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "test code: a broken expectation shall stop the test"
)]

mod support;

use overrule_access::{AccessRule, Effect, Identity, Match, PathMatch};
use overrule_envoy::proto::matcher::Matcher;
use overrule_envoy::proto::rbac::{Rbac, RbacAction};
use overrule_envoy::{
    DEFAULT, FilterForm, FilterInput, FilterOptions, FilterProblem, GUARD, PATH_GUARD, Projection,
    Protocol, Release, Version, filters, json,
};
use proptest::prelude::*;
use support::{Answer, Seen, ask, exact, means, names, prefix, rule};

fn options(form: FilterForm) -> FilterOptions {
    FilterOptions { form, version: Some(Version::RESUMES), ..FilterOptions::default() }
}

fn project<'a>(
    rules: &'a [AccessRule],
    names: &'a [String],
    options: &FilterOptions,
) -> Projection<'a> {
    filters(&FilterInput { rules, names, protocol: Protocol::Http, stat_prefix: "in" }, options)
}

fn matchers<'p, 'a>(projection: &'p Projection<'a>) -> (&'p Matcher<'a>, Option<&'p Matcher<'a>>) {
    let filter = projection.filters.last().unwrap();
    let (matcher, shadow) = match &filter.typed_config {
        Rbac::Http(rbac) => (&rbac.matcher, &rbac.shadow_matcher),
        Rbac::Network(rbac) => (&rbac.matcher, &rbac.shadow_matcher),
    };
    (matcher.as_ref().unwrap(), shadow.as_ref())
}

/// Whom the list names: the first that matches, denies first.
fn first(rules: &[AccessRule], seen: &Seen, wanted: impl Fn(Effect) -> bool) -> Option<u32> {
    rules.iter().find(|r| wanted(r.effect) && means(&r.matches, seen)).map(|r| r.policy)
}

/// Whom the tree names: of those without identity the first, then of the exact ones, then of the longest prefix; and of
/// allows with the same identity likewise by path.
fn closest(rules: &[AccessRule], seen: &Seen, wanted: impl Fn(Effect) -> bool) -> Option<u32> {
    let closeness = |r: &&AccessRule| {
        let identity = match &r.matches.identity {
            None => (0, 0),
            Some(Identity::Exact(_)) => (1, 0),
            Some(Identity::Prefix(id)) => (2, usize::MAX - id.len()),
        };
        let path = match &r.matches.path {
            Some(PathMatch::Exact(_)) if r.effect != Effect::Deny => (1, 0),
            Some(PathMatch::Prefix(path)) if r.effect != Effect::Deny => {
                (2, usize::MAX - path.len())
            }
            _ => (0, 0),
        };
        (identity, path)
    };
    let all = rules.iter().filter(|r| wanted(r.effect) && means(&r.matches, seen));
    // The first of the closest: `min_by_key` takes the first of equals.
    all.min_by_key(closeness).map(|r| r.policy)
}

type Finder = fn(&[AccessRule], &Seen, fn(Effect) -> bool) -> Option<u32>;

fn expected(rules: &[AccessRule], names: &[String], seen: &Seen, find: Finder) -> (Answer, Answer) {
    let name = |policy: u32| names[policy as usize].clone();
    let several = seen.san.as_ref().is_some_and(|san| san.contains(','));
    let any_shadow = rules.iter().any(|r| r.effect == Effect::AllowWithShadowDeny);
    let enforced = match (find(rules, seen, |e| !e.allows()), find(rules, seen, Effect::allows)) {
        _ if several && !rules.is_empty() => (RbacAction::Deny, GUARD.to_owned()),
        (Some(policy), _) => (RbacAction::Deny, name(policy)),
        (None, Some(policy)) => (RbacAction::Allow, name(policy)),
        (None, None) => (RbacAction::Deny, DEFAULT.to_owned()),
    };
    let shadow = match find(rules, seen, |e| e == Effect::AllowWithShadowDeny) {
        _ if several && any_shadow => (RbacAction::Allow, GUARD.to_owned()),
        Some(policy) => (RbacAction::Deny, name(policy)),
        None => (RbacAction::Allow, DEFAULT.to_owned()),
    };
    (enforced, shadow)
}

fn check(rules: &[AccessRule], seen: &Seen) -> Result<(), TestCaseError> {
    let names = names(8);
    let forms: [(FilterForm, Finder); 2] = [
        (FilterForm::List, |r, s, w| first(r, s, w)),
        (FilterForm::Tree, |r, s, w| closest(r, s, w)),
    ];
    for (form, find) in forms {
        let projection = project(rules, &names, &options(form));
        prop_assert!(projection.problems.is_empty(), "{:?}", projection.problems);
        let (enforced, shadow) = expected(rules, &names, seen, find);
        let (matcher, shadow_matcher) = matchers(&projection);
        prop_assert_eq!(ask(matcher, seen), Some(enforced), "{:?}", form);
        let has_shadow = rules.iter().any(|r| r.effect == Effect::AllowWithShadowDeny);
        prop_assert_eq!(shadow_matcher.is_some(), has_shadow);
        if let Some(matcher) = shadow_matcher {
            prop_assert_eq!(ask(matcher, seen), Some(shadow), "{:?}", form);
        }
    }
    Ok(())
}

fn any_effect() -> impl Strategy<Value = Effect> {
    prop_oneof![Just(Effect::Deny), Just(Effect::AllowWithShadowDeny), Just(Effect::Allow)]
}

fn any_identity() -> impl Strategy<Value = String> {
    // A small alphabet, so that identities meet.
    "(s://(t(/(a|ab|b)){0,2}/?)?)?"
}

fn any_match() -> impl Strategy<Value = Match> {
    let identity = prop_oneof![
        1 => Just(None),
        2 => any_identity().prop_map(|id| Some(Identity::Exact(id.into()))),
        2 => any_identity().prop_map(|id| Some(Identity::Prefix(id.into()))),
    ];
    let text = |values: &'static [&'static str]| {
        prop_oneof![
            3 => Just(None),
            1 => prop::sample::select(values).prop_map(|value| Some(Box::from(value))),
        ]
    };
    let path = prop_oneof![
        2 => Just(None),
        1 => "(/(a|ab)){1,2}/?".prop_map(|path| Some(PathMatch::Exact(path.into()))),
        1 => "(/(a|ab)){0,2}/?".prop_map(|path| Some(PathMatch::Prefix(path.into()))),
    ];
    (identity, text(&["x.io", "y.io"]), text(&["GET", "POST"]), path)
        .prop_map(|(identity, sni, method, path)| Match { identity, sni, method, path })
        .prop_filter("a match that asks for nothing is none", |m| *m != Match::default())
}

fn any_rules() -> impl Strategy<Value = Vec<AccessRule>> {
    let one = (any_effect(), any_match(), 0..8u32);
    prop::collection::vec(one.prop_map(|(effect, m, policy)| rule(effect, m, policy)), 0..10)
}

/// Many for few identities, so that paths become maps.
fn many_paths() -> impl Strategy<Value = Vec<AccessRule>> {
    let identity = prop_oneof![3 => Just(None), 1 => Just(Some(Identity::Exact("s://t".into())))];
    let method = prop_oneof![3 => Just(None), 1 => Just(Some(Box::from("GET")))];
    let path = ("(/(a|ab|b)){0,3}/?", any::<bool>()).prop_map(|(path, exact)| {
        match exact && !path.is_empty() {
            true => PathMatch::Exact(path.into()),
            false => PathMatch::Prefix(path.into()),
        }
    });
    let matches = (identity, method, prop::option::weighted(0.95, path))
        .prop_map(|(identity, method, path)| Match { identity, sni: None, method, path })
        .prop_filter("a match that asks for nothing is none", |m| *m != Match::default());
    let effect = prop_oneof![
        1 => Just(Effect::Deny),
        4 => Just(Effect::AllowWithShadowDeny),
        8 => Just(Effect::Allow),
    ];
    let one = (effect, matches, 0..8u32);
    prop::collection::vec(one.prop_map(|(effect, m, policy)| rule(effect, m, policy)), 12..60)
}

fn any_request() -> impl Strategy<Value = Seen> {
    let san = prop_oneof![
        1 => Just(None),
        8 => any_identity().prop_map(Some),
        1 => (any_identity(), any_identity()).prop_map(|(a, b)| Some(format!("{a},{b}"))),
    ];
    let sni = prop::sample::select(&[None, Some("x.io"), Some("y.io")][..]);
    let method = prop::sample::select(&["GET", "POST", "PUT"][..]);
    let path = "/|(/(a|ab|b)){1,3}/?(\\?q=/a)?";
    (san, sni, method, path).prop_map(|(san, sni, method, path)| Seen {
        san,
        sni: sni.map(str::to_owned),
        method: Some(method.to_owned()),
        path: Some(path),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn list_and_tree_do_what_the_rules_say(
        rules in any_rules(),
        requests in prop::collection::vec(any_request(), 4),
    ) {
        for seen in &requests {
            check(&rules, seen)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn so_do_many_paths(
        rules in many_paths(),
        requests in prop::collection::vec(any_request(), 12),
    ) {
        for seen in &requests {
            check(&rules, seen)?;
        }
    }
}

/// What rules cannot be asked about is refused before any of them: a CONNECT, and dots that a server would see.
#[test]
fn paths_that_cannot_be_judged_are_refused() {
    let below = |path: &str| Some(PathMatch::Prefix(path.into()));
    let everything = Match { path: below(""), ..Match::default() };
    let rules =
        [rule(Effect::Allow, everything.clone(), 0), rule(Effect::Allow, prefix("s://"), 1)];
    let names = names(2);
    for form in [FilterForm::List, FilterForm::Tree] {
        let projection = project(&rules, &names, &options(form));
        let by = |path: Option<&str>| {
            let (san, path) = (Some("s://a".to_owned()), path.map(str::to_owned));
            ask(matchers(&projection).0, &Seen { san, path, ..Seen::default() }).unwrap()
        };
        for path in [None, Some("*"), Some("/a/..;/b"), Some("/.%3bx"), Some("/..;?q")] {
            assert_eq!(by(path), (RbacAction::Deny, PATH_GUARD.to_owned()), "{path:?}");
        }
        for path in ["/", "/a..;/b", "/...;x", "/a?/..;", "/;x"] {
            assert_eq!(by(Some(path)).0, RbacAction::Allow, "{path}");
        }
    }
}

#[test]
fn no_rules_are_one_answer() {
    for form in [FilterForm::List, FilterForm::Tree] {
        let names = [];
        let projection = project(&[], &names, &options(form));
        let (matcher, shadow) = matchers(&projection);
        assert!(matcher.matcher_list.is_none() && matcher.matcher_tree.is_none());
        assert_eq!(ask(matcher, &Seen::default()), Some((RbacAction::Deny, DEFAULT.to_owned())));
        assert!(shadow.is_none());
    }
}

#[test]
fn trees_are_only_for_an_envoy_that_resumes() {
    let rules = [rule(Effect::Allow, exact("a"), 0)];
    let names = names(1);
    let old: Version = "1.34.9".parse().unwrap();
    for version in [None, Some(old)] {
        let projection =
            project(&rules, &names, &FilterOptions { version, ..options(FilterForm::Tree) });
        assert_eq!(projection.form, FilterForm::List);
        assert_eq!(projection.problems, [FilterProblem::TreeNeedsNewer(version)]);
        assert!(!projection.refused());
        let list = project(&rules, &names, &options(FilterForm::List));
        assert_eq!(projection.filters, list.filters);
    }
}

fn on_tcp<'a>(rules: &'a [AccessRule], names: &'a [String], form: FilterForm) -> Projection<'a> {
    let input = FilterInput { rules, names, protocol: Protocol::Tcp, stat_prefix: "in" };
    filters(&input, &options(form))
}

#[test]
fn http_on_tcp_is_refused_for_deny_and_dropped_for_allow() {
    let get = Some(Box::from("GET"));
    let rules = [
        rule(Effect::Deny, Match { method: get.clone(), ..exact("s://bad") }, 0),
        rule(Effect::Allow, Match { method: get, ..exact("s://good") }, 1),
        rule(Effect::Allow, prefix("s://"), 2),
    ];
    let names = names(3);
    for form in [FilterForm::List, FilterForm::Tree] {
        let projection = on_tcp(&rules, &names, form);
        let [deny, allow] = projection.problems[..] else { panic!("{:?}", projection.problems) };
        assert_eq!(deny, FilterProblem::HttpDenyOnTcp(rules[0].source));
        assert_eq!(allow, FilterProblem::HttpAllowOnTcp(rules[1].source));
        assert!(deny.refuses() && !allow.refuses() && projection.refused());
        // Whoever uses it all the same loses no deny and gains no allow.
        let (matcher, _) = matchers(&projection);
        let by = |san: &str| {
            let seen = Seen { san: Some(san.to_owned()), ..Seen::default() };
            ask(matcher, &seen).unwrap()
        };
        assert_eq!(by("s://bad"), (RbacAction::Deny, names[0].clone()));
        assert_eq!(by("s://good"), (RbacAction::Allow, names[2].clone()));
        assert!(!json(&projection.filters).unwrap().contains("GET"));
    }
}

#[test]
fn a_deny_by_method_alone_denies_everyone_on_tcp() {
    let get = Match { method: Some("GET".into()), ..Match::default() };
    let rules = [rule(Effect::Deny, get, 0), rule(Effect::Allow, prefix("s://"), 1)];
    let names = names(2);
    for form in [FilterForm::List, FilterForm::Tree] {
        let projection = on_tcp(&rules, &names, form);
        let (matcher, _) = matchers(&projection);
        for san in [None, Some("s://a".to_owned())] {
            let seen = Seen { san, ..Seen::default() };
            assert_eq!(ask(matcher, &seen), Some((RbacAction::Deny, names[0].clone())));
        }
    }
}

#[test]
fn a_match_that_asks_for_nothing_admits_nobody_and_denies_everyone() {
    let names = names(2);
    let seen = Seen { san: Some("s://a".to_owned()), ..Seen::default() };
    for form in [FilterForm::List, FilterForm::Tree] {
        let allow = [rule(Effect::Allow, Match::default(), 0)];
        let projection = project(&allow, &names, &options(form));
        assert_eq!(projection.problems, [FilterProblem::EmptyAllow(allow[0].source)]);
        let answer = ask(matchers(&projection).0, &seen);
        assert_eq!(answer, Some((RbacAction::Deny, DEFAULT.to_owned())));

        let deny =
            [rule(Effect::Deny, Match::default(), 0), rule(Effect::Allow, exact("s://a"), 1)];
        let projection = project(&deny, &names, &options(form));
        assert!(projection.refused());
        let answer = ask(matchers(&projection).0, &seen);
        assert_eq!(answer, Some((RbacAction::Deny, names[0].clone())));
    }
}

#[test]
fn a_path_with_a_query_never_matches() {
    let path = Some(PathMatch::Exact("/a?b".into()));
    let rules = [rule(Effect::Allow, Match { path, ..Match::default() }, 0)];
    let names = names(1);
    let projection = project(&rules, &names, &options(FilterForm::List));
    assert_eq!(projection.problems, [FilterProblem::NeverMatches(rules[0].source)]);
    let seen = Seen { path: Some("/a?b".to_owned()), ..Seen::default() };
    let answer = ask(matchers(&projection).0, &seen);
    assert_eq!(answer, Some((RbacAction::Deny, DEFAULT.to_owned())));
}

#[test]
fn what_rules_need_around_them_is_said() {
    let names = names(1);
    let with = |matches: Match| [rule(Effect::Allow, matches, 0)];
    let path = with(Match { path: Some(PathMatch::Exact("/a".into())), ..Match::default() });
    let projection = project(&path, &names, &options(FilterForm::List));
    assert_eq!(
        json(&projection.connection_manager).unwrap(),
        r#"{"mergeSlashes":true,"normalizePath":true,"pathWithEscapedSlashesAction":"REJECT_REQUEST"}"#
    );
    assert!(projection.listener_filters.is_empty());
    let sni = with(Match { sni: Some("x.io".into()), ..Match::default() });
    let projection = project(&sni, &names, &options(FilterForm::List));
    assert!(projection.connection_manager.is_none());
    assert_eq!(projection.listener_filters.len(), 1);
    let capital = with(Match { sni: Some("X.io".into()), ..Match::default() });
    let projection = project(&capital, &names, &options(FilterForm::List));
    assert_eq!(projection.problems, [FilterProblem::NeverMatches(capital[0].source)]);
}

#[test]
fn names_are_safe_for_counters_except_in_the_release_form() {
    let rules = [rule(Effect::Allow, exact("s://a"), 0), rule(Effect::Deny, exact("s://b"), 7)];
    let names = ["kri_mtp_default___a.b_".to_owned()];
    let ours = project(&rules, &names, &options(FilterForm::Tree));
    assert_eq!(ours.problems, [FilterProblem::Unnamed(7)]);
    assert_eq!(ours.actions, ["kri_mtp_default___a~2eb_"]);
    assert!(json(&ours.filters).unwrap().contains(r#""name":"kri_mtp_default___a~2eb_""#));
    let kuma = project(&rules, &names, &options(FilterForm::Kuma(Release::V2_14)));
    assert_eq!(kuma.actions, names);
}

#[test]
fn a_copy_tells_who_allowed_a_connection() {
    let rules = [rule(Effect::Allow, exact("s://a"), 0)];
    let names = names(1);
    let input =
        FilterInput { rules: &rules, names: &names, protocol: Protocol::Tcp, stat_prefix: "a:1" };
    let projection =
        filters(&input, &FilterOptions { tell_allows: true, ..FilterOptions::default() });
    let [copy, filter] = &projection.filters[..] else { panic!("{projection:?}") };
    let (Rbac::Network(copy), Rbac::Network(filter)) = (&copy.typed_config, &filter.typed_config)
    else {
        panic!("{projection:?}")
    };
    assert!(copy.matcher.is_none() && copy.shadow_matcher == filter.matcher);
    assert_eq!((&*copy.stat_prefix, &*filter.stat_prefix), ("a_1_copy.", "a_1."));
}

#[test]
fn release_2_13_asks_policy_by_policy_and_later_ones_denies_first() {
    let rules = [
        // List order, as every form gets it.
        rule(Effect::Deny, exact("s://a"), 1),
        rule(Effect::Allow, prefix("s://"), 0),
    ];
    let names = names(2);
    let seen = Seen { san: Some("s://a".to_owned()), ..Seen::default() };
    let by = |release| {
        let projection = project(&rules, &names, &options(FilterForm::Kuma(release)));
        ask(matchers(&projection).0, &seen).unwrap()
    };
    assert_eq!(by(Release::V2_13), (RbacAction::Allow, names[0].clone()));
    assert_eq!(by(Release::V2_14), (RbacAction::Deny, names[1].clone()));
}

#[test]
fn the_release_form_says_what_the_release_does_not_know() {
    let get = Some(Box::from("GET"));
    let rules = [
        rule(Effect::Allow, Match { method: get.clone(), ..exact("s://a") }, 0),
        rule(Effect::Allow, Match { method: get, ..Match::default() }, 1),
    ];
    let names = names(2);
    let projection = project(&rules, &names, &options(FilterForm::Kuma(Release::V2_13)));
    let [a, b] = [&rules[0], &rules[1]].map(|r| FilterProblem::NotInRelease(r.source));
    assert_eq!(projection.problems, [a, b, FilterProblem::UnsetPredicate(1)]);
    assert!(projection.refused());
    assert!(json(&projection.filters).unwrap().contains(r#""predicate":{}"#));
}

#[test]
fn size_is_linear_in_the_rules() {
    let size = |count: u32| {
        let rules: Vec<_> = (0..count)
            .map(|n| match n % 4 {
                0 => rule(Effect::Deny, exact(&format!("spiffe://t/ns/a/sa/{n:06}")), n % 8),
                1 => rule(Effect::Allow, prefix(&format!("spiffe://t/ns/{n:06}/")), n % 8),
                _ => rule(Effect::Allow, exact(&format!("spiffe://t/ns/b/sa/{n:06}")), n % 8),
            })
            .collect();
        let names = names(8);
        [FilterForm::List, FilterForm::Tree]
            .map(|form| json(&project(&rules, &names, &options(form)).filters).unwrap().len())
    };
    for (small, large) in size(1000).into_iter().zip(size(10_000)) {
        assert!(large < small * 11, "{small} {large}");
    }
}

#[test]
fn a_list_looks_like_this() {
    let rules = [
        rule(Effect::Deny, exact("spiffe://t/bad"), 0),
        rule(Effect::Allow, prefix("spiffe://t/"), 1),
    ];
    let names = names(2);
    let projection = project(&rules, &names, &options(FilterForm::List));
    let san = r#"{"name":"envoy.matching.inputs.uri_san","typedConfig":{"@type":"type.googleapis.com/envoy.extensions.matching.common_inputs.ssl.v3.UriSanInput"}}"#;
    let action = |fields: &str| {
        format!(
            r#"{{"action":{{"name":"envoy.filters.rbac.action","typedConfig":{{"@type":"type.googleapis.com/envoy.config.rbac.v3.Action",{fields}}}}}}}"#
        )
    };
    let entry = |fields: &str, value: &str| {
        format!(
            r#"{{"onMatch":{},"predicate":{{"singlePredicate":{{"input":{san},"valueMatch":{value}}}}}}}"#,
            action(fields)
        )
    };
    let matchers = [
        entry(r#""action":"DENY","name":"multi-san""#, r#"{"contains":","}"#),
        entry(r#""action":"DENY","name":"kri_mtp_default___p0_""#, r#"{"exact":"spiffe://t/bad"}"#),
        entry(r#""name":"kri_mtp_default___p1_""#, r#"{"prefix":"spiffe://t/"}"#),
    ];
    let expected = format!(
        r#"{{"name":"envoy.filters.http.rbac","typedConfig":{{"@type":"type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC","matcher":{{"matcherList":{{"matchers":[{}]}},"onNoMatch":{}}},"trackPerRuleStats":true}}}}"#,
        matchers.join(","),
        action(r#""action":"DENY","name":"default""#)
    );
    assert_eq!(json(&projection.filters[0]).unwrap(), expected);
}
