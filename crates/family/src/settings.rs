// SPDX-License-Identifier: Apache-2.0
//! In: settings as people give them. Out: values by family and name. Not here: what they mean; each family reads its own.

use std::collections::BTreeMap;

use serde_json::Value;

/// Settings of a family's controller that one option of the command line changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The option, without dashes.
    pub option: &'static str,
    /// Their names, in files and over HTTP. If there are several, the option takes `KEY=VALUE` and can be repeated.
    pub keys: &'static [&'static str],
    /// What help shows for the value.
    pub value_name: &'static str,
    /// What it does, in a sentence.
    pub help: &'static str,
}

/// The settings that somebody changed, by family and key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingValues(BTreeMap<(&'static str, String), Value>);

impl SettingValues {
    /// Changes one. Whether the family can read it is for [`Family::check`](crate::Family::check) to say.
    pub fn set(&mut self, family: &'static str, key: &str, value: Value) {
        self.0.insert((family, key.to_owned()), value);
    }

    /// Those of one family.
    pub fn of(&self, family: &str) -> impl Iterator<Item = (&str, &Value)> {
        let ours = self.0.iter().filter(move |((of, _), _)| *of == family);
        ours.map(|((_, key), value)| (key.as_str(), value))
    }

    /// Those of one family as it reads them; `set` reads one. What cannot be read was refused where it was given.
    pub fn read<S: Default>(
        &self,
        family: &str,
        set: impl Fn(&mut S, &str, &Value) -> Result<(), String>,
    ) -> S {
        let mut settings = S::default();
        for (key, value) in self.of(family) {
            let _ = set(&mut settings, key, value);
        }
        settings
    }
}
