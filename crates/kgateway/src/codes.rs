// SPDX-License-Identifier: Apache-2.0
//! Codes of findings about kgateway's policies and routes: OV1500 to OV1599.

overrule_source::codes! {
    /// The CRD of the kind does not let the policy in.
    INVALID = "OV1501", Error, Document, "CRD rejects the policy";
    /// A weight that is not a number.
    BAD_WEIGHT = "OV1502", Error, Document, "policy weight is not a number";
    /// A provider that is not there.
    EXTENSION_NOT_FOUND = "OV1503", Error, World, "extension does not exist";
    /// A provider of another type.
    EXTENSION_WRONG_TYPE = "OV1504", Error, World, "extension is of another type";
    /// A filter that leads nowhere.
    FILTER_NOT_FOUND = "OV1505", Error, World, "filter names an object that does not exist";
    /// A rule that answers twice.
    SECOND_ACTION = "OV1506", Error, World, "rule has more than one action";
    /// A delegation without a child.
    NO_CHILD = "OV1507", Error, World, "delegation reaches no rule";
    /// A delegation back to itself.
    CYCLE = "OV1508", Error, World, "delegation has a cycle";
    /// A child that is meant but refused.
    CHILD_REFUSED = "OV1509", Warning, World, "route does not match its parent";
    /// A delegating rule that matches in a way that cannot be delegated.
    NOT_A_PREFIX = "OV1510", Warning, World, "delegating rule has no path prefix";
    /// More paths than are followed.
    TOO_MANY_PATHS = "OV1511", Error, World, "delegation makes too many paths";
    /// A value of the priority annotation that is none.
    BAD_PRIORITY = "OV1512", Warning, World, "unknown policy priority";
    /// The old key of the priority annotation.
    RETIRED_PRIORITY = "OV1513", Warning, World, "policy priority has a former key";
    /// A priority annotation where it does nothing.
    INERT_PRIORITY = "OV1514", Warning, World, "policy priority has no effect here";
    /// A broken policy and the rules that fail with it.
    FAILS_CLOSED = "OV1515", Error, World, "rules answer 500 because of a policy";
    /// A guard that somebody below switches off.
    GUARD_DISABLED = "OV1516", Warning, World, "inherited access control is switched off";
    /// A deep value that does not do what its name says.
    DEEP_MISNAMED = "OV1517", Warning, World, "controller ignores the priority here";
    /// A policy that does nothing while its status is fine.
    SHADOWED_UNSEEN = "OV1518", Warning, World, "policy has no effect, and its status does not say so";
    /// A field that needs a backend on a rule without one.
    NO_ROUTE_ACTION = "OV1519", Note, World, "field has no effect on a rule that answers by itself";
    /// Two policies whose order a missing creation time decides.
    UNDATED = "OV1520", Note, World, "missing creation time decides between policies";
    /// A policy on a Gateway of somebody else.
    OTHER_CONTROLLER = "OV1521", Warning, World, "target belongs to another controller";
    /// A policy nothing leads to.
    UNREFERENCED = "OV1522", Warning, World, "policy is not attached";
    /// TLS settings beside a BackendTLSPolicy.
    BACKEND_TLS = "OV1523", Note, World, "BackendTLSPolicy replaces TLS settings";
    /// Header changes that the less specific side decides.
    GENERAL_HEADER_WINS = "OV1524", Note, World, "less specific header change wins";
    /// A rule that policies cannot name.
    UNNAMED_RULE = "OV1525", Error, World, "section names a rule by its position";
    /// A provider, its backend or credentials in another namespace that does not permit it.
    NOT_PERMITTED = "OV1526", Error, World, "reference into another namespace is not permitted";
}
