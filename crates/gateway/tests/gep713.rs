// SPDX-License-Identifier: Apache-2.0
//! In: `gep713/*.yaml`, one rule of GEP-713 each, in the policy-test format. Out: every case that fails, and how.
//! Not here: the format's other dialects; `overrule test` reads those.
//!
//! Beyond the shared keys (`expect`, `none`, `conflicted`) a case may hold `rejected` (policy, reason id), `outcomes`
//! (policy, word), and in `expect` `assumed`. `sources` go by JSON pointer and are complete; so is `expect`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation shall stop the test"
)]

use std::collections::BTreeSet;
use std::path::Path;

use overrule_engine::{KindId, PathId};
use overrule_source::ReadOptions;
use overrule_testkit::run::{Answer, Answers, Run, json, leaves, run_text};
use overrule_testkit::yaml;
use serde_json::{Map, Value};

const KEYS: [&str; 9] =
    ["name", "source", "note", "input", "expect", "none", "conflicted", "rejected", "outcomes"];
const EXPECT_KEYS: [&str; 6] = ["path", "kind", "fields", "sources", "shadowed", "assumed"];

#[test]
fn every_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gep713");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 40, "cases are missing: {}", files.len());
    let mut failures = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let found = Case::read(name, &text).run();
        failures.extend(found.into_iter().map(|f| format!("{name}: {f}")));
    }
    assert!(failures.is_empty(), "{} cases\n{}\n", files.len(), failures.join("\n"));
}

struct Case(Map<String, Value>);

impl Case {
    fn read(name: &str, text: &str) -> Self {
        let read = overrule_source::read_one(name, text, &ReadOptions::default());
        assert!(read.diagnostics.is_empty(), "{name}: {:?}", read.diagnostics);
        let root = read.documents.root(read.documents.ids().next().unwrap());
        let Value::Object(case) = json(root) else { panic!("{name} is no mapping") };
        assert_eq!(case["name"], name, "the file is called like the case");
        if let Some(unknown) = case.keys().find(|k| !KEYS.contains(&k.as_str())) {
            panic!("{name}: unknown key {unknown}");
        }
        Self(case)
    }

    fn list(&self, key: &str) -> &[Value] {
        self.0.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn run(&self) -> Vec<String> {
        let run = run_text(&yaml::documents(self.list("input")));
        let answers = run.answers();
        let mut failures = Vec::new();
        let mut listed = BTreeSet::new();
        for expect in self.list("expect") {
            let unknown =
                expect.as_object().unwrap().keys().find(|k| !EXPECT_KEYS.contains(&k.as_str()));
            assert_eq!(unknown, None, "unknown key of expect");
            listed.insert(place(expect));
            failures.extend(check(&run, &answers, expect).err());
        }
        for none in self.list("none") {
            let found = find(&answers, &place(none));
            let exists = if none.get("reason").is_some() {
                found.is_none()
            } else {
                !matches!(found, Some(Some(_)))
            };
            if !exists {
                failures.push(format!("expected nothing at {:?}, found {found:?}", place(none)));
            }
        }
        for ((path, kind), answer) in &answers {
            let place = (short(path), kind.clone());
            if answer.is_some() && !listed.contains(&place) {
                failures.push(format!(
                    "not expected: {place:?} is {:?}",
                    answer.as_ref().map(|a| &a.spec)
                ));
            }
        }
        failures.extend(self.rejections(&run));
        failures.extend(self.conflicts(&run));
        for expected in self.list("outcomes") {
            let word = |(id, _)| run.resolution.outcome(id).word();
            let mut all = run.resolution.policies();
            let found =
                all.find(|(id, _)| expected["policy"] == run.policy_name(*id).as_str()).map(word);
            if found != expected["outcome"].as_str() {
                failures.push(format!("outcome {found:?} instead of {expected}"));
            }
        }
        failures
    }

    /// Rejections are complete: those listed, and no others.
    fn rejections(&self, run: &Run) -> Option<String> {
        let text =
            |v: &Value| ["kind", "policy", "reason"].map(|k| v[k].as_str().unwrap().to_owned());
        let expected: BTreeSet<_> = self.list("rejected").iter().map(text).collect();
        let found = run.resolution.rejections.iter().map(|r| {
            let kind = run.kind_name(run.resolution.policy(r.policy).unwrap().kind);
            [kind, run.policy_name(r.policy), r.reason.id.to_owned()]
        });
        let found: BTreeSet<_> = found.collect();
        (found != expected).then(|| format!("rejected {found:?} instead of {expected:?}"))
    }

    /// Conflicts are findings about the loser that name the winner.
    fn conflicts(&self, run: &Run) -> Vec<String> {
        let found: Vec<_> = run.diagnostics.iter().filter(|d| d.code.id == "OV1307").collect();
        let names = |v: &Value| ["policy", "by"].map(|k| format!("`{}`", v[k].as_str().unwrap()));
        let is_said = |v: &&Value| {
            let [loser, winner] = names(v);
            found.iter().any(|d| {
                d.message.contains(&winner) && d.help.as_ref().is_some_and(|h| h.contains(&loser))
            })
        };
        let missing = self.list("conflicted").iter().filter(|v| !is_said(v));
        missing.map(|v| format!("no conflict reported: {v}")).collect()
    }
}

/// Path and kind of an expectation; the class is not part of the path.
fn place(expect: &Value) -> (String, String) {
    let path: Vec<&str> =
        expect["path"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
    (path.join(" > "), expect["kind"].as_str().unwrap().to_owned())
}

/// Paths begin with their class, which has no namespace.
fn short(path: &str) -> String {
    match path.split_once(" > ") {
        Some((class, rest)) if !class.contains('/') => rest.to_owned(),
        _ => path.to_owned(),
    }
}

fn find<'a>(answers: &'a Answers, place: &(String, String)) -> Option<&'a Option<Answer>> {
    answers
        .iter()
        .find(|((path, kind), _)| (short(path), kind.clone()) == *place)
        .map(|(_, answer)| answer)
}

