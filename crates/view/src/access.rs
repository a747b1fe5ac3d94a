// SPDX-License-Identifier: Apache-2.0
//! In: what was decided about a client, and why. Out: the same in words, as data of `v1`. Not here: deciding; what a reader
//! may not know (`tenancy`).

use overrule_access::{
    Because, Clause, Effect, Enforcement, Http, Identity, Match, PathMatch, Ruling, Verdict,
};
use overrule_model::ObjectId;

use crate::v1;

/// A clause of a permission, and where it is written.
#[derive(Debug, Clone)]
pub struct Cited<'a> {
    /// The policy.
    pub object: ObjectId,
    /// Its name.
    pub policy: String,
    /// Its identity, by which the proxy names it too.
    pub kri: String,
    /// The clause.
    pub clause: Clause<'a>,
    /// Where it is written.
    pub at: v1::Place,
}

/// A question, and what every profile answers.
#[derive(Debug, Clone)]
pub struct AccessAnswer<'a> {
    /// The client as asked about.
    pub from: &'a str,
    /// The identity it shows.
    pub identity: Option<&'a str>,
    /// The inbound.
    pub to: &'a str,
    /// What the answer rests on that is not in the input.
    pub assumptions: Vec<v1::Assumption>,
    /// The method asked about.
    pub method: Option<&'a str>,
    /// The path asked about.
    pub path: Option<&'a str>,
    /// The server name asked about.
    pub sni: Option<&'a str>,
    /// The version of HTTP asked about, or of the answer if the other version has another.
    pub http: Option<Http>,
    /// The profile that is shown.
    pub profile: &'static str,
    /// What it answers.
    pub ruling: Ruling<Cited<'a>>,
    /// What is answered over the other version of HTTP, if it differs.
    pub other_http: Option<(Http, Ruling<Cited<'a>>)>,
    /// What other profiles answer, by their names.
    pub others: Vec<(&'static str, Ruling<Cited<'a>>)>,
}

/// Everybody who gets in at an inbound.
#[derive(Debug, Clone)]
pub struct InboundCallers<'a> {
    /// The inbound.
    pub to: String,
    /// The profile that says so.
    pub profile: &'static str,
    /// Whether the proxy knows its clients.
    pub enforcement: Enforcement,
    /// Whether a deny counts wherever it stands; otherwise the first clause that matches does.
    pub denies_first: bool,
    /// Every clause that can decide, in the order in which they count.
    pub clauses: Vec<Cited<'a>>,
    /// Clients of the input that get in, without regard to what they request.
    pub clients: Vec<String>,
}

/// The whole list, for those who may know everything.
pub fn callers(callers: &InboundCallers<'_>) -> v1::InboundCallers {
    listed(callers, &|_| true)
}

/// The list with the clauses of some policies.
pub(crate) fn listed(
    callers: &InboundCallers<'_>,
    readable: &dyn Fn(ObjectId) -> bool,
) -> v1::InboundCallers {
    let clauses = callers.clauses.iter().filter(|cited| readable(cited.object));
    v1::InboundCallers {
        to: callers.to.clone(),
        profile: callers.profile.to_owned(),
        enforcement: enforced(callers.enforcement),
        denies_first: callers.denies_first,
        clauses: clauses.map(decided_by).collect(),
        clients: callers.clients.clone(),
    }
}

fn enforced(enforcement: Enforcement) -> &'static str {
    match enforcement {
        Enforcement::Off => "off",
        Enforcement::Permissive => "permissive",
        Enforcement::Strict => "strict",
    }
}

/// The whole answer, for those who may know everything.
pub fn decision(access: &AccessAnswer<'_>) -> v1::AccessDecision {
    let ruling = &access.ruling;
    let differs = access.others.iter().filter(|(_, other)| other.verdict != ruling.verdict);
    let other = |(profile, other): &(&str, Ruling<Cited<'_>>)| v1::OtherDecision {
        profile: (*profile).to_owned(),
        verdict: verdict(other.verdict),
        because: sentence(&other.because),
        by: by(&other.because).map(decided_by),
    };
    v1::AccessDecision {
        because: sentence(&ruling.because),
        by: by(&ruling.because).map(decided_by),
        by_tree: ruling.by_tree.as_ref().map(decided_by),
        matched: ruling.matched.iter().map(decided_by).collect(),
        shadow: ruling.shadow.as_ref().map(decided_by),
        other_http: other_http(access, |ruling| {
            (sentence(&ruling.because), by(&ruling.because).map(decided_by))
        }),
        other_profiles: differs.map(other).collect(),
        ..asked(access)
    }
}

