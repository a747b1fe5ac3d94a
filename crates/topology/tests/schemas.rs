// SPDX-License-Identifier: Apache-2.0
//! Objects against the schemas of the Gateway API. `schemas/*.cases` has them as changes of sound objects:
//!
//! ```text
//! object                      a sound object in YAML, up to the first line that is a case
//! PATH = JSON                 a change of it that is fine, too
//! PATH = JSON -> CODE [FIELD] a change that must be found, at this field; without FIELD at PATH
//! PATH -> CODE [FIELD]        the same where the field is missing
//! ```
//!
//! Several changes at once are joined by `; `.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::path::Path;

use overrule_source::{Diagnostic, ReadOptions, Severity, read_one};
use overrule_topology::schema_table;
use serde_json::Value;

#[test]
fn the_table_and_its_words_can_be_read() {
    assert!(schema_table().kinds().len() > 20);
    assert_eq!(schema_table().wordless(), Vec::<&str>::new());
}

/// The only rule that a single object cannot keep or break.
#[test]
fn every_rule_is_evaluated_but_those_about_changes() {
    assert_eq!(schema_table().unevaluated(), ["self == oldSelf"]);
}

fn found(text: &str) -> Vec<(String, String)> {
    let read = read_one("a.yaml", text, &ReadOptions::default());
    assert!(read.diagnostics.is_empty(), "{:?}\n{text}", read.diagnostics);
    let documents = &read.documents;
    let all = documents.ids().flat_map(|id| schema_table().check(documents.root(id)));
    let shown = |d: Diagnostic| {
        assert!(d.primary.is_some() && d.help.is_some() || d.severity() == Severity::Note, "{d:?}");
        (d.code.id.to_owned(), d.field.into_owned())
    };
    all.map(shown).collect()
}

#[test]
fn every_case_is_judged_as_it_should_be() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut cases, mut failures) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for block in text.split("\nobject\n").skip(1) {
            let is_case = |line: &&str| line.contains(" = ") || line.contains(" -> ");
            let base: Vec<&str> = block.lines().take_while(|line| !is_case(line)).collect();
            let base = base.join("\n");
            let read = read_one("base.yaml", &base, &ReadOptions::default());
            let object = read.documents.root(read.documents.ids().next().unwrap()).to_json();
            if !found(&object.to_string()).is_empty() {
                failures.push(format!("not sound: {:?}\n{base}", found(&object.to_string())));
            }
            for case in block.lines().filter(is_case) {
                cases += 1;
                failures.extend(judge(&object, case));
            }
        }
    }
    assert!(cases > 150, "{cases}");
    assert!(failures.is_empty(), "{} of {cases}:\n{}", failures.len(), failures.join("\n"));
}

fn judge(object: &Value, case: &str) -> Option<String> {
    let (changes, expected) = match case.split_once(" -> ") {
        Some((changes, expected)) => (changes, Some(expected)),
        None => (case, None),
    };
    let mut object = object.clone();
    let mut last = "";
    for change in changes.split("; ") {
        let (path, value) = match change.split_once(" = ") {
            Some((path, value)) => {
                (path, Some(serde_json::from_str(value).unwrap_or_else(|e| panic!("{case}: {e}"))))
            }
            None => (change, None),
        };
        set(&mut object, path, value);
        last = path;
    }
    let expected = expected.map(|expected| {
        let (code, field) = expected.split_once(' ').unwrap_or((expected, last));
        (code.to_owned(), field.to_owned())
    });
    let found = found(&object.to_string());
    let fits = match &expected {
        None => found.is_empty(),
        Some(one) => found == std::slice::from_ref(one),
    };
    (!fits).then(|| format!("{case}\n    found {found:?}"))
}

/// Sets, or takes away, what is at `a.b[0].c`.
fn set(object: &mut Value, path: &str, value: Option<Value>) {
    let path = path.replace('[', ".").replace(']', "");
    let mut steps: Vec<&str> = path.split('.').collect();
    let last = steps.pop().unwrap();
    let mut at = object;
    for step in steps {
        at = match step.parse::<usize>() {
            Ok(index) => &mut at.as_array_mut().unwrap()[index],
            Err(_) => &mut at[step],
        };
    }
    match (last.parse::<usize>(), value) {
        (Ok(index), Some(value)) if index == at.as_array().unwrap().len() => {
            at.as_array_mut().unwrap().push(value);
        }
        (Ok(index), Some(value)) => at[index] = value,
        (Ok(index), None) => drop(at.as_array_mut().unwrap().remove(index)),
        (Err(_), Some(value)) => at[last] = value,
        (Err(_), None) => drop(at.as_object_mut().unwrap().remove(last)),
    }
}

/// What the issue names: each is found where it stands.
#[test]
fn places_are_those_of_the_values() {
    let text = "apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec:
  rules:
  - matches:
    - path: {type: Prefix, value: /}
      method: get
    timeouts:
      request: 10 seconds
    filters:
    - type: RequestRedirect
      requestRedirect:
        statusCode: 399
";
    let read = read_one("a.yaml", text, &ReadOptions::default());
    let root = read.documents.root(read.documents.ids().next().unwrap());
    let found: Vec<String> = schema_table()
        .check(root)
        .iter()
        .map(|d| {
            let at = read.documents.sources.position(d.primary.as_ref().unwrap().span);
            format!("{at} {} {}", d.code.id, d.message)
        })
        .collect();
    assert_eq!(
        found,
        [
            "a.yaml:7:20 OV1107 `spec.rules[0].matches[0].path.type` is `Prefix`, which is not allowed here",
            "a.yaml:8:15 OV1107 `spec.rules[0].matches[0].method` is `get`, which is not allowed here",
            "a.yaml:10:16 OV1030 `spec.rules[0].timeouts.request` is `10 seconds`, which is not a duration",
            "a.yaml:14:21 OV1107 `spec.rules[0].filters[0].requestRedirect.statusCode` is `399`, which is not allowed here",
        ]
    );
}
