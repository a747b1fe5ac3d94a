// SPDX-License-Identifier: Apache-2.0
//! In: an analysis, a client and what it calls. Out: whether it may, and who says so. Not here: the rules of that
//! (`overrule_mesh::gate`), text.

use std::collections::BTreeMap;

use overrule_access::{Effect, Identity, Match, PathMatch, Request, Source, Verdict};
use overrule_engine::LadderId;
use overrule_mesh::dataplane::Dataplane;
use overrule_mesh::gate::{Action, Asking, By, Gate, Said};
use overrule_mesh::identity::{self, Enforcement};
use overrule_mesh::{MeshResources, Profile};
use overrule_model::ObjectId;
use overrule_source::{NodeRef, View};
use overrule_view::v1;

use crate::{Analysis, Answered};

/// What is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question<'a> {
    /// The client: a SPIFFE ID, or a dataplane.
    pub from: Client<'a>,
    /// The method of the request, if it is one.
    pub method: Option<&'a str>,
    /// Its path.
    pub path: Option<&'a str>,
    /// The server name it asks for.
    pub sni: Option<&'a str>,
}

/// A client.
#[derive(Debug, Clone, Copy, Default)]
pub enum Client<'a> {
    /// Somebody who shows nothing.
    #[default]
    Nobody,
    /// By identity.
    Identity(&'a str),
    /// A proxy of the input.
    Dataplane(ObjectId),
}

/// An inbound of a proxy, by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Inbound {
    mesh: usize,
    proxy: usize,
    inbound: usize,
}

impl Analysis {
    /// The object a name means, by KRI or by kind, mesh and name, and the section it names.
    pub fn named(&self, text: &str) -> Option<(ObjectId, Option<String>)> {
        if let Some((object, section)) = self.by_kri(text) {
            return Some((object, Some(section).filter(|s| !s.is_empty())));
        }
        let name: overrule_model::TargetName = text.parse().ok()?;
        let found = self.snapshot.resolve(&name);
        Some((found.first()?.id, name.section))
    }

    /// The client a text means: a SPIFFE ID, a dataplane, or `nobody`; none if it means none of these.
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

    /// The inbounds of a dataplane, or those behind a service; of the section, if one is named.
    pub fn inbounds(&self, object: ObjectId, section: Option<&str>) -> Vec<Inbound> {
        let mut found = Vec::new();
        for (m, mesh) in self.kuma.meshes.iter().enumerate() {
            let service = mesh.destination_objects.iter().position(|o| *o == Some(object));
            let service = service.and_then(|s| mesh.destinations.get(s));
            let behind = service.filter(|s| s.meta.kind == "MeshService");
            for (p, read) in mesh.dataplanes.iter().enumerate() {
                let ports = match behind {
                    Some(_) => match self.ports_behind(object, section, &read.it) {
                        Some(ports) => ports,
                        None => continue,
                    },
                    None if read.object == Some(object) => Vec::new(),
                    None => continue,
                };
                for (i, inbound) in read.it.inbounds.iter().enumerate() {
                    let number = inbound.listener.port.to_string();
                    let named = |text: &str| *inbound.section == *text || number == text;
                    let wanted = match behind {
                        Some(_) => ports.iter().any(|port| named(port)),
                        None => section.is_none_or(named),
                    };
                    if wanted {
                        found.push(Inbound { mesh: m, proxy: p, inbound: i });
                    }
                }
            }
        }
        found
    }

