// SPDX-License-Identifier: Apache-2.0
//! In: effective policies as data. Out: the same for people: the value as YAML with the origin of each leaf, or one row
//! of a table. Not here: finding anything out.
//!
//! The long form is a YAML document; everything that is not the value is a comment, so that it can be piped on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use overrule_engine::{KindId, LadderId, PathId};
use unicode_width::UnicodeWidthStr;

use crate::effective::result;
use crate::style::Painted;
use crate::table::{Cell, Table};
use crate::{
    Other, Scene, ScenePart, Styles, assumed, compare, compare_text, effective, escape, v1, words,
    yaml,
};

/// One effective policy: header, value with origins, and everything that lost.
pub fn effective_text(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    kind: KindId,
    path: PathId,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    effective_policy_text(&effective(scene, part, kind, path), styles, out)
}

/// The same from data.
pub fn effective_policy_text(
    policy: &v1::EffectivePolicy,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    header(policy, styles, out)?;
    match &policy.spec {
        Some(spec) => value(policy, spec, "# ", styles, out)?,
        None if policy.only_elsewhere => {
            let text =
                format!("# under {}/{} this path does not exist", policy.family, policy.profile);
            writeln!(out, "{}", Painted(styles.dim, &text))?;
        }
        None if policy.policies.is_empty() => {
            let kind = escape::terminal(&policy.policy_kind);
            writeln!(out, "{}", Painted(styles.dim, &format!("# no {kind} reaches this target")))?;
        }
        None => writeln!(out, "{}", Painted(styles.dim, "# nothing is in force"))?,
    }
    beside(policy, "# ", styles, out)?;
    for (word, list) in policy.lost() {
        for lost in list {
            loser(policy, word, lost, styles, out)?;
        }
    }
    for failure in &policy.error {
        let said = failure.sentence(|name| escape::terminal(name).into_owned());
        let text = format!("# error: {said}");
        writeln!(out, "{}", Painted(styles.error, &text))?;
    }
    compare_text::others(policy, "# ", styles, out)
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
    writeln!(out, "#   rules: {}", rules(policy))?;
    match policy.assumptions.as_slice() {
        [] => Ok(()),
        some => writeln!(out, "# {}", assumed::line(some)),
    }
}

