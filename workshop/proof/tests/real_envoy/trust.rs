// SPDX-License-Identifier: Apache-2.0
//! In: a client of the mesh whose certificate another trust domain's authority signed. Out: that only separate trust
//! keeps it out. Not here: rules.

use overrule_proof::rules::{InboundRules, PermissionPolicy, below};
use overrule_proof::{
    Authority, Holder, Lab, LabProtocol, ProxyAnswer, ProxyRequest, RuleLayout, Wire, inbound,
    projected,
};

use crate::common;

#[test]
fn an_authority_is_believed_for_its_own_domain_only() {
    let Some(envoy) = common::envoy() else { return };
    let frontend = "spiffe://trust-domain.mesh/ns/default/sa/frontend";
    let legacy = "spiffe://legacy.mesh/ns/default/sa/frontend";
    let holders = [
        ("frontend", Holder::of(&[frontend])),
        ("legacy", Holder::of(&[legacy]).by(Authority::Other)),
        ("impostor", Holder::of(&[frontend]).by(Authority::Other)),
        ("no name", Holder::of(&[])),
    ];
    let holders = holders.into_iter().map(|(name, holder)| (name.to_owned(), holder)).collect();
    let mut lab = Lab::new(envoy, holders).unwrap();
    let allow = vec![below("spiffe://")];
    let rules = InboundRules::of(&[PermissionPolicy {
        name: "kri_a_".to_owned(),
        allow,
        ..PermissionPolicy::default()
    }]);
    let asks = ["frontend", "legacy", "impostor", "no name"].map(|client| ProxyRequest {
        wire: Wire::Http1,
        client: client.to_owned(),
        sni: None,
        method: "GET".to_owned(),
        path: "/".to_owned(),
    });
    let pass = || ProxyAnswer::Allowed { policy: "kri_a_".to_owned(), shadow: None };
    let denied = || ProxyAnswer::Denied { policy: "default".to_owned() };
    for protocol in [LabProtocol::Http, LabProtocol::Tcp] {
        for (by_domain, right) in [
            (true, [pass(), pass(), ProxyAnswer::Refused, ProxyAnswer::Refused]),
            // What a shared bundle means, as the security page says.
            (false, [pass(), pass(), pass(), denied()]),
        ] {
            let setup = lab.setup(protocol, RuleLayout::List);
            let config = inbound(&projected(&rules, &setup).unwrap(), &setup, by_domain).unwrap();
            let seen = lab.observe(&config, protocol, &asks).unwrap().seen;
            let seen: Vec<_> = seen.into_iter().map(|seen| seen.answer).collect();
            assert_eq!(seen, right, "{protocol:?}, by domain: {by_domain}");
        }
    }
}
