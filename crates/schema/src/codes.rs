// SPDX-License-Identifier: Apache-2.0
//! Codes of findings about objects that do not fit the schema of their kind: OV1030 to OV1049. Types, missing and
//! unknown fields have the codes of every reader (OV1105 to OV1109).

overrule_source::codes! {
    /// A text that does not have the form it must have.
    WRONG_FORM = "OV1030", Error, Document, "value does not have the required form";
    /// A text, list or mapping that is too short or too long.
    WRONG_LENGTH = "OV1031", Error, Document, "too short or too long";
    /// Two elements of a list that must differ.
    DUPLICATE_ELEMENT = "OV1032", Error, Document, "duplicate element";
    /// A rule between fields that the object breaks.
    BROKEN_RULE = "OV1033", Error, Document, "rule of the API is broken";
    /// Something that one channel of the API takes, and the other one drops or refuses.
    EXPERIMENTAL = "OV1034", Note, Document, "the channels of the API differ";
    /// A version of an API that no release serves any more, or none yet.
    UNKNOWN_VERSION = "OV1035", Warning, Document, "API version is not served";
}
