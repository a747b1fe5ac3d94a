// SPDX-License-Identifier: Apache-2.0
//! Every "because" of GEP-713 resolution, as data.

use overrule_engine::ReasonInfo;

macro_rules! reasons {
    ($($name:ident = $id:literal, $sentence:literal;)*) => {
        $(#[doc = $sentence] pub static $name: ReasonInfo = ReasonInfo { id: $id, sentence: $sentence };)*
        /// Every reason, in order.
        pub static ALL: &[&ReasonInfo] = &[$(&$name),*];
    };
}

reasons! {
    // Why a value lost.
    DEFAULT_YIELDS = "default-yields", "an atomic default gives way, whole, to any policy ranked below it";
    OVERRIDE_OUTRANKS = "override-outranks", "an atomic override stays, whole, against every policy ranked below it";
    DEFAULT_FIELD_YIELDS = "default-field-yields", "a patch default gives way field by field to the policy ranked below it";
    OVERRIDE_FIELD_OUTRANKS = "override-field-outranks", "a patch override keeps its fields against the policy ranked below it";
    OLDEST_ALONE = "oldest-alone", "the kind does not merge: the oldest policy of a target is used alone";
    SECTION_OUTRANKS = "section-outranks", "a policy on a section is used instead of one on the whole object";
    // Why a reference did not land.
    TARGET_NOT_FOUND = "target-not-found", "the target does not exist";
    SECTION_NOT_FOUND = "section-not-found", "the target has no such section";
    KIND_NOT_ALLOWED = "kind-not-allowed", "the policy kind cannot be attached to this kind of target";
    NOT_PERMITTED = "not-permitted", "the target is in another namespace and nothing permits the reference";
    SELECTOR_MATCHES_NOTHING = "selector-matches-nothing", "no object has the labels asked for";
    NO_TARGET = "no-target", "the policy names no target";
    DUPLICATE_TARGET = "duplicate-target", "another reference of the policy names the same target";
    UNREADABLE_REFERENCE = "unreadable-reference", "the reference cannot be read";
    INVALID_POLICY = "invalid-policy", "the policy is invalid and refused as a whole";
}
