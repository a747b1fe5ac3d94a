// SPDX-License-Identifier: Apache-2.0
//! In: lists of what is there. Out: tables as kubectl prints them. Not here: finding anything out.

use std::fmt;

use crate::table::{Cell, Table, TableFit};
use crate::{Styles, assumed, beside, escape, rules_text, v1, words};

/// Policies as a table; `now` (seconds since 1970) turns creation times into ages.
pub fn policies_table(
    list: &v1::PolicyList,
    wide: bool,
    now: Option<i64>,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    if list.items.is_empty() && list.unresolved.is_empty() {
        return Ok(());
    }
    let narrow = |p: &v1::PolicySummary| -> [Cell; 8] {
        [
            escaped(&p.policy_kind),
            escaped(namespace(p.namespace.as_deref(), p.mesh.as_deref())),
            escaped(p.mesh.as_deref().unwrap_or("")),
            escaped(&p.name),
            targets(p, styles).into(),
            Cell::styled(outcome(p), styles.outcome(p.outcome)),
            paths(&p.counts).into(),
            age(p, now).into(),
        ]
    };
    if !wide {
        let mut table =
            Table::new(["KIND", "NAMESPACE", "MESH", "NAME", "TARGETS", "OUTCOME", "PATHS", "AGE"])
                .hiding(PLACES);
        list.items.iter().for_each(|p| table.push(narrow(p)));
        list.unresolved.iter().for_each(|p| table.push(unresolved(p)));
        return table.write("", styles, out);
    }
    let mut table = Table::new([
        "KIND",
        "NAMESPACE",
        "MESH",
        "NAME",
        "TARGETS",
        "OUTCOME",
        "PATHS",
        "AGE",
        "FILE",
        "STRATEGY",
        "WHY",
    ])
    .hiding(PLACES);
    for policy in &list.items {
        let [kind, namespace, mesh, name, targets, outcome, paths, age] = narrow(policy);
        let file = Cell::from(words::place(&policy.at));
        let strategy = Cell::from(policy.strategy.unwrap_or("-"));
        let why = escaped(&policy.why.join("; "));
        table
            .push([kind, namespace, mesh, name, targets, outcome, paths, age, file, strategy, why]);
    }
    for policy in &list.unresolved {
        let [kind, namespace, mesh, name, targets, outcome, paths, age] = unresolved(policy);
        let file = Cell::from(words::place_or_nothing(policy.at.as_ref()));
        let why = Cell::from("Overrule does not know its rules");
        let strategy = "-".into();
        table
            .push([kind, namespace, mesh, name, targets, outcome, paths, age, file, strategy, why]);
    }
    let mut rows = String::new();
    table.write("", styles, &mut rows)?;
    let mut rows = rows.lines();
    rows.next().map_or(Ok(()), |header| writeln!(out, "{header}"))?;
    for (row, policy) in rows.by_ref().take(list.items.len()).zip(&list.items) {
        writeln!(out, "{row}")?;
        for c in &policy.conditions {
            let message = escape::terminal(c.message.as_deref().unwrap_or(""));
            writeln!(out, "    {}={} {}: {message}", c.r#type, c.status, c.reason)?;
        }
        rules_text::lines(&policy.rules, styles, out)?;
    }
    rows.try_for_each(|row| writeln!(out, "{row}"))
}

/// A policy that nobody resolves, as a row.
fn unresolved(policy: &v1::UnresolvedPolicy) -> [Cell; 8] {
    let (namespace, name) = policy.policy.split_once('/').unwrap_or(("", &policy.policy));
    let targets = match policy.targets.as_slice() {
        [] => "-".to_owned(),
        targets => escape::terminal(&targets.join(",")).into_owned(),
    };
    let outcome = format!("not resolved ({})", beside::owner(policy));
    [
        escaped(&policy.policy_kind),
        escaped(namespace),
        "".into(),
        escaped(name),
        targets.into(),
        outcome.into(),
        "-".into(),
        "-".into(),
    ]
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
    let mut narrow = Table::new(["KIND", "NAMESPACE", "MESH", "NAME", "FILE"]).hiding(PLACES);
    let mut broad = Table::new([
        "KIND",
        "NAMESPACE",
        "MESH",
        "NAME",
        "FILE",
        "API VERSION",
        "CREATED",
        "CONDITIONS",
    ])
    .hiding(PLACES);
    for resource in &list.items {
        let kind = escaped(&resource.kind);
        let mesh = resource.mesh.as_deref();
        let namespace = escaped(namespace(resource.namespace.as_deref(), mesh));
        let mesh = escaped(mesh.unwrap_or(""));
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
                mesh,
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
            narrow.push([kind, namespace, mesh, name, file.into()]);
        }
    }
    if wide { broad.write("", styles, out) } else { narrow.write("", styles, out) }
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
    table.write("", styles, out)?;
    writeln!(out, "{} of {} without {kind}", list.items.len(), words::count(list.paths, "path"))
}

/// Columns that are left out where nothing is in them: most inputs have no meshes, and a mesh has no namespaces.
const PLACES: &[&str] = &["NAMESPACE", "MESH"];

/// The namespace of what is not in a mesh.
fn namespace<'t>(namespace: Option<&'t str>, mesh: Option<&str>) -> &'t str {
    namespace.filter(|_| mesh.is_none()).unwrap_or("")
}

fn escaped(text: &str) -> Cell {
    escape::terminal(text).into_owned().into()
}

/// Targets shown in a row on a terminal; the others are counted.
const TARGETS: usize = 2;

fn targets(policy: &v1::PolicySummary, styles: &Styles) -> String {
    let most = if matches!(styles.fit, TableFit::Columns(_)) { TARGETS } else { usize::MAX };
    let shown = policy.targets.iter().take(most).map(|t| escape::terminal(t));
    let shown = shown.collect::<Vec<_>>().join(",");
    match policy.targets.len() {
        0 => "-".to_owned(),
        n if n > most => format!("{shown},+{}", n - most),
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
