// SPDX-License-Identifier: Apache-2.0
//! In: CRDs of released Go modules. Out: their schemas as facts: fields, types, bounds, patterns, defaults, rules; no
//! sentence of theirs. Not here: what is said about them (`words.txt` beside the table), which people write.
//!
//! A version of a kind is taken from the newest release that serves it. Both channels are there; parts that are equal
//! are one node.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use overrule_source::{Input, ReadOptions, read};
use serde_json::{Map, Value, json};

use super::Source;

/// The table of a source, whose releases are unpacked in these folders.
pub(super) fn text(source: &Source, folders: &[PathBuf]) -> Result<String, String> {
    let mut table = Tables::default();
    for (release, folder) in source.releases.iter().zip(folders) {
        let mut found = BTreeMap::new();
        for (channel, path) in ["standard", "experimental"].into_iter().zip(source.channels) {
            for version in versions(&folder.join(path))? {
                let node = table.node(&version.schema, true);
                let entry: &mut Map<String, Value> = found.entry(version.name).or_default();
                entry.insert(channel.to_owned(), node.into());
            }
        }
        table.add(found, release);
    }
    let about = format!(
        "Facts about the CRDs of {} {} (Apache-2.0), written by `cargo xtask schemas`",
        source.module,
        source.releases.join(", ")
    );
    Ok(table.text(&about))
}

struct Version {
    /// Group, kind and version.
    name: [String; 3],
    schema: Value,
}

/// The versions that the CRDs of a folder serve.
fn versions(folder: &Path) -> Result<Vec<Version>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut inputs = Vec::new();
    for file in files {
        let bytes = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        inputs.push(Input::new(file.display().to_string(), bytes));
    }
    let documents = read(inputs, &ReadOptions::default()).documents;
    let mut all = Vec::new();
    for crd in documents.ids().map(|id| documents.root(id).to_json()) {
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if text("/kind") != "CustomResourceDefinition" {
            continue;
        }
        let of = |pointer: &str| text(pointer).to_owned();
        let (group, kind) = (of("/spec/group"), of("/spec/names/kind"));
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten().filter(|v| v["served"] == true) {
            let name = version["name"].as_str().unwrap_or_default().to_owned();
            let schema = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
            all.push(Version { name: [group.clone(), kind.clone(), name], schema });
        }
    }
    Ok(all)
}

#[derive(Default)]
struct Tables {
    kinds: Vec<Value>,
    patterns: Vec<String>,
    rules: Vec<String>,
    nodes: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

/// What is taken over as it is, and under which name.
const FACTS: [(&str, &str); 5] = [
    ("type", "type"),
    ("enum", "enum"),
    ("format", "format"),
    ("default", "default"),
    ("x-kubernetes-list-map-keys", "keys"),
];

/// Pairs of bounds.
const BOUNDS: [(&str, &str, &str); 4] = [
    ("length", "minLength", "maxLength"),
    ("count", "minItems", "maxItems"),
    ("count", "minProperties", "maxProperties"),
    ("range", "minimum", "maximum"),
];

/// What else is read, or has no meaning for an object as it is written.
const READ: [&str; 13] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "description",
    "items",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

impl Tables {
    /// The kinds of a release that no newer release has.
    fn add(&mut self, found: BTreeMap<[String; 3], Map<String, Value>>, release: &str) {
        let known = self.kinds.len();
        for ([group, kind, version], mut entry) in found {
            let is =
                |k: &&Value| k["group"] == group && k["kind"] == kind && k["version"] == version;
            if self.kinds.iter().take(known).any(|k| is(&k)) {
                continue;
            }
            for (key, value) in [
                ("group", group),
                ("kind", kind),
                ("version", version),
                ("release", release.into()),
            ] {
                entry.insert(key.to_owned(), value.into());
            }
            self.kinds.push(Value::Object(entry));
        }
    }

