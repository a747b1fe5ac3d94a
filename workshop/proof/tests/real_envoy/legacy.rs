// SPDX-License-Identifier: Apache-2.0
//! In: random subset rules of `from` policies, and clients with a name for each tag. Out: that Envoy decides by the first
//! subset that contains the client, and that no deny is lost. Not here: rules on SPIFFE IDs.

use std::collections::BTreeMap;

use overrule_envoy::{FilterOptions, LegacyInput, LegacySubset, LegacyTag, SubsetAction, legacy};
use overrule_proof::random::SplitMix;
use overrule_proof::{
    Expected, HarnessFailure, Holder, InboundCase, Lab, LabProtocol, ProxyAnswer, ProxyRequest,
    RuleLayout, Setup, Wire, inbound, run,
};

use crate::common;

const MESH: &str = "default";
const TAGS: [(&str, &[&str]); 3] = [
    ("kuma.io/service", &["web", "api", "db"]),
    ("version", &["v1", "v2"]),
    ("kuma.io/zone", &["east", "west"]),
];

/// Names in certificates by tags; the tags are the client's name.
fn holders() -> BTreeMap<String, Holder> {
    let mut all = BTreeMap::new();
    let [(service, services), (version, versions), (zone, zones)] = TAGS;
    let mut add = |tags: &[(&str, &str)]| {
        let uris: Vec<String> = tags.iter().map(|(key, value)| san(key, value)).collect();
        let name: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
        all.insert(name.join(" "), Holder::of(&uris));
    };
    for name in services {
        for number in versions {
            for place in zones {
                add(&[(service, name), (version, number), (zone, place)]);
            }
        }
        for other in services.iter().filter(|other| *other > name) {
            add(&[(service, name), (service, other), (version, "v1")]);
        }
    }
    all
}

fn san(key: &str, value: &str) -> String {
    if key == "kuma.io/service" {
        format!("spiffe://{MESH}/{value}")
    } else {
        format!("kuma://{key}/{value}")
    }
}

fn subsets(rng: &mut SplitMix) -> Vec<LegacySubset> {
    let actions = [
        SubsetAction::Allow,
        SubsetAction::Allow,
        SubsetAction::AllowWithShadowDeny,
        SubsetAction::Deny,
        SubsetAction::Deny,
    ];
    let mut any = |end: usize| usize::try_from(rng.below(u64::try_from(end).unwrap())).unwrap();
    (0..any(6))
        .map(|_| {
            let mut tags = Vec::new();
            for (key, values) in TAGS {
                if any(2) == 0 {
                    let value = values[any(values.len())].to_owned();
                    tags.push(LegacyTag { key: key.to_owned(), value, not: any(3) == 0 });
                }
            }
            LegacySubset { tags, action: actions[any(actions.len())] }
        })
        .collect()
}

fn emitted(rules: &[LegacySubset], setup: &Setup<'_>) -> Result<String, HarnessFailure> {
    let protocol = match setup.protocol {
        LabProtocol::Http => overrule_envoy::Protocol::Http,
        LabProtocol::Tcp => overrule_envoy::Protocol::Tcp,
    };
    let input = LegacyInput { rules, mesh: MESH, protocol, stat_prefix: "inbound" };
    inbound(&legacy(&input, &FilterOptions::default()), setup, false)
}

/// The action of the first subset that contains the client.
fn first(rules: &[LegacySubset], holder: &Holder) -> Option<SubsetAction> {
    let has = |tag: &LegacyTag| holder.uris.contains(&san(&tag.key, &tag.value)) != tag.not;
    rules.iter().find(|rule| rule.tags.iter().all(has)).map(|rule| rule.action)
}

fn foretell(rules: &[LegacySubset], _: &Setup<'_>, _: &ProxyRequest, holder: &Holder) -> Expected {
    let name = || "MeshTrafficPermission".to_owned();
    let shadow = || Some(name());
    let (answer, counted) = match first(rules, holder) {
        Some(SubsetAction::Allow) => (ProxyAnswer::Allowed { policy: name(), shadow: None }, None),
        Some(SubsetAction::AllowWithShadowDeny) => {
            (ProxyAnswer::Allowed { policy: name(), shadow: shadow() }, shadow())
        }
        Some(SubsetAction::Deny) | None => {
            (ProxyAnswer::Denied { policy: "none".to_owned() }, None)
        }
    };
    Expected { answer, counted, path: None }
}

fn asks(lab: &Lab, two_services: bool) -> Vec<ProxyRequest> {
    let (method, path) = ("GET".to_owned(), "/".to_owned());
    let is = |name: &&String| (name.matches("service=").count() == 2) == two_services;
    let names = lab.holders().keys().filter(is).cloned();
    names
        .map(|client| ProxyRequest {
            wire: Wire::Http1,
            client,
            sni: None,
            method: method.clone(),
            path: path.clone(),
        })
        .collect()
}

#[test]
fn the_first_subset_decides() {
    let Some(envoy) = common::envoy() else { return };
    let mut lab = Lab::new(envoy, holders()).unwrap();
    let mut cases = Vec::new();
    for number in 0..10 {
        let rules = subsets(&mut SplitMix::new(number));
        let protocol = if number % 2 == 0 { LabProtocol::Http } else { LabProtocol::Tcp };
        let (name, asks) = (format!("subsets {number} {rules:?}"), asks(&lab, false));
        cases.push(InboundCase { name, rules, protocol, form: RuleLayout::List, asks });
    }
    let tally =
        run(&mut lab, cases, |r, s| emitted(r, s), |r, s, a, h| foretell(r, s, a, h)).unwrap();
    eprintln!("{tally}");
    assert_eq!(tally.mismatches, 0, "{}", tally.words.join("\n"));
    assert!(tally.answers[0] > 0 && tally.answers[1] > 0 && tally.shadows > 0, "{tally}");
}

/// A client of two services is in subsets that do not meet otherwise. It may be denied more, never less.
#[test]
fn a_client_of_two_services_loses_no_deny() {
    let Some(envoy) = common::envoy() else { return };
    let mut lab = Lab::new(envoy, holders()).unwrap();
    let mut denied = 0;
    for number in 0..10 {
        let rules = subsets(&mut SplitMix::new(number));
        let asks = asks(&lab, true);
        let config = emitted(&rules, &lab.setup(LabProtocol::Http, RuleLayout::List)).unwrap();
        let seen = lab.observe(&config, LabProtocol::Http, &asks).unwrap().seen;
        for (ask, seen) in asks.iter().zip(seen) {
            let action = first(&rules, &lab.holders()[&ask.client]);
            if matches!(action, Some(SubsetAction::Deny) | None) {
                denied += 1;
                let right = ProxyAnswer::Denied { policy: "none".to_owned() };
                assert_eq!(seen.answer, right, "{} {rules:?}", ask.client);
            }
        }
    }
    assert!(denied > 0);
}
