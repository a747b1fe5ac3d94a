// SPDX-License-Identifier: Apache-2.0
//! In: a seed and numbers. Out: the manifests of a fleet, file by file, the same on every machine.
//! Not here: small nasty worlds (`generate`).
//!
//! ```text
//!  FleetSpec   gateways, listeners, routes, rules; policies of example kinds, of Kuadrant or of kgateway
//!  MeshSpec    zones, namespaces, dataplanes of a few shapes, services; policies and access rules of Kuma
//!      │ Spec: how many resources, and each of them
//!  manifests   (file name, text) after (file name, text), in memory          write   the same into a folder
//! ```
//!
//! Every resource is computed from its number alone, so a fleet of a million resources is never in memory, and one
//! resource stays the same when the fleet grows beside it. Everything carries names a platform team would give it;
//! each policy stands in the namespace of its target.

mod gateway;
mod kgateway;
mod kuadrant;
mod mesh;
mod names;
mod policies;
#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::yaml;

pub use gateway::{FleetFamily, FleetSpec, PerLevel};
pub use mesh::{MeshPolicies, MeshSpec};
pub use policies::GROUP;

/// How manifests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestFormat {
    /// Block YAML, documents separated by `---`.
    Yaml,
    /// Compact JSON, a `List` per file.
    Json,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Files.
    pub files: u64,
    /// Resources.
    pub resources: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What can be written as manifests: a numbered list of resources that is never in memory as a whole.
pub trait Spec {
    /// How many resources it has.
    fn resources(&self) -> u64;

    /// Every resource, in a fixed order.
    fn iter(&self) -> impl Iterator<Item = Value>;

    /// Documents in a file.
    fn per_file(&self) -> u32;
}

/// The manifests of a fleet: name and text of each file.
pub fn manifests<S: Spec>(
    spec: &S,
    format: ManifestFormat,
) -> impl Iterator<Item = (String, String)> {
    let mut resources = spec.iter().peekable();
    let per_file = spec.per_file().max(1) as usize;
    let mut number = 0;
    std::iter::from_fn(move || {
        resources.peek()?;
        number += 1;
        let part: Vec<Value> = resources.by_ref().take(per_file).collect();
        let (ending, text) = match format {
            ManifestFormat::Yaml => ("yaml", yaml::documents(&part)),
            ManifestFormat::Json => {
                ("json", json!({"apiVersion": "v1", "kind": "List", "items": part}).to_string())
            }
        };
        Some((format!("{number:06}.{ending}"), text))
    })
}

/// Writes a fleet as files into a folder, which is created.
pub fn write<S: Spec>(spec: &S, format: ManifestFormat, dir: &Path) -> io::Result<Stats> {
    std::fs::create_dir_all(dir)?;
    let mut stats = Stats { resources: spec.resources(), ..Stats::default() };
    for (name, text) in manifests(spec, format) {
        let mut file = io::BufWriter::new(std::fs::File::create(dir.join(name))?);
        file.write_all(text.as_bytes())?;
        file.flush()?;
        stats.files += 1;
        stats.bytes += text.len() as u64;
    }
    Ok(stats)
}
