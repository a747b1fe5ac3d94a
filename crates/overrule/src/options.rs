// SPDX-License-Identifier: Apache-2.0
//! Out: how to read and to analyse. Not here: doing it.

use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_family::SettingValues;
use overrule_model::Created;
use overrule_source::{DuplicateKeys, Input, ParseCount, ReadOptions, Redaction, SingleLetters};

use crate::concerns::concerns_of;

/// What to assume about objects that carry no creation time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Assume {
    /// They are the newest; between two of them, the name decides.
    #[default]
    Newest,
    /// The order of files and lines.
    FileOrder,
    /// All were created at one time.
    Time(Created),
    /// The times that their keeper knows, by the name of their source.
    Kept(Arc<BTreeMap<Box<str>, Created>>),
}

/// How to analyse.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Duplicate keys: an error, or the last one wins.
    pub duplicate_keys: DuplicateKeys,
    /// Plain `y` and `n`: booleans, as Kubernetes reads them, or text.
    pub single_letters: SingleLetters,
    /// Creation times.
    pub assume_created: Assume,
    /// Whether what is referred to and not in the input is assumed, so that answers can be given. They say so. Otherwise
    /// such a reference leads nowhere.
    pub assume_missing: bool,
    /// The namespace of resources that are written without one; `default` if none is said.
    pub default_namespace: Option<String>,
    /// Kinds to resolve even if the input has no policy of them.
    pub include_kinds: Vec<String>,
    /// Names of sources that may only contain descriptors of policy kinds.
    pub kind_sources: Vec<String>,
    /// The profile of each family; its default where none is named. See [`families`](crate::families()).
    pub profiles: BTreeMap<String, String>,
    /// Whether to resolve under the other profiles of each family too, for comparison.
    pub compare: bool,
    /// Settings of families' controllers.
    pub settings: SettingValues,
    /// Targets of the question, as typed: their paths are never left out, however large the fleet is.
    pub focus: Vec<String>,
    /// Counts the documents that are parsed.
    pub parsed: ParseCount,
}

impl Options {
    /// The namespace of resources that are written without one.
    pub(crate) fn default_namespace(&self) -> &str {
        self.default_namespace.as_deref().unwrap_or(overrule_model::DEFAULT_NAMESPACE)
    }

    /// How texts are read for an analysis with these options.
    pub fn reading(&self) -> ReadOptions {
        ReadOptions {
            duplicate_keys: self.duplicate_keys,
            single_letters: self.single_letters,
            redactions: SECRETS.to_vec(),
            parsed: self.parsed.clone(),
            ..ReadOptions::default()
        }
    }

    /// The same for these texts: of resources that take no part in any answer, only who they are is read.
    pub fn reading_of<'i>(&self, inputs: impl IntoIterator<Item = &'i Input>) -> ReadOptions {
        ReadOptions { concerns: concerns_of(inputs).clone(), ..self.reading() }
    }
}

/// Payloads nothing may show or store. `last-applied-configuration` repeats them, hence the annotations.
static SECRETS: &[Redaction] = &[Redaction {
    kind: "Secret",
    fields: &[&["data"], &["stringData"], &["metadata", "annotations"]],
}];
