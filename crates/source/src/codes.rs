// SPDX-License-Identifier: Apache-2.0
//! Codes of findings made while reading: OV1000 to OV1099.

/// Declares codes as statics and collects them in `ALL`, so that none can be forgotten. Each has its number, its severity,
/// the basis on which such findings are made, and its title.
#[macro_export]
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $severity:ident, $basis:ident, $title:literal;)*) => {
        $($(#[$doc])* pub static $name: $crate::CodeInfo = $crate::CodeInfo {
            id: $id, title: $title, severity: $crate::Severity::$severity, basis: $crate::Basis::$basis,
        };)*
        /// Every code declared here, in order.
        pub static ALL: &[&$crate::CodeInfo] = &[$(&$name),*];
    };
}

codes! {
    /// The text is not well-formed YAML or JSON.
    SYNTAX = "OV1001", Error, Document, "syntax error";
    /// A mapping has the same key twice.
    DUPLICATE_KEY = "OV1002", Error, Document, "duplicate key";
    /// The bytes are not UTF-8.
    NOT_UTF8 = "OV1003", Error, Document, "not UTF-8";
    /// A bound on size, depth or expansion was hit.
    LIMIT = "OV1004", Error, Document, "input exceeds a limit";
    /// An alias names no anchor, or itself.
    ALIAS = "OV1005", Error, Document, "alias cannot be resolved";
    /// A plain scalar that YAML 1.1 (Kubernetes) and YAML 1.2 read differently.
    YAML_VERSIONS_DIFFER = "OV1006", Warning, Document, "YAML 1.1 and 1.2 read this differently";
    /// A Helm template, which needs rendering first.
    HELM_TEMPLATE = "OV1007", Warning, Document, "Helm template";
    /// A tag the reader does not know.
    UNKNOWN_TAG = "OV1008", Warning, Document, "unknown YAML tag";
    /// `<<` with something that cannot be merged.
    BAD_MERGE_KEY = "OV1009", Error, Document, "merge key needs a mapping";
    /// A mapping key that is not a scalar.
    BAD_KEY = "OV1010", Error, Document, "mapping key is not a scalar";
    /// A duplicate key accepted because the last one wins.
    DUPLICATE_KEY_LENIENT = "OV1011", Warning, Document, "duplicate key, the last one wins";
    /// A value that cannot be read as its tag says.
    TAG_MISMATCH = "OV1012", Error, Document, "value does not fit its tag";
    /// An own key before `<<` that the merged mapping also has.
    MERGE_ORDER = "OV1013", Warning, Document, "merge key after a key it also sets";
}
