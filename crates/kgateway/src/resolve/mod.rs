// SPDX-License-Identifier: Apache-2.0
//! In: policies, the topology and its delegations. Out: the [`Resolution`] of kgateway's kinds under one profile.
//! Not here: reading policies, text for people.
//!
//! ```text
//! attach (generic) + filters of rules ──► steps, ranked ──► the group of each node: policies of one place
//!                                                                │  paths, top-down, once
//!                                                                ▼
//!     path ┬ chain ┬ level of the leaf route:  filters, rule, route        one fold per distinct group,
//!          │       └ levels of its parents                                 chain and path
//!          └ tiers: listener, Gateway                                     ──► Resolution
//! ```

mod algebra;
mod attach;
mod builtin;
mod combine;
mod local;
mod plans;
mod secured;
mod update;
mod values;
mod walk;

use overrule_engine::{
    KeyValues, LadderId, NewKind, PathId, RankKey, RankKeys, Resolution, ResolutionBuilder,
    Subjects,
};
use overrule_family::{ResolveOptions, Resolved, has_kind};
use overrule_gateway::policy as generic;
use overrule_gateway::topology::Gateway;
use overrule_source::Diagnostic;

use crate::delegation::follow;
use crate::family::Kgateway;
use crate::kinds::{ALL, BUILT_IN, KindInfo, TRAFFIC_POLICY};
use crate::{CONTROLLER, FAMILY, Matches, World, findings};

pub(crate) use attach::Filter;
pub(crate) use builtin::BuiltIns;
pub(crate) use plans::{Plans, Role, kind_of, role_of};
pub(crate) use secured::SecuredBackends;
pub(crate) use values::disabling;
pub(crate) use walk::Masks;

/// Keys of a rank, most important first.
pub static KEYS: RankKeys = &[
    RankKey::new("attachment", KeyValues::Strategies),
    RankKey::new("filter", KeyValues::Written("its filter comes later in the rule")),
    RankKey::new("weight", KeyValues::Weights),
    RankKey::CREATED,
    RankKey::NAME,
];

/// The name of what a step does, for explanations.
pub(crate) fn mode_name(mode: u16) -> &'static str {
    local::Class::mode_name(mode)
}

/// Whether the controller serves a Gateway: its class says so, or does not say who does.
pub(crate) fn serves(world: World<'_>, gateway: &Gateway) -> bool {
    let class = world.topology.class(gateway.class);
    let controller = class.map_or("", |c| world.snapshot.text(c.controller));
    controller.is_empty() || controller.starts_with(CONTROLLER)
}

/// What findings are read from.
pub(crate) struct Found<'a> {
    pub(crate) world: World<'a>,
    pub(crate) kinds: &'a [Active],
    pub(crate) resolution: &'a Resolution,
    /// Paths whose rules answer by themselves.
    pub(crate) answering: &'a [PathId],
    /// Whom outcomes are told about.
    pub(crate) subjects: &'a Subjects,
}

/// Resolves every kind under a profile.
pub fn resolve(world: World<'_>, options: &ResolveOptions) -> Resolved<Matches> {
    let World { documents, snapshot, topology, ground: settings, .. } = world;
    let delegations = follow(documents, snapshot, topology, &settings.wildcard_namespace);
    let mut attached = attach::attach(world);
    let built_ins = BuiltIns::read(world);
    let kinds = active(world, options, &built_ins);
    let mut builder = ResolutionBuilder::default();
    for kind in &kinds {
        let (info, rules) = (kind.info, (FAMILY, world.profile.name()));
        let new = NewKind::named(snapshot.names(), (info.group, info.kind), rules, KEYS);
        builder.kind(NewKind { implicit: kind.index == BUILT_IN, ..new });
    }
    let mut diagnostics = std::mem::take(&mut attached.diagnostics);
    let locals = local::build(world, &mut builder, &kinds, &attached, &built_ins);
    let walked = walk::paths(world, &mut builder, &kinds, &locals, &delegations);
    let (matches, masks) = (walked.matches, walked.masks);
    for (kind, mut ladders) in kinds.iter().zip(walked.ladders) {
        // A rule without settings of its own is not a place without a policy, whatever other rules say.
        if kind.index == BUILT_IN && !options.includes(kind.info.kind) {
            ladders.iter_mut().filter(|l| **l == LadderId::EMPTY).for_each(|l| *l = LadderId::NONE);
        }
        builder.set_ladders(kind.id, &ladders);
    }
    let plans = Plans::new(world.profile, settings);
    let algebra = algebra::Kgateway::new(world, &kinds, &locals.contents, (&masks, &plans));
    let resolution = builder.finish(documents, &algebra);
    let mut answering = Vec::new();
    if !options.silent {
        answering = findings::answering(world, &kinds, &resolution, &built_ins);
        let (kinds, resolution, subjects) = (&kinds, &resolution, &Subjects::All);
        let found = Found { world, kinds, resolution, answering: &answering, subjects };
        findings::report(&found, &attached.filters, &delegations, &mut diagnostics);
    }
    Resolved {
        resolution,
        diagnostics,
        extra: Matches { by_path: matches, masks, plans, answering },
    }
}

/// A kind that takes part.
pub(crate) type Active = generic::ActiveKind<KindInfo>;

/// Kinds with policies, those asked for, what routes say themselves, and the TrafficPolicy: it tells what fails.
fn active(world: World<'_>, options: &ResolveOptions, built_ins: &BuiltIns) -> Vec<Active> {
    Active::all(ALL, |index, info| {
        index == TRAFFIC_POLICY
            || has_kind::<Kgateway>(world.policies, index)
            || options.includes(info.kind)
            || (index == BUILT_IN && !built_ins.is_empty())
    })
}

/// References are attached as those of any kind, by kgateway's rules for namespaces and sections.
fn attach_references(world: World<'_>, policies: &[generic::Policy]) -> generic::Attached {
    let options = attach_options(world);
    generic::attach_with(world.snapshot, world.topology, &world.policies.kinds, policies, options)
}

/// What keeps policies from attaching anywhere.
pub(crate) fn judge(world: World<'_>) -> Vec<Diagnostic> {
    let policies: Vec<generic::Policy> =
        world.policies.list.iter().map(|p| attach::generic(world, p)).collect();
    generic::judge(world.snapshot, &world.policies.kinds, &policies, attach_options(world))
}

/// kgateway's rules for namespaces and sections.
fn attach_options(world: World<'_>) -> generic::AttachOptions {
    let global = world.ground.global_namespace.as_deref();
    generic::AttachOptions {
        targets_optional: true,
        equal_names: false,
        counts_twice: world.profile.counts_twice(),
        selects_everywhere: global.and_then(|ns| world.snapshot.names().lookup(ns)),
        sees_mesh: false,
    }
}
