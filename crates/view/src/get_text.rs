// SPDX-License-Identifier: Apache-2.0
//! In: lists of what is there. Out: tables as kubectl prints them. Not here: finding anything out.

use std::fmt;

use crate::table::{Cell, Table};
use crate::{Styles, escape, v1, words};

/// Policies as a table; `now` (seconds since 1970) turns creation times into ages.
pub fn policies_table(
    list: &v1::PolicyList,
    wide: bool,
    now: Option<i64>,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    if list.items.is_empty() {
        return Ok(());
    }
    let narrow = |p: &v1::PolicySummary| -> [Cell; 7] {
        [
            escaped(&p.policy_kind),
            escaped(p.namespace.as_deref().unwrap_or("")),
            escaped(&p.name),
            targets(p).into(),
            Cell::styled(p.outcome, styles.outcome(p.outcome)),
            paths(&p.counts).into(),
            age(p, now).into(),
        ]
    };
    if !wide {
        let mut table =
            Table::new(["KIND", "NAMESPACE", "NAME", "TARGETS", "OUTCOME", "PATHS", "AGE"]);
        list.items.iter().for_each(|p| table.push(narrow(p)));
        return table.write("", None, styles, out);
    }
    let mut table = Table::new([
        "KIND",
        "NAMESPACE",
        "NAME",
        "TARGETS",
        "OUTCOME",
        "PATHS",
        "AGE",
        "FILE",
        "STRATEGY",
        "WHY",
    ]);
    for policy in &list.items {
        let [kind, namespace, name, targets, outcome, paths, age] = narrow(policy);
        let file = Cell::from(words::place(&policy.at));
        let strategy = Cell::from(policy.strategy.unwrap_or("-"));
        let why = escaped(&policy.why.join("; "));
        table.push([kind, namespace, name, targets, outcome, paths, age, file, strategy, why]);
    }
    table.write("", None, styles, out)
}

/// `Accepted=True`, or with its reason where it is not true; each once, though every parentRef has its own.
fn conditions(list: &[v1::Condition]) -> String {
    let mut words: Vec<String> = Vec::new();
    for c in list {
        let word = match c.status.as_str() {
            "True" => format!("{}=True", c.r#type),
            status => format!("{}={status}({})", c.r#type, c.reason),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() { "-".to_owned() } else { words.join(",") }
}

/// Resources as a table.
pub fn resources_table(
    list: &v1::ResourceList,
    wide: bool,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    if list.items.is_empty() {
        return Ok(());
    }
    let mut narrow = Table::new(["KIND", "NAMESPACE", "NAME", "FILE"]);
    let mut broad =
        Table::new(["KIND", "NAMESPACE", "NAME", "FILE", "API VERSION", "CREATED", "CONDITIONS"]);
    for resource in &list.items {
        let kind = escaped(&resource.kind);
        let namespace = escaped(resource.namespace.as_deref().unwrap_or(""));
        let name = escaped(&resource.name);
        let file =
            Cell::from(format!("{}:{}", escape::terminal(&resource.at.file), resource.at.line));
        if wide {
            let version = match resource.group.as_str() {
                "" => resource.version.clone(),
                group => format!("{group}/{}", resource.version),
            };
            let created = resource.created.as_deref().unwrap_or("-");
            let conditions = Cell::from(conditions(&resource.conditions));
            broad.push([
                kind,
                namespace,
                name,
                file,
                escaped(&version),
                created.into(),
                conditions,
            ]);
        } else {
            narrow.push([kind, namespace, name, file]);
        }
    }
    if wide { broad.write("", None, styles, out) } else { narrow.write("", None, styles, out) }
}

/// Uncovered paths as a table, and how many there are of how many.
pub fn without_table(
    list: &v1::UncoveredList,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let kind = escape::terminal(&list.policy_kind);
    if list.items.is_empty() {
        let paths = words::count(list.paths, "path");
        return writeln!(out, "every path has a {kind} ({paths})");
    }
    let mut table = Table::new(["TARGET", "PATH"]);
    for item in &list.items {
        table.push([escaped(&item.target), words::short_path(&item.path).into()]);
    }
    table.write("", None, styles, out)?;
    writeln!(out, "{} of {} without {kind}", list.items.len(), words::count(list.paths, "path"))
}

fn escaped(text: &str) -> Cell {
    escape::terminal(text).into_owned().into()
}

/// Targets shown in a row; the others are counted.
const TARGETS: usize = 2;

fn targets(policy: &v1::PolicySummary) -> String {
    let shown = policy.targets.iter().take(TARGETS).map(|t| escape::terminal(t));
    let shown = shown.collect::<Vec<_>>().join(",");
    match policy.targets.len() {
        0 => "-".to_owned(),
        n if n > TARGETS => format!("{shown},+{}", n - TARGETS),
        _ => shown,
    }
}

/// Paths counted by what became of the policy.
fn paths(counts: &v1::Counts) -> String {
    let words = counts.words().into_iter().map(|(n, word)| format!("{n} {word}"));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn age(policy: &v1::PolicySummary, now: Option<i64>) -> String {
    match (policy.created_seconds, &policy.created, now) {
        (Some(created), _, Some(now)) => words::age(now.saturating_sub(created)),
        (_, Some(created), None) => created.clone(),
        _ => "-".to_owned(),
    }
}
