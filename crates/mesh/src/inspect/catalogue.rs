// SPDX-License-Identifier: Apache-2.0
//! In: the table of kinds. Out: it as `/_resources` and `/policies` show it. Not here: resources.

use serde_json::{Value, json};

use super::answer::InspectAnswer;
use crate::kinds::{self, KINDS, KindScope, PolicySchema, ResourceKind, plural};
use crate::names::Mode;

/// Every kind of resource.
pub(super) fn kinds(mode: Mode) -> InspectAnswer {
    let mut all: Vec<&ResourceKind> = KINDS.iter().collect();
    all.sort_by_key(|kind| kind.name);
    let shown: Vec<Value> = all.into_iter().map(|kind| shown(kind, mode)).collect();
    InspectAnswer::ok(&json!({"resources": shown}))
}

fn shown(kind: &ResourceKind, mode: Mode) -> Value {
    let mut shown = json!({
        "name": kind.name,
        "scope": if kind.scope == KindScope::Global { "Global" } else { "Mesh" },
        "readOnly": is_read_only(kind, mode),
        "path": kind.path,
        "singularDisplayName": words(kind.name),
        "pluralDisplayName": plural(&words(kind.name)),
        "shortName": kind.short.unwrap_or_default(),
        "includeInFederation": !kind.is_proxy && *kind != kinds::DATAPLANE_INSIGHT,
    });
    if let Some(members) = shown.as_object_mut().filter(|_| is_policy(kind)) {
        let holds = |what: fn(&PolicySchema) -> bool| kind.policy.as_ref().is_some_and(what);
        let policy = json!({
            "isTargetRef": kind.is_policy(),
            "hasToTargetRef": holds(|p| p.to),
            "hasFromTargetRef": holds(|p| p.from),
            "hasRulesTargetRef": holds(|p| p.rules),
            "isFromAsRules": holds(|p| p.from_as_rules),
        });
        members.insert("policy".into(), policy);
    }
    shown
}

fn is_policy(kind: &ResourceKind) -> bool {
    kind.is_policy() || kind.is_legacy_policy()
}

/// Every kind of policy.
pub(super) fn policy_kinds(mode: Mode) -> InspectAnswer {
    let mut all: Vec<&ResourceKind> = KINDS.iter().filter(|kind| is_policy(kind)).collect();
    all.sort_by_key(|kind| kind.name);
    let shown = |kind: &ResourceKind| {
        json!({
            "name": kind.name,
            "path": kind.path,
            "readOnly": is_read_only(kind, mode),
            "isExperimental": false,
            "singularDisplayName": words(kind.name),
            "pluralDisplayName": plural(&words(kind.name)),
        })
    };
    let shown: Vec<Value> = all.into_iter().map(shown).collect();
    InspectAnswer::ok(&json!({"policies": shown}))
}

/// Proxies are told by their zone; a global control plane only shows them.
fn is_read_only(kind: &ResourceKind, mode: Mode) -> bool {
    *kind == kinds::DATAPLANE_INSIGHT || (mode == Mode::Global && kind.is_proxy)
}

/// `Mesh HTTP Route`: the words of a type. A run of capitals is one word, its last letter begins the next.
fn words(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let upper = |at: usize| letters.get(at).is_some_and(char::is_ascii_uppercase);
    let lower = |at: usize| letters.get(at).is_some_and(char::is_ascii_lowercase);
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        if at > 0 && upper(at) && (lower(at - 1) || lower(at + 1)) {
            out.push(' ');
        }
        out.push(*letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_in_words() {
        for (name, want) in [
            ("MeshHTTPRoute", "Mesh HTTP Route"),
            ("MeshTLS", "Mesh TLS"),
            ("Dataplane", "Dataplane"),
            ("MeshLoadBalancingStrategy", "Mesh Load Balancing Strategy"),
        ] {
            assert_eq!(words(name), want);
        }
    }

    #[test]
    fn every_kind_and_every_policy_is_listed_once() {
        let all = kinds(Mode::Zone).body.value();
        let all = all["resources"].as_array().unwrap();
        assert_eq!(all.len(), KINDS.len());
        let timeout = all.iter().find(|k| k["name"] == "MeshTimeout").unwrap();
        assert_eq!(timeout["policy"]["hasToTargetRef"], true);
        assert_eq!(timeout["pluralDisplayName"], "Mesh Timeouts");
        let mesh = all.iter().find(|k| k["name"] == "Mesh").unwrap();
        assert_eq!((&mesh["scope"], mesh.get("policy")), (&json!("Global"), None));
        let policies = policy_kinds(Mode::Global).body.value();
        let policies = policies["policies"].as_array().unwrap();
        assert_eq!(policies.len(), 16 + KINDS.iter().filter(|k| k.is_legacy_policy()).count());
        let proxy = kinds(Mode::Global).body.value();
        let proxy =
            proxy["resources"].as_array().unwrap().iter().find(|k| k["name"] == "Dataplane");
        assert_eq!(proxy.unwrap()["readOnly"], true);
    }
}
