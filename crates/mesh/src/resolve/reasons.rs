// SPDX-License-Identifier: Apache-2.0
//! Why a policy does not reach any proxy. Not here: why a part of a conf is not in force
//! (`conf::reasons`).

use overrule_engine::ReasonInfo;

/// The control plane would not take it.
pub static REFUSED: ReasonInfo =
    ReasonInfo { id: "refused", sentence: "the control plane rejects the policy" };

/// Its target cannot be resolved.
pub static UNRESOLVED: ReasonInfo =
    ReasonInfo { id: "target-unresolved", sentence: "its target cannot be resolved" };

/// Nothing is selected.
pub static SELECTS_NOTHING: ReasonInfo =
    ReasonInfo { id: "selects-nothing", sentence: "no proxy matches it" };

/// It only counts in shadow inspection.
pub static SHADOW: ReasonInfo = ReasonInfo {
    id: "shadow",
    sentence: "it is labelled kuma.io/effect: shadow and is not applied",
};
