// SPDX-License-Identifier: Apache-2.0
//! In: the store. Out: the answer to everything about its newest state, published whole, and states of the past on
//! request. Not here: HTTP.
//!
//! ```text
//! store ──changes──► Workspace ──► State ──swap──► readers (never wait for the writer)
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use overrule::engine::LadderId;
use overrule::live::{Edit, Workspace};
use overrule::{Analysis, Touched};
use overrule_store::{ChangeKind, HistoryEntry, Record, ResourceKey, Store, StoreError};
use tokio::sync::watch;

use crate::clock;
use crate::prepared::Prepared;
use crate::records::{Records, records};
use crate::resolving::{created, identity, text};
use crate::touched::TouchedLog;
use crate::work::WorkTurn;

pub use crate::resolving::{Look, Resolving, State};

/// The newest state, and how to come to others.
pub struct Live {
    store: Arc<dyn Store>,
    resolving: Resolving,
    /// What the newest state was made of. Only the writer takes it.
    workspace: Mutex<Workspace>,
    newest: ArcSwap<State>,
    /// The version of the newest state, for those who watch.
    published: watch::Sender<u64>,
    /// The same for those who have written and wait for it. They are told first: they are few, and somebody waits for
    /// each of them.
    resolved: watch::Sender<u64>,
    /// Documents of requests that are being answered.
    prepared: Arc<Prepared>,
    steps: TouchedLog,
    /// States of the past that were asked for last; each costs as much as the present one.
    past: Mutex<Vec<Arc<State>>>,
    /// Closer looks that were asked for last.
    closer: Mutex<Vec<Arc<Closer>>>,
}

/// A state looked at closer than usual.
pub struct Closer {
    /// The version.
    pub revision: u64,
    look: Look,
    /// What was found.
    pub analysis: Analysis,
    /// What it takes of the room for such.
    _room: WorkTurn,
}

/// How many states of the past are kept.
const PAST: usize = 2;
/// Entries of the feed read at once.
const BATCH: usize = 10_000;

