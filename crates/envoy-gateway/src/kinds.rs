// SPDX-License-Identifier: Apache-2.0
//! Out: Envoy Gateway's kinds and their fields, as data. Not here: reading policies.

use overrule_family::OwnKind;

/// API group of all of its kinds.
pub const GROUP: &str = "gateway.envoyproxy.io";

/// What objects of a kind are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindRole {
    /// BackendTrafficPolicy: settings of rows.
    Traffic,
    /// ClientTrafficPolicy: settings of listeners.
    Client,
    /// EnvoyExtensionPolicy: extensions on rows.
    Extension,
    /// EnvoyPatchPolicy: raw patches of a Gateway's configuration.
    Patch,
    /// EnvoyProxy: settings of a Gateway's proxy, named by it or its class.
    Proxy,
    /// SecurityPolicy: access control on rows.
    Security,
}

/// What is known of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindInfo {
    /// Kind.
    pub kind: &'static str,
    /// What its objects are.
    pub role: KindRole,
    /// The controller's word for several of them, in messages.
    pub plural: &'static str,
    /// The same in a message about rules, where one kind differs.
    pub rule_plural: &'static str,
    /// Top-level fields that do something. Their position is their number.
    pub fields: &'static [&'static str],
    /// Kinds of routes it may target.
    pub routes: &'static [&'static str],
}

/// Every kind, by name.
pub static ALL: &[KindInfo] = &[
    KindInfo {
        kind: "BackendTrafficPolicy",
        role: KindRole::Traffic,
        plural: "backendTrafficPolicies",
        rule_plural: "backendTrafficPolicy",
        fields: &[
            "admissionControl",
            "bandwidthLimit",
            "circuitBreaker",
            "compression",
            "compressor",
            "connection",
            "dns",
            "faultInjection",
            "healthCheck",
            "http2",
            "httpUpgrade",
            "loadBalancer",
            "proxyProtocol",
            "rateLimit",
            "requestBuffer",
            "responseOverride",
            "retry",
            "tcpKeepalive",
            "telemetry",
            "timeout",
            "useClientProtocol",
        ],
        routes: &["HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute", "TLSRoute"],
    },
    KindInfo {
        kind: "ClientTrafficPolicy",
        role: KindRole::Client,
        plural: "clientTrafficPolicies",
        rule_plural: "clientTrafficPolicies",
        fields: &[
            "clientIPDetection",
            "connection",
            "enableProxyProtocol",
            "grpc",
            "headers",
            "healthCheck",
            "http1",
            "http2",
            "http3",
            "path",
            "proxyProtocol",
            "scheme",
            "tcpKeepalive",
            "timeout",
            "tls",
        ],
        routes: &[],
    },
    KindInfo {
        kind: "EnvoyExtensionPolicy",
        role: KindRole::Extension,
        plural: "envoyExtensionPolicies",
        rule_plural: "envoyExtensionPolicies",
        fields: &["dynamicModule", "extProc", "lua", "wasm"],
        routes: &["HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute", "TLSRoute"],
    },
    KindInfo {
        kind: "EnvoyPatchPolicy",
        role: KindRole::Patch,
        plural: "envoyPatchPolicies",
        rule_plural: "envoyPatchPolicies",
        fields: &["jsonPatches", "priority", "type"],
        routes: &[],
    },
    KindInfo {
        kind: "EnvoyProxy",
        role: KindRole::Proxy,
        plural: "envoyProxies",
        rule_plural: "envoyProxies",
        fields: &[],
        routes: &[],
    },
    KindInfo {
        kind: "SecurityPolicy",
        role: KindRole::Security,
        plural: "securityPolicies",
        rule_plural: "securityPolicies",
        fields: &[
            "apiKeyAuth",
            "authorization",
            "basicAuth",
            "cors",
            "csrf",
            "extAuth",
            "jwt",
            "oidc",
        ],
        routes: &["HTTPRoute", "GRPCRoute", "TCPRoute"],
    },
];

/// Fields of a SecurityPolicy that decide who may call: losing one opens a door.
pub static GUARDS: &[&str] =
    &["apiKeyAuth", "authorization", "basicAuth", "extAuth", "jwt", "oidc"];

/// The number of a kind in [`ALL`].
pub(crate) fn number(role: KindRole) -> usize {
    ALL.iter().position(|info| info.role == role).unwrap_or(0)
}

impl KindInfo {
    /// The number of a field.
    pub(crate) fn field(&self, name: &str) -> Option<u8> {
        self.fields.iter().position(|f| *f == name).and_then(|n| u8::try_from(n).ok())
    }

    /// The set of some fields.
    pub(crate) fn set(&self, names: &[&str]) -> FieldSet {
        names.iter().filter_map(|name| self.field(name)).collect()
    }

    /// Its names.
    pub fn own(&self) -> OwnKind {
        OwnKind { group: GROUP, kind: self.kind }
    }
}

impl KindRole {
    /// Whether its policies are taken by rows.
    pub(crate) fn is_on_rows(self) -> bool {
        matches!(self, Self::Traffic | Self::Extension | Self::Security)
    }
}

/// A set of fields of one kind, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct FieldSet(u32);

impl FieldSet {
    /// No field.
    pub(crate) const NONE: Self = Self(0);
    /// Every field.
    pub(crate) const ALL: Self = Self(u32::MAX);

    pub(crate) fn has(self, field: u8) -> bool {
        self.0 >> field & 1 == 1
    }

    pub(crate) fn add(&mut self, field: u8) {
        self.0 |= 1 << field;
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<u8> for FieldSet {
    fn from_iter<I: IntoIterator<Item = u8>>(fields: I) -> Self {
        let mut set = Self::default();
        fields.into_iter().for_each(|field| set.add(field));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_fields_are_sorted_and_fit_a_set() {
        assert!(ALL.is_sorted_by_key(|k| k.kind));
        for info in ALL {
            assert!(info.fields.is_sorted_by_key(|f| f.to_lowercase()), "{}", info.kind);
            assert!(info.fields.len() <= 32, "{}", info.kind);
        }
        let security = &ALL[number(KindRole::Security)];
        assert!(GUARDS.iter().all(|guard| security.field(guard).is_some()));
    }
}
