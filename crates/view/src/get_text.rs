// SPDX-License-Identifier: Apache-2.0
//! In: lists of what is there. Out: tables as kubectl prints them. Not here: finding anything out.

use std::fmt;

use crate::table::{Cell, Table};
use crate::{Styles, assumed, escape, rules_text, v1, words};

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
            Cell::styled(outcome(p), styles.outcome(p.outcome)),
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
    let mut rows = String::new();
    table.write("", None, styles, &mut rows)?;
    let mut rows = rows.lines();
    rows.next().map_or(Ok(()), |header| writeln!(out, "{header}"))?;
    for (row, policy) in rows.zip(&list.items) {
        writeln!(out, "{row}")?;
        for c in &policy.conditions {
            let message = escape::terminal(c.message.as_deref().unwrap_or(""));
            writeln!(out, "    {}={} {}: {message}", c.r#type, c.status, c.reason)?;
        }
        rules_text::lines(&policy.rules, styles, out)?;
    }
    Ok(())
}

/// The outcome, and what others make of it where that is something else.
fn outcome(policy: &v1::PolicySummary) -> String {
    let others = policy.other_profiles.iter().map(|other| {
        let word = other.outcome.unwrap_or("no policy");
        match word == policy.outcome {
            true => {
                format!("{}: {word} on {}", other.profile, words::count(other.counts.paths, "path"))
            }
            false => format!("{}: {word}", other.profile),
        }
    });
    let assumed = assumed::is_told_in_rows(&policy.assumptions).then(|| "assumed".to_owned());
    let others: Vec<String> = assumed.into_iter().chain(others).collect();
    match others.is_empty() {
        true => words::outcome(policy.outcome),
        false => format!("{} ({})", words::outcome(policy.outcome), others.join(", ")),
    }
}

/// `Accepted=True`, or with its reason where it is not true; each once, though every parentRef has its own.
fn conditions(list: &[v1::Condition]) -> String {
    let mut words: Vec<String> = Vec::new();
    for c in list {
        let word = match (&c.section, c.status.as_str()) {
            (Some(section), "True") => format!("{}#{section}=True", c.r#type),
            (None, "True") => format!("{}=True", c.r#type),
            (_, status) => format!("{}={status}({})", c.r#type, c.reason),
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
        let file = format!("{}:{}", escape::terminal(&resource.at.file), resource.at.line);
        let deleted = resource.deleted.is_some().then_some("being deleted");
        let assumed = assumed::resource(resource);
        if wide {
            let version = match (resource.group.as_str(), resource.version.as_str()) {
                ("", version) => version.to_owned(),
                // Nobody says which version of what is assumed.
                (group, "") => group.to_owned(),
                (group, version) => format!("{group}/{version}"),
            };
            let created = resource.created.as_deref().unwrap_or("-");
            let conditions = match (deleted, &assumed) {
                (Some(word), _) => word.to_owned(),
                (None, Some(words)) => words.clone(),
                (None, None) => conditions(&resource.conditions),
            };
            broad.push([
                kind,
                namespace,
                name,
                file.into(),
                escaped(&version),
                created.into(),
                conditions.into(),
            ]);
        } else {
            let file = match deleted.or(assumed.as_deref()) {
                Some(word) => format!("{file} ({word})"),
                None => file,
            };
            narrow.push([kind, namespace, name, file.into()]);
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
        return writeln!(out, "every path has {} ({paths})", overrule_model::with_article(&kind));
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
