// SPDX-License-Identifier: Apache-2.0
//! In: `gep713/*.yaml`, one rule of GEP-713 each, in the policy-test format. Out: every case that fails, and how.
//! Not here: the format's other dialects; `overrule test` reads those.
//!
//! `overrule test crates/gateway/tests/gep713` runs the same files through the whole program. Here they are checked
//! against the engine's own results, leaf by leaf, together with what the format cannot say: reasons, outcomes,
//! rejections (`beyond_the_format`).
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
use overrule_source::{ReadOptions, Severity};
use overrule_testkit::run::{Answers, PipelineRun, TracedPolicy, leaves, run_text};
use overrule_testkit::yaml;
use serde_json::{Map, Value};

const KEYS: [&str; 8] =
    ["name", "source", "note", "input", "expect", "none", "conflicted", "diagnostics"];
const EXPECT_KEYS: [&str; 5] = ["path", "kind", "fields", "sources", "shadowed"];

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
        let Value::Object(case) = root.to_json() else { panic!("{name} is no mapping") };
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
        failures.extend(self.diagnostics(&run));
        failures.extend(self.conflicts(&run));
        failures
    }

    /// Every listed code is found; if the case lists any, every error that is found is listed.
    fn diagnostics(&self, run: &PipelineRun) -> Option<String> {
        let expected: BTreeSet<&str> =
            self.list("diagnostics").iter().filter_map(|d| d["code"].as_str()).collect();
        let found: BTreeSet<&str> = run.diagnostics.iter().map(|d| d.code.id).collect();
        let errors = run.diagnostics.iter().filter(|d| d.severity() == Severity::Error);
        let complete =
            expected.is_empty() || errors.map(|d| d.code.id).all(|c| expected.contains(c));
        let fine = complete && expected.is_subset(&found);
        (!fine).then(|| format!("diagnostics {found:?} instead of {expected:?}"))
    }

    /// Conflicts are findings about the loser that name the winner.
    fn conflicts(&self, run: &PipelineRun) -> Vec<String> {
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

fn find<'a>(answers: &'a Answers, place: &(String, String)) -> Option<&'a Option<TracedPolicy>> {
    answers
        .iter()
        .find(|((path, kind), _)| (short(path), kind.clone()) == *place)
        .map(|(_, answer)| answer)
}

fn check(run: &PipelineRun, answers: &Answers, expect: &Value) -> Result<(), String> {
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
    match expect.get("shadowed").and_then(Value::as_array) {
        Some(shadowed) => losses(run, &at, answer, shadowed).map_err(|e| format!("{at:?}: {e}")),
        None => Ok(()),
    }
}

fn context(run: &PipelineRun, at: &(String, String)) -> (KindId, PathId) {
    let kind = run.resolution.kinds().find(|(id, _)| run.kind_name(*id) == at.1).unwrap().0;
    let path = run
        .resolution
        .contexts(kind)
        .find(|(path, _)| short(&run.path_name(*path)) == at.0)
        .unwrap()
        .0;
    (kind, path)
}

/// Losses, as a set: policy, pointer of the leaf, and who holds it now, or who took it away.
fn losses(
    run: &PipelineRun,
    at: &(String, String),
    answer: &TracedPolicy,
    expected: &[Value],
) -> Result<(), String> {
    let (kind, path) = context(run, at);
    let effective = run.resolution.effective(run.resolution.ladder(kind, path)).unwrap();
    let name = |step| run.policy_name(run.resolution.ladders.get_step(step).unwrap().policy);
    let mut found = BTreeSet::new();
    for loss in &effective.losses {
        // What is lost whole is lost leaf by leaf.
        let lost = loss.node.get().map_or(Value::Null, |node| run.documents.view(node).to_json());
        leaves(&lost, &loss.pointer, &mut |leaf| {
            let holder = answer.origins.get(leaf).map(|h| vec![h.clone()]);
            let by = holder.unwrap_or_else(|| loss.by.iter().map(|s| name(*s)).collect());
            found.insert((name(loss.step), leaf.to_owned(), Value::from(by).to_string()));
        });
    }
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let expected: BTreeSet<_> = expected
        .iter()
        .map(|e| (text(&e["policy"]), text(&e["pointer"]), e["by"].to_string()))
        .collect();
    if found == expected { Ok(()) } else { Err(format!("losses are {found:?}, not {expected:?}")) }
}

