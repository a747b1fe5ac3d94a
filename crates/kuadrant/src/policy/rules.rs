// SPDX-License-Identifier: Apache-2.0
//! In: a block. Out: its rules, one by one, and the way back: rules as a value in the shape of a bare policy.
//! Not here: which of them are in force.

use overrule_engine::{FieldKey, StepId, Traced};
use overrule_source::{Documents, NodeKind, NodeRef, View};

use crate::kinds::{KindInfo, RuleGroup};

/// A rule: the unit that is replaced, added and removed. Its value is never looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedRule {
    /// Where it stands.
    pub group: &'static RuleGroup,
    /// Its name as written; for the one rule of a place, the last word of the place.
    pub key: NodeRef,
    /// Its value.
    pub value: NodeRef,
}

impl NamedRule {
    /// Its id: `rules.authentication.a`, `limits.a`, `when`.
    pub fn id(&self, documents: &Documents) -> String {
        self.group.id(documents.view(self.key).key_text())
    }

    /// JSON pointer to it in a bare policy.
    pub fn pointer(&self, documents: &Documents) -> String {
        let name = self.group.named.then(|| documents.view(self.key).key_text());
        let segments = self.group.path.iter().copied().chain(name);
        segments.map(|s| format!("/{}", s.replace('~', "~0").replace('/', "~1"))).collect()
    }
}

/// The rules of a block, in the order of their groups, then as written.
pub(super) fn of_block(info: &'static KindInfo, doc: NodeRef, block: View<'_>) -> Vec<NamedRule> {
    let at = |view: View<'_>| NodeRef { doc: doc.doc, node: view.id() };
    let mut rules = Vec::new();
    for group in info.groups {
        let Some((key, place)) = find(block, group.path) else { continue };
        if group.named {
            let members = place.entries();
            rules.extend(members.map(|(k, v)| NamedRule { group, key: at(k), value: at(v) }));
        } else if !is_condition(group, place) {
            rules.push(NamedRule { group, key: at(key), value: at(place) });
        }
    }
    rules
}

/// `when` is a rule only as a list of predicates: as a string it is the condition of its block, and empty it is nothing.
fn is_condition(group: &RuleGroup, place: View<'_>) -> bool {
    group.path == ["when"] && (place.kind() != NodeKind::List || place.is_empty())
}

/// The entry at a path below a mapping.
fn find<'a>(block: View<'a>, path: &[&str]) -> Option<(View<'a>, View<'a>)> {
    let (last, way) = path.split_last()?;
    way.iter().try_fold(block, |view, key| view.get(key))?.get_entry(last)
}

/// Rules as a value in the shape of a bare policy; they must be in the order of their groups.
pub fn shape(step: StepId, rules: &[NamedRule]) -> Traced {
    level(step, 0, rules)
}

fn level(step: StepId, depth: usize, rules: &[NamedRule]) -> Traced {
    let word = |rule: &NamedRule| rule.group.path.get(depth).copied();
    let mut entries: Vec<(FieldKey, Traced)> = Vec::new();
    for part in rules.chunk_by(|a, b| word(a).is_some() && word(a) == word(b)) {
        let Some(first) = part.first() else { continue };
        let whole = |rule: &NamedRule| Traced::Whole { step, node: rule.value };
        match word(first) {
            Some(word) if depth + 1 < first.group.path.len() || first.group.named => {
                entries.push((FieldKey::Text(word.into()), level(step, depth + 1, part)));
            }
            Some(word) => entries.push((FieldKey::Text(word.into()), whole(first))),
            None => entries.extend(part.iter().map(|r| (FieldKey::Node(r.key), whole(r)))),
        }
    }
    Traced::map(entries)
}