impl Live {
    /// Reads the store and resolves it.
    pub fn open(store: Arc<dyn Store>, resolving: Resolving) -> Result<Self, StoreError> {
        let snapshot = store.snapshot(None)?;
        let (records, revision) = (records(snapshot.records), snapshot.revision);
        let since = clock::instant();
        let workspace = resolving.workspace(&records);
        let analysis = Arc::clone(workspace.analysis());
        let steps = TouchedLog::default();
        let mut state = State::new(revision, records, since.elapsed(), analysis);
        state.lineage = Some(steps.begin());
        Ok(Self {
            store,
            resolving,
            workspace: Mutex::new(workspace),
            newest: ArcSwap::from_pointee(state),
            published: watch::channel(revision).0,
            resolved: watch::channel(revision).0,
            prepared: Arc::default(),
            steps,
            past: Mutex::default(),
            closer: Mutex::default(),
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

    /// Documents on their way to the store.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// The ladders that may differ between two states. None if any of them may, or if ids do not mean the same in both.
    pub fn touched(&self, before: &State, after: &State) -> Option<Vec<(usize, LadderId)>> {
        let lineage = before.lineage.filter(|_| before.lineage == after.lineage)?;
        self.steps.between(lineage, before.revision, after.revision)
    }

    /// Takes in what the store has, resolves it, and publishes the new state; whether there was anything new. What comes
    /// meanwhile is for the next call. One caller at a time.
    pub fn advance(&self) -> Result<bool, StoreError> {
        let before = self.state();
        // All of it is read before anything is taken in, so that a store that fails halfway leaves no half of a change
        // behind.
        let Some(entries) = self.feed(before.revision)? else { return self.reload() };
        let Some(revision) = entries.last().map(|entry| entry.revision) else { return Ok(false) };
        let since = clock::instant();
        let mut records = before.records.clone();
        if !entries.iter().all(|entry| apply(&mut records, entry)) {
            return self.reload();
        }
        let mut changed: Vec<ResourceKey> = entries.into_iter().map(|entry| entry.key).collect();
        changed.sort();
        changed.dedup();
        tracing::debug!(changed = changed.len(), "taking in");
        let edits = changed.iter().map(|key| self.edit(key, records.get(key))).collect();
        let mut workspace = self.writer();
        // If a change was taken in before and never published, what this one touches is not told from the newest state.
        let follows = Arc::ptr_eq(workspace.analysis(), &before.analysis);
        let analysis = workspace.change(edits);
        drop(workspace);
        let lineage = match (&analysis.touched, before.lineage) {
            (Touched::Ladders(ladders), Some(lineage)) if follows => {
                self.steps.add(lineage, before.revision, revision, ladders.clone());
                lineage
            }
            _ => self.steps.begin(),
        };
        let mut state = State::new(revision, records, since.elapsed(), analysis);
        state.lineage = Some(lineage);
        self.publish(state);
        Ok(true)
    }

    /// A change of a resource as a change of its text, which the request that stored it may have read.
    fn edit(&self, key: &ResourceKey, record: Option<&Arc<Record>>) -> Edit {
        let Some(record) = record else { return Edit::Remove(identity(key)) };
        match self.prepared.find(key, &record.text) {
            Some(piece) => {
                let created = Some(created(record));
                Edit::PutRead { key: identity(key), piece, created }
            }
            None => Edit::Put(text(record)),
        }
    }

    fn writer(&self) -> MutexGuard<'_, Workspace> {
        // If a change failed halfway, its edits come again: the newest state is still the one before.
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came since a version; none if that is not known any more: history that is gone, or a store that went back.
    fn feed(&self, since: u64) -> Result<Option<Vec<HistoryEntry>>, StoreError> {
        let mut all: Vec<HistoryEntry> = Vec::new();
        loop {
            let since = all.last().map_or(since, |entry| entry.revision);
            let entries = match self.store.changes(since, BATCH) {
                Err(StoreError::Gone { .. } | StoreError::Future { .. }) => return Ok(None),
                entries => entries?,
            };
            let last = entries.len() < BATCH;
            all.extend(entries);
            if last {
                return Ok(Some(all));
            }
        }
    }

    fn reload(&self) -> Result<bool, StoreError> {
        let since = clock::instant();
        let snapshot = self.store.snapshot(None)?;
        let (revision, records) = (snapshot.revision, records(snapshot.records));
        let workspace = self.resolving.workspace(&records);
        let analysis = Arc::clone(workspace.analysis());
        // What was there is dropped when nobody is kept waiting.
        let old = std::mem::replace(&mut *self.writer(), workspace);
        let mut state = State::new(revision, records, since.elapsed(), analysis);
        state.lineage = Some(self.steps.begin());
        self.publish(state);
        drop(old);
        Ok(true)
    }

    fn publish(&self, state: State) {
        let revision = state.revision;
        self.newest.store(Arc::new(state));
        // Nobody listening is fine.
        self.resolved.send_replace(revision);
        self.published.send_replace(revision);
    }

    /// Waits until a version is there; whether it came in time.
    pub async fn wait(&self, revision: u64, at_most: Duration) -> bool {
        let mut resolved = self.resolved.subscribe();
        let there = async { resolved.wait_for(|now| *now >= revision).await.is_ok() };
        tokio::time::timeout(at_most, there).await.unwrap_or(false)
    }

    /// The state at a version, if it is at hand: the newest, or one of the past that was asked for lately.
    pub fn at(&self, revision: u64) -> Option<Arc<State>> {
        let newest = self.state();
        if newest.revision == revision {
            return Some(newest);
        }
        self.kept_past().iter().find(|s| s.revision == revision).cloned()
    }

    fn kept_past(&self) -> MutexGuard<'_, Vec<Arc<State>>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state at a version of the past. Keys whose texts were redacted are not in it. It takes its time, and it keeps
    /// `room` as long as anybody needs it.
    pub fn past(&self, revision: u64, room: WorkTurn) -> Result<Arc<State>, StoreError> {
        if let Some(found) = self.at(revision) {
            return Ok(found);
        }
        let snapshot = self.store.snapshot(Some(revision))?;
        let mut built = self.resolving.alone(revision, records(snapshot.records));
        built.room = Some(room);
        let built = Arc::new(built);
        let gone = {
            let mut past = self.kept_past();
            past.insert(0, Arc::clone(&built));
            let kept = PAST.min(past.len());
            past.split_off(kept)
        };
        drop(gone);
        Ok(built)
    }

    fn kept_closer(&self) -> MutexGuard<'_, Vec<Arc<Closer>>> {
        self.closer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A closer look at a state, if somebody had it lately.
    pub fn looked_at(&self, state: &State, look: &Look) -> Option<Arc<Closer>> {
        let kept = self.kept_closer();
        kept.iter().find(|one| one.revision == state.revision && one.look == *look).cloned()
    }

    /// The analysis of a state that has what a question asks for beyond the usual. It takes its time, and it keeps `room`
    /// as long as anybody needs it.
    pub fn closer(&self, state: &State, look: Look, room: WorkTurn) -> Arc<Closer> {
        if let Some(found) = self.looked_at(state, &look) {
            return found;
        }
        let analysis = self.resolving.beside(&state.records, &look);
        let closer = Arc::new(Closer { revision: state.revision, look, analysis, _room: room });
        let gone = {
            let mut kept = self.kept_closer();
            kept.insert(0, Arc::clone(&closer));
            let most = PAST.min(kept.len());
            kept.split_off(most)
        };
        drop(gone);
        closer
    }

    /// The newest state, and the one that some changes would lead to. Nothing is stored. It takes its time.
    pub fn what_if(&self, edit: impl FnOnce(&mut Records)) -> (Arc<State>, State) {
        let before = self.state();
        let mut records = before.records.clone();
        edit(&mut records);
        let after = self.resolving.alone(before.revision, records);
        (before, after)
    }
}

/// Applies an entry of the feed; false if it does not carry what is needed.
fn apply(records: &mut Records, entry: &HistoryEntry) -> bool {
    match (entry.done, &entry.text) {
        (ChangeKind::Deleted, _) => {
            records.remove(&entry.key);
            true
        }
        (ChangeKind::Unchanged, _) => true,
        (ChangeKind::Created | ChangeKind::Changed, Some(text)) => {
            let created = records.get(&entry.key).map_or(entry.at, |r| r.created);
            let record = Record {
                key: entry.key.clone(),
                text: text.clone(),
                form: entry.form,
                version: entry.version,
                created: if entry.done == ChangeKind::Created { entry.at } else { created },
                modified: entry.at,
            };
            records.insert(Arc::new(record));
            true
        }
        (ChangeKind::Created | ChangeKind::Changed, None) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::sync::Arc;

    use overrule::{Analysis, Options};
    use overrule_store::{Author, Change, Precondition, Store};

    use super::{Live, Resolving};
    use crate::admission::admit;
    use crate::extension::Extensions;

    const ROUTES: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: c, listeners: [{name: web, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: cart, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay, namespace: shop}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: pay, port: 80}]}]}
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: cart, namespace: shop}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}
  limits: {few: {rates: [{limit: 1, window: 1s}]}}
