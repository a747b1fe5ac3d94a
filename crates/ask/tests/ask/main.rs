// SPDX-License-Identifier: Apache-2.0
//! Answers, asked as a library: what a reader who may not read everything is told.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "test code: a broken expectation shall stop the test"
)]

mod access;
mod beside;
mod changes;
mod deletion;
mod tenancy;
mod worlds;
