// SPDX-License-Identifier: Apache-2.0
//! In: nothing. Out: what is known of the control plane that resources are written for. Not here: what follows from it
//! (`labels`, `order`).

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
    /// The control plane, for a resource in its Kubernetes form or not.
    pub(crate) fn plane(&self, kubernetes: bool) -> ControlPlane<'_> {
        let zone = if self.mode == Mode::Zone { &*self.zone } else { "" };
        ControlPlane { mode: self.mode, zone, kubernetes, system_namespace: &self.system_namespace }
    }
}
