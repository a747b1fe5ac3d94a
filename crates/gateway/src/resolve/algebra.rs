// SPDX-License-Identifier: Apache-2.0
//! In: the strategies of GEP-713. Out: what each step does to what is in force. Not here: ranks, paths.
//!
//! The ladder is folded from the top: what is in force is the *established* spec, the next rung the *challenger*.
//! The strategy of the established one decides, and the merged result carries the strategy of the challenger.

use overrule_engine::{
    Action, Algebra, Combine, FieldKey, Group, GuardCheck, Loss, MergePlan, Op, Prefer, ReasonInfo,
    Traced, Turn,
};
use overrule_source::Documents;

use super::Active;
use crate::kinds::{Descriptor, Strategy};
use crate::reasons;

/// The algebra of all generic kinds; `Group::spec` is the index of the kind.
pub(crate) struct Gep713<'k> {
    documents: &'k Documents,
    kinds: Vec<&'k Descriptor>,
    /// Members of the body of each kind that are references, blocks or the strategy.
    plumbing: Vec<Vec<&'k str>>,
    direct: Vec<bool>,
}

/// The rung above: its strategy and level.
#[derive(Clone, Default)]
pub(crate) struct Established(Option<(Strategy, u8)>);

impl<'k> Gep713<'k> {
    pub(crate) fn new(documents: &'k Documents, kinds: &[Active<'k>]) -> Self {
        Self {
            documents,
            kinds: kinds.iter().map(|k| k.descriptor).collect(),
            plumbing: kinds.iter().map(|k| k.descriptor.plumbing().collect()).collect(),
            direct: kinds.iter().map(Active::is_direct).collect(),
        }
    }

    fn kind(&self, group: &Group) -> Option<&'k Descriptor> {
        self.kinds.get(group.spec as usize).copied()
    }
}

/// GEP-713's table: what the strategy of the established spec does, and why the losing side loses.
fn operation(strategy: Strategy) -> (Op, &'static ReasonInfo) {
    match strategy {
        Strategy::None => (Op::Keep, &reasons::OLDEST_ALONE),
        Strategy::AtomicDefaults => (Op::ReplaceAll, &reasons::DEFAULT_YIELDS),
        Strategy::AtomicOverrides => (Op::Keep, &reasons::OVERRIDE_OUTRANKS),
        Strategy::PatchDefaults => (Op::Merge(Prefer::Incoming), &reasons::DEFAULT_FIELD_YIELDS),
        Strategy::PatchOverrides => (Op::Merge(Prefer::Held), &reasons::OVERRIDE_FIELD_OUTRANKS),
    }
}

impl Combine for Gep713<'_> {}

impl Algebra for Gep713<'_> {
    type State = Established;

    fn decide(
        &self,
        state: &mut Established,
        turn: &Turn<'_>,
        _held: Option<&Traced>,
        _checks: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let (group, step) = (turn.group, turn.step.map(|(_, s)| s));
        static ATOMIC: MergePlan = MergePlan::ATOMIC;
        let plan = self.kind(group).map_or(&ATOMIC, |k| &k.plan);
        let direct = self.direct.get(group.spec as usize).copied().unwrap_or(false);
        let challenger = step.map(|s| (Strategy::from_code(s.mode), s.level));
        let established = std::mem::replace(&mut state.0, challenger);
        let (op, reason) = match (established, challenger) {
            // A direct kind never merges: the first rung stands, and the reason depends on where the other one sits.
            (Some((_, above)), Some((_, below))) if direct => {
                state.0 = established;
                let reason = if above == below {
                    &reasons::OLDEST_ALONE
                } else {
                    &reasons::SECTION_OUTRANKS
                };
                (Op::Keep, reason)
            }
            (Some((Strategy::None, _)), _) => {
                state.0 = established;
                operation(Strategy::None)
            }
            (Some((strategy, _)), _) => operation(strategy),
            (None, _) => (Op::ReplaceAll, &reasons::DEFAULT_YIELDS),
        };
        Action::Apply { op, plan, reason }
    }

    /// A rung is judged by its step and the rung above it.
    fn again(&self, state: &Established) -> Option<Established> {
        Some(state.clone())
    }

    /// The body of a bare policy also holds its references, which are not part of the policy.
    fn filter(
        &self,
        _state: &mut Established,
        turn: &Turn<'_>,
        incoming: Traced,
        _lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        let (Some((_, step)), Some(kind)) = (turn.step, self.kind(turn.group)) else {
            return Some(incoming);
        };
        let plumbing = self.plumbing.get(turn.group.spec as usize).map_or(&[][..], Vec::as_slice);
        let own = [&*kind.block_strategy];
        let hidden = if step.block == "bare" { plumbing } else { &own };
        let hidden = |key: &str| hidden.contains(&key);
        if let Traced::Whole { node, .. } = &incoming {
            let mut keys = self.documents.view(*node).entries().map(|(key, _)| key.key_text());
            if !keys.any(hidden) {
                return Some(incoming);
            }
        }
        let entries = incoming.entries(self.documents).into_iter();
        let kept = entries.filter(|(key, _)| !hidden(key.text(self.documents)));
        Some(Traced::map(kept.collect::<Vec<(FieldKey, Traced)>>()))
    }
}
