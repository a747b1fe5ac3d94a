// SPDX-License-Identifier: Apache-2.0
//! The user stories of the design with requests, and what each is to be answered. Not here: deciding;
//! the answers are written down by hand from the stories.

use std::collections::BTreeMap;

use overrule_access::Match;

use crate::client::{ProxyRequest, Wire};
use crate::differ::InboundCase;
use crate::lab::{LabProtocol, RuleLayout};
use crate::pki::{Authority, Holder};
use crate::rules::{InboundRules, PermissionPolicy, below, exactly, with_method, with_path};

/// KRI of the operator's policy.
pub const OPERATOR: &str = "kri_mtp_default___by-mesh-operator_";
/// KRI of the service owner's policy.
pub const OWNER: &str = "kri_mtp_default___by-backend-owner_";
/// Name of the answer when nothing matches.
pub const DEFAULT: &str = "default";

/// One request and its right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// What is asked.
    pub ask: ProxyRequest,
    /// Whether it is allowed.
    pub allowed: bool,
    /// Who says so.
    pub policy: &'static str,
    /// Whether a shadow would refuse it.
    pub shadow: bool,
}

/// A user story at one inbound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// Whose and which: `MO` is the mesh operator, `SO` the service owner.
    pub name: &'static str,
    /// The policies that target the inbound.
    pub policies: Vec<PermissionPolicy>,
    /// Requests with their answers.
    pub probes: Vec<Probe>,
    /// Whether it needs method or path, and so HTTP.
    pub http: bool,
}

/// The clients of the stories.
pub fn holders() -> BTreeMap<String, Holder> {
    let mesh = "spiffe://trust-domain.mesh/ns";
    let one = |name: &str, rest: &str| (name.to_owned(), Holder::of(&[&format!("{mesh}/{rest}")]));
    let legacy = Holder::of(&["spiffe://legacy.mesh/ns/default/sa/any"]).by(Authority::Other);
    let malicious = format!("{mesh}/default/sa/malicious");
    let two = Holder::of(&[&malicious, &format!("{mesh}/default/sa/frontend")]);
    [
        one("frontend", "default/sa/frontend"),
        one("api-gateway", "default/sa/api-gateway"),
        one("legacy-workload", "default/sa/legacy-workload"),
        one("malicious", "default/sa/malicious"),
        one("writer-1", "default/sa/writer-1"),
        one("writer-2", "default/sa/writer-2"),
        one("writer-3", "writers/sa/writer-3"),
        one("prometheus", "observability/sa/prometheus"),
        one("legacy-ns", "legacy/sa/any"),
        ("legacy-mesh".to_owned(), legacy),
        ("two-names".to_owned(), two),
        ("no-name".to_owned(), Holder::of(&[])),
    ]
    .into()
}

/// All stories; the fifth of the service owner is two inbounds.
pub fn stories() -> Vec<Story> {
    vec![
        nothing("MO1 denied by default", vec![]),
        operator_denies(),
        operator_allows(),
        operator_allows_metrics(),
        owner_allows(),
        owner_opts_out(),
        owner_blocks(),
        owner_gates_writes(),
        nothing("SO5 the inbound that is targeted", vec![policy(OWNER)]),
        Story {
            name: "SO5 the other inbound",
            probes: vec![allowed("frontend", OPERATOR), denied("legacy-mesh", DEFAULT)],
            policies: vec![PermissionPolicy { allow: vec![td()], ..policy(OPERATOR) }],
            http: false,
        },
        example(),
    ]
}

/// The stories as cases: in both forms, and over both protocols where TCP can tell.
pub fn cases() -> Vec<InboundCase<InboundRules>> {
    let mut all = Vec::new();
    for story in stories() {
        let protocols: &[LabProtocol] =
            if story.http { &[LabProtocol::Http] } else { &[LabProtocol::Http, LabProtocol::Tcp] };
        for &protocol in protocols {
            for form in [RuleLayout::List, RuleLayout::Tree] {
                let rules = InboundRules::of(&story.policies);
                let asks = story.probes.iter().map(|probe| probe.ask.clone()).collect();
                all.push(InboundCase { name: story.name.to_owned(), rules, protocol, form, asks });
            }
        }
    }
    all
}

fn nothing(name: &'static str, policies: Vec<PermissionPolicy>) -> Story {
    let probes = ["frontend", "prometheus", "legacy-mesh", "no-name"].map(|c| denied(c, DEFAULT));
    Story { name, policies, probes: probes.into(), http: false }
}

/// What the operator's story denies, whatever the owner allows, in either order.
fn operator_denies() -> Story {
    let deny = vec![
        exactly("spiffe://trust-domain.mesh/ns/default/sa/api-gateway"),
        exactly("spiffe://trust-domain.mesh/ns/default/sa/legacy-workload"),
        below("spiffe://legacy.mesh/"),
    ];
    let owner = PermissionPolicy { allow: vec![below("spiffe://")], ..policy(OWNER) };
    Story {
        name: "MO2 denied by the operator, allowed by the owner",
        policies: vec![owner, PermissionPolicy { deny, ..policy(OPERATOR) }],
        probes: vec![
            denied("api-gateway", OPERATOR),
            denied("legacy-workload", OPERATOR),
            denied("legacy-mesh", OPERATOR),
            allowed("frontend", OWNER),
            denied("no-name", DEFAULT),
        ],
        http: false,
    }
}

fn operator_allows() -> Story {
    Story {
        name: "MO3 observability is allowed everywhere",
        policies: vec![PermissionPolicy { allow: vec![observability()], ..policy(OPERATOR) }],
        probes: vec![allowed("prometheus", OPERATOR), denied("frontend", DEFAULT)],
        http: false,
    }
}

