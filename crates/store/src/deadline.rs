// SPDX-License-Identifier: Apache-2.0
//! In: when a call began and how long its caller waits. Out: the latest moments to commit and to answer. Not here: who checks
//! them: each database, on its way to a commit.

use std::time::{Duration, Instant};

use crate::clock;

/// How long a call may take that nobody has given a deadline.
const USUAL: Duration = Duration::from_secs(40);

/// How long a backup, a restore or a migration may take, and at most anything else.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// When a write must be over. A caller who was told that a write failed goes on as if it had never been, so nothing may be
/// committed after the first moment; whether it was is known by the second.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    commit: Instant,
    answer: Instant,
}

impl Deadline {
    /// For a caller who began to wait at a moment and goes away when the limit is over: a quarter of it is left to find out
    /// what became of the commit, and to answer.
    pub fn of(since: Instant, limit: Duration) -> Self {
        let limit = limit.min(LONG);
        Self { commit: since + limit * 3 / 4, answer: since + limit * 7 / 8 }
    }

    /// For a caller who begins to wait now.
    pub fn within(limit: Duration) -> Self {
        Self::of(clock::instant(), limit)
    }

    /// For a caller who says nothing.
    pub fn usual() -> Self {
        Self::within(USUAL)
    }

    /// For work that nobody waits for, such as pruning or an import.
    pub fn long() -> Self {
        Self::within(LONG)
    }

    /// The same, with an answer by then at the latest.
    pub(crate) fn before(self, answer: Instant) -> Self {
        Self { commit: self.commit.min(answer), answer: self.answer.min(answer) }
    }

    /// Nothing is committed after this.
    pub fn commit(self) -> Instant {
        self.commit
    }

    /// The caller is answered by then.
    pub fn answer(self) -> Instant {
        self.answer
    }

    /// What is left until the last moment for a commit.
    pub fn left(self) -> Duration {
        self.commit.saturating_duration_since(clock::instant())
    }

    /// Whether it is too late for a commit.
    pub fn is_over(self) -> bool {
        self.left().is_zero()
    }
}
