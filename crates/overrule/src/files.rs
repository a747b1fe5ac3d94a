// SPDX-License-Identifier: Apache-2.0
//! In: paths a person gave. Out: inputs with names, and what the world refused. Not here: what the bytes mean.
//!
//! A folder is read like a reviewer reads it: every `.yaml`, `.yml` and `.json` below it, hidden files and
//! `node_modules` left out, in the order of names. Links are followed while they stay below the given folder.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::WalkBuilder;
use overrule_source::Input;
use rayon::prelude::*;

/// Something the world refused: a file that cannot be opened, a link that leads outside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorldError {
    /// The path as given or found.
    pub path: PathBuf,
    /// What is wrong, and what to do.
    pub message: String,
    /// Whether the answer is incomplete because of it (a link that was refused on purpose is not).
    pub fatal: bool,
}

impl std::fmt::Display for WorldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

/// A file to read: where it is, and how it is called in messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// Name for people: relative as given, without `./`.
    pub name: String,
    /// Path to open; `-` is standard input.
    pub path: PathBuf,
    /// Whether it was found in a folder that was named.
    pub found: bool,
}

/// What the given paths lead to.
#[derive(Debug, Clone, Default)]
pub struct FoundFiles {
    /// Files, by name, each once.
    pub files: Vec<File>,
    /// Sources of which a tool makes manifests. They are no manifests, but somebody may take them for such.
    pub sources: Vec<File>,
    /// What the world refused.
    pub errors: Vec<WorldError>,
}

/// Directories that are never part of a folder of manifests.
const SKIPPED: &[&str] = &["node_modules", "target", "vendor", "__pycache__"];
/// A file that says what below its folder is not read, written like a `.gitignore`.
pub const IGNORE_FILE: &str = ".overruleignore";

/// Whether a folder within a folder of manifests is looked into, by its name.
pub fn enters(folder: &str) -> bool {
    !folder.starts_with('.') && !SKIPPED.contains(&folder)
}

/// Whether a file within a folder of manifests is read, by its name.
pub fn reads(file: &str) -> bool {
    !file.starts_with('.') && is_manifest(Path::new(file))
}

/// Finds every manifest below the given paths. A file that is named is read whatever its ending.
pub fn find(paths: &[PathBuf]) -> FoundFiles {
    let mut found = FoundFiles::default();
    let mut seen = BTreeSet::new();
    for path in paths {
        if path.as_os_str() == "-" {
            if seen.insert(PathBuf::from("-")) {
                let (name, path) = ("<stdin>".to_owned(), path.clone());
                found.files.push(File { name, path, found: false });
            }
            continue;
        }
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => walk(path, &mut seen, &mut found),
            Ok(_) => {
                let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                add(path, real, false, (&mut seen, &mut found));
            }
            Err(error) => found.errors.push(WorldError {
                path: path.clone(),
                message: explain(&error),
                fatal: true,
            }),
        }
    }
    found.files.sort();
    found.errors.sort();
    found
}

fn explain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => {
            "permission denied; check who may read it".to_owned()
        }
        _ => error.to_string(),
    }
}

fn add(
    path: &Path,
    real: PathBuf,
    is_found: bool,
    (seen, all): (&mut BTreeSet<PathBuf>, &mut FoundFiles),
) {
    if seen.insert(real) {
        let name = path.strip_prefix("./").unwrap_or(path).to_string_lossy().into_owned();
        let file = File { name, path: path.to_path_buf(), found: is_found };
        match is_found && is_source(path) {
            true => all.sources.push(file),
            false => all.files.push(file),
        }
    }
}

/// Real paths of files that are met folder by folder. A file that is not a link is in its folder, so the system is
/// asked once per folder and link, not once per part of every path.
#[derive(Default)]
struct Folder {
    path: PathBuf,
    real: Option<PathBuf>,
}

impl Folder {
    fn real(&mut self, path: &Path, is_link: bool) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !is_link => {
                if self.path != parent {
                    *self = Self {
                        path: parent.to_path_buf(),
                        real: std::fs::canonicalize(parent).ok(),
                    };
                }
                self.real.as_ref().map_or_else(|| path.to_path_buf(), |real| real.join(name))
            }
            _ => std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()),
        }
    }
}

