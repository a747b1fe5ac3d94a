// SPDX-License-Identifier: Apache-2.0
//! In: HTTPRoutes with timeouts, retries and CORS filters. Out: policies whose settings for the same give way.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{LadderId, NodeId, PolicyId};
use overrule_gateway::topology::RouteKind;
use overrule_source::{Diagnostic, View};

use crate::codes;
use crate::kinds::KindRole;
use crate::resolve::Found;

/// What a rule may say that a policy says too: the field of the policy.
const SETTINGS: &[(KindRole, &str)] =
    &[(KindRole::Traffic, "retry"), (KindRole::Traffic, "timeout"), (KindRole::Security, "cors")];

pub(super) fn report(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    let topology = found.plan.world().topology;
    let documents = found.plan.world().documents;
    let has = |tree: View<'_>, field: &str| match field {
        "retry" => tree.get("retry").is_some(),
        "timeout" => tree
            .get("timeouts")
            .is_some_and(|t| t.get("request").is_some() || t.get("backendRequest").is_some()),
        _ => {
            let mut filters = tree.get("filters").into_iter().flat_map(View::items);
            filters.any(|filter| filter.get("type").and_then(View::as_str) == Some("CORS"))
        }
    };
    let mut rules: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (_, rule) in topology.all_rules() {
        let is_http = topology.route(rule.route).is_some_and(|r| r.kind == RouteKind::Http);
        let tree = documents.view(rule.tree);
        let set = (0..SETTINGS.len())
            .filter(|n| SETTINGS.get(*n).is_some_and(|(_, field)| has(tree, field)));
        let set: Vec<usize> = if is_http { set.collect() } else { Vec::new() };
        if !set.is_empty() {
            rules.insert(rule.node, set);
        }
    }
    if rules.is_empty() {
        return;
    }
    let mut told: BTreeMap<(PolicyId, usize), BTreeSet<NodeId>> = BTreeMap::new();
    for (kind, info) in found.kinds() {
        for (path, ladder) in found.resolution.contexts(kind).filter(|(_, l)| *l != LadderId::EMPTY)
        {
            let Some(node) = found.resolution.paths.node(path) else { continue };
            for n in rules.get(&node).into_iter().flatten() {
                let Some((role, field)) = SETTINGS.get(*n).filter(|(role, _)| *role == info.role)
                else {
                    continue;
                };
                debug_assert_eq!(*role, info.role);
                let value = found.resolution.effective(ladder).and_then(|e| e.value.as_ref());
                let part = value.and_then(|value| value.get(documents, field));
                // Of timeouts, the rule sets the one of the request.
                let part = match *field {
                    "timeout" => part.and_then(|p| p.at(documents, ["http", "requestTimeout"])),
                    _ => part,
                };
                let steps = part.map(|part| part.steps()).unwrap_or_default();
                for id in steps.into_iter().filter_map(|step| found.policy_of(step)) {
                    told.entry((id, *n)).or_default().insert(node);
                }
            }
        }
    }
    for ((id, n), nodes) in told {
        let (Some(policy), Some((_, field))) = (found.policy(id), SETTINGS.get(n)) else {
            continue;
        };
        let message = format!(
            "{} set `{field}` themselves, and that is used instead of this policy's",
            found.nodes(&nodes)
        );
        let d = Diagnostic::new(&codes::RULE_WINS, message)
            .at(policy.at)
            .field(format!("spec.{field}"));
        out.push(
            d.help("nothing to do if the rule is to differ; else remove the setting from the rule"),
        );
    }
}
