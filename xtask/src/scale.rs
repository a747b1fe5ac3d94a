// SPDX-License-Identifier: Apache-2.0
//! In: the stages of the pipeline at three sizes. Out: instructions of each, how they grow, and whether they grew since
//! they were written down. Not here: what the stages do (`workshop/testkit/benches/stages`), times, memory.
//!
//! ```text
//!  cargo xtask scale              counts 1k, 10k and 100k; writes docs/performance/counts.json, plots and table
//!  cargo xtask scale --check      counts 1k and 10k; fails where a count is more than 5 % above what is written down
//!  cargo xtask scale --quick      counts 1k and 10k, and writes nothing
//!  cargo xtask scale --plots      makes plots and table from counts.json, without counting
//! ```

mod count;
mod kept;
mod page;
mod plots;
mod svg;

use std::path::Path;

use crate::steps::Ending;
use count::Counter;
use kept::{Kept, Row};

/// How much to count, and what for.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compare with docs/performance/counts.json
    #[arg(long, conflicts_with_all = ["quick", "plots"])]
    check: bool,
    /// The two smaller sizes, written nowhere
    #[arg(long, conflicts_with = "plots")]
    quick: bool,
    /// Only make the plots and the table of docs/performance.md, from docs/performance/counts.json
    #[arg(long)]
    plots: bool,
    /// Only these groups of stages; then nothing is written
    #[arg(long, value_delimiter = ',')]
    groups: Vec<String>,
}

/// What is counted.
const GROUPS: [&str; 6] = ["gateway", "kuadrant", "kgateway", "mesh", "access", "live"];
const SMALL: &[u32] = &[1_000, 10_000];
const ALL: &[u32] = &[1_000, 10_000, 100_000];
/// The most that instructions may grow by: size to the power of this.
const EXPONENT: f64 = 1.1;
/// How many percent more a stage may take than what is written down.
const MARGIN: u64 = 5;
/// The same on machines of others: their C library and processor add to it.
pub(crate) const WIDE_MARGIN: u64 = 25;
/// Where figures are kept.
const FOLDER: &str = "docs/performance";

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<(), String> {
    let folder = root.join(FOLDER);
    if arguments.plots {
        return show(&Kept::read(&folder)?, root);
    }
    if arguments.check {
        match check(root, MARGIN)? {
            Ending::Ran(said) => println!("{said}"),
            Ending::DidNotRun(why) => println!("did not run: {why}"),
        }
        return Ok(());
    }
    let counter = match Counter::new(root)? {
        Ok(counter) => counter,
        Err(missing) => {
            println!("did not run: {missing}");
            return Ok(());
        }
    };
    let part = arguments.quick || !arguments.groups.is_empty();
    let sizes = if arguments.quick { SMALL } else { ALL };
    let groups = GROUPS.iter().copied();
    let is_wanted =
        |group: &&str| arguments.groups.is_empty() || arguments.groups.iter().any(|g| g == group);
    let groups: Vec<&str> = groups.filter(is_wanted).collect();
    let counted = counter.count(&groups, sizes)?;
    println!("{}", table(&counted));
    if !part {
        counted.write(&folder)?;
        show(&counted, root)?;
    }
    grown(&counted)
}

/// Plots and table.
fn show(counted: &Kept, root: &Path) -> Result<(), String> {
    plots::write(counted, &root.join(FOLDER))?;
    page::write(counted, root)
}

/// Groups whose stages do other work now than when they were written down: a change makes findings and a whole analysis
/// (decision 0009). They are shown, and not compared until `cargo xtask scale` has written them down again.
const OTHER_WORK: &[&str] = &["live"];

/// Counts the small sizes and compares; a stage may take so many percent more.
pub(crate) fn check(root: &Path, margin: u64) -> Result<Ending, String> {
    let kept = Kept::read(&root.join(FOLDER))?;
    let counter = match Counter::new(root)? {
        Ok(counter) => counter,
        Err(missing) => return Ok(Ending::DidNotRun(missing)),
    };
    if counter.rustc() != kept.rustc {
        return Ok(Ending::DidNotRun(format!(
            "instructions were written down with {}, and this is {}",
            kept.rustc,
            counter.rustc()
        )));
    }
    let counted = counter.count(&GROUPS, SMALL)?;
    println!("{}", table(&counted));
    let problems = kept.compare(&counted, margin);
    let is_other = |problem: &str| OTHER_WORK.iter().any(|group| problem.starts_with(group));
    let (other, problems): (Vec<String>, Vec<String>) =
        problems.into_iter().partition(|problem| is_other(problem));
    for problem in &other {
        println!("NOT COMPARED, it does other work now: {problem}");
    }
    match problems.as_slice() {
        [] => {
            let group = OTHER_WORK.join(", ");
            let stages = counted.rows.len();
            Ok(Ending::Ran(format!("{stages} stages are as they were, NOT COMPARED: {group}")))
        }
        problems => Err(problems.join("\n")),
    }
}

/// An error that names the stages that grow faster than they may.
fn grown(counted: &Kept) -> Result<(), String> {
    let (from, to) = (10_000, 100_000);
    let fast = |row: &&Row| row.exponent(from, to).is_some_and(|e| e > EXPONENT);
    let fast: Vec<String> = counted.rows.iter().filter(fast).map(Row::name).collect();
    match fast.as_slice() {
        [] => Ok(()),
        fast => Err(format!(
            "from {from} to {to} these grow faster than size^{EXPONENT}: {}",
            fast.join(", ")
        )),
    }
}

/// One line for each stage: ratios first.
fn table(counted: &Kept) -> String {
    let mut out = format!(
        "{:<24}{:>12}{:>12}{:>12}{:>16}{:>16}{:>16}\n",
        "stage", "/serde_json", "1k to 10k", "10k to 100k", "1k", "10k", "100k"
    );
    for row in &counted.rows {
        let number =
            |size| row.count(size).map_or_else(String::new, |n| format!("{:.1} M", n as f64 / 1e6));
        let figure = |f: Option<f64>| f.map_or_else(String::new, |f| format!("{f:.2}"));
        let ratio = |f: Option<f64>| f.map_or_else(String::new, |f| format!("{f:.3}"));
        out += &format!(
            "{:<24}{:>12}{:>12}{:>12}{:>16}{:>16}{:>16}\n",
            row.name(),
            ratio(counted.ratio(row)),
            figure(row.exponent(1_000, 10_000)),
            figure(row.exponent(10_000, 100_000)),
            number(1_000),
            number(10_000),
            number(100_000),
        );
    }
    out
}
