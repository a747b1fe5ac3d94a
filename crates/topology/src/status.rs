// SPDX-License-Identifier: Apache-2.0
//! In: facts stored while connecting. Out: what became of a parentRef, and the conditions a controller would write.
//! Not here: deciding anything.

use overrule_model::Sym;
use overrule_source::Span;

use super::GatewayTopology;
use super::graph::{BackendFacts, FrontendIx, GatewayIx, RouteIx, SetIx};

/// One parentRef of a route and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// Position in the route, from 0.
    pub index: u16,
    /// What became of it.
    pub status: ParentStatus,
    /// What it names, if that is in the input and of a kind routes attach to.
    pub target: Option<ParentTarget>,
    /// Group, as written or by default.
    pub group: Sym,
    /// Kind, as written or by default.
    pub kind: Sym,
    /// Namespace, as written or that of the route.
    pub namespace: Sym,
    /// Name.
    pub name: Sym,
    /// Listener name; empty if not written.
    pub section: Sym,
    /// Port.
    pub port: Option<u16>,
    /// Where it is written.
    pub at: Span,
}

/// What a parentRef resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParentTarget {
    /// A Gateway.
    Gateway(GatewayIx),
    /// A ListenerSet.
    Set(SetIx),
    /// A Service, as its clients see it.
    Service(FrontendIx),
}

/// What became of a parentRef, with the reasons of the Gateway API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParentStatus {
    /// At least one listener takes the route, or the Service it is bound to has the port.
    Accepted,
    /// The parent is not in the input and is assumed: nobody can tell.
    Assumed,
    /// No listener allows routes of this namespace and kind.
    NotAllowedByListeners,
    /// No listener that allows it has the name and port.
    NoMatchingParent,
    /// No such listener shares a hostname with the route.
    NoMatchingListenerHostname,
    /// The parent is not in the input.
    ParentNotFound,
    /// Routes of a kind that goes first are bound to the same port of the Service.
    Conflicted,
    /// A parent of another kind: a route (delegation), or one of a vendor.
    Foreign,
}

impl ParentStatus {
    /// The reason as the Gateway API spells it. A parent that is not found has no status of its own there.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::NotAllowedByListeners => "NotAllowedByListeners",
            Self::NoMatchingParent | Self::ParentNotFound => "NoMatchingParent",
            Self::NoMatchingListenerHostname => "NoMatchingListenerHostname",
            Self::Conflicted => "Conflicted",
            Self::Assumed | Self::Foreign => "Pending",
        }
    }
}

/// Type of a condition of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConditionType {
    /// A listener took the route.
    Accepted,
    /// All references can be followed.
    ResolvedRefs,
}

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// The input does not say.
    Unknown,
}

/// One condition of a route towards one of its parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteCondition {
    /// Which condition.
    pub kind: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in the words of the Gateway API.
    pub reason: &'static str,
    /// Index of the parentRef, from 0.
    pub parent: u16,
}

impl GatewayTopology {
    /// The conditions of a route as a controller would write them: Accepted and ResolvedRefs, per parentRef it has an
    /// answer for. Parents of other kinds have controllers of their own.
    pub fn conditions(&self, route: RouteIx) -> Vec<RouteCondition> {
        let refs = self.route(route).map_or(BackendFacts::Resolved, |r| r.refs);
        let (resolved, why) = match refs {
            BackendFacts::Resolved => (ConditionStatus::True, "ResolvedRefs"),
            BackendFacts::Unknown => (ConditionStatus::Unknown, "Pending"),
            BackendFacts::NotFound => (ConditionStatus::False, "BackendNotFound"),
            BackendFacts::NotPermitted => (ConditionStatus::False, "RefNotPermitted"),
        };
        let mut conditions = Vec::new();
        for parent in self.parents_of(route) {
            let status = match parent.status {
                ParentStatus::Foreign => continue,
                ParentStatus::Accepted => ConditionStatus::True,
                ParentStatus::Assumed => ConditionStatus::Unknown,
                _ => ConditionStatus::False,
            };
            let index = parent.index;
            let reason = parent.status.reason();
            let kind = ConditionType::Accepted;
            conditions.push(RouteCondition { kind, status, reason, parent: index });
            let kind = ConditionType::ResolvedRefs;
            conditions.push(RouteCondition { kind, status: resolved, reason: why, parent: index });
        }
        conditions
    }
}
