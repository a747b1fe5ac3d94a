// SPDX-License-Identifier: Apache-2.0
//! In: priorities and policies. Out: what is in force on three routes behind a gateway. Not here: expectations.

use serde_json::{Value, json};

use crate::kgateway::{OraclePolicy, OracleSettings, Profile, documents, effective};

/// A world in the making: gateway `n/gw` with `http` and `https`, set `n/set` with `foo`, routes `root`, `mid`, `leaf`.
pub(super) struct Small {
    pub(super) objects: Vec<Value>,
    pub(super) settings: OracleSettings,
}

pub(super) fn small() -> Small {
    let world = "
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw, namespace: n}, spec: {
  gatewayClassName: c, allowedListeners: {namespaces: {from: All}},
  listeners: [{name: http, port: 80, protocol: HTTP}, {name: https, port: 443, protocol: HTTPS}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: set, namespace: n}, spec: {
  parentRef: {name: gw}, listeners: [{name: foo, port: 81, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: root, namespace: n}, spec: {
  parentRefs: [{name: gw}, {kind: ListenerSet, name: set}], rules: [{matches: [{path: {value: /a}}], backendRefs: [
    {group: gateway.networking.k8s.io, kind: HTTPRoute, name: mid}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: mid, namespace: n}, spec: {
  rules: [{matches: [{path: {value: /a}}], backendRefs: [
    {group: gateway.networking.k8s.io, kind: HTTPRoute, name: leaf}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: leaf, namespace: n}, spec: {
  rules: [{name: x, matches: [{path: {value: /a}}], backendRefs: [{name: svc, port: 80}]}]}}
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: GatewayExtension, metadata: {name: e1, namespace: n}, spec: {}}
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: GatewayExtension, metadata: {name: e2, namespace: n}, spec: {}}
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: GatewayExtension, metadata: {name: e3, namespace: n}, spec: {}}
";
    Small { objects: documents(world), settings: OracleSettings::default() }
}

impl Small {
    pub(super) fn object(&mut self, name: &str) -> &mut Value {
        self.objects.iter_mut().find(|o| o["metadata"]["name"] == name).expect("an object")
    }

    /// Says how the policies of an object meet those below it.
    pub(super) fn priority(mut self, name: &str, word: &str) -> Self {
        let annotations = json!({"kgateway.dev/inherited-policy-priority": word});
        self.object(name)["metadata"]["annotations"] = annotations;
        self
    }

    /// A policy that bears the name of its place: an object, or one with a section, as in `gw/http`.
    pub(super) fn policy(self, place: &str, spec: &str) -> Self {
        let name = place.replace('/', "-");
        self.named(&name, place, spec)
    }

    pub(super) fn named(mut self, name: &str, place: &str, spec: &str) -> Self {
        let (object, section) = match place.split_once('/') {
            Some((object, section)) => (object, Some(section)),
            None => (place, None),
        };
        let kind = self.object(object)["kind"].clone();
        let mut target =
            json!({"group": "gateway.networking.k8s.io", "kind": kind, "name": object});
        if let Some(section) = section {
            target["sectionName"] = json!(section);
        }
        let mut spec = documents(spec).remove(0);
        spec["targetRefs"] = json!([target]);
        let metadata = json!({
            "name": name, "namespace": "n", "creationTimestamp": "2024-01-01T00:00:00Z",
        });
        self.objects.push(json!({
            "apiVersion": "gateway.kgateway.dev/v1alpha1", "kind": "TrafficPolicy", "metadata": metadata, "spec": spec,
        }));
        self
    }

    pub(super) fn deep(mut self, unit: &str) -> Self {
        self.settings.policy_merge.insert(unit.to_owned(), String::from("DeepMerge"));
        self
    }

    /// The answer for the leaf behind a listener.
    pub(super) fn answer(&self, kind: &str, listener: &str, profile: Profile) -> OraclePolicy {
        let answers = effective(&self.objects, &self.settings, profile);
        let mut here = answers.into_iter().filter(|a| {
            a.kind == kind && a.path.contains(&listener.to_owned()) && a.rules.len() == 3
        });
        let found = here.next().expect("an answer");
        assert_eq!(here.next(), None);
        found
    }

    /// Value of a unit, and its sources without their namespace.
    pub(super) fn unit(&self, unit: &str, listener: &str, profile: Profile) -> (Value, String) {
        let answer = self.answer("TrafficPolicy", listener, profile);
        let sources: Vec<&str> =
            answer.sources[unit].iter().map(|s| s.trim_start_matches("n/")).collect();
        (answer.fields[unit].clone(), sources.join(" "))
    }

    pub(super) fn check(
        &self,
        unit: &str,
        listener: &str,
        profile: Profile,
        value: Value,
        sources: &str,
    ) {
        let expected = (value, sources.to_owned());
        assert_eq!(
            self.unit(unit, listener, profile),
            expected,
            "{unit} behind {listener}, {profile:?}"
        );
    }
}
