// SPDX-License-Identifier: Apache-2.0
//! Out: the effective policy of one target. Not here: explanations, lists, graphs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{DiagnosticItem, UnresolvedPolicy, Value};

/// A place in the input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Name of the file as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One node of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathElement {
    /// Kind of the node: `Gateway`, `Listener`, `HTTPRouteRule`.
    pub kind: String,
    /// Namespace; absent for sections and cluster-scoped objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the object or section.
    pub name: String,
    /// Whether it is not in the input, and assumed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

/// Something that is not in the input, and that an answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assumption {
    /// Canonical name of what is assumed.
    pub target: String,
    /// Canonical name of the object it is derived from; absent if something only names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived_from: Option<String>,
    /// The first place that names it, or the object it is derived from.
    pub at: Place,
}

/// A part of a policy as it is written: `bare`, `defaults`, `overrides`, `to[1]`.
pub type Block = std::borrow::Cow<'static, str>;

/// The policy, block and place that wrote a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Which block of it.
    pub block: Block,
    /// Where the value is written; absent if no policy writes it (see `implied`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// Whether the policy implies the value without writing it: a schema default, a canonical form.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// A part of a policy that is not in force.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lost {
    /// `namespace/name` of the policy whose part it was.
    pub policy: String,
    /// Which block of it.
    pub block: Block,
    /// Where in the spec, as a JSON pointer; empty for all of the block.
    pub pointer: String,
    /// What was written there; absent for all of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The policies in force there, sorted.
    pub by: Vec<String>,
    /// Identifier of the rule by which it lost.
    pub reason: &'static str,
    /// That rule in one sentence.
    pub because: &'static str,
    /// Where it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// A policy on the ladder of an effective policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contributor {
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Its outcome here: `in force`, `partly`, `shadowed`, ...
    pub outcome: &'static str,
}

/// Why a target fails closed, such as a broken policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// `namespace/name` of the broken policy; empty if the cause is not a policy.
    pub policy: String,
    /// Identifier of the cause.
    pub reason: &'static str,
    /// The same in one sentence.
    pub because: &'static str,
    /// Where the cause is written, if it is not a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

impl Failure {
    /// The failure in one sentence; `name` says how a policy is shown.
    pub(crate) fn sentence(&self, name: impl FnOnce(&str) -> String) -> String {
        match (self.policy.is_empty(), &self.at) {
            (false, _) => {
                let name = name(&self.policy);
                format!("{name} is broken, so the target fails closed: {}", self.because)
            }
            (true, Some(at)) => {
                format!("it fails closed: {} ({})", self.because, crate::words::place(at))
            }
            (true, None) => format!("it fails closed: {}", self.because),
        }
    }
}

/// A policy that is in force beside the value shown, because nothing decides between the two.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Beside {
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Which block of it.
    pub block: Block,
    /// What it wrote.
    pub spec: Value,
    /// Identifier of the rule by which both are in force; absent if none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// That rule in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<&'static str>,
    /// Where it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// The result of another profile of the family, where it differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherProfile {
    /// Name of the profile.
    pub profile: &'static str,
    /// Whether it follows the released controller.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shipped: bool,
    /// Whether the kind has a target at this path under that profile.
    pub path_exists: bool,
    /// The value in force under it; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
    /// JSON pointers at which value or origin differ; empty text for all of it.
    pub differs: Vec<String>,
    /// Origins of the differing values under that profile, by JSON pointer of the leaf.
    pub origins: BTreeMap<String, Vec<Origin>>,
}

/// The merged policy of one kind at one target path.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectivePolicy {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `EffectivePolicy`.
    #[schemars(extend("const" = "EffectivePolicy"))]
    pub kind: &'static str,
    /// Kind of the policies.
    pub policy_kind: String,
    /// API group of the policies.
    pub policy_group: String,
    /// Family that resolved it.
    pub family: &'static str,
    /// Rule set of the family.
    pub profile: &'static str,
    /// Whether the rules of the kind are assumed, because it has no descriptor.
    pub assumed: bool,
    /// Whether the path exists only under other profiles, not under this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_elsewhere: bool,
    /// The path from the root to the target.
    pub path: Vec<PathElement>,
    /// What is not in the input and assumed, and what the answer therefore rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<Assumption>,
    /// Canonical name of the target, the last node of the path.
    pub target: String,
    /// Every policy that reaches the target, top of the ladder first.
    pub policies: Vec<Contributor>,
    /// The value in force; null if no policy is.
    pub spec: Option<Value>,
    /// Origins of each leaf of `spec`, by JSON pointer; the empty pointer also has those of `beside`.
    pub origins: BTreeMap<String, Vec<Origin>>,
    /// What is in force beside `spec`, because nothing decides between them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// Shadowed parts: a policy that outranks theirs is in force instead.
    pub shadowed: Vec<Lost>,
    /// Masked parts: a built-in is used instead.
    pub masked: Vec<Lost>,
    /// Parts that a lower policy removed.
    pub removed: Vec<Lost>,
    /// Parts that a condition skipped.
    pub skipped: Vec<Lost>,
    /// Broken policies: the target fails closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub error: Vec<Failure>,
    /// The results of other profiles, where they differ.
    pub other_profiles: Vec<OtherProfile>,
    /// Findings about the policies on the ladder.
    pub diagnostics: Vec<DiagnosticItem>,
}

impl EffectivePolicy {
    /// The value in force at these keys, from the outside in.
    pub fn at<'a>(&'a self, keys: impl IntoIterator<Item = &'a str>) -> Option<&'a Value> {
        self.spec.as_ref()?.at(keys)
    }
}

/// Many effective policies; written as a stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectivePolicyList {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `EffectivePolicyList`.
    #[schemars(extend("const" = "EffectivePolicyList"))]
    pub kind: &'static str,
    /// The effective policies.
    pub items: Vec<EffectivePolicy>,
    /// Policies with a target on these paths that Overrule does not resolve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedPolicy>,
}
