// SPDX-License-Identifier: Apache-2.0
//! In: records. Out: the state they make, resolved. Not here: which state is the newest (`live`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use overrule::live::{KeyedText, Workspace};
use overrule::model::Created;
use overrule::source::Input;
use overrule::{Analysis, Assume, Options};
use overrule_store::{Record, ResourceKey};

use crate::admission::source_name;
use crate::clock;
use crate::derived::Derived;
use crate::records::Records;
use crate::work::WorkTurn;

/// Everything that is known at one version. Immutable.
pub struct State {
    /// The version: the revision of the store it is computed from.
    pub revision: u64,
    /// Resources as stored.
    pub records: Records,
    /// The pipeline's results over them.
    pub analysis: Arc<Analysis>,
    /// What extensions compute from it.
    pub(crate) derived: Derived,
    /// How long resolving took.
    pub took: Duration,
    /// Which states ids mean the same in: all of one lineage. None for a state beside the live ones.
    pub lineage: Option<u64>,
    /// What it takes of the room for states beside the live ones.
    pub(crate) room: Option<WorkTurn>,
}

impl State {
    /// A state of a version.
    pub fn new(revision: u64, records: Records, took: Duration, analysis: Arc<Analysis>) -> Self {
        Self {
            revision,
            records,
            analysis,
            derived: Derived::default(),
            took,
            lineage: None,
            room: None,
        }
    }
}

/// How resources are resolved.
pub struct Resolving {
    options: Options,
}

impl Resolving {
    /// With these options.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// These resources, resolved.
    pub fn workspace(&self, records: &Records) -> Workspace {
        let texts = records.values().map(|record| text(record));
        Workspace::new(texts.collect(), self.options.clone())
    }

    /// An analysis beside the live one: of other resources, or of more than a version keeps ready for all: the paths of
    /// targets that stand for others or are stood for by others, and a kind that has no policy.
    pub fn beside(&self, records: &Records, look: &Look) -> Analysis {
        let (mut times, mut inputs) = (BTreeMap::new(), Vec::new());
        for record in records.values() {
            let name = source_name(&record.key);
            times.insert(name.clone().into(), created(record));
            inputs.push(Input::new(name, record.text.as_bytes()));
        }
        let options = Options {
            assume_created: Assume::Kept(Arc::new(times)),
            focus: look.targets.clone(),
            include_kinds: look.kinds.clone(),
            ..self.options.clone()
        };
        Analysis::new(inputs, &options)
    }

    /// A state of its own, beside the live one.
    pub fn alone(&self, revision: u64, records: Records) -> State {
        let since = clock::instant();
        let analysis = Arc::new(self.beside(&records, &Look::default()));
        State::new(revision, records, since.elapsed(), analysis)
    }
}

/// Since when a resource is there.
pub fn created(record: &Record) -> Created {
    Created::At(record.created.as_second())
}

/// What a question asks for beyond what is kept ready.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// Targets as typed.
    pub targets: Vec<String>,
    /// Words for a policy kind.
    pub kinds: Vec<String>,
}

/// A resource as a text. What tells it apart is all of its identity: two groups may have a kind of one name.
pub fn text(record: &Record) -> KeyedText {
    let input = Input::new(source_name(&record.key), record.text.as_bytes());
    KeyedText { key: identity(&record.key), input, created: Some(created(record)) }
}

/// What tells a resource apart from all others.
pub fn identity(key: &ResourceKey) -> Box<str> {
    format!("{key:?}").into()
}
