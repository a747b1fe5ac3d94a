// SPDX-License-Identifier: Apache-2.0
//! In: a live analysis and a question of Kuma's Inspect API. Out: the answer, by lookup. Not here: HTTP, and resources
//! being written.
//!
//! ```text
//! ask ──► Inspector ──► Scope: one mesh of the live analysis
//!            │             │ which policies select: as resolving found them
//!            │             ▼
//!            │           parts: what a list of policies says, made once per list
//!            ▼             ▼
//!          memo ◄──── rules, policies, layout, dataplanes, hostnames, resource ──► Answer
//! ```

mod answer;
mod ask;
mod catalogue;
mod config;
mod dataplanes;
mod hostnames;
mod layout;
mod memo;
mod parts;
mod permissions;
mod policies;
mod resource;
mod rules;
mod shape;
mod template;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hashbrown::HashMap;
use overrule_model::ObjectId;
use overrule_source::{Documents, View};
use smallvec::SmallVec;

use crate::dataplane::Dataplane;
use crate::entries::Item;
use crate::kinds::{HTTP_ROUTE, KindScope, ResourceKind};
use crate::kri::Kri;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resolve::{Lists, ProxyRules};
use crate::resource::Meta;
use crate::resources::{MeshResources, Resources};
use crate::settings::LabelSource;
use crate::targets::{DestinationIndex, Index};

pub use answer::{InspectAnswer, JsonBody, RefusedField, bad_request, error, not_found};
pub use ask::{InspectQuery, InspectQuestion, OfProxy, PathPart, route};
pub use permissions::permissions;
pub use resource::{Times, kubernetes, list, stored};
pub use template::render as render_hostname;

use memo::{ListKey, ListRef, Memo, Weigh};
use parts::{In, Out, To, Whole};
use policies::Way;
use rules::Rendered;

/// Whose behaviour is shown where the release's is of no use to anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// The release to the letter.
    Compat,
    /// An unknown inbound is not found, kinds with nothing but resource rules are shown, a policy is named once, and
    /// permissions that nobody enforces are told.
    Native,
}

/// What is live: one revision.
#[derive(Clone, Copy)]
pub struct InspectInput<'a> {
    /// Texts and trees.
    pub documents: &'a Documents,
    /// Kuma's resources.
    pub resources: &'a Resources,
    /// The rule set that `proxies` is of.
    pub profile: &'a Profile,
    /// What resolving found for each proxy, by mesh and place.
    pub proxies: &'a [Vec<Arc<ProxyRules>>],
}

/// What a request brings besides its question.
#[derive(Clone, Copy)]
pub struct InspectCall<'a> {
    /// How the caller reaches the server: scheme, host and port, nothing after them.
    pub base: &'a str,
    /// When a resource was created and changed last.
    pub times: &'a dyn Fn(ObjectId) -> Times,
}

/// Most bytes of whole answers that are held.
const MOST_ANSWERS: usize = 512 << 20;
/// Most bytes of each sort of parts that are held.
const MOST_PARTS: usize = 64 << 20;

/// Answers questions about one revision. Asking needs the same live analysis it was made of.
pub struct Inspector {
    flavour: Flavour,
    /// In the order of the resources.
    meshes: Vec<MeshIndex>,
    /// Objects by the name they are stored under.
    objects: HashMap<Box<str>, SmallVec<[ObjectId; 2]>>,
    /// Objects by identity; made when somebody asks.
    kris: OnceLock<HashMap<Kri, ObjectId>>,
    memo: Memos,
}

/// What was answered before.
struct Memos {
    rules: Memo<(u32, u32), Rendered>,
    to: Memo<ListKey, To>,
    out: Memo<ListKey, Out>,
    inbound: Memo<ListKey, In>,
    whole: Memo<ListKey, Whole>,
    dataplanes: Memo<ObjectId, Vec<u32>>,
}

/// Lookups in one mesh.
#[derive(Default)]
struct MeshIndex {
    /// Proxies, by name: their places.
    dataplanes: HashMap<Box<str>, u32>,
    /// Places of proxies in the order of their names.
    by_name: Vec<u32>,
    /// Which proxies get the same: a number for each, by place.
    slots: Vec<u32>,
    /// What each `to` entry of each policy means.
    meant: OnceLock<Vec<Vec<Vec<DestinationIndex>>>>,
    /// Services by identity: their places among the destinations.
    services: OnceLock<HashMap<Kri, usize>>,
    /// Every port of every service, as JSON.
    everything: OnceLock<Bytes>,
}

/// One mesh of the live analysis.
struct Scope<'a> {
    inspector: &'a Inspector,
    flavour: Flavour,
    live: InspectInput<'a>,
    mesh: &'a MeshResources,
    index: &'a MeshIndex,
    number: u32,
}

