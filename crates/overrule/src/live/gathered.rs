// SPDX-License-Identifier: Apache-2.0
//! In: texts of a world. Out: what the pipeline says about them, from nothing or from the last whole resolution on.
//! Not here: which texts these are (`reach`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overrule_gateway::kinds::Kinds;
use overrule_model::Created;
use overrule_source::{DocId, Documents, Read};

use super::slab::Kept;
use crate::{Analysis, Assume, Options};

/// Texts to resolve, and how.
#[derive(Debug)]
pub struct Gathered {
    /// The version they are of.
    pub version: u64,
    kept: Vec<Arc<Kept>>,
    options: Options,
    /// The last whole resolution, and the texts of which nothing but the words changed since then.
    before: Option<(Arc<Analysis>, BTreeSet<Box<str>>)>,
}

impl Gathered {
    pub(super) fn new(version: u64, kept: Vec<Arc<Kept>>, options: Options) -> Self {
        Self { version, kept, options, before: None }
    }

    /// The same when the last whole resolution is known, and nothing but the words of these texts changed since then.
    pub(super) fn after(self, whole: Arc<Analysis>, words: BTreeSet<Box<str>>) -> Self {
        Self { before: Some((whole, words)), ..self }
    }

    /// Runs the pipeline on them. If nothing but policies changed, what does not depend on them is kept from before.
    pub fn resolve(&self) -> Analysis {
        let (read, options) = self.read();
        let again = self.changed(&read.documents);
        let again = again.and_then(|(before, changed)| before.again(&read, &changed, &options));
        let whole = again.unwrap_or_else(|| Analysis::of(read, &options));
        // The next change finds its way from policies to ladders by this.
        whole.gateway().index();
        whole
    }

    /// Runs it on texts that are not everything: findings speak of everything ("in force nowhere").
    pub(super) fn resolve_part(&self, kinds: Option<&Arc<Kinds>>) -> Analysis {
        let (read, options) = self.read();
        Analysis::of_part(read, &options, kinds)
    }

    /// The texts by name, as those of every analysis are, and what is known of them.
    fn read(&self) -> (Read, Cow<'_, Options>) {
        let mut kept: Vec<&Kept> = self.kept.iter().map(|kept| &**kept).collect();
        kept.sort_by(|a, b| a.piece.name().cmp(b.piece.name()));
        let times = kept.iter().filter_map(|k| Some((k.piece.name().into(), k.created?)));
        let times: BTreeMap<Box<str>, Created> = times.collect();
        let options = match times.is_empty() {
            true => Cow::Borrowed(&self.options),
            false => {
                let assume_created = Assume::Kept(Arc::new(times));
                Cow::Owned(Options { assume_created, ..self.options.clone() })
            }
        };
        (Read::of(kept.iter().map(|k| &k.piece)), options)
    }

    /// The analysis before, and the documents that changed since, if they are the only difference.
    fn changed(&self, documents: &Documents) -> Option<(&Analysis, Vec<DocId>)> {
        let (before, words) = self.before.as_ref()?;
        let mut changed = Vec::new();
        for doc in documents.ids() {
            let source = documents.get(doc).and_then(|d| documents.sources.get(d.source));
            if source.is_some_and(|s| words.contains(s.name())) {
                changed.push(doc);
            }
        }
        let (now, then) = (&documents.sources, &before.documents.sources);
        let same = documents.len() == before.documents.len() && now.len() == then.len();
        same.then_some((before, changed))
    }
}
