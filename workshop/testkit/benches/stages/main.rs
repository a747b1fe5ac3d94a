// SPDX-License-Identifier: Apache-2.0
//! In: a group of stages and a size. Out: each stage of the pipeline run once, one after the other, and their names, so
//! that what runs within `the_counted_part` can be counted. Not here: counting (`cargo xtask scale`), times, memory.
//!
//! ```text
//!  stages GROUP SIZE           runs the stages of a group, and prints `GROUP STAGE` when one is done
//!  stages GROUP SIZE FOLDER    the same, with the manifests of a folder
//!  stages --write FOLDER GROUP SIZE     writes that folder: making manifests takes longer than what is counted
//! ```
//!
//! Everything is in one thread: the counted function is called where the work is done, and work handed to another thread
//! would not be counted. What a stage made is dropped after it: freeing is not counted.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench prints, and stops at the first surprise"
)]

mod access;
mod gateway;
mod live;
mod mesh;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use overrule::source::Input;
use overrule_testkit::fleet::{ManifestFormat, Spec, manifests, write};

/// What to run stages on.
pub struct Task {
    /// Routes, dataplanes or access rules.
    pub size: u32,
    /// Where manifests are; they are made in memory where there is none.
    folder: Option<PathBuf>,
    /// Only write the manifests.
    writes: bool,
}

impl Task {
    /// The manifests of a fleet; none if they are only written.
    pub fn inputs<S: Spec>(&self, spec: &S, format: ManifestFormat) -> Option<Vec<Input>> {
        let Some(folder) = &self.folder else {
            let made = manifests(spec, format).map(|(name, text)| Input::new(name, text));
            return Some(made.collect());
        };
        let folder = folder.join(if format == ManifestFormat::Json { "json" } else { "yaml" });
        if self.writes {
            write(spec, format, &folder).expect("manifests can be written");
            return None;
        }
        Some(read_folder(&folder))
    }
}

fn read_folder(folder: &Path) -> Vec<Input> {
    let entries = std::fs::read_dir(folder).expect("a folder of manifests");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let input = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        Input::new(name, std::fs::read(path).expect("a file"))
    };
    paths.iter().map(input).collect()
}

/// Groups of stages: each starts with a fleet of its own.
const GROUPS: [&str; 6] = ["gateway", "kuadrant", "kgateway", "mesh", "access", "live"];

fn run(group: &str, task: &Task) {
    // None where manifests were only written.
    let _ = match group {
        "gateway" => gateway::generic(task),
        "kuadrant" => gateway::kuadrant(task),
        "kgateway" => gateway::kgateway(task),
        "mesh" => mesh::mesh(task),
        "live" => live::live(task),
        _ => access::access(task),
    };
}

fn main() -> ExitCode {
    // `cargo bench` passes a flag of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (group, size, folder, writes) = match words.as_slice() {
        // Without arguments: see that all of it runs.
        [] => ("all", "1000", None, false),
        [group, size] => (*group, *size, None, false),
        ["--write", folder, group, size] => (*group, *size, Some(*folder), true),
        [group, size, folder] => (*group, *size, Some(*folder), false),
        _ => ("", "", None, false),
    };
    let wanted: Vec<&str> =
        GROUPS.into_iter().filter(|name| group == "all" || *name == group).collect();
    let (Ok(size), false) = (size.parse(), wanted.is_empty()) else {
        eprintln!("usage: stages [--write FOLDER] GROUP SIZE [FOLDER]; groups: {GROUPS:?}");
        return ExitCode::FAILURE;
    };
    let task = Task { size, folder: folder.map(PathBuf::from), writes };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    one.install(|| wanted.iter().for_each(|group| run(group, &task)));
    ExitCode::SUCCESS
}

/// Runs a stage, counted, and tells that it ran.
fn stage<T>(group: &str, name: &str, work: impl FnOnce() -> T) -> T {
    let mut work = Some(work);
    let mut made = None;
    the_counted_part(&mut || made = work.take().map(|work| work()));
    println!("{group} {name}");
    made.expect("it ran")
}

/// What valgrind counts. No closure is written here: its name would hold this one, and be taken for it.
#[inline(never)]
fn the_counted_part(work: &mut dyn FnMut()) {
    work();
    // Keeps the call above from being the last thing: a jump out of here would not be seen as a return.
    std::hint::black_box(());
}
