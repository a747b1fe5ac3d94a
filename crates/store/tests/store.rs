// SPDX-License-Identifier: Apache-2.0
//! In: all stores. Out: proof that they keep what they promise. Not here: tests of single functions, which are beside them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::exit,
    clippy::cast_possible_truncation,
    reason = "a failed expectation is the failure of the test; children of tests talk over their output"
)]

#[path = "store/backup.rs"]
mod backup;
#[path = "store/basics.rs"]
mod basics;
#[path = "store/common.rs"]
mod common;
#[path = "store/crash.rs"]
mod crash;
#[path = "store/files.rs"]
mod files;
#[path = "store/history.rs"]
mod history;
#[path = "store/linear.rs"]
mod linear;
#[path = "store/lines.rs"]
mod lines;
#[path = "store/model.rs"]
mod model;
#[path = "store/postgresql.rs"]
mod postgresql;
#[path = "store/together.rs"]
mod together;

#[allow(dead_code, reason = "shared with other crates")]
#[path = "../src/testing.rs"]
mod testing;
