// SPDX-License-Identifier: Apache-2.0
//! In: two traced values and a plan. Out: one traced value; what did not make it is recorded.
//! Not here: which of the two is preferred, and why (the family's algebra).

use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_source::Documents;
use smallvec::SmallVec;

use crate::room::{Held, Room};
use crate::traced::push_segment;
use crate::{Fate, Key, ListRule, Loss, MergePlan, Nulls, PlanId, Reason, Rule, Traced};

/// Whose value stays where both have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prefer {
    /// What is in force already.
    Held,
    /// What comes now.
    Incoming,
}

/// Combinators a family registers for [`Rule::Combinator`].
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
    pointer: SmallVec<[Segment; 8]>,
    room: Held<'a>,
}

#[derive(Clone)]
enum Segment {
    Key(Key),
    Index(usize),
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
        let (pointer, room) = (SmallVec::new(), Held::Own(Room::default()));
        Self { documents, plan, combine, prefer, reason, losses, pointer, room }
    }

    /// The same, sharing what merges have in common.
    pub(crate) fn within(self, room: &'a mut Room) -> Self {
        Self { room: Held::Lent(room), ..self }
    }

    /// Merges by the rule at `at`. `None`: the value was deleted.
    pub fn merge(&mut self, at: PlanId, held: Traced, incoming: Traced) -> Option<Traced> {
        let (plan, documents) = (self.plan, self.documents);
        match plan.rule(at) {
            Rule::Fields { .. } if held.is_map(documents) && incoming.is_map(documents) => {
                Some(self.fields(at, &held, &incoming))
            }
            Rule::List(rule) if held.is_list(documents) && incoming.is_list(documents) => {
                Some(self.lists(rule, &held, &incoming))
            }
            Rule::Combinator(number) => {
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
            pointer: std::mem::take(&mut self.pointer),
            room: Held::Lent(self.room.get()),
        };
        let merged = inner.merge(MergePlan::ROOT, held, incoming);
        self.pointer = inner.pointer;
        merged
    }

    /// Does something with a member.
    pub fn below<R>(&mut self, key: &Key, act: impl FnOnce(&mut Self) -> R) -> R {
        self.pointer.push(Segment::Key(key.clone()));
        let result = act(self);
        self.pointer.pop();
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
        let preferred = if self.prefer == Prefer::Held { held } else { incoming };
        let others = incoming.entries(documents);
        let index = Index::new(documents, &others);
        let mut taken: SmallVec<[bool; 16]> = SmallVec::from_elem(false, others.len());
        let first = self.room.get().members.len();
        for (key, value) in held.entries(documents) {
            let name = key.text(documents);
            let other = index.find(name);
            let result = match other.and_then(|i| others.get(i).map(|(_, v)| (i, v.clone()))) {
                Some((i, other)) => {
                    if let Some(flag) = taken.get_mut(i) {
                        *flag = true;
                    }
                    let member = self.plan.member(at, name);
                    self.below(&key, |merger| merger.merge(member, value, other))
                }
                // Alone on its side: a patch's nulls vanish, a target's stay (RFC 7386).
                None if self.prefer == Prefer::Held => self.settle(value),
                None => Some(value),
            };
            self.room.get().members.extend(result.map(|value| (key, value)));
        }
        drop(index);
        for ((key, value), taken) in others.into_iter().zip(taken) {
            if !taken {
                let result =
                    if self.prefer == Prefer::Incoming { self.settle(value) } else { Some(value) };
                self.room.get().members.extend(result.map(|value| (key, value)));
            }
        }
        let members = &mut self.room.get().members;
        if members.len() == first {
            // Whoever deleted the last member is the origin of what is left: nothing.
            if let Some(step) = preferred.steps().first().copied() {
                return Traced::Implied { step, json: "{}".into(), from: None };
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
                    self.pointer.push(Segment::Index(place.unwrap_or(0)));
                    let result = self.merge(element, before, item.clone());
                    self.pointer.pop();
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
        pointer.clear();
        for segment in &self.pointer {
            match segment {
                Segment::Key(key) => push_segment(&mut pointer, key.text(self.documents)),
                Segment::Index(i) => push_segment(&mut pointer, &i.to_string()),
            }
        }
        let by = winner.steps();
        let (losses, reason) = (&mut *self.losses, self.reason);
        lost.parts_at(self.documents, &mut pointer, &mut |pointer, step, part| {
            let (node, pointer) = (part.node(), room.share(pointer));
            losses.push(Loss { step, pointer, node, fate, by: by.clone(), reason });
        });
        room.text = pointer;
    }
}

/// Finds a key among entries: by scanning few, by a sorted index of many.
enum Index<'a> {
    Few(SmallVec<[&'a str; 12]>),
    Many(BTreeMap<&'a str, usize>),
}

impl<'a> Index<'a> {
    fn new(documents: &'a Documents, entries: &'a [(Key, Traced)]) -> Self {
        let names = entries.iter().map(|(k, _)| k.text(documents));
        match entries.len() > 12 {
            true => Self::Many(names.zip(0..).collect()),
            false => Self::Few(names.collect()),
        }
    }

    fn find(&self, key: &str) -> Option<usize> {
        match self {
            Self::Many(index) => index.get(key).copied(),
            Self::Few(names) => names.iter().position(|name| *name == key),
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
            Some(Traced::Implied { step, json: "{}".into(), from: None })
        }
        _ => Some(Traced::Map(kept.into())),
    }
}

fn has_nulls(documents: &Documents, value: &Traced) -> bool {
    value.is_null(documents)
        || value.is_map(documents)
            && value.entries(documents).iter().any(|(_, v)| has_nulls(documents, v))
}

/// What tells elements of a keyed list apart; equal exactly for equal values.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Id<'a> {
    /// As written: what nearly all of them are.
    Scalar(overrule_source::Kind, &'a str),
    /// Anything else, by its fingerprint.
    Other(String),
}

impl<'a> Id<'a> {
    fn of(documents: &'a Documents, value: &Traced) -> Self {
        match value {
            Traced::Whole { node, .. } => {
                let view = documents.view(*node);
                match view.kind() {
                    overrule_source::Kind::Map | overrule_source::Kind::List => {
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
    pub fn map(entries: impl IntoIterator<Item = (Key, Self)>) -> Self {
        Self::Map(entries.into_iter().collect::<Arc<[_]>>())
    }
}
