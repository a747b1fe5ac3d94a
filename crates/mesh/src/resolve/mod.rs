// SPDX-License-Identifier: Apache-2.0
//! In: the resources of all meshes and their nodes. Out: the [`Resolution`] of Kuma's policies under one profile.
//! Not here: reading resources, text for people.
//!
//! ```text
//! proxies ──► shapes: what policies can tell apart           shape
//!               │ per shape and kind: who selects it, in order
//!               ▼
//!         lists of policies ──► ladders by destination, for inbounds, for the proxy     ladders, plans
//!               │ per proxy
//!               ▼
//!             paths ──► Resolution                            walk
//! ```

mod candidates;
mod egress;
mod found;
mod ladders;
mod land;
mod lists;
mod plans;
pub mod reasons;
mod shape;
mod update;
mod walk;

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use overrule_engine::{KindId, LadderId, NewKind, PolicyId, Resolution, ResolutionBuilder};
use overrule_model::{ObjectId, Snapshot};
use overrule_source::Documents;

use crate::conf::Plan;
use crate::dataplane::{Dataplane, Inbound, InboundListener};
use crate::gate::PermissionList;
use crate::kinds::{self, ResourceKind};
use crate::matched::{Matched, in_order};
use crate::order::{Names, rank_keys};
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resources::{GROUP, MeshResources, Resources};
use crate::select::HostListener;
use crate::select::gateways::GatewayIndex;
use crate::steps::Steps;
use crate::targets::{DestinationIndex, Index};
use crate::topology::{MeshNodes, MeshTopology};

pub use found::{FoundMesh, MeshFacts};
pub use ladders::Outbounds;
pub(crate) use lists::taking_part;
pub use lists::{AtPort, Lists};
pub(crate) use update::update;

use candidates::{Candidates, Selecting};
use ladders::{Inbounds, Ladders, List};
use lists::places;
use plans::Spec;
use shape::Shapes;

/// The family's name.
pub const FAMILY: &str = "kuma";

/// Everything resolving reads.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Texts and trees.
    pub documents: &'a Documents,
    /// Resources as read.
    pub snapshot: &'a Snapshot,
    /// Kuma's resources.
    pub resources: &'a Resources,
    /// Their nodes.
    pub topology: &'a MeshTopology,
    /// The rule set.
    pub profile: &'a Profile,
}

/// What a run wants beyond its input.
#[derive(Debug, Clone, Default)]
pub struct ProxyOptions {
    /// Kinds to resolve although no policy of them is there, lower case.
    pub include: Vec<String>,
    /// Proxies and destinations whose paths must be there, however many there are of others.
    pub focus: BTreeSet<ObjectId>,
    /// Other rule sets to compare with: what policies name under them has paths too.
    pub beside: Vec<Profile>,
    /// Most paths to destinations; 0 for the usual. With more, only one proxy of each shape has them.
    pub most_paths: usize,
}

/// The resolution, and what was learned on the way.
#[derive(Debug, Default)]
pub struct MeshResolution {
    /// The answer.
    pub resolution: Resolution,
    /// What findings tell about.
    pub found: MeshFacts,
    /// Proxies whose paths to destinations are left out, because one that sends by the same rules has them.
    pub alike: usize,
    /// What each proxy gets, by mesh and place, for lookups; then what each external service gets.
    pub proxies: Vec<Vec<Arc<ProxyRules>>>,
    /// How confs of each kind become one.
    pub plans: Vec<Plan>,
    /// How many lists of permissions there are.
    pub permission_lists: u32,
}

/// What a proxy gets.
#[derive(Debug, Default)]
pub struct ProxyRules {
    /// By kind, in the order of [`Resolution::kinds`].
    kinds: Vec<KindRules>,
    /// The MeshGateway that configures it, by place.
    gateway: Option<usize>,
    /// Permissions that select each inbound, by place.
    permissions: Vec<Arc<PermissionList>>,
    /// Policies of each kind that select the proxy; kinds of which none does are left out.
    lists: Vec<Lists>,
}

impl ProxyRules {
    /// The permissions that select an inbound, by place.
    pub fn permissions(&self, inbound: usize) -> Option<&Arc<PermissionList>> {
        self.permissions.get(inbound)
    }

    /// Which policies select the proxy, by kind in the order of answers; kinds of which none does are left out.
    pub fn lists(&self) -> &[Lists] {
        &self.lists
    }

    /// What tells apart proxies that send by other rules: where their rules stand, which does not change.
    fn outbound_lists(&self) -> Vec<usize> {
        let at = |to: &Option<Arc<Outbounds>>| to.as_ref().map_or(0, |to| Arc::as_ptr(to).addr());
        let own = |k: &KindRules| {
            let listeners = k.listeners.iter().map(|(_, to)| at(to));
            std::iter::once(at(&k.to)).chain(listeners).collect::<Vec<usize>>()
        };
        self.kinds.iter().flat_map(own).collect()
    }

