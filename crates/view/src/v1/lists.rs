// SPDX-License-Identifier: Apache-2.0
//! Out: what `reach`, `get` and `check` answer. Not here: answers about one target.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Assumption, Block, PathElement, Place, UnresolvedPolicy};

/// The number of paths by the outcome of a policy on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All paths reached.
    pub paths: u64,
    /// Where all of it is in force.
    pub in_force: u64,
    /// Where some of it is.
    pub partly: u64,
    /// Where something outranks it.
    pub shadowed: u64,
    /// Where a built-in is used instead.
    pub masked: u64,
    /// Where lower policies removed it.
    pub removed: u64,
    /// Where a condition skipped it.
    pub skipped: u64,
    /// Where it has nothing to contribute.
    pub inert: u64,
}

/// Where one policy, or one field of it, is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `Reach`.
    #[schemars(extend("const" = "Reach"))]
    pub kind: &'static str,
    /// `namespace/name` of the policy.
    pub policy: String,
    /// Its kind.
    pub policy_kind: String,
    /// API group of its kind.
    pub policy_group: String,
    /// Family that resolved it.
    pub family: &'static str,
    /// Rule set of the family.
    pub profile: &'static str,
    /// Where it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// The field asked about, as a JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The block or entry of the policy that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// Nearest names of fields, if the policy does not have the one asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
    /// Its outcome over all paths.
    pub outcome: &'static str,
    /// The answer in one sentence.
    pub verdict: String,
    /// What is not in the input and assumed, and what the answer therefore rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<Assumption>,
    /// The result of each target reference.
    pub references: Vec<ReachReference>,
    /// All paths it reaches, counted.
    pub counts: Counts,
    /// The same by target.
    pub targets: Vec<ReachTarget>,
    /// The outcome of each of its rules; absent if one field was asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleSummary>,
}

/// One rule of a policy and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleSummary {
    /// Its name, as people write fields: `rules.authentication.a`; empty for all of the block.
    pub rule: String,
    /// The same as a JSON pointer into the block.
    pub pointer: String,
    /// Which block of the policy contains it.
    pub block: Block,
    /// The paths it reaches, counted.
    pub counts: Counts,
    /// The policies that are in force instead of it somewhere, sorted.
    pub by: Vec<String>,
    /// The policies that removed it somewhere, sorted.
    pub removed_by: Vec<String>,
    /// Why it is not in force everywhere, one sentence each.
    pub because: Vec<&'static str>,
}

/// One target reference of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReachReference {
    /// Which reference, counted as written, from 0.
    pub reference: u32,
    /// Where it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// The targets it is attached to.
    pub landed: Vec<String>,
    /// Identifier of the reason why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The same in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<&'static str>,
}

/// One target a policy reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReachTarget {
    /// Canonical name.
    pub target: String,
    /// Its paths, counted.
    pub counts: Counts,
    /// Its paths.
    pub paths: Vec<ReachPath>,
}

/// One path a policy reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReachPath {
    /// The path from the root to the target.
    pub path: Vec<PathElement>,
    /// The outcome of the policy here.
    pub outcome: &'static str,
    /// The policies that shadow it, sorted.
    pub by: Vec<String>,
    /// Identifiers of the rules by which it lost, sorted.
    pub reasons: Vec<&'static str>,
    /// The same rules as sentences.
    pub because: Vec<&'static str>,
}

/// Policies and their outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyList {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `PolicyList`.
    #[schemars(extend("const" = "PolicyList"))]
    pub kind: &'static str,
    /// The policies, by kind, namespace, name.
    pub items: Vec<PolicySummary>,
    /// Policies that Overrule does not resolve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedPolicy>,
}

impl PolicyList {
    /// A list of these.
    pub fn new(items: Vec<PolicySummary>) -> Self {
        let unresolved = Vec::new();
        Self { api_version: super::API_VERSION, kind: "PolicyList", items, unresolved }
    }
}

