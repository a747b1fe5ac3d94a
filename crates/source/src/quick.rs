// SPDX-License-Identifier: Apache-2.0
//! In: a range of a text that holds one document in the plain block style almost every manifest is written in.
//! Out: the same tree the full parser would give, several times faster, or nothing at all.
//! Not here: errors, anchors, tags, directives, text over several lines other than `|`: for all of these, and for
//! whatever else is not certain, the answer is nothing, and the caller asks the full parser.
//!
//! That this reader never disagrees with the full one is a property test (`quick/tests.rs`).

mod flow;
mod literal;
mod strangers;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::builder::{Builder, Slot};
use crate::source_map::to_u32;
use crate::tree::{NodeKind, Tree};

use strangers::Identity;
pub(crate) use strangers::identity;

/// Not certain: let the full parser look at it.
#[derive(Debug)]
struct Unsure;

type Sure<T> = Result<T, Unsure>;

/// Reads the document in `text[chunk]`. The inner option is empty for a document without content.
pub(crate) fn parse(builder: &mut Builder<'_>, chunk: Range<usize>) -> Option<Option<Tree>> {
    let text = builder.text.get(..chunk.end)?;
    if !is_ordinary(text.get(chunk.start..)?) {
        return None;
    }
    document(builder, text, chunk.start, None)
}

fn document<'t>(
    builder: &mut Builder<'t>,
    text: &'t str,
    start: usize,
    identity: Option<Identity>,
) -> Option<Option<Tree>> {
    builder.abandon();
    let mark = builder.findings.mark();
    let bytes = text.as_bytes();
    let (at, line, last_end) = (start, start, start);
    let open = Vec::new();
    let mut reader = Reader { builder, text, bytes, at, line, last_end, open, identity };
    match reader.document() {
        Ok(()) => Some(reader.builder.finish()),
        Err(Unsure) => {
            builder.abandon();
            builder.findings.forget(&mark);
            builder.forget_template();
            None
        }
    }
}

/// Whether a text has nothing but line feeds and printable characters.
fn is_ordinary(text: &str) -> bool {
    // Without an early end the compiler looks at many bytes at once.
    let bytes = text.as_bytes();
    let control =
        bytes.iter().fold(false, |any, &b| any | ((b < 0x20) & (b != b'\n')) | (b == 0x7F));
    if control {
        return false;
    }
    text.is_ascii()
        || text.chars().all(|c| {
            !matches!(c, '\u{80}'..='\u{9F}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}')
                && !matches!(u32::from(c) & 0xFFFF, 0xFFFE | 0xFFFF)
        })
}

/// A map or list in block style that may get more entries.
#[derive(Debug, Clone, Copy)]
struct Block {
    indent: usize,
    kind: NodeKind,
    /// Where a value is missing so far: behind the colon or dash of the last entry.
    pending: Option<usize>,
}

struct Reader<'b, 't> {
    builder: &'b mut Builder<'t>,
    /// The source up to the end of the chunk.
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// Start of the line `at` is in.
    line: usize,
    /// Where the last token ended.
    last_end: usize,
    open: Vec<Block>,
    /// What is kept, if that is not everything.
    identity: Option<Identity>,
}

