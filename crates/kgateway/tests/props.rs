// SPDX-License-Identifier: Apache-2.0
//! In: small random worlds. Out: what must hold in every one of them, whatever the rules are. Not here: the rules
//! themselves (`oracle.rs`). `OVERRULE_WORLDS=5000` looks at more of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may fail loudly, and says how much it looked at"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{LadderId, Outcome, PathId, PolicyId, StepId, Traced};
use overrule_kgateway::Profile;
use overrule_kgateway::reasons::MASKED_BY_BUILTIN;
use overrule_testkit::kgateway::world;
use overrule_testkit::rng::Rng;
use overrule_testkit::yaml;
use serde_json::{Value, json};
use support::{Ground, Run, ground};

fn worlds() -> u64 {
    std::env::var("OVERRULE_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

fn shuffle(objects: &mut [Value], seed: u64) {
    let mut rng = Rng::new(seed, "shuffle", 0);
    for last in (1..objects.len()).rev() {
        objects.swap(last, usize::try_from(rng.below(last as u64 + 1)).unwrap());
    }
}

/// What is said of each path: values, origins, failures, and everything that lost, to whom and why.
fn of_paths(run: &Run<'_>) -> BTreeMap<String, Vec<String>> {
    let mut facts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for answer in run.answers() {
        let name = format!("{:?} {:?}", answer.path, answer.rules);
        facts.entry(name).or_default().push(format!("{answer:?}"));
    }
    for (kind, _) in run.resolution.kinds() {
        for (path, ladder) in run.resolution.contexts(kind) {
            let (names, rules) = run.path(path);
            let lines = facts.get_mut(&format!("{names:?} {rules:?}")).expect("it has answers");
            lines.extend(lost(run, ladder));
            let failures = run.resolution.failures(path);
            lines.extend(failures.map(|failure| format!("{kind:?} fails: {}", failure.reason.id)));
        }
    }
    facts
}

fn lost(run: &Run<'_>, ladder: LadderId) -> Vec<String> {
    let Some(effective) = run.resolution.effective(ladder) else { return Vec::new() };
    let losses = effective.losses.iter().map(|loss| {
        let by: BTreeSet<String> = loss.by.iter().map(|step| run.writer(*step)).collect();
        let (writer, why) = (run.writer(loss.step), loss.reason.id);
        format!("{writer} {} is {:?} by {by:?}: {why}", loss.pointer, loss.fate)
    });
    let poison = effective.poison().iter();
    let poison = poison.map(|(step, why)| format!("{} breaks it: {}", run.writer(*step), why.id));
    let mut lines: Vec<String> = losses.chain(poison).collect();
    lines.sort();
    lines
}

/// Everything a run says, without positions.
fn digest(run: &Run<'_>) -> Vec<String> {
    let mut lines: Vec<String> =
        of_paths(run).into_iter().map(|(path, facts)| format!("{path}: {facts:?}")).collect();
    for (id, _) in run.resolution.policies() {
        let (outcome, tally) = (run.resolution.outcome(id), run.resolution.tally(id));
        lines.push(format!("{}: {outcome:?} {tally:?}", run.policy(id)));
        for attachment in run.resolution.attachments_of(id) {
            let node = run.ground.node(attachment.node);
            lines.push(format!("{} {}: on {node}", run.policy(id), attachment.reference));
        }
        for rejection in run.resolution.rejections_of(id) {
            let why = rejection.reason.id;
            lines.push(format!("{} {}: {why}", run.policy(id), rejection.reference));
        }
    }
    lines.extend(run.statuses().into_iter().map(|(policy, all)| format!("{policy}: {all:?}")));
    lines.extend(run.findings.iter().cloned());
    lines.sort();
    lines
}

/// Lines of one side only.
fn assert_same(first: &[String], second: &[String], what: &str) {
    let (a, b): (BTreeSet<_>, BTreeSet<_>) = (first.iter().collect(), second.iter().collect());
    let only: Vec<String> = a
        .difference(&b)
        .map(|line| format!("first: {line}"))
        .chain(b.difference(&a).map(|line| format!("second: {line}")))
        .collect();
    assert!(first == second, "{what}\n{}", only.join("\n"));
}

#[test]
fn the_order_of_documents_does_not_matter() {
    for seed in 0..worlds() {
        let (mut objects, settings) = world::objects(seed);
        let before = ground(&yaml::documents(&objects), &settings);
        shuffle(&mut objects, seed);
        let after = ground(&yaml::documents(&objects), &settings);
        for profile in Profile::ALL {
            let (before, after) = (before.resolve(profile), after.resolve(profile));
            assert_same(&digest(&before), &digest(&after), &format!("seed {seed} {profile:?}"));
        }
    }
}

/// The controller once merged into objects that it shared, so that one tenant's headers turned up at another's. Here
/// resolving leaves nothing behind: not in what it reads, and not in what it answered before.
#[test]
fn resolving_leaves_nothing_behind() {
    for seed in 0..worlds() {
        let (text, settings) = world::generate(seed);
        let ground = ground(&text, &settings);
        let first = ground.resolve(Profile::Design);
        let before = digest(&first);
        let shipped = digest(&ground.resolve(Profile::Shipped));
        let again = digest(&ground.resolve(Profile::Design));
        assert_same(&before, &again, &format!("seed {seed}, design again"));
        assert_same(&before, &digest(&first), &format!("seed {seed}, the first answer"));
        let again = digest(&ground.resolve(Profile::Shipped));
        assert_same(&shipped, &again, &format!("seed {seed}, shipped again"));
    }
}

/// Names of objects of the second tenant are those of the first; only its namespaces and its label are its own.
const MARK: &str = "t-";

/// Another world of the same names in namespaces of its own, its label included: a delegation by label may mean every
/// namespace there is, so that a tenant with the same label would not be unrelated.
fn tenant(seed: u64) -> Vec<Value> {
    let (mut objects, _) = world::objects(seed);
    // There is one class for all.
    objects.retain(|object| object["kind"] != "GatewayClass");
    for object in &mut objects {
        if object["kind"] == "Namespace" {
            mark(&mut object["metadata"]["name"]);
        }
        let label = &mut object["metadata"]["labels"];
        if label.get("delegation.kgateway.dev/label").is_some() {
            mark(&mut label["delegation.kgateway.dev/label"]);
        }
        move_away(object);
    }
    objects
}

fn mark(name: &mut Value) {
    *name = json!(format!("{MARK}{}", name.as_str().expect("a name")));
}

fn move_away(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(move_away),
        Value::Object(members) => {
            if members.get("kind") == Some(&json!("label")) {
                mark(&mut members["name"]);
            }
            for (key, member) in members {
                let is_name = key == "namespace" && member.is_string() && member != "all";
                if is_name { mark(member) } else { move_away(member) }
            }
        }
        _ => {}
    }
}

/// The paths through Gateways of the first tenant.
fn of_the_first(run: &Run<'_>) -> Vec<String> {
    let all = of_paths(run).into_iter();
    all.filter(|(path, _)| !path.starts_with(&format!("[\"{MARK}")))
        .map(|(path, facts)| format!("{path}: {facts:?}"))
        .collect()
}

#[test]
fn tenants_do_not_meet() {
    let mut paths = 0;
    for seed in 0..worlds() {
        let (objects, settings) = world::objects(seed);
        let alone = ground(&yaml::documents(&objects), &settings);
        let mut both = [objects.clone(), tenant(seed + 1_000_000)].concat();
        shuffle(&mut both, seed);
        let together = ground(&yaml::documents(&both), &settings);
        // Only what is there once more is taken away again: the rest stays where it stood.
        both.retain(|object| objects.contains(object));
        let left = ground(&yaml::documents(&both), &settings);
        for profile in Profile::ALL {
            let (alone, together) = (alone.resolve(profile), together.resolve(profile));
            let what = format!("seed {seed} {profile:?}");
            assert_same(&of_the_first(&alone), &of_the_first(&together), &what);
            assert_same(&digest(&alone), &digest(&left.resolve(profile)), &what);
            paths += of_paths(&together).len() - of_paths(&alone).len();
        }
    }
    println!("{paths} paths of second tenants");
    assert!(paths > 0, "second tenants must have paths");
}

#[test]
fn every_reference_and_every_policy_is_accounted_for() {
    let (mut landed, mut refused) = (0, 0);
    for seed in 0..worlds() {
        let (text, settings) = world::generate(seed);
        let ground = ground(&text, &settings);
        for profile in Profile::ALL {
            let run = ground.resolve(profile);
            for (id, policy) in (0..).map(PolicyId).zip(&ground.policies.list) {
                for reference in 0..u32::try_from(policy.references.len()).unwrap() {
                    let (lands, fails) = ends(&run, id, reference);
                    let name = run.policy(id);
                    assert!((lands > 0) != (fails == 1), "seed {seed}, {name}: {lands} {fails}");
                    assert!(fails < 2, "seed {seed}, {name}: {fails} rejections");
                    landed += lands;
                    refused += fails;
                }
            }
            outcomes(&run, seed);
        }
    }
    println!("{landed} attachments, {refused} rejections");
    assert!(landed > 0 && refused > 0, "both must happen");
}

/// How often a reference landed and how often it was refused.
fn ends(run: &Run<'_>, policy: PolicyId, reference: u32) -> (usize, usize) {
    let attachments = run.resolution.attachments_of(policy);
    let rejections = run.resolution.rejections_of(policy);
    (
        attachments.filter(|a| a.reference == reference).count(),
        rejections.filter(|r| r.reference == reference).count(),
    )
}

/// Outcomes count every path that a policy reaches once, and only those of policies that landed nowhere are rejections.
fn outcomes(run: &Run<'_>, seed: u64) {
    let mut reached: BTreeMap<PolicyId, u64> = BTreeMap::new();
    for (kind, _) in run.resolution.kinds() {
        for (_, ladder) in run.resolution.contexts(kind) {
            let steps = run.resolution.ladders.steps(ladder);
            let of = |step: &StepId| run.resolution.ladders.get_step(*step).unwrap().policy;
            for policy in steps.iter().map(of).collect::<BTreeSet<_>>() {
                *reached.entry(policy).or_default() += 1;
            }
        }
    }
    for (id, _) in run.resolution.policies() {
        let tally = run.resolution.tally(id);
        let name = run.policy(id);
        assert_eq!(tally.paths(), reached.get(&id).copied().unwrap_or(0), "seed {seed}, {name}");
        let lands = run.resolution.attachments_of(id).next().is_some();
        let outcome = run.resolution.outcome(id);
        assert_eq!(outcome == Outcome::Rejected, !lands, "seed {seed}, {name}: {outcome:?}");
    }
}

/// Every part of a value was written by somebody on the ladder, and every unit of everybody on the ladder is in the
/// value or among what lost.
#[test]
fn every_part_has_one_origin_and_no_unit_vanishes() {
    let (mut parts, mut units) = (0, 0);
    for seed in 0..worlds() {
        let (text, settings) = world::generate(seed);
        let ground = ground(&text, &settings);
        for profile in Profile::ALL {
            let run = ground.resolve(profile);
            for (kind, _) in run.resolution.kinds() {
                for (path, ladder) in run.resolution.contexts(kind) {
                    parts += origins(&run, path, ladder, seed);
                    units += ended(&run, ladder, seed);
                }
            }
        }
    }
    println!("{parts} parts, {units} units");
    assert!(parts > 0 && units > 0, "there must be something to look at");
}

fn origins(run: &Run<'_>, path: PathId, ladder: LadderId, seed: u64) -> usize {
    let Some(effective) = run.resolution.effective(ladder) else { return 0 };
    let steps = run.resolution.ladders.steps(ladder);
    let mut parts = 0;
    if let Some(value) = &effective.value {
        value.parts(&run.ground.documents, &mut |pointer, step, _| {
            parts += 1;
            assert!(steps.contains(&step), "seed {seed}: {pointer} is of a stranger");
        });
    }
    // What a built-in masks is lost to a rule of the same path.
    let built_in = run.kind("builtin").map(|kind| run.resolution.ladder(kind, path));
    let rules = built_in.map(|ladder| run.resolution.ladders.steps(ladder)).unwrap_or_default();
    for loss in &effective.losses {
        let by = if loss.reason.id == MASKED_BY_BUILTIN.id { &rules } else { &steps };
        assert!(steps.contains(&loss.step), "seed {seed}: {} is of a stranger", loss.pointer);
        assert!(!loss.by.is_empty(), "seed {seed}: {} lost to nobody", loss.pointer);
        let known = loss.by.iter().all(|step| by.contains(step));
        assert!(known, "seed {seed}: {} is lost to a stranger", loss.pointer);
    }
    parts
}

fn ended(run: &Run<'_>, ladder: LadderId, seed: u64) -> usize {
    let Some(effective) = run.resolution.effective(ladder) else { return 0 };
    let documents = &run.ground.documents;
    let mut seen: BTreeSet<(StepId, String)> = BTreeSet::new();
    let unit = |pointer: &str| pointer.split('/').nth(1).unwrap_or("").to_owned();
    if let Some(value) = &effective.value {
        value.parts(documents, &mut |pointer, step, part| {
            match (pointer.is_empty(), part) {
                // One policy alone: all of its units.
                (true, Traced::Whole { .. }) => {
                    let entries = part.entries(documents);
                    seen.extend(entries.iter().map(|(k, _)| (step, k.text(documents).to_owned())));
                }
                _ => drop(seen.insert((step, unit(pointer)))),
            }
        });
    }
    seen.extend(effective.losses.iter().map(|loss| (loss.step, unit(&loss.pointer))));
    let broken: BTreeSet<StepId> = effective.poison().iter().map(|(step, _)| *step).collect();
    let mut units = 0;
    for step in run.resolution.ladders.steps(ladder) {
        let policy = run.resolution.ladders.get_step(step).unwrap().policy;
        // What rules say themselves has no document of its own; `oracle.rs` looks at that.
        let Some(policy) = run.ground.policies.list.get(policy.0 as usize) else { continue };
        for (key, _) in documents.view(policy.spec).entries() {
            let name = key.key_text();
            if name.starts_with("target") || broken.contains(&step) {
                continue;
            }
            units += 1;
            let known = seen.contains(&(step, name.to_owned()));
            assert!(known, "seed {seed}: {name} of {} vanishes", run.writer(step));
        }
    }
    units
}

/// A selector may mean a section that some of its routes have and others do not, and a name that is only ours for a
/// rule that has none.
#[test]
fn selectors_of_sections_are_accounted_for_too() {
    let route = |name: &str, rules: &[&str]| {
        let rules: Vec<String> = rules.iter().map(|name| format!("{{{name}}}")).collect();
        format!(
            "{{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{name: {name}, namespace: n, \
             labels: {{app: x}}}}, spec: {{parentRefs: [{{name: gw}}], rules: [{}]}}}}",
            rules.join(", ")
        )
    };
    let policy = |name: &str, section: &str| {
        format!(
            "{{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {{name: {name}, namespace: n}}, \
             spec: {{targetSelectors: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {{app: x}}, \
             sectionName: {section}}}], cors: {{}}}}}}"
        )
    };
    let gateway = "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw, namespace: n}, spec: \
                   {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}}";
    let text = [
        gateway.to_owned(),
        route("both", &["name: a", "name: b"]),
        route("one", &["name: a", ""]),
        route("unnamed", &["", ""]),
        route("our-name", &["name: rule-1", ""]),
        policy("some", "b"),
        policy("all-but-one", "a"),
        policy("nowhere", "c"),
        policy("by-position", "rule-1"),
        policy("by-another", "rule-2"),
    ]
    .join("\n---\n");
    let ground = ground(&text, &overrule_testkit::kgateway::OracleSettings::default());
    for profile in Profile::ALL {
        let run = ground.resolve(profile);
        let found: BTreeMap<String, (usize, usize)> =
            (0..5).map(PolicyId).map(|id| (run.policy(id), ends(&run, id, 0))).collect();
        for (name, (lands, fails)) in &found {
            assert!((*lands > 0) != (*fails == 1) && *fails < 2, "{name}: {lands} {fails}");
        }
        outcomes(&run, 0);
    }
}

/// The digest sees what the other tests rely on it to see: another world, and another profile.
#[test]
fn digests_differ_when_answers_do() {
    let all = |seed: u64| -> (Ground, Ground) {
        let (mut objects, settings) = world::objects(seed);
        let whole = ground(&yaml::documents(&objects), &settings);
        let policy = objects.iter().position(|o| o["kind"] == "TrafficPolicy").unwrap();
        objects.remove(policy);
        (whole, ground(&yaml::documents(&objects), &settings))
    };
    let mut different = 0;
    for seed in 0..20 {
        let (whole, less) = all(seed);
        let design = digest(&whole.resolve(Profile::Design));
        assert_ne!(design, digest(&less.resolve(Profile::Design)), "seed {seed}");
        different += u64::from(design != digest(&whole.resolve(Profile::Shipped)));
    }
    assert!(different > 10, "only {different} of 20");
}
