// SPDX-License-Identifier: Apache-2.0
//! In: policies and the topology. Out: the [`Resolution`] of Kuadrant's kinds under one profile. Not here: reading
//! policies, text for people.
//!
//! ```text
//! policies ── attach (generic) ── conflicts of direct kinds ──► steps: defaults, bare, overrides, removal list
//!                                                                  │  paths the profile sees, top-down, once
//!                                                                  ▼
//!                        ladder per (kind, path) ── fold from the bottom, once per distinct ladder ──► Resolution
//! ```

mod algebra;
mod contexts;
mod data;
mod local;
mod update;
mod watch;

use overrule_engine::{
    Attachment, KeyValues, NewKind, PolicyId, RankKey, RankKeys, Rejection, ResolutionBuilder,
};
use overrule_family::{ResolveOptions, Resolved, has_kind};
use overrule_gateway::policy as generic;
use overrule_gateway::walk::walk;
use overrule_source::Diagnostic;

use crate::family::Kuadrant;
use crate::kinds::{ALL, KindInfo, MergeClass};
use crate::policy::Policy;
use crate::{FAMILY, Profile, World, findings};

pub(crate) use local::Mode;
pub(crate) use watch::{RuleOf, Watch};

/// Keys of a rank, most important first.
pub static KEYS: RankKeys =
    &[RankKey::LEVEL, RankKey::CREATED, RankKey::NAME, RankKey::new("block", KeyValues::Blocks)];

/// Resolves every kind under a profile.
pub fn resolve(world: World<'_>, options: &ResolveOptions) -> Resolved {
    let has_policies = |index| has_kind::<Kuadrant>(world.policies, index);
    let kinds = Active::all(ALL, |index, info| has_policies(index) || options.includes(info.kind));
    let mut attached = attach(world);
    let conflicts = local::conflicts(world, &mut attached);
    let mut builder = ResolutionBuilder::default();
    for kind in &kinds {
        let covers = match kind.info.class {
            MergeClass::Generates { kind: other, .. } => {
                kinds.iter().find(|k| k.info.kind == other).map(|k| k.id)
            }
            MergeClass::Inherited | MergeClass::Direct => None,
        };
        let (names, rules) = (world.snapshot.names(), (FAMILY, world.profile.name()));
        let new = NewKind::named(names, (kind.info.group, kind.info.kind), rules, KEYS);
        builder.kind(NewKind { covers, ..new });
    }
    for policy in &world.policies.list {
        if let Some(kind) = kinds.iter().find(|k| k.index == policy.kind) {
            builder.policy(policy.object, kind.id);
        }
    }
    attached.attachments.iter().for_each(|a| builder.attach(*a));
    attached.rejections.iter().for_each(|r| builder.reject(*r));
    let locals = local::build(world, &mut builder, &kinds, &attached.attachments);
    let mut contexts = contexts::Paths { profile: world.profile, kinds: &kinds, locals: &locals };
    let walked = walk(world.topology, &mut builder, &mut contexts);
    for (kind, ladders) in kinds.iter().zip(walked.ladders) {
        builder.set_ladders(kind.id, &ladders);
    }
    let owners: Vec<PolicyId> = builder.ladders.all_steps().map(|s| s.policy).collect();
    let algebra = algebra::Kuadrant::new(world, &kinds, &locals.contents).watched(owners);
    let resolution = builder.finish(world.documents, &algebra);
    let watch = algebra.watch();
    let mut diagnostics = attached.diagnostics;
    if !options.silent {
        findings::report(world, &resolution, &conflicts, &watch, &mut diagnostics);
    }
    Resolved { resolution, diagnostics, extra: () }
}

/// A kind that takes part.
pub(crate) type Active = generic::ActiveKind<KindInfo>;

/// Target references are attached as those of any kind; an invalid policy attaches nowhere.
fn attach(world: World<'_>) -> generic::Attached {
    let (kinds, policies) = (&world.policies.kinds, generic_policies(world));
    let options = attach_options(world.profile);
    generic::attach_with(world.snapshot, world.topology, kinds, &policies, options)
}

fn attach_options(profile: Profile) -> generic::AttachOptions {
    generic::AttachOptions { equal_names: profile.equal_names(), ..Default::default() }
}

/// What keeps policies from attaching anywhere.
pub(crate) fn judge(world: World<'_>) -> Vec<Diagnostic> {
    let (options, policies) = (attach_options(world.profile), generic_policies(world));
    generic::judge(world.snapshot, &world.policies.kinds, &policies, options)
}

/// Policies as generic attachment wants them.
fn generic_policies(world: World<'_>) -> Vec<generic::Policy> {
    world.policies.list.iter().map(|policy| as_generic(world.profile, policy)).collect()
}

fn as_generic(profile: Profile, policy: &Policy) -> generic::Policy {
    generic::Policy {
        object: policy.object,
        kind: policy.kind,
        references: local(profile, &policy.references),
        content: policy.is_valid(profile).then_some(generic::PolicyContent {
            block: "bare",
            value: policy.spec,
            strategy: overrule_gateway::kinds::Strategy::None,
        }),
        at: policy.at,
    }
}

/// The shipped CRDs have no namespace in a reference, so the API server drops it.
fn local(profile: Profile, references: &[generic::Reference]) -> Box<[generic::Reference]> {
    let mut references: Box<[_]> = references.into();
    if profile.follows_crds() {
        references.iter_mut().for_each(|r| r.namespace = None);
    }
    references
}

/// A direct policy that lost its target to an older one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conflict {
    pub(crate) attachment: Attachment,
    pub(crate) by: PolicyId,
}

impl Conflict {
    pub(crate) fn rejection(&self) -> Rejection {
        let Attachment { policy, reference, at, .. } = self.attachment;
        Rejection { policy, reference, reason: &crate::reasons::CONFLICTED, at }
    }
}
