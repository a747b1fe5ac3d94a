// SPDX-License-Identifier: Apache-2.0
//! In: the rules of one inbound, in list order. Out: its RBAC filters, what they need around them, and what they
//! could not say. Not here: the listener they go into (`listener`, `bootstrap`), classic rules (`legacy`).

use std::borrow::Cow;

use overrule_access::AccessRule;
use serde::Serialize;

use crate::entry::{Entry, entries};
use crate::forms::{Guards, Plan, list, tree};
use crate::kuma::{Release, matchers};
use crate::names::{Names, stat_name, stat_prefix};
use crate::problem::FilterProblem;
use crate::proto::TypedExtensionConfig;
use crate::proto::bootstrap::{ListenerFilter, ListenerFilterConfig, PathNormalisation};
use crate::proto::matcher::Matcher;
use crate::proto::rbac::{HttpRbac, NetworkRbac, Rbac, RbacFilter};
use crate::version::Version;

/// What an inbound speaks, as far as its proxy knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// HTTP: decided for each request.
    Http,
    /// Bytes: decided once for a connection.
    Tcp,
}

/// How rules are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterForm {
    /// One list; the first match wins. For every Envoy.
    List,
    /// Maps; fast however many rules there are. From [`Version::RESUMES`] on, otherwise a list is written.
    Tree,
    /// Exactly as a release of Kuma.
    Kuma(Release),
}

impl FilterForm {
    /// What [`named`](Self::named) takes, for people.
    pub const NAMES: &str = "tree, list or kuma";

    /// The form of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "tree" => Some(Self::Tree),
            "list" => Some(Self::List),
            "kuma" => Some(Self::Kuma(Release::V2_13)),
            _ => None,
        }
    }

    /// Whether it is written exactly as a release writes it.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Kuma(_))
    }
}

/// The rules of one inbound.
#[derive(Debug, Clone, Copy)]
pub struct FilterInput<'a> {
    /// In list order. Denies are put before allows here, whatever the order.
    pub rules: &'a [AccessRule],
    /// The KRI for each [`AccessRule::policy`]. [`FilterForm::Kuma`] takes their order for the order of the entries.
    pub names: &'a [String],
    /// What it speaks.
    pub protocol: Protocol,
    /// The name of the listener: counters of a network filter begin with it.
    pub stat_prefix: &'a str,
}

/// How to write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterOptions {
    /// The arrangement.
    pub form: FilterForm,
    /// The Envoy that will read it, if known.
    pub version: Option<Version>,
    /// Whether clients show SPIFFE SVIDs, which have exactly one URI SAN: others are denied. Envoy joins several to
    /// one text, in which no exact deny would find its own. Not for [`FilterForm::Kuma`], which has no such guard.
    pub svid: bool,
    /// Whether there are counters for each policy. Only HTTP has them; not for [`FilterForm::Kuma`].
    pub per_policy_stats: bool,
    /// Whether a network filter also tells who allowed: a second filter before it asks the same and only notes the
    /// answer, as `enforced_copy_shadow_effective_policy_id`. HTTP tells it anyway. Not for [`FilterForm::Kuma`].
    pub tell_allows: bool,
}

impl Default for FilterOptions {
    fn default() -> Self {
        Self {
            form: FilterForm::List,
            version: None,
            svid: true,
            per_policy_stats: true,
            tell_allows: false,
        }
    }
}

impl FilterOptions {
    /// The form that will be written: a tree only where it means the same.
    pub fn effective_form(&self) -> FilterForm {
        let resumes = self.version.is_some_and(|version| version >= Version::RESUMES);
        if self.form == FilterForm::Tree && !resumes { FilterForm::List } else { self.form }
    }
}

/// Rules as Envoy has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection<'a> {
    /// What they are for.
    pub protocol: Protocol,
    /// How they are arranged.
    pub form: FilterForm,
    /// The filters, in order: to be the first of the filter chain (TCP), or of the HTTP filters.
    pub filters: Vec<RbacFilter<'a>>,
    /// What the listener needs before it.
    pub listener_filters: Vec<ListenerFilter>,
    /// How the connection manager must treat paths for the rules on paths to hold.
    pub connection_manager: Option<PathNormalisation>,
    /// The name of the action for each policy.
    pub actions: Vec<Cow<'a, str>>,
    /// What is not said as the rules say it.
    pub problems: Vec<FilterProblem>,
}

impl Projection<'_> {
    /// Whether the filters must not be used for these rules.
    pub fn refused(&self) -> bool {
        self.problems.iter().any(|problem| problem.refuses())
    }
}

/// How paths are made comparable: what rules on paths are compared with.
pub const PATHS: PathNormalisation = PathNormalisation {
    merge_slashes: true,
    normalize_path: true,
    path_with_escaped_slashes_action: "REJECT_REQUEST",
};

