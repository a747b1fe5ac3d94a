// SPDX-License-Identifier: Apache-2.0
//! `overrule serve`: its settings, and the extensions of the server. Not here: serving (`overrule-server`).

use clap::builder::FalseyValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use overrule_ask::{AskError, AskResult, Exit};
use overrule_server::{Config, Extension, Extensions, ServeError, Switch};

use crate::args::Source;
use crate::typed::Typed;
use crate::world;

/// The APIs beside the server's own.
const EXTENSIONS: &[&dyn Extension] = &[&overrule_kuma_api::KumaApi];

/// What was typed: settings of the server and of its extensions.
#[derive(Debug, Clone)]
pub struct Serve(Config);

fn switches() -> impl Iterator<Item = Switch> {
    Extensions::new(EXTENSIONS).switches()
}

impl Args for Serve {
    fn augment_args(command: Command) -> Command {
        let command = Typed::<Config>::augment_args(command);
        // In help, they stand before the settings of logs.
        let order = command.get_arguments().position(|arg| arg.get_long() == Some("log-format"));
        command.args(switches().map(|switch| {
            let arg = Arg::new(switch.name).long(switch.name).help(switch.help);
            let arg = arg.action(ArgAction::SetTrue).help_heading("Serving").display_order(order);
            match switch.env {
                Some(name) => arg.env(name).value_parser(FalseyValueParser::new()),
                None => arg,
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Serve {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Typed(config) = Typed::<Config>::from_arg_matches(matches)?;
        let on = switches().filter(|switch| matches.get_flag(switch.name));
        let extensions = on.fold(Extensions::new(EXTENSIONS), |all, on| all.with(on.name));
        Ok(Self(Config { extensions, ..config }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Serves until it is stopped.
pub fn run(source: &Source, Serve(config): &Serve) -> AskResult {
    let options = world::options(source)?;
    // Kinds are resources like others: they are imported with the files.
    let files = source.files.iter().chain(&source.kinds).cloned().collect();
    match overrule_server::run(config.clone(), files, options) {
        Ok(()) => Ok(Exit::Fine),
        Err(ServeError::Usage(why)) => Err(AskError::Usage(why)),
        Err(ServeError::World(why)) => Err(AskError::World(why)),
    }
}
