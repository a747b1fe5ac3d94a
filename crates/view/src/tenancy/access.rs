// SPDX-License-Identifier: Apache-2.0
//! In: a decision about a client. Out: the same as a reader of the inbound may know it: the verdict, and the name of who
//! decides. Not here: deciding.

use overrule_access::{Because, Ruling, Verdict};
use overrule_model::ObjectId;

use crate::access::{
    AccessAnswer, Cited, InboundCallers, asked, decided_by, listed, other_http, sentence,
};
use crate::v1;

/// What a reader may know of everybody who gets in: what the permissions that it may read say.
pub fn callers(
    callers: &InboundCallers<'_>,
    readable: &dyn Fn(ObjectId) -> bool,
) -> v1::InboundCallers {
    listed(callers, readable)
}

/// What a reader may know of a decision; `readable` says whether it may read a policy.
pub fn decision(
    access: &AccessAnswer<'_>,
    readable: &dyn Fn(ObjectId) -> bool,
) -> v1::AccessDecision {
    let ruling = &access.ruling;
    let open = |cited: &&Cited<'_>| readable(cited.object);
    let (because, by) = reason(ruling, readable);
    v1::AccessDecision {
        because,
        by,
        by_tree: ruling.by_tree.as_ref().filter(open).map(decided_by),
        matched: ruling.matched.iter().filter(open).map(decided_by).collect(),
        shadow: ruling.shadow.as_ref().filter(open).map(decided_by),
        other_http: other_http(access, |ruling| reason(ruling, readable)),
        ..asked(access)
    }
}

/// Why, and who decides, as far as a reader may know it.
fn reason(
    ruling: &Ruling<Cited<'_>>,
    readable: &dyn Fn(ObjectId) -> bool,
) -> (String, Option<v1::DecidedBy>) {
    let open = |cited: &&Cited<'_>| readable(cited.object);
    let because = &ruling.because;
    match because {
        Because::Clause(cited) if open(&cited) => (sentence(because), Some(decided_by(cited))),
        Because::Clause(cited) => {
            (format!("{} decides", cited.policy), Some(bare(cited, ruling.verdict)))
        }
        // Each of these tells whether permissions select the inbound, or what they are like.
        Because::NoPermission | Because::NoMatch | Because::SeveralIdentities => {
            ("nobody allows it".to_owned(), None)
        }
        Because::Refused(why) if why.is_by_rules() => ("nobody allows it".to_owned(), None),
        // These hold whatever permissions there are.
        Because::Refused(_)
        | Because::NoCertificate
        | Because::Plaintext
        | Because::NotEnforced => (sentence(because), None),
    }
}

/// The name alone.
fn bare(cited: &Cited<'_>, verdict: Verdict) -> v1::DecidedBy {
    v1::DecidedBy {
        policy: cited.policy.clone(),
        kri: cited.kri.clone(),
        part: String::new(),
        effect: if verdict == Verdict::Denied { "deny" } else { "allow" }.to_owned(),
        matches: String::new(),
        at: None,
    }
}
