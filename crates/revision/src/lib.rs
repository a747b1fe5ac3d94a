// SPDX-License-Identifier: Apache-2.0
//! In: a git repository, a revision and a path. Out: the manifests it has there, and remarks about what is left out. Not
//! here: working trees (`overrule::files`), what the bytes mean.
//!
//! Everything comes from the objects of the repository. Nothing is checked out or written, so a bare or shallow clone and a
//! merge in progress are all the same to it.

mod error;
mod walk;

use std::path::{Component, Path, PathBuf};

use gix::ObjectId;
use overrule_source::Input;

pub use error::RevisionError;

/// A repository, and where in it the question is asked.
pub struct Repository {
    repository: gix::Repository,
    /// The current folder below the root of the working tree, with `/`; empty at the root and in a bare repository.
    here: String,
}

/// The manifests of one revision.
#[derive(Debug, Clone, Default)]
pub struct RevisionManifests {
    /// Their texts, by name.
    pub inputs: Vec<Input>,
    /// What was left out on purpose, and why, one sentence each.
    pub remarks: Vec<String>,
    /// What should be there and cannot be read.
    pub errors: Vec<RevisionError>,
}

impl Repository {
    /// The repository that a folder is in.
    pub fn discover(folder: &Path) -> Result<Self, RevisionError> {
        let none = |_| RevisionError::NoRepository(folder.to_path_buf());
        let repository = gix::discover(folder).map_err(none)?;
        let here = repository.workdir().and_then(|root| below(root, folder)).unwrap_or_default();
        Ok(Self { repository, here })
    }

    /// The root of its working tree; none if it is bare.
    pub fn root(&self) -> Option<PathBuf> {
        self.repository.workdir().map(Path::to_path_buf)
    }

    /// The manifests of a revision below paths, named as they are from the current folder. A path is written from the
    /// current folder; one that begins with `/` from the root of the repository. No path means the current folder.
    pub fn manifests(
        &self,
        revision: &str,
        paths: &[String],
    ) -> Result<RevisionManifests, RevisionError> {
        let tree = self.tree(revision)?;
        let here = [String::from(".")];
        let mut walk = walk::Walk::new(&self.repository, &self.here, tree);
        for path in if paths.is_empty() { &here } else { paths } {
            let asked = self.rooted(path).ok_or_else(|| RevisionError::OutsidePath {
                revision: revision.to_owned(),
                path: path.clone(),
            })?;
            let is_default = asked.is_empty() || paths.is_empty();
            if !walk.path(&asked)? && !is_default {
                return Err(RevisionError::NoPath {
                    revision: revision.to_owned(),
                    path: path.clone(),
                });
            }
        }
        Ok(walk.finish())
    }

    /// The current folder below the root of the working tree, with `/`.
    pub fn here(&self) -> &str {
        &self.here
    }

    /// What files below a path are called: from the current folder.
    pub fn called(&self, path: &str) -> Option<String> {
        Some(walk::called(&self.here, &self.rooted(path)?))
    }

    /// Where two revisions parted.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<String, RevisionError> {
        let (a, b) = (self.commit(one)?, self.commit(other)?);
        let parted = |cause: String| RevisionError::NoMergeBase {
            one: one.to_owned(),
            other: other.to_owned(),
            is_shallow: self.repository.is_shallow().unwrap_or(false),
            cause,
        };
        let base = self.repository.merge_base(a, b).map_err(|e| parted(e.to_string()))?;
        let base = base.ok_or_else(|| parted("their histories are apart".to_owned()))?;
        Ok(base.to_hex().to_string())
    }

    /// The text of one file at the root of a revision, for instance who owns what. None if it is not there.
    pub fn file(&self, revision: &str, path: &str) -> Result<Option<Vec<u8>>, RevisionError> {
        let tree = self.tree(revision)?;
        walk::Walk::new(&self.repository, "", tree).text(path)
    }

    fn tree(&self, revision: &str) -> Result<ObjectId, RevisionError> {
        let tree = self.object(revision)?.peel_to_tree();
        tree.map(|tree| tree.id).map_err(|e| self.unknown(revision, &e))
    }

    fn commit(&self, revision: &str) -> Result<ObjectId, RevisionError> {
        let commit = self.object(revision)?.peel_to_kind(gix::object::Kind::Commit);
        commit.map(|commit| commit.id).map_err(|e| self.unknown(revision, &e))
    }

    fn object(&self, revision: &str) -> Result<gix::Object<'_>, RevisionError> {
        let found = self.repository.rev_parse_single(revision);
        let found = found.map_err(|e| self.unknown(revision, &e))?;
        found.object().map_err(|e| self.unknown(revision, &e))
    }

    fn unknown(&self, revision: &str, cause: &dyn std::fmt::Display) -> RevisionError {
        RevisionError::NoRevision {
            revision: revision.to_owned(),
            is_shallow: self.repository.is_shallow().unwrap_or(false),
            cause: cause.to_string(),
        }
    }

    /// A path from the current folder as one from the root; none if it leads out.
    fn rooted(&self, path: &str) -> Option<String> {
        let mut parts: Vec<&str> = match path.strip_prefix('/') {
            Some(_) => Vec::new(),
            None => self.here.split('/').filter(|part| !part.is_empty()).collect(),
        };
        for part in Path::new(path).components() {
            match part {
                Component::Normal(name) => parts.push(name.to_str()?),
                Component::ParentDir => {
                    parts.pop()?;
                }
                Component::CurDir | Component::RootDir => {}
                Component::Prefix(_) => return None,
            }
        }
        Some(parts.join("/"))
    }
}

/// A folder below another one, with `/`.
fn below(root: &Path, folder: &Path) -> Option<String> {
    let (root, folder) = (std::fs::canonicalize(root).ok()?, std::fs::canonicalize(folder).ok()?);
    let rest = folder.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> = rest.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}
