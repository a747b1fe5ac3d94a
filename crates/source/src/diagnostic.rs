// SPDX-License-Identifier: Apache-2.0
//! In: what a stage found. Out: a problem in the user's input, with a stable code and a remedy.
//! Not here: rendering (the `view` crate), errors of the world (a file that cannot be opened).

use std::borrow::Cow;

use crate::source_map::Span;

/// The severity of a finding. Only errors change the exit code, unless an option says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing to mend.
    Note,
    /// Probably not what the author wants.
    Warning,
    /// Wrong: something does not take effect, or the input cannot be read.
    Error,
}

impl Severity {
    /// The lower-case word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What must be known to tell whether a finding is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// The document it is about, and nothing else.
    Document,
    /// That document and those that are submitted together with it.
    Batch,
    /// Everything there is: a document that comes or goes can make it true or false.
    World,
}

/// A stable identifier of one kind of finding, `OV1234`, with its documentation page `docs/rules/OV1234.md`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeInfo {
    /// `OV` and four digits; never reused.
    pub id: &'static str,
    /// Its title, also the title of its page.
    pub title: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What such a finding depends on.
    pub basis: Basis,
}

/// A reference to one declared [`CodeInfo`].
pub type Code = &'static CodeInfo;

/// A text that is the same for all findings of its kind, or was made for one: a fleet has many findings and few texts.
pub type MessageText = Cow<'static, str>;

/// A place with an optional remark.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be seen there; empty for a bare pointer.
    pub text: MessageText,
}

/// One finding about the user's input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// Where it is; absent only for findings about no single place.
    pub primary: Option<Label>,
    /// Which kind of finding.
    pub code: Code,
    /// One sentence, lower case, no full stop; names from the input in backticks.
    pub message: Box<str>,
    /// The field it is about, as a dotted path from the document root (`spec.rules[0].name`); empty if none.
    pub field: MessageText,
    /// Other places that matter (the first of two duplicates, the other end of a link).
    pub related: Vec<Label>,
    /// What to do about it.
    pub help: Option<MessageText>,
}

impl Diagnostic {
    /// A finding without a place; add one with [`Diagnostic::at`].
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            primary: None,
            code,
            // Without the room that writing it has left behind it.
            message: message.into().into(),
            field: MessageText::default(),
            related: Vec::new(),
            help: None,
        }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(self, span: Span) -> Self {
        self.at_with(span, "")
    }

    /// Sets the place and a remark shown under it.
    #[must_use]
    pub fn at_with(mut self, span: Span, text: impl Into<MessageText>) -> Self {
        self.primary = Some(Label { span, text: text.into() });
        self
    }

    /// Sets the field path.
    #[must_use]
    pub fn field(mut self, field: impl Into<MessageText>) -> Self {
        self.field = field.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn see(mut self, span: Span, text: impl Into<MessageText>) -> Self {
        // Nearly all have one, and a fleet has many findings: no room for more before there is more.
        if self.related.is_empty() {
            self.related.reserve_exact(1);
        }
        self.related.push(Label { span, text: text.into() });
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<MessageText>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// How bad it is (a property of the code).
    pub fn severity(&self) -> Severity {
        self.code.severity
    }
}
