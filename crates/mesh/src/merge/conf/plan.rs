// SPDX-License-Identifier: Apache-2.0
//! In: a kind, or a strategy by path. Out: how confs become one, as a plan of the engine with its combinators.
//! Not here: the order of confs, doing it (`merge`, `algebra`).
//!
//! Confs are JSON merge patches: mappings recurse, everything else is replaced, null deletes. Three lists are special:
//! those that are appended (their name says so), those whose elements have a key, and the one that splits a conf.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{
    Combine, Fate, FieldKey, Leaf, Loss, MergePlan, MergeRule, Merger, Nulls, Prefer, Reason,
    Traced,
};
use overrule_source::Documents;

use super::http_route::{HOSTNAMES, MATCHES, RULES, text_of_matches};
use super::reasons;
use crate::kinds::{Conf, ResourceKind};

/// How confs of one kind become one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfStrategy {
    /// Lists that are joined, lower confs first.
    pub append: Append,
    /// A list whose elements are merged by key.
    pub keyed: Option<Keyed>,
    /// A list of texts that splits a conf: one result for each text.
    pub group_by: Option<Box<str>>,
    /// Whether confs are not merged at all: the first one counts, whole.
    pub first_counts: bool,
}

/// Which lists are appended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Append {
    /// Members of nested mappings whose name begins with `append`.
    #[default]
    ByName,
    /// These, as keys with dots between them.
    Paths(Vec<Box<str>>),
}

/// A list whose elements have a key. What is preferred stands first; elements with equal keys become one, at the place of
/// the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyed {
    /// The member of a conf that is the list.
    pub list: Box<str>,
    /// The member of an element that is its key, compared as a whole.
    pub key: Box<str>,
    /// What makes two keys equal.
    pub identity: KeyEquality,
}

/// When two keys are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyEquality {
    /// If they are the same value.
    Value,
    /// If they are the same matches of a MeshHTTPRoute.
    Matches,
}

impl ConfStrategy {
    /// The strategy of a kind.
    pub fn of(kind: &ResourceKind) -> Self {
        let Some(policy) = kind.policy else { return Self::default() };
        if policy.conf == Conf::Rules {
            let keyed =
                Keyed { list: RULES.into(), key: MATCHES.into(), identity: KeyEquality::Matches };
            return Self {
                keyed: Some(keyed),
                group_by: Some(HOSTNAMES.into()),
                ..Self::default()
            };
        }
        let append = match policy.joined {
            [] => Append::ByName,
            joined => Append::Paths(joined.iter().map(|list| (*list).into()).collect()),
        };
        Self { append, ..Self::default() }
    }

