// SPDX-License-Identifier: Apache-2.0
//! In: a state as it was typed. Out: its texts. Not here: what they mean.
//!
//! ```text
//! deploy/   a.yaml   -             a folder, a file, standard input
//! git:main  git:HEAD~1:deploy/     a revision, and a path from the root of the repository
//! main..HEAD  main...HEAD          two revisions; with three dots, from where they parted
//! ```

use std::path::{Path, PathBuf};

use overrule::files::{self, WorldError};
use overrule_ask::{AskError, Exit, Sink};
use overrule_diff::{CodeOwners, StateTexts};
use overrule_revision::{Repository, RevisionError};

use super::code_owners;
use crate::args::{Diff, Source};
use crate::output::Out;

/// Where a state comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Files and folders.
    Paths(Vec<PathBuf>),
    /// A revision of the repository here, and paths in it.
    Revision { revision: String, paths: Vec<String> },
    /// Where two revisions parted, and paths there.
    Parted { one: String, other: String, paths: Vec<String> },
}

/// The two states to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct States {
    pub(super) before: State,
    pub(super) after: State,
}

impl States {
    pub(super) fn named(asked: &Diff, source: &Source) -> Result<Self, AskError> {
        let usage = |text: &str| Err(AskError::Usage(text.to_owned()));
        let given: Vec<String> = match asked.paths.is_empty() {
            true => source.files.iter().map(|path| path.display().to_string()).collect(),
            false => asked.paths.clone(),
        };
        let state = |word: &str| State::named(word, &given);
        match asked.states.as_slice() {
            [range] if range.contains("..") && !Path::new(range).exists() => {
                Ok(Self::range(range, &given))
            }
            [old] => {
                let here = if given.is_empty() { vec![".".to_owned()] } else { given.clone() };
                let after = State::Paths(here.iter().map(PathBuf::from).collect());
                Ok(Self { before: state(old), after })
            }
            [old, new] if old == "-" && new == "-" => {
                usage("standard input can be one of the two states, not both")
            }
            [old, new] => {
                let (before, after) = (state(old), state(new));
                let revisions = [&before, &after].iter().any(|s| !matches!(s, State::Paths(_)));
                if !given.is_empty() && !revisions {
                    return usage("paths after `--`, and -f, name what to read of a revision");
                }
                Ok(Self { before, after })
            }
            _ => usage("name one or two states: `overrule diff OLD NEW`"),
        }
    }

    fn range(range: &str, given: &[String]) -> Self {
        let or_head =
            |word: &str| if word.is_empty() { "HEAD".to_owned() } else { word.to_owned() };
        let range = range.strip_prefix("git:").unwrap_or(range);
        let revision =
            |word: &str| State::Revision { revision: or_head(word), paths: given.to_vec() };
        match range.split_once("...") {
            Some((one, other)) => Self {
                before: State::Parted {
                    one: or_head(one),
                    other: or_head(other),
                    paths: given.to_vec(),
                },
                after: revision(other),
            },
            None => {
                let (old, new) = range.split_once("..").unwrap_or((range, ""));
                Self { before: revision(old), after: revision(new) }
            }
        }
    }
}

impl State {
    fn named(word: &str, given: &[String]) -> Self {
        let Some(rest) = word.strip_prefix("git:") else {
            return Self::Paths(vec![PathBuf::from(word)]);
        };
        match rest.split_once(':') {
            Some((revision, path)) => Self::Revision {
                revision: revision.to_owned(),
                // From the root of the repository, as git has it.
                paths: vec![format!("/{}", path.trim_start_matches('/'))],
            },
            None => Self::Revision { revision: rest.to_owned(), paths: given.to_vec() },
        }
    }

    /// Reads its texts, and says what cannot be read.
    pub(super) fn load(&self, out: &mut Out) -> Result<Loaded, AskError> {
        match self {
            Self::Paths(paths) => Ok(of_paths(paths, out)),
            Self::Revision { revision, paths } => of_revision(revision, revision, paths, out),
            Self::Parted { one, other, paths } => {
                let repository = Repository::discover(Path::new(".")).map_err(world)?;
                let parted = repository.merge_base(one, other).map_err(world)?;
                of_revision(&parted, &format!("{one}...{other}"), paths, out)
            }
        }
    }
}

/// A state, read.
pub(super) struct Loaded {
    pub(super) texts: StateTexts,
    pub(super) exit: Exit,
    /// The revision it is, if it is one.
    revision: Option<String>,
}

impl Loaded {
    /// Who owns what in it.
    pub(super) fn owners(&self) -> CodeOwners {
        let Ok(repository) = Repository::discover(Path::new(".")) else {
            return code_owners("", |place| std::fs::read(place).ok());
        };
        let here = repository.here().to_owned();
        match (&self.revision, repository.root()) {
            (Some(revision), _) => {
                code_owners(&here, |place| repository.file(revision, place).ok().flatten())
            }
            (None, Some(root)) => code_owners(&here, |place| std::fs::read(root.join(place)).ok()),
            (None, None) => CodeOwners::default(),
        }
    }
}

fn of_paths(paths: &[PathBuf], out: &mut Out) -> Loaded {
    let found = files::find(paths);
    let (inputs, unreadable) = files::read(found.files);
    let exit = tell(found.errors.iter().chain(&unreadable), out);
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let root = match names.as_slice() {
        [one] => one.strip_prefix("./").unwrap_or(one).trim_end_matches('/'),
        _ => "",
    };
    let root = if matches!(root, "." | "-") { String::new() } else { root.to_owned() };
    let texts = StateTexts { name: names.join(" "), root, inputs };
    Loaded { texts, exit, revision: None }
}

fn of_revision(
    revision: &str,
    name: &str,
    paths: &[String],
    out: &mut Out,
) -> Result<Loaded, AskError> {
    let repository = Repository::discover(Path::new(".")).map_err(world)?;
    let found = repository.manifests(revision, paths).map_err(world)?;
    for remark in &found.remarks {
        out.remark(&format!("note: {}", overrule::view::escape::terminal(remark)));
    }
    for error in &found.errors {
        out.problem(&error.to_string());
    }
    let exit = if found.errors.is_empty() { Exit::Fine } else { Exit::World };
    let root = match paths {
        [one] => repository.called(one).unwrap_or_default(),
        _ => String::new(),
    };
    let texts = StateTexts { name: name.to_owned(), root, inputs: found.inputs };
    Ok(Loaded { texts, exit, revision: Some(revision.to_owned()) })
}

/// Says what could not be read.
pub(super) fn tell<'e>(errors: impl Iterator<Item = &'e WorldError>, out: &mut Out) -> Exit {
    let mut exit = Exit::Fine;
    for error in errors {
        if error.fatal {
            exit = Exit::World;
            out.problem(&error.to_string());
        } else {
            let text = error.to_string();
            out.remark(&format!("note: {}", overrule::view::escape::terminal(&text)));
        }
    }
    exit
}

fn world(error: RevisionError) -> AskError {
    AskError::World(error.to_string())
}
