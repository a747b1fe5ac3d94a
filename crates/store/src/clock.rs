// SPDX-License-Identifier: Apache-2.0
//! In: the clocks of the machine, and numbers. Out: times to the microsecond, as both databases keep them; a clock that does not
//! jump. Not here: order; that times fit those before them is the work of a commit.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::error::StoreError;

/// A step up to this is not a jump: clocks are corrected by such amounts all the time.
pub(crate) const STEP: SignedDuration = SignedDuration::from_secs(2);

/// Now, for measuring.
#[expect(
    clippy::disallowed_methods,
    reason = "deadlines, pauses and patience are measured by the clock"
)]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// A time as a number.
pub(crate) fn number(time: Timestamp) -> i64 {
    time.as_microsecond()
}

/// A number as a time.
pub(crate) fn time(number: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(number)
        .map_err(|_out_of_range| StoreError::Damaged(format!("{number} is not a time")))
}

/// What the clocks of a machine say at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockReading {
    /// The time, which anybody may set.
    pub(crate) wall: Timestamp,
    /// How long the machine has been running, which nobody can set.
    pub(crate) running: SignedDuration,
}

impl ClockReading {
    fn of_machine() -> Self {
        Self { wall: Timestamp::now(), running: running() }
    }

    /// The time by the running of the machine, if a reading before was right.
    fn by_running(self, before: Self) -> Timestamp {
        let passed = self.running.saturating_sub(before.running);
        before.wall.saturating_add(passed).unwrap_or(self.wall)
    }
}

/// Time since the machine started, sleep included: a machine that slept has not had its clock set.
#[cfg(target_os = "linux")]
fn running() -> SignedDuration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    SignedDuration::new(now.tv_sec, i32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn running() -> SignedDuration {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    let passed = instant().saturating_duration_since(*START.get_or_init(instant));
    SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX)
}

/// The time as changes are dated. It follows the machine's clock. When that jumps, it goes on without it, because a wrong time
/// in the history is there for good; which time is right is for people to say.
pub(crate) struct SteadyClock {
    read: Box<dyn Fn() -> ClockReading + Send + Sync>,
    state: Mutex<Followed>,
}

struct Followed {
    /// When the machine's clock was believed last.
    last: ClockReading,
    /// How far it has jumped since.
    jumped: Option<SignedDuration>,
}

impl SteadyClock {
    /// The machine's.
    pub(crate) fn of_machine() -> Self {
        Self::reading(Box::new(ClockReading::of_machine))
    }

    /// One that is read so.
    pub(crate) fn reading(read: Box<dyn Fn() -> ClockReading + Send + Sync>) -> Self {
        let state = Mutex::new(Followed { last: read(), jumped: None });
        Self { read, state }
    }

    /// The time, cut to microseconds so that what is returned equals what is read later.
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.look().0;
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    /// How far the machine's clock is from this one, if it has jumped.
    pub(crate) fn jumped(&self) -> Option<SignedDuration> {
        self.look().1
    }

    fn look(&self) -> (Timestamp, Option<SignedDuration>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let found = (self.read)();
        let steady = found.by_running(state.last);
        let apart = found.wall.duration_since(steady);
        if apart.abs() <= STEP {
            *state = Followed { last: found, jumped: None };
            return (found.wall, None);
        }
        state.jumped = Some(apart);
        (steady, state.jumped)
    }
}

/// What is wrong with a clock. Changes are dated as well as can be; somebody should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockTrouble {
    /// The clock of this machine was set by so much while the store was open.
    Jumped(SignedDuration),
    /// The clock of this machine is so far from that of the database.
    Apart(SignedDuration),
    /// The newest change is dated so far in the future.
    Future(SignedDuration),
}

impl fmt::Display for ClockTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = |by: SignedDuration, ahead, behind| if by.is_negative() { behind } else { ahead };
        match *self {
            Self::Jumped(by) => write!(
                f,
                "the clock of this machine jumped {} by {:#}; changes are dated as if it had not; set it right, or restart the \
                 server if the new time is right",
                way(by, "forward", "back"),
                whole(by)
            ),
            Self::Apart(by) => write!(
                f,
                "the clock of this machine is {:#} {} that of the database; changes are dated by the earlier one; set it right",
                whole(by),
                way(by, "ahead of", "behind")
            ),
            Self::Future(by) => write!(
                f,
                "the newest change is dated {:#} in the future: a clock was ahead when it was made, or this one is behind; \
                 check the clock",
                whole(by)
            ),
        }
    }
}

/// Without a sign, and without what nobody reads.
fn whole(by: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(by.abs().as_secs())
}

/// A time in the future that is noticed.
pub(crate) fn beyond(time: Timestamp, now: Timestamp) -> Option<SignedDuration> {
    Some(time.duration_since(now)).filter(|by| *by > STEP)
}
