// SPDX-License-Identifier: Apache-2.0
//! Every "because" of kgateway's resolution, as data.

overrule_engine::reasons! {
    // Why a part lost.
    HIGHER_PRIORITY = "higher-priority", "a policy with higher priority on this level sets the field";
    CHILD_PREFERRED = "child-preferred", "the parent uses ShallowMergePreferChild (the default): the child wins";
    PARENT_PREFERRED = "parent-preferred", "the parent uses ShallowMergePreferParent: the parent wins";
    DEEP_PARENT_PREFERRED = "deep-parent-preferred", "the parent uses DeepMergePreferParent: fields are combined where possible, and the parent wins on conflicts";
    DEEP_CHILD_PREFERRED = "deep-child-preferred", "the parent uses DeepMergePreferChild: fields are combined where possible, and the child wins on conflicts";
    DEEP_KEEPS_CHILD = "deep-keeps-child", "the controller cannot combine this field and keeps the child's value under either deep merge";
    MORE_SPECIFIC = "more-specific", "a more specific tier sets the field";
    GATEWAY_PREFERRED = "gateway-preferred", "an annotation above the routes makes the policy there win";
    DISABLED_BELOW = "disabled-below", "a more specific tier disables it";
    DISABLED_BESIDE = "disabled-beside", "it is disabled in the policy it is merged with";
    FORGOTTEN = "forgotten", "the controller drops this part when it combines transformations";
    MASKED_BY_BUILTIN = "masked-by-builtin", "a field or filter of the route itself is used instead";
    BUILTIN_OUTRANKS = "builtin-outranks", "a rule with higher priority in the delegation chain is used instead";
    BUILTIN_DEEP = "builtin-deep", "the controller uses the parent's built-in setting under either deep merge";
    BACKEND_TLS = "backend-tls", "a BackendTLSPolicy of the backend replaces its TLS settings";
    // Why a step does what it does.
    SAME_LEVEL = "same-level", "policies of one level add missing fields, highest priority first";
    // Why a rule fails closed.
    BAD_WEIGHT = "bad-weight", "its weight is not a number";
    EXTENSION_NOT_FOUND = "extension-not-found", "its GatewayExtension was not found";
    EXTENSION_WRONG_TYPE = "extension-wrong-type", "its GatewayExtension has the wrong type";
    NOT_PERMITTED = "reference-not-permitted", "it needs something of another namespace that no ReferenceGrant permits";
    SECOND_ACTION = "second-action", "a rule can have only one action";
    FILTER_NOT_FOUND = "filter-not-found", "a filter of the rule names an object that was not found";
    CYCLE = "cycle", "the rule delegates to a route that leads back to it";
    NO_CHILD = "no-child", "the rule delegates, but no rule of a child route matches it";
    TOO_DEEP = "too-deep", "the delegation is nested too deep";
    // Why a reference did not land.
    UNNAMED_RULE = "unnamed-rule", "the rule has no name, so no sectionName can refer to it";
    NOT_AN_OBJECT = "not-an-object", "the target is not an object that manifests can contain";
}