    /// What a kind says about destinations; none if it says nothing about any.
    pub fn outbounds(&self, kind: KindId) -> Option<&Outbounds> {
        self.kinds.get(kind.0 as usize)?.to.as_deref()
    }
}

/// What policies of one kind do at proxies of one shape.
#[derive(Debug, Default)]
struct KindRules {
    single: Option<LadderId>,
    to: Option<Arc<Outbounds>>,
    /// By place of the inbound.
    inbounds: Vec<Option<Arc<Inbounds>>>,
    /// By place of the listener of the gateway.
    listeners: Vec<AtListener>,
    /// Routes that select the proxy, by place; only of the kind of routes.
    routes: Vec<u32>,
}

/// What comes in at a listener of a gateway, and where it may go.
type AtListener = (Option<Arc<Inbounds>>, Option<Arc<Outbounds>>);

/// A kind that is resolved.
struct Active {
    kind: &'static ResourceKind,
    id: KindId,
    spec: Spec,
}

/// Whether anything of Kuma's is there or asked for.
pub fn concerns(resources: &Resources, asked: &[String]) -> bool {
    let ours = |word: &String| kinds::policies().any(|(k, _)| k.name.eq_ignore_ascii_case(word));
    !resources.meshes.is_empty() || asked.iter().any(ours)
}

/// Resolves every kind under a profile.
pub fn resolve(world: World<'_>, options: &ProxyOptions) -> MeshResolution {
    let World { documents, resources, topology, .. } = world;
    let mut builder = ResolutionBuilder::default();
    let active = active(world, options, &mut builder);
    let ids = policy_ids(resources, &active, &mut builder);
    let all = resources.meshes.iter().flat_map(|m| &m.policies);
    let names = Names::new(all);
    let mut steps = Steps::new(documents);
    let mut walk = walk::Walk::new(active.len(), options);
    let mut resolved = MeshResolution::default();
    for (mesh, (nodes, ids)) in resources.meshes.iter().zip(topology.meshes.iter().zip(&ids)) {
        let one = OneMesh { world, mesh, nodes, ids, active: &active };
        one.resolve(&mut builder, &mut steps, &names, &mut walk, &mut resolved);
    }
    resolved.alike = walk.alike;
    for (kind, ladders) in active.iter().zip(walk.ladders) {
        builder.set_ladders(kind.id, &ladders);
    }
    let plans = plans::plans(&steps);
    resolved.resolution = builder.finish(documents, &steps.confs.algebra(&plans));
    resolved.plans = plans;
    resolved
}

/// The kinds to resolve: those that have policies, and those asked for.
fn active(
    world: World<'_>,
    options: &ProxyOptions,
    builder: &mut ResolutionBuilder,
) -> Vec<Active> {
    let names = world.snapshot.names();
    let has = |kind: &ResourceKind| {
        let mut all = world.resources.meshes.iter().flat_map(|m| &m.policies);
        all.any(|p| p.kind == kind)
            || options.include.iter().any(|word| word.eq_ignore_ascii_case(kind.name))
    };
    let keys = rank_keys(world.profile);
    let mut active = Vec::new();
    for (kind, _) in kinds::policies().filter(|(k, _)| has(k)) {
        let (Some(group), Some(name)) = (names.lookup(GROUP), names.lookup(kind.name)) else {
            continue;
        };
        let id = builder.kind(NewKind {
            group,
            kind: name,
            family: FAMILY,
            profile: world.profile.name(),
            keys,
            assumed: false,
            covers: None,
            implicit: false,
        });
        active.push(Active { kind, id, spec: Spec::of(kind) });
    }
    active
}

/// Ids of policies, by mesh and place. They are numbered by kind and object, over all meshes.
fn policy_ids(
    resources: &Resources,
    active: &[Active],
    builder: &mut ResolutionBuilder,
) -> Vec<Vec<PolicyId>> {
    let mut ids: Vec<Vec<PolicyId>> =
        resources.meshes.iter().map(|m| vec![PolicyId(u32::MAX); m.policies.len()]).collect();
    let mut order: Vec<(u16, ObjectId, usize, usize)> = Vec::new();
    for (m, mesh) in resources.meshes.iter().enumerate() {
        for (place, (policy, object)) in mesh.policies.iter().zip(&mesh.policy_objects).enumerate()
        {
            let kind = active.iter().find(|a| a.kind == policy.kind);
            order.extend(kind.map(|k| (k.id.0, *object, m, place)));
        }
    }
    order.sort_unstable();
    for (kind, object, mesh, place) in order {
        let id = builder.policy(object, KindId(kind));
        if let Some(slot) = ids.get_mut(mesh).and_then(|m| m.get_mut(place)) {
            *slot = id;
        }
    }
    ids
}

