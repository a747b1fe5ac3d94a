// SPDX-License-Identifier: Apache-2.0
//! In: numbers, names and outcomes. Out: the small pieces of sentences. Not here: sentences of rules; families declare
//! those with their reasons.

use overrule_engine::Tally;

use crate::{escape, v1};

/// `1 path`, `2 paths`.
pub(crate) fn count(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// `a`, `a and b`, `a, b and c`, as they are.
pub(crate) fn and<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => (*only).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// The same, escaped for a terminal.
pub(crate) fn shown_and<S: AsRef<str>>(names: &[S]) -> String {
    escape::terminal(&and(names)).into_owned()
}

/// `file:line:column`, escaped for a terminal.
pub(crate) fn place(at: &v1::Place) -> String {
    format!("{}:{}:{}", escape::terminal(&at.file), at.line, at.column)
}

/// The same for what may have no place.
pub(crate) fn place_or_nothing(at: Option<&v1::Place>) -> String {
    at.map(place).unwrap_or_default()
}

/// A canonical target name as prose has it: `gateway infra/edge`.
pub(crate) fn target(name: &str) -> String {
    escape::terminal(name).replacen('/', " ", 1)
}

/// A node of a path as prose has it: `gateway infra/edge`, `listener web`, `rule-1`.
pub(crate) fn element(element: &v1::PathElement) -> String {
    let kind = element.kind.to_lowercase();
    let name = match &element.namespace {
        Some(namespace) => format!("{namespace}/{}", element.name),
        None => element.name.clone(),
    };
    let text = match kind.as_str() {
        kind if kind.ends_with("routerule") && name.starts_with("rule-") => name,
        kind if kind.ends_with("routerule") => format!("rule {name}"),
        "serviceport" => format!("port {name}"),
        kind => format!("{kind} {name}"),
    };
    escape::terminal(&text).into_owned()
}

/// A path as prose has it.
pub(crate) fn path(path: &[v1::PathElement]) -> String {
    path.iter().map(element).collect::<Vec<_>>().join(" > ")
}

/// A path in as few letters as can be: `edge > infra/edge > web > shop/cart > rule-1`.
pub(crate) fn short_path(path: &[v1::PathElement]) -> String {
    let names = path.iter().map(|e| match &e.namespace {
        Some(namespace) => format!("{namespace}/{}", e.name),
        None => e.name.clone(),
    });
    escape::terminal(&names.collect::<Vec<_>>().join(" > ")).into_owned()
}

/// How long ago, as kubectl has it: `5d`, `3h`, `2y40d`.
pub(crate) fn age(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    match seconds {
        ..0 => "future".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => format!("{}y{}d", s / YEAR, s % YEAR / DAY),
        s => format!("{}y", s / YEAR),
    }
}

impl From<Tally> for v1::Counts {
    fn from(tally: Tally) -> Self {
        let [shadowed, removed, masked, skipped] = tally.lost;
        Self {
            paths: tally.paths(),
            in_force: tally.in_force,
            partly: tally.partly,
            shadowed,
            masked,
            removed,
            skipped,
            inert: tally.inert,
        }
    }
}

impl v1::Counts {
    /// Every count that is not zero, with its word, best first.
    pub(crate) fn words(&self) -> Vec<(u64, &'static str)> {
        let all = [
            (self.in_force, "in force"),
            (self.partly, "partly"),
            (self.shadowed, "shadowed"),
            (self.masked, "masked"),
            (self.removed, "removed"),
            (self.skipped, "skipped"),
            (self.inert, "inert"),
        ];
        all.into_iter().filter(|(n, _)| *n > 0).collect()
    }
}

/// An outcome with the word that conditions of policies have for it, if there is one.
pub(crate) fn outcome(word: &str) -> String {
    match word {
        "in force" => "in force (Enforced)".to_owned(),
        "shadowed" => "shadowed (Overridden)".to_owned(),
        "rejected" => "rejected (Accepted: False)".to_owned(),
        word => word.to_owned(),
    }
}

/// The entry of a list that a block is, to be written after the name of its policy: ` to[1]`; nothing for other blocks.
pub(crate) fn entry(block: &str) -> String {
    if block.ends_with(']') { format!(" {block}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::{age, and, count};

    #[test]
    fn small_words() {
        assert_eq!(count(1, "path"), "1 path");
        assert_eq!(count(0, "path"), "0 paths");
        assert_eq!(and(&["a", "b", "c"]), "a, b and c");
        assert_eq!(and::<&str>(&[]), "");
        assert_eq!(age(119), "119s");
        assert_eq!(age(3 * 86400), "3d");
        assert_eq!(age(800 * 86400), "2y70d");
    }
}
