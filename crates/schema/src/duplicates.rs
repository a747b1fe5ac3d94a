// SPDX-License-Identifier: Apache-2.0
//! In: a list whose elements must differ, and its schema. Out: the elements that repeat an earlier one. Not here: what
//! is said about them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use overrule_source::{NodeKind, Span, View};
use serde_json::Value;
use smallvec::SmallVec;

use crate::table::{SchemaNode, SchemaTable};

/// An element that repeats an earlier one.
pub(crate) struct Repeated {
    pub(crate) index: usize,
    pub(crate) at: Span,
    pub(crate) first: Span,
    /// What the two have in common, for people.
    pub(crate) what: String,
}

/// What an element is told apart by: the text of its scalar, or of its keys. Numbers and texts do not meet, because a key
/// has one type.
type Identity<'a> = SmallVec<[Option<Cow<'a, str>>; 2]>;

pub(crate) fn repeated(
    table: &SchemaTable,
    node: &SchemaNode,
    list: View<'_>,
    most: usize,
) -> Vec<Repeated> {
    let mut all = Vec::new();
    if !node.set && node.keys.is_empty() {
        return all;
    }
    let mut seen: BTreeMap<Identity<'_>, Span> = BTreeMap::new();
    for (index, item) in list.items().take(most).enumerate() {
        let Some(identity) = identity(table, node, item) else { continue };
        let at = place(node, item);
        if let Some(first) = seen.get(&identity) {
            let what = named(node, &identity);
            all.push(Repeated { index, at, first: *first, what });
        } else {
            seen.insert(identity, at);
        }
    }
    all
}

/// None if it cannot be told, because something is wrong with the element.
fn identity<'a>(table: &'a SchemaTable, node: &SchemaNode, item: View<'a>) -> Option<Identity<'a>> {
    let text = |view: View<'a>| view.scalar_text().map(Cow::Borrowed);
    if node.set {
        return Some(SmallVec::from_iter([Some(text(item)?)]));
    }
    if item.kind() != NodeKind::Map {
        return None;
    }
    let items = table.node(node.items?)?;
    let mut all = Identity::new();
    for key in &node.keys {
        all.push(match item.get(key).filter(|member| !member.is_null()) {
            Some(member) => Some(text(member)?),
            None => match &table.node(items.named(key)?)?.default {
                Some(Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
                Some(value) => Some(Cow::Owned(value.to_string())),
                None => None,
            },
        });
    }
    all.iter().any(Option::is_some).then_some(all)
}

/// The key of an element that has one, or all of it.
fn place(node: &SchemaNode, item: View<'_>) -> Span {
    let key = node.keys.first().filter(|_| node.keys.len() == 1);
    key.and_then(|key| item.get(key)).unwrap_or(item).span()
}

fn named(node: &SchemaNode, identity: &Identity<'_>) -> String {
    let texts = identity.iter().map(|text| text.as_deref().unwrap_or_default());
    if node.set {
        return texts.map(|text| format!("`{text}`")).collect();
    }
    let pairs = node.keys.iter().zip(texts).filter(|(_, text)| !text.is_empty());
    let pairs: Vec<String> = pairs.map(|(key, text)| format!("{key} `{text}`")).collect();
    pairs.join(", ")
}
