// SPDX-License-Identifier: Apache-2.0
//! In: changes to resources, with the name of who makes them. Out: what is there now, what was there at any revision that is
//! kept, and a feed of what changed. Not here: what a resource means; a resource is a key and a text.
//!
//! Three stores share one logic ([`Store`]): a folder ([`open_folder`]), memory ([`open_memory`]) and PostgreSQL
//! ([`open_postgres`]). Every method blocks, so asynchronous code calls them from a thread that may block.

mod change;
mod checked;
mod clock;
mod deadline;
mod dump;
mod error;
mod feed;
mod pg;
mod plan;
mod probe;
mod read;
mod record;
mod restore;
mod retain;
mod schema;
mod shared;
mod sql;
mod sqlite;
mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod trust;

pub use clock::ClockTrouble;
pub use deadline::Deadline;
pub use error::StoreError;
pub use pg::{PgTls, open_postgres};
pub use record::{
    AuditEvent, Author, Change, ChangeKind, Committed, HistoryEntry, HistoryFilter, Precondition,
    Pruned, Record, ResourceKey, ResourceScope, Retention, StoreConnections, StoreSnapshot,
    TextFormat, TokenRow, WrittenChange,
};
pub use sqlite::{open_folder, open_memory};
pub use store::Store;
