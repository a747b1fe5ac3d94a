// SPDX-License-Identifier: Apache-2.0
//! In: a folder with `MANIFEST.tsv`. Out: its cases as results. Not here: cases in our own format.
//!
//! The data of the `kuma` family: one line per case with area, case and files.

use std::path::Path;

use overrule_cases::{CaseResult, DifferenceKind, Mismatch, TestVerdict};
use overrule_source::Position;

use crate::inspect;

/// The name by which such a folder is known.
pub(crate) const NAME: &str = "MANIFEST.tsv";
/// The profile its data holds for.
pub(crate) const PROFILE: &str = "2.13";

/// What becomes of a case before it runs.
pub(crate) enum Admission {
    /// It runs.
    Run,
    /// It does not.
    Skip,
}

/// Runs the cases of a manifest that are wanted; each with its area. `admit` is asked about area and case, `exclude` is
/// told why a wanted case cannot be run.
pub(crate) fn cases(
    path: &Path,
    admit: &mut dyn FnMut(&str, &str) -> Admission,
    exclude: &mut dyn FnMut(&str),
) -> Result<Vec<(String, CaseResult)>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let folder = path.parent().unwrap_or(path);
    let lines = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty() && !line.starts_with("area\t"));
    let mut ran = Vec::new();
    for (line, number) in lines {
        let mut columns = line.split('\t');
        let area = columns.next().unwrap_or("").to_owned();
        let name = columns.next().unwrap_or("").to_owned();
        let files: Vec<&str> = columns.next().unwrap_or("").split_whitespace().collect();
        if matches!(admit(&area, &name), Admission::Skip) {
            continue;
        }
        let ended = match one(folder, &area, &name, &files) {
            Ok(None) => Ok(()),
            Ok(Some(why)) => {
                exclude(why);
                continue;
            }
            Err(message) => Err(message),
        };
        let result = result(path, number, name, ended);
        ran.push((area, result));
    }
    Ok(ran)
}

/// What became of a case that stands in a line of a file.
pub(crate) fn result(
    path: &Path,
    line: u32,
    name: String,
    ended: Result<(), String>,
) -> CaseResult {
    let file = path.display().to_string();
    let mismatch = |message: String| Mismatch {
        what: DifferenceKind::Value,
        at: Position { file: file.clone(), line, column: 1 },
        path: String::new(),
        kind: String::new(),
        message,
        expected: None,
        actual: None,
        difference: None,
    };
    let verdict = match ended {
        Ok(()) => TestVerdict::Passed,
        Err(message) => TestVerdict::Failed(vec![mismatch(message)]),
    };
    let (family, profile) = ("kuma".to_owned(), PROFILE.to_owned());
    CaseResult { name, file, line, family, profile, verdict }
}

/// Runs one case; or why it cannot be run. Those of the Inspect API run over HTTP, against a server.
fn one(
    folder: &Path,
    area: &str,
    name: &str,
    files: &[&str],
) -> Result<Option<&'static str>, String> {
    if name.is_empty() {
        return Err("this line of the manifest has no case".to_owned());
    }
    let mut texts = Vec::new();
    for file in files {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| format!("the manifest names `{file}`, which cannot be read: {e}"))?;
        texts.push(((*file).to_owned(), text));
    }
    if area.starts_with("inspect/") {
        return match inspect::excluded(&texts) {
            Some(why) => Ok(Some(why)),
            None => inspect::run(&texts).map(|()| None),
        };
    }
    overrule_conformance::kuma::run(area, name, &texts).map(|()| None)
}
