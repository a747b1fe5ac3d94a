// SPDX-License-Identifier: Apache-2.0
//! In: entries. Out: the matchers of the list form and of the tree form. Not here: the release's form (`kuma`), the
//! filters around them.
//!
//! ```text
//!  list:  guard ─► denies in order ─► allows in order ─► default
//!  tree:  guard ─► denies: without identity ─► by exact identity ─► by longest prefix
//!               ─► allows: the same ─► default
//! ```
//! Both decide alike. They can name different policies: the list the first in order, the tree the closest.

use std::collections::BTreeMap;

use overrule_access::{Effect, Identity};

use crate::entry::{Entry, several_identities};
use crate::names::{DEFAULT, GUARD, Names, answer};
use crate::proto::matcher::{FieldMatcher, Input, MatchMap, Matcher, MatcherTree, OnMatch};
use crate::proto::rbac::RbacAction;
use crate::sequence::{Sequence, Step, sequence};

/// Entries with the answer they lead to. A shadow has one group, a decision two.
pub(crate) struct Group<'a> {
    pub action: RbacAction,
    pub entries: Vec<Entry<'a>>,
}

/// What is to be written.
pub(crate) struct Plan<'a> {
    /// Asked in this order.
    pub groups: Vec<Group<'a>>,
    /// The answer to several identities, if they are asked about.
    pub guard: Option<RbacAction>,
    /// The answer when nothing matches.
    pub otherwise: RbacAction,
}

impl<'a> Plan<'a> {
    /// Denies before allows, so that a deny of any policy beats an allow of any other.
    pub(crate) fn enforced(entries: Vec<Entry<'a>>, guarded: bool) -> Self {
        let (allows, denies) = entries.into_iter().partition(|e| e.rule.effect.allows());
        let groups = vec![
            Group { action: RbacAction::Deny, entries: denies },
            Group { action: RbacAction::Allow, entries: allows },
        ];
        Self { groups, guard: guarded.then_some(RbacAction::Deny), otherwise: RbacAction::Deny }
    }

    /// What would be denied; none if nothing would. All else, several identities included, is not counted.
    pub(crate) fn shadow(entries: &[Entry<'a>], guarded: bool) -> Option<Self> {
        let is_shadow = |e: &&Entry<'a>| e.rule.effect == Effect::AllowWithShadowDeny;
        let entries: Vec<_> = entries.iter().filter(is_shadow).cloned().collect();
        let guard = guarded.then_some(RbacAction::Allow);
        (!entries.is_empty()).then(|| Self {
            groups: vec![Group { action: RbacAction::Deny, entries }],
            guard,
            otherwise: RbacAction::Allow,
        })
    }

    fn take_guard(&mut self) -> Vec<FieldMatcher<'a>> {
        // Without rules the answer is the same for everyone.
        let asks = self.groups.iter().any(|group| !group.entries.is_empty());
        let guard = self.guard.take().filter(|_| asks);
        let matcher = |action| FieldMatcher {
            on_match: answer(action, GUARD),
            predicate: several_identities(),
        };
        guard.map(matcher).into_iter().collect()
    }
}

/// One list.
pub(crate) fn list<'a>(mut plan: Plan<'a>, names: &Names<'a>) -> Matcher<'a> {
    let mut matchers = plan.take_guard();
    let steps = plan.groups.into_iter().flat_map(|group| {
        let step = move |entry: Entry<'a>| {
            let policy = entry.rule.policy;
            Step { predicate: entry.predicate(), action: group.action, policy }
        };
        group.entries.into_iter().map(step)
    });
    let Sequence { matchers: rest, end } = sequence(steps, names);
    matchers.extend(rest);
    Sequence { matchers, end }.matcher(Some(answer(plan.otherwise, DEFAULT)))
}

/// Stages, built from the last to the first, because each holds those after it.
pub(crate) fn tree<'a>(mut plan: Plan<'a>, names: &Names<'a>) -> Matcher<'a> {
    let mut matchers = plan.take_guard();
    let mut next = answer(plan.otherwise, DEFAULT);
    while let Some(group) = plan.groups.pop() {
        let Stages { anyone, exact, prefix } = stages(group, names);
        next = stage(prefix, next, names, |map, tree| tree.prefix_match_map = Some(map));
        next = stage(exact, next, names, |map, tree| tree.exact_match_map = Some(map));
        // The guard and what asks for no identity are lists both, and share the first one.
        let mut first = anyone;
        if plan.groups.is_empty() {
            matchers.append(&mut first.matchers);
            first.matchers = std::mem::take(&mut matchers);
        }
        if !first.is_empty() {
            next = OnMatch::Matcher(Box::new(first.matcher(Some(next))));
        }
    }
    match next {
        OnMatch::Matcher(matcher) => *matcher,
        only @ OnMatch::Action(_) => Matcher { on_no_match: Some(only), ..Matcher::default() },
    }
}

type ByIdentity<'a> = BTreeMap<&'a str, Vec<Step<'a>>>;

struct Stages<'a> {
    anyone: Sequence<'a>,
    exact: ByIdentity<'a>,
    prefix: ByIdentity<'a>,
}

fn stages<'a>(group: Group<'a>, names: &Names<'a>) -> Stages<'a> {
    let (mut anyone, mut exact, mut prefix) = (Vec::new(), ByIdentity::new(), ByIdentity::new());
    for entry in group.entries {
        let rule = entry.rule;
        let into = match &rule.matches.identity {
            None => &mut anyone,
            Some(Identity::Exact(value)) => exact.entry(&**value).or_default(),
            Some(Identity::Prefix(value)) => prefix.entry(&**value).or_default(),
        };
        into.push(Step { predicate: entry.rest(), action: group.action, policy: rule.policy });
    }
    Stages { anyone: sequence(anyone, names), exact, prefix }
}

/// A map, if there is something to put into it, before `next`.
fn stage<'a>(
    values: ByIdentity<'a>,
    next: OnMatch<'a>,
    names: &Names<'a>,
    put: impl FnOnce(MatchMap<'a>, &mut MatcherTree<'a>),
) -> OnMatch<'a> {
    if values.is_empty() {
        return next;
    }
    let map = values.into_iter().map(|(value, steps)| (value, sequence(steps, names).on_match()));
    let map = MatchMap { map: map.collect() };
    let mut tree = MatcherTree {
        exact_match_map: None,
        input: Input::UriSan {}.extension(),
        prefix_match_map: None,
    };
    put(map, &mut tree);
    OnMatch::Matcher(Box::new(Matcher {
        matcher_list: None,
        matcher_tree: Some(tree),
        on_no_match: Some(next),
    }))
}
