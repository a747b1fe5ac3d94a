// SPDX-License-Identifier: Apache-2.0
//! The installed Envoy, or a test that says it did not run. Not here: tests.

use overrule_proof::{Envoy, install};

/// Envoy, or none if it cannot be had and `OVERRULE_PROOF=skip` allows to go on without: a test that cannot run must not
/// look as if it had.
pub fn envoy() -> Option<Envoy> {
    match install() {
        Ok(envoy) => Some(envoy),
        Err(why) if std::env::var("OVERRULE_PROOF").as_deref() == Ok("skip") => {
            eprintln!("NOT RUN, nothing is proved: {why}");
            None
        }
        Err(why) => {
            panic!("NOT RUN: {why}\n(OVERRULE_PROOF=skip lets the other tests go on without it)")
        }
    }
}
