// SPDX-License-Identifier: Apache-2.0
//! In: what going through the policies gave. Out: the [`Resolution`] of Envoy Gateway's kinds under one profile. Not
//! here: claims and statuses (`plan`).
//!
//! ```text
//! plan ──► row (listener, route, rule): its candidates, the most specific first, and what is done with each: a recipe
//!              │ rows with equal candidates and recipes share a ladder
//!              ▼
//!          fold: the recipe is carried out ──► Resolution
//! ```

mod algebra;
mod recipe;
mod rows;
mod upper;
mod walk;

use overrule_engine::{
    KeyValues, KindId, NewKind, PathId, RankKey, RankKeys, Resolution, ResolutionBuilder,
};
use overrule_family::{Extra, ResolveOptions, Resolved};

use crate::kinds::{ALL, KindInfo};
use crate::plan::Plan;
use crate::{FAMILY, World, findings};

pub(crate) use recipe::Recipes;

/// Keys of a rank, most important first.
pub static KEYS: RankKeys = &[
    RankKey::new(
        "target",
        KeyValues::Targets(&[
            "a rule",
            "a route",
            "a listener",
            "a ListenerSet",
            "a Gateway",
            "a GatewayClass",
        ]),
    ),
    RankKey::CREATED,
    RankKey::NAME,
];

/// What only Envoy Gateway's answers have.
#[derive(Debug, Default)]
pub struct Routing {
    /// Paths whose traffic does not go to endpoints directly, or that say that it does: by path.
    by_path: Vec<(PathId, bool)>,
}

impl Extra for Routing {
    fn fact(&self, path: PathId, name: &str) -> Option<String> {
        if name != "routing" {
            return None;
        }
        let place = self.by_path.binary_search_by_key(&path, |(path, _)| *path).ok();
        let to_service = place.and_then(|place| self.by_path.get(place)).is_some_and(|(_, to)| *to);
        Some(if to_service { "Service" } else { "Endpoint" }.to_owned())
    }
}

/// A kind that takes part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Active {
    pub(crate) id: KindId,
    /// Its number in [`ALL`].
    pub(crate) number: usize,
    pub(crate) info: &'static KindInfo,
}

impl Active {
    /// Kinds with policies, and those asked for.
    fn all(world: World<'_>, options: &ResolveOptions) -> Vec<Self> {
        let used = |number| world.policies.of_kind(number).next().is_some();
        let found = ALL.iter().enumerate();
        let found = found.filter(|(number, info)| used(*number) || options.includes(info.kind));
        (0..).map(KindId).zip(found).map(|(id, (number, info))| Self { id, number, info }).collect()
    }
}

/// Resolves every kind under a profile.
pub fn resolve(world: World<'_>, options: &ResolveOptions) -> Resolved<Routing> {
    let plan = Plan::new(world);
    let kinds = Active::all(world, options);
    let mut builder = ResolutionBuilder::default();
    for kind in &kinds {
        let own = kind.info.own();
        let rules = (FAMILY, world.profile.name());
        builder.kind(NewKind::named(world.snapshot.names(), (own.group, own.kind), rules, KEYS));
    }
    for policy in &world.policies.list {
        let kind = kinds.iter().find(|kind| kind.number == policy.kind).map(|kind| kind.id);
        builder.policy(policy.object, kind.unwrap_or(KindId(0)));
    }
    plan.attachments.iter().for_each(|attachment| builder.attach(*attachment));
    plan.rejections.iter().for_each(|rejection| builder.reject(*rejection));
    let walked = walk::paths(&plan, &mut builder, &kinds);
    for (kind, ladders) in kinds.iter().zip(&walked.ladders) {
        builder.set_ladders(kind.id, ladders);
    }
    let algebra = algebra::FirstTakes::new(world, &walked.recipes, &plan.plans);
    let resolution = match walked.recipes.has_units {
        true => builder.finish(world.documents, &algebra),
        false => builder.finish_in_parallel(world.documents, &algebra),
    };
    let mut diagnostics = Vec::new();
    if !options.silent {
        let found = Found { plan: &plan, resolution: &resolution };
        findings::report(&found, &mut diagnostics);
    }
    Resolved { resolution, diagnostics, extra: Routing { by_path: walked.routing } }
}

/// What findings are read from.
pub(crate) struct Found<'a, 'p> {
    pub(crate) plan: &'a Plan<'p>,
    pub(crate) resolution: &'a Resolution,
}
