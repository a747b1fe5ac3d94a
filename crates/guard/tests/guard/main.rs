// SPDX-License-Identifier: Apache-2.0
//! Grants and tokens as laws; the gate and the listener over real sockets, with strangers that mean harm.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    reason = "a test that finds something else than it expects has to fail"
)]

mod doors;
mod gate;
mod grants;
mod h2;
mod hosts;
mod lab;
mod secrets;
mod slow;
mod stop;
mod tls;
mod tokens;
