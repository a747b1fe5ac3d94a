// SPDX-License-Identifier: Apache-2.0
//! In: ladders and their recipes. Out: what each rung does to what is in force. Not here: making recipes (`rows`).

use overrule_engine::{
    Action, Algebra, Combine, Effective, Fate, FieldKey, Group, GuardCheck, Loss, Merger, Op,
    Place, Prefer, Rung, StepId, Steps, Traced, Turn,
};
use overrule_source::{Documents, NodeRef};

use super::recipe::{Deed, Recipes, RungPlan};
use crate::kinds::{ALL, KindInfo, KindRole};
use crate::merge::{KeyedLists, Plans};
use crate::policy::MergeType;
use crate::{World, reasons};

/// What a group is; `Group::spec` holds it with the number of the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Candidates, with a recipe.
    Candidates,
    /// A policy and the one it is merged with.
    Unit(MergeType),
}

impl Form {
    pub(crate) fn spec(self, kind: usize) -> u16 {
        let form = match self {
            Self::Candidates => 0,
            Self::Unit(MergeType::Strategic) => 1,
            Self::Unit(_) => 2,
        };
        u16::try_from(kind).unwrap_or(0) << 2 | form
    }

    fn of(spec: u16) -> Self {
        match spec & 3 {
            0 => Self::Candidates,
            1 => Self::Unit(MergeType::Strategic),
            _ => Self::Unit(MergeType::Json),
        }
    }
}

fn info_of(spec: u16) -> Option<&'static KindInfo> {
    ALL.get(usize::from(spec >> 2))
}

/// The field that says whether traffic goes to a Service or its endpoints.
pub(crate) const ROUTING: &str = "routingType";

/// The algebra of all kinds: recipes are carried out.
pub(crate) struct FirstTakes<'a> {
    world: World<'a>,
    recipes: &'a Recipes,
    plans: &'a Plans,
}

impl<'a> FirstTakes<'a> {
    pub(crate) fn new(world: World<'a>, recipes: &'a Recipes, plans: &'a Plans) -> Self {
        Self { world, recipes, plans }
    }

    fn plan(&self, group: &Group, rung: Rung) -> Option<RungPlan> {
        let place = group.rungs.iter().position(|r| *r == rung)?;
        self.recipes.get(group.extra)?.rungs.get(place).copied()
    }

    /// The fields of a value, without targets and without those that do nothing.
    fn fields(
        &self,
        info: &KindInfo,
        plan: &RungPlan,
        value: &Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Traced {
        let documents = self.world.documents;
        let step = value.steps().first().copied();
        let mut kept = Vec::new();
        for (key, value) in value.entries(documents) {
            let name = key.text(documents);
            let number = match info.role {
                KindRole::Proxy if name == "mergeType" => continue,
                KindRole::Proxy => None,
                _ => match info.field(name) {
                    Some(number) => Some(number),
                    None => continue,
                },
            };
            if is_nothing(documents, &value) {
                continue;
            }
            if number.is_some_and(|number| !plan.keep.has(number)) {
                let broken = number.is_some_and(|number| plan.failed.has(number));
                let reason = if broken { &reasons::BROKEN_FIELD } else { &reasons::NO_EFFECT_HERE };
                value.parts(documents, &mut |pointer, step, part| {
                    lose(Loss {
                        step,
                        pointer: format!("/{name}{pointer}").into(),
                        node: part.node().into(),
                        fate: Fate::Skipped,
                        by: Steps::default(),
                        reason,
                    });
                });
                continue;
            }
            let value = match number {
                Some(number) => self.without(number, plan.left_out, value),
                None => value,
            };
            kept.push((key, value));
        }
        match step {
            Some(step) if kept.is_empty() => nothing(step),
            _ => Traced::Map(kept.into()),
        }
    }

    /// A list without the elements that failed.
    fn without(&self, field: u8, left_out: u32, value: Traced) -> Traced {
        let gone = self.recipes.left_out(left_out);
        if !gone.iter().any(|(of, _)| *of == field) {
            return value;
        }
        let items = value.items(self.world.documents).into_iter().enumerate();
        let kept = items.filter(|(n, _)| !gone.contains(&(field, *n)));
        Traced::List(kept.map(|(_, item)| item).collect())
    }

    /// Everything a spec says besides where it acts, nulls included: in a merge they may mean something.
    fn said(&self, info: &KindInfo, value: &Traced) -> Traced {
        let documents = self.world.documents;
        let is_said = |key: &FieldKey| match info.role {
            KindRole::Proxy => key.text(documents) != "mergeType",
            _ => info.field(key.text(documents)).is_some(),
        };
        let entries = value.entries(documents).into_iter();
        let kept: Vec<(FieldKey, Traced)> = entries.filter(|(key, _)| is_said(key)).collect();
        match value.steps().first() {
            Some(step) if kept.is_empty() => nothing(*step),
            _ => Traced::Map(kept.into()),
        }
    }
}

/// A policy that sets nothing, and takes its place all the same.
fn nothing(step: StepId) -> Traced {
    Traced::Implied { step, json: "{}".into(), from: Place::NONE }
}

/// Whether a field counts as not written.
fn is_nothing(documents: &Documents, value: &Traced) -> bool {
    value.is_null(documents) || (value.is_list(documents) && value.items(documents).is_empty())
}

impl Combine for FirstTakes<'_> {
    fn combine(
        &self,
        number: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        KeyedLists.combine(number, merger, held, incoming)
    }
}