impl<'t> Reader<'_, 't> {
    fn document(&mut self) -> Sure<()> {
        let mut begun = false;
        while self.at < self.bytes.len() {
            self.line = self.at;
            self.skip_blanks();
            match self.peek() {
                None => break,
                Some(b'\n' | b'#') => {
                    self.skip_line();
                    continue;
                }
                Some(b'%') if self.column() == 0 => return Err(Unsure),
                _ => {}
            }
            if self.column() == 0 && self.starts_with("---") {
                let after = self.bytes.get(self.at + 3);
                if matches!(after, None | Some(b'\n' | b' ')) {
                    if begun {
                        return Err(Unsure);
                    }
                    self.at += 3;
                    self.last_end = self.at;
                    self.end_of_line()?;
                    begun = true;
                    continue;
                }
            }
            if self.column() == 0 && self.starts_with("...") {
                return Err(Unsure);
            }
            begun = true;
            self.entries()?;
        }
        while !self.open.is_empty() {
            self.close()?;
        }
        Ok(())
    }

    /// One line with content: any number of dashes, then a key with or without a value, or a value.
    fn entries(&mut self) -> Sure<()> {
        loop {
            let column = self.column();
            let dash = self.peek() == Some(b'-')
                && matches!(self.bytes.get(self.at + 1), None | Some(b' ' | b'\n'));
            if !dash {
                return self.key_or_value(column);
            }
            self.find_place(column, NodeKind::List)?;
            self.at += 1;
            self.last_end = self.last_end.max(self.at);
            self.set_pending(Some(self.at));
            if self.rest_is_empty()? {
                return Ok(());
            }
        }
    }

    fn key_or_value(&mut self, column: usize) -> Sure<()> {
        let start = self.at;
        let token = self.token()?;
        if self.peek() == Some(b':')
            && matches!(self.bytes.get(self.at + 1), None | Some(b' ' | b'\n'))
        {
            // Longer keys are not simple keys any more; let the full parser count characters.
            if self.at - start > 1000 {
                return Err(Unsure);
            }
            self.at = start;
            self.find_place(column, NodeKind::Map)?;
            if self.is_left_out(&token) {
                self.skip_entry(column);
                return Ok(());
            }
            self.at = token.end;
            self.scalar(token)?;
            self.skip_blanks();
            self.at += 1;
            self.set_pending(Some(self.at));
            if self.rest_is_empty()? {
                return Ok(());
            }
            return self.value();
        }
        // A value of its own: only right behind a dash, on the same line.
        let behind_dash = self.open.last().is_some_and(|block| {
            block.kind == NodeKind::List && block.pending.is_some_and(|dash| dash > self.line)
        });
        if !behind_dash {
            return Err(Unsure);
        }
        self.at = start;
        self.value()
    }

    /// A value on the line of its key or dash.
    fn value(&mut self) -> Sure<()> {
        self.set_pending(None);
        match self.peek() {
            Some(b'{' | b'[') => self.flow()?,
            Some(b'|') => return self.literal(),
            _ => {
                let token = self.token()?;
                // A colon that would make it a key does not belong here.
                if self.peek() == Some(b':') {
                    return Err(Unsure);
                }
                self.scalar(token)?;
            }
        }
        self.end_of_line()
    }

    /// Closes what has ended before this column and opens what begins at it, so that an entry can be added.
    fn find_place(&mut self, column: usize, kind: NodeKind) -> Sure<()> {
        while let Some(top) = self.open.last() {
            let done = top.indent > column
                || (top.indent == column && top.kind == NodeKind::List && kind == NodeKind::Map);
            if !done {
                break;
            }
            self.close()?;
        }
        let Some(top) = self.open.last().copied() else {
            // Only the root may begin with nothing around it.
            return match self.builder.slot() == Slot::Root && self.builder.is_empty() {
                true => self.begin(column, kind),
                false => Err(Unsure),
            };
        };
        if top.indent == column && top.kind == kind {
            if let Some(missing) = top.pending {
                self.null(missing)?;
            }
            return Ok(());
        }
        // Deeper than what is around it; a list may also stand right below its key.
        let below_key = top.indent == column && top.kind == NodeKind::Map && kind == NodeKind::List;
        if top.pending.is_none() || (top.indent >= column && !below_key) {
            return Err(Unsure);
        }
        self.set_pending(None);
        self.begin(column, kind)
    }

    fn begin(&mut self, indent: usize, kind: NodeKind) -> Sure<()> {
        self.builder.begin(kind, to_u32(self.at), 0, false).or(Err(Unsure))?;
        self.open.push(Block { indent, kind, pending: None });
        Ok(())
    }

    fn close(&mut self) -> Sure<()> {
        if let Some(missing) = self.open.last().and_then(|top| top.pending) {
            self.null(missing)?;
        }
        self.open.pop();
        self.builder.end(to_u32(self.last_end)).or(Err(Unsure))
    }

    fn null(&mut self, at: usize) -> Sure<()> {
        self.set_pending(None);
        self.last_end = self.last_end.max(at);
        self.builder.plain("", (to_u32(at), to_u32(at)), 0).or(Err(Unsure))
    }

    fn set_pending(&mut self, pending: Option<usize>) {
        if let Some(top) = self.open.last_mut() {
            top.pending = pending;
        }
    }

    /// A plain or quoted scalar that ends on this line; `at` is behind it and the blanks after it.
    fn token(&mut self) -> Sure<Token<'t>> {
        let token = match self.peek() {
            Some(b'"') => self.double_quoted()?,
            Some(b'\'') => self.single_quoted()?,
            _ => self.plain(false)?,
        };
        self.at = token.end;
        self.skip_blanks();
        Ok(token)
    }

    fn scalar(&mut self, token: Token<'t>) -> Sure<()> {
        let at = (to_u32(token.start), to_u32(token.end));
        self.last_end = self.last_end.max(token.end);
        self.builder.check_length(token.text().len(), at).or(Err(Unsure))?;
        let added = match token.plain {
            true => self.builder.plain(token.text(), at, 0),
            false => match self.builder.text_node(token.text(), at) {
                Ok(node) => self.builder.scalar(node, 0),
                Err(refusal) => Err(refusal),
            },
        };
        added.or(Err(Unsure))
    }

    /// A plain scalar: up to a colon and a blank, a blank and a `#`, the end of the line, and in flow style a bracket.
    fn plain(&mut self, flow: bool) -> Sure<Token<'t>> {
        let start = self.at;
        let line = self.bytes.get(start..).unwrap_or_default();
        let (first, second) = (line.first().copied(), line.get(1).copied());
        let fits = match first {
            Some(b'-') => second.is_some_and(|b| b.is_ascii_alphanumeric() || (b == b'-' && !flow)),
            Some(b) => b.is_ascii_alphanumeric() || b >= 0x80 || b"/._~$<(+=^;\\".contains(&b),
            None => false,
        };
        if !fits {
            return Err(Unsure);
        }
        let mut before = b' ';
        let mut end = line.len();
        for (i, &b) in line.iter().enumerate() {
            match b {
                b'\n' => {
                    end = i;
                    break;
                }
                b':' => match line.get(i + 1) {
                    None | Some(b' ' | b'\n') => {
                        end = i;
                        break;
                    }
                    Some(b',' | b'[' | b']' | b'{' | b'}') if flow => return Err(Unsure),
                    _ => {}
                },
                b'#' if before == b' ' && i > 0 => {
                    end = i;
                    break;
                }
                b',' | b']' | b'}' if flow => {
                    end = i;
                    break;
                }
                b'[' | b'{' if flow => return Err(Unsure),
                _ => {}
            }
            before = b;
        }
        let text = self.text.get(start..start + end).ok_or(Unsure)?.trim_end_matches(' ');
        Ok(Token { start, end: start + text.len(), plain: true, written: text, changed: None })
    }

    fn double_quoted(&mut self) -> Sure<Token<'t>> {
        let start = self.at;
        let rest = self.bytes.get(start + 1..).unwrap_or_default();
        let mut i = 0;
        let mut escaped = false;
        loop {
            match rest.get(i) {
                Some(b'"') => break,
                // Escapes that YAML and JSON read alike; `\u` has its rules for halves of characters.
                Some(b'\\')
                    if matches!(
                        rest.get(i + 1),
                        Some(b'"' | b'\\' | b'/' | b'n' | b't' | b'r')
                    ) =>
                {
                    escaped = true;
                    i += 2;
                }
                None | Some(b'\n' | b'\\') => return Err(Unsure),
                Some(_) => i += 1,
            }
        }
        let written = self.text.get(start + 1..start + 1 + i).ok_or(Unsure)?;
        let changed = match escaped {
            true => Some(crate::json::unescape(written).or(Err(Unsure))?),
            false => None,
        };
        Ok(Token { start, end: start + i + 2, plain: false, written, changed })
    }

    fn single_quoted(&mut self) -> Sure<Token<'t>> {
        let start = self.at;
        let rest = self.bytes.get(start + 1..).unwrap_or_default();
        let stop = rest.iter().position(|b| matches!(b, b'\'' | b'\n'));
        let i = stop.filter(|&i| rest.get(i) == Some(&b'\'')).ok_or(Unsure)?;
        if rest.get(i + 1) == Some(&b'\'') {
            return Err(Unsure);
        }
        let written = self.text.get(start + 1..start + 1 + i).ok_or(Unsure)?;
        Ok(Token { start, end: start + i + 2, plain: false, written, changed: None })
    }

    fn column(&self) -> usize {
        self.at - self.line
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn starts_with(&self, prefix: &str) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(prefix.as_bytes()))
    }

    fn skip_blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |end| end + 1);
        self.at += length;
    }

    /// Skips blanks, and the line if only a comment is left of it. A comment needs a blank before it.
    fn rest_is_empty(&mut self) -> Sure<bool> {
        let start = self.at;
        self.skip_blanks();
        match self.peek() {
            None | Some(b'\n') => {}
            Some(b'#') if self.at > start => {}
            Some(b'#') => return Err(Unsure),
            Some(_) => return Ok(false),
        }
        self.skip_line();
        Ok(true)
    }

    /// The line must end here, but for a comment.
    fn end_of_line(&mut self) -> Sure<()> {
        // Blanks behind a token may have been skipped already.
        if self.at > self.line && self.bytes.get(self.at - 1) == Some(&b' ') {
            self.at -= 1;
        }
        match self.rest_is_empty()? {
            true => Ok(()),
            false => Err(Unsure),
        }
    }
}

/// A scalar as it stands in the text.
struct Token<'t> {
    start: usize,
    end: usize,
    plain: bool,
    written: &'t str,
    /// Its text if escapes make that another one.
    changed: Option<String>,
}

impl Token<'_> {
    fn text(&self) -> &str {
        self.changed.as_deref().unwrap_or(self.written)
    }
}
