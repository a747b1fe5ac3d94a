// SPDX-License-Identifier: Apache-2.0
//! In: Rust files. Out: missing licences, rooms too big, vendors in the core, comparators beside the one.
//! Not here: what a compiler or clippy says.

use super::lexer::without_comments;
use super::{File, Problems};

/// The first line of every Rust file.
const LICENCE: &str = "// SPDX-License-Identifier: Apache-2.0";
/// More lines than anybody finds their way in.
const LONGEST: usize = 500;

/// Words that crates below the families must not know, crate by crate.
const VENDORS: &[(&str, &[&str])] = &[
    ("crates/source/src/", &["kuadrant", "kgateway", "kuma", "istio", "envoy"]),
    ("crates/engine/src/", &["kuadrant", "kgateway", "kuma", "istio", "envoy"]),
    // Mesh resources are a form of input, which the model reads.
    ("crates/model/src/", &["kuadrant", "kgateway", "istio", "envoy"]),
];

/// Lines outside of `engine/src/rank.rs` that compare ranks, and why they may.
const COMPARISONS: &[(&str, &str, &str)] = &[
    ("crates/engine/src/rank.rs", "", "the comparator itself"),
    (
        "crates/engine/src/local.rs",
        "self.rank(a.step).cmp(&self.rank(b.step))",
        "groups by kind and node, then asks Rank",
    ),
    (
        "crates/gateway/src/resolve/walk.rs",
        "builder.rank(*a).cmp(&builder.rank(*b))",
        "asks Rank: kinds that do not merge are sorted again over all levels",
    ),
    (
        "crates/kuadrant/src/resolve/local.rs",
        "list.sort_by_key(|a| ranks.age(a.policy));",
        "conflicts of direct policies come before ranks: the keys are those a rank is made of",
    ),
    (
        "crates/mesh/src/merge/subset/build.rs",
        "self.rules.sort_by_cached_key(|rule| Reverse(rank(rule)));",
        "orders rules over tags by how many they demand, no policies",
    ),
    (
        "crates/model/src/snapshot.rs",
        "scope_rank(a.scope).cmp(&scope_rank(b.scope))",
        "orders resources of one name by the form they are written in, no policies",
    ),
];

pub(super) fn check(files: &[File], problems: &mut Problems) {
    for file in files.iter().filter(|f| f.is_rust()) {
        if file.lines().next().is_none_or(|(_, line)| line != LICENCE) {
            problems.push(format!("{}:1: the first line must be `{LICENCE}`", file.name));
        }
        length(file, problems);
        vendors(file, problems);
    }
    comparators(files, problems);
}

fn length(file: &File, problems: &mut Problems) {
    let lines = file.lines().count();
    let generated = file.lines().take(5).any(|(_, line)| line.contains("@generated"));
    if lines > LONGEST && !generated {
        problems.push(format!(
            "{}: {lines} lines, more than {LONGEST}; split it by what it knows",
            file.name
        ));
    }
}

fn vendors(file: &File, problems: &mut Problems) {
    let Some((_, words)) = VENDORS.iter().find(|(folder, _)| file.name.starts_with(folder)) else {
        return;
    };
    let code = without_comments(file.text.as_deref().unwrap_or("")).to_lowercase();
    for (number, line) in code.lines().enumerate() {
        for word in words.iter().filter(|word| line.contains(**word)) {
            let number = number + 1;
            problems.push(format!(
                "{}:{number}: `{word}` is no word of this crate; families know vendors",
                file.name
            ));
        }
    }
}

/// Nothing but `Rank` says which policy stands above which.
fn comparators(files: &[File], problems: &mut Problems) {
    let mut used = vec![false; COMPARISONS.len()];
    for file in files
        .iter()
        .filter(|f| f.is_rust() && f.name.starts_with("crates/") && f.name.contains("/src/"))
    {
        if !file.lines().any(|(_, line)| compares_ranks(line)) {
            continue;
        }
        let code = without_comments(file.text.as_deref().unwrap_or(""));
        for (number, line) in code.lines().enumerate().filter(|(_, line)| compares_ranks(line)) {
            let allowed = COMPARISONS
                .iter()
                .position(|(name, part, _)| *name == file.name && line.contains(part));
            match allowed.and_then(|i| used.get_mut(i)) {
                Some(used) => *used = true,
                None => {
                    let number = number + 1;
                    let line = line.trim();
                    problems.push(format!(
                        "{}:{number}: `{line}` compares ranks; ask engine::Rank, or give a reason in xtask/src/tidy/sources.rs",
                        file.name
                    ));
                }
            }
        }
    }
    for ((name, part, _), used) in COMPARISONS.iter().zip(used) {
        if !used && files.iter().any(|f| f.name == *name) && !part.is_empty() {
            problems.push(format!(
                "xtask/src/tidy/sources.rs: `{part}` is allowed in {name}, which has no such line"
            ));
        }
    }
}

fn compares_ranks(line: &str) -> bool {
    let lower = line.to_lowercase();
    let compares =
        ["sort_by", "sort_unstable_by", ".cmp(", "cmp::", "max_by", "min_by", "partial_cmp"];
    // `RankKeys` and such are names, not comparisons.
    lower.contains("rank")
        && compares.iter().any(|word| lower.contains(word))
        && !lower.trim().starts_with("use ")
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn problems(name: &str, text: &str) -> Problems {
        let mut problems = Problems::new();
        check(&[file(name, &format!("{LICENCE}\n{text}"))], &mut problems);
        problems
    }

    #[test]
    fn vendors_may_stand_in_comments() {
        assert!(problems("crates/engine/src/a.rs", "// Kuma does\nfn a() {}\n").is_empty());
        assert_eq!(problems("crates/engine/src/a.rs", "fn a() { kuma() }\n").len(), 1);
        assert!(problems("crates/model/src/a.rs", "const A: &str = \"kuma.io\";\n").is_empty());
        assert_eq!(
            problems("crates/model/src/a.rs", "const A: &str = \"kuadrant.io\";\n").len(),
            1
        );
        assert!(
            problems("crates/gateway/src/a.rs", "const A: &str = \"kuadrant.io\";\n").is_empty()
        );
    }

    #[test]
    fn a_second_comparator_is_found() {
        let found = problems("crates/view/src/a.rs", "v.sort_by(|a, b| a.rank.cmp(&b.rank));\n");
        assert!(found.len() == 1 && found[0].contains("compares ranks"), "{found:?}");
        assert!(
            problems("crates/view/src/a.rs", "v.sort_by(|a, b| a.name.cmp(&b.name));\n").is_empty()
        );
    }

    #[test]
    fn an_exception_nobody_needs_is_found() {
        let found = problems("crates/gateway/src/resolve/walk.rs", "fn a() {}\n");
        assert!(found.len() == 1 && found[0].contains("no such line"), "{found:?}");
    }

    #[test]
    fn long_files_and_missing_licences_are_found() {
        assert_eq!(problems("crates/a/src/b.rs", &"\n".repeat(700)).len(), 1);
        assert_eq!(problems("crates/a/tests/b.rs", &"\n".repeat(700)).len(), 1);
        assert!(
            problems("crates/a/src/b.rs", &format!("// @generated\n{}", "\n".repeat(700)))
                .is_empty()
        );
        let mut found = Problems::new();
        check(&[file("crates/a/src/b.rs", "fn a() {}\n")], &mut found);
        assert_eq!(found.len(), 1);
    }
}
