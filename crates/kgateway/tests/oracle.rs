// SPDX-License-Identifier: Apache-2.0
//! The engine agrees with a deliberately naive second implementation on random worlds: every unit on every path, who
//! wrote it, what a built-in leaves no room for, what piles up, what fails, by which matches requests come, and under
//! `shipped` every status. `OVERRULE_WORLDS=20000` runs more of them, `OVERRULE_SEED=7` only that one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may fail loudly, and says how much it compared"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use overrule_kgateway::Profile;
use overrule_testkit::kgateway::{self as oracle, OraclePolicy, world};
use overrule_testkit::rng::Rng;
use overrule_testkit::{deletion, yaml};
use serde_json::{Value, json};
use support::shrink::shrink;
use support::{Run, ground, normal};

/// What differs, such as `sources of extAuth`, and where and how.
type Difference = (String, String);

/// So many worlds that differ are told, and no more are looked at.
const ENOUGH: usize = 10;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

fn seeds() -> Range<u64> {
    match number("OVERRULE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OVERRULE_WORLDS").unwrap_or(300),
    }
}

/// How much was compared.
#[derive(Debug, Default)]
struct Counts {
    answers: usize,
    units: usize,
    of_several: usize,
    shadowed: usize,
    piled: usize,
    errors: usize,
    delegated: usize,
    statuses: usize,
}

impl Counts {
    fn add(&mut self, answer: &OraclePolicy) {
        self.answers += 1;
        self.units += answer.fields.len();
        self.of_several += answer.sources.values().filter(|policies| policies.len() > 1).count();
        self.shadowed += answer.shadowed.len();
        self.piled += answer.accumulated.len();
        self.errors += usize::from(answer.error);
        self.delegated += usize::from(answer.rules.len() > 1);
    }
}

/// A world; in every fourth, something is being deleted.
fn world_of(seed: u64) -> (Vec<Value>, oracle::OracleSettings) {
    let (mut objects, settings) = world::objects(seed);
    if seed % 4 == 3 {
        deletion::mark(&mut Rng::new(seed, "deletion", 0), &mut objects, 6);
    }
    (objects, settings)
}

/// Compares the worlds of one profile.
fn compare(profile: Profile, naive: oracle::Profile) {
    let mut counts = Counts::default();
    let mut different = Vec::new();
    for seed in seeds() {
        let (objects, settings) = world_of(seed);
        let wrong = disagree(&objects, &settings, (profile, naive), &mut counts);
        if !wrong.is_empty() {
            different.push((seed, wrong));
        }
        if different.len() == ENOUGH {
            break;
        }
    }
    println!("{profile:?}: {counts:?}");
    for (seed, wrong) in &different {
        let lines: Vec<String> = wrong.iter().map(|(what, how)| format!("{what} {how}")).collect();
        println!("seed {seed}: {}", lines.join("\n  "));
    }
    if let Some((seed, wrong)) = different.first() {
        panic!("they differ; in small:\n{}", in_small(*seed, &wrong[0].0, (profile, naive)));
    }
    let Counts { answers, units, of_several, shadowed, piled, errors, delegated, .. } = counts;
    let all = [answers, units, of_several, shadowed, piled, errors, delegated];
    let tried = all.into_iter().all(|number| number > 0);
    assert!(tried || seeds().count() < 50, "the worlds must try what they promise");
}

/// Everything that is different in one world.
fn disagree(
    objects: &[Value],
    settings: &oracle::OracleSettings,
    (profile, naive): (Profile, oracle::Profile),
    counts: &mut Counts,
) -> Vec<Difference> {
    let ground = ground(&yaml::documents(objects), settings);
    let run = ground.resolve(profile);
    let mut theirs = oracle::effective(objects, settings, naive);
    theirs.iter().for_each(|answer| counts.add(answer));
    let mut wrong = differences(&run, &mut theirs);
    if profile == Profile::Shipped {
        let (theirs, ours) = (oracle::status(objects, settings), run.statuses());
        counts.statuses += theirs.values().map(BTreeMap::len).sum::<usize>();
        wrong.extend(about_statuses(theirs, &ours));
    }
    wrong
}

/// The smallest world found in which they still differ in this, and how.
fn in_small(seed: u64, what: &str, profiles: (Profile, oracle::Profile)) -> String {
    let (objects, settings) = world_of(seed);
    let wrong = |objects: &[Value]| {
        let mut all = disagree(objects, &settings, profiles, &mut Counts::default());
        all.retain(|(other, _)| other == what);
        all
    };
    let small = shrink(objects, &|objects| !wrong(objects).is_empty());
    let mut lines: Vec<String> = small.iter().map(|object| format!("{object}\n---")).collect();
    lines.push(format!("{settings:?}"));
    lines.extend(wrong(&small).into_iter().map(|(what, how)| format!("{what} {how}")));
    lines.join("\n")
}

