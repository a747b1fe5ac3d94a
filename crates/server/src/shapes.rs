// SPDX-License-Identifier: Apache-2.0
//! The JSON of the server's own answers, beside the model `overrule/v1` that it shares with the command
//! line. Not here: filling them.

use overrule::view::v1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of all of these.
pub const API_VERSION: &str = "overrule/v1";

/// A stored resource, without its text.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredItem {
    /// Its target name.
    pub target: String,
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Mesh, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// Name.
    pub name: String,
    /// The version that wrote it last; send it as `If-Match` to change nothing else.
    pub version: u64,
    /// Since when it is there.
    pub created: String,
    /// When it was written last.
    pub modified: String,
}

/// Stored resources.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredList {
    /// `overrule/v1`.
    pub api_version: &'static str,
    /// `StoredList`.
    pub kind: &'static str,
    /// The version of the answer.
    pub version: u64,
    /// How many there are in all.
    pub total: usize,
    /// A page of them.
    pub items: Vec<StoredItem>,
    /// Where the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A stored resource.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    /// `overrule/v1`.
    pub api_version: &'static str,
    /// `Stored`.
    pub kind: &'static str,
    /// Who it is.
    pub item: StoredItem,
    /// Its text as it was written.
    pub text: String,
    /// The same as data.
    pub manifest: serde_json::Value,
}

/// What became of one resource that was written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenItem {
    /// Its target name.
    pub target: String,
    /// `created`, `changed`, `unchanged` or `deleted`.
    pub done: &'static str,
    /// Its version now.
    pub version: u64,
}

/// What became of a write.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteResult {
    /// `overrule/v1`.
    pub api_version: &'static str,
    /// `WriteResult`.
    pub kind: &'static str,
    /// The version of the store after it; ask with `at-least` of it to see its effect.
    pub version: u64,
    /// Whether nothing was stored because it was a dry run.
    pub dry_run: bool,
    /// One per resource.
    pub items: Vec<WrittenItem>,
    /// What is wrong with them, without being a reason to refuse them; of very many the gravest.
    pub diagnostics: Vec<v1::DiagnosticItem>,
    /// How many more there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_diagnostics: Option<usize>,
    /// What changes, or would change, in effective policies; of a dry run only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<v1::EffectiveChanges>,
}

/// One change that was made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryItem {
    /// The version it made.
    pub version: u64,
    /// When.
    pub at: String,
    /// Who.
    pub author: String,
    /// The request that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The resource.
    pub target: String,
    /// `created`, `changed` or `deleted`.
    pub done: &'static str,
    /// The text that was written; absent for a deletion, and where it was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text was taken out of the history.
    pub redacted: bool,
}

/// Changes, newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryList {
    /// `overrule/v1`.
    pub api_version: &'static str,
    /// `HistoryList`.
    pub kind: &'static str,
    /// A page of them.
    pub items: Vec<HistoryItem>,
    /// Where older ones are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An entry of the audit log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditItem {
    /// Its number.
    pub id: u64,
    /// When.
    pub at: String,
    /// Who.
    pub author: String,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What was tried.
    pub action: String,
    /// On what.
    pub what: String,
    /// What came of it.
    pub outcome: String,
}

/// The audit log, newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditList {
    /// `overrule/v1`.
    pub api_version: &'static str,
    /// `AuditList`.
    pub kind: &'static str,
    /// A page of it.
    pub items: Vec<AuditItem>,
    /// Where older ones are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A token, without its secret.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenItem {
    /// Its id.
    pub id: String,
    /// Who it is for.
    pub name: String,
    /// What it allows: `admin`, `read`, `write:mesh/default`, `read:namespace/shop`.
    pub grants: Vec<String>,
    /// Since when.
    pub created: String,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Since when it is no longer accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
}

/// All tokens.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenList {
    /// `overrule/v1`.
    pub api_version: &'static str,
    /// `TokenList`.
    pub kind: &'static str,
    /// By id.
    pub items: Vec<TokenItem>,
}

/// A token that was just made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewToken {
    /// `overrule/v1`.
    pub api_version: &'static str,
    /// `NewToken`.
    pub kind: &'static str,
    /// What is kept of it.
    pub item: TokenItem,
    /// The token itself. It is shown now and never again.
    pub token: String,
}

/// A wish for a token.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenRequest {
    /// Who it is for.
    #[schemars(
        length(min = 1, max = 200),
        regex(
            pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
        )
    )]
    pub name: String,
    /// What it allows: `admin`, `read`, `write`, each but the first with `:mesh/NAME` or `:namespace/NAME` if wanted.
    #[schemars(
        length(min = 1, max = 100),
        inner(regex(pattern = r"^(admin|(read|write)(:(mesh|namespace)/.+)?)$"))
    )]
    pub grants: Vec<String>,
    /// Until when, RFC 3339.
    #[serde(default)]
    pub expires: Option<String>,
}

/// What the server is and how it is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// `ok`, or what is wrong.
    pub status: String,
}