/// Any part of a projection as JSON, without spaces.
///
/// # Errors
///
/// Never for what this crate makes; the signature is that of `serde_json`.
pub fn json(message: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string(message)
}

/// Writes the rules of one inbound.
pub fn filters<'a>(input: &FilterInput<'a>, options: &FilterOptions) -> Projection<'a> {
    let mut problems = unnamed(input);
    let form = options.effective_form();
    if form != options.form {
        problems.push(FilterProblem::TreeNeedsNewer(options.version));
    }
    let mut projection = Projection {
        protocol: input.protocol,
        form,
        filters: Vec::new(),
        listener_filters: listener_filters(input.rules),
        connection_manager: None,
        actions: Vec::new(),
        problems,
    };
    if let FilterForm::Kuma(release) = form {
        let names = Names::verbatim(input.names);
        let (matcher, shadow) = matchers(input.rules, release, &names, &mut projection.problems);
        projection.filters.push(filter(input, matcher, shadow, false));
        projection.actions = names.into_all();
        return projection;
    }
    let names = Names::safe(input.names);
    let entries = entries(input.rules, input.protocol, &mut projection.problems);
    let paths = input.rules.iter().any(|r| r.matches.path.is_some());
    let guards = Guards { svid: options.svid, paths: input.protocol == Protocol::Http && paths };
    projection.connection_manager = guards.paths.then_some(PATHS);
    let (matcher, shadow) = arrange(entries, form, guards, &names);
    if options.tell_allows && input.protocol == Protocol::Tcp {
        projection.filters.push(note(input, matcher.clone()));
    }
    projection.filters.push(filter(input, matcher, shadow, options.per_policy_stats));
    projection.actions = names.into_all();
    projection
}

fn arrange<'a>(
    entries: Vec<Entry<'a>>,
    form: FilterForm,
    guards: Guards,
    names: &Names<'a>,
) -> (Matcher<'a>, Option<Matcher<'a>>) {
    let write = |plan| if form == FilterForm::Tree { tree(plan, names) } else { list(plan, names) };
    let shadow = Plan::shadow(&entries, guards).map(write);
    (write(Plan::enforced(entries, guards)), shadow)
}

fn filter<'a>(
    input: &FilterInput<'_>,
    matcher: Matcher<'a>,
    shadow_matcher: Option<Matcher<'a>>,
    track_per_rule_stats: bool,
) -> RbacFilter<'a> {
    let matcher = Some(matcher);
    match input.protocol {
        Protocol::Http => {
            http(HttpRbac { matcher, shadow_matcher, track_per_rule_stats, ..HttpRbac::default() })
        }
        Protocol::Tcp => network(NetworkRbac {
            matcher,
            shadow_matcher,
            stat_prefix: stat_prefix(input.stat_prefix),
            ..NetworkRbac::default()
        }),
    }
}

/// A filter without a matcher of its own lets everything pass, and its shadow notes what the next one decides.
fn note<'a>(input: &FilterInput<'_>, matcher: Matcher<'a>) -> RbacFilter<'a> {
    network(NetworkRbac {
        shadow_matcher: Some(matcher),
        shadow_rules_stat_prefix: Some("enforced_copy_"),
        stat_prefix: format!("{}_copy.", stat_name(input.stat_prefix)),
        ..NetworkRbac::default()
    })
}

pub(crate) fn http(rbac: HttpRbac<'_>) -> RbacFilter<'_> {
    TypedExtensionConfig { name: "envoy.filters.http.rbac", typed_config: Rbac::Http(rbac) }
}

pub(crate) fn network(rbac: NetworkRbac<'_>) -> RbacFilter<'_> {
    TypedExtensionConfig { name: "envoy.filters.network.rbac", typed_config: Rbac::Network(rbac) }
}

/// The server name is known only if it is looked at before TLS begins.
fn listener_filters(rules: &[AccessRule]) -> Vec<ListenerFilter> {
    let inspector = TypedExtensionConfig {
        name: "envoy.filters.listener.tls_inspector",
        typed_config: ListenerFilterConfig::TlsInspector {},
    };
    let needed = rules.iter().any(|rule| rule.matches.sni.is_some());
    needed.then_some(inspector).into_iter().collect()
}

fn unnamed(input: &FilterInput<'_>) -> Vec<FilterProblem> {
    let known = |policy: &u32| usize::try_from(*policy).is_ok_and(|at| at < input.names.len());
    let mut policies: Vec<_> =
        input.rules.iter().map(|rule| rule.policy).filter(|policy| !known(policy)).collect();
    policies.sort_unstable();
    policies.dedup();
    policies.into_iter().map(FilterProblem::Unnamed).collect()
}
