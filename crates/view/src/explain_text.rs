// SPDX-License-Identifier: Apache-2.0
//! In: an explanation. Out: the same as a colleague would say it. Not here: finding anything out.

use std::fmt;

use overrule_engine::{KindId, PathId};

use crate::effective_text::{beside, rules, value};
use crate::field::name;
use crate::style::Painted;
use crate::table::{Cell, Table};
use crate::{
    Scene, ScenePart, Styles, assumed, compare_text, escape, explain, side_by_side_text, v1, words,
    yaml,
};

/// Explains in words; see [`explain`] for what is asked.
pub fn explain_text(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    path: PathId,
    kind: Option<KindId>,
    field: Option<&str>,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    explanation_text(&explain(scene, part, path, kind, field), styles, out)
}

/// An explanation in words.
pub fn explanation_text(
    explanation: &v1::Explanation,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    if explanation.kinds.is_empty() {
        let target = escape::terminal(&explanation.target);
        return writeln!(out, "No policy kind takes effect at {target}.");
    }
    for (i, kind) in explanation.kinds.iter().enumerate() {
        if i > 0 {
            out.write_char('\n')?;
        }
        let text = Text { kind, styles };
        text.header(out)?;
        if kind.ladder.is_empty() && kind.effective.policies.is_empty() {
            let name = escape::terminal(&kind.effective.policy_kind);
            writeln!(out, "\nNo {name} reaches this target.")?;
            continue;
        }
        if !kind.ladder.is_empty() {
            text.ladder(out)?;
        }
        match &kind.field {
            Some(field) => text.field(field, out)?,
            None => {
                if !kind.steps.is_empty() {
                    text.steps(out)?;
                }
                side_by_side_text::write(kind, styles, out)?;
                text.in_force(out)?;
                text.lost(out)?;
                text.others(out)?;
            }
        }
    }
    Ok(())
}

/// Positions on a ladder: `1`, `1 and 3`, `1 to 4`.
fn positions(list: &[usize]) -> String {
    match list {
        [first, _, .., last] if last - first + 1 == list.len() => format!("{first} to {last}"),
        list => words::and(&list.iter().map(usize::to_string).collect::<Vec<_>>()),
    }
}

/// Columns of a value in a text for a terminal.
const VALUE: usize = 80;

struct Text<'a> {
    kind: &'a v1::ExplainedKind,
    styles: &'a Styles,
}

type Out<'o> = &'o mut dyn fmt::Write;

