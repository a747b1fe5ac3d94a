// SPDX-License-Identifier: Apache-2.0
//! Out: why an effective policy is what it is, as data. Not here: the effective policy (`answers.rs`).

use schemars::JsonSchema;
use serde::Serialize;

use super::{Block, EffectivePolicy, PathElement, Place, ServiceRoutes, UnresolvedPolicy, Value};

/// An explanation of the effective policies of a target.
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
    /// The path from the root to the target.
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
    /// The routes of the Service asked about; absent for other targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<ServiceRoutes>,
    /// The explanations, in path order.
    pub items: Vec<Explanation>,
    /// Policies with a target on these paths that Overrule does not resolve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedPolicy>,
}

impl ExplanationList {
    /// A list of these.
    pub fn new(items: Vec<Explanation>) -> Self {
        Self {
            api_version: super::API_VERSION,
            kind: "ExplanationList",
            routes: None,
            items,
            unresolved: Vec::new(),
        }
    }
}

/// An explanation of the effective policy of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedKind {
    /// The order of the ladder, and who wins if always the same end of it does, for people.
    #[serde(skip)]
    pub order: String,
    /// The ladder, top first.
    pub ladder: Vec<Rung>,
    /// What each policy on the ladder wrote, top first.
    pub written: Vec<WrittenPolicy>,
    /// The merge steps, in the order of the ladder.
    pub steps: Vec<Step>,
    /// The one field asked about, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<FieldFocus>,
    /// The result.
    pub effective: EffectivePolicy,
}

/// What one policy on a ladder wrote.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenPolicy {
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Targets on this path the policy is attached to.
    pub attached_to: Vec<String>,
    /// Its blocks, in the order of the ladder.
    pub blocks: Vec<WrittenBlock>,
}

/// One block of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenBlock {
    /// Which block.
    pub block: Block,
    /// What it contributes, without references to targets.
    pub spec: Value,
}

/// The result of a condition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RungCondition {
    /// `holds`, `does not hold` or `failed`.
    pub verdict: &'static str,
    /// Why it could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The values it read.
    pub saw: Vec<SeenValue>,
}

/// A value that a condition read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeenValue {
    /// Where, as conditions name it: `spec.limits.a`.
    pub path: String,
    /// The value; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// One contribution on a ladder.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// Its outcome here.
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
    /// The result of its condition; absent if it has none, or if it was not evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<RungCondition>,
}

/// One merge step: a rung, or a group of rungs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Positions of the rungs on the ladder; several if a group was folded first.
    pub rungs: Vec<usize>,
    /// `namespace/name` of the policies, in the same order.
    pub policies: Vec<String>,
    /// `took`, `replaced`, `merged`, `kept`, `beside`, `passed`, `skipped` or `poisoned`.
    pub done: &'static str,
    /// Positions of the rungs it met; none if there was nothing before it.
    pub with: Vec<usize>,
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
    /// The candidates for this field, top of the ladder first.
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
    /// Which block of it.
    pub block: Block,
    /// What it wrote.
    pub value: Value,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// Its outcome.
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
