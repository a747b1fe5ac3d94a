// SPDX-License-Identifier: Apache-2.0
//! In: two traced values and a plan. Out: one traced value; what did not make it is recorded.
//! Not here: which of the two is preferred, and why (the family's algebra).

use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_source::{Documents, View};
use smallvec::SmallVec;

use crate::room::{Held, Room};
use crate::traced::push_segment;
use crate::{
    Fate, FieldKey, ListRule, Loss, MergePlan, MergeRule, Nulls, Place, PlanId, Reason, Steps,
    Traced,
};

/// Whose value stays where both have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prefer {
    /// What is in force already.
    Held,
    /// What comes now.
    Incoming,
}

/// Combinators a family registers for [`MergeRule::Combinator`].
pub trait Combine {
    /// Combines two values; may call back into the merger for parts of them. A family that registers none takes the
    /// preferred value, whole.
    fn combine(
        &self,
        _number: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        merger.atomic(held, incoming)
    }
}

/// Merges along a plan and records losses.
pub struct Merger<'a> {
    /// The arena.
    pub documents: &'a Documents,
    /// The plan.
    pub plan: &'a MergePlan,
    /// The family's combinators.
    pub combine: &'a dyn Combine,
    /// Whose value stays.
    pub prefer: Prefer,
    /// Why the other side loses.
    pub reason: Reason,
    /// Where losses go.
    pub losses: &'a mut Vec<Loss>,
    /// It also holds the pointer to where the merger is.
    room: Held<'a>,
}

impl<'a> Merger<'a> {
    /// A merger at the root of both values.
    pub fn new(
        documents: &'a Documents,
        plan: &'a MergePlan,
        combine: &'a dyn Combine,
        prefer: Prefer,
        reason: Reason,
        losses: &'a mut Vec<Loss>,
    ) -> Self {
        let room = Held::Own(Room::default());
        Self { documents, plan, combine, prefer, reason, losses, room }
    }

    /// The same, sharing what merges have in common.
    pub(crate) fn within(self, room: &'a mut Room) -> Self {
        room.text.clear();
        Self { room: Held::Lent(room), ..self }
    }

    /// Merges by the rule at `at`. `None`: the value was deleted.
    pub fn merge(&mut self, at: PlanId, held: Traced, incoming: Traced) -> Option<Traced> {
        let (plan, documents) = (self.plan, self.documents);
        match plan.rule(at) {
            MergeRule::Fields { .. } if held.is_map(documents) && incoming.is_map(documents) => {
                Some(self.fields(at, &held, &incoming))
            }
            MergeRule::List(rule) if held.is_list(documents) && incoming.is_list(documents) => {
                Some(self.lists(rule, &held, &incoming))
            }
            MergeRule::Combinator(number) => {
                let combine = self.combine;
                combine.combine(*number, self, held, incoming)
            }
            _ => self.atomic(held, incoming),
        }
    }

    /// Merges by another plan at the same place.
    pub fn by_plan(&mut self, plan: &MergePlan, held: Traced, incoming: Traced) -> Option<Traced> {
        let mut inner = Merger {
            documents: self.documents,
            plan,
            combine: self.combine,
            prefer: self.prefer,
            reason: self.reason,
            losses: self.losses,
            room: Held::Lent(self.room.get()),
        };
        inner.merge(MergePlan::ROOT, held, incoming)
    }

    /// Does something with a member.
    pub fn below<R>(&mut self, key: &FieldKey, act: impl FnOnce(&mut Self) -> R) -> R {
        self.inside(key.text(self.documents), act)
    }

    fn inside<R>(&mut self, segment: &str, act: impl FnOnce(&mut Self) -> R) -> R {
        let pointer = &mut self.room.get().text;
        let length = pointer.len();
        push_segment(pointer, segment);
        let result = act(self);
        self.room.get().text.truncate(length);
        result
    }

    /// The preferred value, whole.
    pub fn atomic(&mut self, held: Traced, incoming: Traced) -> Option<Traced> {
        let (winner, loser) = match self.prefer {
            Prefer::Held => (held, incoming),
            Prefer::Incoming => (incoming, held),
        };
        self.lose(&loser, &winner, Fate::Shadowed);
        self.settle(winner)
    }

