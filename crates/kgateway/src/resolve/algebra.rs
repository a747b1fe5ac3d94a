// SPDX-License-Identifier: Apache-2.0
//! In: groups of policies. Out: what each rung does to what is in force. Not here: ranks, paths, how two values of a
//! unit become one (`combine.rs`).
//!
//! Everything is folded from the top of a group to its end, and a group lists what counts first at its top: filters
//! before rules before routes on a level, the leaf before its parents on a chain, the chain before the tiers.

use overrule_engine::{
    Action, Algebra, Effective, Fate, Group, GuardCheck, Loss, MergePlan, Op, PerStep, Prefer,
    Reason, StepId, Steps, Traced, Turn,
};
use overrule_source::Documents;
use smallvec::SmallVec;

use super::builtin::Taken;
use super::local::Class;
use super::plans::{Plans, Role, kind_of, role_of, strategy_of};
use super::values::Content;
use super::walk::Masks;
use super::{Active, values};
use crate::World;
use crate::kinds::{KindShape, PROVIDERS};
use crate::{InheritedPriority, Profile, reasons};

/// The algebra of all of kgateway's kinds.
pub(crate) struct Kgateway<'a> {
    pub(super) world: World<'a>,
    shapes: Vec<KindShape>,
    contents: &'a PerStep<Content>,
    masks: &'a Masks,
    pub(super) plans: &'a Plans,
}

/// What is carried along the tiers of a path: units that a tier switched off, with who did.
#[derive(Default)]
pub(crate) struct Closed([SmallVec<[StepId; 1]>; 3]);

impl<'a> Kgateway<'a> {
    pub(crate) fn new(
        world: World<'a>,
        kinds: &[Active],
        contents: &'a PerStep<Content>,
        (masks, plans): (&'a Masks, &'a Plans),
    ) -> Self {
        Self { world, shapes: kinds.iter().map(|k| k.info.shape).collect(), contents, masks, plans }
    }

    pub(super) fn profile(&self) -> Profile {
        self.world.profile
    }

    fn shape(&self, group: &Group) -> KindShape {
        self.shapes.get(kind_of(group.spec)).copied().unwrap_or(KindShape::Path)
    }

