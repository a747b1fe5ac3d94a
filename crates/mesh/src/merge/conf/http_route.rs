// SPDX-License-Identifier: Apache-2.0
//! In: rules of MeshHTTPRoutes, as read. Out: the text and the hash that identify the matches of a rule.
//! Not here: merging rules (`plan`), which of several routes a request takes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use overrule_engine::{Leaf, Traced};
use overrule_source::Documents;
use sha2::{Digest, Sha256};

/// The list of a conf that holds rules.
pub const RULES: &str = "rules";
/// The member of a rule that identifies it.
pub const MATCHES: &str = "matches";
/// The list of a conf that splits it.
pub const HOSTNAMES: &str = "hostnames";

/// A member in the order of Kuma's types.
struct Member {
    name: &'static str,
    shape: Shape,
}

enum Shape {
    Text,
    /// A text that is left out when it is empty.
    TextIfAny,
    Object(&'static [Member]),
    List(&'static [Member]),
}

const fn text(name: &'static str) -> Member {
    Member { name, shape: Shape::Text }
}

static MATCH: &[Member] = &[
    Member { name: "path", shape: Shape::Object(&[text("value"), text("type")]) },
    text("method"),
    Member {
        name: "queryParams",
        shape: Shape::List(&[text("type"), text("name"), text("value")]),
    },
    Member {
        name: "headers",
        shape: Shape::List(&[
            text("type"),
            text("name"),
            Member { name: "value", shape: Shape::TextIfAny },
        ]),
    },
];

/// The hashes of the rules of a conf.
pub(crate) fn hashes(documents: &Documents, conf: &Traced) -> Vec<String> {
    let rules = conf.get(documents, RULES).map(|r| r.items(documents)).unwrap_or_default();
    let hash = |rule: &Traced| hash_of_matches(documents, rule.get(documents, MATCHES).as_ref());
    rules.iter().map(hash).collect()
}

/// The hash of the matches of a rule, as labels and the inspect API show it.
pub fn hash_of_matches(documents: &Documents, matches: Option<&Traced>) -> String {
    STANDARD.encode(Sha256::digest(text_of_matches(documents, matches)))
}

/// The matches of a rule as compact JSON with members in the order of Kuma's types, escaped as Go does. Equal texts are
/// equal matches.
pub fn text_of_matches(documents: &Documents, matches: Option<&Traced>) -> String {
    let mut out = String::new();
    match matches {
        Some(matches) => list(documents, matches, MATCH, &mut out),
        None => out.push_str("null"),
    }
    out
}

fn list(documents: &Documents, value: &Traced, members: &[Member], out: &mut String) {
    out.push('[');
    for (i, item) in value.items(documents).iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        object(documents, item, members, out);
    }
    out.push(']');
}

fn object(documents: &Documents, value: &Traced, members: &[Member], out: &mut String) {
    out.push('{');
    let mut first = true;
    for Member { name, shape } in members {
        let Some(value) = value.get(documents, name).filter(|v| !v.is_null(documents)) else {
            continue;
        };
        let scalar = json_text(documents, &value);
        if matches!(shape, Shape::TextIfAny) && scalar == "\"\"" {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        out.push_str(&format!("\"{name}\":"));
        match shape {
            Shape::Text | Shape::TextIfAny => out.push_str(&scalar),
            Shape::Object(members) => object(documents, &value, members, out),
            Shape::List(members) => list(documents, &value, members, out),
        }
    }
    out.push('}');
}

/// A scalar as a JSON string; a mapping or list where a text should be counts as an empty one.
fn json_text(documents: &Documents, value: &Traced) -> String {
    let json = match value.leaf(documents) {
        Leaf::Scalar(view) => serde_json::Value::from(view.scalar_text().unwrap_or("")).to_string(),
        Leaf::Implied(json) => json.to_owned(),
        Leaf::Map | Leaf::List => "\"\"".to_owned(),
    };
    go_escaped(&json)
}

/// Go escapes what could end a script element, and two separators that old scripts take for line ends.
fn go_escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}
