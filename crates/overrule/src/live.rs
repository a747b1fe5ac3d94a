// SPDX-License-Identifier: Apache-2.0
//! In: texts that come, change and go. Out: the analysis of what is there now, made of the one before where that is
//! possible. Not here: files, stores, threads.
//!
//! ```text
//! edits ──► read what changed ──► only what policies say? ─ yes ─► the analysis before, with the ladders of these
//!                                          │                       policies folded again; everything else is shared
//!                                          no
//!                                          ▼
//!                                 the whole pipeline, on the texts as they were read
//! ```
//!
//! There is one kind of answer: an [`Analysis`] of everything, findings included, that never changes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overrule_model::Created;
use overrule_source::{Input, Piece, Read, ReadOptions};

use crate::patch::NewText;
use crate::{Analysis, Assume, Options};

/// If more texts than this change at once, everything is resolved.
const FEW_TEXTS: usize = 64;

/// A text, with what its keeper knows about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedText {
    /// Its unique key, whatever its name is.
    pub key: Box<str>,
    /// Its name, as findings and origins show it, and its content.
    pub input: Input,
    /// When its resources were created, if they do not say it themselves.
    pub created: Option<Created>,
}

/// A text that comes, changes, or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// It exists, with this text.
    Put(KeyedText),
    /// The same, read already with the options of the workspace.
    PutRead {
        /// What tells it apart from all others.
        key: Box<str>,
        /// Its text as it was read.
        piece: Piece,
        /// When its resources were created, if they do not say it themselves.
        created: Option<Created>,
    },
    /// The text with this key no longer exists.
    Remove(Box<str>),
}

/// Texts that change, and their analysis. There is one writer at a time; readers keep the analyses it returns.
#[derive(Debug)]
pub struct Workspace {
    options: Options,
    reading: ReadOptions,
    texts: BTreeMap<Box<str>, Kept>,
    analysis: Arc<Analysis>,
}

/// A text as it was read.
#[derive(Debug)]
struct Kept {
    piece: Piece,
    created: Option<Created>,
}

impl Workspace {
    /// Reads and resolves everything. Of two texts with one key the last counts.
    pub fn new(texts: Vec<KeyedText>, options: Options) -> Self {
        let reading = options.reading();
        let (inputs, known): (Vec<Input>, Vec<_>) =
            texts.into_iter().map(|t| (t.input, (t.key, t.created))).unzip();
        let pieces = overrule_source::read(inputs, &reading).pieces();
        let kept = |(piece, (key, created))| (key, Kept { piece, created });
        let texts = pieces.into_iter().zip(known).map(kept).collect();
        let mut workspace = Self { options, reading, texts, analysis: Arc::default() };
        workspace.analysis = Arc::new(workspace.resolve());
        workspace
    }

    /// What is in force.
    pub fn analysis(&self) -> &Arc<Analysis> {
        &self.analysis
    }

    /// Applies edits as one change. Returns what is in force now.
    pub fn change(&mut self, edits: Vec<Edit>) -> Arc<Analysis> {
        let mut changed: Option<BTreeSet<Box<str>>> = Some(BTreeSet::new());
        for edit in edits {
            let (key, now) = match edit {
                Edit::Put(KeyedText { key, input, created }) => {
                    let piece = overrule_source::read_piece(input, &self.reading);
                    (key, Kept { piece, created })
                }
                Edit::PutRead { key, piece, created } => (key, Kept { piece, created }),
                Edit::Remove(key) => {
                    if self.texts.remove(&key).is_some() {
                        changed = None;
                    }
                    continue;
                }
            };
            let name = Box::<str>::from(now.piece.name());
            match (self.texts.insert(key.clone(), now), &mut changed) {
                (Some(before), Some(changed)) if *before.piece.name() == *name => {
                    changed.insert(key);
                }
                _ => changed = None,
            }
        }
        let patched = changed.and_then(|changed| self.patched(&changed));
        self.analysis = Arc::new(patched.unwrap_or_else(|| self.resolve()));
        Arc::clone(&self.analysis)
    }

    /// Runs the pipeline on all texts. None of them is read again.
    pub fn resolve(&self) -> Analysis {
        let mut texts: Vec<(&str, &Kept)> = self.texts.iter().map(|(k, t)| (&**k, t)).collect();
        texts.sort_by_key(|(key, text)| (text.piece.name(), *key));
        let read = Read::of(texts.iter().map(|(_, text)| &text.piece));
        let analysis = Analysis::of(read, &self.options_with_ages());
        // Made now, so that the first change need not wait for it.
        analysis.answers.iter().for_each(|answer| answer.resolution.prepare());
        analysis
    }

    /// The options, with the ages that keepers of texts know.
    fn options_with_ages(&self) -> Cow<'_, Options> {
        let texts = self.texts.values();
        let ages = texts.filter_map(|text| Some((text.piece.name().into(), text.created?)));
        let ages: BTreeMap<Box<str>, Created> = ages.collect();
        if ages.is_empty() {
            return Cow::Borrowed(&self.options);
        }
        let assume_created = Assume::Kept(Arc::new(ages));
        Cow::Owned(Options { assume_created, ..self.options.clone() })
    }

    /// The analysis before, with these texts as they are now. None if more than policies changed.
    fn patched(&self, changed: &BTreeSet<Box<str>>) -> Option<Analysis> {
        if changed.len() > FEW_TEXTS {
            return None;
        }
        let texts = changed.iter().filter_map(|key| self.texts.get(key));
        let texts: Vec<NewText<'_>> =
            texts.map(|text| NewText { piece: &text.piece, created: text.created }).collect();
        let before = &self.analysis;
        let patch = before.patch(&texts, &self.options)?;
        let read = patch.documents.findings(texts.iter().map(|text| text.piece))?;
        before.updated(patch.clone(), read).or_else(|| {
            let read = patch.documents.findings(self.texts.values().map(|text| &text.piece))?;
            before.again(patch, read, &self.options)
        })
    }
}