impl Algebra for FirstTakes<'_> {
    type State = ();

    fn decide(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        held: Option<&Traced>,
        _: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let plan = &self.plans.fields;
        if let Form::Unit(merge) = Form::of(turn.group.spec) {
            let role = info_of(turn.group.spec).map_or(KindRole::Proxy, |info| info.role);
            return match held {
                None => Action::Apply { op: Op::ReplaceAll, plan, reason: &reasons::TAKES },
                Some(_) => Action::Apply {
                    op: Op::Merge(Prefer::Held),
                    plan: self.plans.of(role, merge),
                    reason: &reasons::CHILD_PREFERRED,
                },
            };
        }
        let Some(rung) = self.plan(turn.group, turn.rung) else {
            return Action::Pass(&reasons::SETS_NOTHING_HERE);
        };
        let reason = rung.reason;
        match rung.deed {
            Deed::Take => Action::Apply { op: Op::ReplaceAll, plan, reason },
            Deed::Shadowed => Action::Apply { op: Op::Keep, plan, reason },
            Deed::Fill => Action::Apply { op: Op::Merge(Prefer::Held), plan, reason },
            Deed::Beside => Action::Apply { op: Op::Beside, plan, reason },
            Deed::Skip => Action::Skip(reason),
            Deed::Fail => Action::Poison(reason),
        }
    }

    fn filter(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        incoming: Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        let Some(info) = info_of(turn.group.spec) else { return Some(incoming) };
        if let Form::Unit(_) = Form::of(turn.group.spec) {
            let said = self.said(info, &incoming);
            return self.plans.prepared(self.world.documents, said);
        }
        let plan = self.plan(turn.group, turn.rung)?;
        Some(self.fields(info, &plan, &incoming, lose))
    }

    fn finish(&self, ladder: &Group, effective: &mut Effective) {
        let Some(recipe) = self.recipes.get(ladder.extra) else { return };
        for step in recipe.rungs.iter().filter_map(|plan| plan.fails) {
            effective.fail(step, &reasons::BROKEN);
        }
        if let Some((step, node)) = recipe.routing {
            self.route(step, node, effective);
        }
    }
}

impl FirstTakes<'_> {
    /// Adds where traffic goes, which is looked up on its own.
    fn route(&self, step: StepId, node: NodeRef, effective: &mut Effective) {
        let value = effective.value.take();
        let mut entries = value.map(|v| v.entries(self.world.documents)).unwrap_or_default();
        entries.push((FieldKey::Text(ROUTING.into()), Traced::Whole { step, node }));
        effective.value = Some(Traced::Map(entries.into_vec().into()));
    }
}