/// `gateway/gep713`, and whether they are guessed.
pub(crate) fn rules(policy: &v1::EffectivePolicy) -> String {
    let assumed = if policy.assumed { ", assumed: this kind has no description" } else { "" };
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

pub(crate) fn origin_text(origin: &v1::Origin) -> String {
    let place = match (&origin.at, origin.implied) {
        (Some(at), _) => words::place(at),
        (None, true) => "implied".to_owned(),
        // Where it is written is not for every reader.
        (None, false) => return escape::terminal(&origin.policy).into_owned(),
    };
    format!("{} {} {place}", escape::terminal(&origin.policy), origin.block)
}

/// What stands beside the value.
pub(crate) fn beside(
    policy: &v1::EffectivePolicy,
    mark: &str,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    for beside in &policy.beside {
        let name = escape::terminal(&beside.policy);
        let name = Painted(styles.policy(policy.color(&beside.policy)), &name).to_string();
        let because = beside.because.unwrap_or("nothing decides between them");
        match &beside.at {
            Some(at) => {
                let at = Painted(styles.dim, &format!("({})", words::place(at))).to_string();
                let block = &beside.block;
                writeln!(out, "{mark}both are in force: also {name} {block}: {because} {at}")?;
            }
            None => writeln!(out, "{mark}both are in force: also {name}: {because}")?,
        }
        for line in yaml::document(&beside.spec).lines() {
            writeln!(out, "{mark}  {line}")?;
        }
    }
    Ok(())
}

fn loser(
    policy: &v1::EffectivePolicy,
    word: &str,
    lost: &v1::Lost,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let name = escape::terminal(&lost.policy);
    let word = words::outcome(word);
    write!(out, "# {word}: {}", Painted(styles.policy(policy.color(&lost.policy)), &name))?;
    out.write_str(&words::entry(&lost.block))?;
    match lost.pointer.as_str() {
        "" => write!(out, " ({})", policy.all_of(lost))?,
        pointer => write!(out, " {}", escape::terminal(pointer))?,
    }
    if !lost.by.is_empty() {
        match lost.by.as_slice() {
            [one] if *one == lost.policy => out.write_str(" by another part of it")?,
            by => write!(out, " by {}", words::shown_and(by))?,
        }
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

    /// All of what lost: the policy, or one block of it if it has several.
    pub(crate) fn all_of(&self, lost: &v1::Lost) -> String {
        let own = |policy: &str| policy == lost.policy;
        let held = self.origins.values().flatten().filter(|o| own(&o.policy)).map(|o| &*o.block);
        let gone = self.lost().into_iter().flat_map(|(_, list)| list);
        let gone = gone.filter(|l| own(&l.policy)).map(|l| &*l.block);
        match held.chain(gone).any(|block| block != &*lost.block) {
            true if lost.block == "bare" => "all of its bare fields".to_owned(),
            true => format!("all of its {}", lost.block),
            false => "all of it".to_owned(),
        }
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
    /// What is in force, and what other profiles say where they differ, by family, kind, ladder, profile and ladder
    /// there: many paths share them.
    kept: BTreeMap<Kept, Option<[Arc<str>; 2]>>,
}

type Kept = (&'static str, KindId, LadderId, &'static str, Option<LadderId>);

impl Default for EffectiveTable {
    fn default() -> Self {
        let table = Table::new(["TARGET", "VIA", "KIND", "POLICIES", "VALUES"]);
        Self { table, kept: BTreeMap::new() }
    }
}

/// Values that are not applied, because the target fails.
fn fails_closed([_, values]: &mut [Arc<str>; 2]) {
    if !values.starts_with(FAILS) {
        *values = format!("{FAILS}{values}").into();
    }
}

/// A text, or a sign for none.
fn or_none(text: String) -> Arc<str> {
    if text.is_empty() { "-".into() } else { text.into() }
}

fn nothing() -> [Arc<str>; 2] {
    ["".into(), "".into()]
}

/// What stands before such values.
const FAILS: &str = "fails closed; otherwise: ";

impl EffectiveTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the effective policy of one kind at one path, and a row for each other profile that differs. Whether one
    /// does.
    pub fn push(
        &mut self,
        scene: &Scene<'_>,
        part: &ScenePart<'_>,
        kind: KindId,
        path: PathId,
    ) -> bool {
        let ladder = part.resolution.ladder(kind, path);
        let key = (part.family, kind, ladder, part.profile, None);
        let shown = self.kept.entry(key).or_insert_with(|| Some(cells(scene, part, ladder)));
        let mut shown = shown.clone().unwrap_or_else(nothing);
        if part.resolution.failures(path).next().is_some() {
            fails_closed(&mut shown);
        }
        self.row(scene, part, kind, path, shown);
        let mut differs = false;
        for other in scene.others_of(part) {
            let there = other.like(part, kind, path);
            let key = (part.family, kind, ladder, other.part.profile, there.map(|t| t.2));
            let row = self.kept.entry(key).or_insert_with(|| {
                let here = result(scene, part, part.resolution.effective(ladder));
                let found = compare::other(scene, other, there, &here)?;
                Some(match there {
                    Some((_, _, ladder)) if found.path_exists => cells(scene, &other.part, ladder),
                    _ => ["no such path".into(), "-".into()],
                })
            });
            if let Some([policies, values]) = row.clone() {
                differs = true;
                self.under(other, policies, values);
            }
        }
        differs
    }

    /// Adds an effective policy as data.
    pub fn push_policy(&mut self, policy: &v1::EffectivePolicy) {
        let mut names: Vec<&str> = Vec::new();
        let origins = policy.origins.values().flatten().map(|o| o.policy.as_str());
        for name in origins.chain(policy.beside.iter().map(|b| b.policy.as_str())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let values = policy.spec.as_ref().map(yaml::flow_members);
        let mut cells = [
            or_none(escape::terminal(&names.join(",")).into_owned()),
            or_none(values.unwrap_or_default()),
        ];
        if !policy.error.is_empty() {
            fails_closed(&mut cells);
        }
        let [policies, values] = cells;
        let escaped = |text: &str| escape::terminal(text).into_owned();
        self.table.push([
            Cell::from(escaped(&policy.target)),
            Cell::from(escaped(&via(policy))),
            Cell::from(escaped(&policy.policy_kind)),
            Cell::from(policies),
            Cell::from(values),
        ]);
    }

    /// Adds what another profile has in force at a path that `part` does not have.
    pub fn push_elsewhere(
        &mut self,
        scene: &Scene<'_>,
        part: &ScenePart<'_>,
        other: &Other<'_>,
        kind: KindId,
        path: PathId,
    ) {
        let missing = [format!("no such path under {}", part.profile).into(), "-".into()];
        self.row(scene, &other.part, kind, path, missing);
        let ladder = other.part.resolution.ladder(kind, path);
        let [policies, values] = cells(scene, &other.part, ladder);
        self.under(other, policies, values);
    }

    fn row(
        &mut self,
        scene: &Scene<'_>,
        part: &ScenePart<'_>,
        kind: KindId,
        path: PathId,
        [policies, values]: [Arc<str>; 2],
    ) {
        let kind = part.resolution.kind(kind).map_or("", |k| scene.snapshot.text(k.kind));
        let escaped = |text: &str| escape::terminal(text).into_owned();
        self.table.push([
            Cell::from(escaped(&part.path_target(scene, path))),
            Cell::from(escaped(&part.via(scene, path))),
            Cell::from(escaped(kind)),
            Cell::from(policies),
            Cell::from(values),
        ]);
    }

    fn under(&mut self, other: &Other<'_>, policies: Arc<str>, values: Arc<str>) {
        let name = format!("  under {}/{}", other.part.family, other.part.profile);
        let empty = Cell::default;
        self.table.push([name.into(), empty(), empty(), policies.into(), values.into()]);
    }

    /// Prints it.
    pub fn write(&self, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.table.is_empty() {
            return Ok(());
        }
        self.table.write("", styles, out)
    }
}

/// The last element of a path above the target and its sections.
fn via(policy: &v1::EffectivePolicy) -> String {
    let own = policy.target.split_once('/').map_or("", |(_, name)| name);
    let own = own.split('#').next().unwrap_or(own);
    let named = |e: &v1::PathElement| match &e.namespace {
        Some(namespace) => format!("{namespace}/{}", e.name),
        None => e.name.clone(),
    };
    let names: Vec<String> = policy.path.iter().map(named).collect();
    let of_target = names.iter().rposition(|n| n == own).unwrap_or(names.len().saturating_sub(1));
    let Some(at) = of_target.checked_sub(1) else { return String::new() };
    let name = names.get(at).cloned().unwrap_or_default();
    let is_section = policy.path.get(at).is_some_and(|e| e.kind == "Listener");
    match at.checked_sub(1).and_then(|i| names.get(i)).filter(|_| is_section) {
        Some(object) => format!("{object}#{name}"),
        None => name,
    }
}

/// Who is in force on a ladder, and what.
fn cells(scene: &Scene<'_>, part: &ScenePart<'_>, ladder: LadderId) -> [Arc<str>; 2] {
    let found = part.resolution.effective(ladder);
    let value = found.and_then(|e| e.value.as_ref());
    let values = value.map(|v| yaml::flow_members(&crate::value::of_traced(scene.documents, v)));
    let steps = value.map(overrule_engine::Traced::steps).unwrap_or_default();
    let beside = found.into_iter().flat_map(|e| e.beside());
    let mut names: Vec<String> = Vec::new();
    for policy in steps.iter().chain(beside).map(|s| part.step_name(scene, *s)) {
        let name = escape::terminal(&policy).into_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut shown = [or_none(names.join(",")), or_none(values.unwrap_or_default())];
    if found.is_some_and(|e| !e.poison().is_empty()) {
        fails_closed(&mut shown);
    }
    shown
}
