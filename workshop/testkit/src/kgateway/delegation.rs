// SPDX-License-Identifier: Apache-2.0
//! In: a route that is attached to a listener. Out: every chain of routes and rules below it that ends in an answer.
//! Not here: listeners, policies.
//!
//! A rule that delegates ends a chain itself in two cases: it has ordinary backends too, or it delegates in vain, which
//! is a 500. In vain means: no child fits, or one of the children is a route the chain already went through.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    GATEWAY_API, OracleSettings, annotation, full_name, is_called, label, list, namespace, of_kind,
    text, text_or,
};

const INHERIT_MATCHER: &str = "delegation.kgateway.dev/inherit-parent-matcher";
const LABEL: &str = "delegation.kgateway.dev/label";
const LABEL_GROUP: &str = "delegation.kgateway.dev";

/// A chain that ends in an answer.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// Routes from root to leaf, and the index of the rule in each.
    pub chain: Vec<(String, usize)>,
    /// What the last rule is called.
    pub leaf: String,
    /// What requests must match.
    pub matches: Vec<Value>,
    /// Whether the answer is 500 because the last rule delegates in vain.
    pub dead: bool,
}

pub(super) fn below(
    objects: &[Value],
    settings: &OracleSettings,
    kind: &'static str,
    root: &Value,
) -> Vec<End> {
    let mut ends = Vec::new();
    for (index, rule) in list(root, "/spec/rules").iter().enumerate() {
        let matches = match list(rule, "/matches") {
            [] => vec![json!({"path": {"type": "PathPrefix", "value": "/"}})],
            written => written.to_vec(),
        };
        let chain = vec![(full_name(root), index)];
        if kind == "HTTPRoute" {
            descend(objects, settings, root, rule, &chain, &matches, &mut ends);
        } else {
            ends.push(End { leaf: name(rule, index), chain, matches, dead: false });
        }
    }
    ends
}

fn name(rule: &Value, index: usize) -> String {
    match text(rule, "/name") {
        "" => format!("#{index}"),
        written => written.to_owned(),
    }
}

/// Follows one rule, the last of the chain, down to all ends.
fn descend(
    objects: &[Value],
    settings: &OracleSettings,
    route: &Value,
    rule: &Value,
    chain: &[(String, usize)],
    matches: &[Value],
    ends: &mut Vec<End>,
) {
    let index = chain.last().expect("the rule itself").1;
    let end = |dead| End {
        chain: chain.to_vec(),
        leaf: name(rule, index),
        matches: matches.to_vec(),
        dead,
    };
    let backends = list(rule, "/backendRefs");
    if !backends.iter().any(delegates) {
        return ends.push(end(false));
    }
    let (mut cyclic, mut valid) = (false, false);
    let mut entered = BTreeSet::new();
    let mut below = Vec::new();
    for backend in backends.iter().filter(|backend| delegates(backend)) {
        let meant = children(objects, settings, route, std::slice::from_ref(backend));
        let is_above = |child: &&&Value| chain.iter().any(|(above, _)| is_called(child, above));
        // One child that leads back spoils its reference.
        if meant.iter().filter(|child| permits(child, route)).any(|child| is_above(&child)) {
            cyclic = true;
            continue;
        }
        below.extend(meant.into_iter().filter(|child| entered.insert(full_name(child))));
    }
    for child in below {
        if !permits(child, route) || !list(child, "/spec/hostnames").is_empty() {
            continue;
        }
        for (index, rule) in list(child, "/spec/rules").iter().enumerate() {
            let fitting = fitting(matches, rule, inherits(child));
            if !fitting.is_empty() {
                valid = true;
                let chain = [chain, &[(full_name(child), index)]].concat();
                descend(objects, settings, child, rule, &chain, &fitting, ends);
            }
        }
    }
    let dead = cyclic || !valid;
    if dead || !backends.iter().all(delegates) {
        ends.push(end(dead));
    }
}

fn delegates(backend: &Value) -> bool {
    let group_kind = (text(backend, "/group"), text(backend, "/kind"));
    group_kind == (GATEWAY_API, "HTTPRoute") || group_kind == (LABEL_GROUP, "label")
}

/// Every route that one of the references means, once.
fn children<'w>(
    objects: &'w [Value],
    settings: &OracleSettings,
    parent: &Value,
    backends: &[Value],
) -> Vec<&'w Value> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for backend in backends.iter().filter(|backend| delegates(backend)) {
        let wanted = text(backend, "/name");
        let place = text_or(backend, "/namespace", namespace(parent));
        for route in of_kind(objects, GATEWAY_API, "HTTPRoute") {
            let meant = if text(backend, "/kind") == "label" {
                label(route, LABEL) == Some(wanted)
                    && (place == settings.delegation_wildcard_namespace
                        || place == namespace(route))
            } else {
                ["", "*", text(route, "/metadata/name")].contains(&wanted)
                    && place == namespace(route)
            };
            if meant && seen.insert(full_name(route)) {
                found.push(route);
            }
        }
    }
    found
}

/// A child without parentRefs is anybody's; one with them must name the parent, and say in full that it is a route.
fn permits(child: &Value, parent: &Value) -> bool {
    let references = list(child, "/spec/parentRefs");
    references.is_empty()
        || references.iter().any(|reference| {
            text(reference, "/group") == GATEWAY_API
                && text(reference, "/kind") == "HTTPRoute"
                && text(reference, "/name") == text(parent, "/metadata/name")
                && text_or(reference, "/namespace", namespace(child)) == namespace(parent)
        })
}

