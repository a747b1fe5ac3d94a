// SPDX-License-Identifier: Apache-2.0
//! In: a file of random cases, one JSON object in each line. Out: its cases as results. Not here: running one (the
//! `conformance` crate).

use std::path::Path;

use overrule_cases::CaseResult;
use overrule_conformance::kuma::random;
use serde_json::Value;

use crate::manifest;

/// The ending by which such a file is known.
pub(crate) const ENDING: &str = "jsonl";

/// Runs the cases of a file that are wanted.
pub(crate) fn cases(
    path: &Path,
    admit: &mut dyn FnMut(&str) -> manifest::Admission,
) -> Result<Vec<CaseResult>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut ran = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        let read: Result<Value, String> =
            serde_json::from_str(line).map_err(|e| format!("the line is no JSON: {e}"));
        let name = read.as_ref().map_or_else(|_| number.to_string(), |v| random::name(v, number));
        if matches!(admit(&name), manifest::Admission::Skip) {
            continue;
        }
        let ended = read.and_then(|value| random::run(&value));
        let line = u32::try_from(number).unwrap_or(u32::MAX);
        ran.push(manifest::result(path, line, name, ended));
    }
    Ok(ran)
}
