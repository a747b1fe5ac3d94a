// SPDX-License-Identifier: Apache-2.0
//! What an extension is: another API over the same store and the same states, on paths of its own. Not here: any
//! extension; each has a crate of its own, and the binary lists them.
//!
//! ```text
//! requests      endpoints, schemas, errors     rows of the table that the router and the document are made of
//! bodies        reading, refusal, kept         how they are read, which names are refused, what text is stored
//! states        State::derived                 what answers need beyond the analysis, computed when first asked for
//! settings      switches                       flags of the command line, and names in the settings file
//! ```

use std::collections::BTreeSet;
use std::fmt::Debug;

use overrule::Options;
use overrule::source::Diagnostic;
use overrule_store::ResourceKey;
use serde::Deserialize;
use serde_json::Value;

pub use crate::admission::{Manifest, key_of};
pub use crate::app::App;
pub use crate::call::{Call, Query, Reply};
pub use crate::live::State;
pub use crate::problem::{Cause, Problem};
pub use crate::reader::may_read;
pub use crate::table::{
    BodySpec, Endpoint, EndpointAccess, Media, Param, PendingReply, ResponseSpec, Type, Verb,
};
pub use crate::v1::write;
pub use crate::v1::{AT_LEAST, blocking, state};

/// Another API beside the server's own.
pub trait Extension: Debug + Send + Sync {
    /// Its endpoints.
    fn endpoints(&self) -> Vec<Endpoint>;

    /// The schemas that its endpoints name.
    fn schemas(&self) -> Vec<(&'static str, Value)>;

    /// The pattern of a parameter in its paths; any text that is not empty if there is none.
    fn pattern(&self, _parameter: &str) -> Option<&'static str> {
        None
    }

    /// Whether errors on this path have its shape. Paths of the server itself are not asked about.
    fn owns(&self, path: &str) -> bool;

    /// A problem in the shape of its errors, as `application/json`.
    fn error(&self, problem: &Problem) -> Value;

    /// The schema of its errors.
    fn error_schema(&self) -> &'static str;

    /// Its settings: each is on or off.
    fn switches(&self) -> &'static [Switch] {
        &[]
    }

    /// What `/` says that this is, if that is not Overrule.
    fn tagline(&self, _on: &Switches) -> Option<&'static str> {
        None
    }

    /// Changes how resources are read.
    fn reading(&self, _on: &Switches, _options: &mut Options) {}

    /// Why a resource must not be stored under its name.
    fn refusal(&self, _key: &ResourceKey) -> Option<Diagnostic> {
        None
    }

    /// The part of a document's text that is stored.
    fn kept<'t>(&self, text: &'t str, _options: &Options) -> &'t str {
        text
    }
}

/// A setting that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// Its name: of the flag, and in the settings file.
    pub name: &'static str,
    /// The environment variable that turns it on.
    pub env: Option<&'static str>,
    /// What it does, in a sentence.
    pub help: &'static str,
}

/// The switches that are on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switches(BTreeSet<&'static str>);

impl Switches {
    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// The extensions of a server, and which of their switches are on.
#[derive(Debug, Clone, Default)]
pub struct Extensions {
    all: &'static [&'static dyn Extension],
    on: Switches,
}

impl Extensions {
    /// These, with every switch off.
    pub const fn new(all: &'static [&'static dyn Extension]) -> Self {
        Self { all, on: Switches(BTreeSet::new()) }
    }

    /// The same, with a switch on. One that no extension has changes nothing.
    pub fn with(mut self, name: &str) -> Self {
        let found = self.switches().find(|switch| switch.name == name);
        self.on.0.extend(found.map(|switch| switch.name));
        self
    }

    /// Reads a switch as a settings file has it.
    pub(crate) fn set(&mut self, name: &str, value: &Value) -> Result<(), serde_json::Error> {
        if bool::deserialize(value)? {
            *self = std::mem::take(self).with(name);
        }
        Ok(())
    }

    /// Whether there is a switch of this name.
    pub(crate) fn have(&self, name: &str) -> bool {
        self.switches().any(|switch| switch.name == name)
    }

    /// The same extensions; a switch is on if it is in either.
    pub fn or(mut self, other: Self) -> Self {
        self.on.0.extend(other.on.0);
        self
    }

    /// The switches that are on.
    pub fn on(&self) -> &Switches {
        &self.on
    }

    /// All switches there are.
    pub fn switches(&self) -> impl Iterator<Item = Switch> + use<> {
        self.all.iter().flat_map(|one| one.switches().iter().copied())
    }

    /// The extension whose errors a path has; none if it is the server's own.
    pub(crate) fn of(&self, path: &str) -> Option<&'static dyn Extension> {
        const OWN: [&str; 5] = ["/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json"];
        let own = OWN.iter().any(|own| path.starts_with(own));
        self.all.iter().copied().find(|one| !own && one.owns(path))
    }

    pub(crate) fn endpoints(&self) -> impl Iterator<Item = Endpoint> {
        self.all.iter().flat_map(|one| one.endpoints())
    }

    pub(crate) fn schemas(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.all.iter().flat_map(|one| one.schemas())
    }

    pub(crate) fn tagline(&self) -> Option<&'static str> {
        self.all.iter().find_map(|one| one.tagline(&self.on))
    }

    pub(crate) fn reading(&self, options: &mut Options) {
        self.all.iter().for_each(|one| one.reading(&self.on, options));
    }

    pub(crate) fn refusal(&self, key: &ResourceKey) -> Option<Diagnostic> {
        self.all.iter().find_map(|one| one.refusal(key))
    }

    pub(crate) fn kept<'t>(&self, text: &'t str, options: &Options) -> &'t str {
        self.all.iter().fold(text, |text, one| one.kept(text, options))
    }
}
