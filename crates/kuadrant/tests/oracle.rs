// SPDX-License-Identifier: Apache-2.0
//! The engine agrees with a deliberately naive second implementation on random worlds: every rule, who wrote it, who
//! lost to whom, what was removed and what was skipped. `OVERRULE_WORLDS=100000` runs more of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may fail loudly, and says how much it compared"
)]

mod support;

use std::collections::BTreeSet;

use overrule_engine::{Fate, LadderId, Outcome};
use overrule_kuadrant::Profile;
use overrule_testkit::kuadrant::{self as oracle, WorldShape, effective, equal_names, world};
use overrule_testkit::rng::Rng;
use overrule_testkit::{deletion, yaml};
use support::run_text;

fn worlds() -> u64 {
    std::env::var("OVERRULE_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500)
}

/// Compares that many worlds of one profile.
fn compare(profile: Profile, naive: oracle::Profile, one_block: bool) {
    let (mut answers, mut removed, mut skipped, mut deep) = (0, 0, 0, 0);
    for seed in 0..worlds() {
        let mut rng = Rng::new(profile as u64, "kuadrant", seed);
        let mut objects = world(&mut rng, &WorldShape { one_block, ..WorldShape::default() });
        if seed % 4 == 3 {
            deletion::mark(&mut rng, &mut objects, 10);
        }
        if seed % 4 == 2 {
            equal_names(&mut rng, &mut objects);
        }
        let text = yaml::documents(&objects);
        let run = run_text(&text, profile);
        let (ours, theirs) = (run.answers(), effective(&objects, naive));
        assert_eq!(
            ours.keys().collect::<Vec<_>>(),
            theirs.keys().collect::<Vec<_>>(),
            "paths, seed {seed}\n{text}"
        );
        for (key, wanted) in &theirs {
            assert_eq!(&ours[key], wanted, "{key:?}, seed {seed}\n{text}");
            answers += 1;
            removed += usize::from(!wanted.removed.is_empty());
            skipped += usize::from(!wanted.skipped.is_empty());
        }
        let ladders = (0..u32::try_from(run.resolution.ladders.len()).unwrap()).map(LadderId);
        let levels = |l: LadderId| -> BTreeSet<u8> {
            let steps = run.resolution.ladders.steps(l);
            steps.iter().map(|s| run.resolution.ladders.get_step(*s).unwrap().level).collect()
        };
        deep += ladders
            .filter(|l| run.resolution.effective(*l).is_some() && levels(*l).len() > 2)
            .count();
    }
    println!(
        "{profile:?}: {answers} answers, {removed} with removals, {skipped} with conditions not met, {deep} ladders of three or more levels"
    );
    assert!(
        deep > 0 && (one_block || removed > 0 && skipped > 0),
        "the worlds must try what they promise"
    );
}

#[test]
fn design() {
    compare(Profile::Design, oracle::Profile::Design, false);
}

#[test]
fn latest() {
    compare(Profile::Latest, oracle::Profile::Latest, false);
}

#[test]
fn operator() {
    compare(Profile::Operator, oracle::Profile::Operator, true);
}

/// Shuffling documents changes no answer; every rule of every policy ends in exactly one way on every ladder; a value
/// has one origin, which is on the ladder.
#[test]
fn order_free_conserving_and_one_origin() {
    for seed in 0..worlds() / 5 {
        let mut rng = Rng::new(7, "kuadrant", seed);
        let mut objects = world(&mut rng, &WorldShape::default());
        let run = run_text(&yaml::documents(&objects), Profile::Design);
        for i in (1..objects.len()).rev() {
            objects.swap(i, usize::try_from(rng.below(i as u64 + 1)).unwrap());
        }
        let again = run_text(&yaml::documents(&objects), Profile::Design);
        assert_eq!(run.answers(), again.answers(), "seed {seed}");
        for ladder in (0..u32::try_from(run.resolution.ladders.len()).unwrap()).map(LadderId) {
            conserves(&run, ladder);
        }
    }
}

fn conserves(run: &support::Run, ladder: LadderId) {
    let Some(effective) = run.resolution.effective(ladder) else { return };
    let steps = run.resolution.ladders.steps(ladder);
    let mut ends = Vec::new();
    if let Some(value) = &effective.value {
        value.parts(&run.documents, &mut |pointer, step, _| ends.push((step, pointer.to_owned())));
    }
    ends.extend(effective.losses.iter().map(|l| (l.step, l.pointer.to_string())));
    let distinct: BTreeSet<_> = ends.iter().cloned().collect();
    assert_eq!(distinct.len(), ends.len(), "a rule ended twice");
    let skipped: BTreeSet<_> = effective
        .checks()
        .iter()
        .filter(|c| c.verdict != overrule_engine::Guard::Met)
        .map(|c| c.step)
        .collect();
    for step in &steps {
        let written = run.resolution.ladders.get_step(*step).unwrap();
        let policy = run.policies.list.get(written.policy.0 as usize).unwrap();
        let block = policy.blocks.iter().find(|b| b.name == written.block);
        let rules = block.map_or(0, |b| b.rules.len());
        let ended = ends.iter().filter(|(s, _)| s == step).count();
        let expected = if skipped.contains(step) { 0 } else { rules };
        assert_eq!(
            ended,
            expected,
            "every rule of {} {} ends once",
            run.policy_of(*step),
            written.block
        );
    }
    assert!(ends.iter().all(|(step, _)| steps.contains(step)), "origins are on the ladder");
    let removers = effective.losses.iter().filter(|l| l.fate == Fate::Removed).flat_map(|l| &l.by);
    for remover in removers {
        assert_eq!(
            effective.outcome(&run.resolution.ladders, *remover),
            Outcome::InForce,
            "a list that removes is in force"
        );
    }
}