    fn content(&self, step: StepId) -> Option<&'a Content> {
        self.contents.get(step)
    }

    /// The namespace of the policy of a step.
    pub(super) fn namespace(&self, step: StepId) -> String {
        let policy = self.content(step).and_then(|c| self.world.policies.get(c.policy?));
        let object = policy.and_then(|p| self.world.snapshot.get(p.object));
        object.map_or_else(String::new, |o| self.world.snapshot.text(o.scope.name()).to_owned())
    }

    /// A policy, or what a rule says itself, on its level.
    fn step(&self, shape: KindShape, id: StepId, mode: u16, held: Option<&Traced>) -> Action<'_> {
        if let Some(problem) = self.content(id).and_then(|c| c.problem) {
            return Action::Poison(problem);
        }
        match shape {
            KindShape::Sequential if held.is_some() => Action::Poison(&reasons::SECOND_ACTION),
            KindShape::BuiltIn => {
                let strategy = Class::strategy_of(mode);
                let prefer = self.profile().builtin_prefers(strategy);
                let reason: Reason = if prefer == strategy.prefers() {
                    &reasons::BUILTIN_OUTRANKS
                } else {
                    &reasons::BUILTIN_DEEP
                };
                merge(prefer, &self.plans.builtin, reason)
            }
            shape => merge(Prefer::Held, self.plans.of_level(shape), &reasons::HIGHER_PRIORITY),
        }
    }

    /// A level of a chain: its policies meet everything below it.
    fn level(&self, strategy: InheritedPriority) -> Action<'_> {
        let plan = self.plans.chain(strategy);
        let reason: Reason = match strategy.prefers() {
            Prefer::Held if strategy.is_deep() => &reasons::DEEP_CHILD_PREFERRED,
            Prefer::Held => &reasons::CHILD_PREFERRED,
            Prefer::Incoming if strategy.is_deep() => &reasons::DEEP_PARENT_PREFERRED,
            Prefer::Incoming => &reasons::PARENT_PREFERRED,
        };
        merge(strategy.prefers(), plan, reason)
    }

    /// A tier: its policies meet those of the chain and of the tiers before it.
    fn tier(&self, strategy: InheritedPriority) -> Action<'_> {
        let reason: Reason = match strategy.prefers() {
            Prefer::Held => &reasons::MORE_SPECIFIC,
            Prefer::Incoming => &reasons::GATEWAY_PREFERRED,
        };
        merge(strategy.prefers(), self.plans.tier(strategy), reason)
    }

    /// What a tier brings of units that a more specific tier switched off does not count.
    fn close(
        &self,
        closed: &mut Closed,
        prefer: Prefer,
        incoming: Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        let documents = self.world.documents;
        let mut dropped: SmallVec<[&str; 3]> = SmallVec::new();
        let units = PROVIDERS.iter().filter(|(_, can_be_disabled)| *can_be_disabled);
        for ((path, _), closers) in units.zip(&mut closed.0) {
            let Some(name) = path.first() else { continue };
            let Some(value) = incoming.get(documents, name) else { continue };
            if !closers.is_empty() && prefer == Prefer::Held {
                dropped.push(name);
                let by = Steps::from(closers.as_slice());
                value.parts(documents, &mut |pointer, step, part| {
                    lose(Loss {
                        step,
                        pointer: format!("/{name}{pointer}").into(),
                        node: part.node().into(),
                        fate: Fate::Shadowed,
                        by: by.clone(),
                        reason: &reasons::DISABLED_BELOW,
                    });
                });
                continue;
            }
            closers.clear();
            if let Some(disable) = values::disabling(documents, &value) {
                closers.extend(disable.steps());
            }
        }
        if dropped.is_empty() {
            return Some(incoming);
        }
        let kept: Vec<_> = incoming
            .entries(documents)
            .into_iter()
            .filter(|(key, _)| !dropped.contains(&key.text(documents)))
            .collect();
        (!kept.is_empty()).then(|| Traced::map(kept))
    }

    /// Providers that are listed beside what switches them off do not run.
    fn switch_off(&self, effective: &mut Effective) {
        let documents = self.world.documents;
        for (path, _) in PROVIDERS.iter().take(values::LISTED) {
            let unit = effective.value.as_ref().and_then(|v| v.at(documents, path.iter().copied()));
            let Some(unit) = unit else { continue };
            let Some(disable) = values::disabling(documents, &unit) else { continue };
            let place = format!("/{}/{}", path.join("/"), values::PROVIDER_LIST);
            for (n, (_, provider)) in values::provider_list(documents, &unit).iter().enumerate() {
                let Some(step) = provider.steps().first().copied() else { continue };
                if disable.steps().contains(&step) {
                    continue;
                }
                effective.losses.push(Loss {
                    step,
                    pointer: format!("{place}/{n}").into(),
                    node: provider.node().into(),
                    fate: Fate::Masked,
                    by: disable.steps().as_slice().into(),
                    reason: &reasons::DISABLED_BESIDE,
                });
            }
        }
    }

    /// A BackendTLSPolicy takes the place of TLS settings.
    fn give_way_to_tls(&self, effective: &mut Effective) {
        let documents = self.world.documents;
        let tls = effective.value.as_ref().and_then(|v| v.get(documents, "tls"));
        let Some((tls, step)) = tls.and_then(|t| t.steps().first().copied().map(|s| (t, s))) else {
            return;
        };
        effective.losses.push(Loss {
            step,
            pointer: "/tls".into(),
            node: tls.node().into(),
            fate: Fate::Masked,
            by: Steps::default(),
            reason: &reasons::BACKEND_TLS,
        });
    }

    /// The parts of the value that a built-in leaves no room for. They stay, and are told to have no effect.
    fn mask(&self, taken: &[Taken], effective: &mut Effective) {
        let documents = self.world.documents;
        for one in taken.iter().filter(|t| t.masks) {
            let path = one.slot.masks();
            split(documents, path, effective);
            let part = effective.value.as_ref().and_then(|v| v.at(documents, path.iter().copied()));
            let Some(part) = part else { continue };
            let place = path.iter().fold(String::new(), |at, key| at + "/" + key);
            part.parts(documents, &mut |pointer, step, part| {
                effective.losses.push(Loss {
                    step,
                    pointer: format!("{place}{pointer}").into(),
                    node: part.node().into(),
                    fate: Fate::Masked,
                    by: [one.by].into_iter().collect(),
                    reason: &reasons::MASKED_BY_BUILTIN,
                });
            });
        }
    }
}

