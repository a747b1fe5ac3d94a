// SPDX-License-Identifier: Apache-2.0
//! In: the store. Out: whether it takes writes now, within a second, whatever state it is in. Not here: how that is tried
//! (`Store::healthy`).
//!
//! A thread of its own tries, one attempt at a time, so that a store that keeps it waiting keeps nobody else waiting. Anybody
//! may ask, so an attempt serves all who ask within a moment.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use overrule_store::{Store, StoreError};
use tokio::sync::watch;

use crate::clock;

/// How long what was found out counts as now.
const FRESH: Duration = Duration::from_millis(250);
/// How long an attempt is waited for.
const PATIENCE: Duration = Duration::from_millis(900);

/// What is told to anybody. Why is for the log.
const REFUSED: &str = "the store takes no writes";
const SILENT: &str = "the store does not answer";
const OTHER_SCHEMA: &str = "the schema of the store is that of another release";

/// Finds out whether writes are taken.
pub struct Readiness {
    wanted: SyncSender<()>,
    found: watch::Receiver<Attempt>,
}

/// The last attempt to write.
#[derive(Clone, Copy)]
struct Attempt {
    begun: Option<Instant>,
    result: Result<(), &'static str>,
}

impl Readiness {
    /// Starts the thread, which ends with this value.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let (wanted, wishes) = sync_channel(1);
        let (found, receiver) = watch::channel(Attempt { begun: None, result: Err(SILENT) });
        let name = "overrule-ready".to_owned();
        let work = move || attempts(&*store, &wishes, &found);
        // Without the thread nothing is found out, and who asks is told so.
        if let Err(error) = std::thread::Builder::new().name(name).spawn(work) {
            tracing::error!(%error, "no thread for readiness could be started");
        }
        Self { wanted, found: receiver }
    }

    /// Whether writes are taken now; else why not.
    pub async fn ask(&self) -> Result<(), &'static str> {
        let asked = clock::instant();
        let fresh = |attempt: &Attempt| attempt.begun.is_some_and(|begun| begun + FRESH >= asked);
        let mut found = self.found.clone();
        if !fresh(&found.borrow()) {
            // One wish that waits is as good as two.
            let _ = self.wanted.try_send(());
        }
        match tokio::time::timeout(PATIENCE, found.wait_for(fresh)).await {
            Ok(Ok(attempt)) => attempt.result,
            _ => Err(SILENT),
        }
    }
}

fn attempts(store: &dyn Store, wishes: &Receiver<()>, found: &watch::Sender<Attempt>) {
    let mut last = Ok(());
    while wishes.recv().is_ok() {
        let begun = Some(clock::instant());
        let tried = store.healthy();
        let result = match &tried {
            Ok(()) => Ok(()),
            Err(StoreError::OtherSchema { .. }) => Err(OTHER_SCHEMA),
            Err(_) => Err(REFUSED),
        };
        if result != last {
            match &tried {
                Ok(()) => tracing::info!("ready: the store takes writes again"),
                Err(error) => tracing::error!(%error, "not ready: the store takes no writes"),
            }
            last = result;
        }
        found.send_replace(Attempt { begun, result });
    }
}
