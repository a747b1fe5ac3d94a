// SPDX-License-Identifier: Apache-2.0
//! Every "because" of Kuadrant's resolution, as data.

overrule_engine::reasons! {
    // Why a rule lost, or a block did what it did.
    DEFAULT_YIELDS = "default-yields", "a more specific or newer policy already sets rules, and atomic defaults apply only when none do";
    DEFAULT_RULE_YIELDS = "default-rule-yields", "a merged default only adds rules that more specific and newer policies do not set";
    OVERRIDE_OUTRANKS = "override-outranks", "an atomic override replaces all rules of more specific and newer policies";
    OVERRIDE_RULE_OUTRANKS = "override-rule-outranks", "a merged override replaces rules of the same name in more specific and newer policies";
    REMOVED_BELOW = "removed-below", "a more specific or newer policy removes this default rule";
    REMOVES = "removes", "it removes rules from less specific or older defaults";
    NO_RULES = "no-rules", "it has no rules";
    WHEN_FALSE = "when-false", "its condition does not hold for the policy it would change";
    WHEN_ERROR = "when-error", "its condition cannot be evaluated, which counts as not met";
    GENERATED_ABOVE = "generated-above", "the policy it generates is replaced by one generated from a less specific or older policy";
    GENERATED_BELOW = "generated-below", "the policy it generates is replaced by one generated from a more specific or newer policy";
    SAME_SECOND = "same-second", "both policies were created in the same second, so neither wins and both stay";
    // Why a policy did not land.
    CONFLICTED = "conflicted", "an older policy of the same kind has the same target";
}
