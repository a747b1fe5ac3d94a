// SPDX-License-Identifier: Apache-2.0
//! In: the store. Out: the answer to everything about its newest state, published whole, and states of the past on
//! request. Not here: HTTP.
//!
//! ```text
//! store ──changes──► records ──Resolver──► State ──swap──► readers (never wait for a writer)
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use overrule::kuma::inspect::Flavour;
use overrule::model::Created;
use overrule::source::Input;
use overrule::{Analysis, Assume, Options};
use overrule_store::{Done, Entry, Key, Record, Store, StoreError};
use tokio::sync::watch;

use crate::admission::source_name;
use crate::clock;
use crate::inspect::Inspect;

/// Resources by identity. Cheap to copy: texts are shared.
pub type Records = BTreeMap<Key, Arc<Record>>;

/// Everything that is known at one version. Immutable.
pub struct State {
    /// The version: the revision of the store it is computed from.
    pub revision: u64,
    /// Resources as stored.
    pub records: Records,
    /// The pipeline's results over them.
    pub analysis: Analysis,
    /// What Kuma's Inspect API answers from.
    pub inspect: Inspect,
    /// How long resolving took.
    pub took: Duration,
}

/// Turns resources into what is in force. Everything that changes between two versions goes through here, so that it
/// can keep what did not change.
pub trait Resolver: Send + Sync {
    /// Resolves. `changed` are the identities that differ from the call before; all of them for a state of its own.
    fn resolve(&self, records: &Records, changed: &Changed) -> Analysis;

    /// Resolves with more than a version keeps ready for all: the paths of targets that stand for others or are stood for
    /// by others, and a kind that has no policy.
    fn closer(&self, records: &Records, look: &Look) -> Analysis;

    /// Whose behaviour Kuma's Inspect API shows.
    fn flavour(&self) -> Flavour;
}

/// What a question asks for beyond what is kept ready.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// Targets as typed.
    pub targets: Vec<String>,
    /// Words for a policy kind.
    pub kinds: Vec<String>,
}

/// What differs from the state before.
#[derive(Debug, Clone)]
pub enum Changed {
    /// Nothing is known about a state before.
    Everything,
    /// Only these.
    Only(Vec<Key>),
}

/// Resolves everything, every time.
pub struct Full {
    options: Options,
    flavour: Flavour,
}

impl Full {
    /// With these options.
    pub fn new(options: Options, flavour: Flavour) -> Self {
        Self { options, flavour }
    }
}

impl Resolver for Full {
    fn resolve(&self, records: &Records, changed: &Changed) -> Analysis {
        match changed {
            Changed::Everything => tracing::debug!(resources = records.len(), "resolving"),
            Changed::Only(keys) => tracing::debug!(changed = keys.len(), "resolving"),
        }
        self.analysis(records, &Look::default())
    }

    fn closer(&self, records: &Records, look: &Look) -> Analysis {
        self.analysis(records, look)
    }

    fn flavour(&self) -> Flavour {
        self.flavour
    }
}

