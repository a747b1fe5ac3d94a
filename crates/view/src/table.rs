// SPDX-License-Identifier: Apache-2.0
//! In: cells. Out: columns, as kubectl prints them: no rules, three spaces, the last column as long as it likes.
//! Not here: escaping; cells are escaped by whoever fills them.

use std::fmt;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::Styles;
use crate::style::Painted;

/// A cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell in a style.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Self {
        Self { text: text.into(), style: Style::new() }
    }
}

/// A table with `N` columns.
#[derive(Debug, Clone)]
pub struct Table<const N: usize> {
    header: [&'static str; N],
    rows: Vec<[Cell; N]>,
    hides_empty: bool,
}

/// Between two columns.
const GAP: &str = "   ";

impl<const N: usize> Table<N> {
    /// A table with a header; an empty one prints none.
    pub fn new(header: [&'static str; N]) -> Self {
        Self { header, rows: Vec::new(), hides_empty: false }
    }

    /// The same, but columns without a cell that says something are left out.
    pub fn hiding_empty(self) -> Self {
        Self { hides_empty: true, ..self }
    }

    /// Adds a row.
    pub fn push(&mut self, row: [Cell; N]) {
        self.rows.push(row);
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints it, each line behind `indent`; lines are cut in their last column to fit `width`.
    pub fn write(
        &self,
        indent: &str,
        width: Option<usize>,
        styles: &Styles,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let mut widths = self.header.map(|_| (!self.hides_empty).then_some(0));
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row).filter(|(_, c)| !c.text.is_empty()) {
                *width = (*width).max(Some(cell.text.width()));
            }
        }
        for (width, header) in widths.iter_mut().zip(self.header) {
            *width = width.map(|width| width.max(header.width()));
        }
        let before = widths.iter().take(N.saturating_sub(1)).flatten();
        let before: usize = before.map(|w| w + GAP.len()).sum();
        let room = width.map(|w| w.saturating_sub(indent.len() + before).max(16));
        if self.header.iter().any(|h| !h.is_empty()) {
            let cells = self.header.map(|h| Cell::styled(h, styles.dim));
            line(&cells, &widths, indent, room, out)?;
        }
        for row in &self.rows {
            line(row, &widths, indent, room, out)?;
        }
        Ok(())
    }
}

fn line(
    cells: &[Cell],
    widths: &[Option<usize>],
    indent: &str,
    room: Option<usize>,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let shown = cells.iter().zip(widths).filter_map(|(cell, width)| Some((cell, (*width)?)));
    let cells: Vec<(&Cell, usize)> = shown.collect();
    let last = cells.iter().rposition(|(c, _)| !c.text.is_empty()).unwrap_or(0);
    out.write_str(indent)?;
    for (i, (cell, width)) in cells.iter().enumerate().take(last + 1) {
        let is_end = i + 1 == cells.len();
        let text = match room {
            Some(room) if is_end => cut(&cell.text, room),
            _ => cell.text.clone(),
        };
        write!(out, "{}", Painted(cell.style, &text))?;
        if i < last {
            let pad = width.saturating_sub(text.width());
            write!(out, "{:pad$}{GAP}", "")?;
        }
    }
    out.write_char('\n')
}

/// The text, or as much of it as fits with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= width
    });
    let mut kept: String = kept.collect();
    kept.push('…');
    kept
}

/// The text, or as much of its beginning and its end as fits around an ellipsis: names mostly differ at their ends.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let fitting = |chars: &mut dyn Iterator<Item = char>, most: usize| -> String {
        let mut used = 0;
        let kept = chars.take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= most
        });
        kept.collect()
    };
    let head = fitting(&mut text.chars(), room.div_ceil(2));
    let tail = fitting(&mut text.chars().rev(), room - head.width().min(room));
    let tail: String = tail.chars().rev().collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::{Table, cut, shorten};
    use crate::Styles;

    #[test]
    fn columns_are_aligned_by_what_a_terminal_shows() {
        let mut table = Table::new(["A", "B"]);
        table.push(["名前".into(), "x".into()]);
        table.push(["ab".into(), "".into()]);
        let mut out = String::new();
        table.write("", None, &Styles::plain(), &mut out).unwrap();
        assert_eq!(out, "A      B\n名前   x\nab\n");
    }

    #[test]
    fn an_empty_column_is_left_out_where_that_is_wanted() {
        let rows = |mut table: Table<3>| {
            table.push(["a".into(), "".into(), "c".into()]);
            let mut out = String::new();
            table.write("", None, &Styles::plain(), &mut out).unwrap();
            out
        };
        let header = ["A", "B", "C"];
        assert_eq!(rows(Table::new(header)), "A   B   C\na       c\n");
        assert_eq!(rows(Table::new(header).hiding_empty()), "A   C\na   c\n");
    }

    #[test]
    fn shortening_keeps_both_ends() {
        assert_eq!(shorten("abcdefgh", 5), "ab…gh");
        assert_eq!(shorten("abcdefgh", 6), "abc…gh");
        assert_eq!(shorten("abcdefgh", 8), "abcdefgh");
        assert_eq!(shorten("名前名前", 5), "名…前");
        assert_eq!(shorten("abc", 1), "…");
        assert_eq!(shorten("abc", 0), "…");
    }

    #[test]
    fn cutting_never_exceeds_the_width() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("名前名前", 4), "名…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
