// SPDX-License-Identifier: Apache-2.0
//! In: a node and the path to it. Out: typed values, or a diagnostic that names file, line, column and field.
//! Not here: the meaning of any field.
//!
//! A path is a chain of stack frames and is spelled out only when something is wrong, so that reading a
//! hundred thousand routes builds no string.

use std::fmt;

use overrule_source::{Code, Diagnostic, NodeKind, View};

use crate::codes;

/// Unknown fields of a mapping that are told one by one: twenty show the pattern, a million hide everything else.
pub const UNKNOWN_SHOWN: usize = 20;

/// One step of a field path.
#[derive(Debug, Clone, Copy)]
pub enum Seg<'p> {
    /// The document root.
    Root,
    /// A mapping key.
    Key(&'p str),
    /// A list index, from 0.
    Index(usize),
}

/// The path from the document root to a field.
#[derive(Debug, Clone, Copy)]
pub struct At<'p> {
    up: Option<&'p At<'p>>,
    seg: Seg<'p>,
}

impl<'p> At<'p> {
    /// The document root.
    pub const ROOT: At<'static> = At { up: None, seg: Seg::Root };

    /// The path to a member of this mapping.
    pub fn key<'q>(&'q self, key: &'q str) -> At<'q> {
        At { up: Some(self), seg: Seg::Key(key) }
    }

    /// The path to an element of this list.
    pub fn index(&self, index: usize) -> At<'_> {
        At { up: Some(self), seg: Seg::Index(index) }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(up) = self.up {
            write!(f, "{up}")?;
        }
        match self.seg {
            Seg::Root => Ok(()),
            Seg::Key(key) => {
                let first = self.up.is_none_or(|up| matches!(up.seg, Seg::Root));
                write!(f, "{}{key}", if first { "" } else { "." })
            }
            Seg::Index(i) => write!(f, "[{i}]"),
        }
    }
}

/// Typed access to the members of mappings; collects what is wrong.
#[derive(Debug, Default)]
pub struct Fields {
    /// What was found, in reading order.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether types, bounds, missing and unknown members are somebody else's business: the schema of the kind.
    pub by_schema: bool,
    /// How many of those there were, reported or not.
    pub flaws: usize,
}

impl Fields {
    /// Reports a finding at a node.
    pub fn report(&mut self, code: Code, at: &At<'_>, view: View<'_>, message: String, help: &str) {
        let d = Diagnostic::new(code, message).at(view.span()).field(at.to_string());
        self.diagnostics.push(if help.is_empty() { d } else { d.help(help.to_owned()) });
    }

    /// Reports what a schema reports too, if there is one.
    pub fn flaw(&mut self, code: Code, at: &At<'_>, view: View<'_>, message: String, help: &str) {
        self.flaws += 1;
        if !self.by_schema {
            self.report(code, at, view, message, help);
        }
    }

    /// What no schema says: this is reported in any case.
    pub fn beyond_schema(&mut self, report: impl FnOnce(&mut Self)) {
        let by_schema = std::mem::take(&mut self.by_schema);
        report(self);
        self.by_schema = by_schema;
    }

    /// The value is not of the type it must be.
    pub fn wrong_type(&mut self, at: &At<'_>, view: View<'_>, wanted: &str) {
        let message = format!("`{at}` must be {wanted}, but is {}", kind_word(view.kind()));
        let help = match (view.kind(), wanted) {
            (NodeKind::Bool | NodeKind::Int | NodeKind::Float | NodeKind::Null, "a string") => {
                "put the value in quotes to make it a string"
            }
            (NodeKind::Map, "a list") => "start each element with `- `",
            _ => "change the value to the expected type",
        };
        self.flaw(&codes::WRONG_TYPE, at, view, message, help);
    }

    /// A member that must be there is not. Points at the mapping that lacks it.
    pub fn missing(&mut self, at: &At<'_>, inside: View<'_>) {
        let message = format!("`{at}` is missing");
        self.flaw(&codes::MISSING_FIELD, at, inside, message, "add the field");
    }

    /// A value outside of the allowed ones.
    pub fn bad_value(&mut self, at: &At<'_>, view: View<'_>, got: &str, allowed: &[&str]) {
        let hint = match crate::nearest(got, allowed.iter().copied(), 1).first() {
            Some(near) => format!("did you mean `{near}`? allowed: {}", allowed.join(", ")),
            None => format!("allowed: {}", allowed.join(", ")),
        };
        let message = format!("`{at}` is `{got}`, which is not allowed here");
        self.flaw(&codes::BAD_VALUE, at, view, message, &hint);
    }

