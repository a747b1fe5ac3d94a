// SPDX-License-Identifier: Apache-2.0
//! In: the paths of denies, as servers decode them. Out: expressions that fit every spelling of them in a normalised path
//! with its query. Not here: what a spelling is (`overrule_access::spelling`).
//!
//! ```text
//!  path     = ( "/" parameter? )*  "/" segment parameter?  ... end
//!  segment  = a byte that needs no escape as it is, since the proxy decodes it; every other one plain or escaped
//!  end      = nothing, what is below, slashes; then a query
//! ```
//! Expressions are matched as a whole. Many paths are one expression, which Envoy's engine (RE2) goes through once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use overrule_access::PathMatch;
use overrule_access::spelling::Decoded;

/// Bytes of the path of a request: printable ASCII without `/` and `?`.
const INSIDE: &str = "[!-.0->@-~]*";
/// An expression is not much longer; RE2 refuses one that needs more than some megabytes.
const LONGEST: usize = 24 * 1024;

/// A path of a deny.
#[derive(Debug, Clone)]
pub(crate) struct Spelling {
    decoded: Decoded,
    below: bool,
}

impl Spelling {
    /// None if no request has the path.
    pub(crate) fn of(path: &PathMatch) -> Option<Self> {
        let decoded = Decoded::of_deny(path)?;
        // The empty path is above the root, and no request is exactly that.
        let is_nothing = decoded.segments.is_empty() && !decoded.slash && !path.is_prefix();
        (!is_nothing).then(|| Self { decoded, below: path.is_prefix() })
    }
}

/// A parameter.
fn parameter() -> String {
    format!("(?:;|%3[Bb]){INSIDE}")
}

/// Slashes with nothing but parameters behind them.
fn empty() -> String {
    format!("(?:/(?:{})?)*", parameter())
}

/// Segments with a parsed slash before each, and parameters behind each.
fn segments(all: &[Box<[u8]>]) -> String {
    let (empty, parameter) = (empty(), parameter());
    all.iter().map(|bytes| format!("{empty}/{}(?:{parameter})?", segment(bytes))).collect()
}

fn segment(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        let hex = |at: usize| after.get(at).is_some_and(u8::is_ascii_hexdigit);
        let _ = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => {
                write!(text, "{}", char::from(*byte))
            }
            b'-' | b'.' | b'~' => write!(text, "\\{}", char::from(*byte)),
            // Plain, it would begin an escape.
            b'%' if hex(0) && hex(1) => write!(text, "%25"),
            0x21..=0x7e => write!(text, "(?:\\{}|{})", char::from(*byte), escape(*byte)),
            _ => write!(text, "{}", escape(*byte)),
        };
        rest = after;
    }
    text
}

/// The escape of a byte, in either case.
fn escape(byte: u8) -> String {
    let digits = format!("{byte:02X}");
    let either = |digit: char| {
        if digit.is_ascii_digit() {
            digit.to_string()
        } else {
            format!("[{digit}{}]", digit.to_ascii_lowercase())
        }
    };
    digits.chars().map(either).fold("%".to_owned(), |text, digit| text + &digit)
}

/// What may follow the last segment.
fn end(spelling: &Spelling) -> String {
    let query = r"(?:\?\C*)?";
    match (spelling.below, spelling.decoded.slash) {
        (true, false) if spelling.decoded.segments.is_empty() => r"\C*".to_owned(),
        (true, false) => r"(?:[/?]\C*)?".to_owned(),
        (true, true) => r"/\C*".to_owned(),
        (false, false) => query.to_owned(),
        (false, true) => format!("(?:/(?:{})?)+{query}", parameter()),
    }
}

