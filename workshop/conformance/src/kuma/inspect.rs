// SPDX-License-Identifier: Apache-2.0
//! In: a case of the Inspect API: a request, resources, and the answer a control plane gave. Out: what the mesh family
//! answers, and what differs. Not here: HTTP; whoever serves the API reads cases and compares answers with this too.

use std::collections::BTreeMap;

use overrule::{Analysis, Options, SettingValues};
use overrule_mesh::Profile;
use overrule_mesh::inspect::{Flavour, InspectCall, InspectInput, Inspector, Times, route};
use overrule_mesh::resource::Meta;
use overrule_source::{DuplicateKeys, Input, SingleLetters};
use serde_json::Value;

use super::files::{Files, pieces};

/// The zero time, which stands for every time in the data.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// A case.
#[derive(Debug, Clone)]
pub struct InspectCase {
    /// The path of the request.
    pub path: String,
    /// Its query; empty if it has none.
    pub query: String,
    /// The status of the answer.
    pub status: u16,
    /// What is stored. Of documents about one resource only the last is here.
    pub documents: Vec<StoredDocument>,
    /// The body of the answer.
    pub golden: Value,
}

/// A document that is put into the store.
#[derive(Debug, Clone)]
pub struct StoredDocument {
    /// Who it is.
    pub meta: Meta,
    /// The resource.
    pub value: Value,
    /// Its text.
    pub text: String,
}

impl InspectCase {
    /// Reads a case: the text of its input and of its answer.
    pub fn read(input: &str, golden: &str) -> Result<Self, String> {
        let requests = input.lines().filter(|line| line.starts_with("#/"));
        let request = requests.clone().next().ok_or("the input names no request")?;
        let mut words = request.trim_start_matches('#').split_whitespace();
        let target = words.next().unwrap_or_default();
        let status = words.next().and_then(|word| word.parse().ok());
        let status = status.ok_or("the request has no status")?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let golden: Value = serde_json::from_str(golden)
            .map_err(|e| format!("the expected answer is no JSON: {e}"))?;
        let mut documents: Vec<StoredDocument> = Vec::new();
        for text in pieces(input) {
            let read = Files::read(&[&text]);
            for resource in read.resources(0) {
                let value = read.documents.view(resource.root).to_json();
                let meta = resource.meta;
                let key = |meta: &Meta| (meta.kind.clone(), meta.mesh.clone(), meta.name.clone());
                documents.retain(|known| key(&known.meta) != key(&meta));
                documents.push(StoredDocument { meta, value, text: text.clone() });
            }
        }
        let (path, query) = (path.to_owned(), query.to_owned());
        Ok(Self { path, query, status, documents, golden })
    }

    /// Why a case is not checked; none if it is.
    pub fn excluded(&self) -> Option<&'static str> {
        let config = self.path.ends_with("/_config") && self.status == 200;
        config.then_some("it asks for generated configuration of Envoy, which is no part of this")
    }

    /// Compares an answer: nothing, or where it differs first.
    pub fn compare(&self, status: u16, body: &Value) -> Result<(), String> {
        let told = super::compare(&normal(&self.golden), &normal(body));
        if status == self.status {
            return told;
        }
        Err(format!("expected status {}, but it is {status}: {body}", self.status))
    }

    /// What the mesh family answers, as the release does.
    pub fn answer(&self) -> Result<(u16, Value), String> {
        let texts = self.documents.iter().map(|document| document.text.as_str());
        asked(&analysis(texts), &self.path, &self.query)
    }
}

/// What is stored, read as the release reads it: labels as they are written.
pub(super) fn analysis<'t>(texts: impl Iterator<Item = &'t str>) -> Analysis {
    let one =
        |(number, text): (usize, &str)| Input::new(format!("{number:06}.yaml"), text.to_owned());
    let inputs = texts.enumerate().map(one).collect();
    let mut settings = SettingValues::default();
    settings.set("kuma", "labels", "asWritten".into());
    let options = Options {
        duplicate_keys: DuplicateKeys::LastWins,
        single_letters: SingleLetters::Text,
        profiles: BTreeMap::from([("kuma".to_owned(), "2.13".to_owned())]),
        settings,
        ..Options::default()
    };
    Analysis::new(inputs, &options)
}

