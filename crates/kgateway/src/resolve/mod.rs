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
mod builtin;
mod combine;
mod local;
mod plans;
mod values;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overrule_engine::{
    KindId, LadderId, NewKind, NodeId, PathId, PolicyId, Resolution, ResolutionBuilder,
};
use overrule_gateway::policy as generic;
use overrule_gateway::topology::{GROUP, Gateway, GatewayTopology};
use overrule_model::Snapshot;
use overrule_source::{Diagnostic, Documents, View};

use crate::delegation::{Delegations, Match, follow};
use crate::kinds::{ALL, BUILT_IN, KindInfo, TRAFFIC_POLICY};
use crate::policy::{Policies, Policy};
use crate::{CONTROLLER, FAMILY, Profile, Settings, Strategy, findings};

pub(crate) use builtin::BuiltIns;
pub(crate) use local::{Attached, Filter};
pub(crate) use plans::{Role, role_of};
pub(crate) use values::disabling;

/// Keys of a rank, most important first.
pub static KEYS: &[&str] = &["attachment", "filter", "weight", "created", "name"];

/// What a run wants beyond its input.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Kinds to resolve although no policy of them exists (to list what they do not cover), lower case.
    pub include: Vec<String>,
    /// Leave findings out, for an answer of which nobody reads them.
    pub silent: bool,
}

impl Options {
    /// Whether a kind is asked for by its name.
    fn includes(&self, kind: &KindInfo) -> bool {
        self.include.iter().any(|name| name.eq_ignore_ascii_case(kind.kind))
    }
}

/// The resolution, every finding about it, and what only paths of this family have.
#[derive(Debug, Default)]
pub struct Resolved {
    /// The answer.
    pub resolution: Resolution,
    /// What to tell the user.
    pub diagnostics: Vec<Diagnostic>,
    /// The matches of rules below a delegation; those of other rules are as written.
    pub matches: BTreeMap<PathId, Arc<[Match]>>,
}

/// Everything resolving reads.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Texts and trees.
    pub documents: &'a Documents,
    /// Resources.
    pub snapshot: &'a Snapshot,
    /// The topology.
    pub topology: &'a GatewayTopology,
    /// Policies as written.
    pub policies: &'a Policies,
    /// The rule set.
    pub profile: Profile,
    /// Settings of the controller.
    pub settings: &'a Settings,
}

impl World<'_> {
    /// Whether the controller serves a Gateway: its class says so, or does not say who does.
    pub fn serves(&self, gateway: &Gateway) -> bool {
        let class = self.topology.class(gateway.class);
        let controller = class.map_or("", |c| self.snapshot.text(c.controller));
        controller.is_empty() || controller.starts_with(CONTROLLER)
    }

    /// Namespace, kind and name of every backend that a BackendTLSPolicy targets.
    pub(crate) fn tls_targets(&self) -> BTreeSet<(&str, &str, &str)> {
        let mut targets = BTreeSet::new();
        for object in self.snapshot.of_kind(GROUP, "BackendTLSPolicy") {
            let spec = self.documents.view(object.root).get("spec");
            let refs = spec.and_then(|s| s.get("targetRefs")).into_iter().flat_map(View::items);
            for reference in refs {
                let member = |key| reference.get(key).and_then(View::as_str).unwrap_or("");
                let namespace = self.snapshot.text(object.scope.name());
                targets.insert((namespace, member("kind"), member("name")));
            }
        }
        targets
    }

    /// Whether a node is one of these targets.
    pub(crate) fn is_target(&self, targets: &BTreeSet<(&str, &str, &str)>, node: NodeId) -> bool {
        let text = |sym| self.snapshot.text(sym);
        let node = self.topology.nodes.get(node);
        node.is_some_and(|n| targets.contains(&(text(n.namespace), text(n.kind), text(n.name))))
    }

    /// A policy by its number; routes that count as policies have none.
    pub(crate) fn policy(&self, id: PolicyId) -> Option<&Policy> {
        self.policies.list.get(id.0 as usize)
    }

    /// The strategy by which policies of an object meet those below it.
    pub(crate) fn strategy(&self, object: overrule_model::ObjectId) -> Strategy {
        crate::policy::strategy(self.documents, self.snapshot, object)
    }
}

