// SPDX-License-Identifier: Apache-2.0
//! The time. Not here: anything that could be decided without it; those functions take `now`.

/// The time, to compare with when tokens and certificates expire.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the clock")]
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(jiff::Timestamp::MAX)
}
