// SPDX-License-Identifier: Apache-2.0
//! Every "because" of Envoy Gateway's resolution, as data.

overrule_engine::reasons! {
    // Why a part lost.
    FIRST_TAKES_ALL = "first-takes-all", "a more specific policy has taken the rule, and the first one takes all of it";
    CHILD_PREFERRED = "child-preferred", "merged by `mergeType`: the policy of the route wins";
    FIRST_FIELD = "first-field", "a more specific policy sets the field";
    CLAIMED = "claimed", "a more specific policy has claimed the listener";
    CLOSER_PROXY = "closer-proxy", "the EnvoyProxy of the Gateway is used";
    NO_EFFECT_HERE = "no-effect-here", "the field has no effect here";
    BROKEN_FIELD = "broken-field", "the controller cannot translate the field, and leaves it out";
    // Why a policy does not take part.
    BROKEN = "broken", "the controller cannot translate the policy";
    OWN_VALIDATION = "own-validation", "the controller refuses the policy on this route and goes on to the next one";
    SETS_NOTHING_HERE = "sets-nothing-here", "it sets nothing that has an effect here";
    SHARED_PORT = "shared-port", "another listener shares the port";
    // Why a policy did not land.
    CONFLICTED = "conflicted", "another policy of the kind has the target";
    NOT_SERVED = "not-served", "no Gateway of the controller has the target";
    UNNAMED_RULE = "unnamed-rule", "the section is the position of a rule; the controller finds rules by their written name only";
    NOT_GRANTED = "not-granted", "no ReferenceGrant lets the policy select in that namespace";
    DISABLED = "disabled", "the feature is switched off in the controller";
    UNUSED_PROXY = "unused-proxy", "neither a Gateway nor a class names it";
    // What is done with a policy.
    TAKES = "takes", "first policy on the rule";
    APPLIED_IN_ORDER = "applied-in-order", "patches are applied one after another";
}
