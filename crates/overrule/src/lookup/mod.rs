// SPDX-License-Identifier: Apache-2.0
//! In: names people typed. Out: objects, nodes, policies and clients they mean, or what was probably meant.
//! Not here: policy kinds and paths (`paths.rs`), what is said about any of them.

mod error;
mod paths;

use overrule_access::spiffe;
use overrule_engine::{NodeId, PolicyId};
use overrule_family::{Client, NamedIdentity};
use overrule_model::{GroupKind, Object, ObjectId, TargetName, TargetNameError, nearest};
use overrule_view::tenancy::{Everything, Reader, Sees};
use overrule_view::{Scene, ScenePart};

use crate::{Analysis, InboundAccess};

pub use error::{LookupError, Suggestions};
pub use paths::{Elsewhere, FamilyPolicyKind, PolicyContext, contexts, elsewhere, kind_words};

/// Finds what names mean.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    /// Everything that was analysed.
    pub analysis: &'a Analysis,
    /// What the one who asks may read. What it may not read is as if it did not exist.
    pub sees: &'a dyn Sees,
    /// The namespace of names that are written without one.
    pub namespace: Option<&'a str>,
}

/// A target of the input.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// A node of the topology.
    Node(NodeId),
    /// A policy, and the family that resolved it.
    Policy(&'a ScenePart<'a>, PolicyId),
}

impl<'a> Finder<'a> {
    /// Finds names for one who may read everything.
    pub fn new(analysis: &'a Analysis) -> Self {
        Self { analysis, sees: &Everything, namespace: None }
    }

