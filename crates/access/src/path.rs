// SPDX-License-Identifier: Apache-2.0
//! In: the path of a request as the proxy took it. Out: the path that rules are compared with, or why the proxy refuses
//! the request. Not here: what it takes (`wire`), comparing.
//!
//! The connection manager we emit has `normalize_path`, `merge_slashes` and
//! `path_with_escaped_slashes_action: REJECT_REQUEST`. What it makes of a path was measured on Envoy 1.40.0
//! (`tests/data/paths.tsv` is a part of these measurements). The steps, in this order:
//!
//! 1. The query is set aside: what follows the first `?` is not touched, and not compared.
//! 2. `%2F` and `%5C`, in either case, are refused.
//! 3. `;` and what follows it is cut from the segments `.;…` and `..;…`, if their dots are plain.
//! 4. `\` becomes `/`. Letters, digits, `-`, `_` and `~` are decoded; other escapes stay as they are, in their case; `%00`
//!    is refused; `"`, `<`, `>`, `^`, `` ` ``, `{`, `|`, `}` and bytes outside ASCII are encoded. A `%` that begins no escape
//!    stays, or becomes `%25` if decoding what follows would make it one.
//! 5. `.` and `..`, also as `%2e`, are resolved; `..` at the root stays there.
//! 6. Slashes that follow each other become one; but a path of slashes only becomes `//`.
//!
//! One round is not always the last: `/a/%2e%2e;/b` becomes `/a/..;/b`, because step 3 sees plain dots only. A server that
//! cuts parameters reads that as `/b`. So the filters we emit refuse a path that still has such a segment.

use std::borrow::Cow;

use crate::wire::{Http, target};

/// Why the proxy rejects a request before it evaluates any rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rejected {
    /// It is not a path, and not a URL with one.
    Target,
    /// It is a URL, which only HTTP/1.1 has for a path.
    Absolute,
    /// It has a byte that must not be there.
    Byte,
    /// It has a byte outside ASCII, which only HTTP/2 may have.
    NotAscii,
    /// It has a fragment.
    Fragment,
    /// It has an escaped slash.
    EscapedSlash,
    /// It has an escaped NUL.
    EscapedNul,
    /// It has a segment of dots with a parameter. Refused by the filter.
    Dots,
    /// It is a CONNECT, which has no path, where rules ask for one. Refused by the filter.
    NoPath,
    /// The proxy does not know the method.
    Method,
}

impl Rejected {
    /// Whether the proxy refuses it only where rules compare paths.
    pub fn is_by_rules(self) -> bool {
        matches!(self, Self::EscapedSlash | Self::EscapedNul) || self.is_by_filter()
    }

    /// Whether it is the filter that refuses, and not the proxy before it.
    pub fn is_by_filter(self) -> bool {
        matches!(self, Self::Dots | Self::NoPath)
    }
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Target => "its path does not begin with a slash",
            Self::Absolute => "HTTP/2 takes no address for a path",
            Self::Byte => "its path has a space or a control",
            Self::NotAscii => "HTTP/1.1 takes no characters outside ASCII in a path or query",
            Self::Fragment => "its path has a fragment",
            Self::EscapedSlash => "its path has an escaped slash",
            Self::EscapedNul => "its path has an escaped NUL",
            Self::Dots => "its path has a segment of dots with a parameter",
            Self::NoPath => "a CONNECT has no path, and permissions ask for one",
            Self::Method => "this version of HTTP does not have the method",
        })
    }
}

impl std::error::Error for Rejected {}

/// The path that rules are compared with, for a target of HTTP/1.1.
///
/// # Errors
/// The proxy refuses it.
pub fn normalise(raw: &str) -> Result<Cow<'_, str>, Rejected> {
    normalise_over(raw, Http::One)
}

/// The path that rules are compared with.
///
/// # Errors
/// The proxy refuses it.
pub fn normalise_over(raw: &str, http: Http) -> Result<Cow<'_, str>, Rejected> {
    canonical(target(raw, http)?)
}

/// The path that rules are compared with, of a target that the proxy takes.
pub(crate) fn canonical(target: &str) -> Result<Cow<'_, str>, Rejected> {
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    if is_normal(path.as_bytes()) {
        return Ok(Cow::Borrowed(path));
    }
    if has_escaped_slash(path.as_bytes()) {
        return Err(Rejected::EscapedSlash);
    }
    let cut = without_parameters(path.as_bytes());
    let mut canonical = Canonical::default();
    canonical.read(&cut)?;
    let merged = merge_slashes(canonical.out);
    if has_dots(&merged) {
        return Err(Rejected::Dots);
    }
    // Everything outside ASCII was encoded, so this is text.
    String::from_utf8(merged).map(Cow::Owned).or(Err(Rejected::Byte))
}

/// Whether a segment is dots and a parameter.
fn has_dots(path: &[u8]) -> bool {
    path.split(|b| *b == b'/').any(|segment| {
        let rest = segment.strip_prefix(b".").map(|rest| rest.strip_prefix(b".").unwrap_or(rest));
        matches!(rest, Some([b';', ..] | [b'%', b'3', b'b' | b'B', ..]))
    })
}

/// Whether no step changes it, seen without building anything. A dot anywhere is looked at closely.
fn is_normal(path: &[u8]) -> bool {
    let plain = |b: &u8| !matches!(b, b'%' | b'.' | b'\\') && !is_encoded(*b);
    path.iter().all(plain) && !path.windows(2).any(|pair| pair == b"//")
}

