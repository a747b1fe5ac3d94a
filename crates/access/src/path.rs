// SPDX-License-Identifier: Apache-2.0
//! In: the path of a request as it came. Out: the path that rules are compared with, or why the proxy refuses the
//! request. Not here: comparing.
//!
//! The connection manager we emit has `normalize_path`, `merge_slashes` and
//! `path_with_escaped_slashes_action: REJECT_REQUEST`. What it makes of a path was measured on Envoy 1.40.0 over HTTP/1.1
//! (`tests/data/paths.tsv` is a part of these measurements). The steps, in this order:
//!
//! 1. A target in absolute form (`http://host/a`) is reduced to its path; anything else must begin with `/`.
//! 2. Controls, spaces, bytes outside ASCII and `#` are refused, in the query too.
//! 3. The query is set aside: what follows the first `?` is not touched, and not compared.
//! 4. `%2F` and `%5C`, in either case, are refused.
//! 5. `;` and what follows it is cut from the segments `.;…` and `..;…`, if their dots are plain.
//! 6. `\` becomes `/`. Letters, digits, `-`, `_` and `~` are decoded; other escapes stay as they are, in their case; `%00`
//!    is refused; `"`, `<`, `>`, `^`, `` ` ``, `{`, `|` and `}` are encoded. A `%` that begins no escape stays, or becomes
//!    `%25` if decoding what follows would make it one.
//! 7. `.` and `..`, also as `%2e`, are resolved; `..` at the root stays there.
//! 8. Slashes that follow each other become one; but a path of slashes only becomes `//`.
//!
//! One round is not always the last: `/a/%2e%2e;/b` becomes `/a/..;/b`, because step 5 sees plain dots only, and that would
//! become `/b`. The proxy does one round, and so does this. Without such segments the result stays as it is.

use std::borrow::Cow;

/// Why the proxy rejects a request before it evaluates any rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rejected {
    /// It is not a path, and not a URL with one.
    Target,
    /// It has a byte that must not be there.
    Byte,
    /// It has a fragment.
    Fragment,
    /// It has an escaped slash or backslash.
    EscapedSlash,
    /// It has an escaped NUL.
    EscapedNul,
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Target => "it does not begin with a slash",
            Self::Byte => "it has a space, a control or a character outside ASCII",
            Self::Fragment => "it has a fragment",
            Self::EscapedSlash => "it has an escaped slash",
            Self::EscapedNul => "it has an escaped NUL",
        })
    }
}

impl std::error::Error for Rejected {}

/// The path that rules are compared with.
///
/// # Errors
/// The proxy answers 400, or 404 for an address without a path but with a query.
pub fn normalise(raw: &str) -> Result<Cow<'_, str>, Rejected> {
    let target = origin(raw)?;
    for byte in target.bytes() {
        match byte {
            b'#' => return Err(Rejected::Fragment),
            0x21..=0x7e => {}
            _ => return Err(Rejected::Byte),
        }
    }
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
    // Only ASCII went in, so this is text.
    String::from_utf8(merged).map(Cow::Owned).or(Err(Rejected::Byte))
}

/// Step 1.
fn origin(raw: &str) -> Result<&str, Rejected> {
    if raw.starts_with('/') {
        return Ok(raw);
    }
    let (scheme, rest) = raw.split_once("://").ok_or(Rejected::Target)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(Rejected::Target);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).ok_or(Rejected::Target)?;
    if !is_authority(authority) {
        return Err(Rejected::Target);
    }
    match path.bytes().next() {
        None => Ok("/"),
        Some(b'/') => Ok(path),
        Some(_) => Err(Rejected::Target),
    }
}

/// Whether it names a host, and a port if it has a colon.
fn is_authority(text: &str) -> bool {
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let known = |b: u8| b.is_ascii_alphanumeric() || b"-._~:[]".contains(&b);
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    !name.is_empty() && host.bytes().all(known) && port.is_none_or(|p| p.parse::<u16>().is_ok())
}

/// Whether no step changes it, seen without building anything. A dot anywhere is looked at closely.
fn is_normal(path: &[u8]) -> bool {
    let plain = |b: &u8| !matches!(b, b'%' | b'.' | b'\\') && !is_encoded(*b);
    path.iter().all(plain) && !path.windows(2).any(|pair| pair == b"//")
}

/// Bytes that must not stay plain.
fn is_encoded(byte: u8) -> bool {
    matches!(byte, b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// Bytes that must not stay encoded.
fn is_decoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~')
}

/// Step 4.
fn has_escaped_slash(path: &[u8]) -> bool {
    path.windows(3).any(|w| matches!(w, [b'%', b'2', b'f' | b'F'] | [b'%', b'5', b'c' | b'C']))
}

/// Step 5.
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

/// Step 8.
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
fn hex(high: u8, low: u8) -> Option<u8> {
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

/// Steps 6 and 7.
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
