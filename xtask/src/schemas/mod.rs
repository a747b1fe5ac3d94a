// SPDX-License-Identifier: Apache-2.0
//! In: released Go modules, from the Go module proxy. Out: tables of schemas, and whether those we have are right.
//! Not here: how a table is made (`table`), what is said about a pattern or rule (`words.txt`), which people write.
//!
//! The check reads the modules again: each table is what they make, every sample of theirs is fine, and everything
//! they keep as an example of what is invalid is found. None of it is committed.

mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use overrule::source::{Input, ReadOptions, Severity, read};

use crate::steps::Ending;

/// A table, and the releases it is made of, newest first.
struct Source {
    table: &'static str,
    module: &'static str,
    releases: &'static [&'static str],
    /// Folders of the standard and the experimental channel in the module.
    channels: [&'static str; 2],
    samples: &'static str,
    invalid: &'static str,
}

const GATEWAY_API: Source = Source {
    table: "crates/topology/schemas/gateway-api.json",
    module: "sigs.k8s.io/gateway-api",
    releases: &["v1.7.0", "v1.4.1"],
    channels: ["config/crd/standard", "config/crd/experimental"],
    samples: "examples",
    invalid: "hack/invalid-examples",
};

/// Writes the tables again.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let cache = tempfile::tempdir().map_err(|e| e.to_string())?;
    let folders = download(cache.path(), &GATEWAY_API)?;
    let path = root.join(GATEWAY_API.table);
    let text = table::text(&GATEWAY_API, &folders)?;
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Whether tables and judgements are right, if the modules can be had.
pub(crate) fn check(root: &Path) -> Result<Ending, String> {
    let cache = tempfile::tempdir().map_err(|e| e.to_string())?;
    let folders = match download(cache.path(), &GATEWAY_API) {
        Ok(folders) => folders,
        Err(why) => return Ok(Ending::DidNotRun(why)),
    };
    let path = root.join(GATEWAY_API.table);
    let written = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if written != table::text(&GATEWAY_API, &folders)? {
        return Err(format!("{}: run `cargo xtask schemas`", GATEWAY_API.table));
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in &folders {
        for (below, valid) in [(GATEWAY_API.samples, true), (GATEWAY_API.invalid, false)] {
            for file in files(&folder.join(below))? {
                count += 1;
                let found = refusals(&file)?;
                if found.is_empty() != valid {
                    wrong.push(format!("{}: {found:?}", file.display()));
                }
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(Ending::Ran(format!("{count} files judged as the API server does"))),
        false => Err(wrong.join("\n")),
    }
}

/// What an API server refuses in a file.
fn refusals(file: &Path) -> Result<Vec<String>, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let input = Input::new(file.display().to_string(), bytes);
    let documents = read(vec![input], &ReadOptions::default()).documents;
    let table = overrule::gateway::topology::schema_table();
    let all = documents.ids().flat_map(|id| table.check(documents.root(id)));
    // Strict clients refuse unknown fields, too; and one channel may be stricter than the other.
    let strict = |id: &str| matches!(id, "OV1109" | "OV1034");
    let refused = all.filter(|d| {
        d.severity() == Severity::Error || strict(d.code.id) && d.message.contains("refuses")
    });
    Ok(refused.map(|d| format!("{} {}", d.code.id, d.message)).collect())
}

/// The folders of the releases. Go may refuse to use a release that needs a newer Go, and unpacks it all the same.
fn download(cache: &Path, source: &Source) -> Result<Vec<PathBuf>, String> {
    let mut folders = Vec::new();
    for release in source.releases {
        let name = format!("{}@{release}", source.module);
        let output = Command::new("go")
            .args(["mod", "download", "-json", &name])
            .env("GOMODCACHE", cache)
            .env("GOFLAGS", "-modcacherw")
            .current_dir(cache)
            .output()
            .map_err(|e| format!("go: {e}"))?;
        let folder = cache.join(&name);
        if !folder.is_dir() {
            return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stdout).trim()));
        }
        folders.push(folder);
    }
    Ok(folders)
}

/// The YAML files below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build() {
        let path = entry.map_err(|e| e.to_string())?.into_path();
        if path.extension().is_some_and(|e| e == "yaml") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}
