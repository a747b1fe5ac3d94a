// SPDX-License-Identifier: Apache-2.0
//! In: what the policies of a ladder wrote and what is in force. Out: both next to each other, as one adds up numbers:
//! higher policy + lower policy = effective policy. Not here: finding anything out.
//!
//! Every line in force has a bar in the colour of its policy, and the policy's letter for those who see no colour.

use std::collections::BTreeSet;
use std::fmt;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::field::is_within;
use crate::style::Painted;
use crate::table::cut;
use crate::{Styles, escape, v1, words, yaml};

/// Narrowest column worth reading.
const NARROW: usize = 24;
const INDENT: &str = "  ";
/// Between two columns; as wide as the signs between headings.
const GAP: &str = "   ";

/// A line of a column: a mark in a colour, and text.
#[derive(Default)]
struct Line {
    mark: String,
    text: String,
    style: Style,
    /// Whether the text has the colour too.
    painted: bool,
}

struct Column {
    heading: Vec<Line>,
    body: Vec<Line>,
}

/// Writes the section, if there are at least two policies to look at.
pub(crate) fn write(
    kind: &v1::ExplainedKind,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    if kind.written.len() < 2 {
        return Ok(());
    }
    writeln!(out, "\n{}", Painted(styles.heading, "Side by side"))?;
    let sheet = Sheet { kind, styles };
    let all = sheet.columns(|_| true);
    if let Some(widths) = widths(&all, styles.width) {
        return table(&all, &widths, styles, out);
    }
    let last = kind.written.len() - 1;
    let ends = sheet.columns(|i| i == 0 || i == last);
    match widths(&ends, styles.width) {
        Some(widths) => {
            table(&ends, &widths, styles, out)?;
            left_out(kind.written.len() - 2, styles, out)
        }
        None => stacked(&all, styles, out),
    }
}

fn left_out(count: usize, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
    if count == 0 {
        return Ok(());
    }
    let (policies, verb) =
        if count == 1 { ("1 policy", "is") } else { (&*format!("{count} policies"), "are") };
    let text = format!("{policies} between them {verb} left out: the terminal is too narrow");
    writeln!(out, "{INDENT}{}", Painted(styles.dim, &text))
}

struct Sheet<'a> {
    kind: &'a v1::ExplainedKind,
    styles: &'a Styles,
}

impl Sheet<'_> {
    /// The columns of the policies asked for, and of the result.
    fn columns(&self, keep: impl Fn(usize) -> bool) -> Vec<Column> {
        let kept = self.kind.written.iter().enumerate().filter(|(i, _)| keep(*i));
        let mut columns: Vec<Column> = kept.map(|(i, policy)| self.policy(i, policy)).collect();
        columns.push(self.effective());
        columns
    }

    fn style(&self, policy: &str) -> Style {
        self.styles.policy(self.kind.effective.color(policy))
    }

    fn policy(&self, index: usize, written: &v1::WrittenPolicy) -> Column {
        let style = self.style(&written.policy);
        let name = format!("{} {}", letter(index), escape::terminal(&written.policy));
        let targets: Vec<String> = written.attached_to.iter().map(|t| words::target(t)).collect();
        let on = match targets.is_empty() {
            true => String::new(),
            false => format!("  on {}", targets.join(", ")),
        };
        let mut body = Vec::new();
        for block in &written.blocks {
            let (head, pad) = match &*block.block {
                "bare" => (None, ""),
                block => (Some(format!("{block}:")), "  "),
            };
            body.extend(head.map(plain));
            body.extend(
                yaml::lines(&block.spec).into_iter().map(|l| plain(format!("{pad}{}", l.text))),
            );
        }
        let heading = Line { text: name, style, painted: true, ..Line::default() };
        Column { heading: vec![heading, plain(on)], body }
    }

    fn effective(&self) -> Column {
        let effective = &self.kind.effective;
        let mut body = match &effective.spec {
            None => vec![plain("nothing is in force".to_owned())],
            Some(spec) => yaml::lines(spec).into_iter().map(|l| self.in_force(l)).collect(),
        };
        for beside in &effective.beside {
            body.push(self.marked([beside.policy.as_str()].into(), "# beside it:".to_owned()));
            for line in yaml::lines(&beside.spec) {
                body.push(self.marked([beside.policy.as_str()].into(), line.text));
            }
        }
        let title = plain("effective policy".to_owned());
        let at = plain(format!("  at {}", words::target(&effective.target)));
        Column { heading: vec![title, at], body }
    }

    /// A line of the value, marked with whoever wrote all that stands at and below it.
    fn in_force(&self, line: yaml::Line) -> Line {
        let origins = &self.kind.effective.origins;
        let from = origins.range(line.pointer.clone()..);
        let within = from
            .take_while(|(at, _)| at.starts_with(line.pointer.as_str()))
            .filter(|(at, _)| is_within(at, &line.pointer));
        let policies = within.flat_map(|(_, list)| list).map(|o| o.policy.as_str());
        self.marked(policies.collect(), line.text)
    }

    fn marked(&self, policies: BTreeSet<&str>, text: String) -> Line {
        let only = policies.first().filter(|_| policies.len() == 1);
        let index = only.and_then(|p| self.kind.written.iter().position(|w| w.policy == **p));
        let (sign, style) = match (index, only) {
            (Some(index), Some(policy)) => (letter(index), self.style(policy)),
            // What several wrote has parts of its own, which say whose they are.
            _ => (" ".to_owned(), self.styles.dim),
        };
        Line { mark: format!("{sign}┃ "), text, style, painted: false }
    }
}

