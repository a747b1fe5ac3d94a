// SPDX-License-Identifier: Apache-2.0
//! In: the conf of a permission as written. Out: matches, and everything that keeps it from being one. Not here: the
//! order of matches.
//!
//! What a match may say is a table: one line and one reader per input.

use overrule_access::{Http, Identity, Match, PathMatch};
use overrule_model::nearest;
use overrule_source::{Documents, NodeKind, NodeRef, View};

use super::{LISTS, spiffe};
use crate::policy::Policy;
use crate::validate::{AdmissionProblem, Against};

/// Something a match may look at.
pub struct Input {
    /// Its member.
    pub name: &'static str,
    /// Reads it into a match; `Err` says which member is wrong and why.
    read: fn(View<'_>, &mut Match) -> Result<(), Flaw>,
    /// Whether the release has it.
    pub in_release: bool,
}

/// What is wrong with an input: the member below it, and what it must be.
struct Flaw {
    member: &'static str,
    message: String,
}

fn flaw(member: &'static str, message: impl Into<String>) -> Flaw {
    Flaw { member, message: message.into() }
}

/// Everything a match may look at.
pub static INPUTS: [Input; 5] = [
    Input { name: "spiffeId", read: identity, in_release: false },
    Input { name: "spiffeID", read: identity, in_release: true },
    Input { name: "sni", read: sni, in_release: true },
    Input { name: "method", read: method, in_release: false },
    Input { name: "path", read: path, in_release: false },
];

fn text<'v>(of: View<'v>, key: &'static str) -> Result<&'v str, Flaw> {
    let found = of.get(key).filter(|v| !v.is_null()).ok_or_else(|| flaw(key, "must be set"))?;
    found.as_str().ok_or_else(|| flaw(key, "must be a string"))
}

/// The type and value of an input, and nothing else.
fn typed<'v>(of: View<'v>, types: &[&str]) -> Result<(&'v str, &'v str), Flaw> {
    if of.kind() != NodeKind::Map {
        return Err(flaw("", "must be an object with `type` and `value`"));
    }
    if let Some((key, _)) = of.entries().find(|(k, _)| !matches!(k.key_text(), "type" | "value")) {
        return Err(flaw("", format!("has an unknown field `{}`", key.key_text())));
    }
    let (kind, value) = (text(of, "type")?, text(of, "value")?);
    if !types.contains(&kind) {
        let known = types.join(", ");
        let message = format!("unrecognized type \"{kind}\", supported values are: {known}");
        return Err(flaw("type", message));
    }
    if value.is_empty() {
        return Err(flaw("value", "must be set"));
    }
    Ok((kind, value))
}

fn identity(of: View<'_>, into: &mut Match) -> Result<(), Flaw> {
    let (kind, value) = typed(of, &["Exact", "Prefix"])?;
    let wrong = match kind {
        "Exact" => spiffe::flaw(value),
        _ => spiffe::prefix_flaw(value),
    };
    if let Some(why) = wrong {
        return Err(flaw("value", format!("must be a valid Spiffe ID: {why}")));
    }
    if into.identity.is_some() {
        return Err(flaw("", "is given twice: `spiffeId` and `spiffeID` are the same"));
    }
    into.identity = Some(match kind {
        "Exact" => Identity::Exact(value.into()),
        _ => Identity::Prefix(value.into()),
    });
    Ok(())
}

fn sni(of: View<'_>, into: &mut Match) -> Result<(), Flaw> {
    let (_, value) = typed(of, &["Exact"])?;
    if value.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(flaw("value", "can never match: server names are compared in lower case"));
    }
    into.sni = Some(value.into());
    Ok(())
}

fn method(of: View<'_>, into: &mut Match) -> Result<(), Flaw> {
    let value = match of.as_str() {
        Some(value) => value,
        None => typed(of, &["Exact"])?.1,
    };
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if value.is_empty() || !value.bytes().all(token) {
        return Err(flaw("", format!("`{value}` is not an HTTP method")));
    }
    into.method = Some(value.into());
    Ok(())
}

fn path(of: View<'_>, into: &mut Match) -> Result<(), Flaw> {
    let (kind, value) = typed(of, &["Exact", "Prefix", "PathPrefix"])?;
    if !value.starts_with('/') {
        return Err(flaw("value", "must begin with `/`"));
    }
    if value.contains(['?', '#']) {
        return Err(flaw(
            "value",
            "must not have a query or fragment: paths are compared without them",
        ));
    }
    // HTTP/2 takes more, so that there is a form to write for what it takes.
    match overrule_access::path::normalise_over(value, Http::Two) {
        Ok(normal) if normal == value => {}
        Ok(normal) => {
            let message =
                format!("can never match: paths are compared normalised; write `{normal}`");
            return Err(flaw("value", message));
        }
        Err(_) => return Err(flaw("value", "can never match: a proxy refuses such a path")),
    }
    into.path = Some(match kind {
        "Exact" => PathMatch::Exact(value.into()),
        _ => PathMatch::Prefix(value.into()),
    });
    Ok(())
}

