// SPDX-License-Identifier: Apache-2.0
//! The two rule sets. Not here: what they decide (`order`, `select`).

use crate::settings::Settings;

/// A rule set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// The founding documents: a namespace of its own beats the system namespace, and nobody's policy leaves its namespace.
    Design {
        /// The namespace of the mesh's operators.
        system: Box<str>,
    },
    /// What 2.13 does: roles.
    Release,
}

impl Profile {
    /// Their names, the default first, what is shipped last.
    pub const NAMES: &[&str] = &["design", "2.13"];
    /// The namespace of the mesh's operators, if nobody says otherwise.
    pub const SYSTEM: &str = "kuma-system";

    /// The rule set of a name; the default if there is none of that name.
    pub fn from_name(name: &str, settings: &Settings) -> Self {
        match name {
            "2.13" => Self::Release,
            _ => Self::Design { system: settings.system_namespace.clone() },
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Design { .. } => "design",
            Self::Release => "2.13",
        }
    }
}
