// SPDX-License-Identifier: Apache-2.0
//! In: effective policies as data. Out: the same for people: the value as YAML with the origin of each leaf, or one row
//! of a table. Not here: finding anything out.
//!
//! The long form is a YAML document; everything that is not the value is a comment, so that it can be piped on.

use std::fmt;

use overrule_engine::{KindId, PathId};
use unicode_width::UnicodeWidthStr;

use crate::style::Painted;
use crate::table::{Cell, Table};
use crate::{Part, Scene, Styles, effective, escape, v1, words, yaml};

/// One effective policy: header, value with origins, and everything that lost.
pub fn effective_text(
    scene: &Scene<'_>,
    part: &Part<'_>,
    kind: KindId,
    path: PathId,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let policy = effective(scene, part, kind, path);
    header(&policy, styles, out)?;
    match &policy.spec {
        Some(spec) => value(&policy, spec, "# ", styles, out)?,
        None if policy.policies.is_empty() => {
            let kind = escape::terminal(&policy.policy_kind);
            writeln!(out, "{}", Painted(styles.dim, &format!("# no {kind} reaches this target")))?;
        }
        None => writeln!(out, "{}", Painted(styles.dim, "# nothing is in force"))?,
    }
    for (word, list) in policy.lost() {
        for lost in list {
            loser(&policy, word, lost, styles, out)?;
        }
    }
    for failure in &policy.error {
        let name = escape::terminal(&failure.policy);
        let text =
            format!("# error: {name} is broken, so the target fails closed: {}", failure.because);
        writeln!(out, "{}", Painted(styles.error, &text))?;
    }
    Ok(())
}

fn header(policy: &v1::EffectivePolicy, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
    let title = format!(
        "{} at {}",
        escape::terminal(&policy.policy_kind),
        escape::terminal(&policy.target)
    );
    writeln!(out, "# {}", Painted(styles.bold, &title))?;
    if policy.path.len() > 1 {
        writeln!(out, "#   via {}", words::path(&policy.path))?;
    }
    writeln!(out, "#   rules: {}", rules(policy))
}

/// `gateway/gep713`, and whether they are guessed.
pub(crate) fn rules(policy: &v1::EffectivePolicy) -> String {
    let assumed = if policy.assumed { ", assumed: nobody described this kind" } else { "" };
    format!("{}/{}{assumed}", policy.family, policy.profile)
}

/// Widest value that still moves the comments of all others.
const ALIGNED: usize = 60;

/// The value as YAML, the origin of each leaf behind `mark` on its line, all in one column.
pub(crate) fn value(
    policy: &v1::EffectivePolicy,
    spec: &v1::Value,
    mark: &str,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let lines = yaml::lines(spec);
    let widths = lines.iter().filter(|l| l.leaf.is_some()).map(|l| l.text.width());
    let column = widths.filter(|w| *w <= ALIGNED).max().unwrap_or(0);
    for line in &lines {
        out.write_str(&line.text)?;
        let origins = line.leaf.as_ref().and_then(|leaf| policy.origins.get(leaf));
        if let Some(origins) = origins.filter(|o| !o.is_empty()) {
            let pad = column.saturating_sub(line.text.width());
            write!(out, "{:pad$}  {}", "", Painted(styles.dim, mark))?;
            for (i, origin) in origins.iter().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                let text = format!("{comma}{}", origin_text(origin));
                write!(out, "{}", Painted(styles.policy(policy.color(&origin.policy)), &text))?;
            }
        }
        out.write_char('\n')?;
    }
    Ok(())
}

fn origin_text(origin: &v1::Origin) -> String {
    let place = match &origin.at {
        Some(at) => words::place(at),
        None => "implied".to_owned(),
    };
    format!("{} {} {place}", escape::terminal(&origin.policy), origin.block)
}

fn loser(
    policy: &v1::EffectivePolicy,
    word: &str,
    lost: &v1::Lost,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let name = escape::terminal(&lost.policy);
    write!(out, "# {word}: {}", Painted(styles.policy(policy.color(&lost.policy)), &name))?;
    match lost.pointer.as_str() {
        "" => out.write_str(" (all of it)")?,
        pointer => write!(out, " {}", escape::terminal(pointer))?,
    }
    if !lost.by.is_empty() {
        write!(out, " by {}", words::shown_and(&lost.by))?;
    }
    write!(out, ": {}", lost.because)?;
    if let Some(at) = &lost.at {
        write!(out, " {}", Painted(styles.dim, &format!("({})", words::place(at))))?;
    }
    out.write_char('\n')
}

impl v1::EffectivePolicy {
    /// Position of a policy on the ladder, from 0; its colour.
    pub(crate) fn color(&self, policy: &str) -> usize {
        self.policies.iter().position(|p| p.policy == policy).unwrap_or(0)
    }

    /// Everything that lost, with the word for it.
    pub(crate) fn lost(&self) -> [(&'static str, &[v1::Lost]); 4] {
        [
            ("shadowed", &self.shadowed),
            ("masked", &self.masked),
            ("removed", &self.removed),
            ("skipped", &self.skipped),
        ]
    }
}

/// The compact form: one row per target. Push rows, then write.
#[derive(Debug)]
pub struct EffectiveTable {
    table: Table<5>,
}

impl Default for EffectiveTable {
    fn default() -> Self {
        Self { table: Table::new(["TARGET", "VIA", "KIND", "POLICIES", "VALUES"]) }
    }
}

/// Longest text of values kept in a row; a table is no place for more.
const VALUES: usize = 400;

impl EffectiveTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the effective policy of one kind at one path.
    pub fn push(&mut self, scene: &Scene<'_>, part: &Part<'_>, kind: KindId, path: PathId) {
        let resolution = part.resolution;
        let ladder = resolution.ladder(kind, path);
        let kind = resolution.kind(kind).map_or("", |k| scene.snapshot.text(k.kind));
        let value = resolution.effective(ladder).and_then(|e| e.value.as_ref());
        let values = value.map(|v| {
            let text = yaml::flow_members(&crate::value::of_traced(scene.documents, v));
            crate::table::cut(&text, VALUES)
        });
        let steps = value.map(overrule_engine::Traced::steps).unwrap_or_default();
        let mut names: Vec<String> = Vec::new();
        for policy in steps.iter().map(|s| part.step_name(scene, *s)) {
            if !names.contains(&policy) {
                names.push(policy);
            }
        }
        let escaped = |text: &str| escape::terminal(text).into_owned();
        let names: Vec<String> = names.iter().map(|n| escaped(n)).collect();
        let policies = if names.is_empty() { "-".to_owned() } else { names.join(",") };
        self.table.push([
            Cell::from(escaped(&part.path_target(scene, path))),
            Cell::from(escaped(&part.via(scene, path))),
            Cell::from(escaped(kind)),
            Cell::from(policies),
            Cell::from(values.unwrap_or_else(|| "-".to_owned())),
        ]);
    }

    /// Prints it; values are cut so that a line fits `width` columns (none: they are not cut).
    pub fn write(
        &self,
        width: Option<usize>,
        styles: &Styles,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        if self.table.is_empty() {
            return Ok(());
        }
        self.table.write("", width, styles, out)
    }
}
