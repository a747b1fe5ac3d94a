// SPDX-License-Identifier: Apache-2.0
//! In: entries. Out: the matchers of the list form and of the tree form. Not here: the release's form (`kuma`), the
//! filters around them.
//!
//! ```text
//!  list:  guards ─► denies in order ─► allows in order ─► default
//!  tree:  guards ─► denies: without identity ─► by exact identity ─► by longest prefix
//!                ─► allows: the same ─► default
//!  allows of one identity:  without path ─► by exact path ─► by longest prefix
//! ```
//! Both decide alike. They can name different policies: the list the first in order, the tree the closest.

use std::borrow::Cow;
use std::collections::BTreeMap;

use overrule_access::{Effect, Identity, naive};

use crate::entry::{Entry, Path, several_identities, texts, unsafe_path};
use crate::names::{DEFAULT, GUARD, Names, PATH_GUARD, answer};
use crate::proto::matcher::{FieldMatcher, Input, MatchMap, Matcher, MatcherTree, OnMatch};
use crate::proto::rbac::RbacAction;
use crate::sequence::{Sequence, Step, sequence};

/// Entries with the answer they lead to. A shadow has one group, a decision two.
pub(crate) struct Group<'a> {
    pub action: RbacAction,
    pub entries: Vec<Entry<'a>>,
}

/// What is asked before all rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guards {
    /// Whether the client has several identities.
    pub svid: bool,
    /// Whether the path can be judged.
    pub paths: bool,
}

/// What is to be written.
pub(crate) struct Plan<'a> {
    /// Asked in this order.
    pub groups: Vec<Group<'a>>,
    guards: Guards,
    /// The answer to what a guard finds.
    guarded: RbacAction,
    /// The answer when nothing matches.
    otherwise: RbacAction,
}

impl<'a> Plan<'a> {
    /// Denies before allows, so that a deny of any policy beats an allow of any other.
    pub(crate) fn enforced(entries: Vec<Entry<'a>>, guards: Guards) -> Self {
        let (allows, denies) = entries.into_iter().partition(|e| e.rule.effect.allows());
        let groups = vec![
            Group { action: RbacAction::Deny, entries: denies },
            Group { action: RbacAction::Allow, entries: allows },
        ];
        Self { groups, guards, guarded: RbacAction::Deny, otherwise: RbacAction::Deny }
    }

    /// What would be denied; none if nothing would. All else, what a guard finds included, is not counted.
    pub(crate) fn shadow(entries: &[Entry<'a>], guards: Guards) -> Option<Self> {
        let is_shadow = |e: &&Entry<'a>| e.rule.effect == Effect::AllowWithShadowDeny;
        let entries: Vec<_> = entries.iter().filter(is_shadow).cloned().collect();
        (!entries.is_empty()).then(|| Self {
            groups: vec![Group { action: RbacAction::Deny, entries }],
            guards,
            guarded: RbacAction::Allow,
            otherwise: RbacAction::Allow,
        })
    }

    fn guard_matchers(&self) -> Vec<FieldMatcher<'a>> {
        // Without rules the answer is the same for everyone.
        let asks = self.groups.iter().any(|group| !group.entries.is_empty());
        let matcher =
            |name, predicate| FieldMatcher { on_match: answer(self.guarded, name), predicate };
        // The identity goes first: on a connection without TLS, looking at it ends the evaluation with a denial.
        let svid = (asks && self.guards.svid).then(|| matcher(GUARD, several_identities()));
        let path = (asks && self.guards.paths).then(|| matcher(PATH_GUARD, unsafe_path()));
        svid.into_iter().chain(path).collect()
    }
}

/// One list.
pub(crate) fn list<'a>(plan: Plan<'a>, names: &Names<'a>) -> Matcher<'a> {
    let mut matchers = plan.guard_matchers();
    let steps = plan.groups.into_iter().flat_map(|group| {
        let step = move |entry: Entry<'a>| {
            let policy = entry.rule.policy;
            Step { condition: entry.condition(), action: group.action, policy }
        };
        group.entries.into_iter().map(step)
    });
    let Sequence { matchers: rest, end } = sequence(steps, names);
    matchers.extend(rest);
    Sequence { matchers, end }.matcher(Some(answer(plan.otherwise, DEFAULT)))
}

/// Stages, built from the last to the first, because each holds those after it.
pub(crate) fn tree<'a>(mut plan: Plan<'a>, names: &Names<'a>) -> Matcher<'a> {
    let mut matchers = plan.guard_matchers();
    let mut next = Some(answer(plan.otherwise, DEFAULT));
    while let Some(group) = plan.groups.pop() {
        let Stages { mut anyone, exact, prefix } = stages(group, names);
        next = stage(Input::UriSan {}, MapKind::Prefix, prefix, next);
        next = stage(Input::UriSan {}, MapKind::Exact, exact, next);
        // The guards and what asks for no identity are lists both, and share the first one.
        if plan.groups.is_empty() {
            matchers.append(&mut anyone.list.matchers);
            anyone.list.matchers = std::mem::take(&mut matchers);
        }
        next = anyone.before(next);
    }
    match next {
        Some(OnMatch::Matcher(matcher)) => *matcher,
        only => Matcher { on_no_match: only, ..Matcher::default() },
    }
}

