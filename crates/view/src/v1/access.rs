// SPDX-License-Identifier: Apache-2.0
//! Out: who may call what, as data. Not here: deciding.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Assumption, Place};

/// The part of a policy that decides: a match of a permission, or an entry that describes clients by tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecidedBy {
    /// `mesh/name` of the policy.
    pub policy: String,
    /// Its identifier (KRI), which the proxy reports too.
    pub kri: String,
    /// Which part of it: `rules[0].deny[1]`, `from[2]`.
    pub part: String,
    /// `deny`, `allow` or `allowWithShadowDeny`.
    pub effect: String,
    /// What it matches, in words.
    pub matches: String,
    /// Where it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// The same question under another profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherDecision {
    /// Name of the profile.
    pub profile: String,
    /// `allowed` or `denied`.
    pub verdict: &'static str,
    /// Why, in one sentence.
    pub because: String,
    /// What decides there; absent if nothing matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<DecidedBy>,
}

/// The same question over the other version of HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherHttp {
    /// `HTTP/1.1` or `HTTP/2`.
    pub http: &'static str,
    /// `allowed` or `denied`.
    pub verdict: &'static str,
    /// Why, in one sentence.
    pub because: String,
    /// What decides there; absent if nothing matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<DecidedBy>,
}

/// Whether a client may call an inbound, and which policy decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessDecision {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `AccessDecision`.
    #[schemars(extend("const" = "AccessDecision"))]
    pub kind: &'static str,
    /// Rule set of the family.
    pub profile: String,
    /// The client as asked about.
    pub from: String,
    /// The identity in its certificate; absent if it has none, or more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The inbound: `dataplane/default/backend-1#http`.
    pub to: String,
    /// The method asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The server name asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni: Option<String>,
    /// The version of HTTP asked about, or of this answer if another version has another: `HTTP/1.1`, `HTTP/2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<&'static str>,
    /// Whether the proxy knows its clients: `off`, `permissive`, `strict`.
    pub enforcement: &'static str,
    /// `allowed` or `denied`.
    pub verdict: &'static str,
    /// What is not in the input and assumed, or derived from other objects, and what the answer therefore rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<Assumption>,
    /// Why, in one sentence.
    pub because: String,
    /// What decides: the first match in list order, denies first; absent if nothing matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<DecidedBy>,
    /// What decides in the tree form: the exact match before the longest prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_tree: Option<DecidedBy>,
    /// Every match, in list order.
    pub matched: Vec<DecidedBy>,
    /// The shadow deny that would refuse it if it were a deny.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<DecidedBy>,
    /// The verdict for clients without a certificate, if the proxy accepts them too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plaintext: Option<&'static str>,
    /// The other version of HTTP, if none was asked about and its answer differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_http: Option<OtherHttp>,
    /// Other profiles with a different answer.
    pub other_profiles: Vec<OtherDecision>,
}

/// Many decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessDecisionList {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `AccessDecisionList`.
    #[schemars(extend("const" = "AccessDecisionList"))]
    pub kind: &'static str,
    /// The decisions.
    pub items: Vec<AccessDecision>,
}

/// Everybody who can call an inbound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboundCallers {
    /// The inbound: `dataplane/default/backend-1#http`.
    pub to: String,
    /// Rule set of the family.
    pub profile: String,
    /// Whether the proxy knows its clients: `off` (everybody gets in), `permissive` (also everybody without a
    /// certificate), `strict`.
    pub enforcement: &'static str,
    /// Whether a deny counts wherever it stands; otherwise the first clause that matches decides.
    pub denies_first: bool,
    /// What lets clients in or refuses them, in the order in which it counts. Whom nothing matches is refused.
    pub clauses: Vec<DecidedBy>,
    /// Clients of the input that get in, without regard to method, path and server name.
    pub clients: Vec<String>,
}

/// Everybody who can call the inbounds of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallerList {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `CallerList`.
    #[schemars(extend("const" = "CallerList"))]
    pub kind: &'static str,
    /// An entry per inbound.
    pub items: Vec<InboundCallers>,
}

impl CallerList {
    /// A list of these.
    pub fn new(items: Vec<InboundCallers>) -> Self {
        Self { api_version: super::API_VERSION, kind: "CallerList", items }
    }
}