/// What is different in one world; one line for each path and kind.
fn differences(run: &Run<'_>, theirs: &mut [OraclePolicy]) -> Vec<Difference> {
    let mut ours = run.answers();
    normal(&mut ours);
    normal(theirs);
    let mut wrong = Vec::new();
    let key = |a: &OraclePolicy| (a.kind, a.path.clone(), a.rules.clone());
    let keys = |answers: &[OraclePolicy]| answers.iter().map(key).collect::<Vec<_>>();
    let (our_paths, their_paths) = (keys(&ours), keys(theirs));
    if our_paths != their_paths {
        let (a, b): (BTreeSet<_>, BTreeSet<_>) =
            (our_paths.into_iter().collect(), their_paths.into_iter().collect());
        wrong.extend(
            a.difference(&b).map(|path| (String::from("paths"), format!("only ours: {path:?}"))),
        );
        wrong.extend(
            b.difference(&a)
                .map(|path| (String::from("paths"), format!("only the oracle's: {path:?}"))),
        );
        return wrong;
    }
    for (ours, theirs) in ours.iter().zip(theirs) {
        let (ours, theirs) = (parts(ours), parts(theirs));
        for name in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
            let (a, b) = (ours.get(name), theirs.get(name));
            if a != b {
                let show =
                    |side: Option<&Value>| side.map_or("nothing".to_owned(), Value::to_string);
                let how = format!("{}: ours {}, the oracle's {}", ours[""], show(a), show(b));
                wrong.push((name.clone(), how));
            }
        }
    }
    wrong
}

/// An answer in parts to be compared one by one. The part without a name says where it is.
fn parts(answer: &OraclePolicy) -> BTreeMap<String, Value> {
    let mut parts = BTreeMap::new();
    let mut put = |name: &str, value: Value| parts.insert(name.to_owned(), value);
    put("", json!([answer.kind, answer.path, answer.rules]));
    for (unit, value) in &answer.fields {
        put(&format!("value of {unit}"), value.clone());
    }
    for (unit, policies) in &answer.sources {
        put(&format!("sources of {unit}"), json!(policies));
    }
    put("shadowed", json!(answer.shadowed));
    put("accumulated", json!(answer.accumulated));
    put("error", json!(answer.error));
    if answer.rules.len() > 1 {
        // A child that fits below two matches of its parent is there once or twice; that makes no difference.
        let matches: BTreeSet<String> =
            answer.matches.iter().map(|m| with_defaults(m).to_string()).collect();
        put("matches", json!(matches));
    }
    parts
}

/// A match with what is meant where nothing is written.
fn with_defaults(one: &Value) -> Value {
    let or = |value: &Value, default: &str| value.as_str().unwrap_or(default).to_owned();
    let path = &one["path"];
    let mut full = json!({"path": {"type": or(&path["type"], "PathPrefix"), "value": or(&path["value"], "/")}});
    for list in ["headers", "queryParams"] {
        for entry in one[list].as_array().into_iter().flatten() {
            let kind = or(&entry["type"], "Exact");
            let entry = json!({"name": entry["name"], "value": entry["value"], "type": kind});
            match full[list].as_array_mut() {
                Some(entries) => entries.push(entry),
                None => full[list] = json!([entry]),
            }
        }
    }
    if let Some(method) = one.get("method") {
        full["method"] = method.clone();
    }
    full
}

fn about_statuses(
    theirs: oracle::Statuses,
    ours: &BTreeMap<String, BTreeMap<String, [String; 2]>>,
) -> Vec<Difference> {
    let mut wrong = Vec::new();
    for (policy, entries) in theirs {
        let words =
            |reasons: oracle::Reasons| [reasons.accepted, reasons.attached].map(str::to_owned);
        let theirs: BTreeMap<String, [String; 2]> =
            entries.into_iter().map(|(ancestor, reasons)| (ancestor, words(reasons))).collect();
        if ours.get(&policy) != Some(&theirs) {
            let how = format!("of {policy}: ours {:?}, the oracle's {theirs:?}", ours.get(&policy));
            wrong.push((String::from("status"), how));
        }
    }
    wrong
}

#[test]
fn design() {
    compare(Profile::Design, oracle::Profile::Design);
}

#[test]
fn shipped() {
    compare(Profile::Shipped, oracle::Profile::Shipped);
}