impl Text<'_> {
    fn header(&self, out: Out<'_>) -> fmt::Result {
        let effective = &self.kind.effective;
        let kind = escape::terminal(&effective.policy_kind);
        let title = format!("{kind} at {}", escape::terminal(&effective.target));
        writeln!(out, "{}", Painted(self.styles.bold, &title))?;
        if effective.path.len() > 1 {
            writeln!(out, "  via {}", words::path(&effective.path))?;
        }
        writeln!(out, "  {}", Painted(self.styles.dim, &format!("rules: {}", rules(effective))))?;
        match effective.assumptions.as_slice() {
            [] => Ok(()),
            some => writeln!(out, "  {}", assumed::line(some)),
        }
    }

    fn heading(&self, text: &str, out: Out<'_>) -> fmt::Result {
        writeln!(out, "\n{}", Painted(self.styles.heading, text))
    }

    fn policy(&self, name: &str) -> String {
        let style = self.styles.policy(self.kind.effective.color(name));
        Painted(style, &escape::terminal(name)).to_string()
    }

    fn policies(&self, names: &[String]) -> String {
        let painted: Vec<String> = names.iter().map(|n| self.policy(n)).collect();
        match painted.split_last() {
            None => String::new(),
            Some((only, [])) => only.clone(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        }
    }

    fn ladder(&self, out: Out<'_>) -> fmt::Result {
        self.heading(&format!("Precedence, {}", self.kind.order), out)?;
        let mut table = Table::new(["", "", "", ""]);
        for rung in &self.kind.ladder {
            let style = self.styles.policy(self.kind.effective.color(&rung.policy));
            let name = format!("{}. {}", rung.position, escape::terminal(&rung.policy));
            let targets: Vec<String> = rung.attached_to.iter().map(|t| words::target(t)).collect();
            let on = if targets.is_empty() {
                String::new()
            } else {
                format!("on {}", targets.join(", "))
            };
            let how = format!("{}, {}", rung.block, rung.strategy);
            let at = Cell::styled(words::place_or_nothing(rung.at.as_ref()), self.styles.dim);
            table.push([Cell::styled(name, style), on.into(), how.into(), at]);
        }
        let mut rows = String::new();
        table.write("  ", self.styles, &mut rows)?;
        for (row, rung) in rows.lines().zip(&self.kind.ladder) {
            writeln!(out, "{row}")?;
            if let Some(because) = &rung.because {
                let text = escape::terminal(because);
                writeln!(out, "     {}", Painted(self.styles.dim, &text))?;
            }
            if let Some(condition) = &rung.condition {
                self.condition(condition, out)?;
            }
        }
        Ok(())
    }

    /// What a condition found, and every value it looked at.
    fn condition(&self, condition: &v1::RungCondition, out: Out<'_>) -> fmt::Result {
        let (style, said) = match (condition.verdict, &condition.error) {
            ("holds", _) => (self.styles.bold, "condition holds".to_owned()),
            ("failed", error) => {
                let why = error.as_deref().unwrap_or("no reason recorded");
                let why = escape::terminal(why);
                (self.styles.warning, format!("condition cannot be evaluated: {why}"))
            }
            (verdict, _) => (self.styles.warning, format!("condition {verdict}")),
        };
        writeln!(out, "     {}", Painted(style, &said))?;
        for seen in &condition.saw {
            let path = escape::terminal(&seen.path);
            match &seen.value {
                Some(value) => {
                    let value = yaml::flow(value);
                    writeln!(out, "       {path} = {}", self.styles.value(&value, VALUE))?;
                }
                None => writeln!(out, "       {path} is absent")?,
            }
        }
        Ok(())
    }

    /// Each step in a sentence that is true by itself, in the order of the ladder: whom it met is told by number.
    fn steps(&self, out: Out<'_>) -> fmt::Result {
        self.heading("Merge steps", out)?;
        let steps = &self.kind.steps;
        for step in steps {
            let met = positions(&step.with);
            let wins = if step.with.len() == 1 { "wins" } else { "win" };
            let what = match (step.done, step.preferred) {
                ("took", _) => String::new(),
                ("replaced", _) if met.is_empty() => String::new(),
                ("replaced", _) => format!("Replaces {met}: "),
                ("merged", Some("held")) => {
                    format!("Merged with {met}, which {wins} on conflicts: ")
                }
                ("merged", _) => format!("Merged with {met}, and wins on conflicts: "),
                ("kept", _) => "Ignored: ".to_owned(),
                ("passed", _) => "Adds nothing: ".to_owned(),
                ("skipped", _) => "Skipped: ".to_owned(),
                ("beside", _) if met.is_empty() => String::new(),
                ("beside", _) => format!("In force beside {met}: "),
                ("poisoned", _) => "Invalid, so the target fails closed: ".to_owned(),
                (done, _) => format!("{done}: "),
            };
            // Some families begin at the end of the ladder.
            let own = step.rungs.iter().max();
            let from_the_end =
                step.done == "took" && steps.iter().any(|s| s.rungs.iter().max() < own);
            let because = match from_the_end {
                true => "Starting point: no policy after it applies",
                false => step.because,
            };
            let group = |s: &v1::Step| {
                s.rungs.len() > step.rungs.len() && step.rungs.iter().all(|r| s.rungs.contains(r))
            };
            let indent = "  ".repeat(1 + steps.iter().filter(|s| group(s)).count());
            let numbers: Vec<String> = step.rungs.iter().map(usize::to_string).collect();
            let (numbers, names) = (numbers.join("+"), self.policies(&step.policies));
            writeln!(out, "{indent}{numbers}. {names}: {what}{because}")?;
        }
        Ok(())
    }

    fn in_force(&self, out: Out<'_>) -> fmt::Result {
        self.heading("In force (Enforced)", out)?;
        let effective = &self.kind.effective;
        match &effective.spec {
            None => writeln!(out, "  nothing")?,
            Some(spec) => {
                let mut text = String::new();
                value(effective, spec, "┃ ", self.styles, &mut text)?;
                for line in text.lines() {
                    writeln!(out, "  {line}")?;
                }
            }
        }
        beside(effective, "  ", self.styles, out)?;
        for failure in &effective.error {
            writeln!(out, "  {}", failure.sentence(|name| self.policy(name).to_string()))?;
        }
        Ok(())
    }

    fn lost(&self, out: Out<'_>) -> fmt::Result {
        let lost = self.kind.effective.lost();
        if lost.iter().all(|(_, list)| list.is_empty()) {
            return Ok(());
        }
        self.heading("Lost", out)?;
        for (word, list) in lost {
            for lost in list {
                self.loser(word, lost, out)?;
            }
        }
        Ok(())
    }

    fn others(&self, out: Out<'_>) -> fmt::Result {
        if self.kind.effective.other_profiles.is_empty() {
            return Ok(());
        }
        self.heading("Under other profiles", out)?;
        compare_text::others(&self.kind.effective, "  ", self.styles, out)
    }

    fn loser(&self, word: &str, lost: &v1::Lost, out: Out<'_>) -> fmt::Result {
        let what = match (lost.pointer.as_str(), &lost.value) {
            ("", _) => self.kind.effective.all_of(lost),
            (pointer, Some(value)) => {
                let value = yaml::flow(value);
                let value = self.styles.value(&value, VALUE);
                format!("{}: {value}", escape::terminal(&name(pointer)))
            }
            (pointer, None) => escape::terminal(&name(pointer)).into_owned(),
        };
        write!(out, "  {}{}  {what}", self.policy(&lost.policy), words::entry(&lost.block))?;
        if let Some(at) = &lost.at {
            write!(out, "  {}", Painted(self.styles.dim, &format!("({})", words::place(at))))?;
        }
        let by = match lost.by.is_empty() {
            true => String::new(),
            false => format!(" by {}", self.by(&lost.policy, &lost.by)),
        };
        writeln!(out, "\n     {}{by}: {}", words::outcome(word), lost.because)
    }

    /// Who is in force instead: others, or another part of the policy itself.
    fn by(&self, policy: &str, by: &[String]) -> String {
        match by {
            [one] if one == policy => "another part of it".to_owned(),
            by => self.policies(by),
        }
    }

    fn field(&self, field: &v1::FieldFocus, out: Out<'_>) -> fmt::Result {
        let shown = match field.pointer.as_str() {
            "" => "the whole policy".to_owned(),
            pointer => escape::terminal(&name(pointer)).into_owned(),
        };
        if field.value.is_none() && field.candidates.is_empty() {
            return self.no_field(&shown, field, out);
        }
        self.heading(&format!("Field {shown}"), out)?;
        match &field.value {
            Some(value) => {
                for line in yaml::document(value).lines() {
                    writeln!(out, "  {}", Painted(self.styles.bold, line))?;
                }
            }
            None => writeln!(out, "  no value is in force")?,
        }
        self.heading("Candidates for this field", out)?;
        for had in &field.candidates {
            let value = yaml::flow(&had.value);
            let value = self.styles.value(&value, VALUE);
            let at = had.at.as_ref().map_or_else(|| "implied".to_owned(), words::place);
            let at = format!("({at})");
            let (n, name) = (had.position, self.policy(&had.policy));
            let entry = words::entry(&had.block);
            writeln!(out, "  {n}. {name}{entry}  {value}  {}", Painted(self.styles.dim, &at))?;
            let (what, by) = match had.outcome {
                "partly" => ("partly in force, lost the rest".to_owned(), "to"),
                outcome => (words::outcome(outcome), "by"),
            };
            write!(out, "     {what}")?;
            if !had.by.is_empty() {
                write!(out, " {by} {}", self.by(&had.policy, &had.by))?;
            }
            match had.because {
                Some(because) => writeln!(out, ": {because}")?,
                None => out.write_char('\n')?,
            }
        }
        Ok(())
    }

    fn no_field(&self, shown: &str, field: &v1::FieldFocus, out: Out<'_>) -> fmt::Result {
        let kind = escape::terminal(&self.kind.effective.policy_kind);
        writeln!(out, "\nNone of these {kind} policies sets the field {shown}.")?;
        if !field.suggestions.is_empty() {
            writeln!(out, "Nearest fields: {}", words::shown_and(&field.suggestions))?;
        }
        Ok(())
    }
}
