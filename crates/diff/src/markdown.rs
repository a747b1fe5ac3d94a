// SPDX-License-Identifier: Apache-2.0
//! In: a report. Out: one comment for a pull request, no longer than its hosts allow. Not here: finding anything out.
//!
//! What matters comes first: the verdict, targets that lost every policy, then the widest changes. What does not fit is
//! counted, and named by kind.

use std::collections::BTreeMap;
use std::fmt::Write;

use overrule::view::escape;
use overrule::view::{self, v1};

use crate::text::summary;

/// Characters of a comment, at most. GitHub refuses 65,537.
pub const LONGEST: usize = 65_000;
/// Targets of a group that are named.
const NAMED: usize = 50;
/// Characters that are kept for the last line, which says what was left out.
const KEPT: usize = 2_000;

/// Changes with their report, as one comment.
pub fn markdown(changes: &v1::EffectiveChanges) -> String {
    let Some(report) = &changes.report else { return String::new() };
    let mut out = Limited::new();
    out.push(&heading(changes, report));
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for group in &report.groups {
        let text = self::group(changes, group);
        if !out.push(&text) {
            let kind = group.items.first().and_then(|place| changes.items.get(*place));
            let kind = kind.map_or("", |item| &item.policy_kind);
            *left.entry(format!("{} {}", code(kind), group.change)).or_default() +=
                group.items.len();
        }
    }
    let lists =
        [("New findings", &report.findings.new), ("Fixed findings", &report.findings.fixed)];
    for (title, found) in lists {
        if !found.is_empty() {
            let missing = findings(title, found, &mut out);
            if missing > 0 {
                left.insert(title.to_lowercase(), missing);
            }
        }
    }
    let profiles = profiles(report);
    let owners = owners(report);
    for (text, what) in [(profiles, "other profiles"), (owners, "owners")] {
        if !text.is_empty() && !out.push(&text) {
            left.insert(what.to_owned(), 1);
        }
    }
    out.finish(&left)
}

/// Text that does not get longer than a comment may be.
struct Limited {
    text: String,
    length: usize,
}

impl Limited {
    fn new() -> Self {
        Self { text: String::new(), length: 0 }
    }

    /// Adds a part, if all of it fits.
    fn push(&mut self, part: &str) -> bool {
        let length = part.chars().count();
        let fits = self.length + length <= LONGEST - KEPT;
        if fits {
            self.text.push_str(part);
            self.length += length;
        }
        fits
    }

    /// Says what was left out. That is a few words for each kind of policies, and they are cut as well.
    fn finish(mut self, left: &BTreeMap<String, usize>) -> String {
        if !left.is_empty() {
            let named: Vec<String> = left.iter().map(|(what, n)| format!("{n} {what}")).collect();
            let named: String = named.join(", ").chars().take(KEPT - 200).collect();
            let _ = write!(self.text, "\n_Not shown, because a comment has a limit: {named}. ");
            self.text.push_str("`overrule diff` on the command line shows all._\n");
        }
        self.text
    }
}

/// Text of strangers.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escape::markdown(text))
}

fn heading(changes: &v1::EffectiveChanges, report: &v1::ChangeReport) -> String {
    let verdict = match (report.gates.is_empty(), changes.items.is_empty()) {
        (false, _) => "❌ This change does not pass",
        (true, false) => "⚠️ This change changes what is in force",
        (true, true) => "✅ Nothing in force changes",
    };
    let mut text = format!("### {verdict}\n\n{}\n\n", summary(changes, report));
    for gate in &report.gates {
        let _ = writeln!(text, "- **{}**: {}", gate.gate, gate.because);
    }
    if !report.gates.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "{} → {}\n", code(&report.before), code(&report.after));
    text
}

fn group(changes: &v1::EffectiveChanges, group: &v1::ChangeGroup) -> String {
    let items = group.items.iter().filter_map(|place| changes.items.get(*place));
    let items: Vec<&v1::EffectiveChange> = items.collect();
    let Some(first) = items.first() else { return String::new() };
    let more = match items.len().saturating_sub(1) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let lost =
        if group.uncovered { " ⛔ nothing of this kind is in force there any more" } else { "" };
    let mut text = format!(
        "<details><summary><b>{}</b>: {} at {}{more}{lost}</summary>\n\n",
        group.change,
        code(&first.policy_kind),
        code(&first.target)
    );
    for cause in &group.causes {
        let at = cause.at.as_ref().map(|at| format!(" at {}", code(&view::place_text(at))));
        let _ = writeln!(
            text,
            "- because {} was {}{}",
            code(&cause.resource),
            cause.change,
            at.unwrap_or_default()
        );
    }
    text.push_str("\n| field | before | after | set by |\n|---|---|---|---|\n");
    for field in &first.fields {
        let value = |value: &Option<v1::Value>| match value {
            Some(value) => code(&view::flow_text(value)),
            None => "nothing".to_owned(),
        };
        let names = |names: &[String]| match names {
            [] => "nobody".to_owned(),
            names => code(&names.join(", ")),
        };
        let name = if field.pointer.is_empty() { "all of it" } else { &field.pointer };
        let set_by = match field.from == field.to {
            true => names(&field.to),
            false => format!("{} → {}", names(&field.from), names(&field.to)),
        };
        let (before, after) = (value(&field.before), value(&field.after));
        let _ = writeln!(text, "| {} | {before} | {after} | {set_by} |", code(name));
    }
    if items.len() > 1 {
        let targets: Vec<String> =
            items.iter().take(NAMED).map(|item| code(&item.target)).collect();
        let rest = match items.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let _ = write!(text, "\nAt {}{rest}.\n", targets.join(", "));
    }
    text.push_str("\n</details>\n\n");
    text
}

/// How many did not fit.
fn findings(title: &str, found: &[v1::DiagnosticItem], out: &mut Limited) -> usize {
    let mut missing = 0;
    let mut open = false;
    for item in found {
        let at = item.at.as_ref().map(|at| format!(" {}", code(&view::place_text(at))));
        let line = format!(
            "- {} {}{}: {}\n",
            item.severity,
            item.code,
            at.unwrap_or_default(),
            code(&item.message)
        );
        let line = if open { line } else { format!("**{title}**\n\n{line}") };
        match out.push(&line) {
            true => open = true,
            false => missing += 1,
        }
    }
    if open {
        out.push("\n");
    }
    missing
}

fn profiles(report: &v1::ChangeReport) -> String {
    let mut text = String::new();
    for profile in &report.profiles {
        let v1::ChangeCounts { added, changed, removed } = profile.counts;
        let _ = writeln!(
            text,
            "- under {}: {added} added, {changed} changed, {removed} removed; {} change only there, {} only here",
            code(&format!("{}={}", profile.family, profile.profile)),
            profile.only_there.len(),
            profile.only_here.len()
        );
    }
    if text.is_empty() { text } else { format!("**Other profiles**\n\n{text}\n") }
}

fn owners(report: &v1::ChangeReport) -> String {
    let mut text = String::new();
    for owner in &report.owners {
        let what = if owner.edited { "edited" } else { "affected, not edited" };
        let _ = writeln!(text, "- {} ({what}): {} files", code(&owner.owner), owner.files.len());
    }
    if text.is_empty() { text } else { format!("**Owners of what is affected**\n\n{text}\n") }
}
