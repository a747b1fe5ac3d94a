// SPDX-License-Identifier: Apache-2.0
//! In: the settings that families have. Out: their options on the command line, and what was typed there. Not here: what
//! they mean; each family reads its own.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use overrule::{Setting, SettingValues, families};
use overrule_ask::AskError;
use serde_json::Value;

/// Where options of families stand in help, among the shared ones.
const FIRST: usize = 7;

/// What was typed: family, setting, values.
#[derive(Debug, Clone, Default)]
pub struct FamilySettings(Vec<(&'static str, Setting, Vec<String>)>);

fn all() -> impl Iterator<Item = (&'static str, Setting)> {
    families().iter().flat_map(|family| family.settings().iter().map(|s| (family.name(), *s)))
}

impl Args for FamilySettings {
    fn augment_args(command: Command) -> Command {
        command.args(all().zip(FIRST..).map(|((_, setting), order)| {
            let action = if setting.keys.len() > 1 { ArgAction::Append } else { ArgAction::Set };
            Arg::new(setting.option)
                .long(setting.option)
                .value_name(setting.value_name)
                .help(setting.help)
                .help_heading("Shared options")
                .action(action)
                .global(true)
                .display_order(order)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FamilySettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = all().map(|(family, setting)| {
            let values = matches.get_many::<String>(setting.option);
            (family, setting, values.into_iter().flatten().cloned().collect())
        });
        Ok(Self(typed.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl FamilySettings {
    /// Adds what is said elsewhere of options that were not typed. Several of one option stand on lines.
    pub fn or(&mut self, said: impl Fn(&str) -> Option<String>) {
        for (_, setting, values) in self.0.iter_mut().filter(|(_, _, values)| values.is_empty()) {
            values.extend(
                said(setting.option).iter().flat_map(|text| text.lines()).map(str::to_owned),
            );
        }
    }

    /// What was typed, checked.
    pub fn read(&self) -> Result<SettingValues, AskError> {
        let mut settings = SettingValues::default();
        for (family, setting, values) in &self.0 {
            for value in values {
                set(&mut settings, family, setting, value)?;
            }
        }
        Ok(settings)
    }
}

/// Changes one setting. A value is JSON if it is a mapping, or else the text itself.
fn set(
    settings: &mut SettingValues,
    family: &'static str,
    setting: &Setting,
    typed: &str,
) -> Result<(), AskError> {
    let (key, value) = match setting.keys {
        [key] => (*key, typed),
        keys => typed.split_once('=').ok_or_else(|| {
            let (option, keys) = (setting.option, keys.join(", "));
            AskError::Usage(format!("--{option} {typed}: write KEY=VALUE; keys are {keys}"))
        })?,
    };
    let json = serde_json::from_str(value).ok().filter(Value::is_object);
    let json = json.unwrap_or_else(|| value.into());
    let checked = overrule::family(family).map_or(Ok(()), |family| family.check(key, &json));
    checked.map_err(|why| {
        let option = setting.option;
        AskError::Usage(match setting.keys.len() {
            1 => format!("--{option} {why}"),
            _ => format!("--{option} {typed}: {why}"),
        })
    })?;
    settings.set(family, key, json);
    Ok(())
}