/// Status and body of what the mesh family answers to a request, as the release does.
pub(super) fn asked(analysis: &Analysis, path: &str, query: &str) -> Result<(u16, Value), String> {
    let answered = analysis.answers.iter().find(|a| a.family.name() == "kuma" && a.shown);
    let live = InspectInput {
        documents: &analysis.documents,
        resources: &analysis.meshes().resources,
        profile: &Profile::Release,
        proxies: answered.map_or(&[], |a| a.proxies()),
    };
    let ask = route(path, query).ok_or_else(|| format!("no endpoint answers {path}"))?;
    let call = InspectCall { base: "http://{{address}}", times: &|_| Times::default() };
    let answer = Inspector::new(live, Flavour::Compat).answer(live, call, &ask);
    Ok((answer.status, answer.body.value()))
}

/// Runs a case.
pub(super) fn run(input: &str, golden: &str) -> Result<(), String> {
    let case = InspectCase::read(input, golden)?;
    if let Some(why) = case.excluded() {
        return Err(format!("not checked: {why}"));
    }
    let (status, body) = case.answer()?;
    case.compare(status, &body)
}

/// A body without what may differ: times, and the order of resource rules of one name.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let one = |(key, value): (&String, &Value)| {
                let value = match key.as_str() {
                    "creationTime" | "modificationTime" => Value::from(NEVER),
                    "toResourceRules" => ties_sorted(value),
                    _ => normal(value),
                };
                (key.clone(), value)
            };
            Value::Object(members.iter().map(one).collect())
        }
        Value::Array(items) => items.iter().map(normal).collect(),
        other => other.clone(),
    }
}

fn ties_sorted(rules: &Value) -> Value {
    let name = |rule: &Value| rule.pointer("/resourceMeta/name").cloned();
    let mut items: Vec<Value> = rules.as_array().into_iter().flatten().map(normal).collect();
    for run in items.chunk_by_mut(|a, b| name(a) == name(b)) {
        run.sort_by_key(Value::to_string);
    }
    if rules.is_array() { Value::Array(items) } else { rules.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const INPUT: &str = "#/meshes/m/dataplanes/a/_rules?x=1 200\n# prose\ntype: Mesh\nname: m\n---\ntype: Dataplane\nmesh: m\nname: a\nnetworking: {address: 1.1.1.1}\n---\ntype: Mesh\nname: m\nlabels: {a: b}\n";

    #[test]
    fn a_case_is_read_and_a_repeated_resource_overwrites() {
        let case = InspectCase::read(INPUT, "{}").unwrap();
        assert_eq!(
            (case.path.as_str(), case.query.as_str()),
            ("/meshes/m/dataplanes/a/_rules", "x=1")
        );
        assert_eq!((case.status, case.documents.len()), (200, 2));
        assert_eq!(case.documents[1].meta.labels.len(), 1);
        let (status, body) = case.answer().unwrap();
        let resource = json!({"type": "Dataplane", "mesh": "m", "name": "a", "labels": {}});
        assert_eq!(status, 200);
        assert_eq!(body, json!({"httpMatches": [], "resource": resource, "rules": []}));
        assert!(InspectCase::read("type: Mesh\nname: m\n", "{}").is_err());
        assert!(InspectCase::read("#/x\n", "{}").is_err());
    }

    #[test]
    fn another_status_or_body_is_told_and_ties_are_not() {
        let rule = |name: &str, n: u32| json!({"resourceMeta": {"name": name}, "n": n});
        let golden = json!({"toResourceRules": [rule("a", 1), rule("a", 2), rule("b", 3)]});
        let case = InspectCase::read("#/x 200", &golden.to_string()).unwrap();
        let tied = json!({"toResourceRules": [rule("a", 2), rule("a", 1), rule("b", 3)]});
        assert_eq!(case.compare(200, &tied), Ok(()));
        let moved = json!({"toResourceRules": [rule("b", 3), rule("a", 1), rule("a", 2)]});
        assert!(case.compare(200, &moved).is_err());
        assert!(case.compare(404, &tied).is_err());
        let config = InspectCase::read("#/meshes/m/dataplanes/a/_config 200", "{}").unwrap();
        assert!(config.excluded().is_some());
        let refused =
            InspectCase::read("#/meshes/m/dataplanes/a/_config?shadow=x 400", "{}").unwrap();
        assert!(refused.excluded().is_none());
    }
}
