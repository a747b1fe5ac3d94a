// SPDX-License-Identifier: Apache-2.0
//! A family that a program registers, asked by every command and every endpoint. No other crate knows of it.
//!
//! The test is also the program: it starts itself, with [`SELF`] in its environment, as the `overrule` command with the
//! family registered.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a test may fail loudly, and says what it did"
)]

mod commands;
mod family;
mod program;
mod server;

use std::process::ExitCode;

/// Set where the test shall be the command.
const SELF: &str = "OVERRULE_TOY";

fn main() -> ExitCode {
    assert!(overrule::register(&family::Toy), "registered before anybody asked for families");
    if std::env::var_os(SELF).is_some() {
        return overrule_cli::main();
    }
    let folder = program::folder();
    commands::answer(folder.path());
    commands::differ_by_profile(folder.path());
    commands::take_its_setting(folder.path());
    commands::document_its_code();
    commands::test_it(folder.path());
    server::answers(folder.path());
    server::tells_what_changes(folder.path());
    println!("the toy family was answered by every command and endpoint");
    ExitCode::SUCCESS
}
