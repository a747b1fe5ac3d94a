// SPDX-License-Identifier: Apache-2.0
//! In: a string node and an offset in its value. Out: the place in the source of that one character.
//! Not here: reading scalars (the event parser and `json` do).
//!
//! A value is not always a piece of the source: quotes, escapes, folded lines and indentation stand between the two. The
//! written text is decoded once more, and every character remembers where it came from. If the result is not exactly
//! the value, the rules here do not cover what was written, and the whole node is the answer.

use crate::document::{Documents, NodeRef};
use crate::source_map::{Span, to_u32};

/// The place of the character at byte `offset` of the value of a string. Behind the last character it is empty. The
/// span of the whole node if it is not a string, or if the character cannot be traced back.
pub fn locate(documents: &Documents, node: NodeRef, offset: usize) -> Span {
    let view = documents.view(node);
    let whole = view.span();
    let Some(value) = view.as_str() else { return whole };
    let Some((start, end)) = trace(view.written(), value, offset) else { return whole };
    let at = |offset: usize| whole.start.saturating_add(to_u32(offset)).min(whole.end);
    Span { start: at(start), end: at(end), ..whole }
}

/// Longest text that is decoded again, in bytes: it takes many times its size. Nobody looks for a character in more.
const TRACED: usize = 1 << 16;

/// How many indentations are tried for a block that says its own.
const INDENTATIONS: usize = 64;

/// The range in the written text of the character at `offset` of the value.
fn trace(written: &str, value: &str, offset: usize) -> Option<(usize, usize)> {
    if written == value {
        return Some(range_in(value, offset));
    }
    if written.len() > TRACED {
        return None;
    }
    let decoded = match written.bytes().next()? {
        b'"' => flow(written, Quotes::Double),
        b'\'' => flow(written, Quotes::Single),
        b'|' | b'>' => return block(written, value)?.range(offset),
        _ => flow(written, Quotes::None),
    }?;
    (decoded.value == value).then(|| decoded.range(offset))?
}

fn range_in(text: &str, offset: usize) -> (usize, usize) {
    let mut start = offset.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let rest = text.get(start..).and_then(|rest| rest.chars().next());
    (start, start + rest.map_or(0, char::len_utf8))
}

/// A decoded value, and for each of its characters the range it was written in.
#[derive(Debug, Default)]
struct Decoded {
    value: String,
    /// Offset in the value, first byte and end in the written text; in order.
    places: Vec<(usize, usize, usize)>,
}

impl Decoded {
    fn push(&mut self, c: char, start: usize, end: usize) {
        self.places.push((self.value.len(), start, end));
        self.value.push(c);
    }

    /// Removes characters at the end down to a length of the value.
    fn truncate(&mut self, length: usize) {
        self.value.truncate(length);
        while self.places.last().is_some_and(|(offset, ..)| *offset >= length) {
            self.places.pop();
        }
    }

