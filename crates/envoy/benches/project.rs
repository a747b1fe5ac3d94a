// SPDX-License-Identifier: Apache-2.0
//! In: 10,000 rules on identity, method and path. Out: how long writing their filters takes, and how long the text is. Not
//! here: what the filters cost Envoy (`overrule-proof --cost`).
//!
//! `cargo bench -p overrule-envoy --bench project`, `-- --quick` for a small one. Times are processor time.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

use std::process::ExitCode;

use cpu_time::ProcessTime;
use overrule_access::{AccessRule, Effect, Identity, Match, PathMatch, RuleSource, naive};
use overrule_envoy::{FilterForm, FilterInput, FilterOptions, Protocol, Version, filters, json};

/// Seconds that writing the filters may take.
const BAR: f64 = 0.5;

fn main() -> ExitCode {
    let quick = std::env::args().any(|a| a == "--quick");
    let mut holds = true;
    for count in if quick { [10, 100] } else { [1_000, 10_000] } {
        let rules = naive::in_list_order((0..count).map(rule).collect());
        let names: Vec<String> = (0..=count / 10).map(|n| format!("callers-{n}")).collect();
        let input = FilterInput {
            rules: &rules,
            names: &names,
            protocol: Protocol::Http,
            stat_prefix: "inbound",
        };
        for form in [FilterForm::List, FilterForm::Tree] {
            let options =
                FilterOptions { form, version: Some(Version::RESUMES), ..FilterOptions::default() };
            let mut best = f64::MAX;
            let mut bytes = 0;
            for _ in 0..3 {
                let start = ProcessTime::now();
                bytes = json(&filters(&input, &options).filters).unwrap().len();
                best = best.min(start.elapsed().as_secs_f64());
            }
            holds &= best <= BAR;
            let mark = if best <= BAR { "holds" } else { "DOES NOT HOLD" };
            println!("{form:?} of {count} rules: {best:.3} s (bar: {BAR}) {mark}, {bytes} bytes");
        }
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Half are exact allows, a quarter are allows of a namespace, a quarter exact denies; each of a method and a path.
fn rule(n: u32) -> AccessRule {
    let namespace = format!("spiffe://default.mesh.local/ns/team-{n}/");
    let caller = Identity::Exact(format!("{namespace}sa/web").into());
    let (effect, identity) = match n % 4 {
        0 | 1 => (Effect::Allow, caller),
        2 => (Effect::Allow, Identity::Prefix(namespace.into())),
        _ => (Effect::Deny, caller),
    };
    let path = format!("/api/v{}/things/{n}", n % 97).into();
    let path = if n.is_multiple_of(3) { PathMatch::Exact(path) } else { PathMatch::Prefix(path) };
    let method = if n.is_multiple_of(2) { "GET" } else { "POST" };
    let matches = Match {
        identity: Some(identity),
        method: Some(method.into()),
        path: Some(path),
        ..Match::default()
    };
    AccessRule { effect, matches, source: RuleSource(n), policy: n / 10 }
}
