// SPDX-License-Identifier: Apache-2.0
//! In: small random worlds. Out: what must hold in every one of them. Not here: particular rules (`gep713.rs`).
//!
//! `PROPTEST_CASES=100000 cargo test -p overrule-gateway --test props --release` looks longer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation shall stop the test"
)]

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{LadderId, Outcome, PolicyId, Rung};
use overrule_gateway::kinds::Strategy as Merge;
use overrule_source::Input;
use overrule_testkit::generate::{SmallWorld, mesh_world, tame_world, world};
use overrule_testkit::rng::Rng;
use overrule_testkit::run::{Answers, PipelineRun, TracedPolicy, run, run_text};
use overrule_testkit::{deletion, oracle, yaml};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

/// The differing entries of two sets of answers, readable.
fn differences(ours: &Answers, theirs: &Answers) -> String {
    let places: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    let show = |a: &Answers, place| match a.get(place) {
        None => "no such path".to_owned(),
        Some(None) => "nothing".to_owned(),
        Some(Some(answer)) => format!("{} by {:?}", answer.spec, answer.origins),
    };
    let differ = places.into_iter().filter(|p| ours.get(*p) != theirs.get(*p));
    differ
        .map(|p| format!("\n{p:?}\n    first: {}\n   second: {}", show(ours, p), show(theirs, p)))
        .collect()
}

/// Everything a run says, without positions, one fact per line.
fn digest(run: &PipelineRun) -> Vec<String> {
    let r = &run.resolution;
    let node = |n| {
        run.topology.nodes.get(n).map(|n| {
            [n.kind, n.namespace, n.name, n.section]
                .map(|s| run.snapshot.text(s).to_owned())
                .join("/")
        })
    };
    let mut lines: Vec<String> =
        run.answers().iter().map(|(place, answer)| format!("{place:?}: {answer:?}")).collect();
    for (id, policy) in r.policies() {
        let name = format!("{} {}", run.kind_name(policy.kind), run.policy_name(id));
        lines.push(format!("{name}: {:?} {:?}", r.outcome(id), r.tally(id)));
        lines.extend(
            r.attachments_of(id)
                .map(|a| format!("{name}: {} lands on {:?}", a.reference, node(a.node))),
        );
        lines.extend(
            r.rejections_of(id).map(|a| format!("{name}: {} fails, {}", a.reference, a.reason.id)),
        );
    }
    for d in &run.diagnostics {
        lines.push(format!(
            "{} {} {} {:?} +{}",
            d.code.id,
            d.field,
            d.message,
            d.help,
            d.related.len()
        ));
    }
    lines.sort();
    lines
}

/// The whole resolution as text, ids included.
fn bytes(run: &PipelineRun) -> String {
    let r = &run.resolution;
    let mut out = format!("{:?}\n{:?}\n", r.attachments, r.rejections);
    for (kind, _) in r.kinds() {
        for (path, ladder) in r.contexts(kind) {
            out += &format!(
                "{kind:?} {path:?} {ladder:?} {:?} {:?}\n",
                r.effective(ladder),
                r.outcomes(ladder)
            );
        }
    }
    out
}

/// The policies of the steps of a ladder and their strategies, top first.
fn rungs(run: &PipelineRun, ladder: LadderId) -> Vec<(PolicyId, Merge)> {
    let rungs = &run.resolution.ladders.get(ladder).rungs;
    let steps = rungs.iter().filter_map(|rung| match rung {
        Rung::Step(step) => run.resolution.ladders.get_step(*step),
        Rung::Group(_) => None,
    });
    steps.map(|s| (s.policy, Merge::from_code(s.mode))).collect()
}

/// The world without one resource.
fn without(world: &SmallWorld, index: usize) -> SmallWorld {
    let mut resources = world.resources.clone();
    resources.remove(index);
    SmallWorld { resources }
}

/// The id of the policy that is a resource of the world.
fn id_of(run: &PipelineRun, policy: &serde_json::Value) -> Option<PolicyId> {
    let name = format!(
        "{}/{}",
        policy["metadata"]["namespace"].as_str()?,
        policy["metadata"]["name"].as_str()?
    );
    let mut ids = run.resolution.policies();
    ids.find(|(id, p)| run.policy_name(*id) == name && run.kind_name(p.kind) == policy["kind"])
        .map(|(id, _)| id)
}

