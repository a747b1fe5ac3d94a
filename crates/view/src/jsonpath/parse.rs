// SPDX-License-Identifier: Apache-2.0
//! In: the text of a template. Out: the template, or where it cannot be read. Not here: using it.

use std::str::FromStr;

use super::{Comparison, Filter, JsonPath, JsonPathError, Key, Operand, Part, Path, Step};
use crate::v1;

/// Characters of a template, at most.
const LONGEST: usize = 8 * 1024;

/// Ranges in ranges, and filters in filters, at most.
const DEEPEST: usize = 16;

type Parsed<T> = Result<T, JsonPathError>;

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Parsed<Self> {
        let mut cursor = Cursor { chars: text.chars().collect(), at: 0, depth: 0 };
        if cursor.chars.len() > LONGEST {
            return Err(cursor.error(format!("a template has at most {LONGEST} characters")));
        }
        let bare = text.starts_with(['.', '$', '@', '[']) && !text.contains(['{', '}']);
        let parts = if bare { vec![Part::Path(cursor.path()?)] } else { cursor.template()? };
        if !cursor.is_done() {
            return Err(cursor.expected("`.`, `[` or the end"));
        }
        Ok(Self { source: text.to_owned(), parts })
    }
}

struct Cursor {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Cursor {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek();
        self.at += usize::from(found.is_some());
        found
    }

    fn is_done(&self) -> bool {
        self.at >= self.chars.len()
    }

    fn error(&self, message: impl Into<String>) -> JsonPathError {
        JsonPathError::Syntax { at: self.at + 1, message: message.into() }
    }

    fn expected(&self, what: &str) -> JsonPathError {
        let found = self.peek().map_or_else(|| "the end".to_owned(), |c| format!("`{c}`"));
        self.error(format!("expected {what}, found {found}"))
    }

    /// Whether this comes next; then it is behind us.
    fn take(&mut self, text: &str) -> bool {
        let comes = text.chars().enumerate().all(|(i, c)| self.chars.get(self.at + i) == Some(&c));
        if comes {
            self.at += text.chars().count();
        }
        comes
    }

    fn must(&mut self, text: &str) -> Parsed<()> {
        if self.take(text) { Ok(()) } else { Err(self.expected(&format!("`{text}`"))) }
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    /// Whether a word comes next that ends there.
    fn word(&mut self, word: &str) -> bool {
        let after = self.chars.get(self.at + word.len());
        let ends = after.is_none_or(|c| *c == '}' || c.is_whitespace());
        ends && self.take(word)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return Err(self.error(format!("nested more than {DEEPEST} deep")));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn template(&mut self) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        // The ranges that are open, each with what stands before it.
        let mut open: Vec<(Path, Vec<Part>)> = Vec::new();
        while !self.is_done() {
            let text = self.text();
            if !text.is_empty() {
                parts.push(Part::Text(text));
            }
            if self.is_done() {
                break;
            }
            self.must("{")?;
            self.spaces();
            if self.word("range") {
                if open.len() == DEEPEST {
                    return Err(self.error(format!("nested more than {DEEPEST} deep")));
                }
                self.spaces();
                open.push((self.path()?, std::mem::take(&mut parts)));
            } else if self.word("end") {
                let Some((path, before)) = open.pop() else {
                    return Err(self.error("`{end}` without `{range}`"));
                };
                let inner = std::mem::replace(&mut parts, before);
                parts.push(Part::Range(path, inner));
            } else if let Some('"' | '\'') = self.peek() {
                parts.push(Part::Text(self.string()?));
            } else {
                parts.push(Part::Path(self.path()?));
            }
            self.spaces();
            self.must("}")?;
        }
        match open.is_empty() {
            true => Ok(parts),
            false => Err(self.error("`{range}` without `{end}`")),
        }
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|c| *c != '{') {
            text.push(c);
            self.at += 1;
        }
        text
    }