    /// A preferred value with nothing on the other side: nulls have done their work.
    fn settle(&self, value: Traced) -> Option<Traced> {
        match self.plan.nulls {
            Nulls::Keep => Some(value),
            Nulls::Delete => strip_nulls(self.documents, value),
        }
    }

    fn fields(&mut self, at: PlanId, held: &Traced, incoming: &Traced) -> Traced {
        let documents = self.documents;
        let mut others: SmallVec<[Other<'_>; 8]> = incoming
            .members(documents)
            .map(|(name, key, value)| Other { name, key, value: Some(value) })
            .collect();
        let index = Index::new(&others);
        let first = self.room.get().members.len();
        for (name, key, value) in held.members(documents) {
            let other = index.find(&others, name).and_then(|i| others.get_mut(i)?.value.take());
            let result = match other {
                Some(other) => {
                    let member = self.plan.member(at, name);
                    self.inside(name, |merger| merger.merge(member, value, other))
                }
                // Alone on its side: a patch's nulls vanish, a target's stay (RFC 7386).
                None if self.prefer == Prefer::Held => self.settle(value),
                None => Some(value),
            };
            self.room.get().members.extend(result.map(|value| (key, value)));
        }
        for Other { key, value, .. } in others {
            let result = match (value, self.prefer) {
                (Some(value), Prefer::Incoming) => self.settle(value),
                (value, _) => value,
            };
            self.room.get().members.extend(result.map(|value| (key, value)));
        }
        let members = &mut self.room.get().members;
        if members.len() == first {
            // Whoever deleted the last member is the origin of what is left: nothing.
            let preferred = if self.prefer == Prefer::Held { held } else { incoming };
            if let Some(step) = preferred.steps().first().copied() {
                return Traced::Implied { step, json: "{}".into(), from: Place::NONE };
            }
        }
        Traced::Map(members.drain(first..).collect())
    }

    fn lists(&mut self, rule: &ListRule, held: &Traced, incoming: &Traced) -> Traced {
        let (held, incoming) = (held.items(self.documents), incoming.items(self.documents));
        let held_first = match rule {
            ListRule::Append => true,
            ListRule::PreferredFirst => self.prefer == Prefer::Held,
            ListRule::PreferredLast => self.prefer == Prefer::Incoming,
            ListRule::Keyed { key, element } => {
                return self.keyed(key, *element, held.into_vec(), &incoming);
            }
        };
        let (first, second) = if held_first { (held, incoming) } else { (incoming, held) };
        Traced::List(first.into_iter().chain(second).collect())
    }

    /// Elements with equal keys become one, at the position of the first; elements without the key stay as they are.
    fn keyed(
        &mut self,
        key: &str,
        element: PlanId,
        held: Vec<Traced>,
        incoming: &[Traced],
    ) -> Traced {
        let documents = self.documents;
        let id_of = |item: &Traced| item.get(documents, key).map(|id| Id::of(documents, &id));
        let mut merged: Vec<Option<Traced>> = held.into_iter().map(Some).collect();
        let mut places: BTreeMap<Id<'_>, usize> = BTreeMap::new();
        for (i, item) in merged.iter().enumerate() {
            if let Some(id) = item.as_ref().and_then(id_of) {
                places.entry(id).or_insert(i);
            }
        }
        for item in incoming {
            let id = id_of(item);
            let place = id.as_ref().and_then(|id| places.get(id)).copied();
            match place.and_then(|i| merged.get_mut(i)).and_then(Option::take) {
                Some(before) => {
                    let index = place.unwrap_or(0).to_string();
                    let merge = |merger: &mut Self| merger.merge(element, before, item.clone());
                    let result = self.inside(&index, merge);
                    if let Some(slot) = place.and_then(|i| merged.get_mut(i)) {
                        *slot = result;
                    }
                }
                None => {
                    if let Some(id) = id {
                        places.insert(id, merged.len());
                    }
                    merged.push(Some(item.clone()));
                }
            }
        }
        Traced::List(merged.into_iter().flatten().collect())
    }

    /// Records that `lost` is not in force because `winner` is; a value of several steps is lost part by part.
    pub fn lose(&mut self, lost: &Traced, winner: &Traced, fate: Fate) {
        let room = self.room.get();
        let mut pointer = std::mem::take(&mut room.text);
        let by = Steps::from(winner.steps().as_slice());
        let (losses, reason) = (&mut *self.losses, self.reason);
        lost.parts_at(self.documents, &mut pointer, &mut |pointer, step, part| {
            let (node, pointer) = (part.node().into(), room.share(pointer));
            losses.push(Loss { step, pointer, node, fate, by: by.clone(), reason });
        });
        room.text = pointer;
    }
}

/// A member of the next value, until it is merged.
struct Other<'a> {
    name: &'a str,
    key: FieldKey,
    value: Option<Traced>,
}

