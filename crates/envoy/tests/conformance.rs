// SPDX-License-Identifier: Apache-2.0
//! In: the areas `mtp/rbac`, `mtp/legacy_rbac`, `mtp/legacy_decision` and `mtp/apply` of the conformance data named by
//! `OVERRULE_CONFORMANCE`. Out: the form of the release is theirs, byte for byte. Without the data the tests say that they
//! did not run.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation shall stop the test"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test may look at its environment and say so"
)]

#[path = "support/yaml.rs"]
mod yaml;

use std::path::PathBuf;

use overrule_access::{AccessRule, Effect, Identity, Match, RuleSource};
use overrule_envoy::{
    Chains, FilterForm, FilterInput, FilterOptions, LegacyInput, LegacySubset, LegacyTag,
    Projection, Protocol, Release, SubsetAction, apply, filters, json, legacy,
};
use serde_json::Value;

fn area(file: &str) -> Option<PathBuf> {
    let given = std::env::var("OVERRULE_CONFORMANCE").unwrap_or_default();
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance");
    let root = if given.is_empty() { beside } else { &given };
    let path = PathBuf::from(root).join("kuma/mtp").join(file);
    if !path.exists() {
        eprintln!("did not run: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn kuma(release: Release) -> FilterOptions {
    FilterOptions { form: FilterForm::Kuma(release), ..FilterOptions::default() }
}

/// Rules in list order and names, of inbound rules as the data has them.
fn rules(inbound: &Value) -> (Vec<AccessRule>, Vec<String>) {
    let entries = inbound.as_array().unwrap();
    let names = entries.iter().map(|entry| kri(&entry["origin"])).collect();
    let mut rules = Vec::new();
    for (list, effect) in [
        ("deny", Effect::Deny),
        ("allow", Effect::Allow),
        ("allowWithShadowDeny", Effect::AllowWithShadowDeny),
    ] {
        for (policy, entry) in (0..).zip(entries) {
            for written in entry["conf"][list].as_array().into_iter().flatten() {
                let matches = matches(written);
                let source = RuleSource(u32::try_from(rules.len()).unwrap());
                rules.push(AccessRule { effect, matches, source, policy });
            }
        }
    }
    (rules, names)
}

fn matches(written: &Value) -> Match {
    let text = |value: &Value| Box::from(value.as_str().unwrap());
    let identity = written.get("spiffeID").map(|id| match id["type"].as_str() {
        Some("Exact") => Identity::Exact(text(&id["value"])),
        Some("Prefix") => Identity::Prefix(text(&id["value"])),
        other => panic!("{other:?}"),
    });
    let sni = written.get("sni").map(|sni| text(&sni["value"]));
    Match { identity, sni, ..Match::default() }
}

fn kri(origin: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let label = |key: &str| text(&origin["labels"][key]);
    let [mesh, name] = ["mesh", "name"].map(|key| text(&origin[key]));
    let [zone, namespace] = ["kuma.io/zone", "k8s.kuma.io/namespace"].map(label);
    format!("kri_mtp_{mesh}_{zone}_{namespace}_{name}_")
}

fn subset_rules(written: &Value) -> Vec<LegacySubset> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tag = |tag: &Value| LegacyTag {
        key: text(&tag["key"]),
        value: text(&tag["value"]),
        not: tag["not"].as_bool().unwrap_or_default(),
    };
    let rule = |rule: &Value| LegacySubset {
        tags: rule["subset"].as_array().unwrap().iter().map(tag).collect(),
        action: match rule["conf"]["action"].as_str() {
            Some("Allow") => SubsetAction::Allow,
            Some("AllowWithShadowDeny") => SubsetAction::AllowWithShadowDeny,
            Some("Deny") => SubsetAction::Deny,
            other => panic!("{other:?}"),
        },
    };
    written.as_array().into_iter().flatten().map(rule).collect()
}

/// Their bytes and ours, both without spaces. Ours are in order by themselves; theirs are put in order by reading.
fn same(projection: &Projection<'_>, expected: &Value, id: &Value) {
    let theirs = serde_json::to_string(&expected["filters"]).unwrap();
    assert_eq!(json(&projection.filters).unwrap(), theirs, "{id}");
}

#[test]
fn the_release_writes_rules_so() {
    let Some(path) = area("rbac.yaml") else { return };
    let cases = yaml::load(&path);
    let cases = cases["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let (rules, names) = rules(&case["inboundRules"]);
        let stat_prefix = case["statsName"].as_str().unwrap();
        let input =
            FilterInput { rules: &rules, names: &names, protocol: Protocol::Tcp, stat_prefix };
        for release in [Release::V2_13, Release::V2_14] {
            let projection = filters(&input, &kuma(release));
            assert!(projection.problems.is_empty(), "{:?}", projection.problems);
            same(&projection, &case["expected"], &case["id"]);
        }
    }
    eprintln!("{} cases", cases.len());
}

#[test]
fn the_release_writes_subset_rules_so() {
    let Some(path) = area("legacy_rbac.yaml") else { return };
    let cases = yaml::load(&path);
    let cases = cases["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let rules = subset_rules(&case["rules"]);
        let input = LegacyInput {
            rules: &rules,
            mesh: case["mesh"].as_str().unwrap(),
            protocol: Protocol::Tcp,
            stat_prefix: case["statsName"].as_str().unwrap(),
        };
        same(&legacy(&input, &kuma(Release::V2_13)), &case["expected"], &case["id"]);
    }
    eprintln!("{} cases", cases.len());
}

/// What Envoy does with a principal: any SAN may be the one.
fn holds(principal: &Value, sans: &[String]) -> bool {
    let (kind, of) = principal.as_object().unwrap().iter().next().unwrap();
    let ids = || of["ids"].as_array().unwrap().iter();
    match kind.as_str() {
        "andIds" => ids().all(|id| holds(id, sans)),
        "orIds" => ids().any(|id| holds(id, sans)),
        "notId" => !holds(of, sans),
        "any" => true,
        "authenticated" => sans.iter().any(|san| of["principalName"]["exact"] == **san),
        other => panic!("{other}"),
    }
}

/// `from` entries as subset rules that are read from the first: the last entry wins, so it goes first.
fn reversed(from: &Value) -> Vec<LegacySubset> {
    let tag = |key: &str, value: &Value| LegacyTag {
        key: key.to_owned(),
        value: value.as_str().unwrap().to_owned(),
        not: false,
    };
    let tags = |target: &Value| match target["kind"].as_str() {
        Some("Mesh") => Vec::new(),
        Some("MeshService") => vec![tag("kuma.io/service", &target["name"])],
        Some("MeshSubset") => {
            target["tags"].as_object().unwrap().iter().map(|(k, v)| tag(k, v)).collect()
        }
        other => panic!("{other:?}"),
    };
    let rule = |entry: &Value| LegacySubset {
        tags: tags(&entry["targetRef"]),
        action: match entry["default"]["action"].as_str() {
            Some("Allow") => SubsetAction::Allow,
            Some("AllowWithShadowDeny") => SubsetAction::AllowWithShadowDeny,
            Some("Deny") => SubsetAction::Deny,
            other => panic!("{other:?}"),
        },
    };
    from.as_array().unwrap().iter().rev().map(rule).collect()
}

#[test]
fn no_decision_of_from_policies_is_lost() {
    let Some(path) = area("legacy_decision.yaml") else { return };
    let cases = yaml::load(&path);
    let mut seen = 0;
    for case in cases["cases"].as_array().unwrap() {
        let rules = reversed(&case["from"]);
        let input =
            LegacyInput { rules: &rules, mesh: "m", protocol: Protocol::Tcp, stat_prefix: "in" };
        let filter =
            serde_json::to_value(&legacy(&input, &FilterOptions::default()).filters[0]).unwrap();
        let policies = &filter["typedConfig"]["rules"]["policies"];
        let principals = policies["MeshTrafficPermission"]["principals"].as_array();
        for expected in case["expected"].as_array().unwrap() {
            let san =
                |(key, value): (&String, &Value)| match (key.as_str(), value.as_str().unwrap()) {
                    ("kuma.io/service", value) => format!("spiffe://m/{value}"),
                    (key, value) => format!("kuma://{key}/{value}"),
                };
            let sans: Vec<_> = expected["client"].as_object().unwrap().iter().map(san).collect();
            let allowed = principals.into_iter().flatten().any(|id| holds(id, &sans));
            let decision = if allowed { "ALLOW" } else { "DENY" };
            assert_eq!(expected["decision"], decision, "{} {sans:?}", case["id"]);
            seen += 1;
        }
    }
    assert!(seen > 0);
    eprintln!("{seen} decisions");
}

/// What the area says about which rules are for which listener.
fn apply_to_dataplane(input: &Value) -> Value {
    let mesh = input["mesh"]["name"].as_str().unwrap();
    let mut resources = input["resources"].clone();
    for resource in resources.as_array_mut().unwrap() {
        let origin = resource.as_object_mut().unwrap().remove("origin");
        if origin.unwrap() != "inbound" || input["mesh"]["mtlsEnabled"] != true {
            continue;
        }
        let name = resource["name"].as_str().unwrap().to_owned();
        let listener = &mut resource["resource"];
        let socket = &listener["address"]["socketAddress"];
        let key = format!("{}:{}", socket["address"].as_str().unwrap(), socket["portValue"]);
        let inbound = input["inboundRulesByInbound"].get(&key);
        let (rules, names) = inbound.map(rules).unwrap_or_default();
        let subsets = subset_rules(&input["rulesByInbound"][&key]);
        let [http, tcp] = [Protocol::Http, Protocol::Tcp].map(|protocol| {
            if inbound.is_some() {
                let input =
                    FilterInput { rules: &rules, names: &names, protocol, stat_prefix: &name };
                filters(&input, &kuma(Release::V2_13))
            } else {
                let input = LegacyInput { rules: &subsets, mesh, protocol, stat_prefix: &name };
                legacy(&input, &kuma(Release::V2_13))
            }
        });
        apply(listener, Chains::Tls, &http, &tcp).unwrap();
    }
    resources
}

#[test]
fn listeners_get_the_filters_so() {
    let mut seen = 0;
    for case in ["apply", "matching-api"] {
        let [input, golden] =
            ["input", "golden"].map(|part| area(&format!("apply/{case}.{part}.yaml")));
        let (Some(input), Some(golden)) = (input, golden) else { continue };
        let ours = apply_to_dataplane(&yaml::load(&input));
        let theirs = &yaml::load(&golden)["resources"];
        assert_eq!(ours.to_string(), theirs.to_string(), "{case}");
        seen += 1;
    }
    eprintln!("{seen} cases");
}
