// SPDX-License-Identifier: Apache-2.0
//! `overrule serve`. Not here: serving (`overrule-server`).

use overrule_ask::{Exit, Failure, Outcome};
use overrule_server::{Config, ServeError};

use crate::args::Source;
use crate::world;

/// Serves until it is told to stop.
pub fn run(source: &Source, config: &Config) -> Outcome {
    let options = world::options(source)?;
    // Kinds are resources like others: they are imported with the files.
    let files = source.files.iter().chain(&source.kinds).cloned().collect();
    match overrule_server::run(config.clone(), files, options) {
        Ok(()) => Ok(Exit::Fine),
        Err(ServeError::Usage(why)) => Err(Failure::Usage(why)),
        Err(ServeError::World(why)) => Err(Failure::World(why)),
    }
}
