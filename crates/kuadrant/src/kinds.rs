// SPDX-License-Identifier: Apache-2.0
//! Kuadrant's policy kinds as data: targets, the places of their rules, the words of their CRDs.
//! Not here: reading policies.

use overrule_family::OwnKind;
use overrule_gateway::kinds::{
    CrossNamespace, Descriptor, FieldPath, PolicyClass as Gep713Class, TargetKind,
};
use overrule_gateway::policy::FamilyKind;
use overrule_gateway::topology::{GROUP, RouteKind};

/// API group of the policies proper.
pub const KUADRANT: &str = "kuadrant.io";
/// API group of the kinds that generate policies.
pub const EXTENSIONS: &str = "extensions.kuadrant.io";

/// How policies of a kind become effective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeClass {
    /// Defaults and overrides along the path.
    Inherited,
    /// One policy per listener.
    Direct,
    /// The controller writes a policy of another kind for it; what that says is not in the input.
    Generates {
        /// Which kind.
        kind: &'static str,
        /// Whether as overrides (the highest counts) or as bare rules (the lowest counts).
        overrides: bool,
    },
}

/// A place of rules in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleGroup {
    /// The way from the block to it.
    pub path: &'static [&'static str],
    /// Whether each member is a rule; otherwise the place itself is one.
    pub named: bool,
}

/// A policy kind.
#[derive(Debug, Clone, Copy)]
pub struct KindInfo {
    /// API group.
    pub group: &'static str,
    /// The version a cluster serves.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// How it becomes effective.
    pub class: MergeClass,
    /// Kinds it may target.
    pub targets: &'static [&'static str],
    /// What its CRD says to others.
    pub bad_target: &'static str,
    /// Where its rules stand, in the order they are written back; groups with a common beginning are neighbours.
    pub groups: &'static [RuleGroup],
    /// The field whose absence makes a policy empty for the operator.
    pub content: &'static str,
    /// What its CRD says about blocks that exclude each other: bare and `defaults`, bare and `overrides`, both blocks.
    pub exclusive: [&'static str; 3],
}

const fn named(path: &'static [&'static str]) -> RuleGroup {
    RuleGroup { path, named: true }
}

const fn slot(path: &'static [&'static str]) -> RuleGroup {
    RuleGroup { path, named: false }
}

static AUTH: &[RuleGroup] = &[
    named(&["patterns"]),
    slot(&["when"]),
    named(&["rules", "authentication"]),
    named(&["rules", "metadata"]),
    named(&["rules", "authorization"]),
    slot(&["rules", "response", "unauthenticated"]),
    slot(&["rules", "response", "unauthorized"]),
    named(&["rules", "response", "success", "headers"]),
    named(&["rules", "response", "success", "filters"]),
    named(&["rules", "callbacks"]),
];

static LIMITS: &[RuleGroup] = &[slot(&["when"]), named(&["limits"])];

/// Where rules stand in a block, as JSON pointers; `*` is a name.
pub static RULE_PATTERNS: &[&str] = &[
    "/patterns/*",
    "/when",
    "/rules/authentication/*",
    "/rules/metadata/*",
    "/rules/authorization/*",
    "/rules/response/unauthenticated",
    "/rules/response/unauthorized",
    "/rules/response/success/headers/*",
    "/rules/response/success/filters/*",
    "/rules/callbacks/*",
    "/limits/*",
];

static RATE_EXCLUSIVE: [&str; 3] = [
    "Implicit and explicit defaults are mutually exclusive",
    "Overrides and implicit defaults are mutually exclusive",
    "Overrides and explicit defaults are mutually exclusive",
];

