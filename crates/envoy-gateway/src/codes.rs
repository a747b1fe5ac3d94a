// SPDX-License-Identifier: Apache-2.0
//! Codes of findings about Envoy Gateway's policies: OV1701 to OV1799.

overrule_source::codes! {
    /// A policy that removes what one above it gave.
    REMOVES = "OV1701", Warning, World, "policy removes settings of a less specific policy";
    /// A policy that removes access control.
    REMOVES_GUARD = "OV1702", Error, World, "policy removes access control";
    /// A policy that sets nothing and removes everything.
    EMPTY_TAKES = "OV1703", Warning, World, "empty policy switches others off";
    /// Two policies of a kind on one target.
    CONFLICT = "OV1704", Error, World, "policy conflicts with another one and does not apply";
    /// A policy that cannot be translated.
    BROKEN = "OV1705", Error, World, "policy cannot be translated";
    /// What an API server refuses.
    REFUSED = "OV1706", Error, Document, "CRD rejects the policy";
}
