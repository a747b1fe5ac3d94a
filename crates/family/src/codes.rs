// SPDX-License-Identifier: Apache-2.0
//! Codes of findings that families share: OV1040 to OV1049.

overrule_source::codes! {
    /// What the rules in force let in, and the released controller or its CRD does not.
    REFUSED_AS_SHIPPED = "OV1040", Error, World, "the released controller refuses this";
}