";

    fn put(store: &dyn Store, text: &str) -> u64 {
        let admitted = admit("body", text.as_bytes(), &Options::default(), &Extensions::default());
        let change = |m: crate::admission::Manifest| Change::Put {
            key: m.key,
            text: m.text,
            form: m.form,
            expect: Precondition::Any,
        };
        let changes: Vec<Change> = admitted.manifests.into_iter().map(change).collect();
        store.commit(&Author::default(), &changes).unwrap().revision
    }

    fn limits(analysis: &Analysis) -> Vec<String> {
        specs(analysis, "/shop/cart")
    }

    /// What is in force on targets that are called so.
    fn specs(analysis: &Analysis, target: &str) -> Vec<String> {
        let stage = analysis.stage();
        let scene = stage.scene();
        let mut found = Vec::new();
        for part in scene.parts {
            for (kind, _) in part.resolution.kinds() {
                for (path, _) in part.resolution.contexts(kind) {
                    let effective = overrule::view::effective(&scene, part, kind, path);
                    if effective.target.contains(target) {
                        found.push(overrule::view::json_line(&effective.spec));
                    }
                }
            }
        }
        found
    }

    fn open(store: &Arc<dyn Store>) -> Live {
        Live::open(Arc::clone(store), Resolving::new(Options::default())).unwrap()
    }

    #[test]
    fn a_change_is_published_whole() {
        let store: Arc<dyn Store> = Arc::from(overrule_store::open_memory().unwrap());
        let first = put(&*store, ROUTES);
        let live = open(&store);
        let before = live.state();
        assert_eq!(before.revision, first);
        assert!(!live.advance().unwrap(), "there is nothing new");
        let second = put(&*store, &ROUTES.replace("limit: 1", "limit: 2"));
        let mut published = live.published();
        assert!(live.advance().unwrap());
        assert_eq!((live.state().revision, *published.borrow_and_update()), (second, second));
        let now = limits(&live.state().analysis);
        assert!(now.iter().any(|spec| spec.contains("\"limit\":2")), "{now:?}");
        assert!(!limits(&before.analysis).contains(&now[0]), "who has the state before keeps it");
    }

    #[test]
    fn a_state_that_went_back_is_read_anew() {
        let store: Arc<dyn Store> = Arc::from(overrule_store::open_memory().unwrap());
        put(&*store, ROUTES);
        let live = open(&store);
        let before = live.state();
        assert!(live.reload().unwrap());
        assert_eq!(live.state().revision, before.revision);
        assert_eq!(limits(&live.state().analysis), limits(&before.analysis));
    }

    #[test]
    fn kinds_of_one_name_are_kept_apart() {
        let store: Arc<dyn Store> = Arc::from(overrule_store::open_memory().unwrap());
        let other = "apiVersion: v1\nkind: HTTPRoute\nmetadata: {name: cart, namespace: shop}\n";
        put(&*store, &format!("{ROUTES}---\n{other}"));
        let state = open(&store).state();
        assert_eq!(state.analysis.snapshot.len(), 5);
        assert!(!limits(&state.analysis).is_empty(), "the route is there");
    }
}
