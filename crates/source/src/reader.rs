// SPDX-License-Identifier: Apache-2.0
//! In: named bytes. Out: documents and diagnostics, in the order of the inputs whatever the number of threads.
//! Not here: files and folders (the caller brings bytes), the syntax (`yaml`, `json`), the meaning of documents.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::chunk::{Allowance, Outcome, read_chunks};
use crate::codes;
use crate::concern::Concerns;
use crate::diagnostic::Diagnostic;
use crate::document::{Document, Documents};
use crate::findings::Findings;
use crate::limits::Limits;
use crate::look;
use crate::passed::{Passed, Why};
use crate::piece::Piece;
use crate::redact::{self, Ranges, Redaction, blank};
use crate::source_map::{Source, SourceId, SourceMap, Span, to_u32};
use crate::split::split;
use crate::tree::Tree;

/// One text to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// What people call it: a path, `-`, a URL.
    pub name: Box<str>,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether nobody named it: it was found in a folder, and may be anything.
    pub found: bool,
}

impl Input {
    /// An input from its name and content.
    pub fn new(name: impl Into<Box<str>>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into(), found: false }
    }
}

/// How a mapping with the same key twice is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateKeys {
    /// It is an error and the document is dropped, as Kubernetes does in strict mode.
    #[default]
    Error,
    /// It is a warning and the last value counts.
    LastWins,
}

/// What the plain scalars `y`, `Y`, `n` and `N` are. YAML 1.1 and Kubernetes say booleans; many programs that write
/// YAML (PyYAML is one) leave them unquoted and mean text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SingleLetters {
    /// Booleans, as Kubernetes reads them.
    #[default]
    Booleans,
    /// Text, for files that no Kubernetes will read, such as policy tests.
    Text,
}

/// Counts documents as they are parsed, for whoever wants to know how often that happens. Copies count together; the
/// default counts nothing.
#[derive(Debug, Clone, Default)]
pub struct ParseCount(Option<Arc<AtomicUsize>>);

impl ParseCount {
    /// One that counts, from zero.
    pub fn counting() -> Self {
        Self(Some(Arc::default()))
    }

    /// How many documents were parsed so far.
    pub fn get(&self) -> usize {
        self.0.as_ref().map_or(0, |count| count.load(Ordering::Relaxed))
    }

    pub(crate) fn add(&self, documents: usize) {
        if let Some(count) = &self.0 {
            count.fetch_add(documents, Ordering::Relaxed);
        }
    }
}

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Bounds on size and depth.
    pub limits: Limits,
    /// How duplicate keys are read.
    pub duplicate_keys: DuplicateKeys,
    /// What `y` and `n` are.
    pub single_letters: SingleLetters,
    /// What must not be kept.
    pub redactions: Vec<Redaction>,
    /// Counts what is parsed.
    pub parsed: ParseCount,
    /// Which documents of texts that were found in a folder matter. Of others no more is read than who they are, and
    /// nothing is found wrong with them.
    pub concerns: Concerns,
}

/// What reading yields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Read {
    /// Everything that could be read.
    pub documents: Documents,
    /// Everything that could not, and what is doubtful, by input and place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads all inputs, in parallel. It never fails: what cannot be read becomes a diagnostic.
pub fn read(inputs: Vec<Input>, options: &ReadOptions) -> Read {
    read_with(inputs, options, &|_| ())
}

