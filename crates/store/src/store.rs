// SPDX-License-Identifier: Apache-2.0
//! The interface of every store. Not here: any store.

use std::io::{BufRead, Write};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::clock::ClockTrouble;
use crate::deadline::Deadline;
use crate::error::StoreError;
use crate::record::{
    AuditEvent, Author, Change, Committed, HistoryEntry, HistoryFilter, Pruned, Record,
    ResourceKey, Retention, StoreConnections, StoreSnapshot, TokenRow,
};

/// A store of resources that loses nothing. Revisions count commits that changed something: the empty store is at 0.
///
/// Every method blocks and must not be called on a thread that drives asynchronous tasks.
pub trait Store: Send + Sync {
    /// Makes all changes, in order, as one revision, or none of them. When it returns, they are on disk. If no change alters
    /// anything there is no new revision and no history. When it fails, they are not made later either.
    fn commit(&self, author: &Author, changes: &[Change]) -> Result<Committed, StoreError> {
        self.commit_before(Deadline::usual(), author, changes)
    }

    /// The same for a caller who must know by a certain time.
    fn commit_before(
        &self,
        deadline: Deadline,
        author: &Author,
        changes: &[Change],
    ) -> Result<Committed, StoreError>;

    /// The newest revision.
    fn revision(&self) -> Result<u64, StoreError>;

    /// A resource as it is, or was at a revision. None also if its text at that revision was redacted; the history tells.
    fn get(&self, key: &ResourceKey, as_of: Option<u64>) -> Result<Option<Record>, StoreError>;

    /// Everything as it is, or was at a revision, in one consistent read.
    fn snapshot(&self, as_of: Option<u64>) -> Result<StoreSnapshot, StoreError>;

    /// The changes after a revision, oldest first: about `limit` of them (at least one revision), never a part of a revision.
    fn changes(&self, after: u64, limit: usize) -> Result<Vec<HistoryEntry>, StoreError>;

    /// Past changes, newest first, never a part of what a revision did within the filter.
    fn history(&self, filter: &HistoryFilter) -> Result<Vec<HistoryEntry>, StoreError>;

    /// The newest revision not after a time.
    fn revision_at(&self, time: Timestamp) -> Result<u64, StoreError>;

    /// Drops the history that need not be kept. The present is never touched.
    fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError>;

    /// Drops the events of the audit log that need not be kept; tells how many.
    fn prune_audit(&self, retention: &Retention) -> Result<u64, StoreError>;

    /// Removes the texts of a resource from the history, except the one that is there now; tells how many. Who changed it
    /// when stays. The redaction itself goes to the audit log.
    fn redact(
        &self,
        deadline: Deadline,
        author: &Author,
        key: &ResourceKey,
    ) -> Result<u64, StoreError>;

    /// All tokens, sorted by id.
    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError>;

    /// Adds a token, or replaces the one with the same id.
    fn put_token(&self, deadline: Deadline, row: &TokenRow) -> Result<(), StoreError>;

    /// Revokes a token; false if there is none of that id. One that is revoked keeps its first time.
    fn revoke_token(&self, deadline: Deadline, id: &str, at: Timestamp)
    -> Result<bool, StoreError>;

    /// Adds a token only if there has never been one, over all instances; tells whether it did.
    fn first_token(&self, row: &TokenRow) -> Result<bool, StoreError>;

    /// Appends to the audit log.
    fn audit(&self, event: &AuditEvent) -> Result<(), StoreError>;

    /// The audit log, newest first, from below the event `before`.
    fn audit_log(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEvent>, StoreError>;

    /// Writes a backup of one consistent state while others keep reading and writing. It holds the hashes of the tokens.
    fn dump(&self, out: &mut dyn Write) -> Result<(), StoreError>;

    /// Reads a backup into an empty store, wholly or not at all; tells the revision.
    fn restore(&self, from: &mut dyn BufRead) -> Result<u64, StoreError>;

    /// The newest revision known here; what other instances commit arrives within a second.
    fn subscribe(&self) -> watch::Receiver<u64>;

    /// A number that grows whenever a token is added or revoked, by any instance.
    fn token_changes(&self) -> watch::Receiver<u64>;

    /// That another release has changed the schema, so that this one writes no more; known within a second.
    fn other_schema(&self) -> Option<StoreError>;

    /// What is wrong with the clocks that changes are dated by, as far as is known here.
    fn clock_trouble(&self) -> Option<ClockTrouble>;

    /// Bytes that the database keeps for the store: files, or tables with their indexes.
    fn size(&self) -> Result<u64, StoreError>;

    /// How the connections of this instance are used; none if the database is in the process. Never waits.
    fn connections(&self) -> Option<StoreConnections>;

    /// Whether a write would be taken now. Makes one that leaves nothing behind, and takes less than a second even if the
    /// database does not answer.
    fn healthy(&self) -> Result<(), StoreError>;
}
