// SPDX-License-Identifier: Apache-2.0
//! In: an analysis, a client and what it calls. Out: whether it may, and who says so, under every profile. Not here: the
//! rules of that (`overrule_mesh::gate`), words (`overrule_view::access`), what a reader may not know.

use overrule_access::{Request, Ruling};
use overrule_mesh::Profile;
use overrule_mesh::gate::{By, ClauseAt};
use overrule_mesh::identity::{Caller, Client};
use overrule_mesh::inbounds::{self, GuardedInbound, InboundId, Lookup};
use overrule_model::ObjectId;
use overrule_view::access::{self, AccessAnswer, Cited};
use overrule_view::v1;

use crate::{Analysis, Answered};

/// What is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question<'a> {
    /// The client: a SPIFFE ID, or a dataplane.
    pub from: Client<'a>,
    /// The method of the request, if the call is one.
    pub method: Option<&'a str>,
    /// Its path.
    pub path: Option<&'a str>,
    /// The server name it requests.
    pub sni: Option<&'a str>,
}

/// An inbound under every profile that was resolved, to ask about many clients.
pub struct InboundAccess<'a> {
    analysis: &'a Analysis,
    name: String,
    profile: &'static str,
    shown: GuardedInbound<'a>,
    others: Vec<(&'static str, GuardedInbound<'a>)>,
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

    /// The client that a text names: a SPIFFE ID, a dataplane, or `nobody`; none if it is none of these.
    pub fn client<'t>(&self, text: &'t str) -> Option<Client<'t>> {
        if text == "nobody" {
            return Some(Client::Nobody);
        }
        if text.starts_with("spiffe://") {
            let is_one = overrule_mesh::permission::spiffe::flaw(text).is_none();
            return is_one.then_some(Client::Identity(text));
        }
        let (object, _) = self.named(text)?;
        let kind = self.snapshot.get(object).map(|o| self.snapshot.text(o.kind.kind));
        (kind == Some("Dataplane")).then_some(Client::Dataplane(object))
    }

    /// What a client shows of itself.
    pub fn caller(&self, client: Client<'_>) -> Caller {
        Caller::new(&self.documents, &self.meshes().resources, client)
    }

    /// The inbounds of a dataplane, or those behind a service; of the section, if one is named.
    pub fn inbounds(&self, object: ObjectId, section: Option<&str>) -> Vec<InboundId> {
        inbounds::inbounds(&self.documents, &self.meshes().resources, object, section)
    }

    /// The name of an inbound.
    pub fn inbound_name(&self, at: InboundId) -> String {
        inbounds::name(&self.snapshot, &self.meshes().resources, at)
    }

    /// An inbound, and what decides about its clients under the profile of an answer.
    pub fn inbound<'a>(
        &'a self,
        answer: &'a Answered,
        at: InboundId,
    ) -> Option<GuardedInbound<'a>> {
        self.lookup(answer).inbound(at)
    }

    /// The permissions of an inbound in the shape of the design's Inspect API.
    pub fn inspect_permissions(
        &self,
        answer: &Answered,
        at: InboundId,
    ) -> Option<serde_json::Value> {
        self.lookup(answer).inspect_permissions(at)
    }

    fn lookup<'a>(&'a self, answer: &'a Answered) -> Lookup<'a> {
        Lookup {
            documents: &self.documents,
            snapshot: &self.snapshot,
            resources: &self.meshes().resources,
            topology: &self.meshes().nodes,
            resolution: &answer.resolution,
            proxies: answer.proxies(),
            profile: Profile::from_name(answer.profile, &self.meshes().resources.settings),
        }
    }

    /// An inbound, to ask about its clients.
    pub fn access(&self, at: InboundId) -> Option<InboundAccess<'_>> {
        let answer = self.shown().find(|a| a.family.name() == overrule_mesh::FAMILY)?;
        let others =
            self.answers.iter().filter(|a| a.family.name() == answer.family.name() && !a.shown);
        let others = others.map(|other| Some((other.profile, self.inbound(other, at)?)));
        Some(InboundAccess {
            analysis: self,
            name: self.inbound_name(at),
            profile: answer.profile,
            shown: self.inbound(answer, at)?,
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
        let Question { from: client, method, path, sni } = question;
        let caller = self.caller(client);
        let request = Request { identity: None, sni, method, path };
        let inbound = self.access(at)?;
        inbound.ask(from, &caller, request).map(|answer| access::decision(&answer))
    }
}

impl<'a> InboundAccess<'a> {
    /// What every profile answers about a client, which `from` names as people do, and its request.
    pub fn ask<'q>(
        &'q self,
        from: &'q str,
        caller: &'q Caller,
        request: Request<'q>,
    ) -> Option<AccessAnswer<'q>> {
        let Request { method, path, sni, .. } = request;
        let others = self.others.iter();
        let others = others
            .map(|(profile, inbound)| Some((*profile, self.ruling(inbound, caller, request)?)));
        Some(AccessAnswer {
            from,
            identity: caller.identity.as_deref(),
            to: &self.name,
            method,
            path,
            sni,
            profile: self.profile,
            ruling: self.ruling(&self.shown, caller, request)?,
            others: others.collect::<Option<_>>()?,
        })
    }

    /// What an inbound decides, with the policies that decide.
    fn ruling(
        &self,
        inbound: &GuardedInbound<'a>,
        caller: &Caller,
        request: Request<'_>,
    ) -> Option<Ruling<Cited<'a>>> {
        inbound.decide(caller, request).renamed(|by| self.cited(inbound, by))
    }

    fn cited(&self, inbound: &GuardedInbound<'a>, by: By) -> Option<Cited<'a>> {
        let Analysis { documents, snapshot, .. } = self.analysis;
        let ClauseAt { policy, clause, node } = inbound.gate.clause(by)?;
        let object = *inbound.mesh.policy_objects.get(policy as usize)?;
        let policy = inbound.mesh.policies.get(policy as usize)?;
        let at = documents.sources.position(documents.view(node).span());
        Some(Cited {
            object,
            policy: snapshot.full_name(object),
            kri: policy.meta.kri().to_string(),
            clause,
            at: v1::Place { file: at.file, line: at.line, column: at.column },
        })
    }
}
