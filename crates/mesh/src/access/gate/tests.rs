// SPDX-License-Identifier: Apache-2.0
//! In: a mesh and many questions. Out: that each inbound is compiled once per rule set, and only if it is asked about.

use std::fmt::Write as _;

use overrule_access::{Request, Verdict};
use overrule_engine::Topology;
use overrule_family::Client;
use overrule_source::{Input, ReadOptions, read};

use super::COMPILED;
use crate::gate::Gates;
use crate::identity::caller;
use crate::inbounds::{Lookup, inbounds};
use crate::{Profile, ProxyOptions, Settings, World, resolve, topology};

const PROXIES: usize = 20;
const CLIENTS: usize = 30;

/// A mesh in which every proxy has a permission of its own beside the one that all have. The last two have no other, so
/// their inbounds have the same list.
fn mesh() -> String {
    let mut text = String::from(
        "type: Mesh\nname: default\nmtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}\n",
    );
    let rules = |client: &str| {
        format!(
            "rules: [{{default: {{allow: [{{spiffeID: {{type: Exact, value: 'spiffe://t/{client}'}}}}]}}}}]"
        )
    };
    for n in 0..PROXIES {
        let _ = write!(
            text,
            "---\ntype: Dataplane\nmesh: default\nname: p{n}\nlabels: {{app: p{n}}}\n\
             networking: {{address: 10.0.0.{n}, inbound: [{{port: 80, name: http, tags: {{kuma.io/service: p{n}}}}}]}}\n"
        );
    }
    for n in 0..PROXIES - 2 {
        let _ = write!(
            text,
            "---\ntype: MeshTrafficPermission\nmesh: default\nname: own-{n}\n\
             spec: {{targetRef: {{kind: Dataplane, labels: {{app: p{n}}}}}, {}}}\n",
            rules(&format!("c{n}"))
        );
    }
    let _ = write!(
        text,
        "---\ntype: MeshTrafficPermission\nmesh: default\nname: all\nspec: {{targetRef: {{}}, {}}}\n",
        rules("everywhere")
    );
    text
}

#[test]
fn a_matrix_compiles_each_inbound_once() {
    let documents = read(vec![Input::new("a.yaml", mesh())], &ReadOptions::default()).documents;
    let mut snapshot = overrule_model::parse(&documents).snapshot;
    let (resources, _) = crate::parse(&documents, &snapshot, &Settings::default());
    let topology = topology::build(&documents, &mut snapshot, &resources, &mut Topology::default());
    for name in Profile::NAMES {
        let profile = Profile::from_name(name, &resources.settings);
        let world = World {
            documents: &documents,
            snapshot: &snapshot,
            resources: &resources,
            topology: &topology,
            profile: &profile,
        };
        let resolved = resolve(world, &ProxyOptions::default());
        let proxies = resources.meshes.iter().flat_map(|m| &m.dataplanes);
        let all: Vec<_> = proxies
            .flat_map(|p| p.object)
            .flat_map(|object| inbounds(&documents, &resources, object, None))
            .collect();
        assert_eq!(all.len(), PROXIES);
        let gates = Gates::new(resolved.permission_lists);
        COMPILED.set(0);
        let mut allowed = 0;
        let mut ask = |clients: usize, inbounds: &[_]| {
            for client in 0..clients {
                let id = format!("spiffe://t/c{client}");
                let caller = caller(&documents, &resources, Client::Identity(&id));
                for at in inbounds {
                    // Looked up anew for every question, as separate requests do.
                    let lookup = Lookup {
                        documents: &documents,
                        snapshot: &snapshot,
                        resources: &resources,
                        topology: &topology,
                        resolution: &resolved.resolution,
                        proxies: &resolved.proxies,
                        gates: &gates,
                        profile: profile.clone(),
                    };
                    let request = Request::default();
                    let ruling = lookup.inbound(*at).map(|i| i.decide(&caller, request));
                    let verdict = ruling.map(|r| r.verdict);
                    allowed += usize::from(verdict == Some(Verdict::Allowed));
                }
            }
        };
        ask(CLIENTS, &all[..1]);
        assert_eq!(COMPILED.get(), 1, "{name}: nobody asked about the others");
        ask(CLIENTS, &all);
        ask(CLIENTS, &all);
        assert_eq!(COMPILED.get(), PROXIES - 1, "{name}: two inbounds have the same permissions");
        assert_eq!(allowed, 1 + 2 * (PROXIES - 2), "{name}");
    }
}
