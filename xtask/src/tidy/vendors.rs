// SPDX-License-Identifier: Apache-2.0
//! In: Rust files of the product. Out: vendors that are named where families should be asked. Not here: comments and
//! tests, which may name whom they like.

use super::lexer::without_comments;
use super::{File, Problems};

/// Who has a family.
const VENDORS: &[&str] = &["kuadrant", "kgateway", "kuma", "envoygateway", "envoy_gateway"];

/// The families.
const FAMILIES: &[&str] = &[
    "crates/kuadrant/",
    "crates/kgateway/",
    "crates/envoy-gateway/",
    "crates/mesh/",
    "crates/kuma-api/",
];

/// Files and folders that may name a vendor all the same, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/overrule/src/families.rs", "the list of families"),
    ("crates/overrule/src/lib.rs", "re-exports the crates of families to those who build on one"),
    ("crates/overrule/src/meshes.rs", "hands what one family read to the server of its own API"),
    ("crates/cli/src/command/serve.rs", "the list of further APIs of the server"),
    ("crates/model/src/universal.rs", "a form of input: group and label of mesh resources"),
    ("crates/topology/src/parse/mod.rs", "a form of input: the group of backendRefs to routes"),
    ("crates/envoy/src/", "a form of output: the filter exactly as a release writes it"),
    ("crates/ask/src/asked.rs", "the help of `envoy --form` names the forms of output"),
];

pub(super) fn check(files: &[File], problems: &mut Problems) {
    let mut used = vec![false; ALLOWED.len()];
    for file in files.iter().filter(|file| is_checked(file)) {
        let named = named(file.text.as_deref().unwrap_or(""));
        let allowed = ALLOWED.iter().position(|(name, _)| file.name.starts_with(name));
        match allowed.and_then(|place| used.get_mut(place)) {
            Some(used) => *used |= !named.is_empty(),
            None => problems.extend(named.into_iter().map(|(line, vendor)| {
                format!(
                    "{}:{line}: names `{vendor}`; ask families (crates/family), or give a reason in xtask/src/tidy/vendors.rs",
                    file.name
                )
            })),
        }
    }
    for ((name, _), used) in ALLOWED.iter().zip(used) {
        if !used && files.iter().any(|file| file.name.starts_with(name)) {
            problems.push(format!(
                "xtask/src/tidy/vendors.rs: {name} may name vendors and does not; take it off"
            ));
        }
    }
}

fn is_checked(file: &File) -> bool {
    file.is_rust()
        && file.name.starts_with("crates/")
        && file.name.contains("/src/")
        && !file.name.ends_with("/tests.rs")
        && !FAMILIES.iter().any(|family| file.name.starts_with(family))
}

/// Lines that name a vendor in code, with the first one they name.
fn named(text: &str) -> Vec<(usize, &'static str)> {
    let code = without_comments(text).to_lowercase();
    let product = code.split("\nmod tests {").next().unwrap_or("");
    let lines = product.lines().enumerate();
    let found = lines.filter_map(|(number, line)| {
        let vendor = VENDORS.iter().find(|vendor| line.contains(**vendor))?;
        Some((number + 1, *vendor))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn problems(name: &str, text: &str) -> Problems {
        let mut problems = Problems::new();
        check(&[file(name, text)], &mut problems);
        problems
    }

    #[test]
    fn a_vendor_in_code_is_found() {
        let found = problems("crates/view/src/a.rs", "fn a() { if x == \"kuma\" {} }\n");
        assert!(found.len() == 1 && found[0].starts_with("crates/view/src/a.rs:1"), "{found:?}");
    }

    #[test]
    fn comments_tests_and_families_may_name_one() {
        assert!(problems("crates/view/src/a.rs", "/// As Kuma does.\nfn a() {}\n").is_empty());
        let test = "fn a() {}\n#[cfg(test)]\nmod tests { const A: &str = \"kuma\"; }\n";
        assert!(problems("crates/view/src/a.rs", test).is_empty());
        assert!(problems("crates/mesh/src/a.rs", "const A: &str = \"kuma\";\n").is_empty());
        assert!(problems("workshop/a/src/a.rs", "const A: &str = \"kuma\";\n").is_empty());
    }

    #[test]
    fn an_allowance_nobody_needs_is_found() {
        let found = problems("crates/overrule/src/families.rs", "fn a() {}\n");
        assert!(found.len() == 1 && found[0].contains("take it off"), "{found:?}");
    }
}