fn operator_allows_metrics() -> Story {
    let get = |client, path| (client, "GET", path);
    Story {
        name: "MO4 observability is allowed /metrics everywhere",
        policies: vec![PermissionPolicy {
            allow: vec![with_path("/metrics", observability())],
            ..policy(OPERATOR)
        }],
        probes: vec![
            probe(get("prometheus", "/metrics"), true, OPERATOR),
            probe(get("prometheus", "/metrics?x=1"), true, OPERATOR),
            probe(get("prometheus", "/metrics/a"), true, OPERATOR),
            probe(get("prometheus", "/a/../metrics"), true, OPERATOR),
            probe(get("prometheus", "/%6detrics"), true, OPERATOR),
            probe(get("prometheus", "/metricsfoo"), false, DEFAULT),
            probe(get("prometheus", "/metrics/../admin"), false, DEFAULT),
            probe(get("prometheus", "/metrics/%2e%2e/admin"), false, DEFAULT),
            probe(get("prometheus", "/"), false, DEFAULT),
            probe(get("frontend", "/metrics"), false, DEFAULT),
        ],
        http: true,
    }
}

fn owner_allows() -> Story {
    let gateway = exactly("spiffe://trust-domain.mesh/ns/default/sa/api-gateway");
    Story {
        name: "SO1 the owner allows anyone but whom the operator denies",
        policies: vec![
            PermissionPolicy { deny: vec![gateway], ..policy(OPERATOR) },
            PermissionPolicy { allow: vec![td()], ..policy(OWNER) },
        ],
        probes: vec![
            allowed("frontend", OWNER),
            denied("api-gateway", OPERATOR),
            denied("legacy-mesh", DEFAULT),
        ],
        http: false,
    }
}

fn owner_opts_out() -> Story {
    Story {
        name: "SO2 the owner opts out of observability",
        policies: vec![
            PermissionPolicy { allow: vec![observability()], ..policy(OPERATOR) },
            PermissionPolicy { deny: vec![observability()], ..policy(OWNER) },
        ],
        probes: vec![denied("prometheus", OWNER), denied("frontend", DEFAULT)],
        http: false,
    }
}

fn owner_blocks() -> Story {
    let malicious = exactly("spiffe://trust-domain.mesh/ns/default/sa/malicious");
    Story {
        name: "SO3 the owner blocks one that was allowed",
        policies: vec![
            PermissionPolicy { allow: vec![td()], ..policy(OPERATOR) },
            PermissionPolicy { deny: vec![malicious], ..policy(OWNER) },
        ],
        probes: vec![
            denied("malicious", OWNER),
            allowed("frontend", OPERATOR),
            // A second name in the certificate does not help.
            denied("two-names", "multi-san"),
        ],
        http: false,
    }
}

fn owner_gates_writes() -> Story {
    let post = |one| with_method("POST", one);
    let allow = vec![
        with_method("GET", Match::default()),
        post(exactly("spiffe://trust-domain.mesh/ns/default/sa/writer-1")),
        post(exactly("spiffe://trust-domain.mesh/ns/default/sa/writer-2")),
        post(below("spiffe://trust-domain.mesh/ns/writers")),
    ];
    let ok = |client, method| probe((client, method, "/"), true, OWNER);
    let no = |client, method| probe((client, method, "/"), false, DEFAULT);
    Story {
        name: "SO4 everyone reads, some write",
        policies: vec![PermissionPolicy { allow, ..policy(OWNER) }],
        probes: vec![
            ok("frontend", "GET"),
            ok("legacy-mesh", "GET"),
            ok("no-name", "GET"),
            ok("writer-1", "POST"),
            ok("writer-2", "POST"),
            ok("writer-3", "POST"),
            no("frontend", "POST"),
            no("legacy-mesh", "POST"),
            no("frontend", "HEAD"),
            no("writer-1", "PUT"),
        ],
        http: true,
    }
}

/// The example of the schema, with its shadow.
fn example() -> Story {
    let name = |n: &str| format!("spiffe://trust-domain.mesh/ns/default/sa/{n}");
    Story {
        name: "the example with a shadow",
        policies: vec![
            PermissionPolicy { deny: vec![exactly(&name("frontend"))], ..policy(OPERATOR) },
            PermissionPolicy {
                deny: vec![exactly(&name("api-gateway"))],
                shadow: vec![below("spiffe://trust-domain.mesh/ns/legacy")],
                allow: vec![td()],
                ..policy(OWNER)
            },
        ],
        probes: vec![
            denied("frontend", OPERATOR),
            denied("api-gateway", OWNER),
            allowed("writer-1", OWNER),
            Probe { shadow: true, ..allowed("legacy-ns", OWNER) },
            denied("legacy-mesh", DEFAULT),
        ],
        http: false,
    }
}

fn policy(name: &str) -> PermissionPolicy {
    PermissionPolicy { name: name.to_owned(), ..PermissionPolicy::default() }
}

fn td() -> Match {
    below("spiffe://trust-domain.mesh/")
}

fn observability() -> Match {
    below("spiffe://trust-domain.mesh/ns/observability")
}

fn allowed(client: &'static str, policy: &'static str) -> Probe {
    probe((client, "GET", "/"), true, policy)
}

fn denied(client: &'static str, policy: &'static str) -> Probe {
    probe((client, "GET", "/"), false, policy)
}

fn probe(ask: (&str, &str, &str), allowed: bool, policy: &'static str) -> Probe {
    let (client, method, path) = ask;
    let ask = ProxyRequest {
        wire: Wire::Http1,
        client: client.to_owned(),
        sni: None,
        method: method.to_owned(),
        path: path.to_owned(),
    };
    Probe { ask, allowed, policy, shadow: false }
}
