// SPDX-License-Identifier: Apache-2.0
//! Why a part of a conf is not in force. Not here: why an entry does not reach a proxy.

use overrule_engine::ReasonInfo;

/// A later conf in merge order has the field.
pub static MORE_SPECIFIC: ReasonInfo = ReasonInfo {
    id: "more-specific",
    sentence: "a later entry sets the field, and the last one wins",
};

/// Two elements of one list have the same key.
pub static SAME_KEY: ReasonInfo = ReasonInfo {
    id: "same-matches",
    sentence: "an earlier rule of the same entry has the same matches and sets the field",
};

/// Of rules with one match only the first is used.
pub static EARLIER_MATCH: ReasonInfo = ReasonInfo {
    id: "earlier-match",
    sentence: "an earlier rule has the same match, and only the first matching rule applies",
};

/// Every reason of this module.
pub static ALL: &[&ReasonInfo] = &[&MORE_SPECIFIC, &SAME_KEY, &EARLIER_MATCH];
