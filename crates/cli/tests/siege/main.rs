// SPDX-License-Identifier: Apache-2.0
//! In: the built command as a server, killed, starved and misused. Out: that it loses nothing, tells nothing it must not
//! tell, and comes back by itself. Not here: which answers are right (`cli`, and the crates' own tests).
//!
//! Tests that measure or need the whole machine take turns ([`turn`]). `OVERRULE_KILLS` and `OVERRULE_PG_KILLS` change how
//! often the server and its database are killed, `OVERRULE_SEED` when.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, in its helpers too; it has a clock and an environment"
)]

mod apart;
mod ask;
mod asks;
mod bursts;
mod commands;
mod copies;
mod crash;
mod database;
mod ending;
mod ledger;
mod lines;
mod load;
mod lock;
mod manifests;
mod random;
mod server;
mod sessions;
mod settings;
mod tenants;
mod together;
mod tokens;

use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test needs the machine for itself.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number from the environment.
pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().map_or(usual, |text| text.parse().expect(name))
}