/// The matches of an element of `rules`: list, place in it, match, node. What is wrong is left out; see [`problems`].
pub(super) fn matches(
    documents: &Documents,
    entry: NodeRef,
) -> Vec<(&'static str, u32, Match, NodeRef)> {
    let mut found = Vec::new();
    let conf = documents.view(entry).get("default");
    for list in LISTS {
        let items = conf.and_then(|c| c.get(list)).into_iter().flat_map(View::items);
        for (index, item) in (0..).zip(items) {
            let mut wrong = Vec::new();
            if let Some(one) = one(item, &mut |member, _| wrong.push(member.to_owned())) {
                found.push((list, index, one, NodeRef { doc: entry.doc, node: item.id() }));
            }
        }
    }
    found
}

/// Reads one match; none if anything is wrong with it. `say` is told the member and what is wrong.
fn one(item: View<'_>, say: &mut dyn FnMut(&str, String)) -> Option<Match> {
    if item.kind() != NodeKind::Map {
        say("", "must be an object".to_owned());
        return None;
    }
    let mut read = Match::default();
    let mut good = true;
    for (key, value) in item.entries() {
        let name = key.key_text();
        let Some(input) = INPUTS.iter().find(|i| i.name == name) else {
            let near = nearest(name, INPUTS.iter().map(|i| i.name), 1);
            let near = near.first().map(|n| format!(", did you mean `{n}`?")).unwrap_or_default();
            say(name, format!("unknown field{near}; a match with an unknown field admits nobody"));
            good = false;
            continue;
        };
        if value.is_null() {
            continue;
        }
        if let Err(flaw) = (input.read)(value, &mut read) {
            let member = match flaw.member {
                "" => name.to_owned(),
                member => format!("{name}.{member}"),
            };
            say(&member, flaw.message);
            good = false;
        }
    }
    if good && read == Match::default() {
        say("", "is empty: it would match everybody; set at least one of its fields".to_owned());
        return None;
    }
    good.then_some(read)
}

/// The identity of a match that ends with a slash, which the release refuses.
fn trailing_slash(item: View<'_>) -> Option<View<'_>> {
    let identity = item.get("spiffeID")?;
    let value = identity.get("value").and_then(View::as_str);
    value.filter(|v| v.ends_with('/')).map(|_| identity)
}

/// Everything that is wrong with the rules of a permission.
pub fn problems(documents: &Documents, policy: &Policy) -> Vec<AdmissionProblem> {
    let mut found = Vec::new();
    for entry in &policy.rules {
        let Some(conf) = documents.view(entry.node).get("default") else { continue };
        let spec = documents.view(policy.root).get("spec").map(|s| s.id());
        let short = spec == Some(entry.node.node);
        let path = if short {
            "spec.default".to_owned()
        } else {
            format!("spec.rules[{}].default", entry.index)
        };
        let mut push = |node: View<'_>, field: String, message: String, release_only: bool| {
            let node = NodeRef { doc: entry.node.doc, node: node.id() };
            let against = Against::Rules;
            found.push(AdmissionProblem {
                node,
                field,
                message,
                help: None,
                release_only,
                against,
            });
        };
        if conf.kind() != NodeKind::Map && !conf.is_null() {
            push(conf, path, "must be an object".to_owned(), false);
            continue;
        }
        for (key, value) in conf.entries() {
            let list = key.key_text();
            if !LISTS.contains(&list) {
                let message = format!("unknown field; known here: {}", LISTS.join(", "));
                push(key, format!("{path}.{list}"), message, false);
                continue;
            }
            if value.kind() != NodeKind::List && !value.is_null() {
                push(value, format!("{path}.{list}"), "must be a list".to_owned(), false);
                continue;
            }
            for (index, item) in value.items().enumerate() {
                let at = format!("{path}.{list}[{index}]");
                let mut said: Vec<(String, String)> = Vec::new();
                one(item, &mut |member, message| said.push((member.to_owned(), message)));
                for (member, message) in said {
                    let field =
                        if member.is_empty() { at.clone() } else { format!("{at}.{member}") };
                    push(item, field, message, false);
                }
                if let Some(prefix) = trailing_slash(item) {
                    let message = "must be a valid Spiffe ID".to_owned();
                    push(prefix, format!("{at}.spiffeID"), message, true);
                }
                for input in INPUTS.iter().filter(|i| !i.in_release && item.get(i.name).is_some()) {
                    let field = format!("{at}.{}", input.name);
                    let message = match input.name {
                        "spiffeId" => "unknown field, did you mean `spiffeID`?".to_owned(),
                        _ => "unknown field".to_owned(),
                    };
                    push(item, field, message, true);
                }
            }
        }
    }
    found
}
