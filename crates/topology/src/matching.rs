// SPDX-License-Identifier: Apache-2.0
//! In: one match of a rule and a request. Out: whether it fits, and how specific it is. Not here: hostnames, routes.
//!
//! Matches are read from the tree when a request is asked about. What cannot be read fits nothing. Regular expressions
//! must fit the whole value, as in Envoy, and are bounded in size.

use overrule_source::View;
use regex::bytes::RegexBuilder;

use super::graph::RouteKind;
use super::request::HttpRequest;

/// Most bytes a compiled expression may take.
const REGEX_SIZE: usize = 1 << 20;

/// How specific a match is. Greater wins; the keys are compared in the order of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Weight {
    /// The path of an HTTP match.
    pub(super) path: PathWeight,
    /// Length of the service of a gRPC match.
    pub(super) service: usize,
    /// Whether an HTTP match has a method; for gRPC the length of the method.
    pub(super) method: usize,
    /// Number of headers.
    pub(super) headers: usize,
    /// Number of query parameters.
    pub(super) query: usize,
}

/// How specific a path match is. Where regular expressions stand is up to the implementation; here as in kgateway,
/// between exact paths and prefixes, and not compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) enum PathWeight {
    /// No path, as for gRPC.
    #[default]
    None,
    /// A prefix of this many characters.
    Prefix(usize),
    /// A regular expression.
    Regex,
    /// The whole path.
    Exact,
}

/// How specific a match of an HTTPRoute is for a request, if it fits; greater wins.
pub fn http_weight(matched: View<'_>, request: &HttpRequest) -> Option<Weight> {
    http(matched, request)
}

/// The weight of a rule without matches: that of the prefix `/`.
pub(super) fn everything(kind: RouteKind) -> Weight {
    match kind {
        RouteKind::Http => Weight { path: PathWeight::Prefix(1), ..Weight::default() },
        _ => Weight::default(),
    }
}

/// The weight of an HTTP match, if it fits.
pub(super) fn http(matched: View<'_>, request: &HttpRequest) -> Option<Weight> {
    let path = match matched.get("path").filter(|v| !v.is_null()) {
        Some(path) => path_weight(path, &request.path)?,
        None => PathWeight::Prefix(1),
    };
    let method = usize::from(method(matched, request)?);
    let headers = named(matched.get("headers"), |name| request.header(name), true)?;
    let query = named(matched.get("queryParams"), |name| first_of(&request.query, name), false)?;
    Some(Weight { path, service: 0, method, headers, query })
}

/// The weight of a gRPC match, if it fits.
pub(super) fn grpc(matched: View<'_>, request: &HttpRequest) -> Option<Weight> {
    let path = request.path.strip_prefix('/')?;
    let (service, method) = path.split_once('/')?;
    let mut weight = Weight::default();
    if let Some(wanted) = matched.get("method").filter(|v| !v.is_null()) {
        let is_regex = is_regex(wanted)?;
        weight.service = part(wanted, "service", service, is_regex)?;
        weight.method = part(wanted, "method", method, is_regex)?;
    }
    weight.headers = named(matched.get("headers"), |name| request.header(name), true)?;
    Some(weight)
}

/// The length of one half of a gRPC method match, if it fits; 0 if it is not written.
fn part(wanted: View<'_>, key: &str, value: &str, is_regex: bool) -> Option<usize> {
    let Some(view) = wanted.get(key).filter(|v| !v.is_null()) else { return Some(0) };
    let text = view.as_str()?;
    let fits = if is_regex { fits(text, value) } else { text == value };
    fits.then_some(text.len())
}

fn path_weight(wanted: View<'_>, path: &str) -> Option<PathWeight> {
    let value = match wanted.get("value").filter(|v| !v.is_null()) {
        Some(value) => value.as_str()?,
        None => "/",
    };
    let kind = match wanted.get("type").filter(|v| !v.is_null()) {
        Some(kind) => kind.as_str()?,
        None => "PathPrefix",
    };
    match kind {
        "Exact" => (value == path).then_some(PathWeight::Exact),
        "PathPrefix" => is_prefix(value, path)
            .then(|| PathWeight::Prefix(value.trim_end_matches('/').len().max(1))),
        "RegularExpression" => fits(value, path).then_some(PathWeight::Regex),
        _ => None,
    }
}

/// Whether the segments of `prefix` begin those of `path`. A slash at the end of the prefix means nothing.
pub(super) fn is_prefix(prefix: &str, path: &str) -> bool {
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether there is a method to match; nothing if it does not fit. `methods` is the experimental list.
fn method(matched: View<'_>, request: &HttpRequest) -> Option<bool> {
    let list = matched.get("methods").filter(|v| !v.is_empty());
    if let Some(list) = list {
        return list.items().any(|m| m.as_str() == Some(&request.method)).then_some(true);
    }
    match matched.get("method").filter(|v| !v.is_null()) {
        Some(method) => (method.as_str()? == request.method).then_some(true),
        None => Some(false),
    }
}

fn first_of(pairs: &[(String, String)], name: &str) -> Option<String> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
}

/// How many headers or parameters a match demands; nothing if one of them does not fit. Of several entries for one
/// name only the first counts.
fn named(
    list: Option<View<'_>>,
    value_of: impl Fn(&str) -> Option<String>,
    any_case: bool,
) -> Option<usize> {
    let mut seen: Vec<&str> = Vec::new();
    for item in list.into_iter().flat_map(View::items) {
        let name = item.get("name")?.as_str()?;
        let known = |s: &&str| if any_case { s.eq_ignore_ascii_case(name) } else { *s == name };
        if seen.iter().any(known) {
            continue;
        }
        seen.push(name);
        let wanted = item.get("value")?.as_str()?;
        let value = value_of(name)?;
        let fits = if is_regex(item)? { fits(wanted, &value) } else { wanted == value };
        if !fits {
            return None;
        }
    }
    Some(seen.len())
}

/// Whether `type` says regular expression; nothing if it says what nobody knows.
fn is_regex(item: View<'_>) -> Option<bool> {
    match item.get("type").filter(|v| !v.is_null()) {
        None => Some(false),
        Some(kind) => match kind.as_str()? {
            "Exact" => Some(false),
            "RegularExpression" => Some(true),
            _ => None,
        },
    }
}

fn fits(expression: &str, value: &str) -> bool {
    let build = |text: &str| RegexBuilder::new(text).unicode(false).size_limit(REGEX_SIZE).build();
    // By itself first: `a)|(b` must not become valid through the text around it.
    let whole = build(expression).and_then(|_| build(&format!("^(?:{expression})$")));
    whole.is_ok_and(|regex| regex.is_match(value.as_bytes()))
}
