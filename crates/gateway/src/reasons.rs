// SPDX-License-Identifier: Apache-2.0
//! Every "because" of GEP-713 resolution, as data.

overrule_engine::reasons! {
    // Why a value lost.
    DEFAULT_YIELDS = "default-yields", "a more specific or newer policy replaces an atomic default as a whole";
    OVERRIDE_OUTRANKS = "override-outranks", "an atomic override replaces more specific and newer policies as a whole";
    DEFAULT_FIELD_YIELDS = "default-field-yields", "a more specific or newer policy wins over a patch default, field by field";
    OVERRIDE_FIELD_OUTRANKS = "override-field-outranks", "a patch override wins over more specific and newer policies, field by field";
    OLDEST_ALONE = "oldest-alone", "policies of this kind do not merge: only the oldest policy of a target applies";
    SECTION_OUTRANKS = "section-outranks", "a policy on a section replaces one on the whole object";
    // Why a reference did not land.
    TARGET_NOT_FOUND = "target-not-found", "target not found";
    SECTION_NOT_FOUND = "section-not-found", "sectionName not found in the target";
    KIND_NOT_ALLOWED = "kind-not-allowed", "this kind of policy cannot target this kind of object";
    NOT_PERMITTED = "not-permitted", "the target is in another namespace and no ReferenceGrant allows the reference";
    SELECTOR_MATCHES_NOTHING = "selector-matches-nothing", "no object matches the selector";
    NO_TARGET = "no-target", "the policy has no targetRef";
    DUPLICATE_TARGET = "duplicate-target", "another targetRef of the policy names the same target";
    UNREADABLE_REFERENCE = "unreadable-reference", "the targetRef is invalid";
    INVALID_POLICY = "invalid-policy", "the policy is invalid and rejected as a whole";
}