    /// The number of a part of a schema.
    fn node(&mut self, schema: &Value, root: bool) -> usize {
        let mut facts = Map::new();
        let mut fields = Map::new();
        for (name, child) in schema["properties"].as_object().into_iter().flatten() {
            let number = match (root, name.as_str()) {
                // Names are checked by who reads objects; a status is dropped when an object is created.
                (true, "metadata" | "status") => self.put(&json!({"type": "object", "open": true})),
                _ => self.node(child, false),
            };
            fields.insert(name.clone(), number.into());
        }
        if !fields.is_empty() {
            facts.insert("fields".into(), fields.into());
        }
        for (key, name) in FACTS {
            if let Some(value) = schema.get(key) {
                facts.insert(name.into(), value.clone());
            }
        }
        let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().collect();
        if !required.is_empty() {
            facts.insert("required".into(), json!(required));
        }
        for (name, least, most) in BOUNDS {
            if schema.get(least).is_some() || schema.get(most).is_some() {
                facts.insert(name.into(), json!([schema.get(least), schema.get(most)]));
            }
        }
        for (key, name) in [("items", "items"), ("additionalProperties", "values"), ("not", "not")]
        {
            if let Some(child) = schema.get(key).filter(|child| child.is_object()) {
                facts.insert(name.into(), self.node(child, false).into());
            }
        }
        for key in ["oneOf", "anyOf", "allOf"] {
            let all = schema[key].as_array().into_iter().flatten();
            let all: Vec<usize> = all.map(|child| self.node(child, false)).collect();
            if !all.is_empty() {
                facts.insert(key.into(), json!(all));
            }
        }
        if schema["x-kubernetes-list-type"] == "set" {
            facts.insert("set".into(), true.into());
        }
        if let Some(pattern) = schema["pattern"].as_str() {
            facts.insert("pattern".into(), position(&mut self.patterns, pattern).into());
        }
        let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
        let rules = rules.filter_map(|rule| rule["rule"].as_str());
        let rules: Vec<usize> =
            rules.map(|rule| position(&mut self.rules, &one_line(rule))).collect();
        if !rules.is_empty() {
            facts.insert("rules".into(), json!(rules));
        }
        for key in schema.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
            let known = FACTS.iter().any(|(known, _)| *known == key)
                || BOUNDS.iter().any(|(_, least, most)| key == *least || key == *most)
                || READ.contains(&key);
            if !known {
                eprintln!("not taken over: {key}");
            }
        }
        self.put(&Value::Object(facts))
    }

    fn put(&mut self, facts: &Value) -> usize {
        let text = facts.to_string();
        let next = self.nodes.len();
        let nodes = &mut self.nodes;
        *self.numbers.entry(text).or_insert_with_key(|text| {
            nodes.push(text.clone());
            next
        })
    }

    /// One line for each kind, pattern, rule and node, so that a new release can be read as a difference.
    fn text(&self, about: &str) -> String {
        let lines = |all: &[String]| format!("[\n{}\n]", all.join(",\n"));
        let quoted = |all: &[String]| -> Vec<String> {
            all.iter().map(|text| Value::from(text.as_str()).to_string()).collect()
        };
        let kinds: Vec<String> = self.kinds.iter().map(Value::to_string).collect();
        format!(
            "{{\"about\":{},\n\"kinds\":{},\n\"patterns\":{},\n\"rules\":{},\n\"nodes\":{}}}\n",
            Value::from(about),
            lines(&kinds),
            lines(&quoted(&self.patterns)),
            lines(&quoted(&self.rules)),
            lines(&self.nodes)
        )
    }
}

/// Rules are written over several lines; words name them in one.
fn one_line(rule: &str) -> String {
    rule.split('\n').map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn position(list: &mut Vec<String>, text: &str) -> usize {
    list.iter().position(|known| known == text).unwrap_or_else(|| {
        list.push(text.to_owned());
        list.len() - 1
    })
}