    /// The texts of the list that splits a conf, each once, in order.
    pub(crate) fn names(&self, documents: &Documents, conf: &Traced) -> Vec<Box<str>> {
        let list = self.group_by.as_deref().and_then(|list| conf.get(documents, list));
        let mut names: Vec<Box<str>> = Vec::new();
        for item in list.into_iter().flat_map(|list| list.items(documents)) {
            let name = group_text(documents, &item);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Lists are joined, the lower side first; null adds nothing.
const JOIN: u16 = 0;
/// Elements are merged by key.
const BY_KEY: u16 = 1;
/// Both sides are known to be equal: the preferred one stays, and nothing is lost.
const SAME: u16 = 2;
/// So many numbers belong to one plan.
const NUMBERS: u16 = 3;

/// Why the lower of two confs loses a field.
pub const REASON: Reason = &reasons::MORE_SPECIFIC;

/// A strategy ready for use.
#[derive(Debug, Clone)]
pub struct Plan {
    strategy: ConfStrategy,
    rules: MergePlan,
    element: MergePlan,
    /// Lists that are appended because confs have them and they are called so.
    appended: BTreeSet<Vec<Box<str>>>,
}

impl Plan {
    /// The plan of a strategy for these confs; lists that are appended by name are looked for in them. Where one
    /// algebra has several plans, `place` is the place of this one.
    pub fn new<'c>(
        documents: &Documents,
        strategy: ConfStrategy,
        confs: impl IntoIterator<Item = &'c Traced>,
        place: u16,
    ) -> Self {
        let number =
            |n: u16| MergeRule::Combinator(place.saturating_mul(NUMBERS).saturating_add(n));
        let mut paths: BTreeSet<Vec<Box<str>>> = BTreeSet::new();
        match &strategy.append {
            Append::ByName => {
                for conf in confs {
                    append_paths(documents, conf, &mut Vec::new(), &mut paths);
                }
            }
            Append::Paths(given) => {
                paths.extend(given.iter().map(|path| path.split('.').map(Box::from).collect()));
            }
        }
        let append = paths.iter().map(|p| (p.iter().map(|s| &**s).collect(), number(JOIN)));
        let keyed = strategy.keyed.iter().map(|k| (vec![&*k.list], number(BY_KEY)));
        let group = strategy.group_by.iter().map(|list| (vec![&**list], number(SAME)));
        let rules = MergePlan::with_rules(append.chain(keyed).chain(group), Nulls::Delete);
        let key = strategy.keyed.iter().map(|k| (vec![&*k.key], number(SAME)));
        let element = MergePlan::with_rules(key, Nulls::Delete);
        Self { strategy, rules, element, appended: paths }
    }

    /// Whether a conf has no list to append that the confs it was made for did not have.
    pub(crate) fn knows(&self, documents: &Documents, conf: &Traced) -> bool {
        if self.strategy.append != Append::ByName {
            return true;
        }
        let mut found = BTreeSet::new();
        append_paths(documents, conf, &mut Vec::new(), &mut found);
        found.is_subset(&self.appended)
    }

    /// The strategy it is a plan of.
    pub(crate) fn strategy(&self) -> &ConfStrategy {
        &self.strategy
    }

    /// Whether only the first conf counts.
    pub fn first_counts(&self) -> bool {
        self.strategy.first_counts
    }

    /// The rules of the engine.
    pub fn rules(&self) -> &MergePlan {
        &self.rules
    }

    /// The place of a plan that a combinator's number belongs to.
    pub fn place_of(number: u16) -> usize {
        usize::from(number / NUMBERS)
    }

    /// Whether confs are folded from the highest to the lowest, so that an element of a keyed list never moves and a loss
    /// tells its final place. The result is the same for confs without null, and confs of policies have none.
    pub fn from_the_top(&self) -> bool {
        self.strategy.keyed.is_some()
    }

    /// Which side is preferred when folding in that direction.
    pub fn prefer(&self) -> Prefer {
        if self.from_the_top() { Prefer::Held } else { Prefer::Incoming }
    }

    /// A conf by itself: elements of its keyed list with equal keys are one already, the first preferred.
    pub fn prepare(&self, documents: &Documents, conf: Traced, losses: &mut Vec<Loss>) -> Traced {
        let Some(keyed) = &self.strategy.keyed else { return conf };
        let items = conf.get(documents, &keyed.list).map(|l| l.items(documents));
        let items = items.unwrap_or_default().into_vec();
        let mut seen = BTreeSet::new();
        if items.iter().all(|item| seen.insert(keyed.key_of(documents, item))) {
            return conf;
        }
        let reason = &reasons::SAME_KEY;
        let mut merger = Merger::new(documents, &self.rules, self, Prefer::Held, reason, losses);
        let place = FieldKey::Text((&*keyed.list).into());
        let joined = merger.below(&place, |merger| self.by_key(merger, keyed, items));
        with_member(documents, &conf, &keyed.list, &joined)
    }

    /// The part of a conf for one of those texts, or for none.
    pub fn part(&self, documents: &Documents, conf: &Traced, name: Option<&str>) -> Option<Traced> {
        let list = self.strategy.group_by.as_deref();
        let items = list.and_then(|l| Some((l, conf.get(documents, l)?.items(documents))));
        match (items.filter(|(_, items)| !items.is_empty()), name) {
            (None, None) => Some(conf.clone()),
            (Some((list, items)), Some(name)) => {
                let item = items.into_iter().find(|i| &*group_text(documents, i) == name)?;
                Some(single(documents, conf, list, item))
            }
            _ => None,
        }
    }

    fn join(&self, merger: &mut Merger<'_>, held: Traced, incoming: Traced) -> Option<Traced> {
        let documents = merger.documents;
        let (upper, lower) = match merger.prefer {
            Prefer::Held => (&held, &incoming),
            Prefer::Incoming => (&incoming, &held),
        };
        match (lower.is_list(documents), upper.is_list(documents)) {
            (true, true) => {
                let all = lower.items(documents).into_iter().chain(upper.items(documents));
                Some(Traced::List(all.collect()))
            }
            (true, false) => Some(list_over(merger, lower, upper)),
            (false, true) => Some(list_over(merger, upper, lower)),
            (false, false) => merger.atomic(held, incoming),
        }
    }

    fn keyed(&self, merger: &mut Merger<'_>, held: Traced, incoming: Traced) -> Option<Traced> {
        let documents = merger.documents;
        let lists = held.is_list(documents) && incoming.is_list(documents);
        let Some(keyed) = self.strategy.keyed.as_ref().filter(|_| lists) else {
            return self.join(merger, held, incoming);
        };
        let (upper, lower) = match merger.prefer {
            Prefer::Held => (held, incoming),
            Prefer::Incoming => (incoming, held),
        };
        let all = upper.items(documents).into_iter().chain(lower.items(documents));
        Some(self.by_key(merger, keyed, all.collect()))
    }

    /// Elements with equal keys become one at the place of the first, which is preferred.
    fn by_key(&self, merger: &mut Merger<'_>, keyed: &Keyed, items: Vec<Traced>) -> Traced {
        let documents = merger.documents;
        let prefer = std::mem::replace(&mut merger.prefer, Prefer::Held);
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut merged: Vec<Traced> = Vec::with_capacity(items.len());
        for item in items {
            let place = *places.entry(keyed.key_of(documents, &item)).or_insert(merged.len());
            let Some(slot) = merged.get_mut(place) else {
                merged.push(item);
                continue;
            };
            let at = FieldKey::Text(place.to_string().as_str().into());
            let before = slot.clone();
            if let Some(one) = merger.below(&at, |m| m.by_plan(&self.element, before, item)) {
                *slot = one;
            }
        }
        merger.prefer = prefer;
        Traced::List(merged.into())
    }
}

impl Combine for Plan {
    fn combine(
        &self,
        number: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        match number % NUMBERS {
            JOIN => self.join(merger, held, incoming),
            BY_KEY => self.keyed(merger, held, incoming),
            _ => Some(if merger.prefer == Prefer::Held { held } else { incoming }),
        }
    }
}

impl Keyed {
    fn key_of(&self, documents: &Documents, element: &Traced) -> String {
        let key = element.get(documents, &self.key);
        match self.identity {
            KeyEquality::Matches => text_of_matches(documents, key.as_ref()),
            KeyEquality::Value => key.map(|k| k.to_json(documents).to_string()).unwrap_or_default(),
        }
    }
}

/// Every place below a conf, through mappings, whose name says that lists are appended there.
fn append_paths(
    documents: &Documents,
    value: &Traced,
    at: &mut Vec<Box<str>>,
    found: &mut BTreeSet<Vec<Box<str>>>,
) {
    for (key, member) in value.entries(documents) {
        let name = key.text(documents);
        // In a plan a star would mean every member; no field is called so.
        if name == "*" {
            continue;
        }
        at.push(name.into());
        if member.is_map(documents) {
            append_paths(documents, &member, at, found);
        } else if name.starts_with("append") && member.is_list(documents) {
            found.insert(at.clone());
        }
        at.pop();
    }
}

/// A list stays. What is not a list is lost; null meant nothing.
fn list_over(merger: &mut Merger<'_>, list: &Traced, other: &Traced) -> Traced {
    if !other.is_null(merger.documents) {
        merger.lose(other, list, Fate::Shadowed);
    }
    list.clone()
}

/// A conf whose list has the one element.
fn single(documents: &Documents, conf: &Traced, list: &str, item: Traced) -> Traced {
    with_member(documents, conf, list, &Traced::List([item].into()))
}

/// A conf one list of which stands the other way round. Kuma's own step merges by key at the place of the *last* element,
/// and MeshHTTPRoutes are reversed before and after it: whoever wants that inner step turns confs and results around.
pub fn reversed(documents: &Documents, conf: &Traced, list: &str) -> Traced {
    let Some(items) = conf.get(documents, list).filter(|l| l.is_list(documents)) else {
        return conf.clone();
    };
    let items = items.items(documents).into_iter().rev();
    with_member(documents, conf, list, &Traced::List(items.collect()))
}

/// A mapping with another value for one of its members.
fn with_member(documents: &Documents, value: &Traced, name: &str, member: &Traced) -> Traced {
    let replaced = |(key, old): (FieldKey, Traced)| {
        let new = if key.text(documents) == name { member.clone() } else { old };
        (key, new)
    };
    Traced::map(value.entries(documents).into_iter().map(replaced))
}

/// The text of an element of the list that splits a conf.
fn group_text(documents: &Documents, item: &Traced) -> Box<str> {
    match item.leaf(documents) {
        Leaf::Scalar(view) => view.scalar_text().unwrap_or("").into(),
        Leaf::Implied(json) => json.into(),
        Leaf::Map | Leaf::List => Box::from(""),
    }
}