/// The name of what a step does, for explanations.
pub fn strategy_name(mode: u16) -> &'static str {
    local::Class::mode_name(mode)
}

/// Everything found on the way to a resolution; findings and statuses read it.
pub(crate) struct Found<'a> {
    pub(crate) world: World<'a>,
    pub(crate) kinds: &'a [Active],
    pub(crate) attached: &'a Attached,
    pub(crate) delegations: &'a Delegations,
    pub(crate) built_ins: &'a BuiltIns,
    pub(crate) resolution: &'a Resolution,
}

/// Resolves every kind under a profile.
pub fn resolve(world: World<'_>, options: &Options) -> Resolved {
    let World { documents, snapshot, topology, settings, .. } = world;
    let delegations = follow(documents, snapshot, topology, &settings.wildcard_namespace);
    let mut attached = local::attach(world);
    let built_ins = BuiltIns::read(world);
    let kinds = Active::all(world, options, &built_ins);
    let mut builder = ResolutionBuilder::default();
    let sym = |text| snapshot.names().lookup(text).unwrap_or_default();
    for kind in &kinds {
        builder.kind(NewKind {
            group: sym(kind.info.group),
            kind: sym(kind.info.kind),
            family: FAMILY,
            profile: world.profile.name(),
            keys: KEYS,
            assumed: false,
            covers: None,
            implicit: kind.index == BUILT_IN,
        });
    }
    let mut diagnostics = std::mem::take(&mut attached.diagnostics);
    let locals = local::build(world, &mut builder, &kinds, &attached, &built_ins);
    let walked = walk::paths(world, &mut builder, &kinds, &locals, &delegations);
    let (matches, masks) = (walked.matches, walked.masks);
    for (kind, mut ladders) in kinds.iter().zip(walked.ladders) {
        // A rule that says nothing itself is no place without a policy, whatever other rules say.
        if kind.index == BUILT_IN && !options.includes(kind.info) {
            ladders.iter_mut().filter(|l| **l == LadderId::EMPTY).for_each(|l| *l = LadderId::NONE);
        }
        builder.set_ladders(kind.id, &ladders);
    }
    let algebra = algebra::Kgateway::new(world, &kinds, &locals.contents, masks);
    let resolution = builder.finish(documents, &algebra);
    let found = Found {
        world,
        kinds: &kinds,
        attached: &attached,
        delegations: &delegations,
        built_ins: &built_ins,
        resolution: &resolution,
    };
    if !options.silent {
        findings::report(&found, &mut diagnostics);
    }
    Resolved { resolution, diagnostics, matches }
}

/// A kind that takes part.
pub(crate) struct Active {
    pub(crate) id: KindId,
    /// Index in [`ALL`].
    pub(crate) index: usize,
    pub(crate) info: &'static KindInfo,
}

impl Active {
    /// Kinds with policies, those asked for, what routes say themselves, and the TrafficPolicy: it tells what fails.
    fn all(world: World<'_>, options: &Options, built_ins: &BuiltIns) -> Vec<Self> {
        let policies = &world.policies.list;
        let used = |index: usize| policies.binary_search_by_key(&index, |p| p.kind).is_ok();
        let takes_part = |(index, info): &(usize, &KindInfo)| {
            *index == TRAFFIC_POLICY
                || used(*index)
                || options.includes(info)
                || (*index == BUILT_IN && !built_ins.is_empty())
        };
        let found = ALL.iter().enumerate().filter(takes_part);
        (0..).map(KindId).zip(found).map(|(id, (index, info))| Self { id, index, info }).collect()
    }
}

/// References are attached as those of any kind, by kgateway's rules for namespaces and sections.
fn attach_references(world: World<'_>) -> generic::Attached {
    let policies: Vec<generic::Policy> =
        world.policies.list.iter().map(|p| local::generic(world, p)).collect();
    let global = world.settings.global_namespace.as_deref();
    let options = generic::AttachOptions {
        targets_optional: true,
        counts_twice: world.profile.counts_twice(),
        selects_everywhere: global.and_then(|ns| world.snapshot.names().lookup(ns)),
    };
    generic::attach_with(world.snapshot, world.topology, &world.policies.kinds, &policies, options)
}