impl Inspector {
    /// Prepares lookups. Nothing is answered yet.
    pub fn new(live: InspectInput<'_>, flavour: Flavour) -> Self {
        let mut objects: HashMap<Box<str>, SmallVec<[ObjectId; 2]>> = HashMap::new();
        for (object, meta) in &live.resources.metas {
            objects.entry(meta.name.as_str().into()).or_default().push(*object);
        }
        let meshes = live.resources.meshes.iter().enumerate();
        Self {
            flavour,
            meshes: meshes
                .map(|(m, mesh)| MeshIndex::new(mesh, live.proxies.get(m).map_or(&[], |p| p)))
                .collect(),
            objects,
            kris: OnceLock::new(),
            memo: Memos {
                rules: Memo::new(MOST_ANSWERS),
                to: Memo::new(MOST_PARTS),
                out: Memo::new(MOST_PARTS),
                inbound: Memo::new(MOST_PARTS),
                whole: Memo::new(MOST_PARTS),
                dataplanes: Memo::new(MOST_PARTS),
            },
        }
    }

    /// The answer to a question.
    pub fn answer(
        &self,
        live: InspectInput<'_>,
        call: InspectCall<'_>,
        ask: &InspectQuestion<'_>,
    ) -> InspectAnswer {
        let answered = match ask {
            InspectQuestion::Proxy { mesh, name, what } => self.of_proxy(live, mesh, name, what),
            InspectQuestion::GatewayRules { mesh, name } => self.of_gateway(live, mesh, name),
            InspectQuestion::Dataplanes { mesh, kind, name, checks_mesh, query } => {
                let asked = dataplanes::Asked { kind, name, query, base: call.base };
                self.dataplanes(live, mesh, *checks_mesh, &asked)
            }
            InspectQuestion::Hostnames { mesh, collection, name } => {
                self.hostnames(live, mesh, collection, name)
            }
            InspectQuestion::Kri { kri, query } => self.by_kri(live, call, kri, query),
            InspectQuestion::Kinds => Ok(catalogue::kinds(live.resources.settings.mode)),
            InspectQuestion::PolicyKinds => {
                Ok(catalogue::policy_kinds(live.resources.settings.mode))
            }
        };
        answered.unwrap_or_else(|problem| problem)
    }

    /// The object of a kind, mesh and name; the mesh of kinds that live in none does not matter.
    pub fn find(
        &self,
        live: InspectInput<'_>,
        kind: &ResourceKind,
        mesh: &str,
        name: &str,
    ) -> Option<ObjectId> {
        let objects = self.objects.get(name)?;
        let is_it = |object: &&ObjectId| {
            live.resources.metas.get(*object).is_some_and(|meta| {
                let here = kind.scope == KindScope::Global || meta.mesh == mesh;
                meta.kind == *kind && here
            })
        };
        objects.iter().find(is_it).copied()
    }

    fn of_proxy(
        &self,
        live: InspectInput<'_>,
        mesh: &str,
        name: &str,
        what: &OfProxy<'_>,
    ) -> Result<InspectAnswer, InspectAnswer> {
        if let OfProxy::Config(query) = what {
            config::parameters(query)?;
        }
        let scope = self.scope(live, mesh)?;
        let missing = || not_found("Could not retrieve Dataplane");
        let place = *scope.index.dataplanes.get(name).ok_or_else(missing)? as usize;
        match what {
            OfProxy::Rules => scope.rules(place).ok_or_else(missing),
            OfProxy::Config(_) => Err(config::not_here()),
            _ if !scope.is_exclusive() && self.needs_services() => Err(without_services(what)),
            OfProxy::Layout => Ok(scope.layout(place)),
            OfProxy::Policies => Ok(scope.proxy_policies(place)),
            OfProxy::Inbound(kri) => scope.inbound_policies(place, kri),
            OfProxy::Outbound(kri) => scope.outbound_policies(place, kri, &Way::Policies),
            OfProxy::Routes(kri) => scope.outbound_policies(place, kri, &Way::Routes),
            OfProxy::Route(kri, route) => {
                scope.outbound_policies(place, kri, &Way::OneRoute(route))
            }
        }
    }

    /// Whether a mesh must have its services as resources before some endpoints answer.
    fn needs_services(&self) -> bool {
        self.flavour == Flavour::Compat
    }

    fn of_gateway(
        &self,
        live: InspectInput<'_>,
        mesh: &str,
        name: &str,
    ) -> Result<InspectAnswer, InspectAnswer> {
        let scope = self.scope(live, mesh)?;
        let place = scope.mesh.gateways.iter().position(|g| g.meta.name == name);
        let answer = place.and_then(|place| scope.gateway_rules(place));
        answer.ok_or_else(|| not_found("Could not retrieve MeshGateway"))
    }

    /// A mesh that is there.
    fn scope<'a>(&'a self, live: InspectInput<'a>, name: &str) -> Result<Scope<'a>, InspectAnswer> {
        let scope = self.any_scope(live, name);
        scope.filter(Scope::is_there).ok_or_else(|| not_found("Failed to retrieve Mesh"))
    }

