// SPDX-License-Identifier: Apache-2.0
//! In: what we emit, and what we say will happen. Out: that a real Envoy does so. Not here: the harness itself.
//!
//! `OVERRULE_PROOF=long` asks 100,000 requests by each version of HTTP and 5,000 connections; `OVERRULE_PROOF_SEED` chooses others.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "test code: a broken expectation shall stop the test"
)]

#[path = "../common/mod.rs"]
mod common;
mod legacy;
mod trust;

use std::env;

use overrule_proof::fuzz::{Size, cases, edges, paths};
use overrule_proof::stories::{self, Probe};
use overrule_proof::{
    InboundCase, Lab, LabProtocol, ProofTally, ProxyAnswer, RuleLayout, SeenAnswer, cost, emitted,
    foretell, random, run,
};

fn asked_for() -> (u64, Size) {
    let long = env::var("OVERRULE_PROOF").as_deref() == Ok("long");
    let seed = env::var("OVERRULE_PROOF_SEED").map_or(1, |seed| seed.parse().unwrap());
    (seed, if long { Size::LONG } else { Size::SMALL })
}

fn report(tally: &ProofTally) {
    eprintln!("{tally}");
    assert_eq!(tally.mismatches, 0, "{}", tally.words.join("\n"));
}

#[test]
fn random_policies_are_decided_as_foretold() {
    let Some(envoy) = common::envoy() else { return };
    let (seed, size) = asked_for();
    let mut lab = Lab::new(envoy, random::holders()).unwrap();
    let cases = cases(seed, size, lab.holders());
    let tally = run(&mut lab, cases, emitted, foretell).unwrap();
    report(&tally);
    assert!(tally.requests >= u64::from(size.requests), "{tally}");
    assert!(tally.connections >= u64::from(size.connections), "{tally}");
    assert!(tally.answers.iter().all(|&n| n > 0) && tally.shadows > 0, "one-sided: {tally}");
}

#[test]
fn edges_are_decided_as_foretold() {
    let Some(envoy) = common::envoy() else { return };
    let mut lab = Lab::new(envoy, random::holders()).unwrap();
    let cases = edges(lab.holders());
    report(&run(&mut lab, cases, emitted, foretell).unwrap());
}

#[test]
fn paths_are_judged_as_foretold() {
    let Some(envoy) = common::envoy() else { return };
    let (seed, size) = asked_for();
    let mut lab = Lab::new(envoy, random::holders()).unwrap();
    let tally = run(&mut lab, paths(seed, size), emitted, foretell).unwrap();
    report(&tally);
    let [allowed, _, rejected, _] = tally.answers;
    assert!(allowed * 3 > tally.requests && rejected > 0, "one-sided: {tally}");
}

#[test]
fn the_user_stories_hold() {
    let Some(envoy) = common::envoy() else { return };
    let mut lab = Lab::new(envoy, stories::holders()).unwrap();
    // What we foretell is what the story says; that Envoy does so is seen below.
    for (case, story) in stories::cases().iter().flat_map(|case| {
        stories::stories().into_iter().filter(|s| s.name == case.name).map(move |s| (case, s))
    }) {
        let setup = lab.setup(case.protocol, case.form);
        for probe in &story.probes {
            let holder = &lab.holders()[&probe.ask.client];
            let foretold = foretell(&case.rules, &setup, &probe.ask, holder).answer;
            assert_eq!(foretold, right(probe), "{} {probe:?}", case.name);
        }
    }
    let tally = run(&mut lab, stories::cases(), emitted, foretell).unwrap();
    report(&tally);
    assert_eq!(tally.configs, 40, "11 inbounds in both forms, 9 of them over both protocols");
}

/// Over TCP, who is denied must not reach the service: not even to be greeted by it.
#[test]
fn who_is_denied_does_not_reach_the_service() {
    let Some(envoy) = common::envoy() else { return };
    let mut lab = Lab::new(envoy, stories::holders()).unwrap();
    let mut checked = 0;
    let some =
        |case: &InboundCase<_>| case.protocol == LabProtocol::Tcp && case.name.starts_with("SO3");
    for case in stories::cases().into_iter().filter(some) {
        let config = emitted(&case.rules, &lab.setup(case.protocol, case.form)).unwrap();
        let observed = lab.observe(&config, case.protocol, &case.asks).unwrap();
        let allowed = |seen: &&SeenAnswer| matches!(seen.answer, ProxyAnswer::Allowed { .. });
        let allowed = u64::try_from(observed.seen.iter().filter(allowed).count()).unwrap();
        assert_eq!(observed.upstream, allowed, "{}", case.name);
        checked += 1;
    }
    assert_eq!(checked, 2);
}

/// The bar of the tree form: 10,000 rules cost Envoy at most twice what 10 cost it.
#[cfg(target_os = "linux")]
#[test]
fn many_rules_cost_envoy_little_in_the_tree_form() {
    let Some(envoy) = common::envoy() else { return };
    let lab = Lab::new(envoy, stories::holders()).unwrap();
    for (kind, rules) in [("identity", cost::rules as fn(_) -> _), ("path", cost::path_rules)] {
        let cost = |n| cost::per_request(&lab, RuleLayout::Tree, &rules(n), 1_000).unwrap();
        let (few, many) = (cost(10), cost(10_000));
        eprintln!("10 rules by {kind}: {few:?}, 10,000: {many:?} of Envoy's time per request");
        assert!(many < few * 2, "{kind}: {few:?} {many:?}");
    }
}

/// By hand, from the story.
fn right(probe: &Probe) -> ProxyAnswer {
    let policy = probe.policy.to_owned();
    let shadow = probe.shadow.then(|| policy.clone());
    if probe.allowed {
        ProxyAnswer::Allowed { policy, shadow }
    } else {
        ProxyAnswer::Denied { policy }
    }
}

/// The forms may name different policies; if they never did, a comparison of both would prove little.
#[test]
fn random_cases_tell_the_forms_apart() {
    let Some(envoy) = common::envoy() else { return };
    let lab = Lab::new(envoy, random::holders()).unwrap();
    let (mut differ, mut all) = (0, 0);
    for case in cases(1, Size::SMALL, lab.holders()) {
        for ask in &case.asks {
            let answer = |form| {
                let setup = lab.setup(case.protocol, form);
                foretell(&case.rules, &setup, ask, &lab.holders()[&ask.client]).answer
            };
            all += 1;
            differ += u32::from(answer(RuleLayout::List) != answer(RuleLayout::Tree));
        }
    }
    eprintln!("forms name different policies for {differ} of {all}");
    assert!(differ * 100 > all, "{differ} of {all}");
}
