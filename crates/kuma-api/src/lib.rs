// SPDX-License-Identifier: Apache-2.0
//! Kuma's own API over the live store: resources of meshes, and the Inspect API. An extension of the server.
//!
//! ```text
//! resources     /meshes/{mesh}/{collection}/{name}     from the store, as Kuma writes resources
//! inspect       …/_rules, …/_policies, …/_layout, …    by lookup (`lookups`), once per state
//! document      schemas, and the shape of errors
//! ```
//!
//! Not here: the answers of the Inspect API and how resources look in JSON (`overrule_mesh::inspect`), HTTP, the store,
//! who may read what (`overrule_server`).

mod document;
mod inspect;
mod lookups;
mod resources;

use http::StatusCode;
use overrule::Options;
use overrule::model::codes::INVALID_NAME;
use overrule::source::{Diagnostic, DuplicateKeys, SingleLetters};
use overrule_mesh::inspect::Flavour;
use overrule_mesh::{FAMILY, GROUP, LabelSource, Settings};
use overrule_server::extension::{Endpoint, Extension, Problem, Switch, Switches};
use overrule_store::{ResourceKey, ResourceScope};
use serde_json::Value;

/// The flag for answers that are those of that release to the letter.
const COMPAT: &str = "kuma-compat";

/// Kuma's API.
#[derive(Debug, Clone, Copy)]
pub struct KumaApi;

impl Extension for KumaApi {
    fn endpoints(&self) -> Vec<Endpoint> {
        [inspect::ENDPOINTS, resources::ENDPOINTS].concat()
    }

    fn schemas(&self) -> Vec<(&'static str, Value)> {
        document::schemas()
    }

    fn pattern(&self, parameter: &str) -> Option<&'static str> {
        matches!(parameter, "kri" | "route").then_some("^kri_[a-z]+(_[^_/]*){5}$")
    }

    /// Any first part of a path may be the name of a collection.
    fn owns(&self, _: &str) -> bool {
        true
    }

    fn error(&self, problem: &Problem) -> Value {
        document::error(problem)
    }

    fn error_schema(&self) -> &'static str {
        document::ERROR
    }

    fn switches(&self) -> &'static [Switch] {
        &[Switch {
            name: COMPAT,
            env: Some("OVERRULE_KUMA_COMPAT"),
            help: "Kuma's paths behave as that release to the letter: no labels are added to resources, its texts, its \
                   statuses",
        }]
    }

    /// Clients look at this to tell what they talk to.
    fn tagline(&self, on: &Switches) -> Option<&'static str> {
        on.is_on(COMPAT).then_some("Kuma")
    }

    /// As that release reads them, where answers have to be its own to the letter.
    fn reading(&self, on: &Switches, options: &mut Options) {
        if on.is_on(COMPAT) {
            options.duplicate_keys = DuplicateKeys::LastWins;
            options.single_letters = SingleLetters::Text;
            options.settings.set(FAMILY, "labels", "asWritten".into());
            options.compare = false;
        }
    }

    /// Under another name, no path would lead to a resource.
    fn refusal(&self, key: &ResourceKey) -> Option<Diagnostic> {
        let mesh = match &key.place {
            ResourceScope::Mesh(mesh) => mesh,
            _ => "default",
        };
        if key.group != GROUP || (is_name(&key.name) && is_name(mesh)) {
            return None;
        }
        let start = |name: &str| name.chars().take(64).collect::<String>();
        let why = format!("`{}` in mesh `{}` is not a valid name", start(&key.name), start(mesh));
        let help = "use lower case letters, digits, `-`, `_`, `.`";
        Some(Diagnostic::new(&INVALID_NAME, why).field("name").help(help))
    }

    /// Kuma's tools strip documents, which shows in a block of text at the end of one.
    fn kept<'t>(&self, text: &'t str, options: &Options) -> &'t str {
        let settings: Settings = options.settings.read(FAMILY, Settings::set);
        if settings.labels == LabelSource::AsWritten { text.trim() } else { text }
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_digit() || b.is_ascii_lowercase() || b"-_.".contains(&b);
    !name.is_empty() && name.len() <= 253 && name.bytes().all(allowed)
}

/// Whose behaviour the Inspect API shows.
fn flavour(on: &Switches) -> Flavour {
    if on.is_on(COMPAT) { Flavour::Compat } else { Flavour::Native }
}

/// Who a mesh is.
fn mesh_key(name: &str) -> ResourceKey {
    ResourceKey {
        group: GROUP.to_owned(),
        kind: "Mesh".to_owned(),
        place: ResourceScope::Cluster,
        name: name.to_owned(),
    }
}

fn not_found(title: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, title, "Not found")
}
