// SPDX-License-Identifier: Apache-2.0
//! In: groups and sizes. Out: instructions of every stage, counted by valgrind. Not here: what becomes of the figures.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use super::kept::{Kept, Row};
use crate::cargo;

/// The program that runs stages, built, and what counts it.
#[derive(Debug)]
pub(crate) struct Counter {
    program: PathBuf,
    rustc: String,
    valgrind: String,
}

/// The function of the program that is counted.
const COUNTED: &str = "*the_counted_part*";
/// The same, for the option that has a count written when it returns: of two equal patterns callgrind heeds only one.
const WRITTEN: &str = "stages::the_counted_part";

impl Counter {
    /// Builds the program; the inner error says what is not installed.
    pub(crate) fn new(root: &Path) -> Result<Result<Self, String>, String> {
        let Some(valgrind) = says("valgrind") else {
            return Ok(Err("valgrind is not installed, nothing was counted".to_owned()));
        };
        let rustc = says("rustc").ok_or("`rustc --version` says nothing")?;
        let arguments = [
            "bench",
            "-p",
            "overrule-testkit",
            "--bench",
            "stages",
            "--no-run",
            "--message-format=json",
        ];
        let said = cargo::output(root, &arguments)?;
        let messages = serde_json::Deserializer::from_slice(&said).into_iter::<Value>().flatten();
        let program = |message: Value| {
            let is_it = message.pointer("/target/name").is_some_and(|n| n == "stages");
            message.get("executable").and_then(Value::as_str).filter(|_| is_it).map(PathBuf::from)
        };
        let program = messages.filter_map(program).last().ok_or("cargo built no program")?;
        Ok(Ok(Self { program, rustc, valgrind }))
    }

    /// The compiler that built it.
    pub(crate) fn rustc(&self) -> &str {
        &self.rustc
    }

    /// Runs every group at every size, the large ones first, as many at once as there are processors.
    pub(crate) fn count(&self, groups: &[&str], sizes: &[u32]) -> Result<Kept, String> {
        let mut left: Vec<(&str, u32)> =
            sizes.iter().flat_map(|size| groups.iter().rev().map(|g| (*g, *size))).collect();
        left.sort_by_key(|(_, size)| *size);
        let (left, done) = (Mutex::new(left), Mutex::new(BTreeMap::new()));
        let work = || {
            while let Some((group, size)) = locked(&left).pop() {
                let start = Instant::now();
                let counted = self.run(group, size);
                eprintln!("counted {group}, {size}, in {:.0} s", start.elapsed().as_secs_f64());
                locked(&done).insert((group, size), counted);
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
        let mut done = std::mem::take(&mut *locked(&done));
        let mut rows: Vec<Row> = Vec::new();
        for (group, size) in groups.iter().flat_map(|g| sizes.iter().map(|size| (*g, *size))) {
            let counted = done.remove(&(group, size));
            let counted = counted.ok_or_else(|| format!("{group}, {size}: not counted"))?;
            for (name, count) in counted? {
                match rows.iter_mut().find(|row| row.group == group && row.stage == name) {
                    Some(row) => drop(row.counts.insert(size, count)),
                    None => rows.push(Row {
                        group: group.to_owned(),
                        stage: name,
                        counts: BTreeMap::from([(size, count)]),
                    }),
                }
            }
        }
        Ok(Kept { rustc: self.rustc.clone(), valgrind: self.valgrind.clone(), rows })
    }

    /// One group at one size: names of stages with their instructions.
    fn run(&self, group: &str, size: u32) -> Result<Vec<(String, u64)>, String> {
        let folder = tempfile::tempdir().map_err(|e| format!("no folder for counts: {e}"))?;
        let (manifests, size) = (folder.path().join("fleet"), size.to_string());
        let mut writes = Command::new(&self.program);
        writes.arg("--write").arg(&manifests).args([group, &size]);
        let wrote = writes.status().map_err(|e| format!("{}: {e}", self.program.display()))?;
        if !wrote.success() {
            return Err(format!("{group}, {size}: no manifests: {wrote}"));
        }
        let out = folder.path().join("out");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--collect-atstart=no"]);
        valgrind.args([format!("--toggle-collect={COUNTED}"), format!("--dump-after={WRITTEN}")]);
        valgrind.arg(format!("--callgrind-out-file={}", out.display()));
        valgrind.arg(&self.program).args([group, &size]).arg(&manifests);
        let ran = valgrind.stdin(Stdio::null()).output().map_err(|e| format!("valgrind: {e}"))?;
        let what = format!("{group}, {size}");
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            return Err(format!("{what}: {}\n{said}", ran.status));
        }
        let said = String::from_utf8_lossy(&ran.stdout);
        let prefix = format!("{group} ");
        let names = said.lines().filter_map(|line| line.strip_prefix(&prefix));
        let mut stages = Vec::new();
        for (name, number) in names.zip(1..) {
            let part = folder.path().join(format!("out.{number}"));
            let text =
                std::fs::read_to_string(&part).map_err(|e| format!("{what}, {name}: {e}"))?;
            let count = total(&text).filter(|count| *count > 0);
            let count = count.ok_or_else(|| format!("{what}, {name}: nothing was counted"))?;
            stages.push((name.to_owned(), count));
        }
        let one_more = folder.path().join(format!("out.{}", stages.len() + 1));
        if stages.is_empty() || one_more.exists() {
            return Err(format!("{what}: stages and counts do not match: {said}"));
        }
        Ok(stages)
    }
}

/// What is behind a lock; a worker that stopped in the middle has left it whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The instructions of one file of callgrind.
fn total(text: &str) -> Option<u64> {
    let line = |name: &str| {
        text.lines().rev().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    line("totals:").or_else(|| line("summary:"))
}

/// What a program says of its version.
fn says(program: &str) -> Option<String> {
    let said = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    text.lines().next().map(str::to_owned).filter(|_| said.status.success())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_total_counts() {
        let text = "# callgrind format\nsummary: 12\n\nfn=(1) a\n1 12\n\ntotals: 34\n";
        assert_eq!(super::total(text), Some(34));
        assert_eq!(super::total("summary: 12\n"), Some(12));
        assert_eq!(super::total("fn=(1) a\n"), None);
    }
}