/// Reasons, outcomes and rejections of some cases.
#[test]
fn beyond_the_format() {
    let run = |name: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gep713").join(name);
        let text = std::fs::read_to_string(file.with_extension("yaml")).unwrap();
        run_text(&yaml::documents(Case::read(name, &text).list("input")))
    };
    // Why values lost.
    let reasons = [
        ("ties-atomic-defaults", &["default-yields"][..]),
        ("ties-atomic-overrides", &["override-outranks"]),
        ("ties-patch-defaults", &["default-field-yields"]),
        ("ties-patch-overrides", &["override-field-outranks"]),
        ("ties-none", &["oldest-alone"]),
        ("direct-section-before-object", &["oldest-alone", "section-outranks"]),
        ("trap-2-override-is-not-transitive", &["default-yields", "override-outranks"]),
    ];
    for (case, expected) in reasons {
        let run = run(case);
        let mut found = BTreeSet::new();
        for (kind, _) in run.resolution.kinds() {
            let ladders = run.resolution.contexts(kind).map(|(_, ladder)| ladder);
            for effective in ladders.filter_map(|l| run.resolution.effective(l)) {
                found.extend(effective.losses.iter().map(|l| l.reason.id));
            }
        }
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{case}");
    }
    // What became of policies.
    let outcomes = [
        ("gep-example-1-none", "ns/p2", "shadowed"),
        ("gep-example-2-defaults-and-overrides", "ns/p1", "partly"),
        ("gep-example-2-defaults-and-overrides", "ns/p2", "in force"),
        ("gep-example-2-defaults-and-overrides", "ns/p3", "in force"),
        ("gep-example-2-defaults-and-overrides", "ns/p4", "shadowed"),
        ("gep-example-3-mixed", "ns/p4", "partly"),
        ("direct-section-before-object", "shop/all", "partly"),
        ("inert-where-nothing-passes", "infra/p", "inert"),
        ("effective-at-listener", "shop/rule", "inert"),
        ("policies-refused-whole", "infra/two", "rejected"),
    ];
    for (case, policy, expected) in outcomes {
        let run = run(case);
        let mut all = run.resolution.policies();
        let id = all.find(|(id, _)| run.policy_name(*id) == policy).unwrap().0;
        assert_eq!(run.resolution.outcome(id).word(), expected, "{case}: {policy}");
    }
    // Why references did not land.
    let rejections = [
        (
            "references-that-do-not-land",
            &[
                ("infra/kind", "kind-not-allowed"),
                ("infra/nowhere", "no-target"),
                ("infra/section", "kind-not-allowed"),
                ("infra/typo", "target-not-found"),
                ("shop/elsewhere", "target-not-found"),
            ][..],
        ),
        ("reference-grant", &[("elsewhere/q", "not-permitted"), ("team/p", "not-permitted")]),
        ("selectors-stay-at-home", &[("bank/q", "selector-matches-nothing")]),
        ("sections-unknown", &[("infra/p", "section-not-found"), ("shop/q", "section-not-found")]),
        ("one-target-twice", &[("shop/p", "duplicate-target")]),
        (
            "policies-refused-whole",
            &[
                ("infra/beside", "invalid-policy"),
                ("infra/block", "invalid-policy"),
                ("infra/two", "invalid-policy"),
                ("infra/word", "invalid-policy"),
            ],
        ),
    ];
    for (case, expected) in rejections {
        let run = run(case);
        let found =
            run.resolution.rejections.iter().map(|r| (run.policy_name(r.policy), r.reason.id));
        let expected: Vec<_> = expected.iter().map(|(p, r)| ((*p).to_owned(), *r)).collect();
        assert_eq!(found.collect::<Vec<_>>(), expected, "{case}");
    }
    let assumed =
        |name: &str| run(name).resolution.kinds().map(|(_, k)| k.assumed).collect::<Vec<_>>();
    assert_eq!(assumed("crd-discovery"), [true, true, true]);
    assert_eq!(assumed("described-beats-discovered"), [false]);
}
