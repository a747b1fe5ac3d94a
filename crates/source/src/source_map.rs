// SPDX-License-Identifier: Apache-2.0
//! In: names and texts. Out: ids, spans, and the line and column a person looks for.
//! Not here: parsing. This is the only place that knows how a source is called.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::cow_vec::CowVec;
use crate::passed::Passed;

/// One text that was read: a file, standard input, a request body.
#[derive(Debug, Clone, Default)]
pub struct Source {
    name: Box<str>,
    text: Box<str>,
    /// Where lines and characters are; found when that is first asked, as it is of few texts.
    places: OnceLock<Places>,
    passed: Box<[Passed]>,
}

#[derive(Debug, Clone)]
struct Places {
    /// Byte offset at which each line starts; the first is 0.
    lines: Box<[u32]>,
    /// How many bytes before each multiple of [`STRIDE`] do not begin a character; empty if the text is ASCII.
    /// It makes columns cheap also in a line of many megabytes.
    inner: Box<[u32]>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text, &self.passed) == (&other.name, &other.text, &other.passed)
    }
}

impl Eq for Source {}

/// Distance of the entries of [`Source::inner`].
const STRIDE: usize = 1024;

/// Index of a [`Source`] in its [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A byte range of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text the range is in.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Where a span starts, as editors count: line and column from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Name of the source as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Source {
    /// A source from its name and text. Texts are under 4 GiB: the reader refuses larger ones.
    pub fn new(name: impl Into<Box<str>>, text: impl Into<Box<str>>) -> Self {
        let (name, text) = (name.into(), text.into());
        Self { name, text, places: OnceLock::new(), passed: Box::default() }
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let (lines, inner) = (line_starts(&self.text), inner_bytes(&self.text));
            Places { lines, inner }
        })
    }

    /// The same with documents that were passed over.
    pub(crate) fn passing(self, passed: Vec<Passed>) -> Self {
        Self { passed: passed.into(), ..self }
    }

    /// Documents of this text that were passed over, in order.
    pub fn passed(&self) -> &[Passed] {
        &self.passed
    }

    /// The name it was given, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn rename(&mut self, name: Box<str>) {
        self.name = name;
    }

    /// The text as it was read (redacted ranges blanked).
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line (from 1) and column in characters (from 1) of a byte offset.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let lines = &self.places().lines;
        let line = lines.partition_point(|&start| start <= offset).max(1);
        let start = lines.get(line - 1).copied().unwrap_or(0);
        let offset = offset.min(to_u32(self.text.len())).max(start);
        let inner = self.inner_before(offset).saturating_sub(self.inner_before(start));
        (to_u32(line), (offset - start).saturating_sub(inner) + 1)
    }

    fn inner_before(&self, offset: u32) -> u32 {
        let offset = offset as usize;
        let Some(known) = self.places().inner.get(offset / STRIDE) else { return 0 };
        let near = self.text.as_bytes().get(offset / STRIDE * STRIDE..offset).unwrap_or_default();
        known + to_u32(near.iter().filter(|b| is_inner(**b)).count())
    }

    /// The text of one line (from 1), without its line end.
    pub fn line(&self, line: u32) -> &str {
        let at = |i: u32| self.places().lines.get(i as usize).map(|&o| o as usize);
        let start = at(line.saturating_sub(1)).unwrap_or(self.text.len());
        let end = at(line).unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

/// Lines end with `\n`, `\r\n` or a lone `\r`, as YAML has it.
fn line_starts(text: &str) -> Box<[u32]> {
    let bytes = text.as_bytes();
    let mut starts = Vec::new();
    match memchr::memchr(b'\r', bytes) {
        // Searching for one byte is several times faster than looking for two, and almost no text has the other.
        None => {
            // Counted first: there are many texts, and room that is made bit by bit is dear.
            starts.reserve_exact(memchr::memchr_iter(b'\n', bytes).count() + 1);
            starts.push(0);
            starts.extend(memchr::memchr_iter(b'\n', bytes).map(|i| to_u32(i + 1)));
        }
        Some(_) => {
            let ends =
                |i: &usize| bytes.get(*i) == Some(&b'\n') || bytes.get(i + 1) != Some(&b'\n');
            starts.push(0);
            let breaks = memchr::memchr2_iter(b'\n', b'\r', bytes).filter(ends);
            starts.extend(breaks.map(|i| to_u32(i + 1)));
        }
    }
    starts.into()
}

fn is_inner(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn inner_bytes(text: &str) -> Box<[u32]> {
    if text.is_ascii() {
        return Box::default();
    }
    let mut sum = 0;
    let blocks = text.as_bytes().chunks(STRIDE).map(|block| {
        let before = sum;
        sum += to_u32(block.iter().filter(|b| is_inner(**b)).count());
        before
    });
    // One more, for the offset at the very end.
    let mut all: Vec<u32> = blocks.collect();
    all.push(sum);
    all.into()
}

pub(crate) fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// All texts of one reading, in the order they were given. A text may be part of several readings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceMap {
    sources: CowVec<Arc<Source>>,
}

impl SourceMap {
    /// Adds a source and returns its id.
    pub fn add(&mut self, source: impl Into<Arc<Source>>) -> SourceId {
        let id = SourceId(to_u32(self.sources.len()));
        self.sources.edit().push(source.into());
        id
    }

    /// All texts, in their order.
    pub(crate) fn new(sources: Vec<Arc<Source>>) -> Self {
        Self { sources: sources.into() }
    }

    /// The one text of this name, if texts are in the order of their names.
    pub fn only(&self, name: &str) -> Option<SourceId> {
        let is = |at: usize| self.sources.get(at).is_some_and(|source| source.name() == name);
        let at = self.sources.partition_point(|source| source.name() < name);
        (is(at) && !is(at + 1)).then(|| SourceId(to_u32(at)))
    }

    pub(crate) fn remove_last(&mut self) {
        self.sources.edit().pop();
    }

    pub(crate) fn compact(&mut self) {
        self.sources.compact();
    }

    /// Another text in the place of one.
    pub(crate) fn set(&mut self, id: SourceId, source: Arc<Source>) {
        self.sources.set(id.0 as usize, source);
    }

    /// The source of an id this map handed out.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize).map(|source| &**source)
    }

    /// Every source, to stand in another map too.
    pub(crate) fn shared(&self) -> impl Iterator<Item = Arc<Source>> {
        self.sources.iter().cloned()
    }

    /// Every source with its id.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.sources.iter().enumerate().map(|(i, s)| (SourceId(to_u32(i)), &**s))
    }

    /// How many sources there are.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// File, line and column at which a span starts.
    pub fn position(&self, span: Span) -> Position {
        match self.get(span.source) {
            Some(source) => {
                let (line, column) = source.line_column(span.start);
                Position { file: source.name().to_owned(), line, column }
            }
            None => Position { file: "<unknown>".to_owned(), line: 1, column: 1 },
        }
    }
}
