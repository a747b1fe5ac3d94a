// SPDX-License-Identifier: Apache-2.0
//! In: a store and settings. Out: the running parts that endpoints share. Not here: HTTP, endpoints.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use overrule::Options;
use overrule_guard::{
    Acceptor, CallerId, Doors, Grants, How, Principal, RequestPlace, Share, Shares, Tokens,
};
use overrule_store::{AuditEvent, Author, Store, TokenRow};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::clock;
use crate::differences::Differences;
use crate::extension::Extensions;
use crate::live::Live;
use crate::metrics::Metrics;
use crate::otlp::Spans;
use crate::readiness::Readiness;
use crate::vitals::StoreSize;
use crate::work::WorkTurns;

/// How many clients may watch at a time.
const WATCHERS: usize = 512;

/// What all endpoints share.
pub struct App {
    /// Resources that are never lost.
    pub store: Arc<dyn Store>,
    /// What is in force.
    pub live: Arc<Live>,
    /// How bodies are read.
    pub reading: Options,
    /// Further APIs.
    pub extensions: Extensions,
    /// The OpenAPI document, once somebody has asked for it.
    pub document: OnceLock<Bytes>,
    /// What is counted.
    pub metrics: Metrics,
    /// Who may come in.
    pub doors: Arc<Doors>,
    /// How long a request is waited for.
    pub request_limit: Duration,
    /// Whether writes are taken.
    pub readiness: Readiness,
    /// Turns for work that takes its time.
    pub work: WorkTurns,
    /// What watchers are told.
    pub differences: Differences,
    /// Bounds of what is read of a body.
    pub limits: overrule::source::Limits,
    /// Where endpoints run: not where connections are served, so that an answer that takes its time holds up nobody else.
    pub runtime: Handle,
    /// Where spans go.
    pub spans: Spans,
    /// What encrypts connections, if anything does.
    pub acceptor: OnceLock<Option<Arc<Acceptor>>>,
    /// Requests in flight.
    pub in_flight: OnceLock<Arc<Shares<CallerId>>>,
    /// What the store takes, as measured last.
    pub store_size: StoreSize,
    watchers: Arc<Shares<CallerId>>,
    ending: watch::Sender<bool>,
}

/// Settings of an [`App`].
pub struct Parts {
    /// Resources.
    pub store: Arc<dyn Store>,
    /// What is in force.
    pub live: Arc<Live>,
    /// How bodies are read.
    pub reading: Options,
    /// Further APIs.
    pub extensions: Extensions,
    /// Who may come in.
    pub doors: Arc<Doors>,
    /// How long a request is waited for.
    pub request_limit: Duration,
    /// Bounds of what is read of a body.
    pub limits: overrule::source::Limits,
    /// Where endpoints run.
    pub runtime: Handle,
}

impl App {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { store, live, reading, extensions, doors, request_limit, limits, runtime } =
            parts;
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let app = Arc::new(Self {
            readiness: Readiness::new(Arc::clone(&store)),
            store,
            live,
            reading,
            extensions,
            request_limit,
            document: OnceLock::new(),
            metrics: Metrics::new(),
            doors,
            work: WorkTurns::new(processors),
            differences: Differences::default(),
            limits,
            runtime,
            spans: Spans::default(),
            acceptor: OnceLock::new(),
            in_flight: OnceLock::new(),
            store_size: StoreSize::default(),
            watchers: Shares::fair(WATCHERS),
            ending: watch::channel(false).0,
        });
        app.reload_tokens();
        app
    }

    /// A place among those who watch; none if all are taken, or all that one may have.
    pub fn watcher(&self, who: &Principal) -> Option<Share<CallerId>> {
        match who.rival() {
            Some(caller) => self.watchers.take(caller, 1).ok(),
            None => self.watchers.take_any(who.caller(), 1).ok(),
        }
    }

    /// How many clients watch.
    pub fn watching(&self) -> usize {
        self.watchers.in_use()
    }

    /// Turns true when the server is about to end.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    /// Says that the server is about to end.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    /// What somebody may do now: a token may have been revoked since they came in.
    pub fn still(&self, who: &Principal) -> Option<Grants> {
        let Some(id) = who.token.as_ref().filter(|_| who.how == How::Token) else {
            return Some(who.grants.clone());
        };
        let tokens = self.doors.tokens();
        let row = tokens.rows().find(|row| row.id == *id)?;
        let expired = row.expires.is_some_and(|end| end <= clock::now());
        (row.revoked.is_none() && !expired).then(|| row.grants.clone())
    }

    /// Reads the tokens anew, on a thread that may wait for the store.
    pub async fn refresh_tokens(self: &Arc<Self>) {
        let app = Arc::clone(self);
        // A panic in it has been logged; the tokens known stay.
        let _ = tokio::task::spawn_blocking(move || app.reload_tokens()).await;
    }

    /// Reads the tokens anew. If that fails, the ones known stay.
    pub fn reload_tokens(&self) {
        match self.store.tokens() {
            Ok(rows) => {
                let rows = rows.into_iter().filter_map(|row| match known(row) {
                    Ok(row) => Some(row),
                    Err(why) => {
                        tracing::error!(why, "a token cannot be read and is refused");
                        None
                    }
                });
                self.doors.set_tokens(Tokens::new(rows));
            }
            Err(error) => tracing::warn!(%error, "tokens cannot be read; those known stay"),
        }
    }

    /// Writes to the audit log; what cannot be written is logged instead, so that it is not lost. The request keeps its
    /// place until it is written.
    pub fn audit(
        &self,
        place: Option<RequestPlace>,
        author: Author,
        action: &str,
        what: &str,
        outcome: &str,
    ) {
        tracing::info!(target: "audit", author = author.name, action, what, outcome);
        let event = AuditEvent {
            id: 0,
            at: clock::now(),
            author,
            action: action.to_owned(),
            what: what.to_owned(),
            outcome: outcome.to_owned(),
        };
        let store = Arc::clone(&self.store);
        let write = move || {
            let _kept = place;
            if let Err(error) = store.audit(&event) {
                tracing::error!(%error, "an audit event could not be stored");
            }
        };
        match Handle::try_current() {
            Ok(handle) => drop(handle.spawn_blocking(write)),
            Err(_) => write(),
        }
    }
}

/// A token as the guard knows it.
fn known(row: TokenRow) -> Result<overrule_guard::TokenRecord, String> {
    Ok(overrule_guard::TokenRecord {
        grants: serde_json::from_str(&row.grants).map_err(|e| e.to_string())?,
        hash: std::str::from_utf8(&row.hash)
            .map_err(|e| e.to_string())
            .and_then(|text| text.parse().map_err(|e: overrule_guard::HashError| e.to_string()))?,
        id: row.id,
        name: row.name,
        created: row.created,
        expires: row.expires,
        revoked: row.revoked,
    })
}
