// SPDX-License-Identifier: Apache-2.0
//! In: results and remarks as text. Out: wherever the one who asked wants them. Not here: streams, colours of a
//! terminal; the command line has those.

use overrule::view::Styles;

use crate::AskError;

/// Where an answer is written.
pub trait Sink {
    /// Writes a result.
    fn result(&mut self, text: &str) -> Result<(), AskError>;

    /// Says something on the side.
    fn remark(&mut self, text: &str);

    /// Says on the side what is wrong.
    fn problem(&mut self, text: &str);

    /// Styles of results.
    fn styles(&self) -> Styles {
        Styles::plain()
    }

    /// Seconds since 1970, for ages; none if they are not told.
    fn now(&self) -> Option<i64> {
        None
    }

    /// Writes a result and a line end.
    fn line(&mut self, text: &str) -> Result<(), AskError> {
        self.result(text)?;
        self.result("\n")
    }
}

/// An answer in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedAnswer {
    /// The result.
    pub result: String,
    /// What was said on the side, in order.
    pub remarks: Vec<String>,
    /// What was said to be wrong, in order.
    pub problems: Vec<String>,
    /// Seconds since 1970, for ages.
    pub now: Option<i64>,
}

impl Sink for RenderedAnswer {
    fn result(&mut self, text: &str) -> Result<(), AskError> {
        self.result.push_str(text);
        Ok(())
    }

    fn remark(&mut self, text: &str) {
        self.remarks.push(text.to_owned());
    }

    fn problem(&mut self, text: &str) {
        self.problems.push(text.to_owned());
    }

    fn now(&self) -> Option<i64> {
        self.now
    }
}
