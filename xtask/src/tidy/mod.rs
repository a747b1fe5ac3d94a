// SPDX-License-Identifier: Apache-2.0
//! In: the repository. Out: everything in it that contradicts itself, each with what to do. Not here: tests of behaviour.

mod crates;
mod documents;
mod lexer;
mod names;
mod sources;
mod text;
mod vendors;

use std::path::{Path, PathBuf};

use crate::rules;

/// Problems found, one line each.
pub(crate) type Problems = Vec<String>;

/// A file of the repository that is not ignored.
pub(crate) struct File {
    /// Path below the root, with `/`.
    pub(crate) name: String,
    /// Its text; absent if it is not UTF-8.
    pub(crate) text: Option<String>,
}

impl File {
    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.name.ends_with(".rs")
    }

    /// Its lines with numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.iter().flat_map(|text| text.lines().enumerate().map(|(i, line)| (i + 1, line)))
    }
}

/// Checks everything and prints what is wrong.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let files = files(root)?;
    let mut problems = Problems::new();
    documents::codes(root, &mut problems);
    documents::decisions(root, &mut problems);
    documents::changelog(&files, &mut problems);
    documents::architecture(root, &files, &mut problems);
    documents::links(root, &files, &mut problems);
    text::check(&files, &mut problems);
    sources::check(&files, &mut problems);
    names::check(&files, &mut problems);
    vendors::check(&files, &mut problems);
    crates::check(root, &mut problems)?;
    problems.extend(rules::run(root, true).err());
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        n => Err(format!("{n} things to tidy")),
    }
}

/// Every file that git tracks or would track.
fn files(root: &Path) -> Result<Vec<File>, String> {
    let mut walker = ignore::WalkBuilder::new(root);
    walker
        .hidden(false)
        .git_global(false)
        .require_git(false)
        .filter_entry(|e| e.file_name() != ".git");
    let mut files = Vec::new();
    for entry in walker.sort_by_file_name(Ord::cmp).build() {
        let entry = entry.map_err(|e| e.to_string())?;
        if entry.file_type().is_some_and(|t| t.is_file()) {
            let path: PathBuf = entry.into_path();
            let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            files.push(File { name: name(&path, root), text: String::from_utf8(bytes).ok() });
        }
    }
    Ok(files)
}

fn name(path: &Path, root: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path).components();
    below.map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
pub(crate) fn file(name: &str, text: &str) -> File {
    File { name: name.to_owned(), text: Some(text.to_owned()) }
}
