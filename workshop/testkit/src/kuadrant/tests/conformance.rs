// SPDX-License-Identifier: Apache-2.0
//! In: the Kuadrant cases beside the repository, if they are there. Out: the oracle agrees with all of them.
//! Not here: statuses, direct kinds, policies the CRDs refuse.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::documents;
use crate::kuadrant::{KINDS, OracleEffective, OracleLoss, Profile, effective, paths};

/// Kind and path; the cases do not write the kind of the route.
type Place = (String, Vec<String>);

#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
fn cases_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/kuadrant");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("not run: there are no cases at {}", folder.display());
        return;
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "yaml"));
    files.sort();
    let (mut compared, mut wrong) = (0, Vec::new());
    for file in &files {
        // The reader takes a bare `y` for true, as Kubernetes does; the one case with such a rule name means the letter.
        let text =
            std::fs::read_to_string(file).unwrap().replace("        y:\n", "        \"y\":\n");
        let case = documents(&text).remove(0);
        if case.get("invalid").is_some() {
            continue;
        }
        for profile in strings(&case["profiles"]) {
            compared += 1;
            for difference in compare(&case, &profile) {
                wrong.push(format!("{} {profile}: {difference}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 200, "only {compared} comparisons in {} files", files.len());
    eprintln!("{compared} comparisons agree, {} files", files.len());
}

fn compare(case: &Value, profile: &str) -> Vec<String> {
    let profile = match profile {
        "design" => Profile::Design,
        "latest" => Profile::Latest,
        "operator" => Profile::Operator,
        other => panic!("no profile {other}"),
    };
    let input = case["input"].as_array().unwrap();
    let answers = effective(input, profile);
    let mut found = BTreeMap::new();
    for ((kind, path, _), answer) in &answers {
        let before = found.insert((kind.clone(), path.clone()), answer);
        assert!(before.is_none(), "two routes of one name share a rule name");
    }
    let mut wrong = Vec::new();
    let mut expected = BTreeSet::new();
    for entry in case["expect"].as_array().into_iter().flatten() {
        let place = place(entry);
        if !KINDS.contains(&place.0.as_str()) {
            continue;
        }
        match found.get(&place) {
            Some(answer) => {
                let (want, got) = (wanted(entry), got(answer, entry));
                if want != got {
                    wrong.push(format!("{place:?}\n  want {want}\n  got  {got}"));
                }
            }
            None => wrong.push(format!("nothing at {place:?}")),
        }
        expected.insert(place);
    }
    let unexpected = found.keys().filter(|place| !expected.contains(*place));
    wrong.extend(unexpected.map(|place| format!("too much: {place:?}")));
    let paths: Vec<Vec<String>> = paths::all(input, profile).iter().map(|p| p.names()).collect();
    for entry in case["none"].as_array().into_iter().flatten() {
        let place: Place = place(entry);
        if paths.contains(&place.1) == (entry["reason"] == "invalid-path") {
            wrong.push(format!("path should be there or not: {place:?}"));
        }
        if found.contains_key(&place) {
            wrong.push(format!("should not be: {place:?}"));
        }
    }
    wrong
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|v| v.as_str().unwrap().to_owned()).collect()
}

fn place(entry: &Value) -> Place {
    (entry["kind"].as_str().unwrap().to_owned(), strings(&entry["path"]))
}

/// An expectation with sets in order. A case names blocks only where a policy has more than one.
fn wanted(entry: &Value) -> Value {
    let lost = |field: &str| {
        let list = entry[field].as_array().into_iter().flatten().map(|lost| {
            let mut lost = lost.clone();
            let mut by = match &lost["by"] {
                Value::String(one) => vec![one.clone()],
                list => strings(list),
            };
            by.sort();
            lost["by"] = json!(by);
            lost.to_string()
        });
        list.collect::<BTreeSet<_>>()
    };
    let skipped: BTreeSet<String> =
        entry["skipped"].as_array().into_iter().flatten().map(Value::to_string).collect();
    let map =
        |field: &str| entry.get(field).filter(|v| v.is_object()).cloned().unwrap_or(json!({}));
    json!({
        "rules": map("rules"), "sources": map("sources"),
        "overridden": lost("overridden"), "removed": lost("removed"), "skipped": skipped,
    })
}

fn got(answer: &OracleEffective, entry: &Value) -> Value {
    let map = |of: &dyn Fn(&crate::kuadrant::OracleRule) -> Value| {
        Value::Object(answer.rules.iter().map(|(id, r)| (id.clone(), of(r))).collect::<Map<_, _>>())
    };
    let lost = |set: &BTreeSet<OracleLoss>, field: &str| {
        let blocks =
            entry[field].as_array().into_iter().flatten().any(|l| l.get("block").is_some());
        let list = set.iter().map(|lost| {
            let mut value = json!({"policy": lost.policy, "rule": lost.rule, "by": lost.by});
            if blocks {
                value["block"] = json!(lost.block);
            }
            value.to_string()
        });
        list.collect::<BTreeSet<_>>()
    };
    let skipped: BTreeSet<String> = answer
        .skipped
        .iter()
        .map(|s| {
            let reason = if s.failed { "when-error" } else { "when-false" };
            json!({"policy": s.policy, "block": s.block, "reason": reason}).to_string()
        })
        .collect();
    json!({
        "rules": map(&|r| r.value.clone()), "sources": map(&|r| json!(r.policy)),
        "overridden": lost(&answer.overridden, "overridden"),
        "removed": lost(&answer.removed, "removed"), "skipped": skipped,
    })
}