proptest! {
    /// The same where routes are bound to Services: values, origins and paths; in any order of the resources.
    #[test]
    fn the_engine_agrees_with_the_oracle_about_services(
        world in mesh_world(),
        seed in any::<u64>(),
    ) {
        let run = run_text(&world.text());
        let verdict = oracle::judge(&world.resources);
        prop_assert_eq!(differences(&run.answers(), &verdict.answers), "");
        let mut shuffled = world.resources.clone();
        let count = shuffled.len();
        shuffled.rotate_left(usize::try_from(seed % count as u64).unwrap());
        shuffled.swap(0, count / 2);
        let again = run_text(&yaml::documents(&shuffled));
        prop_assert_eq!(digest(&run), digest(&again));
    }

    /// Values, origins of every leaf, the set of paths, and who has anything in force.
    #[test]
    fn the_engine_agrees_with_the_oracle(
        mut world in world(),
        deleted in proptest::option::weighted(0.3, any::<u64>()),
    ) {
        if let Some(seed) = deleted {
            deletion::mark(&mut Rng::new(seed, "deletion", 0), &mut world.resources, 8);
        }
        let run = run_text(&world.text());
        let (answers, verdict) = (run.answers(), oracle::judge(&world.resources));
        prop_assert_eq!(differences(&answers, &verdict.answers), "");
        let mut ours: BTreeMap<(String, String), bool> = BTreeMap::new();
        for (id, policy) in run.resolution.policies() {
            let kind = run.kind_name(policy.kind);
            let owns = |a: &TracedPolicy| a.origins.values().any(|o| *o == run.policy_name(id));
            if run.resolution.attachments_of(id).next().is_some() {
                let in_force = answers.iter().any(|((_, k), a)| *k == kind && a.as_ref().is_some_and(owns));
                ours.insert((kind, run.policy_name(id)), in_force);
                if in_force {
                    prop_assert!(matches!(run.resolution.outcome(id), Outcome::InForce | Outcome::Partly));
                }
            }
        }
        prop_assert_eq!(ours, verdict.in_force);
    }

    /// Invariant 2: the order of documents and files changes nothing but positions.
    #[test]
    fn order_and_files_do_not_matter(world in world(), order in any::<u64>(), files in 1_usize..5) {
        let mut shuffled: Vec<_> = world.resources.clone();
        let mut rng = Rng::new(order, "shuffle", 0);
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, usize::try_from(rng.below(i as u64 + 1)).unwrap());
        }
        let inputs: Vec<Input> = (0..files)
            .map(|f| {
                let part = shuffled.iter().skip(f).step_by(files);
                Input::new(format!("{}.yaml", rng.below(1000) * 10 + f as u64), yaml::documents(part))
            })
            .collect();
        let (one, many) = (run_text(&world.text()), run(inputs));
        prop_assert_eq!(digest(&one), digest(&many));
    }

    /// The same input gives the same bytes, and is not touched.
    #[test]
    fn twice_is_once(world in world()) {
        let text = world.text();
        let (first, second) = (run_text(&text), run_text(&text));
        prop_assert_eq!(bytes(&first), bytes(&second));
        prop_assert_eq!(digest(&first), digest(&second));
        prop_assert_eq!(&first.documents, &second.documents);
        for (_, source) in first.documents.sources.iter() {
            prop_assert_eq!(source.text(), &text);
        }
    }

    /// Invariant 3: every (policy, reference) lands or is rejected once; every path it reaches is counted once.
    #[test]
    fn nothing_is_lost(world in world()) {
        let run = run_text(&world.text());
        let r = &run.resolution;
        prop_assert_eq!(r.policies().count(), world.policies().count());
        let tallies = r.attachment_tallies();
        for (id, entry) in r.policies() {
            let references = run.policies[id.0 as usize].references.len().max(1);
            for reference in 0..u32::try_from(references).unwrap() {
                let landed = r.attachments_of(id).filter(|a| a.reference == reference).count();
                let refused = r.rejections_of(id).filter(|a| a.reference == reference).count();
                let conserved = (landed > 0) ^ (refused == 1) && refused <= 1;
                prop_assert!(conserved, "{:?}: reference {} landed {}, refused {}", id, reference, landed, refused);
            }
            let nodes: BTreeSet<_> = r.attachments_of(id).map(|a| a.node).collect();
            prop_assert_eq!(nodes.len(), r.attachments_of(id).count(), "one target counts once");
            let on_ladder = |ladder: LadderId| rungs(&run, ladder).iter().any(|(p, _)| *p == id);
            let reached = r.contexts(entry.kind).filter(|(_, ladder)| on_ladder(*ladder)).count() as u64;
            prop_assert_eq!(r.tally(id).paths(), reached);
            for (ladder, outcomes) in r.contexts(entry.kind).map(|(_, l)| (l, r.outcomes(l))) {
                let outcomes = outcomes.iter().filter(|(p, _)| *p == id).count();
                prop_assert_eq!(outcomes, usize::from(on_ladder(ladder)), "one outcome per policy and ladder");
            }
            prop_assert_eq!(r.outcome(id) == Outcome::Rejected, nodes.is_empty());
        }
        for (attachment, tally) in r.attachments.iter().zip(&tallies) {
            let kind = r.policy(attachment.policy).unwrap().kind;
            // A direct kind does not reach below its target, though paths do.
            let reaches = |ladder| rungs(&run, ladder).iter().any(|(p, _)| *p == attachment.policy);
            let through = r.contexts(kind).filter(|(path, l)| r.paths.passes(*path, attachment.node) && reaches(*l));
            let through = through.count() as u64;
            prop_assert_eq!(tally.paths(), through, "{:?}", attachment);
        }
    }

    /// Invariant 4: every leaf has one origin (`answers` asserts it), that policy is on the ladder, and every loss
    /// names one that is.
    #[test]
    fn origins_stand_on_the_ladder(world in world()) {
        let run = run_text(&world.text());
        run.answers();
        for (kind, _) in run.resolution.kinds() {
            for (_, ladder) in run.resolution.contexts(kind) {
                let steps = run.resolution.ladders.steps(ladder);
                let Some(effective) = run.resolution.effective(ladder) else { continue };
                let writers = effective.value.iter().flat_map(|v| v.steps());
                let losers = effective.losses.iter().flat_map(|l| l.by.iter().copied().chain([l.step]));
                for step in writers.chain(losers) {
                    prop_assert!(steps.contains(&step));
                }
                prop_assert_eq!(effective.log(&run.resolution.ladders).count(), steps.len(), "one line per rung");
                // Whoever holds nothing in a merge of non-empty values lost something.
                prop_assert!(effective.losses.iter().all(|l| !l.by.contains(&l.step) || steps.len() == 1));
            }
        }
    }

    /// Invariant 5: rungs stand in the order of their ranks, and no two have one rank.
    #[test]
    fn ladders_are_in_rank_order(world in world()) {
        let run = run_text(&world.text());
        for (kind, _) in run.resolution.kinds() {
            for (_, ladder) in run.resolution.contexts(kind) {
                let steps = run.resolution.ladders.steps(ladder);
                for pair in steps.windows(2) {
                    let [above, below] = [pair[0], pair[1]].map(|s| run.resolution.rank(s).unwrap());
                    let same_policy = [pair[0], pair[1]].map(|s| run.resolution.ladders.get_step(s).unwrap().policy);
                    // Where the level does not count, a policy on two levels of a path ties with itself.
                    prop_assert!(above < below || above == below && same_policy[0] == same_policy[1]);
                }
            }
        }
    }

    /// Each distinct ladder is folded once, and equal stacks are one ladder.
    #[test]
    fn one_fold_per_distinct_ladder(world in world()) {
        let run = run_text(&world.text());
        let mut ladders = BTreeSet::new();
        let mut stacks = BTreeSet::new();
        for (kind, _) in run.resolution.kinds() {
            for (_, ladder) in run.resolution.contexts(kind).filter(|(_, l)| *l != LadderId::EMPTY) {
                ladders.insert(ladder);
                stacks.insert(run.resolution.ladders.steps(ladder).to_vec());
            }
        }
        prop_assert_eq!(run.resolution.folds(), ladders.len() as u64);
        prop_assert_eq!(stacks.len(), ladders.len());
    }

    /// A policy acts on the paths it reaches and nowhere else; so adding one changes nothing elsewhere.
    #[test]
    fn a_policy_is_felt_only_where_it_reaches(world in world(), which in any::<prop::sample::Index>()) {
        let policies: Vec<_> = world.policies().map(|(i, p)| (i, p.clone())).collect();
        prop_assume!(!policies.is_empty());
        let (index, policy) = which.get(&policies);
        let (with, without) = (run_text(&world.text()), run_text(&without(&world, *index).text()));
        let id = id_of(&with, policy).expect("it is read");
        let (with_answers, without_answers) = (with.answers(), without.answers());
        for (kind, _) in with.resolution.kinds() {
            for (path, ladder) in with.resolution.contexts(kind) {
                if rungs(&with, ladder).iter().all(|(p, _)| *p != id) {
                    let place = (with.path_name(path), with.kind_name(kind));
                    // A direct kind has contexts where it has targets: sections only while a policy names one.
                    let whole = place.0.rsplit_once(" > ").map(|(whole, _)| (whole.to_owned(), place.1.clone()));
                    let now = without_answers.get(&place).or_else(|| without_answers.get(&whole?)).cloned().flatten();
                    prop_assert_eq!(with_answers[&place].clone(), now, "{:?}", place);
                }
            }
        }
    }

    /// "Removing a policy of which nothing is in force changes nothing" is NOT a theorem of GEP-713:
    ///
    /// * a shadowed rung still hands its strategy down (see `a_shadowed_rung_still_passes_its_strategy_on`);
    /// * a shadowed override on top has kept others out until something below replaced it;
    /// * a null, or a scalar in the place of a mapping, deletes what lies above it, even if it is replaced later.
    ///
    /// What is true, where values agree on their shape and hold no nulls (`tame_world`): it changes nothing if on every
    /// ladder the policy is on, each of its rungs (1) is the last, or (2) has the strategy of the rung above it, so
    /// that the same strategy is handed down without it, or (3) is the first and no override by whole. Then the two folds
    /// differ only in fields the policy holds, and whatever replaced those later replaces them still. Kinds that do not
    /// merge need no such care: there every shadowed policy can go.
    #[test]
    fn some_shadowed_policies_can_go(world in tame_world()) {
        let run = run_text(&world.text());
        let answers = run.answers();
        for (index, policy) in world.policies() {
            let Some(id) = id_of(&run, policy) else { continue };
            if run.resolution.outcome(id) != Outcome::Shadowed {
                continue;
            }
            let entry = run.resolution.policy(id).unwrap();
            let harmless = |ladder: LadderId| {
                let rungs = rungs(&run, ladder);
                let strategies: Vec<Merge> = rungs.iter().map(|(_, s)| *s).collect();
                let own = rungs.iter().enumerate().filter(|(_, (p, _))| *p == id);
                own.map(|(i, _)| i).all(|i| {
                    let above = i.checked_sub(1).map(|above| strategies[above]);
                    i + 1 == rungs.len()
                        || above == Some(strategies[i])
                        || above.is_none() && !matches!(strategies[i], Merge::AtomicOverrides | Merge::None)
                })
            };
            let direct = policy["kind"] == "DirectPolicy";
            if direct || run.resolution.contexts(entry.kind).all(|(_, ladder)| harmless(ladder)) {
                let less = run_text(&without(&world, index).text()).answers();
                prop_assert_eq!(differences(&answers, &less), "", "{}", policy);
            }
        }
    }
}

