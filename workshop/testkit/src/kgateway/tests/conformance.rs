// SPDX-License-Identifier: Apache-2.0
//! In: the kgateway cases of the repository or beside it, if they are there. Out: the oracle agrees with all of them.
//! Not here: kinds other than TrafficPolicy and built-ins.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::kgateway::{OraclePolicy, OracleSettings, Profile, documents, effective, paths, status};

const KINDS: [&str; 2] = ["TrafficPolicy", "builtin"];

#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
fn cases_agree() {
    let Some((folder, files)) = case_files() else {
        eprintln!("not run: there are no cases");
        return;
    };
    let (mut compared, mut wrong) = (0, Vec::new());
    for file in &files {
        let case = documents(&std::fs::read_to_string(file).unwrap()).remove(0);
        for profile in strings(&case["profiles"]) {
            compared += 1;
            for difference in compare(&case, &profile) {
                wrong.push(format!("{} {profile}: {difference}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 80, "only {compared} comparisons in {} files", files.len());
    eprintln!("{compared} comparisons agree, {} files in {}", files.len(), folder.display());
}

/// The cases of the repository, or those beside it.
fn case_files() -> Option<(PathBuf, Vec<PathBuf>)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    for place in ["cases/tests/kgateway", "../../shared/conformance/kgateway"] {
        let folder = crates.join(place);
        let entries = std::fs::read_dir(&folder).into_iter().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|e| e == "yaml"));
        files.sort();
        if !files.is_empty() {
            return Some((folder, files));
        }
    }
    None
}

fn compare(case: &Value, profile: &str) -> Vec<String> {
    let rules = match profile {
        "shipped" => Profile::Shipped,
        "design" => Profile::Design,
        other => panic!("no profile {other}"),
    };
    let input = case["input"].as_array().unwrap();
    let settings = OracleSettings::of_case(&case["settings"]);
    let answers = effective(input, &settings, rules);
    let mut wrong = Vec::new();
    let mut expected = BTreeSet::new();
    for entry in list(case, "expect") {
        let kind = entry["kind"].as_str().unwrap();
        if !KINDS.contains(&kind) {
            continue;
        }
        let path = strings(&entry["path"]);
        let found: Vec<&OraclePolicy> =
            answers.iter().filter(|a| a.kind == kind && a.path == path).collect();
        if found.is_empty() {
            wrong.push(format!("nothing at {path:?}"));
        }
        for answer in found {
            let (want, got) = (wanted(entry), got(answer));
            if want != got {
                wrong.push(format!("{kind} {path:?}\n  want {want}\n  got  {got}"));
            }
        }
        expected.insert((kind, path));
    }
    for answer in &answers {
        // That a path answers 500 is said once, with its TrafficPolicy.
        let said = answer.kind == "builtin" || !answer.error;
        let empty = answer.fields.is_empty() && answer.accumulated.is_empty() && said;
        if !empty && !expected.contains(&(answer.kind, answer.path.clone())) {
            wrong.push(format!("too much: {answer:?}"));
        }
    }
    wrong.extend(about_paths(case, input, &settings));
    if rules == Profile::Shipped {
        wrong.extend(about_status(case, input, &settings));
    }
    wrong
}

/// Paths that must not be, and the hosts and matches of some that are.
fn about_paths(case: &Value, input: &[Value], settings: &OracleSettings) -> Vec<String> {
    let mut wrong = Vec::new();
    let paths = paths::all(input, settings);
    for absent in list(case, "absent") {
        if paths.iter().any(|path| path.case_path() == strings(absent)) {
            wrong.push(format!("should not be: {absent}"));
        }
    }
    for entry in list(case, "expect") {
        for path in paths.iter().filter(|path| path.case_path() == strings(&entry["path"])) {
            let hosts = entry.get("hostnames").map(strings);
            if hosts.is_some_and(|hosts| hosts != path.hostnames) {
                wrong.push(format!("hosts {:?} instead of {}", path.hostnames, entry["hostnames"]));
            }
            let matches = entry.get("match");
            if matches.is_some_and(|wanted| !path.matches.contains(wanted)) {
                wrong.push(format!("matches {:?} without {}", path.matches, entry["match"]));
            }
        }
    }
    wrong
}

fn about_status(case: &Value, input: &[Value], settings: &OracleSettings) -> Vec<String> {
    let found = status(input, settings);
    let mut wrong = Vec::new();
    for (policy, wanted) in case["status"].as_object().into_iter().flatten() {
        let entries = found[policy].iter().map(|(ancestor, reasons)| {
            let reasons = json!({"Accepted": reasons.accepted, "Attached": reasons.attached});
            (ancestor.clone(), reasons)
        });
        let got = Value::Object(entries.collect::<Map<_, _>>());
        if got != *wanted {
            wrong.push(format!("status of {policy}\n  want {wanted}\n  got  {got}"));
        }
    }
    wrong
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|v| v.as_str().unwrap().to_owned()).collect()
}

/// An expectation with sets in order.
fn wanted(entry: &Value) -> Value {
    let set = |value: &Value| json!(strings(value).into_iter().collect::<BTreeSet<_>>());
    let sources = entry["sources"].as_object().into_iter().flatten();
    let sources: Map<String, Value> =
        sources.map(|(unit, policies)| (unit.clone(), set(policies))).collect();
    json!({
        "fields": entry.get("fields").cloned().unwrap_or(json!({})), "sources": sources,
        "shadowed": set(&entry["shadowed"]), "accumulated": list(entry, "accumulated"),
        "error": entry["error"] == true,
    })
}

fn got(answer: &OraclePolicy) -> Value {
    json!({
        "fields": answer.fields, "sources": answer.sources, "shadowed": answer.shadowed,
        "accumulated": answer.accumulated, "error": answer.error,
    })
}
