// SPDX-License-Identifier: Apache-2.0
//! In: a source and spans that lie near each other. Out: the lines around them, escaped and cut, and where the spans are
//! in that text. Not here: carets.
//!
//! A source may be one line of many megabytes, so nothing here reads more of a line than it shows.

use std::ops::Range;

use overrule_source::{Source, Span};

use crate::escape;

/// Most lines of one span.
const LINES: u32 = 6;
/// Longest line shown whole, in bytes.
const WHOLE: usize = 160;
/// How much of a longer line is shown before the span and altogether.
const BEFORE: usize = 48;
const SHOWN: usize = 144;

/// Lines of a source, ready to be printed.
pub(crate) struct Excerpt {
    /// Number of the first line, from 1.
    pub(crate) line: u32,
    /// The lines, escaped and cut.
    pub(crate) text: String,
    /// The spans as ranges of `text`, in the order they were given.
    pub(crate) marks: Vec<Range<usize>>,
}

/// First and last line of a span; long ones are cut.
pub(crate) fn lines(source: &Source, span: Span) -> (u32, u32) {
    let (first, _) = source.line_column(span.start);
    // A span that ends with its line end still ends on that line.
    let (last, _) = source.line_column(span.end.saturating_sub(1).max(span.start));
    (first, last.clamp(first, first.saturating_add(LINES - 1)))
}

/// The lines that the spans touch, with all between them.
pub(crate) fn excerpt(source: &Source, spans: &[Span]) -> Excerpt {
    let ranges = spans.iter().map(|s| lines(source, *s));
    let (first, last) = ranges.fold((u32::MAX, 1), |(a, b), (c, d)| (a.min(c), b.max(d)));
    let first = first.min(last);
    let mut building = Building {
        text: String::new(),
        starts: vec![None; spans.len()],
        ends: vec![None; spans.len()],
    };
    for number in first..=last {
        if number > first {
            building.text.push('\n');
        }
        building.line(source, number, spans);
    }
    let Building { text, starts, ends } = building;
    let marks = starts.into_iter().zip(ends).map(|(start, end)| {
        let end = end.unwrap_or(text.len());
        start.unwrap_or(end).min(end)..end
    });
    Excerpt { line: first, marks: marks.collect(), text }
}

struct Building {
    text: String,
    starts: Vec<Option<usize>>,
    ends: Vec<Option<usize>>,
}

impl Building {
    fn line(&mut self, source: &Source, number: u32, spans: &[Span]) {
        let line = source.line(number);
        // Where the line begins in its text; both are parts of one allocation.
        let base = line.as_ptr().addr().saturating_sub(source.text().as_ptr().addr());
        let inside = |s: &Span| (s.start as usize).checked_sub(base).filter(|o| *o <= line.len());
        let focus = spans.iter().filter_map(inside).min().unwrap_or(0);
        let window = window(line, focus);
        if window.start > 0 {
            self.text.push('…');
        }
        for (offset, c) in line.get(window.clone()).unwrap_or("").char_indices() {
            self.mark(base + window.start + offset, spans);
            match c {
                // The renderer widens tabs itself.
                '\t' => self.text.push(c),
                c if escape::needs_escape(c) => escape::push_visible(c, &mut self.text),
                c => self.text.push(c),
            }
        }
        self.mark(base + window.end, spans);
        if window.end < line.len() {
            self.text.push('…');
            self.mark(base + line.len(), spans);
        }
    }

    /// Notes which spans begin or end before the byte that is printed next.
    fn mark(&mut self, at: usize, spans: &[Span]) {
        let here = self.text.len();
        for ((span, start), end) in spans.iter().zip(&mut self.starts).zip(&mut self.ends) {
            if at >= span.start as usize {
                start.get_or_insert(here);
            }
            if at >= span.end as usize {
                end.get_or_insert(here);
            }
        }
    }
}

/// The part of a line to show.
fn window(line: &str, focus: usize) -> Range<usize> {
    if line.len() <= WHOLE {
        return 0..line.len();
    }
    let start = if focus <= BEFORE * 2 { 0 } else { line.floor_char_boundary(focus - BEFORE) };
    start..line.floor_char_boundary((start + SHOWN).min(line.len()))
}
