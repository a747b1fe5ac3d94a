// SPDX-License-Identifier: Apache-2.0
//! In: the flowcharts of defaults and overrides. Out: what each step does to what is in force. Not here: ranks, paths.
//!
//! The ladder is folded from the bottom: what is in force is the policy below, the next rung a block of the policy
//! above it. The block brings its own strategy, its condition asks about what is below, and removal lists gathered on
//! the way up thin its defaults.

use std::cell::RefCell;

use hashbrown::HashMap;
use overrule_condition::ConditionVerdict;
use overrule_engine::{
    Action, Algebra, Combine, Effective, Fate, Group, Guard, GuardCheck, Loss, MergePlan,
    MergeRule as PlanRule, Nulls, Op, PerStep, PolicyId, Prefer, Reason, SeenValue, StepId, Traced,
    Turn,
};
use overrule_source::Documents;

use super::data::Below;
use super::local::{Content, Mode};
use super::{Active, Watch};
use crate::Profile;
use crate::World;
use crate::kinds::ALL;
use crate::policy::{NamedRule, When, shape};
use crate::reasons;

/// The algebra of all of Kuadrant's kinds; `Group::spec` is the index among the active ones.
pub(crate) struct Kuadrant<'a> {
    world: World<'a>,
    direct: Vec<bool>,
    contents: &'a PerStep<Content<'a>>,
    /// Rule by rule: groups are united, rules are whole.
    plan: MergePlan,
    /// What findings are told of each ladder while it is at hand; no decision looks at it.
    watch: Option<RefCell<Recorder>>,
}

/// Takes notes of each ladder.
struct Recorder {
    /// The policy of each step.
    owners: Vec<PolicyId>,
    watch: Watch,
}

/// What is carried up the ladder.
#[derive(Default)]
pub(crate) struct Climb<'a> {
    /// The lowest policy, once the fold has left it: conditions see its identity.
    lowest: Option<PolicyId>,
    /// The policy whose steps are being processed.
    current: Option<PolicyId>,
    /// Entries of the removal lists met so far, each with the lowest list that has it and its place among the lists.
    removals: HashMap<&'a str, (usize, StepId)>,
    /// How many lists were met.
    lists: usize,
}

impl Climb<'_> {
    /// The lowest list that takes a rule out: by its whole id, or by the last part of it.
    fn remover(&self, id: &str) -> Option<StepId> {
        let plain = id.rsplit('.').next().unwrap_or(id);
        let found = [self.removals.get(id), self.removals.get(plain)];
        found.into_iter().flatten().min().map(|(_, step)| *step)
    }
}

impl<'a> Kuadrant<'a> {
    pub(crate) fn new(
        world: World<'a>,
        kinds: &[Active],
        contents: &'a PerStep<Content<'a>>,
    ) -> Self {
        let groups = ALL.iter().flat_map(|kind| kind.groups);
        let rules = groups.map(|group| {
            let any = group.named.then_some("*");
            (group.path.iter().copied().chain(any).collect(), PlanRule::Atomic)
        });
        Self {
            world,
            direct: kinds.iter().map(|k| k.info.is_direct()).collect(),
            contents,
            plan: MergePlan::with_rules(rules.collect::<Vec<_>>(), Nulls::Keep),
            watch: None,
        }
    }

    /// Takes notes for findings, given the policy of each step.
    pub(crate) fn watched(self, owners: Vec<PolicyId>) -> Self {
        let recorder = Recorder { owners, watch: Watch::default() };
        Self { watch: Some(RefCell::new(recorder)), ..self }
    }

    /// What was met on all ladders.
    pub(crate) fn watch(self) -> Watch {
        self.watch.map(RefCell::into_inner).map_or_else(Watch::default, |r| r.watch)
    }

    fn content(&self, step: StepId) -> Option<&'a Content<'a>> {
        self.contents.get(step)
    }

    /// Evaluates a condition over the policy below.
    fn check(
        &self,
        climb: &Climb<'_>,
        step: StepId,
        when: &When,
        held: Option<&Traced>,
    ) -> GuardCheck {
        let lowest = climb.lowest.and_then(|id| self.world.policies.list.get(id.0 as usize));
        let root = lowest.and_then(|p| self.world.snapshot.get(p.object)).map(|o| o.root);
        let documents = self.world.documents;
        let below = Below {
            documents,
            held,
            lowest: lowest.zip(root).map(|(p, root)| (p.info.kind, documents.view(root))),
        };
        let Some(condition) = &when.condition else {
            let error = "the expression cannot be used".into();
            return GuardCheck { step, verdict: Guard::Failed, error, saw: Vec::new() };
        };
        let evaluation = condition.evaluate(&below);
        let (verdict, error) = match evaluation.verdict {
            ConditionVerdict::Met => (Guard::Met, "".into()),
            ConditionVerdict::NotMet => (Guard::NotMet, "".into()),
            ConditionVerdict::Failed(why) => (Guard::Failed, why.into()),
        };
        let seen = evaluation.saw.into_iter().map(|(path, value)| SeenValue {
            path: path.into(),
            json: value.and_then(|v| serde_json::to_string(&v).ok()).map(Into::into),
        });
        GuardCheck { step, verdict, error, saw: seen.collect() }
    }

