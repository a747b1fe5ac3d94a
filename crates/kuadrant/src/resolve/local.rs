// SPDX-License-Identifier: Apache-2.0
//! In: attachments. Out: conflicts of direct kinds, the steps of each policy, and the ladder of each kind at each node
//! itself. Not here: paths.

use std::collections::BTreeMap;

use overrule_engine::{
    Attachment, Landed, LocalLadders, NodeId, PerStep, PolicyId, Rank, ResolutionBuilder, Step,
    StepId, Traced,
};
use overrule_gateway::policy::Attached;
use overrule_gateway::resolve::name_order;
use overrule_model::ObjectId;
use overrule_source::{Documents, NodeRef};

use super::{Active, Conflict};
use crate::kinds::MergeClass;
use crate::policy::{NamedRule, Policy, Removal, RuleBlock, When, shape};
use crate::{Profile, World};

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    AtomicDefaults,
    MergeDefaults,
    AtomicOverrides,
    MergeOverrides,
    /// A removal list.
    Removal,
    /// A policy without anything in it: it is there, and that is all.
    Nothing,
    /// A direct policy.
    Direct,
    /// Overrides that a controller generates.
    GeneratedOverrides,
    /// Bare rules that a controller generates.
    GeneratedRules,
}

impl Mode {
    const ALL: [Self; 9] = [
        Self::AtomicDefaults,
        Self::MergeDefaults,
        Self::AtomicOverrides,
        Self::MergeOverrides,
        Self::Removal,
        Self::Nothing,
        Self::Direct,
        Self::GeneratedOverrides,
        Self::GeneratedRules,
    ];

    pub(crate) fn code(self) -> u16 {
        self as u16
    }

    pub(crate) fn from_code(code: u16) -> Self {
        Self::ALL.get(code as usize).copied().unwrap_or(Self::Nothing)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AtomicDefaults => "atomic defaults",
            Self::MergeDefaults => "merged defaults",
            Self::AtomicOverrides => "atomic overrides",
            Self::MergeOverrides => "merged overrides",
            Self::Removal => "removal list",
            Self::Nothing => "empty",
            Self::Direct => "alone",
            Self::GeneratedOverrides => "generates overrides",
            Self::GeneratedRules => "generates rules",
        }
    }

    /// Whether removal lists below it count.
    pub(crate) fn is_default(self) -> bool {
        matches!(self, Self::AtomicDefaults | Self::MergeDefaults)
    }
}

/// What a step brings.
pub(crate) struct Content<'a> {
    /// The rules, or the whole spec, as a value; shared by every ladder the step is on.
    pub(crate) value: Traced,
    /// The rules of a block.
    pub(crate) rules: &'a [NamedRule],
    /// Its condition.
    pub(crate) when: Option<&'a When>,
    /// Its removal list.
    pub(crate) removal: Option<&'a Removal>,
}

/// Ladders of the policies attached to each node itself, and what their steps bring.
pub(crate) struct Locals<'a> {
    pub(crate) ladders: LocalLadders,
    /// By step.
    pub(crate) contents: PerStep<Content<'a>>,
}

/// Direct policies that are refused because an older one has their target. They leave the attachments.
pub(crate) fn conflicts(world: World<'_>, attached: &mut Attached) -> Vec<Conflict> {
    let policies = &world.policies.list;
    let direct = |a: &Attachment| {
        let policy = policies.get(a.policy.0 as usize);
        policy.filter(|p| p.info.is_direct()).map(|p| (p.kind, a.node))
    };
    let mut by_target: BTreeMap<(usize, NodeId), Vec<Attachment>> = BTreeMap::new();
    for attachment in &attached.attachments {
        if let Some(target) = direct(attachment) {
            by_target.entry(target).or_default().push(*attachment);
        }
    }
    let ranks = Ranks::new(world);
    let mut found = Vec::new();
    for mut list in by_target.into_values().filter(|l| l.len() > 1) {
        list.sort_by_key(|a| ranks.age(a.policy));
        let Some((first, rest)) = list.split_first() else { continue };
        let oldest = ranks.age(first.policy).0;
        for attachment in rest {
            if ranks.age(attachment.policy).0 == oldest && world.profile.overlooks_ties() {
                continue;
            }
            found.push(Conflict { attachment: *attachment, by: first.policy });
        }
    }
    let refused = |a: &Attachment| found.iter().any(|c| c.attachment.policy == a.policy);
    attached.attachments.retain(|a| !refused(a));
    attached.rejections.extend(found.iter().map(Conflict::rejection));
    found
}

/// What ranks are made of.
struct Ranks<'a> {
    world: World<'a>,
    names: Vec<i64>,
}

impl<'a> Ranks<'a> {
    fn new(world: World<'a>) -> Self {
        let objects: Vec<ObjectId> = world.policies.list.iter().map(|p| p.object).collect();
        Self { world, names: name_order(world.snapshot, &objects) }
    }

    /// Creation time, then name.
    fn age(&self, policy: PolicyId) -> (i64, i64) {
        let object = self.world.policies.list.get(policy.0 as usize).map(|p| p.object);
        let object = object.and_then(|o| self.world.snapshot.get(o));
        let created = object.map_or(i64::MAX, |o| o.created.key());
        (created, self.names.get(policy.0 as usize).copied().unwrap_or(0))
    }
}

