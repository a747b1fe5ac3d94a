// SPDX-License-Identifier: Apache-2.0
//! In: the text of a source. Out: ranges that each hold at most one document, so that one bad document cannot hide
//! the next and a large source can be read by several threads.
//! Not here: parsing. Only lines that begin with `---`, `...`, `%` or `#` are looked at.
//!
//! This is safe because YAML lets neither a block scalar nor a quoted one contain such a line at column 0, and JSON
//! strings cannot contain line breaks at all.

use std::ops::Range;

/// Splits a text into ranges with one document each. Directives stay with the document they precede; the ranges cover
/// the text without gaps.
pub(crate) fn split(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut chunks = Vec::new();
    // A store has one document in most of its texts.
    if !bytes.is_empty() && !text.contains("---") && !text.contains("...") {
        chunks.push(0..bytes.len());
        return chunks;
    }
    let returns = memchr::memchr(b'\r', bytes).is_some();
    let mut start = 0;
    // Whether the current chunk has anything that belongs to a document, not only what may come before one.
    let mut begun = false;
    let mut at = 0;
    while at < bytes.len() {
        let line = bytes.get(at..).unwrap_or_default();
        let next = match returns {
            // Looking for one byte only is much faster, and almost no text has the other.
            false => memchr::memchr(b'\n', line).map_or(bytes.len(), |i| at + i + 1),
            true => at + line_length(line),
        };
        if begins(line, b"---") {
            if begun && start < at {
                chunks.push(start..at);
                start = at;
            }
            begun = true;
        } else if begins(line, b"...") {
            chunks.push(start..next);
            start = next;
            begun = false;
        } else if !begun {
            begun = !matches!(line.first(), Some(b'%' | b'#' | b'\n' | b'\r')) && !is_blank(line);
        }
        at = next;
    }
    if start < bytes.len() {
        chunks.push(start..bytes.len());
    }
    chunks
}

/// Whether the line starts with a marker that ends there or is followed by white space. A byte order mark may come
/// first: files that were joined have one in the middle.
fn begins(line: &[u8], marker: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    line.strip_prefix(marker)
        .is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\t' | b'\n' | b'\r')))
}

/// Length of the first line with its break: `\n`, `\r\n` or a lone `\r`.
fn line_length(bytes: &[u8]) -> usize {
    let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) else {
        return bytes.len();
    };
    let crlf = bytes.get(end) == Some(&b'\r') && bytes.get(end + 1) == Some(&b'\n');
    end + 1 + usize::from(crlf)
}

/// Whether the first line is blank or an indented comment.
fn is_blank(line: &[u8]) -> bool {
    let content = line.iter().find(|b| !matches!(b, b' ' | b'\t'));
    matches!(content, None | Some(b'\n' | b'\r' | b'#'))
}