    /// Target ports of a service that a proxy is behind; none if it is not.
    fn ports_behind(
        &self,
        service: ObjectId,
        section: Option<&str>,
        proxy: &Dataplane,
    ) -> Option<Vec<String>> {
        let root = self.documents.view(*self.kuma.roots.get(&service)?);
        let spec = root.get("spec")?;
        let selector = spec.get("selector")?;
        let text = |v: View<'_>| v.scalar_text().unwrap_or("").to_owned();
        let has_tags = |tags: View<'_>| {
            proxy.inbounds.iter().any(|inbound| {
                let has = |(k, v): (View<'_>, View<'_>)| {
                    inbound.tags.get(k.key_text()).is_some_and(|t| **t == *text(v))
                };
                tags.entries().all(has)
            })
        };
        let has_labels = |labels: View<'_>| {
            let has = |(k, v): (View<'_>, View<'_>)| {
                proxy.meta.labels.get(k.key_text()).is_some_and(|l| *l == text(v))
            };
            labels.get("matchLabels").unwrap_or(labels).entries().all(has)
        };
        let named =
            |r: View<'_>| r.get("name").is_some_and(|n| text(n) == proxy.meta.display_name());
        let fits = match (selector.get("dataplaneTags"), selector.get("dataplaneLabels")) {
            (Some(tags), _) => has_tags(tags),
            (None, Some(labels)) => has_labels(labels),
            (None, None) => selector.get("dataplaneRef").is_some_and(named),
        };
        if !fits {
            return None;
        }
        let ports = spec.get("ports").into_iter().flat_map(View::items);
        let port_name = |p: &View<'_>| {
            let name = p.get("name").map(text).filter(|n| !n.is_empty());
            name.or_else(|| p.get("port").map(text)).unwrap_or_default()
        };
        let wanted = ports.filter(|p| section.is_none_or(|s| port_name(p) == s));
        let target = |p: View<'_>| p.get("targetPort").or_else(|| p.get("port")).map(text);
        Some(wanted.filter_map(target).collect())
    }

    /// The name of an inbound.
    pub fn inbound_name(&self, at: Inbound) -> String {
        let Some((mesh, proxy)) = self.proxy(at) else { return String::new() };
        let read = mesh.dataplanes.get(at.proxy).and_then(|d| d.object);
        let name = read.map(|o| self.snapshot.display(o).to_string()).unwrap_or_default();
        let section = proxy.inbounds.get(at.inbound).map_or("", |i| &i.section);
        format!("{name}#{section}")
    }

    fn proxy(&self, at: Inbound) -> Option<(&MeshResources, &Dataplane)> {
        let mesh = self.kuma.meshes.get(at.mesh)?;
        Some((mesh, &mesh.dataplanes.get(at.proxy)?.it))
    }

    /// An inbound, its proxy and its mesh.
    pub fn inbound(
        &self,
        at: Inbound,
    ) -> Option<(&MeshResources, &Dataplane, &overrule_mesh::dataplane::Inbound)> {
        let (mesh, proxy) = self.proxy(at)?;
        Some((mesh, proxy, proxy.inbounds.get(at.inbound)?))
    }

    /// The gate of an inbound under a profile.
    pub fn gate(&self, answer: &Answered, at: Inbound) -> Option<Gate> {
        let (mesh, _) = self.proxy(at)?;
        let rules = answer.proxies.get(at.mesh)?.get(at.proxy)?;
        let profile = Profile::from_name(answer.profile, &self.kuma.settings);
        Some(Gate::new(&self.documents, mesh, &profile, rules.permissions(at.inbound)))
    }

    /// The permissions of an inbound in the shape of the design's Inspect API.
    pub fn inspect_permissions(&self, answer: &Answered, at: Inbound) -> Option<serde_json::Value> {
        let (mesh, _) = self.proxy(at)?;
        let rules = answer.proxies.get(at.mesh)?.get(at.proxy)?;
        let profile = Profile::from_name(answer.profile, &self.kuma.settings);
        let list = rules.permissions(at.inbound);
        Some(overrule_mesh::inspect::permissions(&self.documents, mesh, &profile, list))
    }

    /// Whether the proxy of an inbound knows its clients.
    pub fn enforcement(&self, answer: &Answered, at: Inbound) -> Enforcement {
        let Some((mesh, proxy)) = self.proxy(at) else { return Enforcement::Off };
        let asked = identity::enforcement(&self.documents, &self.kuma, mesh, proxy);
        match (asked, self.tls_mode(answer, at).as_deref()) {
            (Enforcement::Off, _) => Enforcement::Off,
            (_, Some("Permissive")) => Enforcement::Permissive,
            (_, Some("Strict")) => Enforcement::Strict,
            (asked, _) => asked,
        }
    }

    /// What MeshTLS says about an inbound.
    fn tls_mode(&self, answer: &Answered, at: Inbound) -> Option<String> {
        let resolution = &answer.resolution;
        let is_tls = |k: &overrule_engine::KindResult| self.snapshot.text(k.kind) == "MeshTLS";
        let (kind, _) = resolution.kinds().find(|(_, k)| is_tls(k))?;
        let nodes = self.mesh.meshes.get(at.mesh)?;
        let node = *nodes.dataplanes.get(at.proxy)?.1.get(at.inbound)?;
        let mut paths = resolution.contexts(kind);
        let (_, ladder) = paths.find(|(p, _)| resolution.paths.node(*p) == Some(node))?;
        let value = resolution.effective(ladder).filter(|_| ladder != LadderId::EMPTY)?;
        let mode = value.value.as_ref()?.get(&self.documents, "mode")?;
        self.documents.view(mode.node()?).scalar_text().map(str::to_owned)
    }

    /// Whether a client may call an inbound.
    pub fn can(
        &self,
        question: Question<'_>,
        from: &str,
        at: Inbound,
    ) -> Option<v1::AccessDecision> {
        let shown = self.shown().find(|a| a.family == overrule_mesh::FAMILY)?;
        let asked = self.ask(shown, question, at)?;
        let others = self.answers.iter().filter(|a| a.family == shown.family && !a.shown);
        let mut other_profiles = Vec::new();
        for other in others {
            let there = self.ask(other, question, at)?;
            if there.verdict != asked.verdict {
                other_profiles.push(v1::OtherDecision {
                    profile: other.profile.to_owned(),
                    verdict: there.verdict,
                    because: there.because,
                    by: there.by,
                });
            }
        }
        Some(v1::AccessDecision {
            api_version: v1::API_VERSION,
            kind: "AccessDecision",
            profile: shown.profile.to_owned(),
            from: from.to_owned(),
            identity: asked.identity,
            to: self.inbound_name(at),
            method: question.method.map(str::to_owned),
            path: question.path.map(str::to_owned),
            sni: question.sni.map(str::to_owned),
            enforcement: asked.enforcement,
            verdict: asked.verdict,
            because: asked.because,
            by: asked.by,
            by_tree: asked.by_tree,
            matched: asked.matched,
            shadow: asked.shadow,
            plaintext: asked.plaintext,
            other_profiles,
        })
    }

    /// Identity and tags of a client, and whether it has several identities.
    fn shown_by(
        &self,
        client: Client<'_>,
        mesh: &MeshResources,
    ) -> (Option<String>, BTreeMap<String, String>, bool) {
        match client {
            Client::Nobody => (None, BTreeMap::new(), false),
            Client::Identity(id) => {
                // An identity of the older kind names the service.
                let service = id.strip_prefix(&format!("spiffe://{}/", mesh.name));
                let service = service.filter(|s| !s.contains('/'));
                let tag = service.map(|s| ("kuma.io/service".to_owned(), s.to_owned()));
                (Some(id.to_owned()), tag.into_iter().collect(), false)
            }
            Client::Dataplane(object) => {
                let found = self.kuma.meshes.iter().find_map(|m| {
                    let proxy = m.dataplanes.iter().find(|d| d.object == Some(object))?;
                    Some((m, &proxy.it))
                });
                let Some((home, proxy)) = found else { return (None, BTreeMap::new(), false) };
                let ids = identity::identities(&self.documents, &self.kuma, home, proxy);
                // Certificates of the older kind have an identity for every tag.
                let several = !identity::has_identity(&self.documents, &self.kuma, home, proxy);
                let one = ids.into_iter().next();
                (one, identity::tags(proxy), several)
            }
        }
    }

    fn ask(&self, answer: &Answered, question: Question<'_>, at: Inbound) -> Option<Asked> {
        let (mesh, proxy) = self.proxy(at)?;
        let gate = self.gate(answer, at)?;
        let enforcement = self.enforcement(answer, at);
        let (identity, tags, several) = self.shown_by(question.from, mesh);
        let http = proxy.inbounds.get(at.inbound).is_some_and(|i| i.is_http());
        let request = Request {
            identity: identity.as_deref().filter(|_| !several),
            sni: question.sni,
            method: question.method.filter(|_| http),
            path: question.path.filter(|_| http),
        };
        let profile = Profile::from_name(answer.profile, &self.kuma.settings);
        let said = gate.decide(&profile, Asking { request, tags: &tags });
        let teller = Teller { analysis: self, mesh, gate: &gate };
        let by = said.by.and_then(|by| teller.by(by));
        let mut asked = Asked {
            enforcement: match enforcement {
                Enforcement::Off => "off",
                Enforcement::Permissive => "permissive",
                Enforcement::Strict => "strict",
            },
            verdict: word(said.verdict),
            because: because(&gate, &said, by.as_ref()),
            by_tree: said.by_tree.and_then(|by| teller.by(by)),
            matched: said.matched.iter().filter_map(|by| teller.by(*by)).collect(),
            shadow: said.shadow.and_then(|by| teller.by(by)),
            plaintext: (enforcement == Enforcement::Permissive).then_some("allowed"),
            identity,
            by,
        };
        if several && gate.has_rules {
            asked.verdict = "denied";
            asked.because = "its certificate has several identities, as those of a mesh without MeshIdentity do, and an inbound with rules takes only clients with one".to_owned();
            (asked.by, asked.by_tree, asked.shadow) = (None, None, None);
        }
        if matches!(question.from, Client::Nobody) && enforcement != Enforcement::Off {
            let strict = enforcement == Enforcement::Strict;
            asked.verdict = if strict { "denied" } else { "allowed" };
            asked.because = match strict {
                true => "the inbound asks for a certificate, so the connection ends before any permission is asked",
                false => "the inbound is permissive: clients without a certificate get in, whatever permissions say",
            }
            .to_owned();
            (asked.by, asked.by_tree, asked.shadow) = (None, None, None);
        }
        if enforcement == Enforcement::Off {
            asked.verdict = "allowed";
            asked.because = "the proxy does not ask who its clients are (no mTLS and no MeshIdentity), so everybody gets in and no permission is enforced".to_owned();
            (asked.by, asked.by_tree) = (None, None);
        }
        Some(asked)
    }
}