/// Every kind, by group and kind.
pub static ALL: &[KindInfo] = &[
    KindInfo {
        group: EXTENSIONS,
        version: "v1alpha1",
        kind: "OIDCPolicy",
        class: MergeClass::Generates { kind: "AuthPolicy", overrides: true },
        targets: &["Gateway", "HTTPRoute"],
        bad_target: "Invalid targetRef.kind. The only supported values are 'HTTPRoute' and 'Gateway'",
        groups: &[],
        content: "",
        exclusive: [""; 3],
    },
    KindInfo {
        group: EXTENSIONS,
        version: "v1alpha1",
        kind: "PlanPolicy",
        class: MergeClass::Generates { kind: "RateLimitPolicy", overrides: false },
        targets: &["Gateway", "HTTPRoute", "GRPCRoute"],
        bad_target: "Invalid targetRef.kind. The only supported values are 'HTTPRoute', 'GRPCRoute' and 'Gateway'",
        groups: &[],
        content: "",
        exclusive: [""; 3],
    },
    KindInfo {
        group: KUADRANT,
        version: "v1",
        kind: "AuthPolicy",
        class: MergeClass::Inherited,
        targets: &["Gateway", "HTTPRoute", "GRPCRoute"],
        bad_target: "Invalid targetRef.kind. The only supported values are 'HTTPRoute', 'GRPCRoute', and 'Gateway'",
        groups: AUTH,
        content: "rules",
        exclusive: [
            "Implicit and explicit defaults are mutually exclusive",
            "Implicit defaults and explicit overrides are mutually exclusive",
            "Explicit overrides and explicit defaults are mutually exclusive",
        ],
    },
    KindInfo {
        group: KUADRANT,
        version: "v1",
        kind: "DNSPolicy",
        class: MergeClass::Direct,
        targets: &["Gateway"],
        bad_target: "Invalid targetRef.kind. The only supported values are 'Gateway'",
        groups: &[],
        content: "",
        exclusive: [""; 3],
    },
    KindInfo {
        group: KUADRANT,
        version: "v1",
        kind: "RateLimitPolicy",
        class: MergeClass::Inherited,
        targets: &["Gateway", "HTTPRoute", "GRPCRoute"],
        bad_target: "Invalid targetRef.kind. The only supported values are 'HTTPRoute', 'GRPCRoute' and 'Gateway'",
        groups: LIMITS,
        content: "limits",
        exclusive: RATE_EXCLUSIVE,
    },
    KindInfo {
        group: KUADRANT,
        version: "v1",
        kind: "TLSPolicy",
        class: MergeClass::Direct,
        targets: &["Gateway"],
        bad_target: "Invalid targetRef.kind. The only supported values are 'Gateway'",
        groups: &[],
        content: "",
        exclusive: [""; 3],
    },
    KindInfo {
        group: KUADRANT,
        version: "v1alpha1",
        kind: "TokenRateLimitPolicy",
        class: MergeClass::Inherited,
        targets: &["Gateway", "HTTPRoute"],
        bad_target: "Invalid targetRef.kind. The only supported values are 'HTTPRoute' and 'Gateway'",
        groups: LIMITS,
        content: "limits",
        exclusive: RATE_EXCLUSIVE,
    },
];

impl KindInfo {
    /// Whether it acts on routes of a kind.
    pub fn takes(&self, route: RouteKind) -> bool {
        self.targets.contains(&route.name())
    }

    /// The fields of the spec of a direct kind.
    pub fn fields(&self) -> &'static [&'static str] {
        match self.kind {
            "DNSPolicy" => &[
                "targetRef",
                "healthCheck",
                "loadBalancing",
                "providerRefs",
                "excludeAddresses",
                "delegate",
            ],
            _ => &[
                "targetRef",
                "issuerRef",
                "commonName",
                "duration",
                "renewBefore",
                "usages",
                "revisionHistoryLimit",
                "privateKey",
            ],
        }
    }

    /// Whether policies of the kind are direct.
    pub fn is_direct(&self) -> bool {
        self.class == MergeClass::Direct
    }
}

impl FamilyKind for KindInfo {
    fn own(&self) -> OwnKind {
        OwnKind { group: self.group, kind: self.kind }
    }

    fn descriptor(&self) -> Descriptor {
        let class = match self.class {
            MergeClass::Direct => Gep713Class::Direct,
            MergeClass::Inherited | MergeClass::Generates { .. } => Gep713Class::Inherited,
        };
        let target =
            |kind: &&str| TargetKind { group: GROUP.into(), kind: (*kind).into(), sections: true };
        Descriptor {
            targets: self.targets.iter().map(target).collect(),
            // One target, by name, in the policy's own namespace.
            target_refs: FieldPath::nowhere(),
            target_selectors: FieldPath::nowhere(),
            cross_namespace: CrossNamespace::Forbidden,
            ..Descriptor::assumed(self.group, self.kind, class)
        }
    }
}

impl RuleGroup {
    /// The id of a rule: the way to it with dots, then its name.
    pub fn id(&self, name: &str) -> String {
        let group = self.path.join(".");
        if self.named { format!("{group}.{name}") } else { group }
    }
}
