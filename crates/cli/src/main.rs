// SPDX-License-Identifier: Apache-2.0
//! The `overrule` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    overrule_cli::main()
}
