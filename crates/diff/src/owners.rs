// SPDX-License-Identifier: Apache-2.0
//! In: a CODEOWNERS file, and what is affected. Out: who owns that. Not here: finding the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use overrule::Analysis;
use overrule::view::v1;

/// Who owns which files: patterns as in a `.gitignore`, the last that fits decides.
#[derive(Debug, Default)]
pub struct CodeOwners {
    rules: Vec<(Gitignore, Vec<String>)>,
    /// The folder that names of files are written from, below the root of the repository.
    here: String,
}

impl CodeOwners {
    /// Where repositories keep it.
    pub const PLACES: &[&str] =
        &[".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];

    /// Reads the file. What is not a rule is passed over, as its hosts do.
    pub fn parse(text: &str) -> Self {
        let mut rules = Vec::new();
        for line in text.lines().map(str::trim) {
            // A section of GitLab's form: its patterns follow.
            if line.is_empty() || line.starts_with(['#', '[', '^']) {
                continue;
            }
            let mut words = line.split_whitespace();
            let Some(pattern) = words.next() else { continue };
            let owners = words.take_while(|word| !word.starts_with('#')).map(str::to_owned);
            let mut builder = GitignoreBuilder::new("/");
            if builder.add_line(None, pattern).is_ok()
                && let Ok(rule) = builder.build()
            {
                rules.push((rule, owners.collect()));
            }
        }
        Self { rules, here: String::new() }
    }

    /// The same, for files that are named from a folder below the root.
    #[must_use]
    pub fn in_folder(self, here: &str) -> Self {
        Self { here: here.to_owned(), ..self }
    }

    /// The owners of a file.
    pub fn of(&self, file: &str) -> &[String] {
        let mut path = PathBuf::from("/").join(&self.here);
        for part in Path::new(file).components() {
            match part {
                Component::Normal(name) => path.push(name),
                Component::ParentDir => _ = path.pop(),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        let fits = |(rule, _): &&(Gitignore, Vec<String>)| {
            rule.matched_path_or_any_parents(&path, false).is_ignore()
        };
        self.rules.iter().rev().find(fits).map_or(&[], |(_, owners)| owners)
    }

    pub(crate) fn affected(
        &self,
        before: &Analysis,
        after: &Analysis,
        changes: &v1::EffectiveChanges,
        causes: &[v1::ChangeCause],
    ) -> Vec<v1::AffectedOwner> {
        if self.rules.is_empty() {
            return Vec::new();
        }
        let edited: BTreeSet<&str> = causes
            .iter()
            .filter_map(|cause| cause.at.as_ref())
            .map(|at| at.file.as_str())
            .collect();
        let mut files: BTreeSet<String> = edited.iter().map(|file| (*file).to_owned()).collect();
        files.extend(targets(before, after, changes));
        let mut owners: BTreeMap<&str, v1::AffectedOwner> = BTreeMap::new();
        for file in &files {
            for owner in self.of(file) {
                let entry = owners.entry(owner).or_insert_with(|| v1::AffectedOwner {
                    owner: owner.clone(),
                    files: Vec::new(),
                    edited: false,
                });
                entry.files.push(file.clone());
                entry.edited |= edited.contains(file.as_str());
            }
        }
        owners.into_values().collect()
    }
}

/// The files in which affected objects are written.
fn targets(
    before: &Analysis,
    after: &Analysis,
    changes: &v1::EffectiveChanges,
) -> BTreeSet<String> {
    let mut wanted: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    for item in &changes.items {
        let owned = item.path.iter().rev().find(|element| element.namespace.is_some());
        wanted.extend(owned.map(|e| (&*e.kind, e.namespace.as_deref().unwrap_or(""), &*e.name)));
    }
    let mut files = BTreeSet::new();
    for analysis in [after, before] {
        let text = |sym| analysis.snapshot.text(sym);
        for (_, node) in analysis.topology.nodes.iter() {
            let name = (text(node.kind), text(node.namespace), text(node.name));
            if node.section.is_empty() && wanted.remove(&name) {
                let object = node.object.and_then(|id| analysis.snapshot.get(id));
                let at = object.map(|o| analysis.documents.sources.position(o.at).file);
                files.extend(at);
            }
        }
    }
    files
}
