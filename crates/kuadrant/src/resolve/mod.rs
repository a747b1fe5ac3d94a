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
mod watch;

use overrule_engine::{
    Attachment, KeyValues, KindId, NewKind, PolicyId, RankKey, RankKeys, Rejection,
    ResolutionBuilder,
};
use overrule_family::{Options, Resolved};
use overrule_gateway::policy as generic;
use overrule_gateway::walk::walk;

use crate::kinds::{ALL, KindInfo, MergeClass};
use crate::policy::Policy;
use crate::{FAMILY, Profile, World, findings};

pub(crate) use local::Mode;
pub(crate) use watch::{RuleOf, Watch};

/// Keys of a rank, most important first.
pub static KEYS: RankKeys =
    &[RankKey::LEVEL, RankKey::CREATED, RankKey::NAME, RankKey::new("block", KeyValues::Blocks)];

/// Resolves every kind under a profile.
pub fn resolve(world: World<'_>, options: &Options) -> Resolved {
    let policies = &world.policies.list;
    let kinds = Active::all(policies, options);
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
    for policy in policies {
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
    let algebra = algebra::Kuadrant::new(world, &kinds, &locals.contents, owners);
    let resolution = builder.finish(world.documents, &algebra);
    let watch = algebra.watch();
    let mut diagnostics = attached.diagnostics;
    if !options.silent {
        findings::report(world, &resolution, &conflicts, &watch, &mut diagnostics);
    }
    Resolved { resolution, diagnostics, extra: () }
}

/// A kind that takes part.
pub(crate) struct Active {
    pub(crate) id: KindId,
    /// Index in [`ALL`].
    pub(crate) index: usize,
    pub(crate) info: &'static KindInfo,
}

impl Active {
    /// Kinds with policies, those asked for, and those that stand for them.
    fn all(policies: &[Policy], options: &Options) -> Vec<Self> {
        let used = |index: usize| policies.binary_search_by_key(&index, |p| p.kind).is_ok();
        let takes_part =
            ALL.iter().enumerate().filter(|(i, k)| used(*i) || options.includes(k.kind));
        (0..)
            .map(KindId)
            .zip(takes_part)
            .map(|(id, (index, info))| Self { id, index, info })
            .collect()
    }
}

/// Target references are attached as those of any kind; an invalid policy attaches nowhere.
fn attach(world: World<'_>) -> generic::Attached {
    let policies = world.policies.list.iter().map(|policy| generic::Policy {
        object: policy.object,
        kind: policy.kind,
        references: local(world.profile, &policy.references),
        content: policy.is_valid(world.profile).then_some(generic::Content {
            block: "bare",
            value: policy.spec,
            strategy: overrule_gateway::kinds::Strategy::None,
        }),
        at: policy.at,
    });
    let policies: Vec<generic::Policy> = policies.collect();
    generic::attach(world.snapshot, world.topology, &world.policies.kinds, &policies)
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
