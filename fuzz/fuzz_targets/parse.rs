// SPDX-License-Identifier: Apache-2.0
//! In: any bytes. Out: a snapshot and a topology without panic or hang; ids and ranges that fit. Not here: policies.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use overrule::gateway::topology::{self, ListenerIx, RouteIx};
use overrule::source::{Input, ReadOptions, read};

fuzz_target!(init: common::one_thread(), |data: &[u8]| {
    let read = read(vec![Input::new("a.yaml", data)], &ReadOptions::default());
    let documents = read.documents;
    let parsed = overrule::model::parse(&documents);
    common::check_diagnostics(&documents, &parsed.diagnostics);
    let mut snapshot = parsed.snapshot;
    for object in snapshot.objects() {
        common::check_span(&documents, object.at);
        assert_eq!(snapshot.get(object.id).map(|o| o.id), Some(object.id));
        let _ = snapshot.display(object.id).to_string();
    }
    let (resources, diagnostics) = topology::parse(&documents, &mut snapshot);
    common::check_diagnostics(&documents, &diagnostics);
    let built = resources.connect(&snapshot);
    common::check_diagnostics(&documents, &built.diagnostics);
    let graph = &built.topology;
    for (_, node) in graph.nodes.iter() {
        node.at.iter().for_each(|at| common::check_span(&documents, *at));
    }
    for link in &graph.links {
        assert!(graph.listener(link.listener).is_some() && graph.route(link.route).is_some());
    }
    let by_listener: usize = (0..graph.listeners.len())
        .map(|i| graph.links_of_listener(ListenerIx(u32::try_from(i).expect("small"))).len())
        .sum();
    let by_route: usize = (0..graph.routes.len())
        .map(|i| graph.links_of_route(RouteIx(u32::try_from(i).expect("small"))).count())
        .sum();
    assert_eq!((by_listener, by_route), (graph.links.len(), graph.links.len()));
});
