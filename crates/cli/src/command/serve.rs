// SPDX-License-Identifier: Apache-2.0
//! `overrule serve`: its settings, what it reads by flags or variables, and the extensions of the server. Not here: serving
//! (`overrule-server`).

use std::path::PathBuf;

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
        let command = Typed::<Config>::augment_args(command).after_help(VARIABLES);
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

/// What reading depends on may come by variables too, for a container that has no arguments. Only here: commands that ask
/// or delete must not read what somebody has set for a server.
const VARIABLES: &str = "Variables of shared options, for this command only: OVERRULE_FILE, OVERRULE_KINDS, \
OVERRULE_PROFILE (commas separate), OVERRULE_ASSUME_CREATED, OVERRULE_DEFAULT_NAMESPACE, OVERRULE_LENIENT, \
OVERRULE_KUMA_MODE, OVERRULE_KUMA_ZONE, OVERRULE_SYSTEM_NAMESPACE, OVERRULE_KGATEWAY and OVERRULE_ENVOYGATEWAY (one \
setting per line)";

/// The source, with what variables say where no flag does.
fn with_variables(source: &Source, variable: impl Fn(&str) -> Option<String>) -> Source {
    let of = |option: &str| {
        let name = option.to_uppercase().replace('-', "_");
        variable(&format!("OVERRULE_{name}")).filter(|value| !value.is_empty())
    };
    let list = |option: &str| -> Vec<String> {
        of(option).iter().flat_map(|text| text.split(',')).map(str::to_owned).collect()
    };
    let mut source = source.clone();
    if source.files.is_empty() {
        source.files = list("file").into_iter().map(PathBuf::from).collect();
    }
    if source.kinds.is_empty() {
        source.kinds = list("kinds").into_iter().map(PathBuf::from).collect();
    }
    if source.profile.is_empty() {
        source.profile = list("profile");
    }
    source.assume_created = source.assume_created.or_else(|| of("assume-created"));
    source.default_namespace = source.default_namespace.or_else(|| of("default-namespace"));
    let no = ["0", "false", "no", "off", "n", "f"];
    source.lenient |= of("lenient").is_some_and(|v| !no.contains(&v.to_ascii_lowercase().as_str()));
    source.settings.or(of);
    source
}

#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Serves until it is stopped.
pub fn run(source: &Source, Serve(config): &Serve) -> AskResult {
    let source = &with_variables(source, variable);
    let options = world::options(source)?;
    // Kinds are resources like others: they are imported with the files.
    let files = source.files.iter().chain(&source.kinds).cloned().collect();
    match overrule_server::run(config.clone(), files, options) {
        Ok(()) => Ok(Exit::Fine),
        Err(ServeError::Usage(why)) => Err(AskError::Usage(why)),
        Err(ServeError::World(why)) => Err(AskError::World(why)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::{VARIABLES, with_variables};
    use crate::args::Args;

    /// Shared options that mean nothing to a server that starts.
    const OF_QUESTIONS: [&str; 10] = [
        "namespace",
        "all-namespaces",
        "selector",
        "compare",
        "output",
        "color",
        "quiet",
        "verbose",
        // Nothing is assumed in a store.
        "strict",
        "help",
    ];

    #[test]
    fn every_option_of_the_server_has_a_variable() {
        let mut all = Args::command();
        all.build();
        let serve = all.find_subcommand("serve").unwrap();
        for arg in serve.get_arguments() {
            let name = arg.get_long().unwrap();
            let variable = format!("OVERRULE_{}", name.to_uppercase().replace('-', "_"));
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let known = arg.get_env().is_some_and(|env| *env == *variable)
                || help.contains(&format!("[env: {variable}]"))
                || VARIABLES.contains(&variable)
                || [&OF_QUESTIONS[..], &["version"]].concat().contains(&name);
            assert!(known, "--{name} has no variable");
        }
    }

    #[test]
    fn flags_come_before_variables() {
        let variable = |name: &str| {
            let value = match name {
                "OVERRULE_FILE" => "a,b",
                "OVERRULE_PROFILE" => "kuma=2.13,kuadrant=operator",
                "OVERRULE_LENIENT" => "1",
                "OVERRULE_KUMA_ZONE" => "east",
                "OVERRULE_KGATEWAY" => "a=1\nb={\"x\": 1, \"y\": 2}",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let typed = |line: &[&str]| {
            let source = Args::try_parse_from(line).unwrap().source;
            format!("{:?}", with_variables(&source, variable))
        };
        let empty = typed(&["overrule", "serve"]);
        let flags =
            ["-f", "a", "-f", "b", "--profile", "kuma=2.13", "--profile", "kuadrant=operator"];
        let more = [
            "--lenient",
            "--kuma-zone",
            "east",
            "--kgateway",
            "a=1",
            "--kgateway",
            "b={\"x\": 1, \"y\": 2}",
        ];
        let same = typed(&[&["overrule", "serve"][..], &flags, &more].concat());
        assert_eq!(empty, same);
        assert!(typed(&["overrule", "serve", "-f", "c"]).contains("files: [\"c\"]"));
    }
}
