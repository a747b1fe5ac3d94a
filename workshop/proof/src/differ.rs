// SPDX-License-Identifier: Apache-2.0
//! In: rules, how to lay them out for Envoy, and what is foretold. Out: every difference from what a real Envoy does.
//! Not here: rules and foretelling themselves; any will do.

use std::fmt;

use crate::answer::{Counters, Expected, ProxyAnswer};
use crate::client::{ProxyRequest, Wire};
use crate::failure::HarnessFailure;
use crate::lab::{Lab, LabProtocol, RuleLayout, Setup};
use crate::pki::Holder;

/// How many differences are kept in words.
const KEPT: usize = 40;

/// One inbound and what is asked of it.
#[derive(Debug, Clone)]
pub struct InboundCase<R> {
    /// By what to find it again.
    pub name: String,
    /// Its rules.
    pub rules: R,
    /// What it speaks.
    pub protocol: LabProtocol,
    /// How its rules are laid out.
    pub form: RuleLayout,
    /// What is asked, in order.
    pub asks: Vec<ProxyRequest>,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct ProofTally {
    /// Bootstraps that Envoy checked, accepted and ran.
    pub configs: u64,
    /// HTTP requests.
    pub requests: u64,
    /// Of these: by HTTP/1.1, by HTTP/2, and as calls of gRPC.
    pub wires: [u64; 3],
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

impl ProofTally {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.configs += other.configs;
        self.requests += other.requests;
        self.connections += other.connections;
        for (sum, more) in self.wires.iter_mut().zip(other.wires) {
            *sum += more;
        }
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

    fn count(&mut self, answer: &ProxyAnswer) {
        let [allowed, denied, rejected, refused] = &mut self.answers;
        match answer {
            ProxyAnswer::Allowed { shadow, .. } => {
                *allowed += 1;
                self.shadows += u64::from(shadow.is_some());
            }
            ProxyAnswer::Denied { policy } => {
                *denied += 1;
                self.by_policy += u64::from(policy != overrule_envoy::DEFAULT);
            }
            ProxyAnswer::Rejected { .. } => *rejected += 1,
            ProxyAnswer::Refused => *refused += 1,
        }
    }
}

impl fmt::Display for ProofTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [allowed, denied, rejected, refused] = self.answers;
        let [http1, http2, grpc] = self.wires;
        write!(
            f,
            "proof: {} configs, {} HTTP requests ({http1} HTTP/1.1, {http2} HTTP/2, {grpc} gRPC), {} TCP connections ({allowed} allowed, {} of them with a shadow, \
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
    cases: impl IntoIterator<Item = InboundCase<R>>,
    bootstrap: impl Fn(&R, &Setup<'_>) -> Result<String, HarnessFailure>,
    decide: impl Fn(&R, &Setup<'_>, &ProxyRequest, &Holder) -> Expected,
) -> Result<ProofTally, HarnessFailure> {
    let mut tally = ProofTally::default();
    for case in cases {
        let of = |failure| HarnessFailure::new(format!("{}: {failure}", label(&case)));
        let setup = lab.setup(case.protocol, case.form);
        let config = bootstrap(&case.rules, &setup).map_err(of)?;
        let mut expected = Vec::with_capacity(case.asks.len());
        for ask in &case.asks {
            let holder = lab.holders().get(&ask.client);
            let holder =
                holder.ok_or_else(|| HarnessFailure::new(format!("no client {}", ask.client)))?;
            expected.push(decide(&case.rules, &setup, ask, holder));
        }
        let observed = lab.observe(&config, case.protocol, &case.asks).map_err(of)?;
        tally.configs += 1;
        let number = u64::try_from(case.asks.len()).unwrap_or(u64::MAX);
        match case.protocol {
            LabProtocol::Http => {
                tally.requests += number;
                let [http1, http2, grpc] = &mut tally.wires;
                for ask in &case.asks {
                    *match ask.wire {
                        Wire::Http1 => &mut *http1,
                        Wire::Http2 => &mut *http2,
                        Wire::Grpc => &mut *grpc,
                    } += 1;
                }
            }
            LabProtocol::Tcp => tally.connections += number,
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
        let by_policy = case.protocol == LabProtocol::Http;
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

fn label<R>(case: &InboundCase<R>) -> String {
    format!("{} ({:?}, {:?})", case.name, case.protocol, case.form)
}
