// SPDX-License-Identifier: Apache-2.0
//! In: a seed and how much. Out: random cases. Not here: running them (`differ`).

use std::collections::BTreeMap;

use overrule_access::{Match, PathMatch};

use crate::client::{ProxyRequest, Wire};
use crate::differ::InboundCase;
use crate::lab::{LabProtocol, RuleLayout};
use crate::pki::Holder;
use crate::random::{self, SplitMix};
use crate::rules::{self, InboundRules, PermissionPolicy};

/// How much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// HTTP requests, all together.
    pub requests: u32,
    /// HTTP requests of one Envoy.
    pub requests_each: u32,
    /// TCP connections, all together.
    pub connections: u32,
    /// TCP connections to one Envoy.
    pub connections_each: u32,
    /// HTTP requests with wild paths.
    pub paths: u32,
}

impl Size {
    /// For every change: well below a minute.
    pub const SMALL: Self = Self {
        requests: 1_600,
        requests_each: 80,
        connections: 160,
        connections_each: 20,
        paths: 2_000,
    };
    /// On demand.
    pub const LONG: Self = Self {
        requests: 180_000,
        requests_each: 1_000,
        connections: 5_000,
        connections_each: 100,
        paths: 24_000,
    };
}

/// Random cases, each in both forms; the same for the same seed.
pub fn cases(
    seed: u64,
    size: Size,
    holders: &BTreeMap<String, Holder>,
) -> Vec<InboundCase<InboundRules>> {
    let mut all = Vec::new();
    let parts = [
        (LabProtocol::Http, size.requests, size.requests_each),
        (LabProtocol::Tcp, size.connections, size.connections_each),
    ];
    for (protocol, total, each) in parts {
        // Two forms.
        for number in 0..total.div_ceil(each.max(1) * 2) {
            let mut rng =
                SplitMix::new(seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number)));
            let rules = InboundRules::of(&random::policies(&mut rng, protocol));
            let asks: Vec<_> =
                (0..each).map(|_| random::ask(&mut rng, holders, &rules.rules)).collect();
            for form in [RuleLayout::List, RuleLayout::Tree] {
                let (rules, asks) = (rules.clone(), asks.clone());
                let name = format!("seed {seed} case {number}");
                all.push(InboundCase { name, rules, protocol, form, asks });
            }
        }
    }
    all
}

/// Everyone is allowed, and paths are of all kinds, which shows how they are judged: with a rule that compares them, and
/// without.
pub fn paths(seed: u64, size: Size) -> Vec<InboundCase<InboundRules>> {
    let mut rng = SplitMix::new(seed);
    let everyone = rules::below("spiffe://");
    let nobody = rules::with_path("/nowhere", rules::exactly("spiffe://nobody.mesh/a"));
    let mut case = |name: &str, allow: Vec<Match>, asks: u32| {
        let policy = PermissionPolicy {
            name: "kri_mtp_default___all_".to_owned(),
            allow,
            ..PermissionPolicy::default()
        };
        InboundCase {
            name: format!("{name} of seed {seed}"),
            rules: InboundRules::of(&[policy]),
            protocol: LabProtocol::Http,
            form: RuleLayout::List,
            asks: (0..asks).map(|_| random::wild(&mut rng)).collect(),
        }
    };
    vec![
        case("paths", vec![everyone.clone(), nobody], size.paths),
        case("paths as they are", vec![everyone], size.paths / 4),
    ]
}

/// What random rules meet too seldom, one policy a kind, each asked by everyone: server names in capitals, the empty
/// prefix, paths that no request has.
pub fn edges(holders: &BTreeMap<String, Holder>) -> Vec<InboundCase<InboundRules>> {
    let sni = |name: &str| Match { sni: Some(name.into()), ..Match::default() };
    let exact = |path: &str| {
        let path = Some(PathMatch::Exact(path.into()));
        Match { path, ..Match::default() }
    };
    let both: &[LabProtocol] = &[LabProtocol::Http, LabProtocol::Tcp];
    let http: &[LabProtocol] = &[LabProtocol::Http];
    let legacy = || rules::below("spiffe://legacy.mesh/");
    let kinds = [
        ("a name in capitals", both, vec![sni("A.Test")]),
        ("the empty prefix", both, vec![rules::below("")]),
        ("a path with a query", http, vec![exact("/metrics?a"), legacy()]),
        ("the empty path", http, vec![exact(""), rules::with_path("", legacy())]),
        ("a path that is not normal", http, vec![exact("/x/../metrics"), exact("//")]),
    ];
    let mut all = Vec::new();
    for (name, protocols, matches) in kinds {
        let policy =
            |name: &str| PermissionPolicy { name: name.to_owned(), ..PermissionPolicy::default() };
        let edge = policy("kri_mtp_default___edge_");
        let allows = vec![PermissionPolicy { allow: matches.clone(), ..edge.clone() }];
        let everyone = vec![rules::below("spiffe://")];
        let denies = vec![
            PermissionPolicy { deny: matches, ..edge },
            PermissionPolicy { allow: everyone, ..policy("kri_mtp_default___all_") },
        ];
        for policies in [allows, denies] {
            for &protocol in protocols {
                for form in [RuleLayout::List, RuleLayout::Tree] {
                    let (rules, asks) = (InboundRules::of(&policies), every(holders));
                    all.push(InboundCase { name: name.to_owned(), rules, protocol, form, asks });
                }
            }
        }
    }
    all
}

/// Some requests of clients of every kind.
fn every(holders: &BTreeMap<String, Holder>) -> Vec<ProxyRequest> {
    let ask = |client: &String, sni: Option<&str>, path: &str| ProxyRequest {
        wire: if sni.is_some() { Wire::Http2 } else { Wire::Http1 },
        client: client.clone(),
        sni: sni.map(str::to_owned),
        method: "GET".to_owned(),
        path: path.to_owned(),
    };
    let of = |client| {
        [
            ask(client, None, "/metrics?a"),
            ask(client, Some("a.test"), "//"),
            ask(client, Some("A.TEST"), "/x/../metrics"),
            ask(client, Some("b.test"), "/"),
        ]
    };
    // One identity of each trust domain is enough.
    let odd = |name: &&String| !name.starts_with("spiffe://") || name.ends_with("/frontend");
    holders.keys().filter(odd).flat_map(of).collect()
}