/// What one profile says.
struct Asked {
    identity: Option<String>,
    enforcement: &'static str,
    verdict: &'static str,
    because: String,
    by: Option<v1::DecidedBy>,
    by_tree: Option<v1::DecidedBy>,
    matched: Vec<v1::DecidedBy>,
    shadow: Option<v1::DecidedBy>,
    plaintext: Option<&'static str>,
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allowed => "allowed",
        Verdict::Denied => "denied",
    }
}

fn because(gate: &Gate, said: &Said, by: Option<&v1::DecidedBy>) -> String {
    match by {
        Some(by) => format!("{} {} matches: {}", by.policy, by.part, by.matches),
        None if !gate.is_selected => {
            "no MeshTrafficPermission selects the inbound, and without one nobody gets in"
                .to_owned()
        }
        None if said.verdict == Verdict::Denied => {
            "nobody allows it: none of the permissions of the inbound matches".to_owned()
        }
        None => "nothing is against it".to_owned(),
    }
}

/// Turns numbers into policies and places.
struct Teller<'a> {
    analysis: &'a Analysis,
    mesh: &'a MeshResources,
    gate: &'a Gate,
}

impl Teller<'_> {
    fn by(&self, by: By) -> Option<v1::DecidedBy> {
        match by {
            By::Match(Source(number)) => {
                let written = self.gate.permissions.written.get(number as usize)?;
                let rule = self.gate.permissions.rules.get(number as usize)?;
                let effect = match rule.effect {
                    Effect::Deny => "deny",
                    Effect::Allow => "allow",
                    Effect::AllowWithShadowDeny => "allowWithShadowDeny",
                };
                let part = format!("rules[{}].{}[{}]", written.entry, written.list, written.index);
                self.told(written.policy, part, effect, match_words(&rule.matches), written.node)
            }
            By::From(place) => {
                let from = self.gate.from.get(place)?;
                let effect = match from.action {
                    Action::Deny => "deny",
                    Action::Allow => "allow",
                    Action::AllowWithShadowDeny => "allowWithShadowDeny",
                };
                let clients = from.clients.to_string();
                let clients = if clients.is_empty() { "every client".to_owned() } else { clients };
                self.told(from.policy, format!("from[{}]", from.entry), effect, clients, from.node)
            }
        }
    }

    fn told(
        &self,
        policy: u32,
        part: String,
        effect: &str,
        matches: String,
        node: NodeRef,
    ) -> Option<v1::DecidedBy> {
        let object = *self.mesh.policy_objects.get(policy as usize)?;
        let found = self.mesh.policies.get(policy as usize)?;
        let span = self.analysis.documents.view(node).span();
        let at = self.analysis.documents.sources.position(span);
        Some(v1::DecidedBy {
            policy: self.analysis.snapshot.full_name(object),
            kri: found.meta.kri().to_string(),
            part,
            effect: effect.to_owned(),
            matches,
            at: Some(v1::Place { file: at.file, line: at.line, column: at.column }),
        })
    }
}

/// A match in words.
pub fn match_words(one: &Match) -> String {
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
    words.join(", ")
}