fn walk(root: &Path, seen: &mut BTreeSet<PathBuf>, found: &mut FoundFiles) {
    let inside = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let refused = std::sync::Arc::new(Mutex::new(Vec::new()));
    let collect = std::sync::Arc::clone(&refused);
    let walker = WalkBuilder::new(root)
        .follow_links(true)
        .standard_filters(false)
        .hidden(true)
        .add_custom_ignore_filename(IGNORE_FILE)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| {
            let name = entry.file_name().to_string_lossy();
            if entry.depth() > 0
                && SKIPPED.contains(&&*name)
                && entry.file_type().is_some_and(|t| t.is_dir())
            {
                return false;
            }
            let leaves = entry.path_is_symlink()
                && std::fs::canonicalize(entry.path()).is_ok_and(|real| !real.starts_with(&inside));
            if leaves && entry.depth() > 0 {
                if let Ok(mut list) = collect.lock() {
                    list.push(entry.path().to_path_buf());
                }
                return false;
            }
            true
        })
        .build();
    let mut folder = Folder::default();
    for entry in walker {
        match entry {
            Ok(entry)
                if entry.file_type().is_some_and(|t| t.is_file())
                    && (is_manifest(entry.path()) || is_source(entry.path())) =>
            {
                let real = folder.real(entry.path(), entry.path_is_symlink());
                add(entry.path(), real, true, (seen, found));
            }
            Ok(_) => {}
            Err(error) => found.errors.push(walk_error(root, &error)),
        }
    }
    for path in refused.lock().map(|list| list.clone()).unwrap_or_default() {
        let message = "this link leads out of the given folder and is not followed; name its target with -f to read it".to_owned();
        found.errors.push(WorldError { path, message, fatal: false });
    }
}

fn walk_error(root: &Path, error: &ignore::Error) -> WorldError {
    match error {
        ignore::Error::Loop { child, .. } => WorldError {
            path: child.clone(),
            message: "this link leads back to a folder above it and is not followed".to_owned(),
            fatal: false,
        },
        ignore::Error::WithPath { path, err } => {
            WorldError { path: path.clone(), ..walk_error(root, err) }
        }
        ignore::Error::WithDepth { err, .. } => walk_error(root, err),
        ignore::Error::Io(io) => {
            WorldError { path: root.to_path_buf(), message: explain(io), fatal: true }
        }
        other => WorldError { path: root.to_path_buf(), message: other.to_string(), fatal: true },
    }
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    ["yaml", "yml", "json"].iter().any(|e| extension.eq_ignore_ascii_case(e))
}

/// Jsonnet.
fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    matches!(extension, "jsonnet" | "libsonnet")
}

/// Files and bytes that are read before help is called: starting threads costs more than reading that much.
const FEW: usize = 64;
const LITTLE: usize = 1 << 20;

/// Reads the bytes of every file, in parallel if there are many. What cannot be read is an error; the rest is answered.
pub fn read(files: Vec<File>) -> (Vec<Input>, Vec<WorldError>) {
    let mut results: Vec<Result<Input, WorldError>> = Vec::with_capacity(files.len());
    let mut files = files.into_iter();
    let mut bytes = 0;
    while results.len() < FEW && bytes < LITTLE {
        let Some(file) = files.next() else { break };
        let result = read_one(file);
        bytes += result.as_ref().map_or(0, |input| input.bytes.len());
        results.push(result);
    }
    if files.len() > 0 {
        results.par_extend(files.collect::<Vec<File>>().into_par_iter().map(read_one));
    }
    let mut inputs = Vec::with_capacity(results.len());
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(input) => inputs.push(input),
            Err(error) => errors.push(error),
        }
    }
    (inputs, errors)
}

fn read_one(file: File) -> Result<Input, WorldError> {
    let bytes = if file.path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(&file.path)
    };
    match bytes {
        Ok(bytes) => Ok(Input { found: file.found, ..Input::new(file.name, bytes) }),
        Err(error) => Err(WorldError { path: file.path, message: explain(&error), fatal: true }),
    }
}
