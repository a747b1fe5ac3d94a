// SPDX-License-Identifier: Apache-2.0
//! In: members of a restated case. Out: them as what they are, or why not; and whether an answer is the expected one.
//! A case that lacks what its area needs is an error, never a pass.

use std::collections::BTreeMap;

use overrule_engine::{StepId, Traced};
use overrule_mesh::kri::Kri;
use overrule_mesh::resource::PlacedResource;
use overrule_mesh::targetref::TargetRef;
use overrule_source::{Documents, NodeRef, View};
use serde_json::Value;

use super::super::compare;
use super::super::files::Files;
use overrule_cases::value::short;

/// What a case says: nothing, or what differs.
pub(super) type Outcome = Result<(), String>;

/// A member that must be there; null is there.
pub(super) fn need<'v>(of: &'v Value, key: &str) -> Result<&'v Value, String> {
    of.get(key).ok_or_else(|| format!("`{key}` is missing in {}", short(of)))
}

/// Whether the answer is what the case has under a key.
pub(super) fn verify(case: &Value, key: &str, actual: &Value) -> Outcome {
    match case.get(key) {
        Some(expected) => compare(expected, actual),
        None => Err(format!("the case has no `{key}`, but that is {}", short(actual))),
    }
}

fn as_text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("{} is no text", short(value)))
}

/// A text; empty if it is not written.
pub(super) fn text<'v>(of: &'v Value, key: &str) -> Result<&'v str, String> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(value) => as_text(value).map_err(|e| format!("{key}: {e}")),
    }
}

/// A boolean that must be there.
pub(super) fn flag(of: &Value, key: &str) -> Result<bool, String> {
    need(of, key)?.as_bool().ok_or_else(|| format!("`{key}` is neither true nor false"))
}

/// A list that must be there.
pub(super) fn list<'v>(of: &'v Value, key: &str) -> Result<&'v [Value], String> {
    let list = need(of, key)?.as_array();
    list.map(Vec::as_slice).ok_or_else(|| format!("`{key}` is no list"))
}

/// A list of texts that must be there.
pub(super) fn texts<'v>(of: &'v Value, key: &str) -> Result<Vec<&'v str>, String> {
    list(of, key)?.iter().map(as_text).collect()
}

/// A mapping that must be there.
pub(super) fn members<'v>(
    of: &'v Value,
    key: &str,
) -> Result<&'v serde_json::Map<String, Value>, String> {
    need(of, key)?.as_object().ok_or_else(|| format!("`{key}` is no mapping"))
}

/// A mapping of texts to texts; empty if it is not written.
pub(super) fn pairs(of: &Value, key: &str) -> Result<BTreeMap<String, String>, String> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(_) => {
            let pair = |(k, v): (&String, &Value)| Ok((k.clone(), as_text(v)?.to_owned()));
            members(of, key)?.iter().map(pair).collect()
        }
    }
}

/// A reference; one to everything if it is not written.
pub(super) fn target(of: &Value, key: &str) -> Result<TargetRef, String> {
    match of.get(key) {
        None => Ok(TargetRef::whole_mesh()),
        Some(value) => TargetRef::read(value).map_err(|e| e.to_string()),
    }
}

/// An identifier.
pub(super) fn kri(text: &str) -> Result<Kri, String> {
    Kri::parse(text).map_err(|e| e.to_string())
}

/// A value as a document of its own, for functions that work on documents. JSON is YAML.
pub(super) struct Document {
    pub(super) documents: Documents,
    root: NodeRef,
}

impl Document {
    pub(super) fn of(value: &Value) -> Result<Self, String> {
        let documents = Files::read(&[&value.to_string()]).documents;
        let doc = documents.ids().next().ok_or("the case cannot be read as a document")?;
        let root = Documents::node_ref(documents.root(doc), doc);
        Ok(Self { documents, root })
    }

    /// The items of a list of the top level, as values written by steps counted from 0.
    pub(super) fn items(&self, key: &str) -> Vec<(StepId, Traced)> {
        let items = self.documents.view(self.root).get(key).into_iter().flat_map(View::items);
        let whole = |(step, item): (StepId, View<'_>)| {
            let node = NodeRef { doc: self.root.doc, node: item.id() };
            (step, Traced::Whole { step, node })
        };
        (0..).map(StepId).zip(items).map(whole).collect()
    }
}

/// Resources of a case: one list per list of values.
pub(super) struct World {
    pub(super) documents: Documents,
    pub(super) resources: Vec<Vec<PlacedResource>>,
}

impl World {
    /// Reads lists of resources; every value must be one.
    pub(super) fn read(lists: &[&[Value]]) -> Result<Self, String> {
        let text = |list: &&[Value]| -> String {
            let documents: Vec<String> = list.iter().map(Value::to_string).collect();
            documents.join("\n---\n")
        };
        let texts: Vec<String> = lists.iter().map(text).collect();
        let files = Files::read(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let mut resources = Vec::new();
        for (place, list) in lists.iter().enumerate() {
            let found = files.resources(place);
            if found.len() != list.len() {
                return Err(format!("{} of {} values are resources", found.len(), list.len()));
            }
            resources.push(found);
        }
        Ok(Self { documents: files.documents, resources })
    }

    /// The resources of a list.
    pub(super) fn list(&self, place: usize) -> &[PlacedResource] {
        self.resources.get(place).map_or(&[], Vec::as_slice)
    }
}
