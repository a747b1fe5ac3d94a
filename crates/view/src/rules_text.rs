// SPDX-License-Identifier: Apache-2.0
//! In: the rules of a policy and what became of them. Out: the same as a table, or as a line each.
//! Not here: finding anything out.

use std::fmt;

use crate::style::Painted;
use crate::table::{Cell, Table};
use crate::{Styles, escape, v1, words};

/// Every rule of a policy as a row.
pub(crate) fn table(
    rules: &[v1::RuleSummary],
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    if rules.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", Painted(styles.heading, "Rules"))?;
    let mut table = Table::new(["RULE", "BLOCK", "IN FORCE", "NOT IN FORCE", "BY/WHY"]);
    for rule in rules {
        let counts = &rule.counts;
        let held = match (counts.in_force, counts.partly) {
            (held, 0) => held.to_string(),
            (held, partly) => format!("{held}, {partly} partly"),
        };
        let lost = counts.paths - counts.in_force - counts.partly;
        table.push([
            rule_name(rule).into(),
            escape::terminal(&rule.block).into_owned().into(),
            Cell::styled(held, if counts.in_force > 0 { styles.bold } else { styles.dim }),
            lost.to_string().into(),
            why(rule).into(),
        ]);
    }
    table.write("  ", styles, out)
}

/// Every rule of a policy in a line: where it is in force, and who is there instead.
pub(crate) fn lines(
    rules: &[v1::RuleSummary],
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let mut table = Table::new(["", "", ""]);
    for rule in rules {
        let name = Cell::styled(rule_name(rule), styles.dim);
        let block = Cell::styled(escape::terminal(&rule.block), styles.dim);
        table.push([name, block, sentence(rule).into()]);
    }
    table.write("    ", styles, out)
}

fn rule_name(rule: &v1::RuleSummary) -> String {
    match rule.rule.as_str() {
        "" => "(all of it)".to_owned(),
        name => escape::terminal(name).into_owned(),
    }
}

/// `in force on 3 of 5 paths; replaced by shop/x on 2`.
fn sentence(rule: &v1::RuleSummary) -> String {
    let counts = &rule.counts;
    let all = words::count(counts.paths, "path");
    let mut parts = vec![match counts.in_force {
        0 if counts.paths == 1 => "not in force on the one path".to_owned(),
        0 => format!("in force on none of {all}"),
        n if n == counts.paths && n == 1 => "in force on the one path".to_owned(),
        2 if counts.paths == 2 => "in force on both paths".to_owned(),
        n if n == counts.paths => format!("in force on all {all}"),
        n => format!("in force on {n} of {all}"),
    }];
    let by = |names: &[String]| match names {
        [] => String::new(),
        names => format!(" by {}", words::shown_and(names)),
    };
    let mut add = |n: u64, what: String| {
        if n > 0 {
            parts.push(format!("{what} on {n}"));
        }
    };
    add(counts.partly, format!("partly replaced{}", by(&rule.by)));
    add(counts.shadowed, format!("replaced{}", by(&rule.by)));
    add(counts.removed, format!("removed{}", by(&rule.removed_by)));
    add(counts.masked, "masked by a built-in".to_owned());
    add(counts.skipped, "skipped".to_owned());
    add(counts.inert, "without effect".to_owned());
    parts.join("; ")
}

/// Who is in force instead, who removed it, and by which rules.
fn why(rule: &v1::RuleSummary) -> String {
    let mut parts = Vec::new();
    if !rule.by.is_empty() {
        parts.push(words::shown_and(&rule.by));
    }
    if !rule.removed_by.is_empty() {
        parts.push(format!("removed by {}", words::shown_and(&rule.removed_by)));
    }
    let because = rule.because.join("; ");
    match (parts.is_empty(), because.is_empty()) {
        (true, _) => because,
        (false, true) => parts.join("; "),
        (false, false) => format!("{}: {because}", parts.join("; ")),
    }
}
