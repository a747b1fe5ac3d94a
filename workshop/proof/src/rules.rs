// SPDX-License-Identifier: Apache-2.0
//! In: policies as people think of them. Out: rules in list order, with the names of their policies. Not here: reading
//! policies from YAML, deciding.

use overrule_access::{AccessRule, Compiled, Effect, Identity, Match, PathMatch, RuleSource};

/// What one policy says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionPolicy {
    /// Its KRI.
    pub name: String,
    /// Whom it refuses.
    pub deny: Vec<Match>,
    /// Whom it admits.
    pub allow: Vec<Match>,
    /// Whom it admits with a warning.
    pub shadow: Vec<Match>,
}

/// The rules of one inbound.
#[derive(Debug, Clone)]
pub struct InboundRules {
    /// All of them: the denies of all policies before the allows of all.
    pub rules: Vec<AccessRule>,
    /// KRIs by number of policy.
    pub names: Vec<String>,
    /// The same, ready to decide.
    pub compiled: Compiled,
}

impl InboundRules {
    /// The rules of these policies, which come in the order in which they apply.
    pub fn of(policies: &[PermissionPolicy]) -> Self {
        let mut rules = Vec::new();
        let mut add = |policy: u32, effect: Effect, matches: &[Match]| {
            for one in matches {
                let source = RuleSource(u32::try_from(rules.len()).unwrap_or(u32::MAX));
                rules.push(AccessRule { effect, matches: one.clone(), source, policy });
            }
        };
        for (number, policy) in (0..).zip(policies) {
            add(number, Effect::Deny, &policy.deny);
        }
        for (number, policy) in (0..).zip(policies) {
            add(number, Effect::Allow, &policy.allow);
            add(number, Effect::AllowWithShadowDeny, &policy.shadow);
        }
        let compiled = Compiled::new(&rules);
        Self { rules, names: policies.iter().map(|p| p.name.clone()).collect(), compiled }
    }
}

/// This one identity.
pub fn exactly(id: &str) -> Match {
    Match { identity: Some(Identity::Exact(id.into())), ..Match::default() }
}

/// All identities that begin like this.
pub fn below(prefix: &str) -> Match {
    Match { identity: Some(Identity::Prefix(prefix.into())), ..Match::default() }
}

/// The same, for one method only.
pub fn with_method(method: &str, one: Match) -> Match {
    Match { method: Some(method.into()), ..one }
}

/// The same, for a path and what is below it only.
pub fn with_path(path: &str, one: Match) -> Match {
    Match { path: Some(PathMatch::Prefix(path.into())), ..one }
}
