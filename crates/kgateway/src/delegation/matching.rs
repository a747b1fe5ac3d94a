// SPDX-License-Identifier: Apache-2.0
//! In: the matches of a delegating rule and of a rule below it. Out: the matches by which requests come that way.
//! Not here: which routes are asked.

use overrule_source::View;
use serde_json::{Map, Value, json};

/// One match of an HTTPRoute rule, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleMatch {
    /// `PathPrefix`, `Exact` or `RegularExpression`.
    pub path_type: Box<str>,
    /// The path.
    pub path: Box<str>,
    /// Headers, as written.
    pub headers: Vec<Named>,
    /// Query parameters, as written.
    pub query: Vec<Named>,
    /// Method; none = any.
    pub method: Option<Box<str>>,
}

/// A header or query parameter that must fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Named {
    /// Name.
    pub name: Box<str>,
    /// `Exact` or `RegularExpression`.
    pub kind: Box<str>,
    /// Value.
    pub value: Box<str>,
}

const PREFIX: &str = "PathPrefix";

impl RuleMatch {
    /// What a rule without matches takes.
    pub fn everything() -> Self {
        Self {
            path_type: PREFIX.into(),
            path: "/".into(),
            headers: Vec::new(),
            query: Vec::new(),
            method: None,
        }
    }

    /// Reads a match as written.
    pub fn read(view: View<'_>) -> Self {
        let path = view.get("path").filter(|p| !p.is_null());
        let text = |key, default: &str| -> Box<str> {
            path.and_then(|p| p.get(key)).and_then(View::as_str).unwrap_or(default).into()
        };
        Self {
            path_type: text("type", PREFIX),
            path: text("value", "/"),
            headers: Named::list(view.get("headers")),
            query: Named::list(view.get("queryParams")),
            method: view.get("method").and_then(View::as_str).map(Into::into),
        }
    }

    /// Whether a rule with this match can hand requests over.
    pub fn is_prefix(&self) -> bool {
        &*self.path_type == PREFIX
    }

    /// Whether a match of a child lies within this one, as far as the text of both tells.
    pub fn includes(&self, child: &Self) -> bool {
        self.is_prefix()
            && child.path.starts_with(&*self.path)
            && self.headers.iter().all(|h| child.headers.contains(h))
            && self.query.iter().all(|q| child.query.contains(q))
            && (self.method.is_none() || self.method == child.method)
    }

    /// The match of a child that adds its own to that of its parent: the paths joined, everything else united; where
    /// both say something the parent does.
    pub fn joined(&self, child: &Self) -> Self {
        Self {
            path_type: child.path_type.clone(),
            path: join(&self.path, &child.path).into(),
            headers: Named::united(&self.headers, &child.headers),
            query: Named::united(&self.query, &child.query),
            method: self.method.clone().or_else(|| child.method.clone()),
        }
    }

    /// The match as a manifest writes it.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        out.insert("path".to_owned(), json!({"type": &*self.path_type, "value": &*self.path}));
        for (key, list) in [("headers", &self.headers), ("queryParams", &self.query)] {
            if !list.is_empty() {
                let items = list
                    .iter()
                    .map(|n| json!({"type": &*n.kind, "name": &*n.name, "value": &*n.value}));
                out.insert(key.to_owned(), items.collect());
            }
        }
        if let Some(method) = &self.method {
            out.insert("method".to_owned(), json!(&**method));
        }
        Value::Object(out)
    }
}

impl Named {
    fn list(list: Option<View<'_>>) -> Vec<Self> {
        let text = |item: View<'_>, key, default: &str| -> Box<str> {
            item.get(key).and_then(View::as_str).unwrap_or(default).into()
        };
        let items = list.into_iter().flat_map(View::items);
        items
            .map(|item| Self {
                name: text(item, "name", ""),
                kind: text(item, "type", "Exact"),
                value: text(item, "value", ""),
            })
            .collect()
    }

    fn united(parent: &[Self], child: &[Self]) -> Vec<Self> {
        let new = |c: &&Self| !parent.iter().any(|p| p.name == c.name);
        let mut all: Vec<Self> = parent.iter().chain(child.iter().filter(new)).cloned().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

/// Two paths as one, cleaned: one slash between segments, none at the end, `.` and `..` followed.
fn join(parent: &str, child: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in parent.split('/').chain(child.split('/')) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Named, RuleMatch, join};

    fn prefix(path: &str) -> RuleMatch {
        RuleMatch { path: path.into(), ..RuleMatch::everything() }
    }

    fn named(name: &str, value: &str) -> Named {
        Named { name: name.into(), kind: "Exact".into(), value: value.into() }
    }

    #[test]
    fn a_child_must_begin_with_the_parent_and_keep_its_conditions() {
        assert!(prefix("/a").includes(&prefix("/a/1")));
        assert!(prefix("/a").includes(&prefix("/ab")), "texts are compared, not segments");
        assert!(!prefix("/a").includes(&prefix("/b")));
        let strict = RuleMatch {
            headers: vec![named("X-Env", "p")],
            method: Some("GET".into()),
            ..prefix("/a")
        };
        assert!(!strict.includes(&prefix("/a/1")));
        let child = RuleMatch {
            headers: vec![named("X-Env", "p"), named("y", "z")],
            method: Some("GET".into()),
            ..prefix("/a/1")
        };
        assert!(strict.includes(&child));
        let exact = RuleMatch { path_type: "Exact".into(), ..prefix("/a") };
        assert!(!exact.includes(&exact), "only prefixes are delegated");
        assert!(prefix("/a").includes(&exact));
    }

    #[test]
    fn an_inheriting_child_adds_to_the_parent() {
        let parent = RuleMatch {
            headers: vec![named("b", "parent")],
            method: Some("GET".into()),
            ..prefix("/api")
        };
        let child = RuleMatch {
            path_type: "Exact".into(),
            headers: vec![named("b", "child"), named("a", "child")],
            method: Some("POST".into()),
            ..prefix("/x")
        };
        let joined = parent.joined(&child);
        assert_eq!((&*joined.path_type, &*joined.path), ("Exact", "/api/x"));
        assert_eq!(joined.headers, [named("a", "child"), named("b", "parent")]);
        assert_eq!(joined.method.as_deref(), Some("GET"));
    }

    #[test]
    fn paths_are_joined_with_one_slash() {
        for (parent, child, joined) in [
            ("/a", "/", "/a"),
            ("/", "/x", "/x"),
            ("/", "/", "/"),
            ("/a/", "/x", "/a/x"),
            ("/a", "x", "/a/x"),
            ("/a", "/y/", "/a/y"),
            ("/a/b", "../c", "/a/c"),
            ("/", "..", "/"),
        ] {
            assert_eq!(join(parent, child), joined);
        }
    }
}
