// SPDX-License-Identifier: Apache-2.0
//! In: a text of several documents, as it was read. Out: one of them as a text of its own, without reading it again.
//! Not here: several texts put together (`piece`).
//!
//! What a document says does not depend on those before it, but how its text is cut out may change it: the indentation of
//! the first line is lost, and blank lines at the end count for a block scalar. Such documents are not cut out here; who
//! wants them reads their text.

use std::ops::Range;
use std::sync::Arc;

use crate::document::{DocId, Documents};
use crate::piece::Piece;
use crate::reader::Read;
use crate::source_map::{Source, to_u32};
use crate::tree::{NodeKind, Tree};

/// With more findings than these, some of a document may have been left out in favour of one that counts them.
const FEW_FINDINGS: usize = 19;

impl Documents {
    /// Where the text of a document stands in its source, from its first key to the end of the line of its last value.
    pub fn range_of(&self, doc: DocId) -> Option<Range<usize>> {
        let span = self.root(doc).span();
        let text = self.sources.get(span.source)?.text();
        let (start, end) = (usize::try_from(span.start).ok()?, usize::try_from(span.end).ok()?);
        // Lines are kept whole, so that nothing behind the last value is cut in two.
        let rest = text.get(end..)?;
        let line = rest.find('\n').map_or(rest.len(), |i| i + 1);
        let tail = rest.get(..line)?.trim();
        let whole = tail.is_empty() || tail.starts_with('#');
        let range = start..if whole { end + line } else { end };
        text.get(range.clone()).is_some().then_some(range)
    }
}

impl Read {
    /// A part of a text that is one document, as [`read_piece`](crate::read_piece) would give it. None where reading that
    /// part could give something else.
    pub fn cut(&self, doc: DocId, range: Range<usize>, name: &str) -> Option<Piece> {
        let document = self.documents.get(doc)?;
        let whole = self.documents.sources.get(document.source)?.text();
        let text = whole.get(range.clone())?;
        let found = |d: &crate::Diagnostic| {
            let at = d.primary.as_ref().map(|label| label.span);
            at.is_none_or(|at| at.source == document.source && range.contains(&(at.start as usize)))
        };
        let sound = self.diagnostics.len() <= FEW_FINDINGS
            && !self.diagnostics.iter().any(found)
            && !text.contains('\r')
            // That a text is a template is told once, at the first place that looks like one.
            && !text.contains("{{")
            && nothing_follows(whole.get(range.end..)?, text)
            && stands_alone(whole.get(..range.start)?, text)
            && !ends_in_block(&document.tree, whole, range.end)?;
        if !sound {
            return None;
        }
        let tree = match range.start {
            0 => Arc::clone(&document.tree),
            start => Arc::new(document.tree.moved(to_u32(start))?),
        };
        let fits = tree.nodes().iter().all(|node| node.end <= to_u32(text.len()));
        fits.then(|| Piece::new(Source::new(name, text), vec![(0, tree)], Vec::new()))
    }
}

/// Whether a line is not cut in two: a tag of an empty value stands behind its end.
fn nothing_follows(after: &str, text: &str) -> bool {
    let rest = after.lines().next().unwrap_or("").trim();
    text.ends_with('\n') || rest.is_empty() || rest.starts_with('#')
}

/// Whether nothing before a document has a part in it: a directive, an anchor, the indentation of its first line.
fn stands_alone(before: &str, text: &str) -> bool {
    let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
    let marker = |line: &str| line.strip_prefix("---").is_some_and(|rest| rest.trim().is_empty());
    if !(line.is_empty() || marker(line) && text.starts_with('{')) {
        return false;
    }
    let mut marked = !line.is_empty();
    for line in above.rsplit('\n') {
        if line.contains('\r') || line.starts_with('%') {
            return false;
        }
        let nothing = line.trim().is_empty() || line.trim_start().starts_with('#');
        match nothing {
            true => {}
            false if !marked && marker(line) => marked = true,
            // The document before, which a marker ended.
            false => return marked || line.trim_end() == "...",
        }
    }
    true
}

/// Whether the last value is, or may be, a block scalar: what it says depends on the lines after it.
fn ends_in_block(tree: &Tree, whole: &str, end: usize) -> Option<bool> {
    let before = tree.nodes().iter().rev().nth(1)?;
    let start = match before.kind() {
        NodeKind::Map | NodeKind::List => before.start,
        _ => before.end,
    };
    Some(whole.get(start as usize..end)?.contains(['|', '>']))
}
