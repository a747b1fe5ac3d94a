// SPDX-License-Identifier: Apache-2.0
//! In: settings of the controller, as they are given. Out: typed settings. Not here: where they come from.

use overrule_family::Setting;
use serde_json::Value;

/// Settings of the controller that change results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// `envoyPatchPolicy`: whether patches are applied.
    pub patches: bool,
    /// `backend`: whether policies may refer to a Backend.
    pub backends: bool,
    /// `lua`: whether Lua extensions are applied.
    pub lua: bool,
    /// `closedWorld`: whether what a policy refers to and what is not in the input does not exist.
    pub closed_world: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { patches: true, backends: true, lua: true, closed_world: false }
    }
}

impl Settings {
    /// Names of the settings there are.
    pub const KEYS: &[&str] = &["envoyPatchPolicy", "backend", "lua", "closedWorld"];

    /// How they are given.
    pub(crate) const OPTIONS: &[Setting] = &[Setting {
        option: "envoygateway",
        keys: Self::KEYS,
        value_name: "KEY=VALUE",
        help: "A setting of Envoy Gateway's controller: `envoyPatchPolicy=false`, `backend=false`, `lua=false`; \
               `closedWorld=true`: what policies refer to and what is not in the input does not exist. Repeatable",
    }];

    /// What was given; what cannot be read was refused where it was given.
    pub fn read<'a>(given: impl Iterator<Item = (&'a str, &'a Value)>) -> Self {
        let mut settings = Self::default();
        for (key, value) in given {
            let _ = settings.set(key, value);
        }
        settings
    }

    /// Changes one setting.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let slot = match key {
            "envoyPatchPolicy" => &mut self.patches,
            "backend" => &mut self.backends,
            "lua" => &mut self.lua,
            "closedWorld" => &mut self.closed_world,
            _ => return Err(format!("unknown setting `{key}`; known: {}", Self::KEYS.join(", "))),
        };
        let given = value.as_bool().or_else(|| value.as_str()?.parse().ok());
        *slot = given.ok_or_else(|| format!("{key} is true or false"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Settings;

    #[test]
    fn settings_are_switches() {
        let mut settings = Settings::default();
        assert_eq!(settings.set("lua", &json!(false)), Ok(()));
        assert_eq!(settings.set("closedWorld", &json!("true")), Ok(()));
        assert_eq!(settings, Settings { lua: false, closed_world: true, ..Settings::default() });
        for (key, value) in [("lua", json!("no")), ("Lua", json!(true)), ("backend", json!(1))] {
            assert!(settings.set(key, &value).is_err(), "{key}: {value}");
        }
    }
}
