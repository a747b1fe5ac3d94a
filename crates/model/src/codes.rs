// SPDX-License-Identifier: Apache-2.0
//! Codes of findings made while turning documents into resources: OV1100 to OV1199.

overrule_source::codes! {
    /// A document that is not a resource.
    NOT_A_RESOURCE = "OV1101", Note, Document, "not a resource";
    /// Two documents define one resource.
    DUPLICATE_RESOURCE = "OV1102", Error, Batch, "duplicate resource";
    /// A name the API server would refuse.
    INVALID_NAME = "OV1103", Error, Document, "invalid name";
    /// A creation time that is not an RFC 3339 time.
    BAD_CREATION_TIME = "OV1104", Error, Document, "creation time is invalid";
    /// A field of the wrong type.
    WRONG_TYPE = "OV1105", Error, Document, "field has the wrong type";
    /// A field that must be there is missing.
    MISSING_FIELD = "OV1106", Error, Document, "required field is missing";
    /// A value outside of the allowed ones.
    BAD_VALUE = "OV1107", Error, Document, "value is not allowed here";
    /// A kustomization, which needs building first.
    KUSTOMIZATION = "OV1108", Warning, Document, "kustomization";
    /// A field the API does not have; probably misspelt.
    UNKNOWN_FIELD = "OV1109", Warning, Document, "unknown field";
    /// A namespace on a cluster-scoped kind.
    NAMESPACE_ON_CLUSTER_SCOPED = "OV1110", Warning, Document, "namespace on a cluster-scoped kind";
    /// An object that only finalizers still keep.
    BEING_DELETED = "OV1111", Note, Document, "resource is being deleted";
    /// A deletion time that is not an RFC 3339 time.
    BAD_DELETION_TIME = "OV1112", Error, Document, "deletion time is invalid";
    /// An object whose name the API server is to make.
    UNNAMED = "OV1113", Note, Document, "resource has no name yet";
    /// A value that a tool fills in before the object is applied.
    PLACEHOLDER = "OV1114", Note, Document, "placeholder";
    /// Files of one folder that define one resource differently.
    ALTERNATIVES = "OV1115", Warning, Batch, "alternatives in one folder";
    /// Folders that define one resource differently.
    VARIANTS = "OV1116", Note, Batch, "variants in several folders";
}
