// SPDX-License-Identifier: Apache-2.0
//! In: sizes. Out: one gateway with as many listeners and routes as wanted, and Kuadrant policies, as YAML.
//! Not here: randomness; small nasty worlds (`world`).
//!
//! Every route is attached to the whole gateway and has no hostnames, so that each listener meets each route. With
//! policies on listeners and on routes no two paths have the same ladder: there are listeners × routes × 3 of them.

use std::fmt::Write as _;

use super::KINDS;

/// What a fleet has beside a policy of each kind on its gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct With {
    /// A policy of each kind on each listener.
    pub listener_policies: bool,
    /// A policy of each kind on each route.
    pub route_policies: bool,
    /// A control-plane condition on every overrides block: exactly one for each ladder.
    pub conditions: bool,
}

/// The fleet as documents separated by `---`. Without conditions, every policy is one that the CRDs admit.
pub fn fleet(listeners: usize, routes: usize, with: With) -> String {
    let mut out = String::new();
    gateway(&mut out, listeners).expect("text");
    for route in 0..routes {
        self::route(&mut out, route).expect("text");
    }
    policies(&mut out, listeners, routes, with).expect("text");
    out
}

fn gateway(out: &mut String, listeners: usize) -> std::fmt::Result {
    out.push_str(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata:\n  name: kuadrant\nspec:\n  \
         controllerName: example.com/controller\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n\
         metadata:\n  name: edge\n  namespace: infra\nspec:\n  gatewayClassName: kuadrant\n  listeners:\n",
    );
    for i in 0..listeners {
        write!(
            out,
            "  - name: l{i}\n    hostname: h{i}.example.com\n    port: 8080\n    protocol: HTTP\n    \
             allowedRoutes:\n      namespaces:\n        from: All\n"
        )?;
    }
    Ok(())
}

fn route(out: &mut String, i: usize) -> std::fmt::Result {
    write!(
        out,
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: r{i}\n  namespace: shop\n\
         spec:\n  parentRefs:\n  - name: edge\n    namespace: infra\n  rules:\n  - matches:\n    - path:\n        \
         type: PathPrefix\n        value: /r{i}\n    backendRefs:\n    - name: backend\n      port: 8080\n"
    )
}

fn policies(out: &mut String, listeners: usize, routes: usize, with: With) -> std::fmt::Result {
    // The lowest policy on the gateway's side overrides, what is above it gives defaults.
    let on_gateway = if with.listener_policies { "defaults" } else { "overrides" };
    for kind in KINDS {
        let policy = |out: &mut String, block: &str, target: &str, section: &str, n: usize| {
            policy(out, kind, block, (target, section, n), with.conditions)
        };
        policy(out, on_gateway, "edge", "", 0)?;
        for i in 0..if with.listener_policies { listeners } else { 0 } {
            policy(out, "overrides", "edge", &format!("l{i}"), i)?;
        }
        for i in 0..if with.route_policies { routes } else { 0 } {
            policy(out, "", &format!("r{i}"), "", i)?;
        }
    }
    Ok(())
}

/// A policy with one block; no block stands for bare rules on a route.
fn policy(
    out: &mut String,
    kind: &str,
    block: &str,
    (target, section, n): (&str, &str, usize),
    conditions: bool,
) -> std::fmt::Result {
    let version = if kind == "TokenRateLimitPolicy" { "v1alpha1" } else { "v1" };
    let (target_kind, namespace) = match block {
        "" => ("HTTPRoute", "shop"),
        _ => ("Gateway", "infra"),
    };
    let dash = if section.is_empty() { "" } else { "-" };
    write!(
        out,
        "---\napiVersion: kuadrant.io/{version}\nkind: {kind}\nmetadata:\n  name: {target}{dash}{section}\n  \
         namespace: {namespace}\n  creationTimestamp: \"2024-03-01T10:00:00Z\"\nspec:\n  targetRef:\n    \
         group: gateway.networking.k8s.io\n    kind: {target_kind}\n    name: {target}\n"
    )?;
    if !section.is_empty() {
        writeln!(out, "    sectionName: {section}")?;
    }
    let indent = if block.is_empty() { "  " } else { "    " };
    if !block.is_empty() {
        writeln!(out, "  {block}:\n    strategy: merge")?;
    }
    let auth = kind == "AuthPolicy";
    if conditions && block == "overrides" {
        let when = match auth {
            true => "spec.rules.authentication.exists(n, n == 'a')",
            false => "spec.limits.a.rates.exists(r, r.limit > 50)",
        };
        writeln!(out, "    when: \"{when}\"")?;
    }
    // A rule that everybody has, and one of the policy's own level.
    let own = match (block, section) {
        ("", _) => "route",
        (_, "") => "gateway",
        _ => "listener",
    };
    if auth {
        write!(out, "{indent}rules:\n{indent}  authentication:\n")?;
        for name in ["a", own] {
            let value =
                format!("apiKey:\n{indent}        selector:\n{indent}          matchLabels:");
            write!(
                out,
                "{indent}    {name}:\n{indent}      {value}\n{indent}            group: g{n}\n"
            )?;
        }
        return Ok(());
    }
    writeln!(out, "{indent}limits:")?;
    for (name, limit) in [("a", 1 + n % 100), (own, 10)] {
        write!(
            out,
            "{indent}  {name}:\n{indent}    rates:\n{indent}    - limit: {limit}\n{indent}      window: 10s\n"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{With, fleet};
    use crate::kuadrant::{KINDS, OracleEffective, Profile, effective, tests::documents};

    #[test]
    fn every_listener_meets_every_route_and_has_a_condition() {
        let with = With { listener_policies: true, route_policies: true, conditions: true };
        let objects = documents(&fleet(3, 120, with));
        assert_eq!(objects.len(), 2 + 120 + 3 * (1 + 3 + 120));
        let answers = effective(&objects, Profile::Design);
        assert_eq!(answers.len(), 3 * 120 * KINDS.len());
        let limits =
            || answers.iter().filter(|(key, _)| key.0 != "AuthPolicy").map(|(_, answer)| answer);
        // r0..r49 and r100..r119 have limits up to 50: the condition is false there, and true elsewhere.
        assert_eq!(limits().filter(|a| !a.skipped.is_empty()).count(), 2 * 3 * 70);
        assert!(limits().all(|a| a.skipped.iter().all(|s| !s.failed)));
        assert!(answers.iter().all(|(key, a)| key.0 != "AuthPolicy" || a.skipped.is_empty()));
    }

    #[test]
    fn parts_can_be_left_out() {
        let answers = |with| effective(&documents(&fleet(2, 3, with)), Profile::Operator);
        let bare = answers(With::default());
        assert_eq!(bare.len(), 2 * 3 * KINDS.len());
        let sources =
            |a: &OracleEffective| a.rules.values().map(|r| r.policy.clone()).collect::<Vec<_>>();
        assert!(bare.values().all(|a| sources(a) == ["infra/edge", "infra/edge"]));
        let routes = answers(With { route_policies: true, ..With::default() });
        assert!(routes.values().all(|a| a.rules.len() == 3 && a.overridden.len() == 1));
        let all = With { listener_policies: true, route_policies: true, conditions: false };
        let all = answers(all);
        let blocks = |a: &OracleEffective| a.rules.values().map(|r| r.block).collect::<Vec<_>>();
        assert!(all.values().all(|a| blocks(a) == ["overrides", "defaults", "overrides", "bare"]));
        assert!(all.values().all(|a| a.rules.values().all(|r| r.value != Value::Null)));
    }
}
