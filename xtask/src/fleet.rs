// SPDX-License-Identifier: Apache-2.0
//! In: a seed and a size. Out: a folder of manifests. Not here: how a fleet is made (`testkit`).

use std::path::PathBuf;

/// Which fleet.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Equal seeds give equal fleets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Size by name
    #[arg(long)]
    preset: Option<String>,
    /// Number of routes
    #[arg(long)]
    routes: Option<usize>,
    /// Folder to write to
    #[arg(long)]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    Err(format!("the fleet generator is not there yet: {arguments:?}"))
}
