// SPDX-License-Identifier: Apache-2.0
//! In: numbers of rules. Out: what they cost a real Envoy. Not here: what they cost us.

use std::time::Duration;

use crate::client::{ProxyRequest, Wire};
use crate::emit::emitted;
use crate::failure::HarnessFailure;
use crate::install::Envoy;
use crate::lab::{Lab, LabProtocol, RuleLayout};
use crate::rules::{InboundRules, PermissionPolicy, below, exactly};
use crate::stories;

/// How often each is measured; the least counts, because a busy machine only adds.
const ROUNDS: u32 = 3;

/// So many rules, half exact allows, a quarter prefix allows, a quarter exact denies. The last of them is the only one
/// that fits `frontend`.
pub fn rules(number: u32) -> InboundRules {
    let id = |n: u32| format!("spiffe://trust-domain.mesh/ns/n{}/sa/s{n}", n % 97);
    let mut one = PermissionPolicy {
        name: "kri_mtp_default___many_".to_owned(),
        ..PermissionPolicy::default()
    };
    for n in 0..number.saturating_sub(1) {
        match n % 4 {
            0 => one.deny.push(exactly(&id(n))),
            1 => one.allow.push(below(&format!("{}/", id(n)))),
            _ => one.allow.push(exactly(&id(n))),
        }
    }
    one.allow.push(exactly("spiffe://trust-domain.mesh/ns/default/sa/frontend"));
    InboundRules::of(&[one])
}

/// Envoy's processor time for a request that the last of so many rules allows.
///
/// # Errors
/// Envoy does not run.
pub fn per_request(
    lab: &Lab,
    form: RuleLayout,
    number: u32,
    times: u32,
) -> Result<Duration, HarnessFailure> {
    let config = emitted(&rules(number), &lab.setup(LabProtocol::Http, form))?;
    let ask = ProxyRequest {
        wire: Wire::Http1,
        client: "frontend".to_owned(),
        sni: None,
        method: "GET".to_owned(),
        path: "/".to_owned(),
    };
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        least = least.min(lab.cpu_per_request(&config, &ask, times)?);
    }
    Ok(least)
}

/// Both forms, 10 to 10,000 rules, in words.
///
/// # Errors
/// Envoy does not run.
pub fn table(envoy: Envoy) -> Result<Vec<String>, HarnessFailure> {
    let lab = Lab::new(envoy, stories::holders())?;
    let mut lines = Vec::new();
    for form in [RuleLayout::List, RuleLayout::Tree] {
        let mut first = None;
        for number in [10, 1_000, 10_000] {
            let time = per_request(&lab, form, number, 2_000)?;
            let base = *first.get_or_insert(time);
            let ratio = time.as_secs_f64() / base.as_secs_f64();
            lines.push(format!("{form:?} {number:>6} rules: {time:?} per request, {ratio:.2}x"));
        }
    }
    Ok(lines)
}
