// SPDX-License-Identifier: Apache-2.0
//! Every "because" of kgateway's resolution, as data.

use overrule_engine::ReasonInfo;

macro_rules! reasons {
    ($($name:ident = $id:literal, $sentence:literal;)*) => {
        $(#[doc = $sentence] pub static $name: ReasonInfo = ReasonInfo { id: $id, sentence: $sentence };)*
        /// Every reason, in order.
        pub static ALL: &[&ReasonInfo] = &[$(&$name),*];
    };
}

reasons! {
    // Why a part lost.
    HIGHER_PRIORITY = "higher-priority", "a policy that comes first on this level has the field";
    CHILD_PREFERRED = "child-preferred", "the priority of the parent is ShallowMergePreferChild (the default): what stands below wins";
    PARENT_PREFERRED = "parent-preferred", "the priority of the parent is ShallowMergePreferParent: what is inherited wins";
    DEEP_PARENT_PREFERRED = "deep-parent-preferred", "the priority of the parent is DeepMergePreferParent: what can be combined is, and what is inherited is preferred";
    DEEP_CHILD_PREFERRED = "deep-child-preferred", "the priority of the parent is DeepMergePreferChild: what can be combined is, and what stands below is preferred";
    DEEP_KEEPS_CHILD = "deep-keeps-child", "the controller keeps the child's value of a field it cannot combine, whatever a deep value prefers";
    MORE_SPECIFIC = "more-specific", "the more specific tier has the field";
    GATEWAY_PREFERRED = "gateway-preferred", "the annotation above the routes prefers what stands there";
    DISABLED_BELOW = "disabled-below", "a more specific tier disables it";
    DISABLED_BESIDE = "disabled-beside", "it is switched off where it is merged";
    FORGOTTEN = "forgotten", "the controller does not carry this part over when it combines transformations";
    MASKED_BY_BUILTIN = "masked-by-builtin", "a field or filter of the route itself takes the slot";
    BUILTIN_OUTRANKS = "builtin-outranks", "a rule that counts more along the chain takes the slot";
    BUILTIN_DEEP = "builtin-deep", "the controller takes the parent's built-in under either deep value";
    BACKEND_TLS = "backend-tls", "a BackendTLSPolicy of the backend takes the place of its TLS settings";
    // Why a step does what it does.
    SAME_LEVEL = "same-level", "policies of one level add what is missing, in the order of priority";
    // Why a rule fails closed.
    BAD_WEIGHT = "bad-weight", "its weight is no number";
    EXTENSION_NOT_FOUND = "extension-not-found", "it names a GatewayExtension that does not exist";
    EXTENSION_WRONG_TYPE = "extension-wrong-type", "it names a GatewayExtension of another type";
    SECOND_ACTION = "second-action", "a rule can answer in one way only";
    FILTER_NOT_FOUND = "filter-not-found", "a filter of the rule names an object that does not exist";
    CYCLE = "cycle", "the rule delegates to a route that leads to it";
    NO_CHILD = "no-child", "the rule delegates, but no rule of another route fits it";
    TOO_DEEP = "too-deep", "the rule delegates deeper than is followed";
    // Why a reference did not land.
    UNNAMED_RULE = "unnamed-rule", "the rule has no name of its own, so no section of a policy means it";
    NOT_AN_OBJECT = "not-an-object", "the target is no object that manifests hold";
}
