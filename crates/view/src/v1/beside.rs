// SPDX-License-Identifier: Apache-2.0
//! Out: what answers say beside effective policies: policies that nobody resolves, and the routes of a Service.
//! Not here: effective policies.

use schemars::JsonSchema;
use serde::Serialize;

use super::Place;

/// A policy that Overrule knows and does not resolve: its controller has rules of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnresolvedPolicy {
    /// Kind.
    pub policy_kind: String,
    /// API group.
    pub policy_group: String,
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Whose rules it follows; absent if its kind is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'static str>,
    /// What it targets.
    pub targets: Vec<String>,
    /// Where it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// The routes of a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRoutes {
    /// Canonical name of the Service, or of the port asked about.
    pub service: String,
    /// The rules that send to it.
    pub senders: Vec<Sender>,
    /// The routes that are bound to it: they act on what clients in the mesh send to it.
    pub bound: Vec<BoundRoute>,
}

/// A rule that sends to a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sender {
    /// Canonical name of the rule.
    pub rule: String,
    /// The port it sends to, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The weight of the Service in the rule.
    pub weight: u32,
    /// Why nothing is sent; absent if the reference is good, as far as the input says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<&'static str>,
}

/// A route that is bound to a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoundRoute {
    /// Canonical name of the route.
    pub route: String,
    /// The port of the Service; absent if the input does not say its ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The namespace whose clients it acts on; absent if it acts on all clients that no route of their own namespace
    /// takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<String>,
}
