// SPDX-License-Identifier: Apache-2.0
//! The one place that asks what time it is.

use std::time::Instant;

/// Now, for measuring.
#[expect(clippy::disallowed_methods, reason = "a server measures how long things take")]
pub fn instant() -> Instant {
    Instant::now()
}

/// Now, for records.
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
