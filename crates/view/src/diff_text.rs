// SPDX-License-Identifier: Apache-2.0
//! In: changes as data. Out: the same for people. Not here: finding anything out.

use std::fmt;

use crate::style::Painted;
use crate::table::cut;
use crate::{Styles, escape, field, v1, words, yaml};

/// Columns of a value, for a terminal.
const VALUE: usize = 60;

/// Changes for people: one paragraph each, then how many there are.
pub fn changes_text(
    changes: &v1::EffectiveChanges,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    for item in &changes.items {
        let word = item.change();
        let kind = escape::terminal(&item.policy_kind);
        let title = format!("{word}: {kind} at {}", escape::terminal(&item.target));
        writeln!(out, "{}", Painted(styles.bold, &title))?;
        if item.path.len() > 1 {
            writeln!(out, "  via {}", words::path(&item.path))?;
        }
        for field in &item.fields {
            writeln!(out, "  {}", field_change_line(field, styles))?;
        }
        let because = format!("because {}", escape::terminal(&item.because));
        writeln!(out, "  {}\n", Painted(styles.dim, &because))?;
    }
    let v1::ChangeCounts { added, changed, removed } = changes.counts;
    match added + changed + removed {
        0 => writeln!(out, "no effective policy changes"),
        n => {
            let (policies, verb) =
                if n == 1 { ("policy", "changes") } else { ("policies", "change") };
            writeln!(
                out,
                "{n} effective {policies} {verb}: {added} added, {changed} changed, {removed} removed"
            )
        }
    }
}

/// `policies.yaml:12:9`, escaped for a terminal.
pub fn place_text(at: &v1::Place) -> String {
    words::place(at)
}

/// A value in one line, cut where it is long.
pub fn flow_text(value: &v1::Value) -> String {
    cut(&yaml::flow(value), VALUE)
}

/// One field, before and after, with who set it: `timeouts.request: 5s → 30s  (a → b)`.
pub fn field_change_line(field: &v1::FieldChange, styles: &Styles) -> String {
    let name = match field.pointer.as_str() {
        "" => "all of it".to_owned(),
        pointer => escape::terminal(&field::name(pointer)).into_owned(),
    };
    let value = |v: &Option<v1::Value>| v.as_ref().map_or_else(|| "nothing".to_owned(), yaml::flow);
    let names = |list: &[String]| match list {
        [] => "nobody".to_owned(),
        list => words::shown_and(list),
    };
    let (before, after) = (value(&field.before), value(&field.after));
    let (from, to) = (names(&field.from), names(&field.to));
    let same = before == after;
    let (before, after) = (styles.value(&before, VALUE), styles.value(&after, VALUE));
    match (same, from == to) {
        (true, _) => format!("{name}: {after}, from {to} instead of {from}"),
        (false, true) => format!("{name}: {before} → {after}  ({to})"),
        (false, false) => format!("{name}: {before} → {after}  ({from} → {to})"),
    }
}
