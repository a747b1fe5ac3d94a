// SPDX-License-Identifier: Apache-2.0
//! Out: the topology with its policies, as data. Not here: drawing it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Counts, Place, UnresolvedPolicy};

/// The topology with policies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Graph {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `Graph`.
    #[schemars(extend("const" = "Graph"))]
    pub kind: &'static str,
    /// The node the graph is about; absent for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// Nodes on some path, parents before children.
    pub nodes: Vec<GraphNode>,
    /// Steps of paths.
    pub edges: Vec<GraphEdge>,
    /// Policies attached to a node shown, or to an object on no path that is listed.
    pub policies: Vec<GraphPolicy>,
    /// Their attachments.
    pub attachments: Vec<GraphAttachment>,
    /// Rejected references.
    pub rejections: Vec<GraphRejection>,
    /// Objects on no path.
    pub unattached: Vec<Unattached>,
    /// Policies that Overrule does not resolve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<GraphUnresolved>,
}

/// A policy that Overrule does not resolve, and the nodes it targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphUnresolved {
    /// The policy.
    #[serde(flatten)]
    pub policy: UnresolvedPolicy,
    /// The nodes of this document that it targets.
    pub nodes: Vec<usize>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// Identifier in this document: the index in `nodes`.
    pub id: usize,
    /// Canonical name of the target.
    pub target: String,
    /// Kind.
    pub kind: String,
    /// Namespace; absent for sections and cluster-scoped objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the object or section.
    pub name: String,
    /// Name of its level.
    pub level: &'static str,
    /// Depth of its level; smaller is higher.
    pub depth: u8,
    /// Whether it is not in the input, and assumed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// Where it is written, or named if it is assumed; absent if it is only referred to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// A step from a node to one below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphEdge {
    /// Upper node.
    pub from: usize,
    /// Lower node.
    pub to: usize,
}

/// A policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphPolicy {
    /// Identifier in this document: the index in `policies`.
    pub id: usize,
    /// Kind.
    pub policy_kind: String,
    /// `namespace/name`.
    pub policy: String,
    /// Its outcome over all paths.
    pub outcome: &'static str,
    /// Where it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// A policy on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphAttachment {
    /// The policy.
    pub policy: usize,
    /// The node.
    pub node: usize,
    /// Its outcome on the paths through that node.
    pub outcome: &'static str,
    /// Those paths, counted.
    pub counts: Counts,
}

/// A rejected reference of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphRejection {
    /// Kind of the policy.
    pub policy_kind: String,
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Identifier of the reason.
    pub reason: &'static str,
    /// The same in one sentence.
    pub because: &'static str,
    /// Where the reference is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// An object on no path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unattached {
    /// Canonical name.
    pub target: String,
    /// `namespace/name` of policies attached to it.
    pub policies: Vec<String>,
    /// The same policies, as indexes in `policies` of this document.
    pub attached: Vec<usize>,
    /// Where it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}
