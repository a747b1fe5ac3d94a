// SPDX-License-Identifier: Apache-2.0
//! In: a tree of a repository. Out: the manifests below paths of it, chosen as `overrule::files` chooses files. Not here:
//! which tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gix::ObjectId;
use gix::object::tree::EntryKind;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use overrule::files;
use overrule_source::Input;

use crate::{RevisionError, RevisionManifests};

/// Folders within folders that are looked into, and links that lead to links.
const DEEPEST: usize = 100;

/// What an entry of a tree is.
struct Entry {
    name: String,
    id: ObjectId,
    kind: EntryKind,
}

pub(crate) struct Walk<'r> {
    repository: &'r gix::Repository,
    here: &'r str,
    root: ObjectId,
    /// Blobs by their path from the root.
    found: BTreeMap<String, ObjectId>,
    /// Those that were named, and not found in a folder.
    asked: BTreeSet<String>,
    manifests: RevisionManifests,
}

impl<'r> Walk<'r> {
    pub(crate) fn new(repository: &'r gix::Repository, here: &'r str, root: ObjectId) -> Self {
        Self {
            repository,
            here,
            root,
            found: BTreeMap::new(),
            asked: BTreeSet::new(),
            manifests: RevisionManifests::default(),
        }
    }

    /// Adds what is at a path from the root. False if nothing is.
    pub(crate) fn path(&mut self, path: &str) -> Result<bool, RevisionError> {
        let Some(entry) = self.entry(path)? else { return Ok(false) };
        // A file that is named is read whatever its ending.
        if entry.kind != EntryKind::Tree {
            self.asked.insert(path.to_owned());
        }
        self.add(path, entry, &mut Vec::new(), DEEPEST)?;
        Ok(true)
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Result<Option<Vec<u8>>, RevisionError> {
        match self.entry(path)? {
            Some(Entry { id, kind: EntryKind::Blob | EntryKind::BlobExecutable, .. }) => {
                self.bytes(path, id).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Everything that was added, with its content.
    pub(crate) fn finish(mut self) -> RevisionManifests {
        for (path, id) in &self.found {
            match self.bytes(path, *id) {
                Ok(bytes) => {
                    let found = !self.asked.contains(path);
                    let input = Input { found, ..Input::new(self.named(path), bytes) };
                    self.manifests.inputs.push(input);
                }
                Err(error) => self.manifests.errors.push(error),
            }
        }
        self.manifests.inputs.sort_by(|a, b| a.name.cmp(&b.name));
        self.manifests
    }

    fn add(
        &mut self,
        path: &str,
        entry: Entry,
        ignores: &mut Vec<Gitignore>,
        depth: usize,
    ) -> Result<(), RevisionError> {
        let Some(depth) = depth.checked_sub(1) else {
            self.remark(path, "is nested too deeply and is not read");
            return Ok(());
        };
        match entry.kind {
            EntryKind::Blob | EntryKind::BlobExecutable => {
                self.found.insert(path.to_owned(), entry.id);
            }
            EntryKind::Tree => self.folder(path, entry.id, ignores, depth)?,
            EntryKind::Link => self.link(path, entry.id, depth)?,
            EntryKind::Commit => {
                let what = "is a submodule and is not read; compare its own repository";
                self.remark(path, what);
            }
        }
        Ok(())
    }

    fn folder(
        &mut self,
        path: &str,
        id: ObjectId,
        ignores: &mut Vec<Gitignore>,
        depth: usize,
    ) -> Result<(), RevisionError> {
        let entries = self.entries(path, id)?;
        let own = entries.iter().find(|entry| entry.name == files::IGNORE_FILE);
        let own = own.map(|entry| self.bytes(&join(path, &entry.name), entry.id)).transpose()?;
        let before = ignores.len();
        ignores.extend(own.and_then(|text| ignore(path, &text)));
        for entry in entries {
            let at = join(path, &entry.name);
            let is_folder = entry.kind == EntryKind::Tree;
            // A submodule is named whatever it is called.
            let wanted = match entry.kind {
                EntryKind::Tree => files::enters(&entry.name),
                EntryKind::Commit => true,
                _ => files::reads(&entry.name),
            };
            if wanted && !is_ignored(ignores, &at, is_folder) {
                self.add(&at, entry, ignores, depth)?;
            }
        }
        ignores.truncate(before);
        Ok(())
    }

    /// A link is followed while it stays in the repository.
    fn link(&mut self, path: &str, id: ObjectId, depth: usize) -> Result<(), RevisionError> {
        let target = String::from_utf8(self.bytes(path, id)?).ok();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let Some(target) = target.and_then(|target| resolve(folder, &target)) else {
            self.remark(path, "is a link that leads out of the repository and is not followed");
            return Ok(());
        };
        match self.entry(&target)? {
            Some(Entry { kind: EntryKind::Tree, .. }) => {
                self.remark(path, "is a link to a folder and is not followed; name the folder");
            }
            // One file is read once, by the name it has.
            Some(entry) => self.add(&target, entry, &mut Vec::new(), depth)?,
            None => self.remark(path, "is a link to something that is not there"),
        }
        Ok(())
    }

    fn remark(&mut self, path: &str, what: &str) {
        let remark = format!("{} {what}", self.named(path));
        self.manifests.remarks.push(remark);
    }

    /// The entry at a path from the root; the root itself if the path is empty.
    fn entry(&self, path: &str) -> Result<Option<Entry>, RevisionError> {
        let mut entry = Entry { name: String::new(), id: self.root, kind: EntryKind::Tree };
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if entry.kind != EntryKind::Tree {
                return Ok(None);
            }
            let found = self.entries(path, entry.id)?.into_iter().find(|e| e.name == part);
            let Some(found) = found else { return Ok(None) };
            entry = found;
        }
        Ok(Some(entry))
    }

    fn entries(&self, path: &str, tree: ObjectId) -> Result<Vec<Entry>, RevisionError> {
        let broken = |cause: String| RevisionError::Object { path: self.named(path), cause };
        let tree = self.repository.find_tree(tree).map_err(|e| broken(e.to_string()))?;
        let mut entries = Vec::new();
        for entry in tree.iter() {
            let entry = entry.map_err(|e| broken(e.to_string()))?;
            // A name that is not UTF-8 is no name of a manifest that could be shown.
            let Ok(name) = std::str::from_utf8(entry.filename()) else { continue };
            let name = name.to_owned();
            entries.push(Entry { name, id: entry.object_id(), kind: entry.mode().kind() });
        }
        Ok(entries)
    }

    fn bytes(&self, path: &str, id: ObjectId) -> Result<Vec<u8>, RevisionError> {
        let broken = |cause: String| RevisionError::Object { path: self.named(path), cause };
        let mut blob = self.repository.find_blob(id).map_err(|e| broken(e.to_string()))?;
        Ok(blob.take_data())
    }

    fn named(&self, path: &str) -> String {
        called(self.here, path)
    }
}

/// A path from the root, as it is called from the current folder.
pub(crate) fn called(here: &str, path: &str) -> String {
    if here.is_empty() {
        return path.to_owned();
    }
    match path.strip_prefix(here) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            rest.trim_start_matches('/').to_owned()
        }
        _ => format!("{}{path}", "../".repeat(here.split('/').count())),
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Where a link leads, from the root; none if it leads out.
fn resolve(folder: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn ignore(folder: &str, text: &[u8]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(Path::new("/").join(folder));
    for line in String::from_utf8_lossy(text).lines() {
        // A pattern that cannot be read ignores nothing, as in a working tree.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// The nearest file that says anything decides.
fn is_ignored(ignores: &[Gitignore], path: &str, is_folder: bool) -> bool {
    let path = Path::new("/").join(path);
    let said = ignores.iter().rev().map(|ignore| ignore.matched(&path, is_folder));
    said.into_iter().find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
}
