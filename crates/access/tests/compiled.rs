// SPDX-License-Identifier: Apache-2.0
//! In: random rules and requests over a few letters, so that much of it meets. Out: whether the compiled form says what
//! the naive one says. Not here: what is right; see `decide.rs`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use overrule_access::{
    AccessRule, Compiled, Effect, Http, Identity, Match, PathMatch, Request, RuleSource, naive,
};
use proptest::prelude::*;
use proptest::sample::select;

/// Pieces of identities: some are prefixes of others, with and without a slash.
fn identity_text() -> impl Strategy<Value = String> {
    let piece = select(vec!["a", "a", "a/", "a/", "/", "b", "aa", "ü"]);
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn path_text() -> impl Strategy<Value = String> {
    let piece =
        select(vec!["/a", "/b", "/a", "a", "/", "", "/a", "/%2B", "+", ";b", "%3b", "%c3%A9"]);
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn raw_path() -> impl Strategy<Value = String> {
    let piece = select(vec!["/..", "/%61", "/.", "?a", "%2f", "#", "é", "/%2e;", "%", "%25"]);
    // The odd pieces are rare, or nearly every request would be refused.
    let weighted = prop_oneof![20 => path_text(), 1 => piece.prop_map(str::to_owned)];
    prop::collection::vec(weighted, 1..4).prop_map(|pieces| format!("/{}", pieces.concat()))
}

fn boxed(text: &str) -> Box<str> {
    text.into()
}

fn matches() -> impl Strategy<Value = Match> {
    let identity = prop_oneof![
        2 => Just(None),
        4 => identity_text().prop_map(|t| Some(Identity::Exact(t.into()))),
        6 => identity_text().prop_map(|t| Some(Identity::Prefix(t.into()))),
    ];
    let path = prop_oneof![
        5 => Just(None),
        1 => path_text().prop_map(|t| Some(PathMatch::Exact(t.into()))),
        2 => path_text().prop_map(|t| Some(PathMatch::Prefix(t.into()))),
    ];
    let sni = select(vec![None, None, None, None, Some("x"), Some("y"), Some("X")]);
    let method = select(vec![None, None, None, Some("GET"), Some("POST"), Some("get")]);
    (identity, sni, method, path).prop_map(|(identity, sni, method, path)| Match {
        identity,
        sni: sni.map(boxed),
        method: method.map(boxed),
        path,
    })
}

fn rules(most: usize) -> impl Strategy<Value = Vec<AccessRule>> {
    let effect =
        select(vec![Effect::Deny, Effect::Allow, Effect::Allow, Effect::AllowWithShadowDeny]);
    let rule = (effect, matches());
    prop::collection::vec(rule, 0..most).prop_map(|rules| {
        let number = (0..).zip(rules);
        let rule = |(n, (effect, matches))| AccessRule {
            effect,
            matches,
            source: RuleSource(n),
            policy: n / 3,
        };
        number.map(rule).collect()
    })
}

#[derive(Debug, Clone)]
struct Asked {
    identity: Option<String>,
    sni: Option<&'static str>,
    method: Option<&'static str>,
    path: Option<String>,
    http: Http,
}

impl Asked {
    fn request(&self) -> Request<'_> {
        let Self { identity, sni, method, path, http } = self;
        let (identity, path) = (identity.as_deref(), path.as_deref());
        Request { identity, sni: *sni, method: *method, path, http: *http }
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let identity = prop_oneof![1 => Just(None), 6 => identity_text().prop_map(Some)];
    let sni = select(vec![None, Some("x"), Some("X"), Some("z")]);
    let methods = vec![None, Some("GET"), Some("POST"), Some("GET"), Some("POST"), Some("get")];
    let method = select([methods, vec![Some("CONNECT")]].concat());
    let http = select(Http::ALL.to_vec());
    let path = prop_oneof![1 => Just(None), 4 => raw_path().prop_map(Some)];
    (identity, sni, method, path, http).prop_map(|(identity, sni, method, path, http)| Asked {
        identity,
        sni,
        method,
        path,
        http,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn few_rules(rules in rules(20), asked in prop::collection::vec(asked(), 1..6)) {
        agree(&rules, &asked)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn many_rules(rules in rules(150), asked in prop::collection::vec(asked(), 1..30)) {
        agree(&rules, &asked)?;
    }
}

fn agree(rules: &[AccessRule], asked: &[Asked]) -> Result<(), TestCaseError> {
    let compiled = Compiled::new(rules);
    for asked in asked {
        let expected = naive::decide(rules, &asked.request());
        prop_assert_eq!(&compiled.decide_fully(&asked.request()), &expected, "{:?}", asked);
    }
    Ok(())
}

/// Without this, the tests above could agree on nothing.
#[test]
fn the_requests_are_of_all_kinds() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut allowed, mut denied, mut nothing, mut differ, mut shadow) = (0, 0, 0, 0, 0);
    for _ in 0..2_000 {
        let rules = rules(40).new_tree(&mut runner).unwrap().current();
        let asked = asked().new_tree(&mut runner).unwrap().current();
        let decision = naive::decide(&rules, &asked.request());
        match (decision.verdict, decision.by) {
            (overrule_access::Verdict::Allowed, _) => allowed += 1,
            (overrule_access::Verdict::Denied, Some(_)) => denied += 1,
            (overrule_access::Verdict::Denied, None) => nothing += 1,
        }
        differ += usize::from(decision.by != decision.by_tree);
        shadow += usize::from(decision.shadow.is_some());
    }
    for count in [allowed, denied, nothing, differ, shadow] {
        assert!(count > 50, "{allowed} {denied} {nothing} {differ} {shadow}");
    }
}
