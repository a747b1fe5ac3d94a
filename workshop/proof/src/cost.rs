// SPDX-License-Identifier: Apache-2.0
//! In: numbers of rules. Out: what they cost a real Envoy. Not here: what they cost us.

use std::time::Duration;

use overrule_access::{Match, PathMatch};

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

/// So many rules on paths only: half exact allows, a quarter prefix allows, a quarter denies. The last of them is the only
/// one that fits `/`.
pub fn path_rules(number: u32) -> InboundRules {
    let at = |path: PathMatch| Match { path: Some(path), ..Match::default() };
    let path = |n: u32| format!("/api/v{}/things/{n}", n % 97);
    let mut one = PermissionPolicy {
        name: "kri_mtp_default___many_".to_owned(),
        ..PermissionPolicy::default()
    };
    for n in 0..number.saturating_sub(1) {
        match n % 4 {
            0 => one.deny.push(at(PathMatch::Prefix(path(n).into()))),
            1 => one.allow.push(at(PathMatch::Prefix(path(n).into()))),
            _ => one.allow.push(at(PathMatch::Exact(path(n).into()))),
        }
    }
    one.allow.push(at(PathMatch::Exact("/".into())));
    InboundRules::of(&[one])
}

/// Envoy's processor time for a request that the last of so many rules allows.
///
/// # Errors
/// Envoy does not run.
pub fn per_request(
    lab: &Lab,
    form: RuleLayout,
    rules: &InboundRules,
    times: u32,
) -> Result<Duration, HarnessFailure> {
    let config = emitted(rules, &lab.setup(LabProtocol::Http, form))?;
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
    type Rules = fn(u32) -> InboundRules;
    let kinds: [(&str, Rules); 2] = [("identity", rules), ("path", path_rules)];
    let forms = [RuleLayout::List, RuleLayout::Tree];
    for (kind, make, form) in kinds.iter().flat_map(|(k, m)| forms.map(|f| (k, m, f))) {
        let mut first = None;
        for number in [10, 1_000, 10_000] {
            let time = per_request(&lab, form, &make(number), 2_000)?;
            let base = *first.get_or_insert(time);
            let ratio = time.as_secs_f64() / base.as_secs_f64();
            lines.push(format!(
                "{form:?} {number:>6} rules by {kind}: {time:?} per request, {ratio:.2}x"
            ));
        }
    }
    Ok(lines)
}
