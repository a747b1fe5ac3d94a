// SPDX-License-Identifier: Apache-2.0
//! In: Rust files. Out: public types of the workspace that share a name. Not here: names within one crate that nobody
//! outside of it can see, and words that are merely unclear.

use std::collections::{BTreeMap, BTreeSet};

use super::{File, Problems};

/// Files whose types are named by somebody else: what our JSON and Envoy's messages call them.
const NAMED_BY_FORMATS: &[&str] = &["crates/view/src/v1/", "crates/envoy/src/proto/"];

/// What every family has, each its own, and the oracles that stand in for one: the same word means the same in all.
const OF_EVERY_FAMILY: &[&str] =
    &["KindInfo", "Policies", "Policy", "Profile", "Settings", "World"];

/// Every name that is public in its crate stands for one type.
pub(super) fn check(files: &[File], problems: &mut Problems) {
    let crates = crates(files);
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, place) in crates.values().flat_map(Public::types) {
        let is_of_a_format = NAMED_BY_FORMATS.iter().any(|folder| place.starts_with(folder));
        if !is_of_a_format && !OF_EVERY_FAMILY.contains(&name) {
            places.entry(name).or_default().push(place);
        }
    }
    for (name, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        problems.push(format!(
            "`{name}` is {} public types: {}; give each its own name",
            places.len(),
            places.join(", ")
        ));
    }
}

/// What the source of one crate says about visibility.
#[derive(Default)]
struct Public {
    /// Modules by their path in the crate that are `pub`.
    modules: BTreeSet<String>,
    /// Every word of a `pub use`.
    used: BTreeSet<String>,
    /// Types that are `pub`: module, name, and where they stand.
    types: Vec<(String, String, String)>,
}

impl Public {
    /// Types that can be seen from outside: all modules above are public, or something public uses their name.
    fn types(&self) -> impl Iterator<Item = (&str, &str)> {
        let open = |module: &str| {
            let ends = module.match_indices("::").map(|(end, _)| end).chain([module.len()]);
            ends.filter_map(|end| module.get(..end)).all(|m| self.modules.contains(m))
        };
        let seen = move |module: &str, name: &str| {
            module.is_empty() || open(module) || self.used.contains(name)
        };
        let types = self.types.iter().filter(move |(module, name, _)| seen(module, name));
        types.map(|(_, name, place)| (name.as_str(), place.as_str()))
    }

    fn read(&mut self, module: &str, file: &File) {
        let below = |name: &str| match module {
            "" => name.to_owned(),
            above => format!("{above}::{name}"),
        };
        let mut using = false;
        for (number, line) in file.lines() {
            let words: Vec<&str> = line
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|w| !w.is_empty())
                .collect();
            if line.trim_start().starts_with("mod tests {") {
                break;
            }
            using |= line.trim_start().starts_with("pub use ");
            if using {
                self.used.extend(words.iter().map(|w| (*w).to_owned()));
                using = !line.contains(';');
                continue;
            }
            match words.as_slice() {
                _ if !line.trim_start().starts_with("pub ") => {}
                ["pub", "mod", name, ..] => _ = self.modules.insert(below(name)),
                // A macro names what it is told.
                ["pub", "struct" | "enum" | "trait" | "type" | "union", name, ..]
                    if name.starts_with(char::is_uppercase) =>
                {
                    let place = format!("{}:{number}", file.name);
                    self.types.push((module.to_owned(), (*name).to_owned(), place));
                }
                _ => {}
            }
        }
    }
}

/// The crates by folder.
fn crates(files: &[File]) -> BTreeMap<&str, Public> {
    let mut crates: BTreeMap<&str, Public> = BTreeMap::new();
    for file in files.iter().filter(|f| f.is_rust()) {
        let Some((folder, path)) = file.name.split_once("/src/") else { continue };
        let test = path.split('/').any(|part| matches!(part, "tests" | "tests.rs"));
        if !["crates/", "workshop/"].iter().any(|top| folder.starts_with(top)) || test {
            continue;
        }
        let module = path.trim_end_matches(".rs").trim_end_matches("mod").trim_end_matches('/');
        let module = if matches!(module, "lib" | "main") { "" } else { module };
        crates.entry(folder).or_default().read(&module.replace('/', "::"), file);
    }
    crates
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Problems {
        let files: Vec<File> = files.iter().map(|(name, text)| file(name, text)).collect();
        let mut problems = Problems::new();
        check(&files, &mut problems);
        problems
    }

    #[test]
    fn a_name_of_two_types_is_found_where_both_can_be_seen() {
        let lib = ("crates/a/src/lib.rs", "pub mod open;\nmod shut;\n");
        let other = ("crates/b/src/lib.rs", "pub enum Wheel {}\n");
        let with = |name, text| problems(&[lib, (name, text), other]);
        assert_eq!(with("crates/a/src/open.rs", "pub struct Wheel;\n").len(), 1);
        assert!(with("crates/a/src/shut.rs", "pub struct Wheel;\n").is_empty());
        assert!(with("crates/a/src/open.rs", "pub(crate) struct Wheel;\n").is_empty());
        assert!(with("crates/a/src/open.rs", "// pub struct Wheel;\n").is_empty());
        assert!(with("crates/a/src/tests.rs", "pub struct Wheel;\n").is_empty());
        let used = ("crates/a/src/lib.rs", "mod shut;\npub use shut::{\n    Spoke, Wheel,\n};\n");
        assert_eq!(
            problems(&[used, ("crates/a/src/shut.rs", "pub struct Wheel;\n"), other]).len(),
            1
        );
    }
}
