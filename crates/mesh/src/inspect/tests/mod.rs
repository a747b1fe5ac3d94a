// SPDX-License-Identifier: Apache-2.0
//! In: small worlds of our own. Out: every endpoint answers by its rules, in both flavours and both profiles.

mod lists;
mod resources;
mod rules;
mod speed;

use serde_json::Value;

use overrule_engine::Topology;
use overrule_model::Snapshot;
use overrule_source::{Documents, Input, ReadOptions, read};

use super::{Flavour, InspectCall, InspectInput, Inspector, Times, route};
use crate::{
    LabelSource, MeshResolution, Profile, ProxyOptions, Resources, Settings, World, resolve,
    topology,
};

/// A world that is resolved.
pub(super) struct Resolving {
    documents: Documents,
    resources: Resources,
    profile: Profile,
    resolved: MeshResolution,
    flavour: Flavour,
}

impl Resolving {
    pub(super) fn new(text: &str, flavour: Flavour, profile: Profile) -> Self {
        let documents = read(vec![Input::new("a.yaml", text)], &ReadOptions::default()).documents;
        let mut snapshot: Snapshot = overrule_model::parse(&documents).snapshot;
        let labels = match flavour {
            Flavour::Compat => LabelSource::AsWritten,
            Flavour::Native => LabelSource::Computed,
        };
        let settings = Settings { labels, ..Settings::default() };
        let (resources, _) = crate::parse(&documents, &snapshot, &settings);
        let topology =
            topology::build(&documents, &mut snapshot, &resources, &mut Topology::default());
        let world = World {
            documents: &documents,
            snapshot: &snapshot,
            resources: &resources,
            topology: &topology,
            profile: &profile,
        };
        let resolved = resolve(world, &ProxyOptions::default());
        Self { documents, resources, profile, resolved, flavour }
    }

    pub(super) fn live(&self) -> InspectInput<'_> {
        InspectInput {
            documents: &self.documents,
            resources: &self.resources,
            profile: &self.profile,
            proxies: &self.resolved.proxies,
        }
    }

    pub(super) fn inspector(&self) -> Inspector {
        Inspector::new(self.live(), self.flavour)
    }

    pub(super) fn ask(&self, target: &str) -> (u16, Value) {
        asked(&self.inspector(), self.live(), target)
    }
}

/// What an inspector answers.
pub(super) fn asked(inspector: &Inspector, live: InspectInput<'_>, target: &str) -> (u16, Value) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let ask = route(path, query).unwrap_or_else(|| panic!("nobody answers {target}"));
    let call = InspectCall { base: "http://here:1", times: &|_| Times::default() };
    let answer = inspector.answer(live, call, &ask);
    (answer.status, answer.body.value())
}

/// The release to the letter.
pub(super) fn compat(parts: &[&str]) -> Resolving {
    Resolving::new(&parts.join("\n---\n"), Flavour::Compat, Profile::Release)
}

/// The release as it should be.
pub(super) fn native(parts: &[&str]) -> Resolving {
    Resolving::new(&parts.join("\n---\n"), Flavour::Native, Profile::Release)
}

/// The design.
pub(super) fn design(parts: &[&str]) -> Resolving {
    let profile = Profile::Design { system: Profile::SYSTEM.into() };
    Resolving::new(&parts.join("\n---\n"), Flavour::Native, profile)
}

pub(super) const MESH: &str = "{type: Mesh, name: m}";
pub(super) const EXCLUSIVE: &str = "{type: Mesh, name: m, meshServices: {mode: Exclusive}}";
pub(super) const WEB: &str = "{type: Dataplane, mesh: m, name: web, labels: {app: web}, networking: {address: 10.0.0.1, inbound: [{port: 80, name: http, tags: {kuma.io/service: web, kuma.io/protocol: http}}, {port: 90, tags: {kuma.io/service: admin}}]}}";
pub(super) const CART: &str = "{type: MeshService, mesh: m, name: cart, labels: {kuma.io/display-name: cart}, spec: {selector: {dataplaneTags: {kuma.io/service: cart}}, ports: [{port: 80, name: http, appProtocol: http}, {port: 81}]}}";

#[test]
fn an_inspector_can_be_asked_by_many_at_once() {
    fn shared<T: Send + Sync>() {}
    shared::<Inspector>();
    let world = compat(&[MESH, WEB, CART]);
    let inspector = world.inspector();
    let one = || asked(&inspector, world.live(), "/meshes/m/dataplanes/web/_rules").1;
    let all: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}