/// The counterexample to the naive statement: the middle policy is shadowed, and yet without it the override holds.
#[test]
fn a_shadowed_rung_still_passes_its_strategy_on() {
    let text = include_str!("gep713/trap-2-override-is-not-transitive.yaml");
    let input = overrule_source::read_one("case", text, &overrule_source::ReadOptions::default());
    let case = input.documents.root(input.documents.ids().next().unwrap()).to_json();
    let resources = case["input"].as_array().unwrap().clone();
    let world = SmallWorld { resources };
    let value = |w: &SmallWorld| {
        let answers = run_text(&w.text()).answers();
        answers.values().flatten().map(|a| a.spec["colour"].clone()).collect::<Vec<_>>()
    };
    let middle = world.resources.iter().position(|r| r["metadata"]["name"] == "middle").unwrap();
    let run = run_text(&world.text());
    let id = id_of(&run, &world.resources[middle]).unwrap();
    assert_eq!(run.resolution.outcome(id), Outcome::Shadowed);
    assert_eq!(
        (value(&world), value(&without(&world, middle))),
        (vec!["leaf".into()], vec!["top".into()])
    );
}

/// Guards the generator: worlds that never meet would make every property true.
#[test]
fn worlds_are_nasty() {
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..200 {
        let world = world().new_tree(&mut runner).unwrap().current();
        let run = run_text(&world.text());
        let mut note = |what| *seen.entry(what).or_default() += 1;
        for (kind, _) in run.resolution.kinds() {
            for (_, ladder) in run.resolution.contexts(kind) {
                let rungs = rungs(&run, ladder);
                note("path");
                if rungs.len() >= 3 {
                    note("three rungs");
                }
                let strategies: BTreeSet<u16> = rungs.iter().map(|(_, s)| s.code()).collect();
                if strategies.len() >= 3 {
                    note("three strategies");
                }
                if run
                    .resolution
                    .effective(ladder)
                    .is_some_and(|e| e.value.iter().any(|v| v.steps().len() >= 2))
                {
                    note("two owners");
                }
            }
        }
        for rejection in &run.resolution.rejections {
            note(rejection.reason.id);
        }
        for (id, _) in run.resolution.policies() {
            note(run.resolution.outcome(id).word());
        }
    }
    let at_least = [
        ("path", 1200),
        ("three rungs", 150),
        ("three strategies", 40),
        ("two owners", 100),
        ("target-not-found", 50),
        ("section-not-found", 5),
        ("not-permitted", 20),
        ("invalid-policy", 20),
        ("selector-matches-nothing", 10),
        ("duplicate-target", 20),
        ("in force", 100),
        ("partly", 60),
        ("shadowed", 80),
        ("inert", 50),
    ];
    for (what, least) in at_least {
        let found = seen.get(what).copied().unwrap_or(0);
        assert!(found >= least, "{what}: {found} < {least} in {seen:?}");
    }
}
