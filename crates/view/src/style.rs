// SPDX-License-Identifier: Apache-2.0
//! In: whether to colour. Out: the styles of every view, and a stable colour for each policy.
//! Not here: deciding whether a terminal wants colour (the command line does).

use std::borrow::Cow;
use std::fmt;

use anstyle::{AnsiColor, Color, Effects, Style};

use crate::table::{TableFit, cut};

/// Styles of text views. Plain ones print no escape sequence at all.
#[derive(Debug, Clone, Copy)]
pub struct Styles {
    /// Titles of sections.
    pub heading: Style,
    /// Names that matter.
    pub bold: Style,
    /// What is there for completeness.
    pub dim: Style,
    /// Severity error, and outcomes that are one.
    pub error: Style,
    /// Severity warning.
    pub warning: Style,
    /// Severity note.
    pub note: Style,
    /// Remedies.
    pub help: Style,
    /// What was expected and is not there.
    pub removed: Style,
    /// What is there and was not expected.
    pub added: Style,
    /// Columns there are for what stands side by side.
    pub width: usize,
    /// How tables are laid out.
    pub fit: TableFit,
    policies: [Style; 8],
    colored: bool,
}

/// Columns where nobody said how many there are.
const WIDTH: usize = 120;

/// Distinguishable on dark and light screens; red and green are never the only difference between two neighbours.
const POLICIES: [AnsiColor; 8] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Blue,
    AnsiColor::BrightYellow,
    AnsiColor::BrightCyan,
    AnsiColor::BrightMagenta,
];

impl Styles {
    /// No colours.
    pub fn plain() -> Self {
        let none = Style::new();
        Self {
            heading: none,
            bold: none,
            dim: none,
            error: none,
            warning: none,
            note: none,
            help: none,
            removed: none,
            added: none,
            width: WIDTH,
            fit: TableFit::default(),
            policies: [none; 8],
            colored: false,
        }
    }

    /// ANSI colours.
    pub fn colored() -> Self {
        let bold = |color: AnsiColor| color.on_default().effects(Effects::BOLD);
        Self {
            heading: Style::new().effects(Effects::BOLD.insert(Effects::UNDERLINE)),
            bold: Style::new().effects(Effects::BOLD),
            dim: Style::new().effects(Effects::DIMMED),
            error: bold(AnsiColor::BrightRed),
            warning: bold(AnsiColor::Yellow),
            note: bold(AnsiColor::BrightBlue),
            help: bold(AnsiColor::BrightCyan),
            removed: AnsiColor::Red.on_default(),
            added: AnsiColor::Green.on_default(),
            width: WIDTH,
            fit: TableFit::default(),
            policies: POLICIES.map(|c| Style::new().fg_color(Some(Color::Ansi(c)))),
            colored: true,
        }
    }

    /// The same for an output of so many columns.
    pub fn with_width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The same with tables laid out so.
    pub fn with_fit(self, fit: TableFit) -> Self {
        Self { fit, ..self }
    }

    /// The same, and nothing is cut.
    pub fn uncut(self) -> Self {
        let fit = if self.fit == TableFit::Fixed { TableFit::Fixed } else { TableFit::Whole };
        Self { fit, ..self }
    }

    /// A value in a text: cut where a terminal is read, whole where a program or a file is.
    pub(crate) fn value<'t>(&self, text: &'t str, width: usize) -> Cow<'t, str> {
        match self.fit {
            TableFit::Columns(_) => Cow::Owned(cut(text, width)),
            TableFit::Fixed | TableFit::Whole => Cow::Borrowed(text),
        }
    }

    /// Whether these print colours.
    pub fn is_colored(&self) -> bool {
        self.colored
    }

    /// The colour of the n-th policy of a ladder, from 0.
    pub fn policy(&self, index: usize) -> Style {
        self.policies.get(index % self.policies.len()).copied().unwrap_or_default()
    }

    /// The style of an outcome word.
    pub fn outcome(&self, word: &str) -> Style {
        match word {
            "in force" => self.bold,
            "partly" => self.warning,
            "rejected" => self.error,
            _ => self.dim,
        }
    }
}

/// Text in a style.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painted<'a>(pub(crate) Style, pub(crate) &'a str);

impl fmt::Display for Painted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.0.render(), self.1, self.0.render_reset())
    }
}
