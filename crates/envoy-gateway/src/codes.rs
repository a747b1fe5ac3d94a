// SPDX-License-Identifier: Apache-2.0
//! Codes of findings about Envoy Gateway's policies: OV1701 to OV1799.

overrule_source::codes! {
    /// A policy that removes what one above it gave.
    REMOVES = "OV1701", Warning, World, "policy removes settings of a less specific policy";
    /// A policy that removes access control.
    REMOVES_GUARD = "OV1702", Error, World, "policy removes access control";
    /// A policy that sets nothing and takes its place all the same.
    EMPTY_TAKES = "OV1703", Warning, World, "empty policy switches others off";
    /// Two policies of a kind on one target.
    CONFLICT = "OV1704", Error, World, "policy conflicts with another one and does not apply";
    /// A policy that cannot be translated.
    BROKEN = "OV1705", Error, World, "policy cannot be translated";
    /// A policy that the controller refuses without failing the route.
    FAILS_OPEN = "OV1706", Error, World, "policy is refused, and the route stays open";
    /// A list of the parent that is replaced in a merge.
    LIST_REPLACED = "OV1707", Warning, World, "merge replaces a list of the parent";
    /// A policy between the two that are merged.
    ROUTE_SKIPPED = "OV1708", Warning, World, "merge skips the policy of the route";
    /// A null that deletes nothing.
    NULL_KEEPS = "OV1709", Warning, World, "null does not remove the parent's field";
    /// A limit of the parent that is lost in a merge.
    LIMIT_LOST = "OV1710", Warning, World, "merge loses the parent's rate limit";
    /// A listener that cannot have settings of its own.
    SHARED_PORT = "OV1711", Error, World, "listener shares its port and gets no settings";
    /// Settings of a socket that listeners disagree about.
    SOCKET_SHARED = "OV1712", Warning, World, "listeners of a port disagree about its socket";
    /// A routing type that routes do not see.
    ROUTING_UNSEEN = "OV1713", Warning, World, "routes do not see the routing type of their listener";
    /// A status with too many ancestors.
    TRUNCATED = "OV1714", Note, World, "status has no room for all ancestors";
    /// A selector that no grant lets into a namespace.
    NOT_GRANTED = "OV1715", Warning, World, "selector reaches a namespace without permission";
    /// A policy that is accepted and acts on nothing.
    UNREACHED = "OV1716", Warning, World, "policy is accepted and has no effect";
    /// An EnvoyProxy of a class that counts for nothing.
    PROXY_DROPPED = "OV1717", Warning, World, "EnvoyProxy of the class is dropped";
    /// What an API server refuses.
    REFUSED = "OV1718", Error, Document, "CRD rejects the policy";
    /// A target that the controller does not know.
    NOT_SERVED = "OV1719", Warning, World, "controller does not know the target";
    /// A reference that is not in the input.
    ASSUMED = "OV1720", Note, World, "policy refers to what is not in the input";
    /// A conflict that a missing creation time decides.
    UNDATED = "OV1721", Note, World, "missing creation time decides between policies";
    /// A filter of a rule beside a policy.
    RULE_WINS = "OV1722", Note, World, "setting of the rule replaces that of the policy";
}
