// SPDX-License-Identifier: Apache-2.0
//! In: texts of a world. Out: what the pipeline says about them, from nothing or from the last whole resolution on.
//! Not here: which texts these are (`reach`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_model::Created;
use overrule_source::Read;

use super::slab::Kept;
use crate::reworded::NewWords;
use crate::{Analysis, Assume, Base, Options};

/// Texts to resolve, and how.
#[derive(Debug)]
pub struct Gathered {
    /// The version they are of.
    pub version: u64,
    kept: Vec<Arc<Kept>>,
    options: Options,
    /// The last whole resolution, and the texts of which nothing but the words changed since then.
    before: Option<(Arc<Analysis>, Vec<Arc<Kept>>)>,
}

impl Gathered {
    pub(super) fn new(version: u64, kept: Vec<Arc<Kept>>, options: Options) -> Self {
        Self { version, kept, options, before: None }
    }

    /// The same when the last whole resolution is known, and nothing but the words of these texts changed since then.
    pub(super) fn after(self, whole: Arc<Analysis>, words: Vec<Arc<Kept>>) -> Self {
        Self { before: Some((whole, words)), ..self }
    }

    /// Runs the pipeline on them. If nothing but policies changed, what does not depend on them is kept from before.
    pub fn resolve(&self) -> Analysis {
        let whole = self.again().unwrap_or_else(|| {
            let kept = self.by_name();
            (0..).zip(&kept).for_each(|(place, kept)| kept.stands_at(place));
            let (read, options) = self.read(&kept);
            Analysis::of(read, &options)
        });
        // The next change finds its way from policies to ladders by this.
        whole.gateway().index();
        whole
    }

    /// Runs it on texts that are not everything: findings speak of everything ("in force nowhere").
    pub(super) fn resolve_part(&self, whole: Option<&Base>) -> Analysis {
        let (read, options) = self.read(&self.by_name());
        Analysis::of_part(read, &options, whole)
    }

    /// The texts as those of every analysis are.
    fn by_name(&self) -> Vec<&Kept> {
        let mut kept: Vec<&Kept> = self.kept.iter().map(|kept| &**kept).collect();
        kept.sort_by(|a, b| (a.piece.name(), &a.key).cmp(&(b.piece.name(), &b.key)));
        kept
    }

    /// The texts put together, and what is known of them.
    fn read(&self, kept: &[&Kept]) -> (Read, Cow<'_, Options>) {
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

    /// Goes on from the last whole resolution. None if more than policies changed since.
    fn again(&self) -> Option<Analysis> {
        let (before, words) = self.before.as_ref()?;
        let texts: Vec<NewWords<'_>> = words.iter().map(|kept| kept.words()).collect();
        let patch = before.patch(&texts, &self.options)?;
        let findings =
            |kept: &[Arc<Kept>]| patch.documents.findings(kept.iter().map(|kept| &kept.piece));
        let reworded = before.reworded_whole(patch.clone(), findings(words)?);
        reworded.or_else(|| before.again(patch.clone(), findings(&self.kept)?, &self.options))
    }
}
