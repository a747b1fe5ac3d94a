// SPDX-License-Identifier: Apache-2.0
//! In: ranges of one source with a document each. Out: their trees and findings, redacted.
//! Not here: threads and the order of sources (`reader`), the syntax (`yaml`, `json`).

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::builder::{Builder, Refusal};
use crate::codes;
use crate::concern::{ConcernedKinds, Concerns};
use crate::diagnostic::Diagnostic;
use crate::findings::{Findings, Mark};
use crate::look::{Look, look, mentions};
use crate::passed::{Passed, Why};
use crate::reader::ReadOptions;
use crate::redact::{Ranges, concerns, redact};
use crate::shape;
use crate::source_map::{SourceId, to_u32};
use crate::tree::{Tree, TreeNodeId, View};
use crate::{json, quick, yaml};

/// What came of a run of chunks.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Every document that is not empty; none for one that cannot be read.
    pub(crate) documents: Vec<Option<Tree>>,
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) findings: Findings,
    /// What to blank in the source, in order.
    pub(crate) blanks: Ranges,
    /// The first Helm action.
    pub(crate) template: Option<u32>,
    /// Documents that were passed over, counted from the first of these.
    pub(crate) passed: Vec<Passed>,
    /// Whether there were more documents than may be read.
    pub(crate) too_many: bool,
}

/// How many documents may still be read, by all threads together.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: AtomicUsize,
    most: usize,
}

impl Allowance {
    pub(crate) fn new(most: usize) -> Self {
        Self { left: AtomicUsize::new(most), most }
    }

    /// Whether one more may be read.
    fn take(&self) -> bool {
        // Most readers have no limit, and need not tell each other.
        self.most == usize::MAX
            || self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .is_ok()
    }
}

/// Reads chunks one after the other, each on its own.
pub(crate) fn read_chunks(
    (text, source, concerns): (&str, SourceId, &Concerns),
    chunks: &[Range<usize>],
    options: &ReadOptions,
    allowance: &Allowance,
) -> Outcome {
    let mut builder = Builder::new(text, source, options);
    let mut outcome = Outcome::default();
    for chunk in chunks {
        if outcome.too_many {
            break;
        }
        let chunk = (chunk.clone(), concerns);
        read_chunk(&mut builder, chunk, options, allowance, &mut outcome);
    }
    options.parsed.add(outcome.documents.len());
    outcome.findings = builder.findings;
    outcome
}

fn read_chunk(
    builder: &mut Builder<'_>,
    (chunk, matters): (Range<usize>, &Concerns),
    options: &ReadOptions,
    allowance: &Allowance,
    outcome: &mut Outcome,
) {
    let text = builder.text.get(chunk.clone()).unwrap_or("");
    let look = matters.kinds().map_or(Look::Ours, |kinds| look(text, kinds));
    if look == Look::Other {
        if !allowance.take() {
            outcome.too_many = true;
            return;
        }
        outcome.pass(chunk.start, Why::NoResource);
        return;
    }
    let templated = text.contains("{{");
    builder.watch_for_templates(templated);
    let mark = builder.findings.mark();
    let mut taken = Taken { outcome, options, matters, allowance, end: chunk.start, mark, look };
    let refusal = match shape::json_start(text) {
        Some(offset) => {
            let range = chunk.start + offset..chunk.end;
            match json::parse(builder, range, |tree, end, b| taken.take(tree, end, end, b)) {
                Err(error) if is_syntax(&error) => {
                    // Flow style, a comment, a trailing comma: YAML may read what JSON does not. Only from the first
                    // value on, though: what several values in a row gave is not to be given twice.
                    if taken.end > chunk.start {
                        Some(error)
                    } else {
                        builder.findings.forget(&taken.mark);
                        let again = yaml::parse(builder, chunk.clone(), |tree, end, b| {
                            taken.take(tree, end, chunk.end, b);
                        });
                        let json = shape::is_json(text.get(offset..).unwrap_or(""));
                        again.err().map(|other| match json && is_syntax(&other) {
                            true => error,
                            false => other,
                        })
                    }
                }
                other => other.err(),
            }
        }
        None => match first_try(builder, chunk.clone(), look) {
            Some(tree) => {
                if let Some(tree) = tree {
                    taken.take(tree, chunk.end, chunk.end, builder);
                }
                None
            }
            None => {
                let all = chunk.end;
                let take = |tree, end, b: &mut Builder<'_>| taken.take(tree, end, all, b);
                yaml::parse(builder, chunk.clone(), take).err()
            }
        },
    };
    let Taken { end, mark, .. } = taken;
    // Who reads only what concerns them is told of templates folder by folder.
    if let Some(at) = builder.seen_template().filter(|_| matters.everything()) {
        outcome.template.get_or_insert(at);
    }
    let Some(refusal) = refusal else { return };
    builder.abandon();
    // What is doubtful in a document that is not there does not matter, and may not be quotable.
    builder.findings.forget(&mark);
    let rest = builder.text.get(end..chunk.end).unwrap_or("");
    let action = if templated { shape::template_action(rest) } else { None };
    let secret = concerns(rest, &options.redactions);
    if let Some(kinds) = matters.kinds()
        && let Some(why) = passed_over(rest, look, action.is_some(), kinds)
    {
        outcome.pass(end + action.unwrap_or(0), why);
    } else {
        outcome.documents.push(None);
        if let Some(at) = action {
            outcome.template.get_or_insert(to_u32(end + at));
        } else {
            outcome.errors.push(if secret { without_quotes(*refusal) } else { *refusal });
        }
    }
    if secret {
        outcome.blanks.push((to_u32(end), to_u32(chunk.end)));
    }
}

