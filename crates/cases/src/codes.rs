// SPDX-License-Identifier: Apache-2.0
//! Codes of findings about policy tests themselves: OV1900 to OV1999.

overrule_source::codes! {
    /// A key the format does not have; probably misspelt.
    UNKNOWN_KEY = "OV1901", Error, Document, "unknown key in a policy test";
    /// A file that a test names cannot be read.
    UNREADABLE_FILE = "OV1902", Error, Document, "file of a policy test cannot be read";
    /// A test without any expectation.
    NOTHING_EXPECTED = "OV1903", Error, Document, "policy test expects nothing";
    /// Policies of several families in one test.
    MIXED_FAMILIES = "OV1904", Error, Document, "policy test mixes families";
}
