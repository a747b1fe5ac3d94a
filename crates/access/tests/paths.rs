// SPDX-License-Identifier: Apache-2.0
//! In: paths, and what Envoy 1.40.0 made of them. Out: whether we make the same. Not here: rules.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::borrow::Cow;

use overrule_access::path::{Rejected, normalise};
use proptest::prelude::*;

/// What a line of the measurements expects: a status that is not 200, or a path with its query.
fn agrees(raw: &str, expected: &str) -> bool {
    match normalise(raw) {
        // The filter refuses it, after the path was measured.
        Err(Rejected::Dots) => has_dots_with_parameters(expected),
        Err(_) => expected.starts_with('4'),
        Ok(path) => expected.split_once('?').map_or(expected, |(path, _)| path) == path,
    }
}

#[test]
fn as_measured_on_the_proxy() {
    let measured = match std::env::var_os("OVERRULE_PATHS") {
        Some(file) => std::fs::read_to_string(file).unwrap(),
        None => include_str!("data/paths.tsv").to_owned(),
    };
    let lines: Vec<(&str, &str)> =
        measured.lines().map(|line| line.split_once('\t').unwrap()).collect();
    let wrong: Vec<String> = lines
        .iter()
        .filter(|(raw, expected)| !agrees(raw, expected))
        .map(|(raw, expected)| format!("{raw}: {expected}, not {:?}", normalise(raw)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
    assert!(lines.len() > 500, "the measurements are there");
}

#[test]
fn each_refusal_has_its_reason() {
    for (raw, reason) in [
        ("", Rejected::Target),
        ("a", Rejected::Target),
        ("*", Rejected::Target),
        ("http://h?x", Rejected::Target),
        ("/a b", Rejected::Byte),
        ("/ä", Rejected::NotAscii),
        ("/a/%2e%2e;/b", Rejected::Dots),
        ("/a/..%3b", Rejected::Dots),
        ("/%2E;x/b", Rejected::Dots),
        ("/a?\u{7f}", Rejected::Byte),
        ("/a#b", Rejected::Fragment),
        ("/a%2Fb", Rejected::EscapedSlash),
        ("/a%5cb", Rejected::EscapedSlash),
        ("/a%00b", Rejected::EscapedNul),
    ] {
        assert_eq!(normalise(raw), Err(reason), "{raw:?}");
    }
}

#[test]
fn a_plain_path_is_not_copied() {
    assert!(matches!(normalise("/api/v1/users?x=/../"), Ok(Cow::Borrowed("/api/v1/users"))));
}

/// Whether one more round would cut a parameter (step 3).
fn has_dots_with_parameters(path: &str) -> bool {
    let dots = |s: &str| [".;", "..;", ".%3b", "..%3b"].iter().any(|d| s.starts_with(d));
    path.to_lowercase().split('/').any(dots)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_text_is_fine(raw in ".{0,40}") {
        let _ = normalise(&raw);
    }

    #[test]
    fn the_second_round_changes_nothing(raw in "/([/.ab;~\\\\%?]|%2e|%2E|%61|%3b|%25|%32|2|e){0,14}") {
        if let Ok(once) = normalise(&raw) {
            prop_assert!(once.starts_with('/') && !once.contains('?') && !once.contains('\\'));
            prop_assert!(!once.contains("//") || once == "//");
            prop_assert!(once.split('/').all(|segment| segment != "." && segment != ".."));
            prop_assert!(!has_dots_with_parameters(&once));
            prop_assert_eq!(normalise(&once), Ok(once.clone()), "from {}", raw);
        }
    }
}