    /// A member that exists and is not null.
    pub fn member<'a>(&self, of: View<'a>, key: &str) -> Option<View<'a>> {
        of.get(key).filter(|v| !v.is_null())
    }

    /// An optional string member.
    pub fn string<'a>(
        &mut self,
        of: View<'a>,
        at: &At<'_>,
        key: &str,
    ) -> Option<(&'a str, View<'a>)> {
        let view = self.member(of, key)?;
        self.text(view, at, key)
    }

    /// The text of a member that must be a string.
    fn text<'a>(&mut self, view: View<'a>, at: &At<'_>, key: &str) -> Option<(&'a str, View<'a>)> {
        match view.as_str() {
            Some(text) => Some((text, view)),
            None => {
                self.wrong_type(&at.key(key), view, "a string");
                None
            }
        }
    }

    /// A string member that must be there.
    pub fn required<'a>(
        &mut self,
        of: View<'a>,
        at: &At<'_>,
        key: &str,
    ) -> Option<(&'a str, View<'a>)> {
        self.needed(of.get(key), of, at, key)
    }

    /// The same for one that was looked up already.
    pub(crate) fn needed<'a>(
        &mut self,
        member: Option<View<'a>>,
        of: View<'_>,
        at: &At<'_>,
        key: &str,
    ) -> Option<(&'a str, View<'a>)> {
        match member.filter(|v| !v.is_null()) {
            Some(view) => self.text(view, at, key),
            None => {
                self.missing(&at.key(key), of);
                None
            }
        }
    }

    /// An optional integer member within bounds.
    pub fn integer(
        &mut self,
        of: View<'_>,
        at: &At<'_>,
        key: &str,
        min: i64,
        max: i64,
    ) -> Option<i64> {
        let view = self.member(of, key)?;
        let at = at.key(key);
        match view.as_i64() {
            Some(n) if (min..=max).contains(&n) => Some(n),
            Some(n) => {
                let message = format!("`{at}` is {n}, outside of {min} to {max}");
                self.flaw(&codes::BAD_VALUE, &at, view, message, "use a number in that range");
                None
            }
            None => {
                self.wrong_type(&at, view, "an integer");
                None
            }
        }
    }

    /// An optional list member; anything else there is reported.
    pub fn list<'a>(&mut self, of: View<'a>, at: &At<'_>, key: &str) -> Option<View<'a>> {
        self.container(of, at, key, NodeKind::List, "a list")
    }

    /// An optional mapping member; anything else there is reported.
    pub fn map<'a>(&mut self, of: View<'a>, at: &At<'_>, key: &str) -> Option<View<'a>> {
        self.container(of, at, key, NodeKind::Map, "a mapping")
    }

    fn container<'a>(
        &mut self,
        of: View<'a>,
        at: &At<'_>,
        key: &str,
        kind: NodeKind,
        wanted: &str,
    ) -> Option<View<'a>> {
        let view = self.member(of, key)?;
        if view.kind() == kind {
            return Some(view);
        }
        self.wrong_type(&at.key(key), view, wanted);
        None
    }

    /// Warns about members that are not in the list, with the nearest known name. Of very many the first are told.
    pub fn only(&mut self, of: View<'_>, at: &At<'_>, known: &[&str]) {
        let keys = of.entries().map(|(key, _)| key);
        let mut unknown = keys.filter(|key| !known.contains(&key.key_text()));
        for key in unknown.by_ref().take(UNKNOWN_SHOWN) {
            let name = key.key_text();
            let at = at.key(name);
            let help = match crate::nearest(name, known.iter().copied(), 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known fields: {}", known.join(", ")),
            };
            let message = format!("`{at}` is not a field of this API and has no effect");
            self.flaw(&codes::UNKNOWN_FIELD, &at, key, message, &help);
        }
        if let Some(first) = unknown.next() {
            let more = 1 + unknown.count();
            let inside =
                if at.up.is_none() { "the document".to_owned() } else { format!("`{at}`") };
            let message = format!("{more} more fields of {inside} are not of this API");
            let help = format!("known fields: {}", known.join(", "));
            self.flaw(&codes::UNKNOWN_FIELD, at, first, message, &help);
        }
    }
}

fn kind_word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Null => "null",
        NodeKind::Bool => "a boolean",
        NodeKind::Int => "an integer",
        NodeKind::Float => "a number",
        NodeKind::String => "a string",
        NodeKind::List => "a list",
        NodeKind::Map => "a mapping",
    }
}