fn check(run: &Run, answers: &Answers, expect: &Value) -> Result<(), String> {
    let at = place(expect);
    let answer = find(answers, &at)
        .ok_or_else(|| format!("no such path: {at:?} in {:?}", answers.keys()))?;
    let answer = answer.as_ref().ok_or_else(|| format!("nothing in force at {at:?}"))?;
    if answer.spec != expect["fields"] {
        return Err(format!("{at:?} is {} instead of {}", answer.spec, expect["fields"]));
    }
    let origins: Value = answer
        .origins
        .iter()
        .map(|(k, v)| (k.clone(), Value::from(v.as_str())))
        .collect::<Map<_, _>>()
        .into();
    if let Some(sources) = expect.get("sources").filter(|s| **s != origins) {
        return Err(format!("{at:?} comes from {origins} instead of {sources}"));
    }
    let (kind, path) = context(run, &at);
    if let Some(shadowed) = expect.get("shadowed") {
        losses(run, kind, path, shadowed.as_array().unwrap())
            .map_err(|e| format!("{at:?}: {e}"))?;
    }
    match (expect.get("assumed"), run.resolution.kind(kind).unwrap().assumed) {
        (Some(expected), found) if *expected != found => Err(format!("{at:?}: assumed is {found}")),
        _ => Ok(()),
    }
}

fn context(run: &Run, at: &(String, String)) -> (KindId, PathId) {
    let kind = run.resolution.kinds().find(|(id, _)| run.kind_name(*id) == at.1).unwrap().0;
    let path = run
        .resolution
        .contexts(kind)
        .find(|(path, _)| short(&run.path_name(*path)) == at.0)
        .unwrap()
        .0;
    (kind, path)
}

/// Losses, as a set: policy, pointer of the leaf, by whom, and the reason where the case says it.
fn losses(run: &Run, kind: KindId, path: PathId, expected: &[Value]) -> Result<(), String> {
    let effective = run.resolution.effective(run.resolution.ladder(kind, path)).unwrap();
    let name = |step| run.policy_name(run.resolution.ladders.get_step(step).unwrap().policy);
    let mut found: Vec<(String, String, Vec<String>, &str)> = Vec::new();
    for loss in &effective.losses {
        // What is lost whole is lost leaf by leaf.
        let lost = loss.node.map_or(Value::Null, |node| json(run.documents.view(node)));
        let by: Vec<String> = loss.by.iter().map(|s| name(*s)).collect();
        leaves(&lost, &loss.pointer, &mut |leaf| {
            found.push((name(loss.step), leaf.to_owned(), by.clone(), loss.reason.id));
        });
    }
    let fits = |e: &Value, (policy, pointer, by, reason): &(String, String, Vec<String>, &str)| {
        e["policy"] == policy.as_str()
            && e["pointer"] == pointer.as_str()
            && e["by"] == Value::from(by.clone())
            && e.get("reason").is_none_or(|r| r == reason)
    };
    let missing = expected.iter().find(|e| !found.iter().any(|f| fits(e, f)));
    let extra = found.iter().find(|f| !expected.iter().any(|e| fits(e, f)));
    match (missing, extra) {
        (None, None) => Ok(()),
        _ => Err(format!("losses are {found:?}, not {}", Value::from(expected.to_vec()))),
    }
}
