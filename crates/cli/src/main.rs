// SPDX-License-Identifier: Apache-2.0
//! The `overrule` binary.

use std::process::ExitCode;

/// A server that has answered a burst gives its memory back, from a thread of the allocator's own.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    overrule_cli::main()
}
