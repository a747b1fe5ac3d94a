// SPDX-License-Identifier: Apache-2.0
//! In: a line of a file of random cases: a world and what a control plane answers about each of its proxies, or a
//! resource and whether a control plane takes it. Out: what differs from the mesh family. Not here: reading files.

use std::collections::BTreeSet;

use overrule_mesh::admission::violations;
use overrule_mesh::{LabelSource, Profile, Settings};
use overrule_source::{Documents, Input, ReadOptions, read};
use serde_json::{Map, Value, json};

use super::inspect::{analysis, asked};

/// Runs a line: nothing, or what differs in words.
pub fn run(line: &Value) -> Result<(), String> {
    if line.get("objects").is_some() {
        return world(line);
    }
    match line.get("resource") {
        Some(resource) => judged(resource, line.get("refused")),
        None => Err("the line has neither `objects` nor a `resource`".to_owned()),
    }
}

/// What a line is called.
pub fn name(line: &Value, number: usize) -> String {
    let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str);
    match (text("/id"), text("/resource/type"), text("/resource/name")) {
        (Some(id), ..) => id.to_owned(),
        (None, Some(kind), Some(name)) => format!("{number}/{kind}/{name}"),
        _ => number.to_string(),
    }
}

/// A world: the answer about each proxy, sorted where the order says nothing.
fn world(line: &Value) -> Result<(), String> {
    let items = |of: &Value, key: &str| of.get(key).and_then(Value::as_array).cloned();
    let objects = items(line, "objects").ok_or("`objects` is no list")?;
    let expected = items(line, "expect").ok_or("`expect` is no list")?;
    let documents = objects.iter().map(Value::to_string).collect::<Vec<String>>();
    let analysis = analysis(documents.iter().map(String::as_str));
    for one in &expected {
        let name = one.get("dataplane").and_then(Value::as_str).unwrap_or_default();
        let golden = one.get("rules").unwrap_or(&Value::Null);
        let mesh = golden.pointer("/resource/mesh").and_then(Value::as_str).unwrap_or_default();
        let (status, body) =
            asked(&analysis, &format!("/meshes/{mesh}/dataplanes/{name}/_rules"), "")?;
        if status != 200 {
            return Err(format!(
                "dataplane {name}: expected status 200, but it is {status}: {body}"
            ));
        }
        super::compare(&unordered(golden), &unordered(&body))
            .map_err(|why| format!("dataplane {name}: {why}"))?;
    }
    Ok(())
}

/// A body of which only what matters is left: members that are null are absent, warnings and resource rules are sets.
fn unordered(body: &Value) -> Value {
    match body {
        Value::Object(members) => {
            let one = |(key, value): (&String, &Value)| {
                let value = match (key.as_str(), value.as_array()) {
                    ("toResourceRules", Some(rules)) => keyed(rules),
                    ("warnings", Some(items)) => sorted(items),
                    _ => unordered(value),
                };
                (!value.is_null()).then(|| (key.clone(), value))
            };
            Value::Object(members.iter().filter_map(one).collect())
        }
        Value::Array(items) => items.iter().map(unordered).collect(),
        other => other.clone(),
    }
}

fn sorted(items: &[Value]) -> Value {
    let texts: BTreeSet<String> = items.iter().map(Value::to_string).collect();
    json!(texts)
}

/// Resource rules by what they are about.
fn keyed(rules: &[Value]) -> Value {
    let part = |rule: &Value, pointer: &str| rule.pointer(pointer).cloned().unwrap_or_default();
    let mut members = Map::new();
    for rule in rules {
        let meta = part(rule, "/resourceMeta");
        let [kind, name] = ["/type", "/name"].map(|at| part(&meta, at));
        let section = part(rule, "/resourceSectionName");
        members.insert(json!([kind, name, section]).to_string(), unordered(rule));
    }
    Value::Object(members)
}

/// A resource on its own: whether it is taken, and the words about references, matches and confs.
fn judged(resource: &Value, refused: Option<&Value>) -> Result<(), String> {
    let text = resource.to_string();
    let read = read(vec![Input::new("resource.yaml", text)], &ReadOptions::default());
    let documents = read.documents;
    let doc = documents.ids().next().ok_or("the resource cannot be read")?;
    let root = Documents::node_ref(documents.root(doc), doc);
    let settings = Settings { labels: LabelSource::AsWritten, ..Settings::default() };
    let found = violations(&documents, root, &settings, &Profile::Release);
    let found: BTreeSet<String> =
        found.into_iter().map(|v| format!("{}: {}", v.field, v.message)).collect();
    let said = refused.and_then(Value::as_array).into_iter().flatten();
    let wanted: BTreeSet<String> = said.filter_map(Value::as_str).map(str::to_owned).collect();
    if refused.is_some() == found.is_empty() {
        let verdict = |is: bool| if is { "refused" } else { "accepted" };
        return Err(format!(
            "expected {}, but it is {}; expected words {wanted:?}, found {found:?}",
            verdict(refused.is_some()),
            verdict(!found.is_empty()),
        ));
    }
    let differ: Vec<&String> =
        wanted.symmetric_difference(&found).filter(|said| is_compared(said)).collect();
    if differ.is_empty() {
        return Ok(());
    }
    Err(format!("expected words {wanted:?}, found {found:?}"))
}

/// Whether the words about a field are compared.
fn is_compared(said: &str) -> bool {
    let field = said.split(": ").next().unwrap_or_default();
    let parts = field.split(['.', '[']);
    parts.into_iter().any(|part| ["targetRef", "matches", "default"].contains(&part))
}