/// [`read`], telling `progress` how many bytes were just finished; called from several threads.
pub fn read_with(
    inputs: Vec<Input>,
    options: &ReadOptions,
    progress: &(dyn Fn(usize) + Sync),
) -> Read {
    let options = &ReadOptions { limits: options.limits.clamped(), ..options.clone() };
    let share = Share::of(&inputs);
    let mut texts: Vec<Text> = share.each(inputs, |input| decode(input, options));
    let most = options.limits.documents;
    let allowance = Allowance::new(most);
    let outcomes = {
        let sources: Vec<(u32, &Text)> = (0u32..).zip(&texts).collect();
        let batches = share.each(sources, |(source, text)| batches(SourceId(source), text));
        let batches: Vec<Batch<'_>> = batches.into_iter().flatten().collect();
        if batches.iter().map(|batch| batch.chunks.len()).fold(0, usize::saturating_add) > most {
            None
        } else {
            let outcomes = share.each(batches, |batch: Batch<'_>| {
                let of = (batch.text, batch.source, batch.concerns);
                let outcome = read_chunks(of, &batch.chunks, options, &allowance);
                progress(batch.bytes);
                (batch.source, outcome)
            });
            (!outcomes.iter().any(|(_, outcome)| outcome.too_many)).then_some(outcomes)
        }
    };
    let outcomes = outcomes.unwrap_or_else(|| {
        texts.iter_mut().for_each(|text| refuse(text, most));
        Vec::new()
    });
    assemble(texts, outcomes, share)
}

/// Of too many documents, none is read. A text that is refused anyway keeps its own reason, and the text that shows it.
fn refuse(text: &mut Text, most: usize) {
    if text.problem.is_some() {
        return;
    }
    let message = format!("there are more than {most} documents, the most that are read at once");
    let diagnostic = Diagnostic::new(&codes::LIMIT, message)
        .help("send them in several parts; none of them was read");
    // Nobody has looked for secrets in it.
    text.text = String::new();
    text.problem = Some(Problem { at: 0, diagnostic });
}

/// Whether work is shared out. Waking other threads takes longer than reading a few small files, and a process that reads
/// no more than that should not start any.
#[derive(Clone, Copy)]
enum Share {
    Alone,
    Threads,
}

impl Share {
    fn of(inputs: &[Input]) -> Self {
        let bytes: usize = inputs.iter().map(|input| input.bytes.len()).sum();
        if bytes <= BATCH { Self::Alone } else { Self::Threads }
    }

    /// The results of each, in order.
    fn each<T: Send, U: Send>(self, items: Vec<T>, work: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
        match self {
            Self::Alone => items.into_iter().map(work).collect(),
            Self::Threads => items.into_par_iter().map(work).collect(),
        }
    }
}

/// Reads one text.
pub fn read_one(name: &str, text: &str, options: &ReadOptions) -> Read {
    read(vec![Input::new(name, text)], options)
}

/// Reads one text, to be put together with others later: [`read`] of nothing else, taken apart.
pub fn read_piece(input: Input, options: &ReadOptions) -> Piece {
    if input.bytes.len() > BATCH {
        let pieces = read(vec![input], options).pieces();
        return pieces.into_iter().next().unwrap_or_default();
    }
    let options = &ReadOptions { limits: options.limits.clamped(), ..options.clone() };
    let (mut text, source) = (decode(input, options), SourceId(0));
    let (mut about, mut trees) = (Gathered::default(), Vec::new());
    about.passed.extend(text.passed());
    if text.problem.is_none() && text.passed.is_none() {
        let (chunks, most) = (split(&text.text), options.limits.documents);
        let allowance = Allowance::new(most);
        let all = chunks.get(..most.min(chunks.len())).unwrap_or_default();
        let outcome = read_chunks((&text.text, source, &text.concerns), all, options, &allowance);
        if outcome.too_many || all.len() < chunks.len() {
            refuse(&mut text, most);
        } else {
            trees.reserve_exact(outcome.documents.len());
            about.add(outcome, |index, tree| trees.push((index, Arc::new(tree))));
        }
    }
    let (source, diagnostics) = finish(source, text, about);
    Piece::new(source, trees, diagnostics)
}

/// An input that is text, or the reason why it is not.
struct Text {
    name: Box<str>,
    text: String,
    problem: Option<Problem>,
    concerns: Concerns,
    /// Why it is passed over as a whole.
    passed: Option<Why>,
}