    /// A text in quotes of either kind, with the usual escapes.
    fn string(&mut self) -> Parsed<String> {
        let begin = self.at;
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None => {
                    self.at = begin;
                    return Err(self.error("this quote is not closed"));
                }
                end if end == quote => return Ok(text),
                Some('\\') => match self.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(c) => text.push(c),
                    None => {}
                },
                Some(c) => text.push(c),
            }
        }
    }

    fn path(&mut self) -> Parsed<Path> {
        let mut path = Path { from_root: self.take("$"), steps: Vec::new() };
        if !path.from_root && !self.take("@") && !matches!(self.peek(), Some('.' | '[')) {
            return Err(
                self.expected("a path such as `.items[0]`, `range`, `end` or a text in quotes")
            );
        }
        loop {
            if self.take("..") {
                path.steps.push(Step::Descend);
                if self.peek() != Some('[') {
                    path.steps.push(self.member()?);
                }
            } else if self.take(".") {
                match self.peek() {
                    // `.` alone is the current item, and `.[0]` is `[0]`.
                    None | Some('}' | '[' | ']' | ')' | ' ') => {}
                    _ => path.steps.push(self.member()?),
                }
            } else if self.take("[") {
                path.steps.push(self.brackets()?);
                self.spaces();
                self.must("]")?;
            } else {
                return Ok(path);
            }
        }
    }

    /// A name, or `*`. A backslash makes a character part of it that would end it.
    fn member(&mut self) -> Parsed<Step> {
        if self.take("*") {
            return Ok(Step::Each);
        }
        let mut name = String::new();
        loop {
            match self.peek() {
                Some('\\') => {
                    self.at += 1;
                    name.extend(self.next());
                }
                Some(c) if !c.is_whitespace() && !".[]{}()=!<>,'\"".contains(c) => {
                    name.push(c);
                    self.at += 1;
                }
                _ if name.is_empty() => return Err(self.expected("a name")),
                _ => return Ok(Step::Keys(vec![Key::Name(name)])),
            }
        }
    }

    fn brackets(&mut self) -> Parsed<Step> {
        self.spaces();
        if self.take("*") {
            return Ok(Step::Each);
        }
        if self.take("?(") {
            let filter = self.deeper(Self::filter)?;
            self.spaces();
            self.must(")")?;
            return Ok(Step::Filter(filter));
        }
        let mut keys = Vec::new();
        loop {
            self.spaces();
            match self.peek() {
                Some('"' | '\'') => keys.push(Key::Name(self.string()?)),
                Some(':') if keys.is_empty() => return self.slice(None),
                _ => {
                    let index = self.number()?;
                    self.spaces();
                    if keys.is_empty() && self.peek() == Some(':') {
                        return self.slice(Some(index));
                    }
                    keys.push(Key::Index(index));
                }
            }
            self.spaces();
            if !self.take(",") {
                return Ok(Step::Keys(keys));
            }
        }
    }

    /// The rest of `from:to:stride`.
    fn slice(&mut self, from: Option<i64>) -> Parsed<Step> {
        self.must(":")?;
        let bound = |cursor: &mut Self| {
            cursor.spaces();
            let given = cursor.peek().is_some_and(|c| c == '-' || c.is_ascii_digit());
            given.then(|| cursor.number()).transpose()
        };
        let to = bound(self)?;
        self.spaces();
        let stride = if self.take(":") { bound(self)?.unwrap_or(1) } else { 1 };
        match usize::try_from(stride) {
            Ok(stride @ 1..) => Ok(Step::Slice(from, to, stride)),
            _ => Err(self.error("the stride of a slice is 1 or more")),
        }
    }

    fn number(&mut self) -> Parsed<i64> {
        let begin = self.at;
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|c| *c == '-' || c.is_ascii_digit()) {
            text.push(c);
            self.at += 1;
        }
        let Ok(number) = text.parse() else {
            self.at = begin;
            return Err(self.expected("a number, a name in quotes, `*` or `?(`"));
        };
        Ok(number)
    }

    fn filter(&mut self) -> Parsed<Filter> {
        let left = self.operand()?;
        self.spaces();
        // Longer ones first.
        let all = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let found = all.into_iter().find(|(sign, _)| self.take(sign));
        let right = found.map(|(_, comparison)| Ok((comparison, self.operand()?))).transpose()?;
        Ok(Filter { left, right })
    }

    fn operand(&mut self) -> Parsed<Operand> {
        self.spaces();
        match self.peek() {
            Some('@' | '$' | '.') => Ok(Operand::Path(self.path()?)),
            Some('"' | '\'') => Ok(Operand::Value(v1::Value::String(self.string()?))),
            _ => {
                let begin = self.at;
                let mut text = String::new();
                while let Some(c) =
                    self.peek().filter(|c| c.is_alphanumeric() || "+-.".contains(*c))
                {
                    text.push(c);
                    self.at += 1;
                }
                // A number, true, false or null.
                let Ok(value) = serde_json::from_str::<v1::Value>(&text) else {
                    self.at = begin;
                    let wanted = "`@`, a text in quotes, a number, true, false or null";
                    return Err(self.expected(wanted));
                };
                Ok(Operand::Value(value))
            }
        }
    }
}
