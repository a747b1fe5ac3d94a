// SPDX-License-Identifier: Apache-2.0
//! In: rules. Out: a form that answers as [`naive`](crate::naive) does, at a cost that does not grow with the number of
//! rules. Not here: what a match means.
//!
//! An answer costs one look for the exact identity, one for each segment of it that prefixes go through (and for each
//! length of text prefixes there), and, where rules also ask for server name, method or path, one for each combination of
//! those. It never costs more than a look at each rule. Memory is linear in the text of the rules.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::conditions::{Builder, Conditions, Ids};
use crate::decision::{Answer, Decision, Verdict};
use crate::facts::Facts;
use crate::first::{Best, First, NONE, Ranked, Slot};
use crate::path::Rejected;
use crate::prefixes::Prefixes;
use crate::rule::{AccessRule, Effect, Identity, Match, Request, RuleSource};
use crate::wire::received;

/// Rules in a form that answers fast.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// In list order, denies first.
    rules: Box<[AccessRule]>,
    /// Theirs.
    sources: Box<[RuleSource]>,
    any: Slot,
    exact: HashMap<Box<str>, Slot>,
    prefixes: Prefixes,
    conditions: Conditions,
    /// Whether a rule compares paths.
    paths: bool,
}

impl Compiled {
    /// The rules come in list order, as for [`naive::decide`](crate::naive::decide).
    pub fn new(rules: &[AccessRule]) -> Self {
        let (denies, allows): (Vec<&AccessRule>, Vec<&AccessRule>) =
            rules.iter().partition(|rule| rule.effect == Effect::Deny);
        let rules: Box<[AccessRule]> = denies.into_iter().chain(allows).cloned().collect();
        let mut slots = Slots::default();
        for (position, rule) in (0..NONE).zip(&rules) {
            slots.add(rule, position);
        }
        Self {
            sources: rules.iter().map(|rule| rule.source).collect(),
            paths: rules.iter().any(|rule| rule.matches.path.is_some()),
            rules,
            any: slots.any,
            exact: slots.exact,
            prefixes: Prefixes::new(slots.prefixes),
            conditions: slots.conditions.build(),
        }
    }

    /// The verdict and who decides it.
    pub fn decide(&self, request: &Request<'_>) -> Answer {
        let path = match received(request, self.paths) {
            Ok(path) => path,
            Err(why) => return Answer::rejected(why),
        };
        let mut query = Query { conditions: &self.conditions, request, path, ids: None };
        let mut best = Best::NOTHING;
        if let Some(identity) = request.identity {
            best = self.prefixes.find(identity, |slot| query.first(slot));
            if let Some(slot) = self.exact.get(identity) {
                best.over(query.first(slot));
            }
        }
        best.over(query.first(&self.any));
        self.answer(best)
    }

    fn answer(&self, best: Best) -> Answer {
        let source = |position: u32| {
            usize::try_from(position).ok().and_then(|n| self.sources.get(n)).copied()
        };
        let Best { list, tree } = best;
        if list.deny != NONE {
            let (by, by_tree) = (source(list.deny), source(tree.deny));
            let shadow = source(list.shadow);
            return Answer { by, by_tree, shadow, ..Answer::NOTHING };
        }
        if list.allow == NONE {
            return Answer::NOTHING;
        }
        Answer {
            verdict: Verdict::Allowed,
            by: source(list.allow),
            by_tree: source(tree.allow),
            shadow: source(list.shadow),
            rejected: None,
        }
    }

    /// Why the proxy refuses a request before it asks any rule; none if it does not.
    pub fn rejects(&self, request: &Request<'_>) -> Option<Rejected> {
        received(request, self.paths).err()
    }

    /// All that matched, in list order, denies first. This asks every rule.
    pub fn matched(&self, request: &Request<'_>) -> Vec<RuleSource> {
        let Ok(facts) = Facts::new(request, self.paths) else { return Vec::new() };
        self.rules.iter().filter(|rule| facts.meet(rule)).map(|rule| rule.source).collect()
    }

    /// Both.
    pub fn decide_fully(&self, request: &Request<'_>) -> Decision {
        Decision::new(self.decide(request), self.matched(request))
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// Slots by identity, while rules come.
struct Slots {
    any: Slot,
    exact: HashMap<Box<str>, Slot>,
    prefixes: BTreeMap<Box<str>, Slot>,
    conditions: Builder,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            any: Slot::EMPTY,
            exact: HashMap::new(),
            prefixes: BTreeMap::new(),
            conditions: Builder::default(),
        }
    }
}

impl Slots {
    fn add(&mut self, rule: &AccessRule, position: u32) {
        let AccessRule { effect, matches, .. } = rule;
        // An allow that gives nothing matches nobody; such a deny matches everybody.
        if effect.allows() && *matches == Match::default() {
            return;
        }
        let slot = match &matches.identity {
            None => &mut self.any,
            Some(Identity::Exact(text)) => self.exact.entry(text.clone()).or_insert(Slot::EMPTY),
            Some(Identity::Prefix(text)) => {
                self.prefixes.entry(text.clone()).or_insert(Slot::EMPTY)
            }
        };
        let first = First::of(*effect, position);
        if matches.sni.is_none() && !matches.needs_http() {
            slot.plain = slot.plain.min(first);
        } else {
            let group = self.conditions.group(&mut slot.group);
            self.conditions.add(group, matches, *effect, first);
        }
    }
}

/// One request, whose numbers are found when the first slot needs them.
struct Query<'a> {
    conditions: &'a Conditions,
    request: &'a Request<'a>,
    path: Option<Cow<'a, str>>,
    ids: Option<Ids>,
}

impl Query<'_> {
    #[inline]
    fn first(&mut self, slot: &Slot) -> Best {
        if slot.group == NONE { slot.plain.into() } else { self.conditional(slot) }
    }

    fn conditional(&mut self, slot: &Slot) -> Best {
        let Request { sni, method, .. } = *self.request;
        let ids =
            self.ids.get_or_insert_with(|| self.conditions.ids(sni, method, self.path.as_deref()));
        let mut ranked = Ranked::new(slot.plain);
        self.conditions.first(slot.group, ids, &mut ranked);
        ranked.best()
    }
}
