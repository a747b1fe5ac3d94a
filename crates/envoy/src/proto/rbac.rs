// SPDX-License-Identifier: Apache-2.0
//! The messages of the RBAC filters, both the matching and the classic form. Not here: how rules
//! become them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::matcher::Matcher;
use super::{TypedExtensionConfig, is_false};

/// An RBAC filter, for a filter chain or for the filters of an HTTP connection manager.
pub type RbacFilter<'a> = TypedExtensionConfig<Rbac<'a>>;

/// The configuration of an RBAC filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum Rbac<'a> {
    /// Decides once for a connection, with its first byte.
    #[serde(rename = "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC")]
    Network(NetworkRbac<'a>),
    /// Decides for each request.
    #[serde(rename = "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC")]
    Http(HttpRbac<'a>),
}

/// `envoy.extensions.filters.network.rbac.v3.RBAC`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRbac<'a> {
    /// Decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<Matcher<'a>>,
    /// Decides, in the classic form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Rules>,
    /// Counts only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow_matcher: Option<Matcher<'a>>,
    /// Counts only, in the classic form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow_rules: Option<Rules>,
    /// Goes before the names of what the shadow leaves behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow_rules_stat_prefix: Option<&'static str>,
    /// Goes before the names of counters; never empty.
    pub stat_prefix: String,
}

/// `envoy.extensions.filters.http.rbac.v3.RBAC`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct HttpRbac<'a> {
    /// Decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<Matcher<'a>>,
    /// Decides, in the classic form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Rules>,
    /// Counts only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow_matcher: Option<Matcher<'a>>,
    /// Counts only, in the classic form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow_rules: Option<Rules>,
    /// Whether there are counters for each action name.
    #[serde(skip_serializing_if = "is_false")]
    pub track_per_rule_stats: bool,
}

/// `envoy.config.rbac.v3.RBAC.Action`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Default)]
#[serde(rename_all = "UPPERCASE")]
pub enum RbacAction {
    /// Lets pass; the default, never written.
    #[default]
    Allow,
    /// Refuses.
    Deny,
}

impl RbacAction {
    /// Whether it is left out.
    pub fn is_default(&self) -> bool {
        *self == Self::Allow
    }
}

/// `envoy.config.rbac.v3.RBAC`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Rules {
    /// What the policies do.
    #[serde(skip_serializing_if = "RbacAction::is_default")]
    pub action: RbacAction,
    /// By name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub policies: BTreeMap<&'static str, Policy>,
}

/// `envoy.config.rbac.v3.Policy`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// What is asked for; at least one.
    pub permissions: Vec<Permission>,
    /// Who asks; at least one.
    pub principals: Vec<Principal>,
}

/// `envoy.config.rbac.v3.Permission`, as far as used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Permission {
    /// Anything.
    Any(bool),
}

/// `envoy.config.rbac.v3.Principal`, as far as used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Principal {
    /// All of them.
    AndIds(PrincipalSet),
    /// One of them.
    OrIds(PrincipalSet),
    /// Anyone.
    Any(bool),
    /// One of the names in the certificate.
    Authenticated(Authenticated),
    /// Not this one.
    NotId(Box<Principal>),
}

/// `envoy.config.rbac.v3.Principal.Set`; at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrincipalSet {
    /// The parts.
    pub ids: Vec<Principal>,
}

/// `envoy.config.rbac.v3.Principal.Authenticated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Authenticated {
    /// One of the URI SANs is it.
    pub principal_name: PrincipalName,
}

/// `envoy.type.matcher.v3.StringMatcher`, as far as used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PrincipalName {
    /// Is it.
    Exact(String),
}
