// SPDX-License-Identifier: Apache-2.0
//! Every "because" as a value. Not here: sentences about particular policies (the `view` crate).

/// A reason a family declares once, as data.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ReasonInfo {
    /// Stable identifier in JSON, kebab-case: `override-outranks`.
    pub id: &'static str,
    /// The rule in one sentence, without names and without a full stop.
    pub sentence: &'static str,
}

/// A "because".
pub type Reason = &'static ReasonInfo;

/// Declares reasons: `NAME = "identifier", "sentence";`, and `ALL` of them in order.
#[macro_export]
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $sentence:literal;)*) => {
        $(#[doc = $sentence] $(#[$doc])* pub static $name: $crate::ReasonInfo =
            $crate::ReasonInfo { id: $id, sentence: $sentence };)*
        /// Every reason, in order.
        pub static ALL: &[$crate::Reason] = &[$(&$name),*];
    };
}

/// Everything a rung brings was taken out before it could be used.
pub static NOTHING_LEFT: ReasonInfo =
    ReasonInfo { id: "nothing-left", sentence: "nothing of it was left to take" };

/// The first rung has nothing to compete with.
pub static FIRST: ReasonInfo = ReasonInfo { id: "first", sentence: "Starting point" };