    /// A mesh that is there, or that resources speak of.
    fn any_scope<'a>(&'a self, live: InspectInput<'a>, name: &str) -> Option<Scope<'a>> {
        let meshes = &live.resources.meshes;
        let number = meshes.binary_search_by(|mesh| (*mesh.name).cmp(name)).ok()?;
        Some(Scope {
            inspector: self,
            flavour: self.flavour,
            live,
            mesh: meshes.get(number)?,
            index: self.meshes.get(number)?,
            number: u32::try_from(number).ok()?,
        })
    }
}

/// In 2.13 these endpoints are for meshes whose services are resources.
fn without_services(what: &OfProxy<'_>) -> InspectAnswer {
    let endpoint = if *what == OfProxy::Layout { "_layout" } else { "_policies" };
    bad_request(&format!("can't use {endpoint} endpoint without meshService enabled"))
}

impl MeshIndex {
    fn new(mesh: &MeshResources, proxies: &[Arc<ProxyRules>]) -> Self {
        let mut index = Self::default();
        for (place, read) in (0..).zip(&mesh.dataplanes) {
            index.dataplanes.insert(read.it.meta.name.as_str().into(), place);
            index.by_name.push(place);
        }
        let name = |place: &u32| mesh.dataplanes.get(*place as usize).map(|d| &d.it.meta.name);
        index.by_name.sort_by(|a, b| name(a).cmp(&name(b)));
        // Proxies that no policy can tell apart share what resolving found for them.
        let mut known: HashMap<usize, u32> = HashMap::new();
        for rules in proxies {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            index.slots.push(*known.entry(Arc::as_ptr(rules).addr()).or_insert(next));
        }
        index
    }
}

impl<'a> Scope<'a> {
    fn is_there(&self) -> bool {
        self.mesh.object.is_some() || self.live.resources.settings.labels == LabelSource::Computed
    }

    /// Whether services are resources only.
    fn is_exclusive(&self) -> bool {
        let services = self.mesh.object.and_then(|object| self.spec(object)?.get("meshServices"));
        let mode = services.and_then(|s| s.get("mode")).and_then(|m| m.scalar_text());
        mode == Some("Exclusive")
    }

    fn proxy(&self, place: usize) -> Option<&'a Dataplane> {
        self.mesh.dataplanes.get(place).map(|read| &read.it)
    }

    /// The policies that select a proxy, as resolving found them.
    fn lists(&self, place: usize) -> &'a [Lists] {
        let proxies = self.live.proxies.get(self.number as usize);
        proxies.and_then(|p| p.get(place)).map_or(&[], |rules| rules.lists())
    }

    /// The routes of the mesh. They are the first kind.
    fn routes(&self) -> &'a [Policy] {
        let end = self.mesh.policies.partition_point(|p| *p.kind == HTTP_ROUTE);
        self.mesh.policies.get(..end).unwrap_or(&[])
    }

    /// What an entry means. All entries are looked up together, once.
    fn meant(&self, item: &Item<'_>) -> &'a [DestinationIndex] {
        let all = self.index.meant.get_or_init(|| {
            let index = Index::new(&self.mesh.destinations);
            let of = |p: &Policy| p.to.iter().map(|e| index.resolve(&e.target, &p.meta)).collect();
            self.mesh.policies.iter().map(of).collect()
        });
        let meant = all.get(item.policy.place as usize);
        meant.and_then(|m| m.get(item.entry.index as usize)).map_or(&[], Vec::as_slice)
    }

    fn to(&self, list: &[u32]) -> Arc<To> {
        self.part(&self.inspector.memo.to, list, Self::make_to)
    }

    fn out(&self, list: &[u32]) -> Arc<Out> {
        self.part(&self.inspector.memo.out, list, Self::make_out)
    }

    fn inbound(&self, list: &[u32]) -> Arc<In> {
        self.part(&self.inspector.memo.inbound, list, Self::make_in)
    }

    fn whole(&self, list: &[u32]) -> Arc<Whole> {
        self.part(&self.inspector.memo.whole, list, Self::make_whole)
    }

    /// What a list of policies says, made once.
    fn part<T: Weigh>(
        &self,
        memo: &Memo<ListKey, T>,
        list: &[u32],
        make: fn(&Self, &[u32]) -> T,
    ) -> Arc<T> {
        let key = ListRef(self.number, list);
        memo.get(&key, || key.owned(), || make(self, list))
    }

    fn spec(&self, object: ObjectId) -> Option<View<'a>> {
        self.live.resources.spec(self.live.documents, object)
    }

    /// Who an object is.
    fn meta(&self, object: ObjectId) -> Option<&'a Meta> {
        self.live.resources.metas.get(&object)
    }
}
