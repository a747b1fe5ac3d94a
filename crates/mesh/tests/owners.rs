// SPDX-License-Identifier: Apache-2.0
//! Which policy owns each rule of merged routes.

#![allow(clippy::expect_used, reason = "a broken expectation shall stop the test")]

mod support;

use overrule_mesh::Profile;
use overrule_mesh::policy::Policy;
use overrule_mesh::resource::PlacedResource;
use overrule_mesh::rules::resource_rules;
use overrule_mesh::targets::Destination;

const WORLD: &str = "
type: MeshHTTPRoute
mesh: m
name: strong
spec: {to: [{targetRef: {kind: MeshService, name: cart}, rules: [
  {matches: [{path: {type: Exact, value: /high}}]},
  {matches: [{headers: [{type: Exact, value: v, name: h}]}]}]}]}
---
type: MeshHTTPRoute
mesh: m
name: weak
spec: {to: [{targetRef: {kind: MeshService, name: cart}, rules: [
  {matches: [{headers: [{name: h, value: v}]}]},
  {matches: [{path: {type: Exact, value: /low}}]}]}]}
---
type: MeshService
mesh: m
name: cart
spec: {ports: [{port: 80}]}
";

#[test]
fn the_stronger_route_owns_what_both_have() {
    let documents = support::documents(WORLD);
    let roots = support::roots(&documents);
    let all: Vec<PlacedResource> =
        roots.into_iter().filter_map(|root| PlacedResource::read(&documents, root)).collect();
    let policies: Vec<Policy> = all.iter().filter_map(|r| Policy::read(&documents, r)).collect();
    let policies: Vec<&Policy> = policies.iter().collect();
    let services: Vec<Destination> =
        all.iter().skip(2).filter_map(|r| Destination::read(&documents, r)).collect();
    let rules = resource_rules(&documents, &Profile::Release, &policies, &services);
    let rule = rules.values().next().expect("a rule");
    let mut owners: Vec<&str> =
        rule.merged.by_matches.values().map(|origin| origin.policy.meta.name.as_str()).collect();
    owners.sort_unstable();
    assert_eq!(owners, ["strong", "strong", "weak"]);
}