/// The answer over the other version of HTTP, with what `words` says about its reason.
pub(crate) fn other_http(
    access: &AccessAnswer<'_>,
    words: impl Fn(&Ruling<Cited<'_>>) -> (String, Option<v1::DecidedBy>),
) -> Option<v1::OtherHttp> {
    let (http, ruling) = access.other_http.as_ref()?;
    let (because, by) = words(ruling);
    Some(v1::OtherHttp { http: http.name(), verdict: verdict(ruling.verdict), because, by })
}

/// The question and the verdict, without any reason.
pub(crate) fn asked(access: &AccessAnswer<'_>) -> v1::AccessDecision {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let enforcement = access.ruling.enforcement;
    v1::AccessDecision {
        api_version: v1::API_VERSION,
        kind: "AccessDecision",
        profile: access.profile.to_owned(),
        from: access.from.to_owned(),
        identity: owned(access.identity),
        to: access.to.to_owned(),
        method: owned(access.method),
        path: owned(access.path),
        sni: owned(access.sni),
        http: access.http.map(Http::name),
        enforcement: enforced(enforcement),
        verdict: verdict(access.ruling.verdict),
        plaintext: (enforcement == Enforcement::Permissive).then_some("allowed"),
        assumptions: access.assumptions.clone(),
        because: String::new(),
        by: None,
        by_tree: None,
        matched: Vec::new(),
        shadow: None,
        other_http: None,
        other_profiles: Vec::new(),
    }
}

/// The clause that decides, if one does.
fn by<'r, 'a>(because: &'r Because<Cited<'a>>) -> Option<&'r Cited<'a>> {
    match because {
        Because::Clause(cited) => Some(cited),
        _ => None,
    }
}

/// The reason in one sentence.
pub(crate) fn sentence(because: &Because<Cited<'_>>) -> String {
    let text = match because {
        Because::Clause(cited) => {
            let (part, matches) = (part(&cited.clause), matches(&cited.clause));
            return format!("{} {part} matches: {matches}", cited.policy);
        }
        Because::NoPermission => {
            "no MeshTrafficPermission selects the inbound, and without one nobody gets in"
        }
        Because::NoMatch => "nobody allows it: none of the permissions of the inbound matches",
        Because::SeveralIdentities => {
            "its certificate has several identities, as in a mesh without MeshIdentity, and an inbound with rules accepts only clients with one identity"
        }
        Because::Refused(why) => {
            return format!("the proxy refuses the request before it checks any permission: {why}");
        }
        Because::NoCertificate => {
            "the inbound requires a certificate, so the connection ends before any permission is checked"
        }
        Because::Plaintext => {
            "the inbound is permissive: clients without a certificate get in, whatever permissions say"
        }
        Because::NotEnforced => {
            "the proxy does not check identities (no mTLS and no MeshIdentity), so everybody gets in and no permission is enforced"
        }
    };
    text.to_owned()
}

/// A clause in words.
pub(crate) fn decided_by(cited: &Cited<'_>) -> v1::DecidedBy {
    v1::DecidedBy {
        policy: cited.policy.clone(),
        kri: cited.kri.clone(),
        part: part(&cited.clause),
        effect: effect(cited.clause.effect()).to_owned(),
        matches: matches(&cited.clause),
        at: Some(cited.at.clone()),
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allowed => "allowed",
        Verdict::Denied => "denied",
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Deny => "deny",
        Effect::Allow => "allow",
        Effect::AllowWithShadowDeny => "allowWithShadowDeny",
    }
}

fn part(clause: &Clause<'_>) -> String {
    match clause {
        Clause::Rule { entry, index, effect: list, .. } => {
            format!("rules[{entry}].{}[{index}]", effect(*list))
        }
        Clause::From { entry, .. } => format!("from[{entry}]"),
    }
}

fn matches(clause: &Clause<'_>) -> String {
    match clause {
        Clause::Rule { matches, .. } => match_words(matches),
        Clause::From { clients, .. } if clients.is_empty() => "every client".to_owned(),
        Clause::From { clients, .. } => clients.clone(),
    }
}

fn match_words(one: &Match) -> String {
    let mut words = Vec::new();
    match &one.identity {
        Some(Identity::Exact(id)) => words.push(format!("identity {id}")),
        Some(Identity::Prefix(id)) => words.push(format!("identities that begin with {id}")),
        None => {}
    }
    words.extend(one.sni.as_ref().map(|sni| format!("server name {sni}")));
    words.extend(one.method.as_ref().map(|method| format!("method {method}")));
    match &one.path {
        Some(PathMatch::Exact(path)) => words.push(format!("path {path}")),
        Some(PathMatch::Prefix(path)) => words.push(format!("paths at and below {path}")),
        None => {}
    }
    if words.is_empty() { "every client".to_owned() } else { words.join(", ") }
}