/// One policy and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicySummary {
    /// Kind.
    pub policy_kind: String,
    /// API group.
    pub policy_group: String,
    /// Family that resolved it.
    pub family: &'static str,
    /// Rule set of the family.
    pub profile: &'static str,
    /// Its canonical name, as targets are written: `timeoutpolicy/infra/gw-timeouts`.
    pub target: String,
    /// Namespace, or mesh; absent if cluster-scoped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its mesh, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// Name.
    pub name: String,
    /// The targets it is attached to.
    pub targets: Vec<String>,
    /// Its outcome over all paths.
    pub outcome: &'static str,
    /// Its paths, counted.
    pub counts: Counts,
    /// Creation time as RFC 3339, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The same in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_seconds: Option<i64>,
    /// What is not in the input and assumed, and what the answer therefore rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<Assumption>,
    /// Its merge strategy, in the family's words; absent if it is attached to no target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<&'static str>,
    /// Why it is not in force everywhere, one sentence each.
    pub why: Vec<String>,
    /// Since when it is being deleted, if it is: then it takes no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<String>,
    /// The conditions its controller would write; empty if its controller is unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The outcome of each of its rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleSummary>,
    /// The outcomes under other profiles, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_profiles: Vec<OtherOutcome>,
    /// Where it is written.
    pub at: Place,
}

/// The outcome of a policy under another profile, where it differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherOutcome {
    /// Name of the profile.
    pub profile: &'static str,
    /// The outcome under it; absent if it is not a policy there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// Its paths, counted.
    pub counts: Counts,
}

/// Resources of any kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceList {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `ResourceList`.
    #[schemars(extend("const" = "ResourceList"))]
    pub kind: &'static str,
    /// The resources, by group, kind, namespace, name.
    pub items: Vec<Resource>,
}

/// One resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: String,
    /// API version without the group.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Its canonical name, as targets are written: `httproute/shop/cart`.
    pub target: String,
    /// Namespace, or mesh; absent if cluster-scoped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its mesh, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// Name.
    pub name: String,
    /// Creation time as RFC 3339, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Since when it is being deleted, if it is: then it takes no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<String>,
    /// Whether it is not in the input, and assumed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// Canonical name of the object it is derived from, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived_from: Option<String>,
    /// Conditions of a route.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Where it is written; of what is assumed, the place that asks for it.
    pub at: Place,
}

/// A condition of a route, a Gateway or a policy, as its controller would write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// `Accepted`, `ResolvedRefs`, `Enforced`, `Attached`, `kuadrant.io/AuthPolicyAffected`.
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Index of the parentRef it is about, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_ref: Option<u16>,
    /// The listener it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The object it is about: the Gateway a policy acts through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ancestor: Option<String>,
}

/// Paths that no policy of a kind covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UncoveredList {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `UncoveredList`.
    #[schemars(extend("const" = "UncoveredList"))]
    pub kind: &'static str,
    /// Kind of the policies that are missing.
    pub policy_kind: String,
    /// API group of that kind.
    pub policy_group: String,
    /// Paths at which the kind could have an effective policy.
    pub paths: u64,
    /// Those at which it has none.
    pub items: Vec<Uncovered>,
}

/// A path without a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uncovered {
    /// Canonical name of the target.
    pub target: String,
    /// The path from the root to it.
    pub path: Vec<PathElement>,
}

/// Findings about the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticList {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `DiagnosticList`.
    #[schemars(extend("const" = "DiagnosticList"))]
    pub kind: &'static str,
    /// How many errors.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
    /// How many notes.
    pub notes: usize,
    /// The findings, by file, line, column, code.
    pub items: Vec<DiagnosticItem>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticItem {
    /// Stable identifier, `OV` and four digits.
    pub code: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The title of this kind of finding.
    pub title: &'static str,
    /// The message.
    pub message: String,
    /// Where; absent if the finding has no single place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// The field it is about, from the document root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Related places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// A place related to a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Related {
    /// Where.
    pub at: Place,
    /// What is there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}
