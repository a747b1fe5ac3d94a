// SPDX-License-Identifier: Apache-2.0
//! In: every file. Out: stray white space, missing ends of line, documents with lines that are too long, leftovers, paths
//! of somebody's machine. Not here: what the files say.

use super::{File, Problems};

/// Words that say that something is not finished. Spelt in parts, so that this file may exist.
const LEFTOVERS: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("db", "g!("),
    concat!("to", "do!("),
];
/// Beginnings of paths that exist on one machine only.
const MACHINES: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// The most columns of a line of a document.
const COLUMNS: usize = 120;
/// A document with this line may have wider tables.
const WIDE_TABLES: &str = "<!-- tidy: wide tables -->";

pub(super) fn check(files: &[File], problems: &mut Problems) {
    for file in files {
        if !is_data(&file.name) {
            white_space(file, problems);
        }
        if is_document(&file.name) {
            long_lines(file, problems);
        }
        if is_code(&file.name) {
            leftovers(file, problems);
        }
        machine_paths(file, problems);
    }
}

/// Inputs and expected outputs of tests may hold anything.
fn is_data(name: &str) -> bool {
    let data = ["/tests/", "fuzz/seeds/", "fuzz/corpus/"].iter().any(|part| name.contains(part));
    (data && !name.ends_with(".rs")) || name == "Cargo.lock"
}

fn is_code(name: &str) -> bool {
    [".rs", ".toml", ".sh"].iter().any(|end| name.ends_with(end)) || name == ".ci/run"
}

fn is_document(name: &str) -> bool {
    name.ends_with(".md") && !is_data(name)
}

/// Fenced blocks repeat files and answers, so their lines are as long as those.
fn long_lines(file: &File, problems: &mut Problems) {
    let wide_tables = file.lines().any(|(_, line)| line == WIDE_TABLES);
    let mut fenced = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let columns = line.chars().count();
        if fenced || columns <= COLUMNS || (wide_tables && line.starts_with('|')) {
            continue;
        }
        let remedy = if line.starts_with('|') {
            format!("shorten the row, or add the line `{WIDE_TABLES}`")
        } else {
            format!("wrap it at {COLUMNS}")
        };
        problems.push(format!("{}:{number}: {columns} columns; {remedy}", file.name));
    }
}

fn white_space(file: &File, problems: &mut Problems) {
    let Some(text) = &file.text else { return };
    for (number, line) in file.lines().filter(|(_, line)| line.ends_with([' ', '\t'])) {
        problems.push(format!(
            "{}:{number}: white space at the end of `{}`",
            file.name,
            line.trim()
        ));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        problems.push(format!("{}: the last line has no end of line", file.name));
    }
    if text.ends_with("\n\n") {
        problems.push(format!("{}: empty lines at the end", file.name));
    }
}

fn leftovers(file: &File, problems: &mut Problems) {
    for (number, line) in file.lines() {
        if let Some(word) = LEFTOVERS.iter().find(|word| has_word(line, word)) {
            let word = word.trim_end_matches('(');
            problems
                .push(format!("{}:{number}: `{word}`: finish it, or write an issue", file.name));
        }
    }
}

/// Whether a line has a word that is not part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(i, found)| {
        let before = line.get(..i).and_then(|s| s.chars().next_back());
        let after = line.get(i + found.len()..).and_then(|s| s.chars().next());
        let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !part(before) && (word.ends_with('(') || !part(after))
    })
}

fn machine_paths(file: &File, problems: &mut Problems) {
    for (number, line) in file.lines() {
        let found = MACHINES.iter().find(|path| {
            line.match_indices(**path).any(|(i, found)| {
                let before = line.get(..i).and_then(|s| s.chars().next_back());
                let after = line.get(i + found.len()..).and_then(|s| s.chars().next());
                // `example.com/home/x` and `{base}/home/x` are not paths of a machine.
                let inside = before.is_some_and(|c| c.is_alphanumeric() || "_.-*})]~$".contains(c));
                !inside && after.is_some_and(char::is_alphanumeric)
            })
        });
        if let Some(path) = found {
            problems
                .push(format!("{}:{number}: a path of somebody's machine (`{path}`)", file.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn problems(name: &str, text: &str) -> usize {
        let mut problems = Problems::new();
        check(&[file(name, text)], &mut problems);
        problems.len()
    }

    #[test]
    fn finds_what_is_untidy_and_nothing_else() {
        assert_eq!(problems("a.rs", "fn a() {}\n"), 0);
        assert_eq!(problems("a.rs", "fn a() {} \n"), 1);
        assert_eq!(problems("a.rs", "fn a() {}"), 1);
        assert_eq!(problems("a.md", "text\n\n"), 1);
        assert_eq!(problems("crates/x/tests/a.stdout", "fn a() {} "), 0);
        let long = format!("| {}\n", "a ".repeat(60).trim_end());
        assert_eq!(problems("docs/a.md", &long), 1);
        assert_eq!(problems("docs/a.md", &format!("```text\n{long}```\n")), 0);
        assert_eq!(problems("docs/a.md", &format!("{WIDE_TABLES}\n\n{long}")), 0);
        assert_eq!(problems("examples/a/README.md", &long), 1);
        assert_eq!(problems("crates/x/tests/a.md", &long), 0);
        assert_eq!(problems("docs/a.rs", &long), 0);
        assert_eq!(problems("a.rs", &format!("// {} later\n", LEFTOVERS[0])), 1);
        assert_eq!(problems("a.rs", &format!("let {}S = 1;\n", LEFTOVERS[0])), 0);
        assert_eq!(problems("a.rs", &format!("{}x);\n", LEFTOVERS[3])), 1);
        assert_eq!(problems("crates/x/tests/a.stdout", &format!("{}main\n", MACHINES[0])), 1);
        assert_eq!(problems("a.md", &format!("https://example.com{}main\n", MACHINES[0])), 0);
    }
}
