// SPDX-License-Identifier: Apache-2.0
//! Codes of findings made while building the Gateway API topology: OV1200 to OV1299.

overrule_source::codes! {
    /// A Gateway names a class that is not in the input.
    CLASS_NOT_FOUND = "OV1201", Note, World, "gateway class not in the input";
    /// A parentRef names a Gateway or ListenerSet that does not exist.
    PARENT_NOT_FOUND = "OV1202", Error, World, "parent not found";
    /// A parentRef names a listener or port the parent does not have.
    NO_MATCHING_LISTENER = "OV1203", Error, World, "no listener with that name or port";
    /// No listener allows routes of this namespace or kind.
    ROUTE_NOT_ALLOWED = "OV1204", Error, World, "route not allowed by the listener";
    /// The hostnames of a route and of the listeners have nothing in common.
    NO_MATCHING_HOSTNAME = "OV1205", Error, World, "hostnames do not intersect";
    /// A backend that is not in the input.
    BACKEND_NOT_FOUND = "OV1206", Warning, World, "backend not found";
    /// The input has no object of a kind that routes send traffic to.
    BACKEND_KIND_ABSENT = "OV1207", Note, World, "backends are not part of the input";
    /// A Service without the port a route names.
    BACKEND_PORT = "OV1208", Warning, World, "backend has no such port";
    /// A backend in another namespace without a ReferenceGrant.
    BACKEND_NOT_PERMITTED = "OV1209", Error, World, "backend in another namespace needs a ReferenceGrant";
    /// `allowedRoutes.kinds` names a kind the protocol cannot carry.
    INVALID_ROUTE_KIND = "OV1210", Error, World, "route kind does not fit the protocol";
    /// Two listeners of one object share a name.
    DUPLICATE_LISTENER = "OV1211", Error, Document, "duplicate listener name";
    /// Listeners that cannot be told apart.
    CONFLICTING_LISTENERS = "OV1212", Error, World, "conflicting listeners";
    /// A Gateway does not accept ListenerSets of this namespace.
    LISTENER_SET_NOT_ALLOWED = "OV1213", Error, World, "listener set not allowed by its gateway";
    /// Two rules of one route share a name.
    DUPLICATE_RULE = "OV1214", Error, Document, "duplicate rule name";
    /// A rule is called what another, unnamed rule is called by its position.
    RULE_NAME_COLLIDES = "OV1215", Warning, Document, "rule name equals a generated one";
    /// Two parentRefs mean the same.
    DUPLICATE_PARENT = "OV1216", Warning, Document, "duplicate parentRef";
    /// A hostname the API server would refuse.
    INVALID_HOSTNAME = "OV1217", Error, Document, "invalid hostname";
    /// A protocol that is not one of the Gateway API.
    UNKNOWN_PROTOCOL = "OV1218", Warning, Document, "unknown protocol";
    /// A certificate in another namespace without a ReferenceGrant.
    CERTIFICATE_NOT_PERMITTED = "OV1219", Error, World, "certificate in another namespace needs a ReferenceGrant";
    /// A rule that neither forwards nor answers.
    RULE_WITHOUT_BACKEND = "OV1220", Warning, Document, "rule has no backend";
    /// Something that is referred to is not in the input, and neither is anything of its kind.
    ASSUMED = "OV1221", Note, World, "not in the input, so assumed";
    /// A listener asks for labels of a namespace that is not in the input, while others are.
    NAMESPACE_NOT_FOUND = "OV1222", Error, World, "namespace not among those of the input";
    /// A parentRef names a port that the Service does not have.
    NO_MATCHING_PORT = "OV1240", Error, World, "parent Service has no such port";
    /// Routes of several kinds are bound to one port of a Service.
    MESH_ROUTE_CONFLICT = "OV1241", Error, World, "route of another kind is bound to the same Service port";
    /// A route is bound to a Service of another namespace.
    CONSUMER_ROUTE = "OV1242", Note, World, "consumer route acts on clients of its own namespace only";
}
