// SPDX-License-Identifier: Apache-2.0
//! In: settings of the controller, as it is given them. Out: typed settings. Not here: where they come from.

use overrule_family::Setting;
use serde_json::Value;

/// How policies of one level share a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnitMerge {
    /// The first that has it.
    Shallow,
    /// All, combined.
    Deep,
}

/// Which references into other namespaces need a ReferenceGrant: `KGW_REFERENCE_GRANT_MODE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReferenceGrantMode {
    /// None.
    Off,
    /// Backends and Secrets.
    #[default]
    Permissive,
    /// The GatewayExtensions that policies name, too.
    Strict,
}

/// Settings of the controller that change results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `policyMerge`: units whose merging inside a level is set, by name.
    pub policy_merge: Vec<(String, UnitMerge)>,
    /// `globalPolicyNamespace`: its policies reach every namespace by label.
    pub global_namespace: Option<String>,
    /// `delegationWildcardNamespace`: the namespace that means every namespace in a delegation by label.
    pub wildcard_namespace: String,
    /// `referenceGrantMode`: which references into other namespaces need a ReferenceGrant.
    pub reference_grants: ReferenceGrantMode,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy_merge: Vec::new(),
            global_namespace: None,
            wildcard_namespace: "all".to_owned(),
            reference_grants: ReferenceGrantMode::default(),
        }
    }
}

/// Units that can be combined inside a level.
const UNITS: &[&str] = &["extAuth", "extProc", "transformation", "acl"];

impl Settings {
    /// Names of the settings there are.
    pub const KEYS: &[&str] = &[
        "policyMerge",
        "globalPolicyNamespace",
        "delegationWildcardNamespace",
        "referenceGrantMode",
    ];

    /// How they are given.
    pub(crate) const OPTIONS: &[Setting] = &[Setting {
        option: "kgateway",
        keys: Self::KEYS,
        value_name: "KEY=VALUE",
        help: "A setting of kgateway's controller: `globalPolicyNamespace=admin`, `policyMerge={\"trafficPolicy\": \
               {\"extAuth\": \"DeepMerge\"}}`, `delegationWildcardNamespace=every`, `referenceGrantMode=STRICT`. Repeatable",
    }];

    /// Changes one setting. `policyMerge` takes units with `DeepMerge` or `ShallowMerge`, bare or under the kind.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "policyMerge" => self.set_policy_merge(value),
            "globalPolicyNamespace" => {
                let text =
                    value.as_str().ok_or("globalPolicyNamespace is the name of a namespace")?;
                self.global_namespace = Some(text.to_owned()).filter(|t| !t.is_empty());
                Ok(())
            }
            "delegationWildcardNamespace" => {
                let text = value.as_str().filter(|t| !t.is_empty());
                let text = text.ok_or("delegationWildcardNamespace is the name of a namespace")?;
                text.clone_into(&mut self.wildcard_namespace);
                Ok(())
            }
            "referenceGrantMode" => {
                self.reference_grants = match (value.as_str(), value.as_bool()) {
                    // In YAML, OFF without quotes is a boolean.
                    (Some("OFF"), _) | (_, Some(false)) => ReferenceGrantMode::Off,
                    (Some("PERMISSIVE"), _) => ReferenceGrantMode::Permissive,
                    (Some("STRICT"), _) => ReferenceGrantMode::Strict,
                    _ => return Err("referenceGrantMode is OFF, PERMISSIVE or STRICT".to_owned()),
                };
                Ok(())
            }
            _ => Err(format!("unknown setting `{key}`; known: {}", Self::KEYS.join(", "))),
        }
    }

    fn set_policy_merge(&mut self, value: &Value) -> Result<(), String> {
        let units = value.get("trafficPolicy").unwrap_or(value);
        let units = units.as_object().ok_or_else(|| {
            format!("policyMerge is a mapping of {} to DeepMerge or ShallowMerge", UNITS.join(", "))
        })?;
        for (unit, how) in units {
            if !UNITS.contains(&unit.as_str()) {
                return Err(format!("policyMerge has no `{unit}`; known: {}", UNITS.join(", ")));
            }
            let how = match how.as_str() {
                Some("DeepMerge") => UnitMerge::Deep,
                Some("ShallowMerge") => UnitMerge::Shallow,
                _ => return Err(format!("policyMerge.{unit} is DeepMerge or ShallowMerge")),
            };
            self.policy_merge.retain(|(known, _)| known != unit);
            self.policy_merge.push((unit.clone(), how));
        }
        Ok(())
    }

    /// Whether a unit is combined inside a level. Access lists are, unless told otherwise.
    pub fn is_deep(&self, unit: &str) -> bool {
        let set = self.policy_merge.iter().find(|(known, _)| known == unit);
        set.map_or(unit == "acl", |(_, how)| *how == UnitMerge::Deep)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Settings;

    #[test]
    fn access_lists_are_combined_unless_told_otherwise() {
        let mut settings = Settings::default();
        assert!(settings.is_deep("acl") && !settings.is_deep("extAuth"));
        let value = json!({"trafficPolicy": {"extAuth": "DeepMerge", "acl": "ShallowMerge"}});
        assert_eq!(settings.set("policyMerge", &value), Ok(()));
        assert!(!settings.is_deep("acl") && settings.is_deep("extAuth"));
        assert_eq!(settings.set("policyMerge", &json!({"extAuth": "ShallowMerge"})), Ok(()));
        assert!(!settings.is_deep("extAuth"));
    }

    #[test]
    fn bad_settings_say_what_there_is() {
        let mut settings = Settings::default();
        for (key, value) in [
            ("policyMerge", json!({"cors": "DeepMerge"})),
            ("policyMerge", json!({"acl": "deep"})),
            ("policyMerge", json!("DeepMerge")),
            ("globalPolicyNamespace", json!(1)),
            ("delegationWildcardNamespace", json!("")),
            ("referenceGrantMode", json!("strict")),
            ("wildcard", json!("x")),
        ] {
            assert!(settings.set(key, &value).is_err(), "{key}: {value}");
        }
        assert_eq!(settings, Settings::default());
    }
}
