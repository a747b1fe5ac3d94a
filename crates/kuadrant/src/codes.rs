// SPDX-License-Identifier: Apache-2.0
//! Codes of findings about Kuadrant's policies: OV1400 to OV1499.

overrule_source::codes! {
    /// The CRD of the kind does not let the policy in.
    INVALID = "OV1401", Error, Document, "CRD rejects the policy";
    /// A condition that cannot be read.
    BAD_CONDITION = "OV1402", Error, Document, "condition is invalid";
    /// A condition that failed on real policies.
    CONDITION_FAILED = "OV1403", Warning, World, "condition could not be evaluated";
    /// A condition that fails where a field is missing.
    CONDITION_CAN_FAIL = "OV1404", Warning, World, "condition fails where a field is missing";
    /// A condition on an atomic default.
    USELESS_CONDITION = "OV1405", Warning, World, "condition on an atomic default";
    /// A block that can never be in force beside another of the policy.
    DEAD_BLOCK = "OV1406", Warning, World, "block can never be in force";
    /// A rule that lost on every path.
    DEAD_RULE = "OV1407", Note, World, "rule is never in force";
    /// An entry of a removal list without effect.
    REMOVES_NOTHING = "OV1408", Warning, World, "removal has no effect";
    /// A plain name in a removal list that means several rules.
    AMBIGUOUS_REMOVAL = "OV1409", Warning, World, "removal matches several rules";
    /// A removal list the profile does not read.
    UNREAD_REMOVAL = "OV1410", Warning, World, "removal list is ignored";
    /// A `when` of the other type: two features share the name.
    OTHER_WHEN = "OV1411", Note, World, "two features are called `when`";
    /// Conditions of requests that spread to the rules of others.
    SPREADING_PREDICATES = "OV1412", Warning, World, "inherited predicates restrict other policies' rules";
    /// Conditions of requests nobody reads.
    UNREAD_PREDICATES = "OV1413", Warning, World, "predicates are ignored";
    /// A direct policy refused because of an older one.
    CONFLICTED = "OV1414", Error, World, "policy conflicts with an older policy";
    /// Two direct policies of one second.
    UNDETECTED_CONFLICT = "OV1415", Warning, World, "operator does not detect a conflict";
    /// A route wider than the listener.
    UNPROTECTED_HOSTNAME = "OV1416", Warning, World, "route is served but not protected";
    /// A rule replaced together with parts its replacement lacks.
    PARTS_LOST = "OV1417", Warning, World, "replaced rule loses parts";
    /// A policy that generates another.
    GENERATED = "OV1418", Note, World, "generated policy is not in the input";
    /// The order on one target decides.
    ORDER_DECIDES = "OV1419", Note, World, "order of creation decides between policies";
    /// A field the kind does not have.
    UNKNOWN_FIELD = "OV1420", Warning, World, "field is ignored";
}
