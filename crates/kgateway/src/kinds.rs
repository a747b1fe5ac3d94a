// SPDX-License-Identifier: Apache-2.0
//! kgateway's policy kinds and the units of a TrafficPolicy, as data. Not here: reading policies.

use overrule_family::OwnKind;
use overrule_gateway::kinds::{CrossNamespace, Descriptor, FieldPath, PolicyClass, TargetKind};
use overrule_gateway::policy::FamilyKind;
use overrule_gateway::topology::{GROUP as GATEWAY_API, RouteKind, X_GROUP};

/// API group of kgateway's kinds.
pub const GROUP: &str = "gateway.kgateway.dev";
/// Kind of what routes set themselves; its group has the same name.
pub const BUILTIN: &str = "builtin";

/// Where and how policies of a kind become effective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindShape {
    /// On every rule of every path: levels of the chain, then tiers.
    Path,
    /// What rules say themselves: one contribution per level.
    BuiltIn,
    /// On a rule, one after another; a second one breaks the rule.
    Sequential,
    /// On a listener, as one level.
    Listener,
    /// On a backend, as one level.
    Backend,
}

/// A policy kind.
#[derive(Debug, Clone, Copy)]
pub struct KindInfo {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Where and how it becomes effective.
    pub shape: KindShape,
    /// Kinds it may target: group, kind, whether sections of it.
    pub targets: &'static [(&'static str, &'static str, bool)],
    /// Fields of its spec besides targets; empty if they are not checked.
    pub fields: &'static [&'static str],
}

static GATEWAYS: &[(&str, &str, bool)] = &[(GATEWAY_API, "Gateway", true)];

/// Every kind, by name; what routes say themselves last.
pub static ALL: &[KindInfo] = &[
    KindInfo {
        group: GROUP,
        kind: "BackendConfigPolicy",
        shape: KindShape::Backend,
        targets: &[("", "Service", false), (GROUP, "Backend", false)],
        fields: &[],
    },
    KindInfo {
        group: GROUP,
        kind: "DirectResponse",
        shape: KindShape::Sequential,
        targets: &[],
        fields: &["status", "body", "bodyFormat"],
    },
    KindInfo {
        group: GROUP,
        kind: "HTTPListenerPolicy",
        shape: KindShape::Listener,
        targets: GATEWAYS,
        fields: &[],
    },
    KindInfo {
        group: GROUP,
        kind: "ListenerPolicy",
        shape: KindShape::Listener,
        targets: GATEWAYS,
        fields: &["default", "perPort", "perPortPolicy"],
    },
    KindInfo {
        group: GROUP,
        kind: "TrafficPolicy",
        shape: KindShape::Path,
        targets: &[
            (GATEWAY_API, "Gateway", true),
            (GATEWAY_API, "ListenerSet", true),
            (X_GROUP, "XListenerSet", true),
            (GATEWAY_API, "HTTPRoute", true),
            (GATEWAY_API, "GRPCRoute", true),
        ],
        fields: UNITS,
    },
    KindInfo {
        group: BUILTIN,
        kind: BUILTIN,
        shape: KindShape::BuiltIn,
        targets: &[],
        fields: &[],
    },
];

/// Index of the TrafficPolicy in [`ALL`].
pub const TRAFFIC_POLICY: usize = 4;
/// Index of what routes say themselves in [`ALL`].
pub const BUILT_IN: usize = 5;

/// The fields of a TrafficPolicy.
pub static UNITS: &[&str] = &[
    "transformation",
    "extProc",
    "extAuth",
    "rateLimit",
    "cors",
    "csrf",
    "headerModifiers",
    "requestMirror",
    "autoHostRewrite",
    "buffer",
    "timeouts",
    "retry",
    "internalRedirect",
    "rbac",
    "jwtAuth",
    "urlRewrite",
    "compression",
    "basicAuth",
    "apiKeyAuth",
    "oauth2",
    "tracing",
    "faultInjection",
    "acl",
    "statPrefix",
    "consistentHash",
];

/// Fields of two units each: their members are merged on their own.
pub static TWO_UNITS: &[&str] = &["rateLimit", "compression"];

/// Units whose provider is a filter of its own, as paths, with whether they can be disabled.
pub static PROVIDERS: &[(&[&str], bool)] = &[
    (&["extAuth"], true),
    (&["extProc"], true),
    (&["jwtAuth"], true),
    (&["rateLimit", "global"], false),
    (&["oauth2"], false),
];

/// Units that guard access: losing one opens a door.
pub static GUARDS: &[&str] =
    &["extAuth", "jwtAuth", "basicAuth", "apiKeyAuth", "oauth2", "rbac", "acl"];

/// Units that act on the way to a backend; a rule that answers by itself has none.
pub static ROUTE_ACTION: &[&str] = &[
    "timeouts",
    "retry",
    "internalRedirect",
    "requestMirror",
    "autoHostRewrite",
    "urlRewrite",
    "tracing",
];

impl KindInfo {
    /// Whether it acts on routes of a kind.
    pub fn takes(&self, route: RouteKind) -> bool {
        match self.shape {
            KindShape::Path => matches!(route, RouteKind::Http | RouteKind::Grpc),
            KindShape::BuiltIn | KindShape::Sequential => route == RouteKind::Http,
            KindShape::Listener | KindShape::Backend => true,
        }
    }

    /// Whether it stands on rules.
    pub fn is_on_rules(&self) -> bool {
        matches!(self.shape, KindShape::Path | KindShape::BuiltIn | KindShape::Sequential)
    }
}

impl FamilyKind for KindInfo {
    fn own(&self) -> OwnKind {
        OwnKind { group: self.group, kind: self.kind }
    }

    fn descriptor(&self) -> Descriptor {
        let target = |(group, kind, sections): &(&str, &str, bool)| TargetKind {
            group: (*group).into(),
            kind: (*kind).into(),
            sections: *sections,
        };
        Descriptor {
            targets: self.targets.iter().map(target).collect(),
            target_ref: FieldPath::nowhere(),
            cross_namespace: CrossNamespace::Forbidden,
            ..Descriptor::assumed(self.group, self.kind, PolicyClass::Inherited)
        }
    }

    fn has_objects(&self) -> bool {
        self.kind != BUILTIN
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, BUILT_IN, BUILTIN, TRAFFIC_POLICY};

    #[test]
    fn indexes_mean_what_they_say_and_kinds_are_sorted() {
        assert_eq!(ALL.get(TRAFFIC_POLICY).map(|k| k.kind), Some("TrafficPolicy"));
        assert_eq!(ALL.get(BUILT_IN).map(|k| k.kind), Some(BUILTIN));
        assert!(ALL.is_sorted_by_key(|k| (k.kind == BUILTIN, k.kind)));
    }
}
