// SPDX-License-Identifier: Apache-2.0
//! In: files and folders. Out: their resources in the store, at the start and, if wanted, whenever they change. Not
//! here: reading resources (`admission`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use overrule::Options;
use overrule::files;
use overrule_store::{
    Author, Change, ChangeKind, Committed, Deadline, HistoryFilter, Precondition, ResourceKey,
    Store, StoreError,
};

use crate::admission::{Manifest, admit, is_about_text};
use crate::extension::Extensions;

/// Silence after a change before files are read again: editors and git write several files in a row.
const SETTLE: Duration = Duration::from_millis(200);

/// Who writes what files say.
fn author() -> Author {
    Author { name: "files".to_owned(), token: None, request: None }
}

/// The resources that are there because a file said so last.
pub fn kept(store: &dyn Store) -> Result<BTreeSet<ResourceKey>, StoreError> {
    let all = HistoryFilter { limit: usize::MAX >> 1, ..HistoryFilter::default() };
    let mut seen = BTreeSet::new();
    let mut kept = BTreeSet::new();
    // Newest first: the first of a key is the one that counts.
    for entry in store.history(&all)? {
        if seen.insert(entry.key.clone())
            && entry.done != ChangeKind::Deleted
            && entry.author == author()
        {
            kept.insert(entry.key);
        }
    }
    Ok(kept)
}

/// What was imported, and what could not be.
#[derive(Debug, Default)]
pub struct Imported {
    /// The resources that files have now.
    pub keys: BTreeSet<ResourceKey>,
    /// What is wrong, one sentence each.
    pub problems: Vec<String>,
    /// The version that it made; none if nothing changed.
    pub revision: Option<u64>,
}

/// Puts everything that files say into the store. Bad documents are told and left out; they hide no good one. What files
/// had before and have no longer is removed.
pub fn import(
    store: &dyn Store,
    paths: &[PathBuf],
    options: &Options,
    extensions: &Extensions,
    before: &BTreeSet<ResourceKey>,
) -> Result<Imported, StoreError> {
    let found = files::find(paths);
    let mut problems: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
    let (inputs, unreadable) = files::read(found.files);
    problems.extend(unreadable.iter().map(ToString::to_string));
    // The last of several documents for one resource counts.
    let mut manifests: BTreeMap<ResourceKey, Manifest> = BTreeMap::new();
    for input in inputs {
        let admitted = admit(&input.name, &input.bytes, options, extensions);
        // What can be read is kept as it is, as `check` would show it; the rest is told.
        let unread = admitted.refusals.iter().filter(|d| is_about_text(d));
        problems.extend(unread.map(|d| format!("{}: {}", input.name, d.message)));
        manifests.extend(admitted.manifests.into_iter().map(|m| (m.key.clone(), m)));
    }
    // What cannot be read now says nothing about the resources it had: they stay.
    let complete = problems.is_empty();
    let keys: BTreeSet<ResourceKey> = manifests.keys().cloned().collect();
    let puts = manifests.into_values().map(|m| crate::v1::write::put(m, Precondition::Any));
    let mut changes: Vec<Change> = puts.collect();
    if complete {
        for key in before.difference(&keys) {
            if store.get(key, None)?.is_some() {
                changes.push(Change::Delete { key: key.clone(), expect: Precondition::Any });
            }
        }
    }
    let revision = if changes.is_empty() {
        None
    } else {
        let Committed { revision, .. } =
            store.commit_before(Deadline::long(), &author(), &changes)?;
        Some(revision)
    };
    Ok(Imported { keys, problems, revision })
}

/// Imports again whenever something under the paths changes, until the receiver of the guard is dropped.
pub fn follow(
    store: Arc<dyn Store>,
    paths: Vec<PathBuf>,
    options: Options,
    extensions: Extensions,
    mut known: BTreeSet<ResourceKey>,
) -> Result<impl Watcher, notify::Error> {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let touched = event.map_or(true, |e| !e.kind.is_access());
        if touched {
            // The other end lives as long as the process; if it is gone, so is the wish.
            let _ = sender.send(());
        }
    })?;
    for path in &paths {
        watcher.watch(path, RecursiveMode::Recursive)?;
    }
    std::thread::spawn(move || {
        while receiver.recv().is_ok() {
            while receiver.recv_timeout(SETTLE).is_ok() {}
            match import(&*store, &paths, &options, &extensions, &known) {
                Ok(imported) => {
                    for problem in &imported.problems {
                        tracing::warn!(problem, "not imported");
                    }
                    if let Some(revision) = imported.revision {
                        tracing::info!(revision, "files imported");
                    }
                    match imported.problems.is_empty() {
                        true => known = imported.keys,
                        // Whose file cannot be read now may still be there, and may be removed later.
                        false => known.extend(imported.keys),
                    }
                }
                Err(error) => tracing::error!(%error, "files could not be imported"),
            }
        }
    });
    Ok(watcher)
}