/// `A` to `Z`, then `27`.
fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(i) if i < 26 => char::from(b'A' + i).to_string(),
        _ => (index + 1).to_string(),
    }
}

fn plain(text: String) -> Line {
    Line { text, ..Line::default() }
}

impl Line {
    fn width(&self) -> usize {
        self.mark.width() + self.text.width()
    }

    /// At most so wide, and as wide as that if `pad`.
    fn shown(&self, width: usize, pad: bool) -> String {
        let text = cut(&self.text, width.saturating_sub(self.mark.width()));
        let used = self.mark.width() + text.width();
        let fill = if pad { width.saturating_sub(used) } else { 0 };
        let text = match self.painted {
            true => Painted(self.style, &text).to_string(),
            false => text,
        };
        let mark = match self.mark.is_empty() {
            true => String::new(),
            false => Painted(self.style, &self.mark).to_string(),
        };
        format!("{mark}{text}{:fill$}", "")
    }
}

impl Column {
    fn width(&self) -> usize {
        self.heading.iter().chain(&self.body).map(Line::width).max().unwrap_or(0)
    }
}

/// A width for each column; none if one would be too narrow to read. Columns that need less leave it to the others.
fn widths(columns: &[Column], total: usize) -> Option<Vec<usize>> {
    let wanted: Vec<usize> = columns.iter().map(Column::width).collect();
    let gaps = GAP.len() * columns.len().saturating_sub(1) + INDENT.len();
    let mut room = total.saturating_sub(gaps);
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|i| wanted.get(*i));
    let mut widths = vec![0; columns.len()];
    for (done, i) in order.into_iter().enumerate() {
        let share = room / (columns.len() - done).max(1);
        let wanted = wanted.get(i).copied().unwrap_or(0);
        if share < wanted.min(NARROW) {
            return None;
        }
        let width = wanted.min(share);
        room -= width;
        if let Some(slot) = widths.get_mut(i) {
            *slot = width;
        }
    }
    Some(widths)
}

fn table(
    columns: &[Column],
    widths: &[usize],
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let rows =
        |part: fn(&Column) -> &Vec<Line>| columns.iter().map(|c| part(c).len()).max().unwrap_or(0);
    for row in 0..rows(|c| &c.heading) {
        line(columns.iter().map(|c| c.heading.get(row)), widths, row == 0, styles, out)?;
    }
    for row in 0..rows(|c| &c.body) {
        line(columns.iter().map(|c| c.body.get(row)), widths, false, styles, out)?;
    }
    Ok(())
}

/// One line through all columns; `signs` puts `+` and `=` between them.
fn line<'a>(
    cells: impl Iterator<Item = Option<&'a Line>>,
    widths: &[usize],
    signs: bool,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let cells: Vec<Option<&Line>> = cells.collect();
    // Nothing is written behind the last text of a line.
    let last = cells.iter().rposition(|c| c.is_some_and(|l| l.width() > 0)).unwrap_or(0);
    out.write_str(INDENT)?;
    for (i, (cell, width)) in cells.iter().zip(widths).enumerate().take(last + 1) {
        if i > 0 {
            match (signs, i + 1 == cells.len()) {
                (false, _) => out.write_str(GAP)?,
                (true, false) => write!(out, "{}", Painted(styles.dim, " + "))?,
                (true, true) => write!(out, "{}", Painted(styles.dim, " = "))?,
            }
        }
        match cell {
            Some(line) => out.write_str(&line.shown(*width, i < last))?,
            None => write!(out, "{:width$}", "")?,
        }
    }
    out.write_char('\n')
}

/// One below the other, where there is no room for two.
fn stacked(columns: &[Column], styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
    let width = styles.width.saturating_sub(INDENT.len()).max(NARROW);
    for (i, column) in columns.iter().enumerate() {
        let sign = match i {
            0 => "",
            i if i + 1 == columns.len() => "=",
            _ => "+",
        };
        if !sign.is_empty() {
            writeln!(out, "{INDENT}{}", Painted(styles.dim, sign))?;
        }
        for line in column.heading.iter().filter(|l| l.width() > 0).chain(&column.body) {
            writeln!(out, "{INDENT}{}", line.shown(width, false))?;
        }
    }
    Ok(())
}