/// Why nothing of an input is read: a finding whose place is still an offset.
struct Problem {
    at: usize,
    diagnostic: Diagnostic,
}

/// Documents that one thread reads in one go.
struct Batch<'t> {
    source: SourceId,
    text: &'t str,
    concerns: &'t Concerns,
    chunks: Vec<Range<usize>>,
    bytes: usize,
}

/// Bytes of a batch: large enough to make the work of handing it out small, small enough to share a file out.
const BATCH: usize = 256 << 10;

fn batches(source: SourceId, text: &Text) -> Vec<Batch<'_>> {
    if text.problem.is_some() || text.passed.is_some() {
        return Vec::new();
    }
    let (text, concerns) = (text.text.as_str(), &text.concerns);
    let mut batches: Vec<Batch<'_>> = Vec::new();
    for chunk in split(text) {
        match batches.last_mut() {
            Some(batch) if batch.bytes + chunk.len() <= BATCH => {
                batch.bytes += chunk.len();
                batch.chunks.push(chunk);
            }
            _ => {
                let bytes = chunk.len();
                batches.push(Batch { source, text, concerns, bytes, chunks: vec![chunk] });
            }
        }
    }
    batches
}

fn decode(input: Input, options: &ReadOptions) -> Text {
    let Input { name, mut bytes, found } = input;
    let concerns = if found { options.concerns.clone() } else { Concerns::default() };
    let limit = options.limits.source_bytes;
    if bytes.len() > limit {
        let message = format!("the text has {} bytes, more than the limit of {limit}", bytes.len());
        let diagnostic =
            Diagnostic::new(&codes::LIMIT, message).help("split the file; none of it was read");
        return Text::refused(name, &bytes, diagnostic, concerns);
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        let diagnostic = Diagnostic::new(&codes::NOT_UTF8, "the text is UTF-16, not UTF-8")
            .help("convert to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`");
        return Text::refused(name, &bytes, diagnostic, concerns);
    }
    if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) {
        bytes.drain(..3);
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            let passed = concerns.kinds().filter(|_| is_jsonnet(&name)).map(|kinds| {
                let ours = look::mentions(&text, kinds);
                Why::Template { ours }
            });
            Text { name, text, problem: None, concerns, passed }
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            let byte = bytes.get(at).copied().unwrap_or(0);
            let message = format!("the byte 0x{byte:02X} is not UTF-8");
            let diagnostic = Diagnostic::new(&codes::NOT_UTF8, message)
                .help("convert to UTF-8; none of this file was read");
            let refused = Text::refused(name, &bytes, diagnostic, concerns);
            let Some(problem) = refused.problem else { return refused };
            bytes.truncate(at);
            // What is before the bad byte is kept to show the place; it is valid, so that nothing is replaced.
            let mut text = String::from_utf8(bytes).unwrap_or_default();
            if redact::concerns(&text, &options.redactions) {
                let all = [(0, to_u32(text.len()))];
                text = blank(text, &all);
            }
            text.push(char::REPLACEMENT_CHARACTER);
            Text { text, problem: Some(Problem { at, ..problem }), ..refused }
        }
    }
}

impl Text {
    /// A text of which nothing is read. That matters only if it would be about something that concerns the reader.
    fn refused(name: Box<str>, bytes: &[u8], diagnostic: Diagnostic, concerns: Concerns) -> Self {
        let mentions = |kinds| {
            // UTF-16 has a zero beside each letter.
            let letters: Vec<u8> = bytes.iter().copied().filter(|b| *b != 0).collect();
            look::mentions(&String::from_utf8_lossy(&letters), kinds)
        };
        let foreign = concerns.kinds().is_some_and(|kinds| !mentions(kinds));
        let passed = foreign.then_some(Why::Unreadable);
        let problem = (!foreign).then_some(Problem { at: 0, diagnostic });
        Self { name, text: String::new(), problem, concerns, passed }
    }