/// Expressions of which one fits if a path is a spelling of any of these. Those that differ in the last segment only share
/// the rest.
pub(crate) fn expressions(spellings: &[Spelling]) -> Vec<String> {
    let mut families: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for spelling in spellings {
        let (above, last) = match spelling.decoded.segments.split_last() {
            Some((last, above)) => (segments(above) + &empty() + "/", segment(last)),
            None => (String::new(), String::new()),
        };
        families.entry((above, end(spelling))).or_default().push(last);
    }
    let mut all = Expressions::default();
    for ((above, end), mut lasts) in families {
        lasts.sort_unstable();
        lasts.dedup();
        // The root has no segment that could have parameters.
        let parameters =
            if above.is_empty() { String::new() } else { format!("(?:{})?", parameter()) };
        let mut rest = lasts.as_slice();
        while !rest.is_empty() {
            let mut length = 0;
            let fits = rest.iter().take_while(|last| {
                length += last.len() + 1;
                length < LONGEST
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            all.add(&format!("{above}(?:{}){parameters}{end}", now.join("|")));
            rest = later;
        }
    }
    all.done
}

/// Expressions, joined as long as they are short.
#[derive(Default)]
struct Expressions {
    done: Vec<String>,
}

impl Expressions {
    fn add(&mut self, piece: &str) {
        match self.done.last_mut() {
            Some(last) if last.len() + piece.len() < LONGEST => {
                last.push('|');
                last.push_str(piece);
            }
            _ => self.done.push(piece.to_owned()),
        }
    }
}

/// Fits paths with a segment of dots and a parameter.
pub(crate) const DOTS: &str = r"[!->@-~]*/\.\.?(?:;|%3[Bb])\C*";

#[cfg(test)]
mod tests {
    use super::*;
    use overrule_access::{AccessRule, Effect, Http, Match, Request, RuleSource, naive, path};
    use proptest::prelude::*;

    fn fits(deny: &PathMatch, request: &str) -> bool {
        let all: Vec<Spelling> = Spelling::of(deny).into_iter().collect();
        // A byte of any value is `(?-u:.)` here and `\C` there.
        let expressions = expressions(&all).join("|").replace(r"\C", "(?s-u:.)");
        let whole = format!("^(?:{expressions})$");
        !all.is_empty() && regex::bytes::Regex::new(&whole).unwrap().is_match(request.as_bytes())
    }

    fn is_denied(deny: &PathMatch, raw: &str) -> Option<bool> {
        let matches = Match { path: Some(deny.clone()), ..Match::default() };
        let rule = AccessRule { effect: Effect::Deny, matches, source: RuleSource(0), policy: 0 };
        let request = Request { path: Some(raw), http: Http::Two, ..Request::default() };
        let decision = naive::decide(&[rule], &request);
        decision.rejected.is_none().then(|| decision.by.is_some())
    }

    fn text() -> impl Strategy<Value = String> {
        let pieces = vec![
            "/", "/", "/", "a", "b", ";", "%3b", "%3B", "+", "%2b", "%2B", "%25", "%", "2", "B",
            ".", "é", "%C3%A9", "%c3%a9", "%20", "@", "%40", "/..", "|", "~", "-", "_", "%5E", "[",
            "]",
        ];
        prop::collection::vec(prop::sample::select(pieces), 0..9)
            .prop_map(|pieces| format!("/{}", pieces.concat()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn expressions_say_what_the_decision_says(
            deny in text(),
            below in any::<bool>(),
            tail in prop_oneof![3 => Just(String::new()), 1 => Just("/x".to_owned()), 1 => Just(";p".to_owned()), 2 => text()],
            same in prop::bool::weighted(0.7),
            other in text(),
            query in prop::sample::select(vec!["", "?", "?/a;é"]),
        ) {
            let raw = if same { format!("{deny}{tail}{query}") } else { format!("{other}{query}") };
            let deny = if below { PathMatch::Prefix(deny.into()) } else { PathMatch::Exact(deny.into()) };
            if let Some(denied) = is_denied(&deny, &raw) {
                let normal = path::normalise_over(&raw, Http::Two).unwrap();
                prop_assert_eq!(fits(&deny, &format!("{normal}{query}")), denied, "{:?} {}", deny, raw);
            }
        }
    }

    #[test]
    fn many_paths_are_few_expressions() {
        let path = |n: u32| PathMatch::Prefix(format!("/api/{}/v{n}", n % 7).into());
        let all: Vec<_> = (0..10_000).filter_map(|n| Spelling::of(&path(n))).collect();
        let found = expressions(&all);
        assert!(
            found.len() < 10 && found.iter().all(|one| one.len() < 2 * LONGEST),
            "{}",
            found.len()
        );
    }
}
