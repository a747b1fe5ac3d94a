// SPDX-License-Identifier: Apache-2.0
//! In: nodes of the source arena and the steps that contribute them. Out: values whose every part knows its origin.
//! Not here: rendering, merging.
//!
//! A part that one step wrote verbatim is a pointer into its document; nothing is copied. Only what a merge puts
//! together is new, and only as deep as the merge went.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use overrule_source::{DocId, Documents, NodeKind, NodeRef, TreeNodeId, View};
use smallvec::SmallVec;

use crate::StepId;

/// A mapping key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKey {
    /// As written somewhere.
    Node(NodeRef),
    /// Made by a family.
    Text(SharedText),
}

/// A shared text. One pointer wide, not two: there are many more of them than there are texts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedText(Arc<Box<str>>);

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SharedText {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl FieldKey {
    /// The text of the key.
    pub fn text<'a>(&'a self, documents: &'a Documents) -> &'a str {
        match self {
            Self::Node(node) => documents.view(*node).key_text(),
            Self::Text(word) => &word.0,
        }
    }
}

/// A place in a document, or none. It takes no more room than a place: values and losses have one each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Place(NodeRef);

impl Place {
    /// No place. There is never a document of this number.
    pub const NONE: Self = Self(NodeRef { doc: DocId(u32::MAX), node: TreeNodeId(u32::MAX) });

    /// The place, if there is one.
    pub fn get(self) -> Option<NodeRef> {
        (self != Self::NONE).then_some(self.0)
    }
}

impl From<Option<NodeRef>> for Place {
    fn from(place: Option<NodeRef>) -> Self {
        place.map_or(Self::NONE, Self)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A value with origins.
#[derive(Debug, Clone, PartialEq)]
pub enum Traced {
    /// Written by one step, verbatim from its document.
    Whole {
        /// Who wrote it.
        step: StepId,
        /// Where it stands.
        node: NodeRef,
    },
    /// A mapping merged from several steps.
    Map(Arc<[(FieldKey, Traced)]>),
    /// A list merged from several steps.
    List(Arc<[Traced]>),
    /// A value that no policy wrote: a schema default, a canonical form, or a mapping (`{}`) whose members were all
    /// deleted.
    /// The step is the one that implies it.
    Implied {
        /// Who implies it.
        step: StepId,
        /// The value as JSON text.
        json: SharedText,
        /// What it was made from, if one place says it in other words.
        from: Place,
    },
}

/// What a value is at its top.
#[derive(Debug, Clone)]
pub enum Leaf<'a> {
    /// A mapping; ask for its entries.
    Map,
    /// A list; ask for its items.
    List,
    /// A scalar as written.
    Scalar(View<'a>),
    /// An implied value, as JSON text.
    Implied(&'a str),
}

impl Traced {
    /// Whether the same steps stand at the same places as in another value, whatever they say there. The documents are
    /// those of this value and of the other one.
    pub(crate) fn is_alike(&self, other: &Self, documents: [&Documents; 2]) -> bool {
        let [ours, theirs] = documents;
        match (self, other) {
            (Self::Whole { step, .. }, Self::Whole { step: other, .. }) => step == other,
            (Self::Map(entries), Self::Map(others)) => {
                let same =
                    |((key, value), (name, other)): (&(FieldKey, Self), &(FieldKey, Self))| {
                        key.text(ours) == name.text(theirs) && value.is_alike(other, documents)
                    };
                entries.len() == others.len() && entries.iter().zip(others.iter()).all(same)
            }
            (Self::List(items), Self::List(others)) => {
                let mut pairs = items.iter().zip(others.iter());
                items.len() == others.len() && pairs.all(|(a, b)| a.is_alike(b, documents))
            }
            (Self::Implied { step, json, .. }, Self::Implied { step: other, json: text, .. }) => {
                (step, json) == (other, text)
            }
            _ => false,
        }
    }
}

impl Traced {
    /// What it is.
    pub fn leaf<'a>(&'a self, documents: &'a Documents) -> Leaf<'a> {
        match self {
            Self::Map(_) => Leaf::Map,
            Self::List(_) => Leaf::List,
            Self::Implied { json, .. } if &**json == "{}" => Leaf::Map,
            Self::Implied { json, .. } => Leaf::Implied(json),
            Self::Whole { node, .. } => {
                let view = documents.view(*node);
                match view.kind() {
                    NodeKind::Map => Leaf::Map,
                    NodeKind::List => Leaf::List,
                    _ => Leaf::Scalar(view),
                }
            }
        }
    }

    /// The value without origins, as JSON.
    pub fn to_json(&self, documents: &Documents) -> serde_json::Value {
        match self {
            Self::Whole { node, .. } => documents.view(*node).to_json(),
            Self::Map(entries) => {
                let member = |(key, value): &(FieldKey, Self)| {
                    (key.text(documents).to_owned(), value.to_json(documents))
                };
                entries.iter().map(member).collect()
            }
            Self::List(items) => items.iter().map(|item| item.to_json(documents)).collect(),
            // Whoever implied it wrote JSON.
            Self::Implied { json, .. } => serde_json::from_str(json).unwrap_or_default(),
        }
    }

    /// Where it is written, if that is one place.
    pub fn node(&self) -> Option<NodeRef> {
        match self {
            Self::Whole { node, .. } => Some(*node),
            Self::Implied { from, .. } => from.get(),
            Self::Map(_) | Self::List(_) => None,
        }
    }

    /// Whether it is a mapping.
    pub fn is_map(&self, documents: &Documents) -> bool {
        matches!(self.leaf(documents), Leaf::Map)
    }

    /// Whether it is a list.
    pub fn is_list(&self, documents: &Documents) -> bool {
        matches!(self.leaf(documents), Leaf::List)
    }

    /// Whether it is a written null.
    pub fn is_null(&self, documents: &Documents) -> bool {
        matches!(self.leaf(documents), Leaf::Scalar(view) if view.is_null())
    }

    /// Members of a mapping, in order; empty for anything else.
    pub fn entries(&self, documents: &Documents) -> SmallVec<[(FieldKey, Self); 8]> {
        match self {
            Self::Map(entries) => entries.iter().cloned().collect(),
            Self::Whole { step, node } => documents
                .view(*node)
                .entries()
                .map(|(key, value)| {
                    let at = |view: View<'_>| NodeRef { doc: node.doc, node: view.id() };
                    (FieldKey::Node(at(key)), Self::Whole { step: *step, node: at(value) })
                })
                .collect(),
            Self::List(_) | Self::Implied { .. } => SmallVec::new(),
        }
    }

    /// The same with the name of each, without a list of them.
    pub(crate) fn members<'a>(
        &'a self,
        documents: &'a Documents,
    ) -> impl Iterator<Item = (&'a str, FieldKey, Self)> {
        let (written, made) = match self {
            Self::Whole { step, node } => (Some((*step, *node)), &[][..]),
            Self::Map(entries) => (None, &**entries),
            Self::List(_) | Self::Implied { .. } => (None, &[][..]),
        };
        let written = written.into_iter().flat_map(|(step, node)| {
            let at = move |view: View<'_>| NodeRef { doc: node.doc, node: view.id() };
            documents.view(node).entries().map(move |(key, value)| {
                (key.key_text(), FieldKey::Node(at(key)), Self::Whole { step, node: at(value) })
            })
        });
        let made = made.iter().map(|(k, v)| (k.text(documents), k.clone(), v.clone()));
        written.chain(made)
    }

    /// Elements of a list; empty for anything else.
    pub fn items(&self, documents: &Documents) -> SmallVec<[Self; 8]> {
        match self {
            Self::List(items) => items.iter().cloned().collect(),
            Self::Whole { step, node } => documents
                .view(*node)
                .items()
                .map(|v| Self::Whole { step: *step, node: NodeRef { doc: node.doc, node: v.id() } })
                .collect(),
            Self::Map(_) | Self::Implied { .. } => SmallVec::new(),
        }
    }

    /// The member of a mapping.
    pub fn get(&self, documents: &Documents, key: &str) -> Option<Self> {
        match self {
            Self::Whole { step, node } => {
                let value = documents.view(*node).get(key)?;
                Some(Self::Whole { step: *step, node: NodeRef { doc: node.doc, node: value.id() } })
            }
            Self::Map(entries) => {
                entries.iter().find(|(k, _)| k.text(documents) == key).map(|(_, v)| v.clone())
            }
            Self::List(_) | Self::Implied { .. } => None,
        }
    }

    /// The part at a path of keys and indexes.
    pub fn at<'k>(
        &self,
        documents: &Documents,
        path: impl IntoIterator<Item = &'k str>,
    ) -> Option<Self> {
        let mut value = self.clone();
        for segment in path {
            value = if value.is_list(documents) {
                value.items(documents).get(segment.parse::<usize>().ok()?)?.clone()
            } else {
                value.get(documents, segment)?
            };
        }
        Some(value)
    }

    /// Every step that wrote a part of it, each once, in order of appearance.
    pub fn steps(&self) -> SmallVec<[StepId; 2]> {
        let mut all: SmallVec<[StepId; 2]> = SmallVec::new();
        self.each_step(&mut |step| {
            if all.last() != Some(&step) {
                all.push(step);
            }
        });
        if all.len() > 1 {
            let mut seen = BTreeSet::new();
            all.retain(|step| seen.insert(*step));
        }
        all
    }

    /// Visits the step of every part, in order of appearance, repetitions included.
    pub fn each_step(&self, visit: &mut dyn FnMut(StepId)) {
        match self {
            Self::Whole { step, .. } | Self::Implied { step, .. } => visit(*step),
            Self::Map(entries) => entries.iter().for_each(|(_, v)| v.each_step(visit)),
            Self::List(items) => items.iter().for_each(|v| v.each_step(visit)),
        }
    }

    /// Visits every part that stands written in a document, without saying where in the value: cheaper than
    /// [`Traced::parts`].
    pub fn written(&self, visit: &mut dyn FnMut(StepId, NodeRef)) {
        match self {
            Self::Whole { step, node } => visit(*step, *node),
            Self::Map(entries) => entries.iter().for_each(|(_, v)| v.written(visit)),
            Self::List(items) => items.iter().for_each(|v| v.written(visit)),
            Self::Implied { .. } => {}
        }
    }

    /// Visits every maximal part that one step wrote, with the pointer to it.
    pub fn parts(&self, documents: &Documents, visit: &mut dyn FnMut(&str, StepId, &Self)) {
        self.parts_at(documents, &mut String::new(), visit);
    }

    /// The same below a pointer that is given.
    pub(crate) fn parts_at(
        &self,
        documents: &Documents,
        at: &mut String,
        visit: &mut dyn FnMut(&str, StepId, &Self),
    ) {
        let length = at.len();
        match self {
            Self::Whole { step, .. } | Self::Implied { step, .. } => visit(at, *step, self),
            Self::Map(entries) => {
                for (key, value) in entries.iter() {
                    push_segment(at, key.text(documents));
                    value.parts_at(documents, at, visit);
                    at.truncate(length);
                }
            }
            Self::List(items) => {
                for (i, value) in items.iter().enumerate() {
                    push_segment(at, &i.to_string());
                    value.parts_at(documents, at, visit);
                    at.truncate(length);
                }
            }
        }
    }
}

/// The keys and indexes of a JSON pointer (RFC 6901).
pub fn pointer_segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let unescape = |segment| {
        if str::contains(segment, '~') {
            Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(segment)
        }
    };
    // The text before the first slash is not a segment.
    pointer.split('/').skip(1).map(unescape)
}

/// A JSON pointer as people write it: keys and indexes with dots between them. The id of a rule, where rules have one.
pub fn dotted(pointer: &str) -> String {
    pointer_segments(pointer).collect::<Vec<_>>().join(".")
}

/// Appends one segment to a JSON pointer (RFC 6901).
pub(crate) fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    if !segment.contains(['~', '/']) {
        return pointer.push_str(segment);
    }
    for c in segment.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}
