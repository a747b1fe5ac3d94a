// SPDX-License-Identifier: Apache-2.0
//! In: warnings as they come up. Out: at most a few of each kind per source, then one that says how many more.
//! Not here: errors (one per bad document, never dropped), what the warnings mean.
//!
//! A generated file can have a doubtful scalar on every line; twenty show the pattern, a million hide everything else.

use crate::diagnostic::{Code, Diagnostic};
use crate::source_map::Span;

/// How many warnings of one kind a source shows.
const SHOWN: usize = 20;

/// Warnings about one source, capped per code.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    shown: Vec<Diagnostic>,
    counts: Vec<Count>,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    code: Code,
    shown: usize,
    left_out: usize,
    /// The first one left out.
    rest: Option<Span>,
}

/// A state to return to when a document turns out to be unreadable.
#[derive(Debug)]
pub(crate) struct Mark {
    shown: usize,
    counts: Vec<Count>,
}

impl Findings {
    /// Adds a warning, built only if it will be shown.
    pub(crate) fn add(&mut self, code: Code, at: Span, build: impl FnOnce() -> Diagnostic) {
        let Some(count) = self.count(code) else { return };
        if count.shown < SHOWN {
            count.shown += 1;
            self.shown.push(build());
        } else {
            count.left_out += 1;
            count.rest.get_or_insert(at);
        }
    }

    fn count(&mut self, code: Code) -> Option<&mut Count> {
        let known = self.counts.iter().position(|count| count.code == code);
        let index = known.unwrap_or(self.counts.len());
        if known.is_none() {
            self.counts.push(Count { code, shown: 0, left_out: 0, rest: None });
        }
        self.counts.get_mut(index)
    }

    /// The present state.
    pub(crate) fn mark(&self) -> Mark {
        Mark { shown: self.shown.len(), counts: self.counts.clone() }
    }

    /// Forgets everything since the mark.
    pub(crate) fn forget(&mut self, mark: &Mark) {
        self.shown.truncate(mark.shown);
        self.counts.clone_from(&mark.counts);
    }

    /// Forgets what was found inside the ranges, which are in order: their text must not be quoted.
    pub(crate) fn redact(&mut self, ranges: &[(u32, u32)]) {
        self.shown.retain(|diagnostic| {
            diagnostic.primary.as_ref().is_none_or(|at| {
                let next = ranges.partition_point(|(_, to)| *to < at.span.start);
                ranges.get(next).is_none_or(|(from, _)| at.span.end < *from)
            })
        });
    }

    /// Adds what was found in a later part of the same source.
    pub(crate) fn append(&mut self, later: Findings) {
        for diagnostic in later.shown {
            if let Some(at) = &diagnostic.primary {
                let at = at.span;
                self.add(diagnostic.code, at, || diagnostic);
            }
        }
        for more in later.counts {
            let (Some(at), Some(count)) = (more.rest, self.count(more.code)) else { continue };
            count.left_out += more.left_out;
            count.rest.get_or_insert(at);
        }
    }

    /// All warnings, with one for those left out.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        for count in self.counts {
            let Some(at) = count.rest else { continue };
            let (shown, more) = (count.shown, count.left_out);
            let message = format!("{more} more places in this file have the same problem");
            let help = format!("the first {shown} of {} are shown", shown + more);
            self.shown.push(Diagnostic::new(count.code, message).at(at).help(help));
        }
        self.shown
    }
}
