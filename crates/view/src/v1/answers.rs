// SPDX-License-Identifier: Apache-2.0
//! In: nothing. Out: the answers about one target: effective policy and explanation. Not here: lists, graphs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{DiagnosticItem, Value};

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
}

/// Which written part of a policy: `bare`, `defaults`, `overrides`.
pub type Block = &'static str;

/// The policy, block and place that wrote a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Which block of it.
    pub block: Block,
    /// Where the value is written; absent if nobody wrote it (see `implied`).
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
    /// Where in the spec, as a JSON pointer; empty for all of the policy.
    pub pointer: String,
    /// What was written there; absent for all of the policy.
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
    /// What became of it here: `in force`, `partly`, `shadowed`, ...
    pub outcome: &'static str,
}

/// A broken policy that makes its target fail closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// `namespace/name` of the broken policy.
    pub policy: String,
    /// Identifier of what is wrong.
    pub reason: &'static str,
    /// The same in one sentence.
    pub because: &'static str,
}

/// What another profile of the family says, where it differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherProfile {
    /// Name of the profile.
    pub profile: &'static str,
    /// The value in force under it; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
    /// JSON pointers at which it differs.
    pub differs: Vec<String>,
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
    /// Whether the rules of the kind are guessed, because nobody described it.
    pub assumed: bool,
    /// The walk from the root to the target.
    pub path: Vec<PathElement>,
    /// Canonical name of the target, the last node of the path.
    pub target: String,
    /// Every policy that reaches the target, top of the ladder first.
    pub policies: Vec<Contributor>,
    /// The value in force; null if no policy is.
    pub spec: Option<Value>,
    /// Who wrote each leaf of `spec`, by JSON pointer.
    pub origins: BTreeMap<String, Vec<Origin>>,
    /// What lost against something that outranks it.
    pub shadowed: Vec<Lost>,
    /// What lost its slot to a built-in.
    pub masked: Vec<Lost>,
    /// What a lower policy removed.
    pub removed: Vec<Lost>,
    /// What a condition kept out.
    pub skipped: Vec<Lost>,
    /// Broken policies: the target fails closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub error: Vec<Failure>,
    /// What other profiles say, where they differ.
    pub other_profiles: Vec<OtherProfile>,
    /// Findings about the policies on the ladder.
    pub diagnostics: Vec<DiagnosticItem>,
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
}

/// Why the effective policies of a target are what they are.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `Explanation`.
    #[schemars(extend("const" = "Explanation"))]
    pub kind: &'static str,
    /// Canonical name of the target.
    pub target: String,
    /// The walk from the root to the target.
    pub path: Vec<PathElement>,
    /// One entry per policy kind.
    pub kinds: Vec<ExplainedKind>,
}

/// Many explanations: one for each path that passes through the target asked about.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplanationList {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `ExplanationList`.
    #[schemars(extend("const" = "ExplanationList"))]
    pub kind: &'static str,
    /// The explanations, in path order.
    pub items: Vec<Explanation>,
}

impl ExplanationList {
    /// A list of these.
    pub fn new(items: Vec<Explanation>) -> Self {
        Self { api_version: super::API_VERSION, kind: "ExplanationList", items }
    }
}

/// Why the effective policy of one kind is what it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedKind {
    /// The ladder, top first.
    pub ladder: Vec<Rung>,
    /// What was done with each rung, in the order it was done.
    pub steps: Vec<Step>,
    /// The one field asked about, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<FieldFocus>,
    /// The result.
    pub effective: EffectivePolicy,
}

/// One contribution on a ladder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rung {
    /// Position, from 1; 1 is the top.
    pub position: usize,
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Targets on this path the policy is attached to.
    pub attached_to: Vec<String>,
    /// Which block of the policy.
    pub block: Block,
    /// Its merge strategy, in the family's words.
    pub strategy: &'static str,
    /// What became of it here.
    pub outcome: &'static str,
    /// Where the policy is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// Creation time as far as it is known.
    pub created: String,
    /// Name of the key that puts it below the rung above; absent for the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<&'static str>,
    /// The same in one sentence, with the values compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What was done with one rung, or with one group of rungs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Positions of the rungs on the ladder; several if a group was folded first.
    pub rungs: Vec<usize>,
    /// `namespace/name` of the policies, in the same order.
    pub policies: Vec<String>,
    /// `took`, `replaced`, `merged`, `kept`, `beside`, `skipped` or `poisoned`.
    pub done: &'static str,
    /// For `merged`, the side whose fields stay: `held` or `incoming`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred: Option<&'static str>,
    /// Identifier of the rule.
    pub reason: &'static str,
    /// The rule in one sentence.
    pub because: &'static str,
}

/// Everything about one field.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldFocus {
    /// The field as it was asked for.
    pub asked: String,
    /// The field as a JSON pointer into `spec`.
    pub pointer: String,
    /// The value in force; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Who had a value there, top of the ladder first.
    pub candidates: Vec<HadValue>,
    /// Nearest names of fields that exist, if this one does not.
    pub suggestions: Vec<String>,
}

/// A policy that wrote something at a field.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HadValue {
    /// Position on the ladder, from 1.
    pub position: usize,
    /// `namespace/name` of the policy.
    pub policy: String,
    /// What it wrote.
    pub value: Value,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// What became of it.
    pub outcome: &'static str,
    /// The policies in force there instead, sorted.
    pub by: Vec<String>,
    /// Identifier of the rule by which it lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// That rule in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<&'static str>,
}
