// SPDX-License-Identifier: Apache-2.0
//! In: a number of access rules of one inbound. Out: compiling, deciding and projecting them. Not here: how rules are made
//! of policies.

use overrule::overrule_access::{
    AccessRule, Compiled, Effect, Identity, Match, Request, RuleSource, Verdict, naive,
};
use overrule_envoy::{FilterForm, FilterInput, FilterOptions, Protocol, Version, filters, json};

use crate::{Task, stage};

/// As many decisions as rules, and the filters of both forms as text.
pub fn access(task: &Task) -> Option<()> {
    if task.writes {
        return None;
    }
    let count = task.size;
    let rules = naive::in_list_order((0..count).map(rule).collect());
    let compiled = stage("access", "compile", || Compiled::new(&rules));
    let callers: Vec<String> = (0..count).map(|n| caller(n * 7 % count.max(1))).collect();
    let allowed = stage("access", "decide", || {
        let may = |caller: &&String| {
            let identity = Some(caller.as_str());
            let request = Request { identity, ..Request::default() };
            compiled.decide(&request).verdict == Verdict::Allowed
        };
        callers.iter().filter(may).count()
    });
    assert!(allowed > 0 && allowed < callers.len(), "{allowed} of {}", callers.len());
    let names: Vec<String> = (0..=count / 10).map(|n| format!("callers-{n}")).collect();
    let input = FilterInput {
        rules: &rules,
        names: &names,
        protocol: Protocol::Http,
        stat_prefix: "inbound",
    };
    for (name, form) in [("project-list", FilterForm::List), ("project-tree", FilterForm::Tree)] {
        let options =
            FilterOptions { form, version: Some(Version::RESUMES), ..FilterOptions::default() };
        let text = stage("access", name, || json(&filters(&input, &options).filters));
        assert!(text.expect("JSON").len() > count as usize);
    }
    Some(())
}

/// Half are exact allows, a quarter are allows of a whole namespace, a quarter exact denies.
fn rule(n: u32) -> AccessRule {
    let (effect, identity) = match n % 4 {
        0 | 1 => (Effect::Allow, Identity::Exact(caller(n).into())),
        2 => (Effect::Allow, Identity::Prefix(namespace(n).into())),
        _ => (Effect::Deny, Identity::Exact(caller(n).into())),
    };
    let matches = Match { identity: Some(identity), ..Match::default() };
    AccessRule { effect, matches, source: RuleSource(n), policy: n / 10 }
}

fn namespace(n: u32) -> String {
    format!("spiffe://default.mesh.local/ns/team-{n}/")
}

fn caller(n: u32) -> String {
    format!("{}sa/web", namespace(n))
}
