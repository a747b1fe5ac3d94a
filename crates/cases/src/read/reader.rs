// SPDX-License-Identifier: Apache-2.0
//! In: nodes. Out: texts, flags and lists of them, with places. Not here: what the keys of a test mean.

use overrule_model::{At, Fields, nearest};
use overrule_source::{Documents, NodeKind, Position, View};

use crate::case::Given;
use crate::codes;

/// Typed access to a test; collects what is wrong.
pub(super) struct Reader<'d> {
    pub(super) documents: &'d Documents,
    pub(super) fields: Fields,
}

impl<'d> Reader<'d> {
    pub(super) fn new(documents: &'d Documents) -> Self {
        Self { documents, fields: Fields::default() }
    }

    pub(super) fn position(&self, view: View<'_>) -> Position {
        self.documents.sources.position(view.span())
    }

    /// Refuses members that are not in the list: a misspelt expectation would never fail.
    pub(super) fn only(&mut self, of: View<'_>, at: &At<'_>, known: &[&str]) {
        for (key, _) in of.entries() {
            let name = key.key_text();
            if known.contains(&name) {
                continue;
            }
            let at = at.key(name);
            let help = match nearest(name, known.iter().copied(), 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known keys: {}", known.join(", ")),
            };
            let message = format!("`{at}` is not a key of a policy test");
            self.fields.report(&codes::UNKNOWN_KEY, &at, key, message, &help);
        }
    }

    /// An optional text.
    pub(super) fn text(&mut self, of: View<'_>, at: &At<'_>, key: &str) -> Option<String> {
        self.fields.string(of, at, key).map(|(text, _)| text.to_owned())
    }

    /// A text that must be there.
    pub(super) fn required(&mut self, of: View<'_>, at: &At<'_>, key: &str) -> Option<String> {
        self.fields.required(of, at, key).map(|(text, _)| text.to_owned())
    }

    /// A text under either of two keys.
    pub(super) fn either(
        &mut self,
        of: View<'_>,
        at: &At<'_>,
        one: &str,
        other: &str,
    ) -> Option<String> {
        let first = self.text(of, at, one);
        let second = self.text(of, at, other);
        first.or(second)
    }

    /// An optional flag, and where it is.
    pub(super) fn flag(
        &mut self,
        of: View<'_>,
        at: &At<'_>,
        key: &str,
    ) -> Option<(bool, Position)> {
        let view = self.fields.member(of, key)?;
        match view.as_bool() {
            Some(flag) => Some((flag, self.position(view))),
            None => {
                self.fields.wrong_type(&at.key(key), view, "a boolean");
                None
            }
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, list: View<'_>, at: &At<'_>) -> Vec<String> {
        let mut texts = Vec::new();
        for (i, item) in list.items().enumerate() {
            match item.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.fields.wrong_type(&at.index(i), item, "a string"),
            }
        }
        texts
    }

    /// A text, or a list of them.
    pub(super) fn text_or_list(&mut self, view: View<'_>, at: &At<'_>) -> Vec<String> {
        match (view.as_str(), view.kind()) {
            (Some(text), _) => vec![text.to_owned()],
            (None, NodeKind::List) => self.texts(view, at),
            _ => {
                self.fields.wrong_type(at, view, "a string or a list");
                Vec::new()
            }
        }
    }

    /// An optional member that is a text or a list of them.
    pub(super) fn names(&mut self, of: View<'_>, at: &At<'_>, key: &str) -> Option<Vec<String>> {
        let view = self.fields.member(of, key)?;
        Some(self.text_or_list(view, &at.key(key)))
    }

    /// Reads every element of a list that must consist of mappings with these keys.
    pub(super) fn mappings<'v, T>(
        &mut self,
        list: View<'v>,
        at: &At<'_>,
        known: &[&str],
        mut read: impl FnMut(&mut Self, View<'v>, &At<'_>) -> Option<T>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        for (i, item) in list.items().enumerate() {
            let at = at.index(i);
            if item.kind() != NodeKind::Map {
                self.fields.wrong_type(&at, item, "a mapping");
                continue;
            }
            self.only(item, &at, known);
            found.extend(read(self, item, &at));
        }
        found
    }

    /// A list and where it begins.
    pub(super) fn given<T>(&self, list: View<'_>, items: Vec<T>) -> Given<T> {
        Given { at: self.position(list), items }
    }
}
