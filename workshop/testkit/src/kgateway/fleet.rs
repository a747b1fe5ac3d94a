// SPDX-License-Identifier: Apache-2.0
//! In: sizes. Out: a gateway and trees of routes three levels deep, with TrafficPolicies on all of them, as YAML.
//! Not here: randomness; small nasty worlds (`world`).
//!
//! ```text
//!  infra/edge  http, https      policies on the gateway and on both listeners
//!  infra/team-t                 one root for each team, delegates by name; a policy
//!  team-t/entry                 delegates by label; a policy
//!  team-t/r0 .. team-t/rN       leaves; a policy each
//! ```

use std::fmt::Write as _;

use super::{GATEWAY_API, KGATEWAY, PRIORITY};

/// As many teams, each with as many leaves, as documents separated by `---`: teams × leaves × 2 paths. Every other
/// team wants deep merges.
pub fn fleet(teams: usize, leaves: usize) -> String {
    let mut out = String::new();
    write_fleet(&mut out, teams, leaves).expect("text");
    out
}

fn write_fleet(out: &mut String, teams: usize, leaves: usize) -> std::fmt::Result {
    write!(
        out,
        "apiVersion: {GATEWAY_API}/v1\nkind: GatewayClass\nmetadata:\n  name: kgateway\nspec:\n  controllerName: \
         kgateway.dev/kgateway\n---\napiVersion: {GATEWAY_API}/v1\nkind: Gateway\nmetadata:\n  name: edge\n  namespace: \
         infra\nspec:\n  gatewayClassName: kgateway\n  listeners:\n"
    )?;
    for (name, protocol, port) in [("http", "HTTP", 80), ("https", "HTTPS", 443)] {
        writeln!(out, "  - name: {name}\n    protocol: {protocol}\n    port: {port}")?;
    }
    policy(out, "infra", "edge", "Gateway", "edge", "buffer: {maxRequestSize: 1Ki}")?;
    for listener in ["http", "https"] {
        let target = format!("edge\n    sectionName: {listener}");
        policy(out, "infra", listener, "Gateway", &target, "timeouts: {streamIdle: 9s}")?;
    }
    for team in 0..teams {
        self::team(out, team, leaves)?;
    }
    Ok(())
}

fn team(out: &mut String, team: usize, leaves: usize) -> std::fmt::Result {
    let place = format!("team-{team}");
    let deep = team.is_multiple_of(2);
    let word = if deep { "DeepMergePreferChild" } else { "ShallowMergePreferChild" };
    let annotation = format!("  annotations:\n    {PRIORITY}: {word}\n");
    let parent = "  parentRefs:\n  - name: edge\n";
    let child = format!(
        "    - group: {GATEWAY_API}\n      kind: HTTPRoute\n      name: entry\n      namespace: {place}\n"
    );
    route(out, ("infra", &place), &annotation, parent, &format!("/{place}"), &child)?;
    let kids = "    - group: delegation.kgateway.dev\n      kind: label\n      name: kid\n";
    route(out, (&place, "entry"), &annotation, "", &format!("/{place}"), kids)?;
    policy(out, "infra", &place, "HTTPRoute", &place, &value(team, "root", true))?;
    policy(out, &place, "entry", "HTTPRoute", "entry", &value(team, "entry", true))?;
    for leaf in 0..leaves {
        let name = format!("r{leaf}");
        let label = "  labels:\n    delegation.kgateway.dev/label: kid\n";
        let service = "    - name: svc\n      port: 80\n";
        route(out, (&place, &name), label, "", &format!("/{place}/{name}"), service)?;
        policy(
            out,
            &place,
            &name,
            "HTTPRoute",
            &name,
            &value(leaf, "leaf", leaf.is_multiple_of(2)),
        )?;
    }
    Ok(())
}

/// What a policy says: a transformation, and maybe a unit that cannot be combined.
fn value(number: usize, level: &str, cors: bool) -> String {
    let entry = format!("{{name: x, value: {level}-{number}}}");
    let mut value = format!("transformation: {{request: {{set: [{entry}]}}}}");
    if cors {
        let _ = write!(value, "\n  cors: {{allowOrigins: ['https://{level}-{number}.example']}}");
    }
    value
}

fn route(
    out: &mut String,
    (namespace, name): (&str, &str),
    metadata: &str,
    parent: &str,
    path: &str,
    backend: &str,
) -> std::fmt::Result {
    write!(
        out,
        "---\napiVersion: {GATEWAY_API}/v1\nkind: HTTPRoute\nmetadata:\n  name: {name}\n  namespace: {namespace}\n\
         {metadata}spec:\n{parent}  rules:\n  - matches:\n    - path:\n        type: PathPrefix\n        value: {path}\n    \
         backendRefs:\n{backend}"
    )
}

fn policy(
    out: &mut String,
    namespace: &str,
    name: &str,
    kind: &str,
    target: &str,
    spec: &str,
) -> std::fmt::Result {
    write!(
        out,
        "---\napiVersion: {KGATEWAY}/v1alpha1\nkind: TrafficPolicy\nmetadata:\n  name: {name}\n  namespace: {namespace}\n  \
         creationTimestamp: \"2024-03-01T10:00:00Z\"\nspec:\n  targetRefs:\n  - group: {GATEWAY_API}\n    kind: {kind}\n    \
         name: {target}\n  {spec}\n"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::fleet;
    use crate::kgateway::{OracleSettings, Profile, documents, oracle};

    #[test]
    fn every_team_and_leaf_is_behind_both_listeners() {
        let text = fleet(2, 3);
        assert_eq!(documents(&text).len(), 2 + 3 + 2 * (4 + 3 * 2));
        let answers = oracle(&text, &OracleSettings::default(), Profile::Shipped);
        let traffic: Vec<_> = answers.iter().filter(|a| a.kind == "TrafficPolicy").collect();
        assert_eq!(traffic.len(), 2 * 3 * 2);
        for answer in traffic {
            assert!(!answer.error && answer.path.len() == 6, "{answer:?}");
            let units: Vec<&String> = answer.fields.keys().collect();
            assert_eq!(units, ["buffer", "cors", "timeouts", "transformation"]);
            let set = answer.fields["transformation"].pointer("/request/set").unwrap();
            let team: usize = if answer.path[2] == "infra/team-0" { 3 } else { 1 };
            assert_eq!(set.as_array().unwrap().len(), team);
            let odd = answer.path[4].ends_with("r1");
            let owner = if odd { &answer.path[3] } else { &answer.path[4] };
            assert_eq!(answer.sources["cors"], BTreeSet::from([owner.clone()]));
        }
    }
}