/// Finds a member by its name: by scanning few, by a sorted index of many.
struct Index<'a>(Option<BTreeMap<&'a str, usize>>);

impl<'a> Index<'a> {
    fn new(others: &[Other<'a>]) -> Self {
        let many = others.len() > 12;
        Self(many.then(|| others.iter().map(|other| other.name).zip(0..).collect()))
    }

    fn find(&self, others: &[Other<'_>], name: &str) -> Option<usize> {
        match &self.0 {
            Some(index) => index.get(name).copied(),
            None => others.iter().position(|other| other.name == name),
        }
    }
}

/// Removes null members at any depth. Parts without nulls stay shared.
fn strip_nulls(documents: &Documents, value: Traced) -> Option<Traced> {
    if value.is_null(documents) {
        return None;
    }
    if !value.is_map(documents) || !has_nulls(documents, &value) {
        return Some(value);
    }
    let step = value.steps().first().copied();
    let entries = value.entries(documents).into_iter();
    let kept: Vec<_> =
        entries.filter_map(|(k, v)| strip_nulls(documents, v).map(|v| (k, v))).collect();
    match step {
        Some(step) if kept.is_empty() => {
            Some(Traced::Implied { step, json: "{}".into(), from: Place::NONE })
        }
        _ => Some(Traced::Map(kept.into())),
    }
}

fn has_nulls(documents: &Documents, value: &Traced) -> bool {
    match value {
        Traced::Whole { node, .. } => has_written_nulls(documents.view(*node)),
        Traced::Map(members) => members.iter().any(|(_, v)| has_nulls(documents, v)),
        Traced::List(_) | Traced::Implied { .. } => false,
    }
}

fn has_written_nulls(view: View<'_>) -> bool {
    view.is_null() || view.entries().any(|(_, value)| has_written_nulls(value))
}

/// What tells elements of a keyed list apart; equal exactly for equal values.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Id<'a> {
    /// As written: what nearly all of them are.
    Scalar(overrule_source::NodeKind, &'a str),
    /// Anything else, by its fingerprint.
    Other(String),
}

impl<'a> Id<'a> {
    fn of(documents: &'a Documents, value: &Traced) -> Self {
        match value {
            Traced::Whole { node, .. } => {
                let view = documents.view(*node);
                match view.kind() {
                    overrule_source::NodeKind::Map | overrule_source::NodeKind::List => {
                        Self::Other(fingerprint(documents, value))
                    }
                    kind => Self::Scalar(kind, view.scalar_text().unwrap_or("")),
                }
            }
            _ => Self::Other(fingerprint(documents, value)),
        }
    }
}

/// A text that is equal exactly for equal values.
fn fingerprint(documents: &Documents, value: &Traced) -> String {
    fn write(documents: &Documents, value: &Traced, out: &mut String) {
        match value.leaf(documents) {
            crate::Leaf::Map => {
                let entries = value.entries(documents);
                let mut sorted: Vec<_> =
                    entries.iter().map(|(k, v)| (k.text(documents), v)).collect();
                sorted.sort_by_key(|(k, _)| *k);
                out.push('{');
                for (key, value) in sorted {
                    out.push_str(&format!("{key:?}:"));
                    write(documents, value, out);
                }
                out.push('}');
            }
            crate::Leaf::List => {
                out.push('[');
                for item in value.items(documents) {
                    write(documents, &item, out);
                    out.push(',');
                }
                out.push(']');
            }
            crate::Leaf::Scalar(view) => {
                out.push_str(&format!("{:?}{:?};", view.kind(), view.scalar_text().unwrap_or("")));
            }
            crate::Leaf::Implied(json) => out.push_str(json),
        }
    }
    let mut out = String::new();
    write(documents, value, &mut out);
    out
}

impl Traced {
    /// A mapping from entries a family computed.
    pub fn map(entries: impl IntoIterator<Item = (FieldKey, Self)>) -> Self {
        Self::Map(entries.into_iter().collect::<Arc<[_]>>())
    }
}
