// SPDX-License-Identifier: Apache-2.0
//! In: an analysis, a client and what it calls. Out: whether it may, and who says so, under every profile. Not here: the
//! rules of that (families), words (`overrule_view::access`), what a reader may not know.

use overrule_access::{Because, Caller, Http, Request, Ruling, Verdict, spiffe};
use overrule_family::{Access, CitedClause, Client, FilterSource, Guarded, InboundId};
use overrule_model::ObjectId;
use overrule_view::access::{self, AccessAnswer, Cited, InboundCallers};
use overrule_view::v1;

use crate::{Analysis, Answered};

/// What is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question<'a> {
    /// The client: a SPIFFE ID, or an object with an identity.
    pub from: Client<'a>,
    /// The method of the request, if the call is one.
    pub method: Option<&'a str>,
    /// Its path.
    pub path: Option<&'a str>,
    /// The server name it requests.
    pub sni: Option<&'a str>,
    /// The version of HTTP; none for both.
    pub http: Option<Http>,
}

/// Of what two versions of HTTP answer, the one to show, and the other if it differs: in the verdict, or because the
/// proxy refuses one of the requests before it asks.
fn both<'a>(
    one: Ruling<Cited<'a>>,
    two: Ruling<Cited<'a>>,
) -> (Http, Ruling<Cited<'a>>, Option<Ruling<Cited<'a>>>) {
    let refused = |ruling: &Ruling<_>| matches!(ruling.because, Because::Refused(_));
    match (refused(&one), refused(&two)) {
        (false, true) => (Http::One, one, Some(two)),
        (true, false) => (Http::Two, two, Some(one)),
        _ if one.verdict == two.verdict => (Http::One, one, None),
        _ if one.verdict == Verdict::Allowed => (Http::One, one, Some(two)),
        _ => (Http::Two, two, Some(one)),
    }
}

/// An inbound under every profile that was resolved, to ask about many clients.
pub struct InboundAccess<'a> {
    analysis: &'a Analysis,
    name: String,
    profile: &'static str,
    /// What answers about it rest on.
    assumptions: Vec<v1::Assumption>,
    shown: Box<dyn Guarded<'a> + 'a>,
    others: Vec<(&'static str, Box<dyn Guarded<'a> + 'a>)>,
}

impl Analysis {
    /// The object of a name, by KRI or by kind, mesh and name, and the section it names.
    pub fn named(&self, text: &str) -> Option<(ObjectId, Option<String>)> {
        if let Some((object, section)) = self.identified(text) {
            return Some((object, Some(section).filter(|s| !s.is_empty())));
        }
        let name: overrule_model::TargetName = text.parse().ok()?;
        let found = self.snapshot.resolve(&name);
        Some((found.first()?.id, name.section))
    }

    /// The client that a text names: a SPIFFE ID, an object with an identity, `nobody`, who has no certificate, or
    /// `unnamed`, whose certificate has no SPIFFE ID; none if it is none of these.
    pub fn client<'t>(&self, text: &'t str) -> Option<Client<'t>> {
        if text == "nobody" {
            return Some(Client::Nobody);
        }
        if text == "unnamed" {
            return Some(Client::Unnamed);
        }
        if text.starts_with("spiffe://") {
            return spiffe::flaw(text).is_none().then_some(Client::Identity(text));
        }
        let (object, _) = self.named(text)?;
        self.is_client(object).then_some(Client::Object(object))
    }

    /// An object as something that answers rest on; nothing if it is in the input.
    pub fn assumptions(&self, object: ObjectId) -> Vec<v1::Assumption> {
        overrule_view::assumptions(&self.documents, &self.snapshot, [&object])
    }

    /// Whether an object is a client of some family's.
    pub fn is_client(&self, object: ObjectId) -> bool {
        self.accesses().any(|access| access.is_client(object))
    }

    /// Whether the targets of an answer have identities, so that it says who may call whom.
    pub fn has_identities(&self, answer: &Answered) -> bool {
        self.access_of(answer).is_some()
    }

    /// All clients that are in the input.
    pub fn clients(&self) -> impl Iterator<Item = ObjectId> {
        self.accesses().flat_map(|access| access.clients())
    }

    /// What a client shows of itself.
    pub fn caller(&self, client: Client<'_>) -> Caller {
        let family = match client {
            Client::Object(object) => self.accesses().find(|access| access.is_client(object)),
            Client::Nobody | Client::Unnamed | Client::Identity(_) => self.accesses().next(),
        };
        family.map(|access| access.caller(client)).unwrap_or_default()
    }

    /// The inbounds of an object, or those behind it; of the section, if one is named.
    pub fn inbounds(&self, object: ObjectId, section: Option<&str>) -> Vec<InboundId> {
        self.accesses().flat_map(|access| access.inbounds(object, section)).collect()
    }

    /// Permissions that count nowhere because they cannot be read.
    pub fn refused_permissions(&self) -> Vec<ObjectId> {
        self.accesses().flat_map(|access| access.refused()).collect()
    }

    /// What families say about clients and inbounds, as far as they do, under the profiles that are shown.
    fn accesses(&self) -> impl Iterator<Item = Box<dyn Access<'_> + '_>> {
        self.shown().filter_map(|answer| self.access_of(answer))
    }

    fn access_of<'a>(&'a self, answer: &'a Answered) -> Option<Box<dyn Access<'a> + 'a>> {
        answer.access(self.known(answer)?)
    }

    /// An inbound, to ask about its clients.
    pub fn access(&self, at: InboundId) -> Option<InboundAccess<'_>> {
        let answer = self.shown().find(|a| a.family.name() == at.family)?;
        let access = self.access_of(answer)?;
        let others = self.answers.iter().filter(|a| a.family.name() == at.family && !a.shown);
        let others = others.map(|other| Some((other.profile, self.access_of(other)?.inbound(at)?)));
        Some(InboundAccess {
            analysis: self,
            name: access.name(at),
            assumptions: overrule_view::assumptions(
                &self.documents,
                &self.snapshot,
                access.object(at).iter(),
            ),
            profile: answer.profile,
            shown: access.inbound(at)?,
            others: others.collect::<Option<_>>()?,
        })
    }

    /// Whether a client may call an inbound.
    pub fn can(
        &self,
        question: Question<'_>,
        from: &str,
        at: InboundId,
    ) -> Option<v1::AccessDecision> {
        let Question { from: client, method, path, sni, http } = question;
        let caller = self.caller(client);
        let request = Request { sni, method, path, ..Request::default() };
        let inbound = self.access(at)?;
        inbound.ask(from, &caller, request, http).map(|answer| access::decision(&answer))
    }
}

