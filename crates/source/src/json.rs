// SPDX-License-Identifier: Apache-2.0
//! In: a range of a text that looks like JSON. Out: its values, one after the other, through the same builder as YAML.
//! Not here: YAML's flow style; what fails here is tried as YAML by the caller.
//!
//! The YAML parser reads most JSON, but not several values in a row, not keys longer than 1,024 characters, and not at
//! the speed a large dump deserves. As Go's decoder: half a surrogate pair becomes U+FFFD, anything outside the
//! grammar is an error.

use crate::builder::{Builder, Refusal, shorten};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source_map::to_u32;
use crate::tree::{Node, NodeKind, Storage, Tree};

/// Reads every value in `text[chunk]`. `emit` takes each tree and the offset at which it ends. After an error nothing
/// more of the chunk is read.
pub(crate) fn parse(
    builder: &mut Builder<'_>,
    chunk: std::ops::Range<usize>,
    mut emit: impl FnMut(Tree, usize, &mut Builder<'_>),
) -> Result<(), Refusal> {
    let bytes = builder.text.as_bytes().get(..chunk.end).unwrap_or_default();
    let mut reader = Reader { builder, bytes, at: chunk.start };
    loop {
        match reader.peek() {
            None => return Ok(()),
            Some(b'{' | b'[') => {}
            // Between documents a YAML stream may go on as YAML.
            Some(b'#') => {
                reader.skip_line();
                continue;
            }
            Some(b'.') if reader.rest().trim_end() == "..." => return Ok(()),
            Some(_) => {
                let help = "remove the text after the JSON value";
                return Err(reader.unexpected("another JSON value or the end", help));
            }
        }
        reader.builder.abandon();
        reader.value()?;
        let end = reader.at;
        if let Some(tree) = reader.builder.finish() {
            emit(tree, end, reader.builder);
        }
    }
}

struct Reader<'b, 't> {
    builder: &'b mut Builder<'t>,
    bytes: &'t [u8],
    at: usize,
}

impl Reader<'_, '_> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    fn rest(&self) -> &str {
        self.builder.text.get(self.at..self.bytes.len()).unwrap_or("")
    }

    fn skip_line(&mut self) {
        let rest = self.rest();
        self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
    }

    /// Reads one value with everything in it. The open objects and arrays are the builder's stack.
    fn value(&mut self) -> Result<(), Refusal> {
        loop {
            let opened = match self.peek() {
                Some(b'{') => Some(NodeKind::Map),
                Some(b'[') => Some(NodeKind::List),
                _ => None,
            };
            match opened {
                Some(kind) => {
                    self.builder.begin(kind, to_u32(self.at), 0, true)?;
                    self.at += 1;
                    let close = if kind == NodeKind::Map { b'}' } else { b']' };
                    if self.peek() == Some(close) {
                        self.close()?;
                    } else if kind == NodeKind::Map {
                        self.key()?;
                        continue;
                    } else {
                        continue;
                    }
                }
                None => self.scalar()?,
            }
            if !self.after_value()? {
                return Ok(());
            }
        }
    }

    /// What follows a value, up to the next one. False if nothing is open any more.
    fn after_value(&mut self) -> Result<bool, Refusal> {
        loop {
            let Some((kind, _, _)) = self.builder.open() else { return Ok(false) };
            match (self.peek(), kind) {
                (Some(b','), _) => {
                    self.at += 1;
                    if kind == NodeKind::Map {
                        self.key()?;
                    }
                    return Ok(true);
                }
                (Some(b'}'), NodeKind::Map) | (Some(b']'), NodeKind::List) => self.close()?,
                (_, NodeKind::Map) => {
                    return Err(self.unexpected("`,` or `}`", "add a comma, or close the object"));
                }
                _ => return Err(self.unexpected("`,` or `]`", "add a comma, or close the array")),
            }
        }
    }

    fn close(&mut self) -> Result<(), Refusal> {
        self.at += 1;
        self.builder.end(to_u32(self.at))
    }

    fn key(&mut self) -> Result<(), Refusal> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected(
                "a key in double quotes",
                "quote the key; remove any comma before `}`",
            ));
        }
        let node = self.string()?;
        self.builder.scalar(node, 0)?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected("`:` after the key", "write `\"key\": value`"));
        }
        self.at += 1;
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Refusal> {
        let node = match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        self.builder.scalar(node, 0)
    }

    fn word(&mut self) -> Result<Node, Refusal> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        let (start, end) = (to_u32(self.at), to_u32(self.at + length));
        let node = match rest.get(..length) {
            Some(b"null") => Node::verbatim(NodeKind::Null, start, end),
            Some(b"true") => Node::new(NodeKind::Bool, Storage::Span, start, end, 1),
            Some(b"false") => Node::new(NodeKind::Bool, Storage::Span, start, end, 0),
            _ => return Err(self.unexpected("a value", "put text in double quotes")),
        };
        self.at += length;
        Ok(node)
    }

    fn number(&mut self) -> Result<Node, Refusal> {
        let start = self.at;
        let part = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let rest = self.bytes.get(start..).unwrap_or_default();
        let end = start + rest.iter().take_while(|b| part(b)).count();
        let text = self.builder.text.get(start..end).unwrap_or("");
        let Some(whole) = number_form(text) else {
            return Err(self.unexpected("a number", "write numbers as in `10`, `-1.5` or `1e3`"));
        };
        let at = (to_u32(start), to_u32(end));
        self.builder.check_length(end - start, at)?;
        self.at = end;
        let fits = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        if whole && fits {
            return Ok(Node::verbatim(NodeKind::Int, at.0, at.1));
        }
        if !text.parse().is_ok_and(f64::is_finite) {
            self.at = start;
            return Err(self.unexpected("a number that fits 64 bits", "quote it if it is text"));
        }
        Ok(Node::verbatim(NodeKind::Float, at.0, at.1))
    }

    fn string(&mut self) -> Result<Node, Refusal> {
        let start = self.at;
        let body = start + 1;
        let mut at = body;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let stop = rest.iter().position(|b| matches!(b, b'"' | b'\\') || *b < 0x20);
            at += stop.unwrap_or(rest.len());
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at += 2;
                }
                Some(_) => {
                    self.at = at;
                    return Err(self.unexpected(
                        "the closing `\"`",
                        "close the quote; write a line break as `\\n` and a tab as `\\t`",
                    ));
                }
                None => {
                    let message = "this quote is never closed";
                    return Err(self.error(start, start + 1, message, "add the closing quote"));
                }
            }
        }
        let place = (to_u32(start), to_u32(at + 1));
        self.builder.check_length(at - body, place)?;
        self.at = at + 1;
        if !escaped {
            return Ok(Node::new(NodeKind::String, Storage::Inner, place.0, place.1, 0));
        }
        let written = self.builder.text.get(body..at).unwrap_or("");
        match unescape(written) {
            Ok(text) => self.builder.aside(NodeKind::String, place, &text),
            Err(offset) => Err(self.error(
                body + offset,
                body + offset + 1,
                "invalid escape in this JSON string",
                "write `\\\\` for a backslash",
            )),
        }
    }

    fn unexpected(&self, wanted: &str, help: &'static str) -> Refusal {
        let here = self.rest().chars().next();
        let (found, width) = match here {
            Some(c) => {
                (format!("found `{}`", shorten(&c.escape_debug().to_string())), c.len_utf8())
            }
            None => ("the text ends".to_owned(), 0),
        };
        self.error(self.at, self.at + width, &format!("expected {wanted}, but {found}"), help)
    }

    fn error(&self, start: usize, end: usize, message: &str, help: &'static str) -> Refusal {
        let mut diagnostic = Diagnostic::new(&codes::SYNTAX, message)
            .at(self.builder.span(to_u32(start), to_u32(end)))
            .field(self.builder.path())
            .help(help);
        if let Some((kind, opened, _)) = self.builder.open() {
            let what = if kind == NodeKind::Map { "object" } else { "array" };
            let span = self.builder.span(opened, opened + 1);
            diagnostic = diagnostic.see(span, format!("inside the {what} opened here"));
        }
        Box::new(diagnostic)
    }
}

