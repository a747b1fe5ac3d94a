// SPDX-License-Identifier: Apache-2.0
//! In: rules, how to lay them out for Envoy, and what is foretold. Out: every difference from what a real Envoy does.
//! Not here: rules and foretelling themselves; any will do.

use std::fmt;

use crate::answer::{Answer, Counters, Expected};
use crate::client::Ask;
use crate::failure::Failure;
use crate::lab::{Form, Lab, Protocol, Setup};
use crate::pki::Holder;

/// How many differences are kept in words.
const KEPT: usize = 40;

/// One inbound and what is asked of it.
#[derive(Debug, Clone)]
pub struct Case<R> {
    /// By what to find it again.
    pub name: String,
    /// Its rules.
    pub rules: R,
    /// What it speaks.
    pub protocol: Protocol,
    /// How its rules are laid out.
    pub form: Form,
    /// What is asked, in order.
    pub asks: Vec<Ask>,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Bootstraps that Envoy checked, accepted and ran.
    pub configs: u64,
    /// HTTP requests.
    pub requests: u64,
    /// TCP connections.
    pub connections: u64,
    /// Answers: allowed, denied, rejected as HTTP, refused by TLS.
    pub answers: [u64; 4],
    /// Allowed, and a shadow would refuse it.
    pub shadows: u64,
    /// Denied by a policy, and not because nothing allows it.
    pub by_policy: u64,
    /// Differences, counters included.
    pub mismatches: u64,
    /// The first of them, in words.
    pub words: Vec<String>,
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.configs += other.configs;
        self.requests += other.requests;
        self.connections += other.connections;
        for (sum, more) in self.answers.iter_mut().zip(other.answers) {
            *sum += more;
        }
        self.shadows += other.shadows;
        self.by_policy += other.by_policy;
        self.mismatches += other.mismatches;
        self.words.extend(other.words);
        self.words.truncate(KEPT);
    }

    fn differs(&mut self, words: impl FnOnce() -> String) {
        self.mismatches += 1;
        if self.words.len() < KEPT {
            self.words.push(words());
        }
    }

    fn count(&mut self, answer: &Answer) {
        let [allowed, denied, rejected, refused] = &mut self.answers;
        match answer {
            Answer::Allowed { shadow, .. } => {
                *allowed += 1;
                self.shadows += u64::from(shadow.is_some());
            }
            Answer::Denied { policy } => {
                *denied += 1;
                self.by_policy += u64::from(policy != overrule_envoy::DEFAULT);
            }
            Answer::Rejected { .. } => *rejected += 1,
            Answer::Refused => *refused += 1,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [allowed, denied, rejected, refused] = self.answers;
        write!(
            f,
            "proof: {} configs, {} HTTP requests, {} TCP connections ({allowed} allowed, {} of them with a shadow, \
             {denied} denied, {} of them by a policy, {rejected} rejected, {refused} refused): {} mismatches",
            self.configs,
            self.requests,
            self.connections,
            self.shadows,
            self.by_policy,
            self.mismatches
        )
    }
}

/// Runs every case on a real Envoy and compares each answer, its deciding policy, its shadow, its path, and at the end
/// all counters, with what `decide` foretells.
///
/// # Errors
/// Envoy refuses a bootstrap or does not answer. Differences are no error: they are in the tally.
pub fn run<R>(
    lab: &mut Lab,
    cases: impl IntoIterator<Item = Case<R>>,
    bootstrap: impl Fn(&R, &Setup<'_>) -> Result<String, Failure>,
    decide: impl Fn(&R, &Setup<'_>, &Ask, &Holder) -> Expected,
) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    for case in cases {
        let of = |failure| Failure::new(format!("{}: {failure}", label(&case)));
        let setup = lab.setup(case.protocol, case.form);
        let config = bootstrap(&case.rules, &setup).map_err(of)?;
        let mut expected = Vec::with_capacity(case.asks.len());
        for ask in &case.asks {
            let holder = lab.holders().get(&ask.client);
            let holder = holder.ok_or_else(|| Failure::new(format!("no client {}", ask.client)))?;
            expected.push(decide(&case.rules, &setup, ask, holder));
        }
        let observed = lab.observe(&config, case.protocol, &case.asks).map_err(of)?;
        tally.configs += 1;
        let number = u64::try_from(case.asks.len()).unwrap_or(u64::MAX);
        match case.protocol {
            Protocol::Http => tally.requests += number,
            Protocol::Tcp => tally.connections += number,
        }
        for ((ask, foretold), seen) in case.asks.iter().zip(&expected).zip(&observed.seen) {
            tally.count(&seen.answer);
            if !foretold.is(seen) {
                tally.differs(|| {
                    format!(
                        "{}: {ask:?}\n  foretold {foretold:?}\n  seen     {seen:?}",
                        label(&case)
                    )
                });
            }
        }
        let foretold = Counters::foretold(&expected);
        let by_policy = case.protocol == Protocol::Http;
        if foretold.all != observed.counters.all
            || (by_policy && foretold.policies != observed.counters.policies)
        {
            let seen = &observed.counters;
            tally.differs(|| {
                format!("{}: counters\n  foretold {foretold:?}\n  seen     {seen:?}", label(&case))
            });
        }
    }
    Ok(tally)
}

fn label<R>(case: &Case<R>) -> String {
    format!("{} ({:?}, {:?})", case.name, case.protocol, case.form)
}