impl Full {
    fn analysis(&self, records: &Records, look: &Look) -> Analysis {
        let mut times = BTreeMap::new();
        let mut inputs = Vec::with_capacity(records.len());
        for (key, record) in records {
            let name = source_name(key);
            times.insert(name.clone().into(), Created::At(record.created.as_second()));
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
}

/// The newest state, and how to come to others.
pub struct Live {
    store: Arc<dyn Store>,
    resolver: Box<dyn Resolver>,
    newest: ArcSwap<State>,
    published: watch::Sender<u64>,
    /// States of the past that were asked for last; each costs as much as the present one.
    past: Mutex<Vec<Arc<State>>>,
    /// Closer looks that were asked for last.
    closer: Mutex<Vec<(u64, Look, Arc<Analysis>)>>,
    /// At most one state beside the present one is computed at a time.
    beside: tokio::sync::Semaphore,
}

/// How many states of the past are kept.
const PAST: usize = 2;
/// Entries of the feed read at once.
const BATCH: usize = 10_000;

impl Live {
    /// Reads the store and resolves it.
    pub fn open(store: Arc<dyn Store>, resolver: Box<dyn Resolver>) -> Result<Self, StoreError> {
        let snapshot = store.snapshot(None)?;
        let records = records(snapshot.records);
        let state = state(&*resolver, snapshot.revision, records, &Changed::Everything);
        let (published, _) = watch::channel(state.revision);
        Ok(Self {
            store,
            resolver,
            newest: ArcSwap::from_pointee(state),
            published,
            past: Mutex::default(),
            closer: Mutex::default(),
            beside: tokio::sync::Semaphore::new(1),
        })
    }

    /// The newest state. Never waits.
    pub fn state(&self) -> Arc<State> {
        self.newest.load_full()
    }

    /// Tells of every version that is published.
    pub fn published(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }

    /// Brings the state up to what the store has; whether there was anything new. One caller at a time.
    pub fn advance(&self) -> Result<bool, StoreError> {
        let before = self.state();
        let mut records = before.records.clone();
        let mut revision = before.revision;
        let mut changed = Vec::new();
        loop {
            let entries = match self.store.changes(revision, BATCH) {
                // History that is gone, or a store that went back: start over.
                Err(StoreError::Gone { .. } | StoreError::Future { .. }) => return self.reload(),
                entries => entries?,
            };
            let last = entries.len() < BATCH;
            for entry in entries {
                revision = entry.revision;
                if !apply(&mut records, &entry) {
                    return self.reload();
                }
                changed.push(entry.key);
            }
            if last {
                break;
            }
        }
        if revision == before.revision {
            return Ok(false);
        }
        changed.sort();
        changed.dedup();
        self.publish(state(&*self.resolver, revision, records, &Changed::Only(changed)));
        Ok(true)
    }

    fn reload(&self) -> Result<bool, StoreError> {
        let snapshot = self.store.snapshot(None)?;
        let records = records(snapshot.records);
        self.publish(state(&*self.resolver, snapshot.revision, records, &Changed::Everything));
        Ok(true)
    }

    fn publish(&self, state: State) {
        let revision = state.revision;
        self.newest.store(Arc::new(state));
        // Nobody listening is fine.
        self.published.send_replace(revision);
    }

    /// Waits until a version is there; whether it came in time.
    pub async fn wait(&self, revision: u64, at_most: Duration) -> bool {
        let mut published = self.published.subscribe();
        let there = async { published.wait_for(|now| *now >= revision).await.is_ok() };
        tokio::time::timeout(at_most, there).await.unwrap_or(false)
    }

    /// The state at a version of the past. Keys whose texts were redacted are not in it.
    pub async fn as_of(self: &Arc<Self>, revision: u64) -> Result<Arc<State>, StoreError> {
        let newest = self.state();
        if newest.revision == revision {
            return Ok(newest);
        }
        let kept = |live: &Self| {
            let past = live.past.lock().unwrap_or_else(PoisonError::into_inner);
            past.iter().find(|s| s.revision == revision).cloned()
        };
        if let Some(found) = kept(self) {
            return Ok(found);
        }
        let _turn = self.beside.acquire().await;
        if let Some(found) = kept(self) {
            return Ok(found);
        }
        let live = Arc::clone(self);
        let built = tokio::task::spawn_blocking(move || {
            let snapshot = live.store.snapshot(Some(revision))?;
            let records = records(snapshot.records);
            let built = Arc::new(state(&*live.resolver, revision, records, &Changed::Everything));
            let mut past = live.past.lock().unwrap_or_else(PoisonError::into_inner);
            past.insert(0, Arc::clone(&built));
            past.truncate(PAST);
            Ok(built)
        });
        built.await.unwrap_or_else(|e| Err(StoreError::Other(e.to_string())))
    }

    /// The analysis of a state that has what a question asks for beyond the usual.
    pub async fn closer(
        self: &Arc<Self>,
        state: Arc<State>,
        look: Look,
    ) -> Result<Arc<Analysis>, StoreError> {
        let kept = |live: &Self, look: &Look| {
            let closer = live.closer.lock().unwrap_or_else(PoisonError::into_inner);
            let found = closer.iter().find(|(r, l, _)| *r == state.revision && l == look);
            found.map(|(_, _, analysis)| Arc::clone(analysis))
        };
        let _turn = self.beside.acquire().await;
        if let Some(found) = kept(self, &look) {
            return Ok(found);
        }
        let live = Arc::clone(self);
        let state = Arc::clone(&state);
        let built = tokio::task::spawn_blocking(move || {
            let analysis = Arc::new(live.resolver.closer(&state.records, &look));
            let mut closer = live.closer.lock().unwrap_or_else(PoisonError::into_inner);
            closer.insert(0, (state.revision, look, Arc::clone(&analysis)));
            closer.truncate(PAST);
            analysis
        });
        built.await.map_err(|e| StoreError::Other(e.to_string()))
    }

    /// The state that some changes would lead to. Nothing is stored.
    pub async fn what_if(
        self: &Arc<Self>,
        edit: impl FnOnce(&mut Records) + Send + 'static,
    ) -> Result<(Arc<State>, Arc<State>), StoreError> {
        let _turn = self.beside.acquire().await;
        let live = Arc::clone(self);
        let built = tokio::task::spawn_blocking(move || {
            let before = live.state();
            let mut records = before.records.clone();
            edit(&mut records);
            let after = state(&*live.resolver, before.revision, records, &Changed::Everything);
            (before, Arc::new(after))
        });
        built.await.map_err(|e| StoreError::Other(e.to_string()))
    }
}

fn records(all: Vec<Record>) -> Records {
    all.into_iter().map(|record| (record.key.clone(), Arc::new(record))).collect()
}

/// Applies an entry of the feed; false if it does not carry what is needed.
fn apply(records: &mut Records, entry: &Entry) -> bool {
    match (entry.done, &entry.text) {
        (Done::Deleted, _) => {
            records.remove(&entry.key);
            true
        }
        (Done::Unchanged, _) => true,
        (Done::Created | Done::Changed, Some(text)) => {
            let created = records.get(&entry.key).map_or(entry.at, |r| r.created);
            let record = Record {
                key: entry.key.clone(),
                text: text.clone(),
                form: entry.form,
                version: entry.version,
                created: if entry.done == Done::Created { entry.at } else { created },
                modified: entry.at,
            };
            records.insert(entry.key.clone(), Arc::new(record));
            true
        }
        (Done::Created | Done::Changed, None) => false,
    }
}

fn state(resolver: &dyn Resolver, revision: u64, records: Records, changed: &Changed) -> State {
    let since = clock::instant();
    let analysis = resolver.resolve(&records, changed);
    let inspect = Inspect::new(&analysis, resolver.flavour());
    State { revision, records, analysis, inspect, took: since.elapsed() }
}
