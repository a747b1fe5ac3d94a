// SPDX-License-Identifier: Apache-2.0
//! The server over real HTTP, on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and wait for what comes"
)]

mod apart;
mod client;
mod container;
mod contrib;
mod extension;
mod hostile;
mod limits;
mod live;
mod operations;
mod questions;
mod resources;
mod tokens;
