// SPDX-License-Identifier: Apache-2.0
//! What is known of the control plane that resources are written for. Not here: what follows from it
//! (`labels`, `order`).

use overrule_family::Setting;
use serde_json::Value;

use crate::names::{ControlPlane, Mode};

/// Where labels come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabelSource {
    /// Files from Git lack what a control plane would add, so it is added; so is a Mesh that only its resources name.
    #[default]
    Computed,
    /// Resources are what a control plane has stored: they count as they are, and nothing else is there.
    AsWritten,
}

/// The control plane the files are meant for. Files from Git lack the labels it would add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What it is in charge of.
    pub mode: Mode,
    /// The name of its zone.
    pub zone: Box<str>,
    /// The namespace it runs in.
    pub system_namespace: Box<str>,
    /// Whether labels are added.
    pub labels: LabelSource,
}

impl Default for Settings {
    /// A zone of its own, with the names an installation has that nobody configured.
    fn default() -> Self {
        Self {
            mode: Mode::Zone,
            zone: "default".into(),
            system_namespace: "kuma-system".into(),
            labels: LabelSource::Computed,
        }
    }
}

impl Settings {
    /// How settings are given. Where labels come from is for programs to say, not for people.
    pub(crate) const OPTIONS: &[Setting] = &[
        Setting {
            option: "kuma-mode",
            keys: &["mode"],
            value_name: "zone|global",
            help: "The control plane that Kuma's files are written for, if they lack the labels it would add: `zone` or \
                   `global` [default: zone]",
        },
        Setting {
            option: "kuma-zone",
            keys: &["zone"],
            value_name: "ZONE",
            help: "The name of its zone [default: default]",
        },
        Setting {
            option: "system-namespace",
            keys: &["systemNamespace"],
            value_name: "NAMESPACE",
            help: "The namespace it runs in [default: kuma-system]",
        },
    ];

    /// Changes one setting.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match (key, value.as_str()) {
            ("mode", Some("zone")) => self.mode = Mode::Zone,
            ("mode", Some("global")) => self.mode = Mode::Global,
            ("zone", Some(zone)) => self.zone = zone.into(),
            ("systemNamespace", Some(namespace)) => self.system_namespace = namespace.into(),
            ("labels", Some("computed")) => self.labels = LabelSource::Computed,
            ("labels", Some("asWritten")) => self.labels = LabelSource::AsWritten,
            ("mode", Some(other)) => {
                return Err(format!("takes zone or global, not `{other}`"));
            }
            _ => {
                let expected = "mode: zone or global; zone: a name; systemNamespace: a name";
                return Err(expected.to_owned());
            }
        }
        Ok(())
    }

    /// The control plane, for a resource in its Kubernetes form or not.
    pub(crate) fn plane(&self, kubernetes: bool) -> ControlPlane<'_> {
        let zone = if self.mode == Mode::Zone { &*self.zone } else { "" };
        ControlPlane { mode: self.mode, zone, kubernetes, system_namespace: &self.system_namespace }
    }
}