/// What keys lead to.
type Keys<'a> = BTreeMap<Cow<'a, str>, OnMatch<'a>>;

struct Stages<'a> {
    anyone: Slot<'a>,
    exact: Keys<'a>,
    prefix: Keys<'a>,
}

fn stages<'a>(group: Group<'a>, names: &Names<'a>) -> Stages<'a> {
    let mut anyone = Vec::new();
    let mut exact: BTreeMap<&str, Vec<Entry<'a>>> = BTreeMap::new();
    let mut prefix = exact.clone();
    for entry in group.entries {
        let into = match &entry.rule.matches.identity {
            None => &mut anyone,
            Some(Identity::Exact(value)) => exact.entry(&**value).or_default(),
            Some(Identity::Prefix(value)) => prefix.entry(&**value).or_default(),
        };
        into.push(entry);
    }
    let slot = |entries| Slot::new(entries, group.action, names);
    let keys = |all: BTreeMap<&'a str, Vec<Entry<'a>>>| {
        let key = |(value, entries)| Some((Cow::Borrowed(value), slot(entries).before(None)?));
        all.into_iter().filter_map(key).collect()
    };
    Stages { anyone: slot(anyone), exact: keys(exact), prefix: keys(prefix) }
}

/// What is asked of those with the same identity: allows on paths by maps, if there are more than a few, and all else by a
/// list before them. Denies on paths are expressions, many in one.
struct Slot<'a> {
    list: Sequence<'a>,
    exact: Keys<'a>,
    prefix: Keys<'a>,
}

/// So many paths are asked one after the other: that costs less than the maps do.
const FEW: usize = 8;

impl<'a> Slot<'a> {
    /// The entries come in list order.
    fn new(mut entries: Vec<Entry<'a>>, action: RbacAction, names: &Names<'a>) -> Self {
        // As the maps have them, so that it is the same who decides: those without path, the exact one, the longest.
        entries.sort_by_cached_key(|entry| naive::stage(entry.rule));
        let step = |condition, policy| Step { condition, action, policy };
        let is_mapped = |entry: &Entry<'_>| matches!(entry.path, Some(Path::Written(_)));
        let many = entries.iter().filter(|entry| is_mapped(entry)).count() > FEW;
        let (mapped, listed): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| many && is_mapped(entry));
        let listed = listed.into_iter().map(|e| (e.rule.policy, e.rest()));
        let list = sequence(listed.map(|(policy, rest)| step(rest, policy)), names);
        let mut exact: BTreeMap<Cow<'a, str>, Vec<Step<'a>>> = BTreeMap::new();
        let mut prefix = exact.clone();
        // What comes after the end of the list is never asked.
        for entry in mapped.into_iter().filter(|_| list.end.is_none()) {
            let Some(Path::Written(path)) = entry.path else { continue };
            let policy = entry.rule.policy;
            let step = step(entry.without_path(), policy);
            let (whole, beginnings) = texts(path);
            for text in beginnings {
                prefix.entry(Cow::Owned(text)).or_default().push(step.clone());
            }
            if let Some(text) = whole {
                exact.entry(Cow::Borrowed(text)).or_default().push(step);
            }
        }
        let key = |(text, steps)| (text, sequence(steps, names).on_match());
        let keys = |all: BTreeMap<_, _>| all.into_iter().map(key).collect();
        Self { list, exact: keys(exact), prefix: keys(prefix) }
    }

    /// As what is asked before `next`; without it, what finds nothing falls back to what asked.
    fn before(self, next: Option<OnMatch<'a>>) -> Option<OnMatch<'a>> {
        let path = || Input::RequestHeader { header_name: ":path" };
        let next = stage(path(), MapKind::Prefix, self.prefix, next);
        let next = stage(path(), MapKind::Exact, self.exact, next);
        match (self.list, next) {
            (list, next) if list.is_empty() => next,
            (list, None) => Some(list.on_match()),
            (list, next) => Some(OnMatch::Matcher(Box::new(list.matcher(next)))),
        }
    }
}

#[derive(Clone, Copy)]
enum MapKind {
    Exact,
    Prefix,
}

/// A map, if there is something to put into it, before `next`.
fn stage<'a>(
    input: Input,
    kind: MapKind,
    map: Keys<'a>,
    next: Option<OnMatch<'a>>,
) -> Option<OnMatch<'a>> {
    if map.is_empty() {
        return next;
    }
    let (exact, prefix) = match kind {
        MapKind::Exact => (Some(MatchMap { map }), None),
        MapKind::Prefix => (None, Some(MatchMap { map })),
    };
    let tree =
        MatcherTree { exact_match_map: exact, input: input.extension(), prefix_match_map: prefix };
    Some(OnMatch::Matcher(Box::new(Matcher {
        matcher_list: None,
        matcher_tree: Some(tree),
        on_no_match: next,
    })))
}
