// SPDX-License-Identifier: Apache-2.0
//! In: shared options. Out: the analysis of what they name. Not here: answers.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use overrule::files::{self, File};
use overrule::model::Created;
use overrule::source::{DuplicateKeys, Input};
use overrule::{Analysis, Assume, Options, Stages};
use overrule_ask::{AskError, Compare, Exit, Needs, Shared, Sink};

use crate::args::Source;
use crate::output::Out;

/// What the options name, in memory.
pub struct Read {
    pub inputs: Vec<Input>,
    /// `World` if something could not be read.
    pub exit: Exit,
    /// Names of those that hold descriptors of policy kinds only.
    pub kind_sources: Vec<String>,
    options: Options,
}

/// Reads what the options name, and says what could not be read.
pub fn read(source: &Source, out: &mut Out) -> Result<Read, AskError> {
    let options = options(source)?;
    let mut found = files::find(&source.files());
    let kinds = files::find(&source.kinds);
    let kind_sources: Vec<String> = kinds.files.iter().map(|f| f.name.clone()).collect();
    found.errors.extend(kinds.errors);
    add_new(&mut found.files, kinds.files);
    found.files.append(&mut found.sources);
    let (inputs, unreadable) = files::read(found.files);
    found.errors.extend(unreadable);
    let mut exit = Exit::Fine;
    for error in &found.errors {
        if error.fatal {
            exit = Exit::World;
            out.problem(&error.to_string());
        } else {
            out.remark(&format!("note: {}", overrule::view::escape::terminal(&error.to_string())));
        }
    }
    Ok(Read { inputs, exit, kind_sources, options })
}

/// Analyses what was read, as far as the question needs it.
pub fn analyse(
    source: &Source,
    shared: &Shared,
    read: Read,
    out: &mut Out,
    needs: &Needs<'_>,
) -> Analysis {
    let total: usize = read.inputs.iter().map(|i| i.bytes.len()).sum();
    let options = Options {
        include_kinds: needs.include_kinds(),
        kind_sources: read.kind_sources,
        compare: needs.compares(shared),
        focus: needs.targets.iter().map(|t| (*t).to_owned()).collect(),
        ..read.options
    };
    share_out(total);
    let progress = Progress::new(shared, total);
    let analysis = Analysis::with_progress(read.inputs, &options, &progress);
    progress.done();
    if analysis.snapshot.is_empty() && read.exit == Exit::Fine {
        let places: Vec<String> = source.files().iter().map(|p| p.display().to_string()).collect();
        out.remark(&format!(
            "note: no resources found in {}; name files or folders with -f",
            places.join(", ")
        ));
    }
    if shared.compare {
        if needs.compare == Compare::Never {
            out.remark(
                "note: this command does not compare profiles; effective, explain and get do",
            );
        } else if analysis.answers.iter().all(|a| a.shown) {
            out.remark(
                "note: none of these policies has another profile, so there is nothing to compare",
            );
        }
    }
    analysis
}

/// Bytes of input below which threads cost more than they help.
const LITTLE: usize = 512 << 10;

/// Decides who does the work, by how many bytes there are.
pub fn share_out(bytes: usize) {
    if bytes < LITTLE {
        alone();
    }
}

/// Everything is done by this thread; on a machine with many processors, starting theirs takes longer than a short
/// answer.
fn alone() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    // It fails only if there are threads by now, and then they may as well help.
    let _ = pool.build_global();
}

/// How to analyse, as far as it does not depend on what is asked.
pub fn options(source: &Source) -> Result<Options, AskError> {
    Ok(Options {
        duplicate_keys: if source.lenient { DuplicateKeys::LastWins } else { DuplicateKeys::Error },
        assume_created: assume(source)?,
        assume_missing: !source.strict,
        default_namespace: source.default_namespace.clone(),
        profiles: profiles(source)?,
        settings: source.settings.read()?,
        ..Options::default()
    })
}

fn add_new(files: &mut Vec<File>, more: Vec<File>) {
    for file in more {
        if !files.iter().any(|f| f.name == file.name) {
            files.push(file);
        }
    }
}

/// The profile chosen for each family.
pub fn profiles(source: &Source) -> Result<BTreeMap<String, String>, AskError> {
    let known = overrule::families().iter();
    let known: Vec<(&str, &str)> =
        known.flat_map(|f| f.profiles().iter().map(move |p| (f.name(), *p))).collect();
    let mut chosen = BTreeMap::new();
    for asked in &source.profile {
        match asked.split_once('=').filter(|pair| known.contains(pair)) {
            Some((family, profile)) => chosen.insert(family.to_owned(), profile.to_owned()),
            None => {
                let known: Vec<String> = known.iter().map(|(f, p)| format!("{f}={p}")).collect();
                return Err(AskError::Usage(format!(
                    "unknown profile `{asked}`; this version has: {}",
                    known.join(", ")
                )));
            }
        };
    }
    Ok(chosen)
}

fn assume(source: &Source) -> Result<Assume, AskError> {
    match source.assume_created.as_deref() {
        None => Ok(Assume::Newest),
        Some(word) if word.eq_ignore_ascii_case("file-order") => Ok(Assume::FileOrder),
        Some(time) => Created::parse(time).map(Assume::Time).ok_or_else(|| {
            AskError::Usage(format!("--assume-created takes FILE-ORDER or a time such as 2026-01-31T09:00:00Z, not `{time}`"))
        }),
    }
}

/// A bar on a terminal, once reading has taken a second: one that flashes by is noise.
struct Progress {
    bar: ProgressBar,
    since: Instant,
    shown: AtomicBool,
    wanted: bool,
}

impl Progress {
    fn new(shared: &Shared, total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        let style =
            ProgressStyle::with_template("reading {bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        #[expect(
            clippy::disallowed_methods,
            reason = "how long a person has waited decides whether to show a bar"
        )]
        let since = Instant::now();
        let wanted = !shared.quiet && std::io::stderr().is_terminal();
        Self { bar, since, shown: AtomicBool::new(false), wanted }
    }

    fn done(&self) {
        self.bar.finish_and_clear();
    }
}

impl Stages for Progress {
    fn read(&self, bytes: usize) {
        self.bar.inc(bytes as u64);
        let late = self.wanted && self.since.elapsed() >= Duration::from_secs(1);
        if late && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}