/// Takes the mapping around a masked part apart, so that its other members have origins of their own.
fn split(documents: &Documents, path: &[&str], effective: &mut Effective) {
    let ([outer, _], Some(value)) = (path, &effective.value) else { return };
    let entries = value.entries(documents).into_iter().map(|(key, value)| {
        let value = if key.text(documents) == *outer {
            Traced::map(value.entries(documents))
        } else {
            value
        };
        (key, value)
    });
    effective.value = Some(Traced::map(entries.collect::<Vec<_>>()));
}

fn merge<'p>(prefer: Prefer, plan: &'p MergePlan, reason: Reason) -> Action<'p> {
    Action::Apply { op: Op::Merge(prefer), plan, reason }
}

impl Algebra for Kgateway<'_> {
    type State = Closed;

    fn decide(
        &self,
        _closed: &mut Closed,
        turn: &Turn<'_>,
        held: Option<&Traced>,
        _checks: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        match (turn.step, turn.inner) {
            (Some((id, step)), _) => self.step(self.shape(turn.group), id, step.mode, held),
            (None, Some(inner)) => match (role_of(turn.group.spec), role_of(inner.spec)) {
                (Role::Path, Role::Level | Role::Side) => self.tier(strategy_of(inner.spec)),
                // A listener goes before the Gateway it is a part of, whatever the annotation of the Gateway.
                (Role::Side, _) => self.tier(InheritedPriority::default()),
                // A chain meets something only if a backend of the rule has filters of its own.
                (Role::Path, _) => self.tier(InheritedPriority::default()),
                _ => self.level(strategy_of(inner.spec)),
            },
            (None, None) => Action::Pass(&reasons::SAME_LEVEL),
        }
    }

    fn filter(
        &self,
        closed: &mut Closed,
        turn: &Turn<'_>,
        incoming: Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        match (turn.step, turn.inner) {
            (Some((id, _)), _) => self.content(id).map(|c| c.value.clone()),
            (None, Some(inner)) if self.world.policies.disables => match role_of(turn.group.spec) {
                Role::Path => self.close(closed, strategy_of(inner.spec).prefers(), incoming, lose),
                Role::Side => self.close(closed, Prefer::Held, incoming, lose),
                Role::Level | Role::Chain => Some(incoming),
            },
            (None, _) => Some(incoming),
        }
    }

    fn finish(&self, ladder: &Group, effective: &mut Effective) {
        match self.shape(ladder) {
            // Two answers contradict each other, so neither counts.
            KindShape::Sequential if !effective.poison().is_empty() => {
                for step in effective.value.take().map(|v| v.steps()).unwrap_or_default() {
                    effective.fail(step, &reasons::SECOND_ACTION);
                }
            }
            KindShape::Backend if ladder.extra != 0 => self.give_way_to_tls(effective),
            KindShape::Path => {
                self.mask(self.masks.get(ladder.extra), effective);
                if self.world.policies.disables {
                    self.switch_off(effective);
                }
            }
            _ => {}
        }
    }
}
