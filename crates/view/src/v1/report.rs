// SPDX-License-Identifier: Apache-2.0
//! Out: what `overrule diff` says about two states beside the changes themselves. Not here: finding out.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangeCounts, DiagnosticItem, Place};

/// Two states compared: what the changes have in common, how far they reach, and what else is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeReport {
    /// The state before, as it was named.
    pub before: String,
    /// The state after, as it was named.
    pub after: String,
    /// Changes that are one change at several targets, the widest first.
    pub groups: Vec<ChangeGroup>,
    /// How far the changes reach.
    pub radius: BlastRadius,
    /// Findings that came and went.
    pub findings: FindingChanges,
    /// The same comparison under the other profiles of families whose policies changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileChanges>,
    /// Who owns what is affected, by CODEOWNERS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<AffectedOwner>,
    /// Conditions of `--fail-on` and `--max-routes` that are met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateHit>,
}

/// The same change at several targets: the same policies meet there before, and the same after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeGroup {
    /// `added`, `changed` or `removed`.
    pub change: &'static str,
    /// Whether the targets are still there, and no policy of the kind is in force on them any more.
    pub uncovered: bool,
    /// The places of the changes in `items`, from 0.
    pub items: Vec<usize>,
    /// How many routes they are about.
    pub routes: usize,
    /// What was written differently.
    pub causes: Vec<ChangeCause>,
}

/// A resource that was written differently.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeCause {
    /// `TimeoutPolicy infra/gw-timeouts`.
    pub resource: String,
    /// `added`, `changed`, `removed` or `deleted`.
    pub change: &'static str,
    /// Where it is written: in the state after, or in the state before if it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// How far changes reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlastRadius {
    /// Resources that were added, changed or removed, of all in both states.
    pub resources: Share,
    /// Policies among them.
    pub policies: Share,
    /// Paths and kinds whose effective policy changes.
    pub paths: Share,
    /// Routes on these paths.
    pub routes: Share,
    /// Hostnames of these routes.
    pub hostnames: Share,
    /// Namespaces of what is affected.
    pub namespaces: Share,
    /// Dataplanes on these paths.
    pub dataplanes: Share,
}

/// Some of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// How many are affected.
    pub affected: usize,
    /// Of how many.
    pub of: usize,
}

/// Findings of both states.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingChanges {
    /// Findings that only the state after has.
    pub new: Vec<DiagnosticItem>,
    /// Findings that only the state before has.
    pub fixed: Vec<DiagnosticItem>,
    /// How many both have.
    pub unchanged: usize,
}

/// The comparison under another profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileChanges {
    /// The family.
    pub family: &'static str,
    /// The other profile.
    pub profile: &'static str,
    /// The changes under it.
    pub counts: ChangeCounts,
    /// Targets that change under it only, `KIND at TARGET`.
    pub only_there: Vec<String>,
    /// Targets that change only under the profile that is shown, `KIND at TARGET`.
    pub only_here: Vec<String>,
}

/// An owner of something that is affected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AffectedOwner {
    /// As CODEOWNERS has it.
    pub owner: String,
    /// The files of theirs whose resources are affected.
    pub files: Vec<String>,
    /// Whether they own a file that was edited, too.
    pub edited: bool,
}

/// A condition that was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateHit {
    /// Its name: `removed`, `max-routes`.
    pub gate: &'static str,
    /// Why it is met, in one sentence.
    pub because: String,
}
