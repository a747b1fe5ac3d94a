// SPDX-License-Identifier: Apache-2.0
//! `overrule serve`: put manifests in, ask what is in force, watch it change.
//!
//! ```text
//!  files ─► folder ─┐
//!  clients ─► guard ─► http ─► v1, extensions ─► admission ─► store   what is stored
//!                              │                                │ changes
//!                              ◄──── state ──── live ◄──────────┘     what is in force
//! ```
//!
//! In: requests and files. Out: answers from a state that is resolved whole and published at once. Not here: any rule
//! about policies (`overrule`), how answers are worded (`overrule_ask`), keeping things (`overrule_store`), who may come
//! in (`overrule_guard`).

mod admission;
mod app;
mod call;
mod changes;
mod clock;
mod concerns;
mod config;
mod derived;
mod differences;
pub mod extension;
mod first_token;
mod folder;
mod http;
mod live;
mod metrics;
pub mod openapi;
mod operations;
mod otlp;
mod prepared;
mod probes;
mod problem;
mod reader;
mod readiness;
mod records;
mod resolving;
mod run;
mod settings;
mod shapes;
mod stop;
mod table;
mod touched;
mod v1;
mod vitals;
mod work;

/// What reads the texts of strangers, for tests that make them up.
#[doc(hidden)]
pub mod hostile {
    pub use crate::admission::{Admitted, Manifest, admit};
}

/// What a change costs, for benchmarks and tests below HTTP.
#[doc(hidden)]
pub mod watching {
    pub use crate::differences::{Differences, WatchFilter};
    pub use crate::live::{Live, Resolving, State};
    pub use crate::work::{WorkClass, WorkTurn, WorkTurns};
}

pub use config::{Auth, Config, LogFormat};
pub use extension::{Extension, Extensions, Switch};
pub use run::{Running, ServeError, run, start, start_beside};
