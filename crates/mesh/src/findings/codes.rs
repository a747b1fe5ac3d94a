// SPDX-License-Identifier: Apache-2.0
//! Codes of findings about Kuma's resources: OV1600 to OV1699.

overrule_source::codes! {
    /// A policy that a control plane does not take.
    INVALID = "OV1601", Error, Document, "control plane rejects the policy";
    /// A policy in a namespace whose entries do not agree.
    NO_ROLE = "OV1602", Error, Document, "policy mixes entries of different roles";
    /// A target that leads nowhere.
    UNRESOLVED = "OV1603", Warning, World, "target of a policy cannot be resolved";
    /// A policy that acts on nobody.
    NO_PROXY = "OV1604", Warning, World, "policy selects no proxy";
    /// A section of a proxy that is not there.
    NO_INBOUND = "OV1605", Warning, World, "no selected proxy has this section";
    /// Nothing to select.
    NO_DATAPLANES = "OV1606", Note, World, "mesh has no Dataplane in the input";
    /// An entry about nothing.
    NO_DESTINATION = "OV1607", Warning, World, "entry matches no resource";
    /// An entry that only old outbounds read.
    SERVICE_TAG = "OV1608", Note, World, "entry names a service tag, not a resource";
    /// A policy that is only tried out.
    SHADOW = "OV1609", Note, World, "policy is a shadow and not in force";
    /// A policy that rests on mTLS, in a mesh without it.
    NO_MTLS = "OV1610", Warning, World, "policy needs mTLS, and the mesh has none";
    /// Policies that nothing puts in an order.
    TIE = "OV1611", Warning, World, "order of policies is undefined";
    /// More sets of clients than are told apart.
    TOO_MANY = "OV1612", Warning, World, "too many sets of clients to list";
    /// A policy that another kind of entries puts out of force.
    DISPLACED = "OV1613", Error, World, "`from` is ignored beside `rules` of another policy";
    /// A name that is another one elsewhere.
    NAME = "OV1614", Warning, World, "name causes problems in other zones or identifiers";
    /// A label that does not mean what it says.
    LABEL = "OV1615", Warning, World, "label differs from what the control plane sets";
    /// A resource in a mesh that is not there.
    UNKNOWN_MESH = "OV1616", Warning, World, "resource belongs to a missing mesh";
    /// A mesh that only others speak of.
    ASSUMED_MESH = "OV1617", Note, World, "mesh is assumed to exist";
    /// Policies that come with a mesh.
    DEFAULT_POLICIES = "OV1618", Note, World, "default policies of the mesh are not in the input";
    /// Policies of the old generation.
    LEGACY = "OV1619", Note, World, "policy without targetRef is not read";
    /// Services that only a control plane knows.
    NO_SERVICES = "OV1620", Note, World, "mesh has no MeshService in the input";
    /// A prefix that ends in the middle of a name.
    PREFIX = "OV1621", Warning, Document, "identity prefix also matches longer names";
    /// An allow that looks at requests, where there are only connections.
    TCP_ALLOW = "OV1622", Warning, World, "allow needs method or path on a TCP inbound";
    /// A deny that looks at requests, where there are only connections.
    TCP_DENY = "OV1623", Error, World, "deny needs method or path on a TCP inbound";
    /// A match that is there twice.
    REPEATED = "OV1624", Warning, Document, "match is repeated in its list";
    /// An allow that a deny of its own policy makes void.
    NEVER_ADMITS = "OV1625", Warning, Document, "deny of the same policy covers this allow";
    /// A match beside a wider one.
    COVERED = "OV1626", Note, Document, "wider match of the same list covers this one";
    /// A proxy or a service that cannot be read as it is written.
    WRONG_SHAPE = "OV1627", Error, Document, "control plane rejects the proxy or service";
    /// A match by the server name, which the release does not have.
    SNI = "OV1628", Warning, Document, "2.13 drops `sni` from a permission, which gets wider";
    /// A deny of a path with a parameter, which can be written in many ways.
    PARAMETERS = "OV1629", Warning, Document, "denied path has a parameter";
    /// The input has no Dataplanes of some workloads, so they are derived.
    DERIVED_PROXIES = "OV1640", Note, World, "proxies are derived from workloads";
}