    fn range(&self, offset: usize) -> Option<(usize, usize)> {
        if offset >= self.value.len() {
            return self.places.last().map(|(_, _, end)| (*end, *end));
        }
        let next = self.places.partition_point(|(at, ..)| *at <= offset);
        self.places.get(next.checked_sub(1)?).map(|(_, start, end)| (*start, *end))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// A plain or quoted scalar: line breaks fold, quotes have their escapes.
fn flow(written: &str, quotes: Quotes) -> Option<Decoded> {
    let body = match quotes {
        Quotes::None => 0..written.len(),
        _ => 1..written.len().checked_sub(1)?,
    };
    let mut text = Text { written: written.get(..body.end)?, at: body.start };
    let mut out = Decoded::default();
    // Blanks after this are at the end of a line if a break follows.
    let mut solid = 0;
    while let Some((start, c)) = text.next() {
        match (c, quotes) {
            ('\n' | '\r', _) => {
                out.truncate(solid);
                fold(&mut text, start, c, &mut out);
                solid = out.value.len();
            }
            ('\'', Quotes::Single) => {
                text.next().filter(|(_, c)| *c == '\'')?;
                out.push('\'', start, text.at);
                solid = out.value.len();
            }
            ('\\', Quotes::Double) => {
                match escape(&mut text)? {
                    Some(c) => out.push(c, start, text.at),
                    None => _ = empty_lines(&mut text, &mut out),
                }
                solid = out.value.len();
            }
            (' ' | '\t', _) => out.push(c, start, text.at),
            _ => {
                out.push(c, start, text.at);
                solid = out.value.len();
            }
        }
    }
    Some(out)
}

/// A cursor over the characters.
struct Text<'t> {
    written: &'t str,
    at: usize,
}

impl Text<'_> {
    fn rest(&self) -> &str {
        self.written.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<(usize, char)> {
        let c = self.peek()?;
        let start = self.at;
        self.at += c.len_utf8();
        Some((start, c))
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    /// The rest of a break whose first byte was taken.
    fn finish_break(&mut self, first: char) {
        if first == '\r' && self.peek() == Some('\n') {
            self.at += 1;
        }
    }
}

/// One break is a blank; of more breaks all but the first stay.
fn fold(text: &mut Text<'_>, start: usize, first: char, out: &mut Decoded) {
    text.finish_break(first);
    let end = text.at;
    if empty_lines(text, out) == 0 {
        out.push(' ', start, end);
    }
}

/// Skips the blanks a line starts with. Empty lines before it are a break each.
fn empty_lines(text: &mut Text<'_>, out: &mut Decoded) -> usize {
    let mut count = 0;
    loop {
        text.skip_blanks();
        match text.peek() {
            Some(c @ ('\n' | '\r')) => {
                let start = text.at;
                text.next();
                text.finish_break(c);
                out.push('\n', start, text.at);
                count += 1;
            }
            _ => return count,
        }
    }
}

/// What a backslash stands for. Some(None) for a line that goes on; none if it is not an escape.
fn escape(text: &mut Text<'_>) -> Option<Option<char>> {
    let (_, c) = text.next()?;
    let value = match c {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        ' ' | '"' | '/' | '\\' => c,
        'x' => char::from_u32(hex(text, 2)?)?,
        'u' => unicode(text)?,
        'U' => char::from_u32(hex(text, 8)?)?,
        '\n' | '\r' => {
            text.finish_break(c);
            return Some(None);
        }
        _ => return None,
    };
    Some(Some(value))
}

/// Four hex digits; twice four where JSON splits a character in two.
fn unicode(text: &mut Text<'_>) -> Option<char> {
    let high = hex(text, 4)?;
    if !(0xD800..0xDC00).contains(&high) {
        return char::from_u32(high);
    }
    text.rest().starts_with("\\u").then(|| text.at += 2)?;
    let low = hex(text, 4)?.checked_sub(0xDC00)?;
    char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + low)
}

fn hex(text: &mut Text<'_>, digits: usize) -> Option<u32> {
    let found = text.rest().get(..digits)?;
    let value = u32::from_str_radix(found, 16).ok()?;
    text.at += digits;
    Some(value)
}

/// A block scalar. Its indentation is that of its first line, or one relative to its parent, which is not known here:
/// then the one that gives the value is right. The node's span ends with its last character that is not white space, so
/// the value may go on behind it.
fn block(written: &str, value: &str) -> Option<Decoded> {
    let folded = written.starts_with('>');
    let header = written.find(['\n', '\r'])?;
    let lines = lines(written, header);
    let indent = |line: &Line<'_>| line.text.bytes().take_while(|b| *b == b' ').count();
    let deepest = lines.iter().filter(|line| !line.text.trim().is_empty()).map(indent).min()?;
    let says = written.get(..header)?.bytes().skip(1).take(2).any(|b| b.is_ascii_digit());
    let tries = if says { INDENTATIONS } else { 1 };
    (0..=deepest).rev().take(tries).find_map(|indent| {
        let decoded = join(&lines, indent, folded);
        let rest = value.strip_prefix(&decoded.value)?;
        rest.trim().is_empty().then_some(decoded)
    })
}

struct Line<'t> {
    text: &'t str,
    start: usize,
    /// Behind the line break.
    end: usize,
}

/// The lines behind the header, without their breaks.
fn lines(written: &str, header: usize) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut text = Text { written, at: header };
    let mut start = header;
    while let Some((at, c)) = text.next() {
        if c == '\n' || c == '\r' {
            text.finish_break(c);
            lines.push(Line { text: written.get(start..at).unwrap_or(""), start, end: text.at });
            start = text.at;
        }
    }
    lines.push(Line { text: text_from(written, start), start, end: written.len() });
    // The first is the header's own end.
    lines.remove(0);
    lines
}

fn text_from(written: &str, start: usize) -> &str {
    written.get(start..).unwrap_or("")
}

/// The text between two lines of a block, once the line after it is known.
struct Gap {
    /// The break behind the last line with text.
    after: (usize, usize),
    /// The empty lines since.
    empty: Vec<(usize, usize)>,
    /// Whether the line before starts with a blank, which keeps its breaks.
    spaced: bool,
}

fn join(lines: &[Line<'_>], indent: usize, folded: bool) -> Decoded {
    let mut out = Decoded::default();
    let mut gap: Option<Gap> = None;
    let mut leading = Vec::new();
    for line in lines {
        let text = line.text.get(indent..).unwrap_or("");
        let place = (line.start + line.text.len(), line.end);
        if text.is_empty() {
            match &mut gap {
                Some(gap) => gap.empty.push(place),
                None => leading.push(place),
            }
            continue;
        }
        let spaced = text.starts_with([' ', '\t']);
        for (start, end) in leading.drain(..) {
            out.push('\n', start, end);
        }
        if let Some(gap) = gap.take() {
            gap.close(spaced, folded, &mut out);
        }
        let start = line.start + indent;
        text.char_indices().for_each(|(i, c)| out.push(c, start + i, start + i + c.len_utf8()));
        gap = Some(Gap { after: place, empty: Vec::new(), spaced });
    }
    out
}

impl Gap {
    fn close(self, spaced: bool, folded: bool, out: &mut Decoded) {
        let keeps = !folded || self.spaced || spaced;
        if keeps {
            out.push('\n', self.after.0, self.after.1);
        } else if self.empty.is_empty() {
            out.push(' ', self.after.0, self.after.1);
        }
        for (start, end) in self.empty {
            out.push('\n', start, end);
        }
    }
}
