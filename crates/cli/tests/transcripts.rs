// SPDX-License-Identifier: Apache-2.0
//! In: `console` blocks of README.md, docs and examples. Out: that the command still answers what they show.
//! Not here: pages of rules (`rules.rs`).
//!
//! A block holds lines `$ overrule ...` (quotes as in a shell, `| head -n N` at the end), each followed by stdout, then
//! stderr, and `[exit N]` where the exit code is not 0. A line `...` stands for any lines, `[..]` in a line for any
//! text. A block `yaml file=PATH` repeats a file of the repository. In a block `console stdin=PATH`, what stands before
//! `| overrule` is not run: these files are the standard input. `diff <(overrule ...) <(overrule ...)` compares what two
//! commands print. `OVERRULE_BLESS=1 cargo test -p overrule-cli --test transcripts` rewrites the blocks that differ.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::PathBuf;
use std::process::Command;

use common::{Fence, bless, difference, fences, files_below, finish, overrule, root};
use snapbox::Data;
use snapbox::filter::NormalizeToExpected;

/// Commands that pages show and this test does not run.
const NOT_RUN: &[&str] = &[
    "cargo",
    "git",
    "kubectl",
    "helm",
    "kustomize",
    "cd",
    "curl",
    "install",
    "mkdir",
    "tar",
    "sha256sum",
];

/// A command line and what the page says it answers.
#[derive(Debug)]
struct Step {
    line: String,
    expected: String,
}

fn documents() -> Vec<PathBuf> {
    let root = root();
    let mut found: Vec<PathBuf> = files_below(&root.join("docs"), ".md");
    found.extend(files_below(&root.join("examples"), "README.md"));
    found.extend([root.join("README.md")].into_iter().filter(|path| path.exists()));
    found
}

fn steps(body: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in body.split_inclusive('\n') {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                steps.push(Step { line: command.trim_end().to_owned(), expected: String::new() });
            }
            (None, Some(step)) => step.expected.push_str(line),
            (None, None) => panic!("a console block starts with a line `$ command`, not {line:?}"),
        }
    }
    steps
}

/// Words as a shell sees them.
fn words(line: &str) -> Vec<String> {
    let words = shlex::split(line).unwrap_or_else(|| panic!("a quote is never closed: {line}"));
    let shell = ['#', '|', '>', '<', '&', ';', '$', '`', '*'];
    assert!(
        !line.contains(" #") && !words.iter().any(|word| word.starts_with(shell)),
        "this needs a shell, and there is none: {line}"
    );
    words
}

/// What two commands print, compared as a shell would have it.
fn compared(line: &str) -> Option<String> {
    let (left, right) = line.strip_prefix("diff <(")?.strip_suffix(')')?.split_once(") <(")?;
    let files = [left, right].map(|command| {
        let ran = finish(&mut overrule(words(command).into_iter().skip(1)));
        assert_eq!(ran.err, "", "{command}: it would be mixed with what `diff` prints");
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(ran.out.as_bytes()).unwrap();
        file
    });
    let ran = finish(Command::new("diff").args(files.iter().map(|file| file.path())));
    Some(with_exit(ran.out, ran.code))
}

/// Files of the repository as one standard input.
fn input(path: &str) -> File {
    let path = root().join(path);
    let files = if path.is_dir() { files_below(&path, ".yaml") } else { vec![path] };
    let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(texts.collect::<Vec<_>>().join("---\n").as_bytes()).unwrap();
    file.rewind().unwrap();
    file
}

fn with_exit(mut text: String, code: Option<i32>) -> String {
    if code != Some(0) {
        let code = code.map_or("signal".to_owned(), |c| c.to_string());
        text.push_str(&format!("[exit {code}]\n"));
    }
    text
}

