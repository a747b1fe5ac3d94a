// SPDX-License-Identifier: Apache-2.0
//! The messages of the matching API (`xds.type.matcher.v3`). Not here: how a rule becomes one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::TypedExtensionConfig;

/// `Matcher`: a list of predicates or a tree of values, and what happens when neither finds anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Matcher<'a> {
    /// The first predicate that holds decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher_list: Option<MatcherList<'a>>,
    /// The value decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher_tree: Option<MatcherTree<'a>>,
    /// Otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_no_match: Option<OnMatch<'a>>,
}

/// `Matcher.MatcherList`; at least one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatcherList<'a> {
    /// The first that holds wins.
    pub matchers: Vec<FieldMatcher<'a>>,
}

/// `Matcher.MatcherList.FieldMatcher`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldMatcher<'a> {
    /// What happens when it holds.
    pub on_match: OnMatch<'a>,
    /// What must hold.
    pub predicate: Predicate<'a>,
}

/// `Matcher.OnMatch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OnMatch<'a> {
    /// This is the answer.
    Action(TypedExtensionConfig<ActionConfig<'a>>),
    /// Ask on; what finds nothing in here falls back to what asked.
    Matcher(Box<Matcher<'a>>),
}

/// The configuration of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum ActionConfig<'a> {
    /// Of the RBAC filters.
    #[serde(rename = "type.googleapis.com/envoy.config.rbac.v3.Action")]
    Rbac {
        /// Absent means allow.
        #[serde(skip_serializing_if = "super::rbac::RbacAction::is_default")]
        action: super::rbac::RbacAction,
        /// Who decided; never empty.
        name: Cow<'a, str>,
    },
}

/// `Matcher.MatcherList.Predicate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Predicate<'a> {
    /// One input has this value.
    SinglePredicate(Box<SinglePredicate<'a>>),
    /// One of at least two.
    OrMatcher(PredicateList<'a>),
    /// All of at least two.
    AndMatcher(PredicateList<'a>),
    /// It does not hold. What cannot be asked does not.
    NotMatcher(Box<Predicate<'a>>),
    /// Nothing is set. Envoy refuses it; Kuma writes it for matches without a field it knows.
    #[serde(untagged)]
    Unset {},
}

/// `Matcher.MatcherList.Predicate.PredicateList`; at least two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PredicateList<'a> {
    /// The parts.
    pub predicate: Vec<Predicate<'a>>,
}

/// `Matcher.MatcherList.Predicate.SinglePredicate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SinglePredicate<'a> {
    /// What is looked at.
    pub input: TypedExtensionConfig<Input>,
    /// What it must be.
    pub value_match: StringMatcher<'a>,
}

/// `StringMatcher`, as far as used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StringMatcher<'a> {
    /// Has it in it.
    Contains(&'static str),
    /// Is it.
    Exact(Cow<'a, str>),
    /// Begins with it; not empty.
    Prefix(Cow<'a, str>),
    /// Is as a whole described by it.
    SafeRegex(RegexMatcher<'a>),
}

/// `RegexMatcher`. This one names its engine; without it Envoy refuses the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegexMatcher<'a> {
    /// The engine.
    pub google_re2: GoogleRe2,
    /// The expression.
    pub regex: Cow<'a, str>,
}

/// `RegexMatcher.GoogleRE2`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoogleRe2 {}

/// What can be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum Input {
    /// The URI SANs of the client's certificate, joined with commas.
    #[serde(
        rename = "type.googleapis.com/envoy.extensions.matching.common_inputs.ssl.v3.UriSanInput"
    )]
    UriSan {},
    /// The server name the client asked for, as the TLS inspector saw it.
    #[serde(
        rename = "type.googleapis.com/envoy.extensions.matching.common_inputs.network.v3.ServerNameInput"
    )]
    ServerName {},
    /// A header of the request.
    #[serde(rename = "type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput")]
    #[serde(rename_all = "camelCase")]
    RequestHeader {
        /// Its name.
        header_name: &'static str,
    },
}

/// `Matcher.MatcherTree`: one of the two maps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatcherTree<'a> {
    /// The value is a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_match_map: Option<MatchMap<'a>>,
    /// What is looked at.
    pub input: TypedExtensionConfig<Input>,
    /// The value begins with a key; the longest is asked first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_match_map: Option<MatchMap<'a>>,
}

/// `Matcher.MatcherTree.MatchMap`; at least one pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchMap<'a> {
    /// What each key leads to.
    pub map: BTreeMap<Cow<'a, str>, OnMatch<'a>>,
}

impl Input {
    /// The name under which the input is written.
    fn name(&self) -> &'static str {
        match self {
            Self::UriSan {} => "envoy.matching.inputs.uri_san",
            Self::ServerName {} => "envoy.matching.inputs.server_name",
            Self::RequestHeader { .. } => "envoy.matching.inputs.request_headers",
        }
    }

    /// As an extension.
    pub fn extension(self) -> TypedExtensionConfig<Self> {
        TypedExtensionConfig { name: self.name(), typed_config: self }
    }
}

impl<'a> Predicate<'a> {
    /// One input has this value.
    pub fn single(input: Input, value_match: StringMatcher<'a>) -> Self {
        Self::SinglePredicate(Box::new(SinglePredicate { input: input.extension(), value_match }))
    }

    /// All of these; none if there are none, itself if there is one, because Envoy wants at least two.
    pub fn all(parts: Vec<Self>) -> Option<Self> {
        Self::of(parts, |predicate| Self::AndMatcher(PredicateList { predicate }))
    }

    /// One of these; none if there are none, itself if there is one.
    pub fn any(parts: Vec<Self>) -> Option<Self> {
        Self::of(parts, |predicate| Self::OrMatcher(PredicateList { predicate }))
    }

    fn of(mut parts: Vec<Self>, many: impl Fn(Vec<Self>) -> Self) -> Option<Self> {
        if parts.len() > 1 { Some(many(parts)) } else { parts.pop() }
    }
}
