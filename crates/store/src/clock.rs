// SPDX-License-Identifier: Apache-2.0
//! In: the clock of the machine, and numbers. Out: times to the microsecond, as both databases keep them.
//! Not here: order; that times grow with revisions is the work of a commit.

use jiff::Timestamp;

use crate::error::StoreError;

/// The time now, cut to microseconds so that what is returned equals what is read later.
pub(crate) fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
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
