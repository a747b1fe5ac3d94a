// SPDX-License-Identifier: Apache-2.0
//! In: `cargo xtask COMMAND`. Out: what developers and CI run. Not here: anything a user of Overrule runs.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a tool of the repository: it prints, measures time and looks at its environment"
)]

mod cargo;
mod conformance;
mod disputed;
mod failures;
mod fleet;
mod fuzz;
mod inspect;
mod lines;
mod manifest;
mod rules;
mod scale;
mod schemas;
mod schemathesis;
mod steps;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What developers and CI run.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Formatting, lints, all tests, tidiness, conformance, a short fuzz run and a small benchmark
    Test(test::Arguments),
    /// The same as `test`: what CI runs
    Ci(test::Arguments),
    /// Run every case of a tree: our own format, a folder with MANIFEST.tsv, or .jsonl files
    Conformance(conformance::Arguments),
    /// Write a fleet of manifests: gateways or a mesh of any size, the same for the same seed
    #[command(subcommand)]
    Fleet(fleet::Family),
    /// Count the instructions of every stage with valgrind, and see how they grow
    Scale(scale::Arguments),
    /// Check what keeps the repository honest
    Tidy,
    /// Write the index of docs/rules
    Rules {
        /// Only say whether it is up to date
        #[arg(long)]
        check: bool,
    },
    /// Write the tables of schemas from released CRDs; needs Go and its module proxy
    Schemas {
        /// Only say whether they are right: written from these CRDs, and of their opinion about samples
        #[arg(long)]
        check: bool,
    },
    /// What schemathesis finds in the answers of the server
    Schemathesis(schemathesis::Arguments),
    /// Licences, duplicate versions and sources of dependencies, with cargo-deny if it is installed
    Deny,
}

fn main() -> ExitCode {
    let root = root();
    let result = match Arguments::parse().command {
        Command::Test(arguments) | Command::Ci(arguments) => test::run(&root, &arguments),
        Command::Conformance(arguments) => match conformance::run(&arguments) {
            // The count is the last word; nothing is said after it.
            Ok(false) => return ExitCode::FAILURE,
            result => result.map(|_| ()),
        },
        Command::Fleet(family) => fleet::run(&family),
        Command::Scale(arguments) => scale::run(&root, &arguments),
        Command::Schemas { check: false } => schemas::run(&root),
        Command::Schemas { check: true } => schemas::check(&root).map(|said| println!("{said:?}")),
        Command::Schemathesis(arguments) => {
            schemathesis::run(&root, &arguments).map(|said| println!("{said}"))
        }
        Command::Tidy => tidy::run(&root),
        Command::Rules { check } => rules::run(&root, check),
        Command::Deny => deny(&root),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// Advisories need the network and are left to `cargo deny check advisories`.
fn deny(root: &Path) -> Result<(), String> {
    if !cargo::has(root, "deny") {
        println!("did not run: cargo-deny is not installed (cargo install cargo-deny --locked)");
        return Ok(());
    }
    cargo::run(root, &["deny", "check", "licenses", "bans", "sources"])
}