/// One mesh being resolved.
struct OneMesh<'a> {
    world: World<'a>,
    mesh: &'a MeshResources,
    nodes: &'a MeshNodes,
    ids: &'a [PolicyId],
    active: &'a [Active],
}

impl<'a> OneMesh<'a> {
    fn resolve(
        &self,
        builder: &mut ResolutionBuilder,
        steps: &mut Steps<'a>,
        names: &Names,
        walk: &mut walk::Walk<'_>,
        resolved: &mut MeshResolution,
    ) {
        let mesh = self.mesh;
        let index = Index::new(&mesh.destinations);
        let meant: Vec<Vec<Vec<_>>> = mesh
            .policies
            .iter()
            .map(|p| p.to.iter().map(|e| index.resolve(&e.target, &p.meta)).collect())
            .collect();
        let count = |list: &Vec<Vec<_>>| -> Vec<u32> {
            list.iter().map(|m| u32::try_from(m.len()).unwrap_or(u32::MAX)).collect()
        };
        let found = FoundMesh {
            selected: vec![0; mesh.policies.len()],
            meant: meant.iter().map(count).collect(),
            ..FoundMesh::default()
        };
        let mut ladders = Ladders {
            documents: self.world.documents,
            profile: self.world.profile,
            mesh,
            ids: self.ids,
            names,
            top: self.world.topology.top,
            steps,
            builder,
            found,
            meant,
            to: HashMap::new(),
            inbound: HashMap::new(),
            permission_lists: HashMap::new(),
            first_permission_list: resolved.permission_lists,
        };
        let lists = self.lists();
        let live: Vec<&Policy> = lists.iter().flatten().copied().collect();
        let routes: Vec<Policy> =
            live.iter().filter(|p| *p.kind == kinds::HTTP_ROUTE).map(|p| (*p).clone()).collect();
        let shapes = Shapes::new(&mesh.dataplanes, &live);
        let mut selected: Vec<Vec<u32>> = vec![Vec::new(); mesh.policies.len()];
        let mut rules: Vec<Arc<ProxyRules>> = Vec::with_capacity(shapes.first.len());
        let profile = self.world.profile;
        let candidates: Vec<Candidates<'_>> =
            lists.iter().map(|l| Candidates::new(profile, l)).collect();
        let gateways = GatewayIndex::new(&mesh.gateways);
        let selecting = Selecting { candidates: &candidates, gateways: &gateways, routes: &routes };
        for (shape, place) in (0..).zip(&shapes.first) {
            let made = self.shape(*place, selecting, &mut ladders, &mut |policy| {
                if let Some(shapes) = selected.get_mut(policy as usize) {
                    shapes.push(shape);
                }
            });
            rules.push(Arc::new(made));
        }
        self.land(&shapes, &selected, &mut ladders);
        let mut proxies: Vec<Arc<ProxyRules>> =
            shapes.of.iter().filter_map(|shape| rules.get(*shape as usize).cloned()).collect();
        proxies.extend(self.at_egress(&lists, &mut ladders));
        let beside = self.named_beside(&walk.options.beside, &shapes, &lists, selecting, &ladders);
        walk.mesh(self, &shapes, &rules, &beside, &mut ladders);
        resolved.permission_lists = ladders.next_permission_list();
        resolved.found.meshes.push(ladders.found);
        resolved.proxies.push(proxies);
    }

