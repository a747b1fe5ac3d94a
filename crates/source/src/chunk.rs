// SPDX-License-Identifier: Apache-2.0
//! In: ranges of one source with a document each. Out: their trees and findings, redacted.
//! Not here: threads and the order of sources (`reader`), the syntax (`yaml`, `json`).

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::builder::{Builder, Refusal};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::findings::{Findings, Mark};
use crate::reader::ReadOptions;
use crate::redact::{Ranges, concerns, redact};
use crate::shape;
use crate::source_map::{SourceId, to_u32};
use crate::tree::Tree;
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
    text: &str,
    source: SourceId,
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
        read_chunk(&mut builder, chunk.clone(), options, allowance, &mut outcome);
    }
    options.parsed.add(outcome.documents.len());
    outcome.findings = builder.findings;
    outcome
}

fn read_chunk(
    builder: &mut Builder<'_>,
    chunk: Range<usize>,
    options: &ReadOptions,
    allowance: &Allowance,
    outcome: &mut Outcome,
) {
    let text = builder.text.get(chunk.clone()).unwrap_or("");
    let templated = text.contains("{{");
    builder.watch_for_templates(templated);
    let mark = builder.findings.mark();
    let mut taken = Taken { outcome, options, allowance, end: chunk.start, mark };
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
        None => match quick::parse(builder, chunk.clone()) {
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
    if let Some(at) = builder.seen_template() {
        outcome.template.get_or_insert(at);
    }
    let Some(refusal) = refusal else { return };
    builder.abandon();
    // What is doubtful in a document that is not there does not matter, and may not be quotable.
    builder.findings.forget(&mark);
    outcome.documents.push(None);
    let rest = builder.text.get(end..chunk.end).unwrap_or("");
    let action = if templated { shape::template_action(rest) } else { None };
    let secret = concerns(rest, &options.redactions);
    if let Some(at) = action {
        outcome.template.get_or_insert(to_u32(end + at));
    } else {
        outcome.errors.push(if secret { without_quotes(*refusal) } else { *refusal });
    }
    if secret {
        outcome.blanks.push((to_u32(end), to_u32(chunk.end)));
    }
}

fn is_syntax(refusal: &Refusal) -> bool {
    refusal.code == &codes::SYNTAX
}

/// Takes documents out of the parsers.
struct Taken<'a> {
    outcome: &'a mut Outcome,
    options: &'a ReadOptions,
    allowance: &'a Allowance,
    /// Where the last complete document ends.
    end: usize,
    /// What was found up to there.
    mark: Mark,
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