impl Outcome {
    fn pass(&mut self, at: usize, why: Why) {
        let document = to_u32(self.documents.len());
        self.passed.push(Passed { document, at: to_u32(at), why });
        self.documents.push(None);
    }
}

/// What reads nearly all documents in block style; none if the full parser must look.
fn first_try(builder: &mut Builder<'_>, chunk: Range<usize>, look: Look) -> Option<Option<Tree>> {
    match look {
        Look::Stranger { defines } => quick::identity(builder, chunk, defines),
        _ => quick::parse(builder, chunk),
    }
}

/// Why a document that cannot be read is passed over; none if that must be told.
fn passed_over(text: &str, look: Look, is_template: bool, kinds: &ConcernedKinds) -> Option<Why> {
    let ours = || mentions(text, kinds);
    match (is_template, look) {
        (true, Look::Ours | Look::Maybe) => Some(Why::Template { ours: true }),
        (true, _) => Some(Why::Template { ours: ours() }),
        (false, Look::Ours) => None,
        (false, Look::Maybe) => (!ours()).then_some(Why::Unreadable),
        (false, _) => Some(Why::Unreadable),
    }
}

fn is_syntax(refusal: &Refusal) -> bool {
    refusal.code == &codes::SYNTAX
}

/// Takes documents out of the parsers.
struct Taken<'a> {
    outcome: &'a mut Outcome,
    options: &'a ReadOptions,
    matters: &'a Concerns,
    allowance: &'a Allowance,
    /// Where the last complete document ends.
    end: usize,
    /// What was found up to there.
    mark: Mark,
    look: Look,
}

impl Taken<'_> {
    /// `end` is where the document ends, `owned` where the text ends that is nobody else's: comments may follow it.
    fn take(&mut self, tree: Tree, end: usize, owned: usize, builder: &mut Builder<'_>) {
        if !self.allowance.take() {
            self.outcome.too_many = true;
            return;
        }
        let (tree, blanks) = redact(tree, builder.text, owned, &self.options.redactions);
        if !blanks.is_empty() {
            builder.findings.redact(&blanks);
            self.outcome.blanks.extend(blanks);
        }
        let root = View::new(builder.text, &tree, SourceId(0), TreeNodeId(0));
        let ours = match self.look {
            Look::Ours => true,
            Look::Stranger { .. } => false,
            _ => self.matters.is_ours(root),
        };
        if !ours {
            builder.findings.forget(&self.mark);
        }
        self.outcome.documents.push(Some(tree));
        self.end = end;
        self.mark = builder.findings.mark();
    }
}

/// A message about a document that may not be quoted: the text in backticks is left out.
fn without_quotes(mut diagnostic: Diagnostic) -> Diagnostic {
    let quoted = diagnostic.message.split('`').enumerate();
    diagnostic.message = quoted.map(|(i, part)| if i % 2 == 0 { part } else { "`…`" }).collect();
    diagnostic.field = "".into();
    diagnostic
}
