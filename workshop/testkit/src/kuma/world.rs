// SPDX-License-Identifier: Apache-2.0
//! In: a seed. Out: a small world of proxies, destinations and policies in which everything collides, all labels
//! written. Not here: anything a control plane refuses; built-in gateways, zone proxies, routes; two resources of one
//! identity.
//!
//! Two zones, three namespaces and a handful of names, so that several policies meet on most proxies and a name means
//! several resources. Every conf bears the number of its policy: one from the wrong one shows. Both meshes are always
//! there: files may lack a mesh that a control plane has, so what its absence means is for each reader to say.
//!
//! A Dataplane named beats one selected by labels, and one that is neither ties with both, which is no order: a world
//! has Dataplanes by name or without anything, never both.

mod policies;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::read::SYSTEM;
use crate::rng::Rng;
use crate::yaml;

const ZONES: [&str; 2] = ["east", "west"];
/// Custom namespaces.
const CUSTOM: [&str; 2] = ["shop", "pay"];
/// What a resource can be selected by, under the label `app`.
const APPS: [&str; 2] = ["x", "y"];
const SERVICES: [&str; 3] = ["web", "db", "api"];
const VERSIONS: [&str; 2] = ["v1", "v2"];
const PORT_NAMES: [&str; 2] = ["http", "admin"];

/// Where a resource was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// None: on the global control plane.
    zone: Option<&'static str>,
    /// None: not on Kubernetes.
    namespace: Option<&'static str>,
}

/// A world on the way.
struct Draft {
    rng: Rng,
    objects: Vec<Value>,
    /// Identities: kind, mesh, display name and place.
    taken: BTreeSet<(&'static str, &'static str, String, Place)>,
}

/// A world as YAML, in no order. The same seed is the same world.
pub fn generate(seed: u64) -> String {
    yaml::documents(&documents(seed))
}

/// [`generate`] as JSON.
pub fn documents(seed: u64) -> Vec<Value> {
    let mut draft =
        Draft { rng: Rng::new(seed, "kuma", 0), objects: Vec::new(), taken: BTreeSet::new() };
    draft.meshes();
    for number in 0..2 + draft.below(4) {
        draft.proxy(number);
    }
    for _ in 0..3 + draft.below(4) {
        draft.service();
    }
    for _ in 0..1 + draft.below(3) {
        draft.multi_zone_service();
    }
    for _ in 0..1 + draft.below(3) {
        draft.external_service();
    }
    policies::all(&mut draft);
    draft.shuffled()
}

impl Draft {
    fn below(&mut self, end: u64) -> usize {
        usize::try_from(self.rng.below(end)).expect("a small number")
    }

    fn percent(&mut self, share: u8) -> bool {
        self.rng.percent(share)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        *self.rng.pick(list)
    }

    fn shuffled(mut self) -> Vec<Value> {
        for last in (1..self.objects.len()).rev() {
            let other = self.below(last as u64 + 1);
            self.objects.swap(last, other);
        }
        self.objects
    }

    fn meshes(&mut self) {
        for name in ["default", "other"] {
            let labels = json!({"kuma.io/display-name": name, "kuma.io/origin": "global"});
            self.objects.push(json!({"type": "Mesh", "name": name, "labels": labels}));
        }
    }

