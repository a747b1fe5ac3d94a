// SPDX-License-Identifier: Apache-2.0
//! Every "because" of Kuadrant's resolution, as data.

use overrule_engine::ReasonInfo;

macro_rules! reasons {
    ($($name:ident = $id:literal, $sentence:literal;)*) => {
        $(#[doc = $sentence] pub static $name: ReasonInfo = ReasonInfo { id: $id, sentence: $sentence };)*
        /// Every reason, in order.
        pub static ALL: &[&ReasonInfo] = &[$(&$name),*];
    };
}

reasons! {
    // Why a rule lost, or a block did what it did.
    DEFAULT_YIELDS = "default-yields", "an atomic default is taken only where no rule is in force below it";
    DEFAULT_RULE_YIELDS = "default-rule-yields", "a merged default adds only the rules that are missing below it";
    OVERRIDE_OUTRANKS = "override-outranks", "an atomic override replaces all rules below it";
    OVERRIDE_RULE_OUTRANKS = "override-rule-outranks", "a merged override replaces the rules of the same name below it";
    REMOVED_BELOW = "removed-below", "a lower policy removes this default rule";
    REMOVES = "removes", "it takes rules out of the defaults above it";
    NO_RULES = "no-rules", "it has no rules";
    WHEN_FALSE = "when-false", "its condition does not hold for the policy below it";
    WHEN_ERROR = "when-error", "its condition could not be evaluated, which counts as not met";
    GENERATED_ABOVE = "generated-above", "the policy it generates is replaced by the one generated above it";
    GENERATED_BELOW = "generated-below", "the policy it generates gives way to the one generated below it";
    SAME_SECOND = "same-second", "nothing decides between policies of one second, and both stay";
    // Why a policy did not land.
    CONFLICTED = "conflicted", "an older policy of the kind has the same target";
}
