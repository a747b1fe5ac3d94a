// SPDX-License-Identifier: Apache-2.0
//! In: paths a person gave. Out: every test below them, and those that cannot be read as failed results.
//! Not here: running them. Next to the `overrule` crate's `files` this is the only place that meets the world.

use std::path::{Path, PathBuf};

use overrule::files::{self, WorldError};
use overrule_source::{Diagnostic, Documents, Input, Severity, SourceMap};

use crate::case::Case;
use crate::read::{is_case, read};
use crate::result::{CaseResult, DifferenceKind, Mismatch, TestVerdict};

/// What was found below some paths.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Tests, by file and document.
    pub cases: Vec<Case>,
    /// Tests that cannot be read: each a failure, never a skip.
    pub broken: Vec<CaseResult>,
    /// What the world refused.
    pub errors: Vec<WorldError>,
}

/// Finds and reads every test. In a folder, documents that are manifests are left alone; a file that is named must
/// hold a test.
pub fn load(paths: &[PathBuf]) -> Loaded {
    let mut loaded = Loaded::default();
    let found = files::find(paths);
    loaded.errors.extend(found.errors);
    for file in found.files {
        let named = paths.contains(&file.path);
        let path = file.path.clone();
        let (inputs, errors) = files::read(vec![file]);
        loaded.errors.extend(errors);
        for input in inputs {
            let name = input.name.to_string();
            let (cases, broken) = read_file(input, path.parent());
            if named && cases.is_empty() && broken.is_empty() {
                let message = "this file contains no policy test".to_owned();
                loaded.errors.push(WorldError { path: PathBuf::from(name), message, fatal: true });
            }
            loaded.cases.extend(cases);
            loaded.broken.extend(broken);
        }
    }
    loaded
}

/// Reads every test of one file. Paths in it are relative to `folder`; without one they cannot be read.
pub fn read_file(input: Input, folder: Option<&Path>) -> (Vec<Case>, Vec<CaseResult>) {
    let name = input.name.to_string();
    let text = overrule_source::read(vec![input], &crate::read::options());
    let documents = &text.documents;
    let errors: Vec<Diagnostic> =
        text.diagnostics.into_iter().filter(|d| d.severity() == Severity::Error).collect();
    let (mut cases, mut broken) = (Vec::new(), Vec::new());
    if !errors.is_empty() && (documents.is_empty() || any_case(documents)) {
        broken.push(unreadable(&documents.sources, &name, &errors));
    }
    for doc in documents.ids().filter(|doc| is_case(documents.root(*doc))) {
        match read(documents, doc, &mut |path| open(folder, path)) {
            Ok(case) => cases.push(case),
            Err(diagnostics) => {
                let mut result = unreadable(&documents.sources, &name, &diagnostics);
                if let Some(text) = documents.root(doc).get("name").and_then(|v| v.as_str()) {
                    text.clone_into(&mut result.name);
                }
                result.line = documents.sources.position(documents.root(doc).span()).line;
                broken.push(result);
            }
        }
    }
    (cases, broken)
}

fn any_case(documents: &Documents) -> bool {
    documents.ids().any(|doc| is_case(documents.root(doc)))
}

/// What a path in a test leads to, by names that people recognise.
fn open(folder: Option<&Path>, path: &str) -> Result<Vec<Input>, String> {
    let Some(folder) = folder else { return Err("the test has no folder".to_owned()) };
    let found = files::find(&[tidy(&folder.join(path))]);
    let (inputs, errors) = files::read(found.files);
    let mut errors = found.errors.into_iter().chain(errors).filter(|e| e.fatal);
    match errors.next() {
        Some(error) => Err(error.message),
        None if inputs.is_empty() => Err("there are no manifests".to_owned()),
        None => Ok(inputs),
    }
}

/// `tests/../manifests` as `manifests`: shorter to read, and the same wherever it is named from.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        let up = part.as_os_str() == "..";
        let last = tidy.components().next_back();
        let removable = last.is_some_and(|l| matches!(l, std::path::Component::Normal(_)));
        if up && removable {
            tidy.pop();
        } else if part.as_os_str() != "." {
            tidy.push(part);
        }
    }
    if tidy.as_os_str().is_empty() { PathBuf::from(".") } else { tidy }
}

/// The result of a test that cannot be read.
fn unreadable(sources: &SourceMap, file: &str, diagnostics: &[Diagnostic]) -> CaseResult {
    let mismatches = diagnostics.iter().map(|d| {
        let span = d.primary.as_ref().map(|label| label.span);
        let at = span.map(|span| sources.position(span));
        let at = at.unwrap_or_else(|| overrule_source::Position {
            file: file.to_owned(),
            line: 1,
            column: 1,
        });
        let help = d.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
        Mismatch {
            what: DifferenceKind::Unreadable,
            at,
            path: String::new(),
            kind: String::new(),
            message: format!("{}: {}{help}", d.code.id, d.message),
            expected: None,
            actual: None,
            difference: None,
        }
    });
    let stem = Path::new(file).file_stem().map_or_else(|| file.into(), |s| s.to_string_lossy());
    CaseResult {
        name: stem.into_owned(),
        file: file.to_owned(),
        line: 1,
        family: String::new(),
        profile: String::new(),
        verdict: TestVerdict::Failed(mismatches.collect()),
    }
}
