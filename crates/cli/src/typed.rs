// SPDX-License-Identifier: Apache-2.0
//! In: tables of parameters. Out: their arguments on the command line, and what was typed there, as types. Not here:
//! the tables (`overrule_ask`, `overrule_server::Config`), settings of families (`settings.rs`).

use std::net::SocketAddr;
use std::ops::Deref;

use clap::builder::{FalseyValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};
use overrule_ask::{Arguments, Parameter, Parameters, Required, Takes};

/// What was typed for the parameters of a table.
#[derive(Debug, Clone)]
pub struct Typed<T>(pub T);

impl<T> Deref for Typed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// The rows that are on the command line.
fn rows<T: Parameters>() -> impl Iterator<Item = &'static Parameter> {
    T::TABLE.iter().filter(|row| row.on_command_line())
}

impl<T: Parameters> Args for Typed<T> {
    fn augment_args(command: Command) -> Command {
        command.args(rows::<T>().flat_map(arguments))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Parameters> FromArgMatches for Typed<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut typed = Arguments::default();
        for row in rows::<T>() {
            let alone = row.flagged.and_then(|_| matches.get_one::<String>(ALONE));
            typed.add_all(row.name, alone);
            let name = row.named.then(|| matches.get_one::<String>(NAME)).flatten();
            match row.takes {
                Takes::Flag if matches.get_flag(row.name) => typed.add(row.name, "true"),
                Takes::Flag => {}
                _ => {
                    let values = matches.get_raw(row.name).into_iter().flatten();
                    let values = values.map(|value| value.to_string_lossy());
                    match name {
                        None => values.for_each(|value| typed.add(row.name, value)),
                        Some(name) => {
                            let kinds = values.collect::<String>();
                            typed.add(row.name, kind_and_name(&kinds, name)?);
                        }
                    }
                }
            }
        }
        let read = T::read(&typed);
        read.map(Self).map_err(|why| Error::raw(ErrorKind::InvalidValue, why))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The second of two words that name a target.
const NAME: &str = "name of a target";

/// What stands alone, by name.
const ALONE: &str = "alone";

/// `httproute` and `cart` are a target, as kubectl has it.
fn kind_and_name(kind: &str, name: &str) -> Result<String, Error> {
    if kind.contains('/') {
        let detail = format!(
            "`{kind}` names everything already; write kind/namespace/name, or kind and name and -n NAMESPACE\n"
        );
        return Err(Error::raw(ErrorKind::TooManyValues, detail));
    }
    Ok(format!("{kind}/{name}"))
}

/// A row, and the other ways to write it.
fn arguments(row: &Parameter) -> Vec<Arg> {
    let mut all = vec![argument(row)];
    if row.named {
        let help = format!("The name, if {} is a kind: `httproute cart -n shop`", row.value_name);
        all.push(Arg::new(NAME).value_name("NAME").help(help).requires(row.name));
    }
    if let Some(help) = row.flagged {
        let alone = Arg::new(ALONE).long(row.name).value_name("TARGET").help(help);
        all.push(alone.conflicts_with(row.name));
    }
    all
}

/// One of some words, or a text that begins like this, which whoever reads it checks.
#[derive(Clone)]
struct WordOr {
    words: Vec<PossibleValue>,
    begin: &'static str,
    about: &'static str,
}

impl TypedValueParser for WordOr {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, Error> {
        match value.to_str().filter(|text| text.starts_with(self.begin)) {
            Some(text) => Ok(text.to_owned()),
            None => {
                let all: Vec<PossibleValue> =
                    self.possible_values().into_iter().flatten().collect();
                PossibleValuesParser::new(all).parse_ref(command, arg, value)
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let other = PossibleValue::new(self.begin).help(self.about);
        Some(Box::new(self.words.iter().cloned().chain([other])))
    }
}

fn argument(row: &Parameter) -> Arg {
    let mut arg = Arg::new(row.name)
        .help(row.help)
        .help_heading(row.heading.or(row.shared.map(|_| "Shared options")))
        .required(row.required == Required::Always)
        .conflicts_with_all(row.conflicts)
        .global(row.shared.is_some());
    if !row.positional {
        arg = arg.long(row.name);
    }
    if !row.value_name.is_empty() {
        arg = arg.value_name(row.value_name);
    }
    if let Some(short) = row.short {
        arg = arg.short(short);
    }
    if let Some(default) = row.default {
        arg = arg.default_value(default);
    }
    if let Some(other) = row.requires {
        arg = arg.requires(other);
    }
    if let Some(variable) = row.env {
        arg = arg.env(variable);
    }
    if let Some(place) = row.shared {
        arg = arg.display_order(place);
    }
    match row.takes {
        Takes::Flag => arg.action(ArgAction::SetTrue).value_parser(FalseyValueParser::new()),
        Takes::Text | Takes::Word(_) => arg,
        // In a variable, commas part them.
        Takes::Texts if row.env.is_some() => arg.action(ArgAction::Append).value_delimiter(','),
        Takes::Texts => arg.action(ArgAction::Append),
        Takes::Path => arg.value_parser(value_parser!(std::path::PathBuf)),
        Takes::Number(largest) => arg.value_parser(value_parser!(u64).range(..=largest)),
        Takes::Address => arg.value_parser(value_parser!(SocketAddr)),
        Takes::Choice { words, help, or } => {
            let word = |(word, help): (&&'static str, &&'static str)| {
                PossibleValue::new(*word).help(*help)
            };
            let words: Vec<PossibleValue> = words.iter().zip(help).map(word).collect();
            match or {
                None => arg.value_parser(PossibleValuesParser::new(words)),
                Some((begin, about)) => arg.value_parser(WordOr { words, begin, about }),
            }
        }
    }
}