impl<'a> InboundAccess<'a> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the filters of its proxy are made of; `as_shipped`: just as the release in use makes them.
    pub fn filter_source(&self, as_shipped: bool) -> FilterSource<'a> {
        self.shown.filter_source(as_shipped)
    }

    /// What every profile answers about a client, which `from` names as people do, and its request. Without a version of
    /// HTTP it is both: where they differ, the one that lets more pass is shown, and the other beside it.
    pub fn ask<'q>(
        &'q self,
        from: &'q str,
        caller: &'q Caller,
        request: Request<'q>,
        http: Option<Http>,
    ) -> Option<AccessAnswer<'q>> {
        let over = |http| self.ruling(&*self.shown, caller, Request { http, ..request });
        let (shown, ruling, other) = match http {
            Some(http) => (http, over(http)?, None),
            None => both(over(Http::One)?, over(Http::Two)?),
        };
        let request = Request { http: shown, ..request };
        let Request { method, path, sni, .. } = request;
        let others = self.others.iter();
        let others = others
            .map(|(profile, inbound)| Some((*profile, self.ruling(&**inbound, caller, request)?)));
        Some(AccessAnswer {
            from,
            identity: caller.identity.as_deref(),
            to: &self.name,
            assumptions: self.assumptions.clone(),
            method,
            path,
            sni,
            http: http.or(other.as_ref().map(|_| shown)),
            profile: self.profile,
            ruling,
            other_http: other
                .map(|ruling| (if shown == Http::One { Http::Two } else { Http::One }, ruling)),
            others: others.collect::<Option<_>>()?,
        })
    }

    /// Everybody who gets in: by the clauses that say so, and of these clients by name.
    pub fn callers(&self, clients: &[ObjectId]) -> InboundCallers<'a> {
        let snapshot = &self.analysis.snapshot;
        let is_in = |client: &&ObjectId| {
            let caller = self.analysis.caller(Client::Object(**client));
            let answer = self.ask("", &caller, Request::default(), None);
            answer.is_some_and(|answer| answer.ruling.verdict == Verdict::Allowed)
        };
        let names = clients.iter().filter(is_in).map(|id| snapshot.display(*id).to_string());
        InboundCallers {
            to: self.name.clone(),
            profile: self.profile,
            enforcement: self.shown.enforcement(),
            denies_first: self.shown.denies_first(),
            clauses: self.shown.clauses().into_iter().map(|c| self.cited(c)).collect(),
            clients: names.collect(),
        }
    }

    /// What an inbound decides, with the policies that decide.
    fn ruling(
        &self,
        inbound: &dyn Guarded<'a>,
        caller: &Caller,
        request: Request<'_>,
    ) -> Option<Ruling<Cited<'a>>> {
        inbound.decide(caller, request)?.renamed(|clause| Some(self.cited(clause)))
    }

    fn cited(&self, cited: CitedClause<'a>) -> Cited<'a> {
        let CitedClause { object, identity, clause, node } = cited;
        let Analysis { documents, snapshot, .. } = self.analysis;
        let at = documents.sources.position(documents.view(node).span());
        Cited {
            object,
            policy: snapshot.full_name(object),
            kri: identity,
            clause,
            at: v1::Place { file: at.file, line: at.line, column: at.column },
        }
    }
}
