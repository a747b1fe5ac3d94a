// SPDX-License-Identifier: Apache-2.0
//! In: settings. Out: connections, lent one at a time, made anew after the server was away. Not here: what is said on them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::Failure;
use super::link::Link;
use crate::clock::instant as now;
use crate::error::StoreError;
use crate::record::StoreConnections;

/// Connections of one instance for reads and writes; one more listens.
const MOST: usize = 8;
/// How long a caller waits for a free connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pauses between attempts to connect, from the first to the longest.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// All connections of a store.
pub(super) struct Pool {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    schema: String,
    channel: String,
    state: Mutex<State>,
    freed: Condvar,
    closed: AtomicBool,
}

#[derive(Default)]
struct State {
    idle: Vec<Link>,
    lent: usize,
    /// Set while the server is away.
    away: Option<Away>,
}

struct Away {
    why: StoreError,
    pause: Duration,
    until: Instant,
}

impl Pool {
    pub(super) fn new(config: Config, tls: Option<MakeRustlsConnect>, schema: String) -> Self {
        let channel = format!("overrule_{schema}");
        let state = Mutex::new(State::default());
        let (freed, closed) = (Condvar::new(), AtomicBool::new(false));
        Self { config, tls, schema, channel, state, freed, closed }
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// Where instances tell each other about commits.
    pub(super) fn channel(&self) -> &str {
        &self.channel
    }

    /// The number of the writers' lock: the same in every instance of a schema, unlikely to be anyone else's (FNV-1a).
    pub(super) fn lock(&self) -> i64 {
        let hash = self.channel.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        i64::from_ne_bytes(hash.to_ne_bytes())
    }

    /// Uses a connection, if one is free in time. One that turns out dead before anything was done is replaced, once.
    pub(super) fn with(
        &self,
        end: Instant,
        mut work: impl FnMut(&mut Link) -> Result<(), Failure>,
    ) -> Result<(), StoreError> {
        let mut second = false;
        loop {
            let mut lease = self.lend(end)?;
            let Some(link) = lease.link.as_mut() else { return Err(self.gone()) };
            let failure = match work(link) {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            match failure {
                Failure::Refused(error) => return Err(error),
                Failure::Broken(error) => {
                    lease.discard();
                    return Err(error);
                }
                Failure::Stale(error) => {
                    lease.discard();
                    // Whatever killed one has most likely killed all.
                    let idle = std::mem::take(&mut self.locked().idle);
                    drop(idle);
                    if second {
                        return Err(error);
                    }
                    second = true;
                }
            }
        }
    }

    /// How they are used now.
    pub(super) fn load(&self) -> StoreConnections {
        let state = self.locked();
        StoreConnections { used: state.lent, idle: state.idle.len(), most: MOST }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self, end: Instant) -> Result<Lease<'_>, StoreError> {
        let deadline = end.min(now() + PATIENCE);
        let mut state = self.locked();
        loop {
            if let Some(link) = state.idle.pop() {
                state.lent += 1;
                return Ok(Lease { pool: self, link: Some(link) });
            }
            if let Some(away) = state.away.as_ref().filter(|away| away.until > now()) {
                return Err(away.why.clone());
            }
            if state.lent < MOST {
                state.lent += 1;
                break;
            }
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                let why = "all connections are in use; try again later";
                return Err(StoreError::Unavailable(why.to_owned()));
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        // From here the lease returns the place, whatever happens.
        let mut lease = Lease { pool: self, link: None };
        lease.link = Some(self.attempt(end)?);
        Ok(lease)
    }

    /// Connects, and remembers if that fails, so that a server that is away is not asked by every caller.
    fn attempt(&self, end: Instant) -> Result<Link, StoreError> {
        let result = self.connect(end);
        let mut state = self.locked();
        match &result {
            Ok(_) => state.away = None,
            Err(why) => {
                let last = state.away.as_ref().map_or(PAUSE / 2, |away| away.pause);
                let pause = (last * 2).min(LONGEST_PAUSE);
                state.away = Some(Away { why: why.clone(), pause, until: now() + pause });
            }
        }
        result
    }

    /// Says that the server is not away, so that nobody is told so any more.
    pub(super) fn back(&self) {
        self.locked().away = None;
    }

    /// A new connection, prepared for our work, if it comes in time.
    pub(super) fn connect(&self, end: Instant) -> Result<Link, StoreError> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(self.gone());
        }
        let patience = self.config.get_connect_timeout().copied().unwrap_or(PATIENCE);
        let end = end.min(now() + patience);
        let link = Link::connect(&self.config, self.tls.as_ref(), end)?;
        // A commit is acknowledged when it is on disk, even where the server's default is not to wait. A transaction that says
        // nothing any more must not keep other writers waiting.
        let settings = format!(
            "SET search_path TO \"{}\"; SET statement_timeout = '30s'; SET lock_timeout = '15s';
             SET idle_in_transaction_session_timeout = '5s'; SET client_min_messages = warning;
             SELECT set_config('synchronous_commit', 'on', false)
             WHERE current_setting('synchronous_commit') = 'off'",
            self.schema
        );
        link.wait(end, |client| client.batch_execute(&settings)).map_err(|error| error.told())?;
        Ok(link)
    }

    fn gone(&self) -> StoreError {
        StoreError::Unavailable("the store is closed".to_owned())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Ends all connections.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let idle = std::mem::take(&mut self.locked().idle);
        drop(idle);
    }
}

/// A connection on loan.
struct Lease<'a> {
    pool: &'a Pool,
    link: Option<Link>,
}

impl Lease<'_> {
    fn discard(&mut self) {
        self.link = None;
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.locked();
        state.lent -= 1;
        // One whose transaction is not over is of no use to anybody else.
        state.idle.extend(self.link.take().filter(|link| !link.is_busy));
        drop(state);
        self.pool.freed.notify_one();
    }
}
