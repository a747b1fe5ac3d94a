// SPDX-License-Identifier: Apache-2.0
//! In: a question about much input. Out: the answer it had before, if nothing has changed. Not here: answering.
//!
//! ```text
//!  inputs, command line ──► key ──► folder ──► entry ──► what was said, again
//!                            └────── not there ──► answered ──► entry ──► folder
//! ```
//!
//! Nothing here can fail a run: without a cache, an answer takes longer. Decision 0010 has the reasons.

mod entry;
mod folder;
mod key;

use std::path::PathBuf;

use overrule::source::Input;
use overrule_ask::{AskResult, NamedText, Sink};

use crate::args::Args;
use crate::output::{Out, Said};
use entry::CachedAnswer;
use folder::{CacheLimits, Folder};
use key::CacheKey;

/// Bytes of input from which on answers are kept: below, answering is as fast as looking it up, and small runs leave
/// no trace.
const WORTH_IT: usize = 4 << 20;

/// What is kept, at most. The least recently used goes first.
const LIMITS: CacheLimits = CacheLimits { entry: 32 << 20, total: 256 << 20, entries: 1000 };

/// The place of one answer.
pub struct Cache {
    folder: Folder,
    key: CacheKey,
}

impl Cache {
    /// Where the answer to this question is kept; none if it is not.
    pub fn of(
        args: &Args,
        matrix: Option<&NamedText>,
        inputs: &[Input],
        out: &mut Out,
    ) -> Option<Self> {
        let total: usize = inputs.iter().map(|i| i.bytes.len()).sum();
        if args.source.no_cache || total < WORTH_IT {
            return None;
        }
        let folder = match Folder::open(&base()?, LIMITS) {
            Ok(folder) => folder,
            Err(why) => {
                if args.shared.verbose {
                    let why = overrule::view::escape::terminal(&why);
                    out.remark(&format!("note: answers are not kept: {why}"));
                }
                return None;
            }
        };
        Some(Self { folder, key: CacheKey::new(args, matrix, inputs, out)? })
    }

    /// Says what was said before; none if nothing was, or if it cannot be trusted.
    pub fn repeat(&self, out: &mut Out) -> Option<AskResult> {
        let name = self.key.name();
        let answer = entry::decode(&self.key, &self.folder.read(&name)?)?;
        self.folder.touch(&name);
        Some(out.say(&answer.said).and(answer.outcome))
    }

    /// Keeps an answer that was given.
    pub fn keep(&self, said: Vec<Said>, outcome: &AskResult) {
        let answer = CachedAnswer { said, outcome: outcome.clone() };
        if let Some(bytes) = entry::encode(&self.key, &answer) {
            // Do not report a full disk to somebody who has the answer.
            let _ = self.folder.write(&self.key.name(), &bytes);
        }
    }
}

/// The user's folder for what can be made again.
fn base() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(absolute);
    let home = || std::env::var_os("HOME").map(PathBuf::from).filter(absolute);
    named.or_else(|| Some(home()?.join(".cache")))
}
