// SPDX-License-Identifier: Apache-2.0
//! In: a policy kind. Out: an expression for a `when`, out of a pool that meets, misses and breaks. Not here: evaluation.

use crate::rng::Rng;

/// About any policy.
const ANY: [&str; 16] = [
    "true",
    "false",
    "kind == 'RateLimitPolicy'",
    "metadata.name == 'p1' || metadata.namespace == 'infra'",
    "self.metadata.name.startsWith('p1')",
    "has(self.kind)",
    "'metadata' in self",
    "has(metadata.labels)",
    "metadata.labels.tier == 'gold'",
    "spec.targetRef.kind == 'HTTPRoute'",
    "self.spec.targetRef.name in ['cart', 'edge']",
    "!has(spec.targetRef) || !has(spec.targetRef.sectionName)",
    "size(spec) > 1",
    "spec.nothing.here",
    "metadata.name > 5",
    "kind",
];

/// About limits.
const LIMITS: [&str; 18] = [
    "spec.limits.a.rates.exists(r, r.limit > 50)",
    "self.spec.limits.a.rates.all(r, r.limit <= 50)",
    "has(spec.limits) && has(spec.limits.a)",
    "has(spec.limits.b)",
    "!has(spec.limits) || !has(spec.limits.b) || spec.limits.b.rates[0].limit <= 50",
    "spec.limits['a-b.c'].rates[0].limit >= 30",
    "'a' in spec.limits",
    "'a-b.c' in self.spec.limits",
    "size(spec.limits) > 1",
    "spec.limits.exists(n, size(spec.limits[n].rates) > 1)",
    "spec.limits.all(n, has(spec.limits[n].counters))",
    "spec.limits.exists_one(n, n.startsWith('a'))",
    "spec.limits.a.rates[1].limit > 5",
    "spec.limits.c.rates[0].limit + 10 > 60",
    "spec.limits.a.rates[0].limit == 100 || spec.limits.b.rates[0].limit == 100",
    "spec.limits.a.rates.map(r, r.limit).exists(v, v in [10, 50])",
    "size(spec.limits.filter(n, n != 'a')) > 0",
    "has(spec.when) && spec.when.size() == 1",
];

/// About rules of AuthPolicy.
const AUTH: [&str; 14] = [
    "spec.rules.authentication.a > 50",
    "has(spec.rules.authentication.a)",
    "has(spec.rules) && has(spec.rules.authentication)",
    "'b' in spec.rules.authentication",
    "spec.rules.authentication.a.level in [10, 30]",
    "spec.rules.authorization['a-b.c'].level > 30",
    "spec.rules.response.unauthorized.code == 403",
    "has(spec.rules.response.success)",
    "size(spec.rules.response.success.headers) > 1",
    "spec.rules.exists(g, g == 'authorization')",
    "spec.patterns.exists(p, p == 'c')",
    "spec.when[0].predicate.contains('host')",
    "self.spec.rules.metadata.a == 30 ? true : has(spec.patterns)",
    "has(spec.rules) && !('c' in spec.rules.authentication) && spec.targetRef.kind != 'Gateway'",
];

/// Mostly about what the kind has; sometimes about what it can never have.
pub(super) fn one(rng: &mut Rng, kind: &str) -> &'static str {
    let auth = (kind == "AuthPolicy") != rng.percent(5);
    let pool: &[&'static str] = match rng.below(10) {
        0..4 => &ANY,
        _ if auth => &AUTH,
        _ => &LIMITS,
    };
    let one: &&'static str = rng.pick(pool);
    one
}

#[cfg(test)]
pub(super) fn pool() -> impl Iterator<Item = &'static str> {
    ANY.into_iter().chain(LIMITS).chain(AUTH)
}