/// What a line prints; nothing if it is none of ours.
fn answer(line: &str, stdin: Option<&str>) -> Option<String> {
    if let Some(compared) = compared(line) {
        return Some(compared);
    }
    let (line, stdin) = match line.split_once(" | overrule ") {
        Some((source, rest)) => {
            let first = source.split_whitespace().next().unwrap_or("");
            assert!(NOT_RUN.contains(&first), "`{first}` is not on the list: {line}");
            let stdin = stdin.expect("a block with `stdin=PATH`");
            (&*format!("overrule {rest}"), Some(input(stdin)))
        }
        None => (line, None),
    };
    let (command, head) = match line.rsplit_once(" | head -n ") {
        Some((command, count)) => {
            (command, Some(count.parse::<usize>().expect("a number after `head -n`")))
        }
        None => (line, None),
    };
    let first = command.split_whitespace().next().unwrap_or("");
    if first != "overrule" {
        assert!(
            NOT_RUN.contains(&first),
            "`{first}` is not on the list of commands that pages may show"
        );
        return None;
    }
    let mut ours = overrule(words(command).into_iter().skip(1));
    if let Some(file) = stdin {
        ours.stdin(file);
    }
    let ran = finish(&mut ours);
    let mut text = match head {
        Some(count) => ran.out.split_inclusive('\n').take(count).collect(),
        None => ran.out,
    };
    text.push_str(&ran.err);
    // Behind a pipe the exit code is that of `head`.
    Some(if head.is_some() { text } else { with_exit(text, ran.code) })
}

/// An answer with the gaps of the page where they fit it.
fn with_gaps(expected: &str, actual: String) -> String {
    let expected = Data::text(expected);
    NormalizeToExpected::new().redact().normalize(Data::text(actual), &expected).to_string()
}

/// Runs a block. Differences are told; what the block should say is returned.
fn check(name: &str, fence: &Fence, wrong: &mut Vec<String>) -> String {
    let mut blessed = String::new();
    for step in steps(&fence.body) {
        blessed.push_str(&format!("$ {}\n", step.line));
        let actual = match answer(&step.line, fence.value("stdin")) {
            None => step.expected,
            Some(actual) => {
                // A block cannot show blank ends of lines that editors strip.
                let actual: String =
                    actual.lines().map(|line| format!("{}\n", line.trim_end())).collect();
                let actual = with_gaps(&step.expected, actual);
                if actual != step.expected {
                    let difference = difference(&step.expected, &actual);
                    wrong.push(format!("{name}:{}: $ {}\n{difference}", fence.line, step.line));
                }
                actual
            }
        };
        blessed.push_str(&actual);
    }
    blessed
}

/// What a block should say; nothing if it makes no promise.
fn promised(name: &str, fence: &Fence, wrong: &mut Vec<String>) -> Option<String> {
    if fence.language() == "console" {
        return Some(check(name, fence, wrong));
    }
    // The files on pages of rules are made up.
    let file = fence.value("file").filter(|_| !name.starts_with("docs/rules/"))?;
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    if text != fence.body {
        wrong.push(format!("{name}:{}: {file}\n{}", fence.line, difference(&fence.body, &text)));
    }
    Some(text)
}

#[test]
fn every_block_is_true() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in documents() {
        let page = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let mut blessed = page.clone();
        for fence in fences(&page).iter().rev() {
            if let Some(text) = promised(&name, fence, &mut wrong) {
                count += 1;
                blessed.replace_range(fence.range.clone(), &text);
            }
        }
        if bless() && blessed != page {
            std::fs::write(&path, blessed).unwrap();
        }
    }
    assert!(count > 0, "there are no blocks at all");
    assert!(bless() || wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn gaps_fit_anything() {
    let fits = |page: &str, answer: &str| with_gaps(page, answer.to_owned()) == page;
    assert!(fits("a\n...\nc\n", "a\nb\nb\nc\n") && fits("...\n", ""));
    assert!(fits("x [..] y [..]\n", "x 1 2 y 3\n") && !fits("x [..] y\n", "x 1\n"));
    assert!(!fits("a\n", "a\nb\n") && !fits("a\nb\n", "a\n"));
}
