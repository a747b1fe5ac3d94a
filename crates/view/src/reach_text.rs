// SPDX-License-Identifier: Apache-2.0
//! In: where a policy reaches. Out: the same in words, the answer first. Not here: finding anything out.

use std::fmt;

use crate::style::Painted;
use crate::table::{Cell, Table};
use crate::{Styles, assumed, escape, rules_text, v1, words};

/// More targets than this are summarised.
const TARGETS: usize = 50;

/// A reach for people; more than 50 targets are summarised unless `wide`, which also lists every path.
pub fn reach_text(
    reach: &v1::Reach,
    wide: bool,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    writeln!(out, "{}", Painted(styles.bold, &reach.verdict_line()))?;
    if let Some(at) = &reach.at {
        writeln!(out, "  {}", Painted(styles.dim, &words::place(at)))?;
    }
    if !reach.assumptions.is_empty() {
        writeln!(out, "  {}", assumed::line(&reach.assumptions))?;
    }
    references(reach, styles, out)?;
    rules_text::table(&reach.rules, styles, out)?;
    if reach.targets.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", Painted(styles.heading, "Targets"))?;
    let shown = if wide { reach.targets.len() } else { TARGETS };
    let mut table = Table::new(["", "", ""]);
    for target in reach.targets.iter().take(shown) {
        rows(target, wide, styles, &mut table);
    }
    table.write("  ", styles, out)?;
    rest(reach.targets.get(shown..).unwrap_or(&[]), out)
}

fn references(reach: &v1::Reach, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
    writeln!(out, "\n{}", Painted(styles.heading, "References"))?;
    for reference in &reach.references {
        let n = reference.reference + 1;
        let at = words::place_or_nothing(reference.at.as_ref());
        let at = Painted(styles.dim, &at).to_string();
        match (reference.landed.as_slice(), reference.because) {
            ([], because) => {
                let because = because.unwrap_or("no reason recorded");
                let word = words::outcome("rejected");
                let word = Painted(styles.error, &word);
                writeln!(out, "  {n}. {word}: {because}  {at}")?;
            }
            ([one], _) => writeln!(out, "  {n}. {}  {at}", escape::terminal(one))?,
            (several, _) => {
                let first: Vec<_> = several.iter().take(5).map(|t| escape::terminal(t)).collect();
                let more = match several.len().saturating_sub(first.len()) {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                writeln!(out, "  {n}. {}{more}  {at}", first.join(", "))?;
            }
        }
    }
    Ok(())
}

fn rows(target: &v1::ReachTarget, wide: bool, styles: &Styles, table: &mut Table<3>) {
    let name = escape::terminal(&target.target).into_owned();
    let first = target.paths.first();
    let alike = first.is_some_and(|first| {
        target.paths.iter().all(|p| (p.outcome, &p.by) == (first.outcome, &first.by))
    });
    match first {
        Some(first) if alike && !wide => {
            let paths = match target.paths.len() {
                1 => String::new(),
                n => format!(" on {n} paths"),
            };
            let outcome = Cell::styled(
                format!("{}{paths}", words::outcome(first.outcome)),
                styles.outcome(first.outcome),
            );
            table.push([name.into(), outcome, why(first).into()]);
        }
        _ => {
            table.push([name.into(), counts(&target.counts).into(), "".into()]);
            for path in &target.paths {
                let via = format!("  via {}", words::short_path(&path.path));
                let outcome =
                    Cell::styled(words::outcome(path.outcome), styles.outcome(path.outcome));
                table.push([via.into(), outcome, why(path).into()]);
            }
        }
    }
}

fn why(path: &v1::ReachPath) -> String {
    let because = path.because.join("; ");
    let by = |names: &[String]| match path.outcome {
        "partly" => format!("lost the rest to {}", words::shown_and(names)),
        _ => format!("by {}", words::shown_and(names)),
    };
    match (path.by.as_slice(), because.is_empty()) {
        ([], true) => String::new(),
        ([], false) => because,
        (names, true) => by(names),
        (names, false) => format!("{}: {because}", by(names)),
    }
}

fn counts(counts: &v1::Counts) -> String {
    let words = counts.words().into_iter().map(|(n, word)| format!("{n} {word}"));
    words.collect::<Vec<_>>().join(", ")
}

/// What is not listed, counted.
fn rest(targets: &[v1::ReachTarget], out: &mut dyn fmt::Write) -> fmt::Result {
    if targets.is_empty() {
        return Ok(());
    }
    let mut sum = v1::Counts::default();
    for v1::ReachTarget { counts, .. } in targets {
        sum.paths += counts.paths;
        sum.in_force += counts.in_force;
        sum.partly += counts.partly;
        sum.shadowed += counts.shadowed;
        sum.masked += counts.masked;
        sum.removed += counts.removed;
        sum.skipped += counts.skipped;
        sum.inert += counts.inert;
    }
    let (targets, paths) =
        (words::count(targets.len() as u64, "more target"), words::count(sum.paths, "path"));
    writeln!(out, "  … and {targets} with {paths}: {}; -o wide lists them", counts(&sum))
}