/// Bytes that must not stay plain.
fn is_encoded(byte: u8) -> bool {
    matches!(byte, b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'|' | b'}' | 0x80..)
}

/// Bytes that must not stay encoded.
fn is_decoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~')
}

/// Step 2.
fn has_escaped_slash(path: &[u8]) -> bool {
    path.windows(3).any(|w| matches!(w, [b'%', b'2', b'f' | b'F'] | [b'%', b'5', b'c' | b'C']))
}

/// Step 3.
fn without_parameters(path: &[u8]) -> Cow<'_, [u8]> {
    fn cut(segment: &[u8]) -> &[u8] {
        match segment {
            [b'.', b';', ..] => b".",
            [b'.', b'.', b';', ..] => b"..",
            _ => segment,
        }
    }
    let segments = || path.split(|b| *b == b'/');
    if segments().all(|segment| cut(segment).len() == segment.len()) {
        return Cow::Borrowed(path);
    }
    Cow::Owned(segments().map(cut).collect::<Vec<_>>().join(&b'/'))
}

/// Step 6.
fn merge_slashes(path: Vec<u8>) -> Vec<u8> {
    if !path.windows(2).any(|pair| pair == b"//") {
        return path;
    }
    let segments = path.split(|b| *b == b'/').filter(|segment| !segment.is_empty());
    let mut out = vec![b'/'];
    out.extend(segments.collect::<Vec<_>>().join(&b'/'));
    if path.ends_with(b"/") {
        out.push(b'/');
    }
    out
}

/// How long the dot is that this begins with, if it does.
fn dot(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'.', ..] => Some(1),
        [b'%', b'2', b'e' | b'E', ..] => Some(3),
        _ => None,
    }
}

/// What the two digits of an escape mean.
pub(crate) fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// What one or two dots after a slash are.
enum Dots<'a> {
    /// This directory; then the rest.
    Here(&'a [u8]),
    /// The one above.
    Up(&'a [u8]),
    /// The beginning of a name.
    Name,
}

/// Steps 4 and 5.
#[derive(Default)]
struct Canonical {
    out: Vec<u8>,
    /// Where the last `%` is that began no escape.
    stray: Option<usize>,
}

impl Canonical {
    fn read(&mut self, path: &[u8]) -> Result<(), Rejected> {
        let mut rest = path;
        while let Some((byte, after)) = rest.split_first() {
            rest = if let Some(len) = dot(rest) {
                self.dot(rest.get(len..).unwrap_or_default())
            } else if *byte == b'%' {
                self.percent(after)?
            } else {
                self.plain(*byte);
                after
            };
        }
        Ok(())
    }

    fn plain(&mut self, byte: u8) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let digit = |n: u8| DIGITS.get(usize::from(n)).copied().unwrap_or(b'0');
        match byte {
            b'\\' => self.out.push(b'/'),
            b if is_encoded(b) => self.out.extend([b'%', digit(b >> 4), digit(b & 15)]),
            b => self.out.push(b),
        }
    }

    /// A dot was read; this is what follows it. Returns what is left to read.
    fn dot<'a>(&mut self, after: &'a [u8]) -> &'a [u8] {
        let dots = if self.out.ends_with(b"/") { classify(after) } else { Dots::Name };
        match dots {
            Dots::Here(rest) => rest,
            Dots::Up(rest) => {
                self.up();
                rest
            }
            Dots::Name => {
                self.out.push(b'.');
                after
            }
        }
    }

    /// Drops the last directory. What was written ends with a slash, and does so again.
    fn up(&mut self) {
        if self.out.len() > 1 {
            self.out.pop();
            let slash = self.out.iter().rposition(|b| *b == b'/');
            self.out.truncate(slash.map_or(1, |at| at + 1));
        }
    }

    /// A `%` was read that begins no dot; this is what follows it. Returns what is left to read.
    fn percent<'a>(&mut self, after: &'a [u8]) -> Result<&'a [u8], Rejected> {
        let escape = match after {
            [high, low, rest @ ..] => hex(*high, *low).map(|byte| (byte, *high, *low, rest)),
            _ => None,
        };
        let Some((byte, high, low, rest)) = escape else {
            self.stray = Some(self.out.len());
            self.out.push(b'%');
            return Ok(after);
        };
        match byte {
            0 => return Err(Rejected::EscapedNul),
            b if is_decoded(b) => {
                self.out.push(b);
                self.defuse(rest);
            }
            _ => self.out.extend([b'%', high, low]),
        }
        Ok(rest)
    }

    /// A byte was decoded shortly after a stray `%`: if the two become an escape now, or with the next byte, that `%` is
    /// encoded.
    fn defuse(&mut self, rest: &[u8]) {
        let Some(stray) = self.stray else { return };
        let becomes = match (self.out.get(stray..), rest.first()) {
            (Some([b'%', high]), Some(low)) => hex(*high, *low),
            (Some([b'%', high, low]), _) => hex(*high, *low),
            _ => None,
        };
        if becomes.is_some() {
            self.out.splice(stray + 1..stray + 1, *b"25");
        }
    }
}

/// What the dot before this is, if a slash is before it.
fn classify(after: &[u8]) -> Dots<'_> {
    match after {
        [] => return Dots::Here(after),
        [b'/' | b'\\', rest @ ..] => return Dots::Here(rest),
        _ => {}
    }
    match dot(after).and_then(|len| after.get(len..)) {
        Some([]) => Dots::Up(&[]),
        Some([b'/' | b'\\', rest @ ..]) => Dots::Up(rest),
        _ => Dots::Name,
    }
}