    /// Policies of each active kind that take part.
    fn lists(&self) -> Vec<Vec<&'a Policy>> {
        let World { resources, profile, .. } = self.world;
        self.active.iter().map(|a| taking_part(resources, self.mesh, profile, a.kind)).collect()
    }

    /// What policies name for proxies of each shape under other rule sets.
    fn named_beside(
        &self,
        profiles: &[Profile],
        shapes: &Shapes,
        lists: &[Vec<&'a Policy>],
        selecting: Selecting<'_, 'a>,
        ladders: &Ladders<'_, '_>,
    ) -> Vec<BTreeSet<DestinationIndex>> {
        let mut named = vec![BTreeSet::new(); shapes.first.len()];
        let others = profiles.iter().filter(|p| *p != self.world.profile);
        for profile in others {
            let candidates: Vec<Candidates<'_>> =
                lists.iter().map(|list| Candidates::new(profile, list)).collect();
            for (place, named) in shapes.first.iter().zip(&mut named) {
                let Some(proxy) = self.mesh.dataplanes.get(*place) else { continue };
                let gateway = selecting.gateways.of(&proxy.it);
                let gateway = gateway.and_then(|g| self.mesh.gateways.get(g));
                let context = selecting.context(gateway, profile);
                for list in &candidates {
                    let list = list.of(&proxy.it, gateway);
                    for (policy, _) in Matched::new(context, &list, &proxy.it).policies {
                        let meant = ladders.meant.get(policy.place as usize);
                        named.extend(meant.into_iter().flatten().flatten().copied());
                    }
                }
            }
        }
        let is_mesh = |place: &DestinationIndex| {
            let target = self.mesh.destinations.get(place.0 as usize);
            target.is_none_or(|t| t.meta.kind == kinds::MESH)
        };
        named.iter_mut().for_each(|places| places.retain(|place| !is_mesh(place)));
        named
    }

    /// What proxies of a shape get; `selected` is told every policy that selects them.
    fn shape(
        &self,
        place: usize,
        selecting: Selecting<'_, 'a>,
        ladders: &mut Ladders<'_, '_>,
        selected: &mut dyn FnMut(u32),
    ) -> ProxyRules {
        let Some(proxy) = self.mesh.dataplanes.get(place).map(|d| &d.it) else {
            return ProxyRules::default();
        };
        let place = selecting.gateways.of(proxy);
        let near = place.and_then(|place| self.mesh.gateways.get(place));
        let context = selecting.context(near, self.world.profile);
        // A MeshGateway only configures proxies that leave their listeners to it.
        let gateway = place.filter(|_| proxy.is_built_in());
        let unguarded =
            proxy.inbounds.iter().map(|_| ladders.permission_list(List::new())).collect();
        let mut made = ProxyRules { gateway, permissions: unguarded, ..ProxyRules::default() };
        for (active, list) in self.active.iter().zip(selecting.candidates) {
            let list = list.of(proxy, near);
            let matched = Matched::new(context, &list, proxy);
            for (policy, why) in &matched.warnings {
                let known = ladders.found.unresolved.entry(policy.place);
                known.or_insert_with(|| why.clone());
            }
            matched.policies.iter().for_each(|(p, _)| selected(p.place));
            if *active.kind == kinds::TRAFFIC_PERMISSION {
                let lists = at_inbounds(proxy, &matched).into_iter();
                made.permissions = lists.map(|list| ladders.permission_list(list)).collect();
            }
            let all = matched.all();
            made.lists.extend(Lists::new(active.kind, proxy, &matched, &all));
            made.kinds.push(self.kind(active, proxy, gateway, &matched, &all, ladders));
        }
        made
    }

    fn kind(
        &self,
        active: &Active,
        proxy: &Dataplane,
        gateway: Option<usize>,
        matched: &Matched<'_>,
        all: &[&Policy],
        ladders: &mut Ladders<'_, '_>,
    ) -> KindRules {
        let Some(holds) = active.kind.policy else { return KindRules::default() };
        let list = places(all);
        let mut rules = KindRules::default();
        if holds.single {
            rules.single = Some(ladders.single(active.spec, &list));
        }
        if *active.kind == kinds::HTTP_ROUTE {
            rules.routes = list.clone();
        }
        let inbound = holds.rules || holds.from;
        if let Some(gateway) = gateway {
            let listeners = self.mesh.gateways.get(gateway).map_or(&[][..], |g| &g.listeners);
            for listener in listeners {
                let at = HostListener {
                    listener: InboundListener {
                        address: proxy.address.clone(),
                        port: listener.port,
                    },
                    hostname: listener.hostname.clone(),
                };
                let here = matched.policies.iter().filter(|(_, s)| s.listeners.contains(&at));
                let here: Vec<&Policy> = here.map(|(p, _)| *p).collect();
                let here = places(&in_order(self.world.profile, &here));
                rules.listeners.push((
                    inbound.then(|| ladders.inbounds(active.spec, &here)),
                    holds.to.then(|| ladders.outbounds(active.spec, &here)),
                ));
            }
            return rules;
        }
        if holds.to {
            rules.to = Some(ladders.outbounds(active.spec, &list));
        }
        if inbound {
            let lists = at_inbounds(proxy, matched);
            // Inbounds that listen at one place have what any of them has.
            for here in lists {
                rules.inbounds.push(Some(ladders.inbounds(active.spec, &here)));
            }
        }
        rules
    }
}

/// The policies that select each inbound, by place, in merge order.
fn at_inbounds(proxy: &Dataplane, matched: &Matched<'_>) -> Vec<List> {
    let by_listener = matched.inbounds();
    let here = |i: &Inbound| by_listener.get(&i.listener).map(|list| places(list));
    proxy.inbounds.iter().map(|i| here(i).unwrap_or_default()).collect()
}