fn inherits(child: &Value) -> bool {
    let written = annotation(child, INHERIT_MATCHER).unwrap_or("").to_ascii_lowercase();
    ["true", "yes", "enabled"].contains(&written.as_str())
}

/// The matches of a child rule that are within one of the parent's, or that became so by inheriting.
fn fitting(parents: &[Value], rule: &Value, inherits: bool) -> Vec<Value> {
    let mut found = Vec::new();
    for parent in parents {
        let children = list(rule, "/matches");
        if inherits && children.is_empty() {
            found.push(parent.clone());
        }
        for child in children {
            if inherits {
                found.push(inherited(parent, child));
            } else if extends(parent, child) {
                found.push(child.clone());
            }
        }
    }
    found
}

/// Type and value of the path of a match.
fn path(value: &Value) -> (&str, &str) {
    (text_or(value, "/path/type", "PathPrefix"), text_or(value, "/path/value", "/"))
}

fn extends(parent: &Value, child: &Value) -> bool {
    let same = |a: &Value, b: &Value| {
        (text(a, "/name"), text(a, "/value"), text_or(a, "/type", "Exact"))
            == (text(b, "/name"), text(b, "/value"), text_or(b, "/type", "Exact"))
    };
    let contains = |field: &str| {
        list(parent, field).iter().all(|p| list(child, field).iter().any(|c| same(p, c)))
    };
    path(parent).0 == "PathPrefix"
        && path(child).1.starts_with(path(parent).1)
        && contains("/headers")
        && contains("/queryParams")
        && parent.get("method").is_none_or(|method| child.get("method") == Some(method))
}

fn inherited(parent: &Value, child: &Value) -> Value {
    let mut joined = Map::new();
    let value = join(path(parent).1, path(child).1);
    joined.insert(String::from("path"), json!({"type": path(child).0, "value": value}));
    for field in ["headers", "queryParams"] {
        let theirs = child[field].as_array().into_iter().flatten();
        let mut both: Vec<Value> =
            parent[field].as_array().into_iter().flatten().cloned().collect();
        for new in theirs {
            if both.iter().all(|known| known["name"] != new["name"]) {
                both.push(new.clone());
            }
        }
        both.sort_by_key(|entry| text(entry, "/name").to_owned());
        if !both.is_empty() {
            joined.insert(field.to_owned(), Value::Array(both));
        }
    }
    if let Some(method) = parent.get("method").or(child.get("method")) {
        joined.insert(String::from("method"), method.clone());
    }
    Value::Object(joined)
}

/// One path behind the other, without a slash too many.
fn join(parent: &str, child: &str) -> String {
    let steps: Vec<&str> =
        parent.split('/').chain(child.split('/')).filter(|step| !step.is_empty()).collect();
    format!("/{}", steps.join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{extends, inherited, join};

    #[test]
    fn paths_join() {
        let table = [("/", "/", "/"), ("/a", "/", "/a"), ("/a/", "/b", "/a/b"), ("/", "/b/", "/b")];
        for (parent, child, joined) in table {
            assert_eq!(join(parent, child), joined, "{parent} and {child}");
        }
    }

    #[test]
    fn a_child_match_extends_its_parents() {
        let parent = json!({"path": {"value": "/a"}, "headers": [{"name": "x", "value": "1"}]});
        let header =
            json!([{"name": "y", "value": "2"}, {"name": "x", "value": "1", "type": "Exact"}]);
        let table = [
            (json!({"path": {"value": "/a/1"}, "headers": header}), true),
            (json!({"path": {"value": "/ab", "type": "Exact"}, "headers": header}), true),
            (json!({"path": {"value": "/b"}, "headers": header}), false),
            (json!({"path": {"value": "/a"}}), false),
            (json!({"path": {"value": "/a"}, "headers": [{"name": "x", "value": "2"}]}), false),
        ];
        for (child, fits) in table {
            assert_eq!(extends(&parent, &child), fits, "{child}");
        }
        let exact = json!({"path": {"type": "Exact", "value": "/a"}});
        assert!(!extends(&exact, &json!({"path": {"value": "/a/b"}})));
        let get = json!({"method": "GET"});
        assert!(extends(&get, &json!({"path": {"value": "/b"}, "method": "GET"})));
        assert!(!extends(&get, &json!({"path": {"value": "/b"}})));
    }

    #[test]
    fn what_is_inherited() {
        let parent = json!({"path": {"value": "/a"}, "method": "GET",
            "headers": [{"name": "z", "value": "p"}, {"name": "x", "value": "p"}]});
        let child = json!({"path": {"type": "Exact", "value": "/b"}, "method": "PUT",
            "headers": [{"name": "x", "value": "c"}, {"name": "y", "value": "c"}]});
        let expected = json!({"path": {"type": "Exact", "value": "/a/b"}, "method": "GET", "headers": [
            {"name": "x", "value": "p"}, {"name": "y", "value": "c"}, {"name": "z", "value": "p"}]});
        assert_eq!(inherited(&parent, &child), expected);
    }
}
