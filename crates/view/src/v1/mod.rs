// SPDX-License-Identifier: Apache-2.0
//! Out: `overrule/v1`, the one model that `-o json`, `-o yaml` and the HTTP API share, with its schema.
//! Not here: how it is filled (`effective.rs`, `explain.rs`, ...), how it is printed.
//!
//! Fields are only ever added. Text views print only what is in these types, so
//! programs and people get the same answers.

mod access;
mod answers;
mod beside;
mod changes;
mod explanation;
mod graph;
mod lists;
mod report;
mod schema;
mod value;

pub use access::{
    AccessDecision, AccessDecisionList, CallerList, DecidedBy, InboundCallers, OtherDecision,
    OtherHttp,
};
pub use answers::{
    Assumption, Beside, Block, Contributor, EffectivePolicy, EffectivePolicyList, Failure, Lost,
    Origin, OtherProfile, PathElement, Place,
};
pub use beside::{BoundRoute, Sender, ServiceRoutes, UnresolvedPolicy};
pub use changes::{ChangeCounts, EffectiveChange, EffectiveChanges, FieldChange};
pub use explanation::{
    ExplainedKind, Explanation, ExplanationList, FieldFocus, HadValue, Rung, RungCondition,
    SeenValue, Step, WrittenBlock, WrittenPolicy,
};
pub use graph::{
    Graph, GraphAttachment, GraphEdge, GraphNode, GraphPolicy, GraphRejection, GraphUnresolved,
    Unattached,
};
pub use lists::{
    Condition, Counts, DiagnosticItem, DiagnosticList, OtherOutcome, PolicyList, PolicySummary,
    Reach, ReachPath, ReachReference, ReachTarget, Related, Resource, ResourceList, RuleSummary,
    Uncovered, UncoveredList,
};
pub use report::{
    AffectedOwner, BlastRadius, ChangeCause, ChangeGroup, ChangeReport, FindingChanges, GateHit,
    ProfileChanges, Share,
};
pub use schema::schema;
pub use value::Value;

/// The value of `apiVersion` everywhere.
pub const API_VERSION: &str = "overrule/v1";