    fn passed(&self) -> Option<Passed> {
        self.passed.map(|why| Passed { document: 0, at: 0, why })
    }
}

fn is_jsonnet(name: &str) -> bool {
    name.ends_with(".jsonnet") || name.ends_with(".libsonnet")
}

/// Everything about one source, before it gets its final form.
#[derive(Default)]
struct Gathered {
    findings: Findings,
    errors: Vec<Diagnostic>,
    template: Option<u32>,
    blanks: Ranges,
    /// How many documents it has so far, those included that could not be read.
    documents: u32,
    passed: Vec<Passed>,
}

impl Gathered {
    /// Adds the result of the next run of chunks; `keep` gets each document with its number.
    fn add(&mut self, outcome: Outcome, mut keep: impl FnMut(u32, Tree)) {
        let number = |p: Passed| Passed { document: self.documents + p.document, ..p };
        self.passed.extend(outcome.passed.into_iter().map(number));
        for tree in outcome.documents {
            if let Some(tree) = tree {
                keep(self.documents, tree);
            }
            self.documents += 1;
        }
        self.findings.append(outcome.findings);
        self.errors.extend(outcome.errors);
        self.blanks.extend(outcome.blanks);
        self.template = self.template.or(outcome.template);
    }
}

fn assemble(texts: Vec<Text>, outcomes: Vec<(SourceId, Outcome)>, share: Share) -> Read {
    let mut documents = Vec::with_capacity(outcomes.len());
    let gathered = |text: &Text| {
        let passed = text.passed().into_iter().collect();
        Gathered { passed, ..Gathered::default() }
    };
    let mut gathered: Vec<Gathered> = texts.iter().map(gathered).collect();
    for (source, outcome) in outcomes {
        let Some(about) = gathered.get_mut(source.0 as usize) else { continue };
        about.add(outcome, |index, tree| {
            documents.push(Document { source, index, tree: tree.into() });
        });
    }
    // Texts are blanked and their lines counted in parallel: for large files that is real work.
    let numbered = (0..).map(SourceId).zip(texts.into_iter().zip(gathered)).collect();
    let finished: Vec<(Source, Vec<Diagnostic>)> =
        share.each(numbered, |(source, (text, about))| finish(source, text, about));
    let mut sources = Vec::with_capacity(finished.len());
    let mut diagnostics = Vec::new();
    for (source, found) in finished {
        sources.push(Arc::new(source));
        diagnostics.extend(found);
    }
    Read { documents: Documents::new(SourceMap::new(sources), documents), diagnostics }
}

fn finish(source: SourceId, text: Text, about: Gathered) -> (Source, Vec<Diagnostic>) {
    let mut diagnostics = about.findings.finish();
    diagnostics.extend(about.errors);
    if let Some(problem) = text.problem {
        let at = to_u32(problem.at);
        let end = at.max(to_u32(text.text.len()));
        diagnostics.push(problem.diagnostic.at(Span { source, start: at, end }));
    }
    if let Some(at) = about.template {
        let message = "this looks like a Helm template, not a manifest";
        let help = "render it first: `helm template ... | overrule check -f -`";
        let span = Span { source, start: at, end: at + 2 };
        diagnostics.push(Diagnostic::new(&codes::HELM_TEMPLATE, message).at(span).help(help));
    }
    // By place; those at one place stay in the order they were found.
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.as_ref().map(|at| at.span.start));
    // Nobody will look at a text of which nothing was read.
    let unseen = diagnostics.is_empty()
        && !about.passed.is_empty()
        && about.passed.len() == (about.documents as usize).max(1)
        && about.passed.iter().all(|passed| !matches!(passed.why, Why::Template { ours: true }));
    let text_kept = if unseen { String::new() } else { blank(text.text, &about.blanks) };
    (Source::new(text.name, text_kept).passing(about.passed), diagnostics)
}
