// SPDX-License-Identifier: Apache-2.0
//! In: the documents. Out: pages, numbers, crates and paths they name that do not exist, and the reverse.
//! Not here: whether their examples work; the tests of the command line run those.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::{File, Problems};
use crate::rules;

/// Every code has its page with its title, and every page its code.
pub(super) fn codes(root: &Path, problems: &mut Problems) {
    let codes = rules::codes();
    let mut pages = names(&root.join("docs/rules"), problems);
    pages.retain(|page| page != "README.md");
    for pair in codes.windows(2) {
        if let [a, b] = pair
            && a.id == b.id
        {
            problems.push(format!("{} is declared twice", a.id));
        }
    }
    for code in &codes {
        let page = format!("{}.md", code.id);
        if !pages.contains(&page) {
            problems
                .push(format!("docs/rules/{page}: missing; it is the page of `{}`", code.title));
            continue;
        }
        let text = std::fs::read_to_string(root.join("docs/rules").join(&page)).unwrap_or_default();
        let (title, wanted) =
            (text.lines().next().unwrap_or(""), format!("# {}: {}", code.id, code.title));
        if title != wanted {
            problems.push(format!(
                "docs/rules/{page}:1: the title is `{title}`, it must be `{wanted}`"
            ));
        }
    }
    for page in
        pages.iter().filter(|page| !codes.iter().any(|code| format!("{}.md", code.id) == **page))
    {
        problems.push(format!("docs/rules/{page}: there is no such code"));
    }
}

/// Decisions are numbered from 0001 without gaps.
pub(super) fn decisions(root: &Path, problems: &mut Problems) {
    let mut by_number: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for name in
        names(&root.join("docs/decisions"), problems).into_iter().filter(|n| n != "README.md")
    {
        let number = name.split_once('-').map(|(n, _)| n).filter(|n| n.len() == 4);
        match number.and_then(|n| n.parse().ok()) {
            Some(number) => by_number.entry(number).or_default().push(name),
            None => problems.push(format!(
                "docs/decisions/{name}: the name must start with four digits and `-`"
            )),
        }
    }
    for (wanted, (number, files)) in (1..).zip(&by_number) {
        if files.len() > 1 {
            problems.push(format!(
                "docs/decisions: {number:04} is the number of {}",
                files.join(" and ")
            ));
        }
        if *number != wanted {
            problems.push(format!(
                "docs/decisions: {number:04} follows {:04}; numbers have no gaps",
                wanted - 1
            ));
            break;
        }
    }
}

fn names(folder: &Path, problems: &mut Problems) -> Vec<String> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(format!("{}: {error}", folder.display()));
            return Vec::new();
        }
    };
    let mut names: Vec<String> =
        entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The changelog has a place for what comes next, or the version that is current.
pub(super) fn changelog(files: &[File], problems: &mut Problems) {
    let Some(file) = files.iter().find(|f| f.name == "CHANGELOG.md") else {
        problems.push("CHANGELOG.md: missing".to_owned());
        return;
    };
    let is_section = |line: &str| {
        let Some(title) = line.strip_prefix("## ") else { return false };
        let title = title.trim_start_matches('[');
        title.starts_with("Unreleased") || title.starts_with(|c: char| c.is_ascii_digit())
    };
    if !file.lines().any(|(_, line)| is_section(line)) {
        problems.push(
            "CHANGELOG.md: there is neither `## Unreleased` nor the section of a version"
                .to_owned(),
        );
    }
}

/// The architecture names every crate, and every path it names exists.
pub(super) fn architecture(root: &Path, files: &[File], problems: &mut Problems) {
    let Some(file) = files.iter().find(|f| f.name == "ARCHITECTURE.md") else {
        problems.push("ARCHITECTURE.md: missing".to_owned());
        return;
    };
    let text = file.text.as_deref().unwrap_or("");
    let mut crates = names(&root.join("crates"), problems);
    crates.extend(names(&root.join("workshop"), problems));
    for name in crates.iter().map(String::as_str).chain(["xtask"]) {
        if !text.contains(&format!("`{name}`")) {
            problems.push(format!("ARCHITECTURE.md: the crate `{name}` is not named"));
        }
    }
    let named = files
        .iter()
        .filter(|f| f.name == "ARCHITECTURE.md" || f.name.starts_with("docs/decisions/"));
    for file in named {
        for (number, line) in file.lines() {
            for path in code_spans(line).filter(|span| is_path(span)) {
                if !root.join(path).exists() {
                    problems.push(format!("{}:{number}: `{path}` does not exist", file.name));
                }
            }
        }
    }
}

/// What stands between backticks in a line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether a code span names a file of ours, and not a pattern of names.
fn is_path(span: &str) -> bool {
    let ours = ["crates/", "docs/", "fuzz/", "workshop/", "xtask/", "examples/"]
        .iter()
        .any(|start| span.starts_with(start));
    ours && !span.contains(['<', '*', ' ', '{']) && !span.contains("...")
}

/// Links in documents lead somewhere.
pub(super) fn links(root: &Path, files: &[File], problems: &mut Problems) {
    for file in files.iter().filter(|f| f.name.ends_with(".md")) {
        let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
        for (number, line) in file.lines() {
            for target in targets(line) {
                let path = target.split('#').next().unwrap_or("");
                if !path.is_empty()
                    && !path.contains(':')
                    && !root.join(flat(&folder.join(path))).exists()
                {
                    problems
                        .push(format!("{}:{number}: the link `{target}` leads nowhere", file.name));
                }
            }
        }
    }
}

/// Targets of links in a line: `[text](target)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|t| !t.contains([' ', '`']))
}

fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                flat.pop();
            }
            Component::CurDir => {}
            part => flat.push(part),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn numbers_of_decisions_have_no_gaps() {
        let check = |names: &[&str]| {
            let root = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(root.path().join("docs/decisions")).unwrap();
            for name in names {
                std::fs::write(root.path().join("docs/decisions").join(name), "").unwrap();
            }
            let mut problems = Problems::new();
            decisions(root.path(), &mut problems);
            problems.len()
        };
        assert_eq!(check(&["0001-a.md", "0002-b.md", "README.md"]), 0);
        assert_eq!(check(&["0001-a.md", "0003-b.md"]), 1);
        assert_eq!(check(&["0001-a.md", "0001-b.md"]), 1);
        assert_eq!(check(&["0001-a.md", "two.md"]), 1);
    }

    #[test]
    fn links_and_paths_are_followed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("crates/a")).unwrap();
        std::fs::create_dir_all(root.path().join("workshop")).unwrap();
        let page = file(
            "docs/x.md",
            "[a](../crates/a) [b](../crates/b#c) [c](https://example.com) [d](#e)\n",
        );
        let mut problems = Problems::new();
        links(root.path(), &[page], &mut problems);
        assert_eq!(problems, ["docs/x.md:1: the link `../crates/b#c` leads nowhere"]);
        let page =
            file("ARCHITECTURE.md", "`a` `xtask` `crates/a` `crates/b/tests/c.rs` `crates/*`\n");
        let mut problems = Problems::new();
        architecture(root.path(), &[page], &mut problems);
        assert_eq!(problems, ["ARCHITECTURE.md:1: `crates/b/tests/c.rs` does not exist"]);
    }

    #[test]
    fn a_changelog_has_a_section() {
        let check = |text: &str| {
            let mut problems = Problems::new();
            changelog(&[file("CHANGELOG.md", text)], &mut problems);
            problems.len()
        };
        assert_eq!(
            (check("## Unreleased\n"), check("## [0.1.0] - 2026\n"), check("## Notes\n")),
            (0, 0, 1)
        );
    }
}