/// Whether a text is a JSON number, and if so whether it is written as a whole one.
fn number_form(text: &str) -> Option<bool> {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let body = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (body, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let fits = digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    fits.then_some(fraction.is_none() && exponent.is_none())
}

/// The text behind JSON escapes, or the offset of the backslash that begins none.
pub(crate) fn unescape(written: &str) -> Result<String, usize> {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(stop) = rest.find('\\') {
        let here = written.len() - rest.len() + stop;
        text.push_str(rest.get(..stop).unwrap_or(""));
        rest = rest.get(stop + 1..).unwrap_or("");
        let mut chars = rest.chars();
        let plain = match chars.next() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (c, used) = unicode(rest).ok_or(here)?;
                text.push(c);
                rest = rest.get(used..).unwrap_or("");
                continue;
            }
            _ => return Err(here),
        };
        text.push(plain);
        rest = chars.as_str();
    }
    text.push_str(rest);
    Ok(text)
}

/// The character behind `uXXXX`, or behind two of them, and how many bytes it takes.
fn unicode(rest: &str) -> Option<(char, usize)> {
    let hex = |at: usize| {
        let digits = rest.get(at..at + 4)?;
        // `from_str_radix` would take a sign.
        let hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        hex.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let high = hex(1)?;
    if let Some(c) = char::from_u32(high) {
        return Some((c, 5));
    }
    let low = (rest.get(5..7) == Some("\\u")).then(|| hex(7)).flatten();
    match low {
        Some(low @ 0xDC00..=0xDFFF) if high < 0xDC00 => {
            let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            Some((char::from_u32(code)?, 11))
        }
        _ => Some((char::REPLACEMENT_CHARACTER, 5)),
    }
}
