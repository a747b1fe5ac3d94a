// SPDX-License-Identifier: Apache-2.0
//! In: arguments and pages of Markdown. Out: what the built command answers, fenced blocks, differences.
//! Not here: expectations.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use snapbox::Data;
use snapbox::report::{Palette, write_diff};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The command, in the root of the repository, with an environment of its own.
pub fn overrule<A: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overrule"));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    for name in ["CI", "TERM", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"] {
        command.env_remove(name);
    }
    command.env("NO_COLOR", "1").env("COLUMNS", "100");
    // Tests leave nothing in the folders of whoever runs them.
    command.env("OVERRULE_NO_CACHE", "1");
    command
}

/// What a command did.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Results.
    pub out: String,
    /// Everything else.
    pub err: String,
}

impl Ran {
    /// Results, which must be JSON and nothing else.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("not JSON: {e}\n{self:?}"))
    }
}

/// Runs a prepared command to its end.
pub fn finish(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the command with words separated by blanks.
pub fn run(line: &str) -> Ran {
    finish(&mut overrule(line.split_whitespace()))
}

/// Runs the command on a folder: `check -o json` becomes `check -o json -f DIR`.
pub fn run_on(dir: &Path, line: &str) -> Ran {
    let dir = dir.to_str().unwrap();
    finish(&mut overrule(line.split_whitespace().chain(["-f", dir])))
}

/// Runs the command with a text as standard input.
pub fn run_with_input(line: &str, input: &[u8]) -> Ran {
    let mut command = overrule(line.split_whitespace());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Small enough for the buffer of a pipe, so nobody waits for anybody.
    assert!(input.len() < 60_000, "give larger inputs as files");
    stdin.write_all(input).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A new folder with files: name and content.
pub fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        write(&dir.path().join(name), content.as_bytes());
    }
    dir
}

/// Writes a file and the folders above it.
pub fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// A fenced block of a page.
#[derive(Debug, Clone)]
pub struct Fence {
    /// What stands behind the backticks: `yaml file=a.yaml`.
    pub info: String,
    /// The lines inside, each with its end.
    pub body: String,
    /// Number of the line with the opening backticks, from 1.
    pub line: usize,
    /// Bytes of the body in the page.
    pub range: std::ops::Range<usize>,
}

impl Fence {
    /// The language.
    pub fn language(&self) -> &str {
        self.info.split_whitespace().next().unwrap_or("")
    }

    /// The value of `key=value` behind the language.
    pub fn value(&self, key: &str) -> Option<&str> {
        let words = self.info.split_whitespace().skip(1);
        words.filter_map(|w| w.split_once('=')).find(|(k, _)| *k == key).map(|(_, v)| v)
    }
}

/// Every fenced block of a page, in order.
pub fn fences(page: &str) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut open = false;
    let mut at = 0;
    for (number, line) in page.split_inclusive('\n').enumerate() {
        let text = line.trim_end();
        let next = at + line.len();
        if open && text == "```" {
            open = false;
        } else if open {
            let fence = found.last_mut().unwrap();
            fence.body.push_str(line);
            fence.range.end = next;
        } else if let Some(info) = text.strip_prefix("```") {
            let info = info.to_owned();
            found.push(Fence { info, body: String::new(), line: number + 1, range: next..next });
            open = true;
        }
        at = next;
    }
    assert!(!open, "a fence is never closed");
    found
}

/// Every file below a folder with this ending, sorted.
pub fn files_below(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
            } else if entry.to_str().unwrap().ends_with(ending) {
                found.push(entry);
            }
        }
    }
    found.sort();
    found
}

/// Whether golden files and transcripts are to be rewritten.
#[expect(clippy::disallowed_methods, reason = "tests are told what to do by the environment")]
pub fn bless() -> bool {
    std::env::var("OVERRULE_BLESS").is_ok_and(|v| v == "1")
}

/// Lines that differ, with `-` for what was expected and `+` for what came.
pub fn difference(expected: &str, actual: &str) -> String {
    let mut text = String::new();
    let (expected, actual) = (Data::text(expected), Data::text(actual));
    write_diff(&mut text, &expected, &actual, None, None, Palette::plain()).unwrap();
    text
}