    /// Finds what a target name means.
    pub fn target<'s>(&self, scene: &Scene<'s>, text: &str) -> Result<Target<'s>, LookupError> {
        let (object, section) = self.object(text)?;
        let of = |part: &'s ScenePart<'s>| Some((part, part.resolution.policy_of(object.id)?));
        if let Some((part, policy)) = scene.parts.iter().find_map(of) {
            return Ok(Target::Policy(part, policy));
        }
        let node = match &section {
            None => self.analysis.object_node(object.id),
            Some(section) => Some(self.section_node(object, section)?),
        };
        node.map(Target::Node).ok_or_else(|| self.no_target(object.id))
    }

    /// Why an object that is there is nothing to ask about.
    fn no_target(&self, object: ObjectId) -> LookupError {
        let name = self.analysis.snapshot.display(object).to_string();
        match self.analysis.unresolved().iter().find(|one| one.object == object) {
            Some(one) => {
                let targets = one.targets.iter().map(|t| t.name.clone()).collect();
                LookupError::NotResolved { policy: name, owner: one.owner, targets }
            }
            None => LookupError::NotATarget { target: name },
        }
    }

    /// Finds what a target name means that must be no policy.
    pub fn node(&self, scene: &Scene<'_>, text: &str) -> Result<NodeId, LookupError> {
        match self.target(scene, text)? {
            Target::Node(node) => Ok(node),
            Target::Policy(part, policy) => {
                // A route is a policy, and other policies act on it.
                let object = part.resolution.policy(policy).map(|p| p.object);
                object
                    .and_then(|o| self.analysis.object_node(o))
                    .ok_or_else(|| LookupError::IsPolicy { text: text.to_owned() })
            }
        }
    }

    /// Finds a policy by name.
    pub fn policy<'s>(
        &self,
        scene: &Scene<'s>,
        text: &str,
    ) -> Result<(&'s ScenePart<'s>, PolicyId), LookupError> {
        match self.target(scene, text)? {
            Target::Policy(part, policy) => Ok((part, policy)),
            Target::Node(_) => Err(LookupError::NotAPolicy { text: text.to_owned() }),
        }
    }

    /// The object a name means, and the section it names.
    pub fn object(&self, text: &str) -> Result<(&'a Object, Option<String>), LookupError> {
        if let Some(found) = self.by_identity(text)? {
            return Ok(found);
        }
        let mut name: TargetName = text.parse().map_err(|e: TargetNameError| {
            LookupError::Malformed { text: text.to_owned(), why: e.to_string() }
        })?;
        if name.namespace.is_none() {
            name.namespace = self.namespace.map(str::to_owned);
        }
        Ok((self.by_name(&name, text)?, name.section))
    }

    /// The inbounds of a dataplane, or those behind a service; of the section, if one is named.
    pub fn inbounds(&self, text: &str) -> Result<Vec<InboundAccess<'a>>, LookupError> {
        let (object, section) = self.object(text)?;
        let found = self.analysis.inbounds(object.id, section.as_deref());
        if found.is_empty() {
            return Err(LookupError::NoInbound { text: text.to_owned(), section });
        }
        Ok(found.into_iter().filter_map(|at| self.analysis.access(at)).collect())
    }

    /// The client a text means: a SPIFFE ID, a dataplane, `nobody` or `unnamed`.
    pub fn client<'t>(&self, text: &'t str) -> Result<Client<'t>, LookupError> {
        if text.starts_with("spiffe://") {
            return match spiffe::flaw(text) {
                None => Ok(Client::Identity(text)),
                Some(why) => {
                    let why = format!("`{text}` is not a SPIFFE ID: {why}");
                    Err(LookupError::Malformed { text: text.to_owned(), why })
                }
            };
        }
        if text == "nobody" {
            return Ok(Client::Nobody);
        }
        if text == "unnamed" {
            return Ok(Client::Unnamed);
        }
        let (object, _) = self.object(text)?;
        if self.analysis.is_client(object.id) {
            return Ok(Client::Object(object.id));
        }
        let kind = self.analysis.snapshot.text(object.kind.kind).to_owned();
        Err(LookupError::NotAClient { text: text.to_owned(), kind })
    }

    /// The object and section that an identity of a family's own means; none if the text is none.
    fn by_identity(&self, text: &str) -> Result<Option<(&'a Object, Option<String>)>, LookupError> {
        let found = match self.analysis.identify(text) {
            NamedIdentity::Other => return Ok(None),
            NamedIdentity::Malformed(why) => {
                return Err(LookupError::Malformed { text: text.to_owned(), why });
            }
            NamedIdentity::Unknown => None,
            NamedIdentity::Object(id, section) => {
                self.analysis.snapshot.get(id).map(|o| (o, section))
            }
        };
        if let Some((object, section)) = found.filter(|(object, _)| self.sees(object)) {
            return Ok(Some((object, Some(section).filter(|section| !section.is_empty()))));
        }
        let all = self.analysis.identities().filter(|(id, _)| self.sees_id(*id));
        let suggestions = suggest(text, all.map(|(_, identity)| identity).collect(), 3);
        Err(LookupError::NotFound { text: text.to_owned(), kind: None, suggestions })
    }

    fn by_name(&self, name: &TargetName, text: &str) -> Result<&'a Object, LookupError> {
        let snapshot = &self.analysis.snapshot;
        let mut found = snapshot.resolve(name);
        if found.is_empty() && name.namespace.as_deref() == self.namespace {
            // Cluster-scoped kinds have no namespace.
            found = snapshot.resolve(&TargetName { namespace: None, ..name.clone() });
        }
        found.retain(|o| self.sees(o));
        match found.as_slice() {
            [one] => Ok(one),
            [] => Err(self.deleted(name).unwrap_or_else(|| self.not_found(name, text))),
            several => {
                let group = |o: &&Object| snapshot.text(o.kind.group);
                let named = |o| format!("{}.{}/{}", name.kind, group(o), tail(name));
                let candidates = several.iter().map(named).collect();
                Err(LookupError::Ambiguous { text: text.to_owned(), candidates })
            }
        }
    }

    fn deleted(&self, name: &TargetName) -> Option<LookupError> {
        let snapshot = &self.analysis.snapshot;
        let mut found = snapshot.resolve_deleted(name);
        if found.is_empty() && name.namespace.as_deref() == self.namespace {
            found = snapshot.resolve_deleted(&TargetName { namespace: None, ..name.clone() });
        }
        let object = found.into_iter().find(|o| self.sees(o))?;
        Some(LookupError::BeingDeleted { sentence: snapshot.deletion(object)? })
    }

    fn not_found(&self, name: &TargetName, text: &str) -> LookupError {
        let snapshot = &self.analysis.snapshot;
        let kinds = self.kinds_called(&name.kind, name.group.as_deref());
        if kinds.is_empty() {
            return self.unknown_kind(&name.kind);
        }
        let of_kind = snapshot.objects().filter(|o| kinds.contains(&o.kind) && self.sees(o));
        let known: Vec<String> = of_kind.map(|o| snapshot.display(o.id).to_string()).collect();
        // Only the name is compared: kind and namespace are alike in all of them and would make strangers look near.
        let last = |c: &str| c.rsplit('/').next().map(str::to_owned).unwrap_or_default();
        let names: Vec<String> = known.iter().map(|c| last(c)).collect();
        let nearest_names = nearest(&name.name, names.iter().map(String::as_str), 3);
        let is_near = |c: &&String| nearest_names.contains(&&*last(c));
        let near = known.iter().filter(is_near).take(3).cloned().collect();
        LookupError::NotFound {
            text: text.to_owned(),
            kind: Some(name.kind.clone()),
            suggestions: Suggestions { near, known },
        }
    }

    /// The kinds a word means of which something may be read.
    pub fn kinds_called(&self, word: &str, group: Option<&str>) -> Vec<GroupKind> {
        let snapshot = &self.analysis.snapshot;
        let mut found = snapshot.kinds_called(word, group);
        if !self.sees.everything() {
            let seen = |kind: GroupKind| {
                let mut of_kind = snapshot.kinds().filter(|(k, _)| *k == kind);
                let mut deleted = snapshot.deleted().iter().filter(|o| o.kind == kind);
                of_kind.any(|(_, objects)| objects.iter().any(|o| self.sees(o)))
                    || deleted.any(|o| self.sees(o))
            };
            found.retain(|kind| seen(*kind));
        }
        found
    }

    /// Nothing of a kind was read; the nearest kinds, or all there are.
    pub fn unknown_kind(&self, word: &str) -> LookupError {
        let snapshot = &self.analysis.snapshot;
        let all = snapshot.kinds().filter(|(_, objects)| objects.iter().any(|o| self.sees(o)));
        let all = all.map(|(k, _)| snapshot.text(k.kind).to_lowercase()).collect();
        LookupError::UnknownKind { kind: word.to_owned(), suggestions: suggest(word, all, 3) }
    }

    /// A section by name, `rule-N`, or zero-based index.
    fn section_node(&self, object: &Object, section: &str) -> Result<NodeId, LookupError> {
        let Analysis { snapshot, .. } = self.analysis;
        let named = snapshot.names().lookup(section);
        let named = named.and_then(|s| self.analysis.section_node(object.id, s));
        let sections = || self.analysis.sections_of(object.id);
        let indexed = || {
            let place = section.parse::<usize>().ok()?;
            sections().get(place).map(|(_, node)| *node)
        };
        named.or_else(indexed).ok_or_else(|| {
            let names = sections().into_iter().map(|(name, _)| snapshot.text(name).to_owned());
            LookupError::NoSection {
                target: snapshot.display(object.id).to_string(),
                section: section.to_owned(),
                suggestions: suggest(section, names.collect(), 2),
            }
        })
    }

    fn sees(&self, object: &Object) -> bool {
        self.sees.everything() || self.sees.object(&self.analysis.snapshot, object)
    }

    fn sees_id(&self, object: ObjectId) -> bool {
        self.analysis.snapshot.get(object).is_some_and(|o| self.sees(o))
    }

    /// Whether the one who asks may know that a kind of policies is there.
    fn shows_kind(&self, scene: &Scene<'_>, kind: &FamilyPolicyKind<'_>) -> bool {
        self.sees.everything() || Reader::new(scene, self.sees).kind(kind.part, kind.id)
    }
}

fn tail(name: &TargetName) -> String {
    match &name.namespace {
        Some(namespace) => format!("{namespace}/{}", name.name),
        None => name.name.clone(),
    }
}

/// The nearest of the names there are, at most so many.
fn suggest(typed: &str, known: Vec<String>, most: usize) -> Suggestions {
    let near = nearest(typed, known.iter().map(String::as_str), most);
    let near = near.into_iter().map(str::to_owned).collect();
    Suggestions { near, known }
}
