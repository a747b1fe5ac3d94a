// SPDX-License-Identifier: Apache-2.0
//! In: matchers and requests. Out: what Envoy does with them, as measured on the real one. Not here: Envoy.

use overrule_access::{AccessRule, Effect, Identity, Match, PathMatch, RuleSource};
use overrule_envoy::proto::matcher::{
    ActionConfig, Input, Matcher, OnMatch, Predicate, StringMatcher,
};
use overrule_envoy::proto::rbac::RbacAction;

/// What Envoy sees of a client and its request.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The URI SANs, joined with commas; none if the certificate has none.
    pub san: Option<String>,
    /// The server name.
    pub sni: Option<String>,
    /// The method.
    pub method: Option<String>,
    /// The path with its query.
    pub path: Option<String>,
}

impl Seen {
    fn get(&self, input: &Input) -> Option<&str> {
        match input {
            Input::UriSan {} => self.san.as_deref(),
            Input::ServerName {} => self.sni.as_deref(),
            Input::RequestHeader { header_name: ":method" } => self.method.as_deref(),
            Input::RequestHeader { header_name: ":path" } => self.path.as_deref(),
            Input::RequestHeader { header_name } => panic!("{header_name}"),
        }
    }
}

/// An answer: the action and its name.
pub type Answer = (RbacAction, String);

/// What a matcher answers. A nested matcher that answers nothing makes the outer one go on.
pub fn ask(matcher: &Matcher<'_>, seen: &Seen) -> Option<Answer> {
    let list = matcher.matcher_list.iter().flat_map(|list| &list.matchers);
    for field in list.filter(|field| holds(&field.predicate, seen)) {
        if let Some(answer) = follow(&field.on_match, seen) {
            return Some(answer);
        }
    }
    if let Some(tree) = &matcher.matcher_tree
        && let Some(value) = seen.get(&tree.input.typed_config)
    {
        let exact = tree.exact_match_map.as_ref().and_then(|map| map.map.get(value));
        let prefixes = tree.prefix_match_map.iter().flat_map(|map| &map.map);
        let mut prefixes: Vec<_> = prefixes.filter(|(key, _)| value.starts_with(&***key)).collect();
        prefixes.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
        let next = exact.into_iter().chain(prefixes.into_iter().map(|(_, next)| next));
        if let Some(answer) = next.into_iter().find_map(|next| follow(next, seen)) {
            return Some(answer);
        }
    }
    matcher.on_no_match.as_ref().and_then(|next| follow(next, seen))
}

fn follow(next: &OnMatch<'_>, seen: &Seen) -> Option<Answer> {
    match next {
        OnMatch::Action(action) => {
            let ActionConfig::Rbac { action, name } = &action.typed_config;
            Some((*action, name.to_string()))
        }
        OnMatch::Matcher(matcher) => ask(matcher, seen),
    }
}

fn holds(predicate: &Predicate<'_>, seen: &Seen) -> bool {
    match predicate {
        Predicate::OrMatcher(list) => {
            assert!(list.predicate.len() > 1, "Envoy refuses fewer than two");
            list.predicate.iter().any(|part| holds(part, seen))
        }
        Predicate::AndMatcher(list) => {
            assert!(list.predicate.len() > 1, "Envoy refuses fewer than two");
            list.predicate.iter().all(|part| holds(part, seen))
        }
        Predicate::SinglePredicate(single) => {
            let value = seen.get(&single.input.typed_config);
            value.is_some_and(|value| match &single.value_match {
                StringMatcher::Contains(part) => value.contains(part),
                StringMatcher::Exact(wanted) => value == wanted,
                StringMatcher::Prefix(wanted) => {
                    assert!(!wanted.is_empty(), "Envoy refuses it");
                    value.starts_with(&**wanted)
                }
                // A byte of any value is `\C` there and `(?s-u:.)` here.
                StringMatcher::SafeRegex(regex) => {
                    let whole = format!("^(?:{})$", regex.regex.replace("\\C", "(?s-u:.)"));
                    regex::bytes::Regex::new(&whole).unwrap().is_match(value.as_bytes())
                }
            })
        }
        Predicate::NotMatcher(inner) => !holds(inner, seen),
        Predicate::Unset {} => panic!("Envoy refuses it"),
    }
}

/// Whether a match means a request, said once more and plainly.
pub fn means(wanted: &Match, seen: &Seen) -> bool {
    let identity = match &wanted.identity {
        None => true,
        Some(Identity::Exact(id)) => seen.san.as_deref() == Some(id),
        Some(Identity::Prefix(id)) => seen.san.as_ref().is_some_and(|san| san.starts_with(&**id)),
    };
    let same = |wanted: &Option<Box<str>>, has: &Option<String>| {
        wanted.is_none() || wanted.as_deref() == has.as_deref()
    };
    let has = seen.path.as_deref().map(|path| path.split('?').next().unwrap());
    let path = match &wanted.path {
        None => true,
        Some(PathMatch::Exact(path)) => has == Some(path),
        Some(PathMatch::Prefix(path)) => has.is_some_and(|has| {
            let rest = has.strip_prefix(&**path);
            rest.is_some_and(|r| r.is_empty() || r.starts_with('/') || path.ends_with('/'))
        }),
    };
    identity && same(&wanted.sni, &seen.sni) && same(&wanted.method, &seen.method) && path
}

/// A rule; its policy is also where it is written.
pub fn rule(effect: Effect, matches: Match, policy: u32) -> AccessRule {
    AccessRule { effect, matches, source: RuleSource(policy), policy }
}

/// A match on an identity.
pub fn exact(id: &str) -> Match {
    Match { identity: Some(Identity::Exact(id.into())), ..Match::default() }
}

/// A match on how an identity begins.
pub fn prefix(id: &str) -> Match {
    Match { identity: Some(Identity::Prefix(id.into())), ..Match::default() }
}

/// Names for so many policies.
pub fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("kri_mtp_default___p{n}_")).collect()
}