    fn mesh(&mut self) -> &'static str {
        if self.percent(95) { "default" } else { "other" }
    }

    /// In a zone, on Kubernetes or not.
    fn in_zone(&mut self) -> Place {
        let namespace = match self.below(20) {
            0..3 => None,
            3..13 => Some(CUSTOM[0]),
            _ => Some(CUSTOM[1]),
        };
        Place { zone: Some(self.pick(&ZONES)), namespace }
    }

    /// On the global control plane, on Kubernetes or not.
    fn on_global(&mut self) -> Place {
        Place { zone: None, namespace: self.percent(60).then_some(SYSTEM) }
    }

    /// Type, mesh, name and all labels; none if there is one like it. The name is what sync would have made of it: only
    /// the label says what its owner called it.
    fn head(
        &mut self,
        kind: &'static str,
        mesh: &'static str,
        display: &str,
        place: Place,
    ) -> Option<Value> {
        self.taken.insert((kind, mesh, display.to_owned(), place)).then(|| {
            let mut labels = Map::new();
            let mut set = |name: &str, value: &str| labels.insert(name.to_owned(), value.into());
            set("kuma.io/display-name", display);
            set("kuma.io/mesh", mesh);
            set("kuma.io/origin", if place.zone.is_some() { "zone" } else { "global" });
            if let Some(zone) = place.zone {
                set("kuma.io/zone", zone);
            }
            if let Some(namespace) = place.namespace {
                set("k8s.kuma.io/namespace", namespace);
            }
            let name = format!("{display}-{}", self.taken.len());
            json!({"type": kind, "mesh": mesh, "name": name, "labels": labels})
        })
    }

    fn app(&mut self, object: &mut Value) {
        if self.percent(75) {
            object["labels"]["app"] = self.pick(&APPS).into();
        }
    }

    /// A sidecar with some inbounds, and now and then a delegated gateway or a sidecar with none.
    fn proxy(&mut self, number: usize) {
        let (mesh, place) = (self.mesh(), self.in_zone());
        let display = self.pick(&SERVICES);
        let Some(mut proxy) = self.head("Dataplane", mesh, display, place) else { return };
        self.app(&mut proxy);
        let mut networking = json!({"address": format!("10.0.0.{number}")});
        if self.percent(12) {
            networking["gateway"] = json!({"type": "DELEGATED", "tags": self.tags(place)});
        } else {
            let inbounds = if self.percent(5) { 0 } else { 1 + self.below(3) };
            let named = self.below(3);
            let list = (0..inbounds).map(|i| self.inbound(i, i != named, place));
            networking["inbound"] = list.collect();
        }
        proxy["networking"] = networking;
        self.objects.push(proxy);
    }

    fn inbound(&mut self, number: usize, named: bool, place: Place) -> Value {
        let mut inbound = json!({"port": 8080 + number, "tags": self.tags(place)});
        if let Some(name) = PORT_NAMES.get(number).filter(|_| named) {
            inbound["name"] = json!(name);
        }
        if self.percent(10) {
            inbound["state"] = json!("Ignored");
        }
        inbound
    }

    fn tags(&mut self, place: Place) -> Value {
        let mut tags = json!({"kuma.io/service": self.pick(&SERVICES)});
        if self.percent(60) {
            tags["version"] = self.pick(&VERSIONS).into();
        }
        if let Some(namespace) = place.namespace {
            tags["k8s.kuma.io/namespace"] = namespace.into();
        }
        tags
    }

    /// One or two ports, with a name or without.
    fn ports(&mut self) -> Value {
        let ports = (0..1 + self.below(2)).map(|number| {
            let port = 80 + number;
            let mut port = json!({"port": port, "targetPort": port, "appProtocol": "http"});
            if self.percent(70) {
                port["name"] = PORT_NAMES[number].into();
            }
            port
        });
        ports.collect()
    }

    fn service(&mut self) {
        let (mesh, place, display) = (self.mesh(), self.in_zone(), self.pick(&SERVICES));
        let Some(mut service) = self.head("MeshService", mesh, display, place) else { return };
        self.app(&mut service);
        let selector = json!({"dataplaneTags": {"app": display}});
        service["spec"] = json!({"ports": self.ports(), "selector": selector});
        self.objects.push(service);
    }

    fn multi_zone_service(&mut self) {
        let (mesh, place, display) = (self.mesh(), self.on_global(), self.pick(&SERVICES));
        let head = self.head("MeshMultiZoneService", mesh, display, place);
        let Some(mut service) = head else { return };
        self.app(&mut service);
        let selector = json!({"meshService": {"matchLabels": {"app": "x"}}});
        service["spec"] = json!({"ports": self.ports(), "selector": selector});
        self.objects.push(service);
    }

    /// On the global control plane, or in the system namespace of a zone.
    fn external_service(&mut self) {
        let mut place = self.on_global();
        if self.percent(50) {
            place.zone = Some(self.pick(&ZONES));
        }
        let (mesh, display) = (self.mesh(), self.pick(&SERVICES));
        let head = self.head("MeshExternalService", mesh, display, place);
        let Some(mut service) = head else { return };
        self.app(&mut service);
        let only = json!({"type": "HostnameGenerator", "port": 443, "protocol": "tcp"});
        let endpoints = json!([{"address": "example.com", "port": 443}]);
        service["spec"] = json!({"match": only, "endpoints": endpoints});
        self.objects.push(service);
    }
}

#[cfg(test)]
mod tests;