/// Ranks and groups.
pub(crate) fn build<'a>(
    world: World<'a>,
    builder: &mut ResolutionBuilder,
    kinds: &[Active],
    attachments: &[Attachment],
) -> Locals<'a> {
    let mut maker = Maker { world, builder, ranks: Ranks::new(world), contents: Vec::new() };
    let mut landed = Vec::with_capacity(attachments.len());
    for attachment in attachments {
        let Some(policy) = world.policies.list.get(attachment.policy.0 as usize) else { continue };
        let Some(kind) = kinds.iter().find(|k| k.index == policy.kind) else { continue };
        let (kind, node) = (kind.id.0, attachment.node);
        let steps = maker.policy(attachment, policy).into_iter();
        landed.extend(steps.map(|step| Landed { kind, node, step }));
    }
    let Maker { builder, contents, .. } = maker;
    let size = (kinds.len(), world.topology.nodes.len());
    let ladders = builder.local_ladders(size, landed, |kind, _| kind);
    Locals { ladders, contents: PerStep::All(contents) }
}

struct Maker<'a, 'b> {
    world: World<'a>,
    builder: &'b mut ResolutionBuilder,
    ranks: Ranks<'a>,
    contents: Vec<Content<'a>>,
}

/// What a policy contributes in one step.
pub(crate) struct Contribution<'a> {
    pub(crate) block: &'static str,
    pub(crate) mode: Mode,
    pub(crate) node: NodeRef,
    rules: &'a [NamedRule],
    when: Option<&'a When>,
    removal: Option<&'a Removal>,
}

impl<'a> Contribution<'a> {
    fn bare(mode: Mode, node: NodeRef) -> Self {
        Self { block: "bare", mode, node, rules: &[], when: None, removal: None }
    }

    fn of_block(profile: Profile, block: &'a RuleBlock) -> Self {
        Self {
            block: block.name,
            mode: match (block.is_override(), block.merge) {
                (false, false) => Mode::AtomicDefaults,
                (false, true) => Mode::MergeDefaults,
                (true, false) => Mode::AtomicOverrides,
                (true, true) => Mode::MergeOverrides,
            },
            node: block.node,
            rules: &block.rules,
            when: block.when.as_ref().filter(|_| profile.has_conditions()),
            removal: None,
        }
    }

    fn content(self, documents: &Documents, id: StepId) -> Content<'a> {
        let Self { mode, node, rules, when, removal, .. } = self;
        let value = match mode {
            Mode::Direct | Mode::GeneratedOverrides | Mode::GeneratedRules => {
                whole(documents, id, node)
            }
            _ => shape(id, rules),
        };
        Content { value, rules, when, removal }
    }
}

/// What a policy contributes, in the order it is processed: from its defaults to its removal list. No two have the same
/// block.
pub(crate) fn contributions(profile: Profile, policy: &Policy) -> Vec<Contribution<'_>> {
    let mode = match policy.info.class {
        MergeClass::Inherited => Mode::Nothing,
        MergeClass::Direct => Mode::Direct,
        MergeClass::Generates { overrides: true, .. } => Mode::GeneratedOverrides,
        MergeClass::Generates { overrides: false, .. } => Mode::GeneratedRules,
    };
    let mut steps = Vec::new();
    if mode == Mode::Nothing {
        steps.extend(policy.blocks(profile).map(|b| Contribution::of_block(profile, b)));
        steps.extend(policy.removals(profile).map(|removal| Contribution {
            block: removal.field,
            removal: Some(removal),
            ..Contribution::bare(Mode::Removal, removal.node)
        }));
    }
    if steps.is_empty() {
        steps.push(Contribution::bare(mode, policy.spec));
    }
    steps
}

/// What a step brings, by its policy.
pub(crate) fn content_of<'a>(world: World<'a>, id: StepId, step: &Step) -> Option<Content<'a>> {
    let policy = world.policies.list.get(step.policy.0 as usize)?;
    let mut all = contributions(world.profile, policy).into_iter();
    Some(all.find(|c| c.block == step.block)?.content(world.documents, id))
}

/// The whole spec without its target.
fn whole(documents: &Documents, step: StepId, spec: NodeRef) -> Traced {
    let all = Traced::Whole { step, node: spec }.entries(documents);
    Traced::map(all.into_iter().filter(|(key, _)| key.text(documents) != "targetRef"))
}

impl<'a> Maker<'a, '_> {
    /// The steps of a policy. The fold comes from the bottom of the ladder, so the last key of the rank counts down.
    fn policy(&mut self, attachment: &Attachment, policy: &'a Policy) -> Vec<StepId> {
        let steps = contributions(self.world.profile, policy);
        (0_i64..).zip(steps).map(|(order, new)| self.step(attachment, order, new)).collect()
    }

    fn step(&mut self, attachment: &Attachment, order: i64, new: Contribution<'a>) -> StepId {
        let node = self.world.topology.nodes.get(attachment.node);
        let level = node.map_or(0, |n| n.level.0);
        let (created, name) = self.ranks.age(attachment.policy);
        let step = Step {
            policy: attachment.policy,
            entry: None,
            block: new.block,
            level,
            value: new.node,
            mode: new.mode.code(),
            extra: 0,
        };
        let rank = Rank::new([i64::from(level), created, name, -order]);
        let id = self.builder.step(step, rank);
        if id.0 as usize == self.contents.len() {
            self.contents.push(new.content(self.world.documents, id));
        }
        id
    }
}
