// SPDX-License-Identifier: Apache-2.0
//! In: cells. Out: columns, as kubectl prints them: no rules, three spaces between. Not here: escaping; cells are escaped
//! by whoever fills them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::Styles;
use crate::style::Painted;

/// How the columns of tables are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableFit {
    /// Every column begins at a place of its own, whatever is in the table. A longer cell moves what is behind it in its
    /// row, and nothing is cut. So a row looks the same whatever other rows there are, and `diff` of two tables shows
    /// the rows that differ. For files and pipes.
    #[default]
    Fixed,
    /// Columns are as wide as their longest cell, and nothing is cut.
    Whole,
    /// The same, cut so that lines fit this many columns.
    Columns(usize),
}

/// A cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: Arc<str>,
    style: Style,
}

impl Cell {
    /// A cell in a style.
    pub(crate) fn styled(text: impl Into<Arc<str>>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl<S: Into<Arc<str>>> From<S> for Cell {
    fn from(text: S) -> Self {
        Self { text: text.into(), style: Style::new() }
    }
}

/// A table with `N` columns.
#[derive(Debug, Clone)]
pub struct Table<const N: usize> {
    header: [&'static str; N],
    rows: Vec<[Cell; N]>,
    /// Columns that are left out if no cell in them says something.
    optional: [bool; N],
}

/// Between two columns.
const GAP: &str = "   ";

/// Narrowest column of a table that is cut.
const NARROW: usize = 8;

/// The width of the last column of a table that is cut, as long as others can be cut instead.
const LAST: usize = 16;

/// The width of a column where widths are fixed: what most names need.
fn usual(header: &str) -> usize {
    let width = match header {
        "AGE" | "HTTP" | "METHOD" | "VERDICT" => 7,
        "MESH" | "NAMESPACE" | "BLOCK" => 12,
        "CREATED" | "PATHS" => 20,
        "KIND" | "OUTCOME" | "RULE" => 24,
        "NAME" | "VIA" => 28,
        "TARGET" | "TARGETS" | "POLICIES" | "FILE" | "FROM" | "TO" | "BY" => 40,
        _ => 16,
    };
    width.max(header.width())
}

impl<const N: usize> Table<N> {
    /// A table with a header; an empty one prints none, and its columns are as wide as what is in them.
    pub fn new(header: [&'static str; N]) -> Self {
        Self { header, rows: Vec::new(), optional: [false; N] }
    }

    /// The same, but columns without a cell that says something are left out.
    pub fn hiding_empty(self) -> Self {
        Self { optional: [true; N], ..self }
    }

    /// The same for some columns.
    pub(crate) fn hiding(mut self, headers: &[&str]) -> Self {
        for (optional, own) in self.optional.iter_mut().zip(self.header) {
            *optional |= headers.contains(&own);
        }
        self
    }

    /// Adds a row.
    pub fn push(&mut self, row: [Cell; N]) {
        self.rows.push(row);
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints it, each line behind `indent`, laid out as the styles say.
    pub fn write(&self, indent: &str, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
        let widths = self.widths(indent, styles.fit);
        if self.has_header() {
            let cells = self.header.map(|h| Cell::styled(h, styles.dim));
            line(&cells, &widths, indent, styles.fit, out)?;
        }
        for row in &self.rows {
            line(row, &widths, indent, styles.fit, out)?;
        }
        Ok(())
    }

    fn has_header(&self) -> bool {
        self.header.iter().any(|h| !h.is_empty())
    }

    /// The width of each column; none if it is left out.
    fn widths(&self, indent: &str, fit: TableFit) -> [Option<usize>; N] {
        let mut widths = self.optional.map(|optional| (!optional).then_some(0));
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row).filter(|(_, c)| !c.text.is_empty()) {
                *width = (*width).max(Some(cell.text.width()));
            }
        }
        let fixed = fit == TableFit::Fixed && self.has_header();
        for (width, header) in widths.iter_mut().zip(self.header) {
            *width =
                width.map(|width| if fixed { usual(header) } else { width.max(header.width()) });
        }
        if let TableFit::Columns(columns) = fit {
            shrink(&mut widths, columns.saturating_sub(indent.len()));
        }
        widths
    }
}

/// Takes from columns until a line fits, or nothing is left to take: first from the last one, then from the widest.
fn shrink(widths: &mut [Option<usize>], columns: usize) {
    let gaps = widths.iter().flatten().count().saturating_sub(1) * GAP.len();
    let wanted: usize = widths.iter().flatten().sum();
    let mut over = (wanted + gaps).saturating_sub(columns);
    let mut take = |width: &mut usize, least: usize| {
        let taken = over.min(width.saturating_sub(least));
        *width -= taken;
        over -= taken;
        over > 0 && taken > 0
    };
    if let Some(last) = widths.iter_mut().rev().flatten().next() {
        take(last, LAST);
    }
    loop {
        let mut all: Vec<usize> = widths.iter().flatten().copied().collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let widest = all.first().copied().unwrap_or(0);
        // As wide as the next one, so that all are narrowed alike.
        let next = all.into_iter().find(|w| *w < widest).unwrap_or(0).max(NARROW);
        let mut went_on = false;
        for width in widths.iter_mut().flatten().filter(|w| **w == widest) {
            went_on |= take(width, next);
        }
        if !went_on {
            return;
        }
    }
}

fn line(
    cells: &[Cell],
    widths: &[Option<usize>],
    indent: &str,
    fit: TableFit,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let shown = cells.iter().zip(widths).filter_map(|(cell, width)| Some((cell, (*width)?)));
    let cells: Vec<(&Cell, usize)> = shown.collect();
    let last = cells.iter().rposition(|(c, _)| !c.text.is_empty()).unwrap_or(0);
    out.write_str(indent)?;
    // Where the line is, and where the next column begins.
    let (mut at, mut begin) = (0, 0);
    for (i, (cell, width)) in cells.iter().enumerate().take(last + 1) {
        if i > 0 {
            let pad = begin.max(at + GAP.len()) - at;
            write!(out, "{:pad$}", "")?;
            at += pad;
        }
        begin += width + GAP.len();
        let text = match fit {
            TableFit::Columns(_) if i + 1 == cells.len() => Cow::Owned(cut(&cell.text, *width)),
            TableFit::Columns(_) => Cow::Owned(shorten(&cell.text, *width)),
            TableFit::Fixed | TableFit::Whole => Cow::Borrowed(&*cell.text),
        };
        write!(out, "{}", Painted(cell.style, &text))?;
        at += text.width();
    }
    out.write_char('\n')
}

/// The text, or as much of it as fits with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = head(text.chars(), width.saturating_sub(1));
    kept.push('…');
    kept
}

/// The text, or as much of its beginning and its end as fits around an ellipsis: names mostly differ at their ends.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let end: String = head(text.chars().rev(), room / 2).chars().rev().collect();
    let mut kept = head(text.chars(), room - end.width());
    kept.push('…');
    kept.push_str(&end);
    kept
}

/// As many characters as fit.
fn head(text: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fitting = text.take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= width
    });
    fitting.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    use super::{Table, TableFit, cut, shorten};
    use crate::Styles;

    fn written<const N: usize>(table: &Table<N>, fit: TableFit) -> String {
        let mut out = String::new();
        table.write("", &Styles::plain().with_fit(fit), &mut out).unwrap();
        out
    }

    #[test]
    fn columns_are_aligned_by_what_a_terminal_shows() {
        let mut table = Table::new(["A", "B"]);
        table.push(["名前".into(), "x".into()]);
        table.push(["ab".into(), "".into()]);
        assert_eq!(written(&table, TableFit::Whole), "A      B\n名前   x\nab\n");
    }

    #[test]
    fn an_empty_column_is_left_out_where_that_is_wanted() {
        let rows = |mut table: Table<3>| {
            table.push(["a".into(), "".into(), "c".into()]);
            written(&table, TableFit::Whole)
        };
        let header = ["A", "B", "C"];
        assert_eq!(rows(Table::new(header)), "A   B   C\na       c\n");
        assert_eq!(rows(Table::new(header).hiding_empty()), "A   C\na   c\n");
        assert_eq!(rows(Table::new(header).hiding(&["B"])), "A   C\na   c\n");
        assert_eq!(rows(Table::new(header).hiding(&["A"])), "A   B   C\na       c\n");
    }

    #[test]
    fn a_long_cell_moves_its_own_row_only() {
        let mut table = Table::new(["MESH", "AGE", "FILE"]);
        table.push(["default".into(), "1d".into(), "a.yaml".into()]);
        table.push(["a-very-long-name".into(), "1d".into(), "a.yaml".into()]);
        let expected = "MESH           AGE       FILE\n\
                        default        1d        a.yaml\n\
                        a-very-long-name   1d    a.yaml\n";
        assert_eq!(written(&table, TableFit::Fixed), expected);
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
        assert_eq!(shorten("abcdef", 5), "ab…ef");
        assert_eq!(shorten("abcdef", 4), "ab…f");
        assert_eq!(shorten("abcdef", 6), "abcdef");
    }

    proptest! {
        /// A terminal that has room for the narrowest columns has room for every line.
        #[test]
        fn a_table_fits_a_terminal(
            rows in prop::collection::vec(prop::array::uniform4("[a-z名/#-]{0,60}"), 0..6),
            columns in 41_usize..200,
        ) {
            let mut table = Table::new(["KIND", "NAME", "TARGET", "VALUES"]);
            rows.into_iter().for_each(|row| table.push(row.map(Into::into)));
            for line in written(&table, TableFit::Columns(columns)).lines() {
                prop_assert!(line.width() <= columns, "{line}");
            }
        }

        /// In a pipe, a row is the same alone and among others, and has all of every cell.
        #[test]
        fn a_row_does_not_depend_on_others(
            rows in prop::collection::vec(prop::array::uniform3("[a-z]{0,50}"), 1..6),
        ) {
            let alone = |row: &[String; 3]| {
                let mut table = Table::new(["KIND", "NAME", "VALUES"]);
                table.push(row.clone().map(Into::into));
                written(&table, TableFit::Fixed)
            };
            let mut table = Table::new(["KIND", "NAME", "VALUES"]);
            rows.iter().for_each(|row| table.push(row.clone().map(Into::into)));
            let together = written(&table, TableFit::Fixed);
            for (line, row) in together.lines().skip(1).zip(&rows) {
                let alone = alone(row);
                prop_assert_eq!(Some(line), alone.lines().nth(1));
                prop_assert!(row.iter().all(|cell| line.contains(cell.as_str())));
            }
        }
    }
}