    fn apply(&self, op: Op, reason: Reason) -> Action<'_> {
        Action::Apply { op, plan: &self.plan, reason }
    }

    /// The rules of a default that no removal list below takes out; the others are lost to the list.
    fn thin(
        &self,
        climb: &Climb<'_>,
        step: StepId,
        rules: &[NamedRule],
        lose: &mut dyn FnMut(Loss),
    ) -> Vec<NamedRule> {
        let documents = self.world.documents;
        let mut kept = Vec::with_capacity(rules.len());
        for rule in rules {
            let id = rule.id(documents);
            match climb.remover(&id) {
                None => kept.push(*rule),
                Some(list) => lose(Loss {
                    step,
                    pointer: rule.pointer(documents).into(),
                    node: Some(rule.value).into(),
                    fate: Fate::Removed,
                    by: [list].into_iter().collect(),
                    reason: &reasons::REMOVED_BELOW,
                }),
            }
        }
        kept
    }
}

impl Combine for Kuadrant<'_> {}

impl<'a> Algebra for Kuadrant<'a> {
    type State = Climb<'a>;

    /// Direct policies of one target stand side by side, the oldest first.
    fn bottom_up(&self, group: &Group) -> bool {
        !self.direct.get(group.spec as usize).copied().unwrap_or(false)
    }

    fn decide(
        &self,
        climb: &mut Climb<'a>,
        turn: &Turn<'_>,
        held: Option<&Traced>,
        checks: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let Some((id, step)) = turn.step else { return Action::Pass(&reasons::NO_RULES) };
        if climb.current != Some(step.policy) {
            climb.lowest = climb.lowest.or(climb.current);
            climb.current = Some(step.policy);
        }
        let Some(content) = self.content(id) else { return Action::Pass(&reasons::NO_RULES) };
        if let Some(when) = content.when {
            let check = self.check(climb, id, when, held);
            let verdict = check.verdict;
            checks.push(check);
            match verdict {
                Guard::Met => {}
                Guard::NotMet => return Action::Skip(&reasons::WHEN_FALSE),
                Guard::Failed => return Action::Skip(&reasons::WHEN_ERROR),
            }
        }
        let empty = content.rules.is_empty();
        match Mode::from_code(step.mode) {
            Mode::AtomicDefaults if !empty => self.apply(Op::FillIfEmpty, &reasons::DEFAULT_YIELDS),
            Mode::MergeDefaults if !empty => {
                self.apply(Op::Merge(Prefer::Held), &reasons::DEFAULT_RULE_YIELDS)
            }
            // Replacing everything by nothing is what it says.
            Mode::AtomicOverrides => self.apply(Op::ReplaceAll, &reasons::OVERRIDE_OUTRANKS),
            Mode::MergeOverrides if !empty => {
                self.apply(Op::Merge(Prefer::Incoming), &reasons::OVERRIDE_RULE_OUTRANKS)
            }
            Mode::Direct => self.apply(Op::Beside, &reasons::SAME_SECOND),
            Mode::GeneratedOverrides => self.apply(Op::ReplaceAll, &reasons::GENERATED_ABOVE),
            Mode::GeneratedRules => self.apply(Op::Keep, &reasons::GENERATED_BELOW),
            Mode::Removal => Action::Pass(&reasons::REMOVES),
            _ => Action::Pass(&reasons::NO_RULES),
        }
    }

    fn filter(
        &self,
        climb: &mut Climb<'a>,
        turn: &Turn<'_>,
        incoming: Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        let Some((id, step)) = turn.step else { return Some(incoming) };
        let content = self.content(id)?;
        if climb.removals.is_empty() || !Mode::from_code(step.mode).is_default() {
            return Some(content.value.clone());
        }
        let kept = self.thin(climb, id, content.rules, lose);
        match kept.len() {
            0 => None,
            n if n == content.rules.len() => Some(content.value.clone()),
            _ => Some(shape(id, &kept)),
        }
    }

    fn after(&self, climb: &mut Climb<'a>, turn: &Turn<'_>) {
        let Some((id, _)) = turn.step else { return };
        let Some(removal) = self.content(id).and_then(|c| c.removal) else { return };
        for (entry, _) in &removal.entries {
            climb.removals.entry(entry).or_insert((climb.lists, id));
        }
        climb.lists += 1;
    }

    fn finish(&self, ladder: &Group, effective: &mut Effective) {
        let Some(recorder) = &self.watch else { return };
        let Recorder { owners, watch } = &mut *recorder.borrow_mut();
        let owner = |step: StepId| owners.get(step.0 as usize).copied();
        let is_conditional = |step| self.content(step).is_some_and(|c| c.when.is_some());
        watch.ladder(self.world.documents, &is_conditional, &owner, ladder, effective);
    }

    /// Empty means no rules, not no policy. For the operator, predicates and patterns are not rules.
    fn is_empty(&self, documents: &Documents, value: &Traced) -> bool {
        match self.world.profile {
            Profile::Design | Profile::Latest => value.entries(documents).is_empty(),
            Profile::Operator => {
                value.get(documents, "rules").is_none() && value.get(documents, "limits").is_none()
            }
        }
    }
}
